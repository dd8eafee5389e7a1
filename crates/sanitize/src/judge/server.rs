//! Judges the calls that a provider ran itself, and their results.

use std::collections::HashMap;

use trunkline_message_tree::{Content, Message, Origin, Role, StopReason};

use super::Case;
use crate::{BlockKind, Place, ViolationKind};

/// Judges provenance block by block, then who answers whom.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message]) {
    // Calls without a result so far: id and place.
    let mut waiting: HashMap<&str, Vec<Place>> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        if speaks_words(message) {
            for at in waiting.drain().flat_map(|(_, places)| places) {
                case.find(at, ViolationKind::ForeignBlock { block: BlockKind::ServerCall });
            }
        }
        if message.role != Role::Assistant {
            continue;
        }
        let foreign_items = case.holds_foreign_items(message);
        for (block, content) in message.content.iter().enumerate() {
            let at = Place::message(index, message).block(block);
            match content {
                Content::ServerCall { id, json } => {
                    if case.takes_server_block(message, json) && !foreign_items {
                        waiting.entry(id).or_default().push(at);
                    } else {
                        case.find(at, ViolationKind::ForeignBlock { block: BlockKind::ServerCall });
                    }
                }
                Content::ServerResult { call_id, json } => {
                    let taken = case.takes_server_block(message, json) && !foreign_items;
                    let call = waiting.get_mut(call_id.as_str()).filter(|_| taken).and_then(Vec::pop);
                    if call.is_none() {
                        case.find(at, ViolationKind::ForeignBlock { block: BlockKind::ServerResult });
                    }
                }
                _ => {}
            }
        }
    }
    // At the end a call may wait for what the provider says next, if it is the provider's turn to go on.
    let goes_on = messages.last().is_some_and(|last| match last.role {
        Role::Assistant => last.stop == Some(StopReason::Pause),
        _ => !speaks_words(last),
    });
    if !goes_on {
        for at in waiting.into_values().flatten() {
            case.find(at, ViolationKind::ForeignBlock { block: BlockKind::ServerCall });
        }
    }
}

/// Whether a message of the other side is more than results.
fn speaks_words(message: &Message) -> bool {
    let results = message.results().count();
    message.role != Role::Assistant && (results == 0 || results < message.content.len())
}

impl Case<'_> {
    fn takes_server_block(&self, message: &Message, json: &str) -> bool {
        let provider = |origin: &Option<Origin>| origin.as_ref().map(|origin| origin.provider.clone());
        let address = |origin: &Option<Origin>| origin.as_ref().and_then(|origin| origin.address.clone());
        let same = |wrote: Option<String>, reads: Option<String>| {
            wrote.is_none() || reads.is_none() || wrote == reads
        };
        let ours = same(provider(&message.origin), provider(&self.facts.origin))
            && same(address(&message.origin), address(&self.facts.origin));
        let object = super::blocks::is_json_object(json);
        self.rules.server_tools && ours && object
    }
}
