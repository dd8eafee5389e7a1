//! Judges the calls that a provider ran itself, and their results.

use trunkline_message_tree::{Content, Message, Origin, Role, StopReason};

use super::Case;
use crate::{BlockKind, Place, ViolationKind};

/// Judges provenance block by block, then who answers whom.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message]) {
    // Calls without a result so far: id and place.
    let mut waiting: Vec<(&str, Place)> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if speaks_words(message) {
            for (_, at) in waiting.drain(..) {
                case.find(at, ViolationKind::ForeignBlock { block: BlockKind::ServerCall });
            }
        }
        if message.role != Role::Assistant {
            continue;
        }
        for (block, content) in message.content.iter().enumerate() {
            let at = Place::message(index, message).block(block);
            match content {
                Content::ServerCall { id, json } => {
                    if case.takes_server_block(message, json) {
                        waiting.push((id, at));
                    } else {
                        case.find(at, ViolationKind::ForeignBlock { block: BlockKind::ServerCall });
                    }
                }
                Content::ServerResult { call_id, json } => {
                    let call = waiting.iter().rposition(|(id, _)| id == call_id);
                    match call.filter(|_| case.takes_server_block(message, json)) {
                        Some(call) => drop(waiting.remove(call)),
                        None => case.find(at, ViolationKind::ForeignBlock { block: BlockKind::ServerResult }),
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
        for (_, at) in waiting {
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
        let (wrote, reads) = (provider(&message.origin), provider(&self.facts.origin));
        let ours = wrote.is_none() || reads.is_none() || wrote == reads;
        let object = super::blocks::is_json_object(json);
        self.rules.server_tools && ours && object && !self.holds_foreign_items(message)
    }
}
