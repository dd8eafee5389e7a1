//! Finds the halves of pairs that the provider ran itself.
//!
//! A call of the provider's is open until its result comes, in the same message or in a later one: while a paused turn goes
//! on, or after the results of our own tools. Words of the user close it, and then a call without a result is refused.
//! What becomes words or falls away in the passes is not known here. So whoever asks looks at the outcome, and asks again
//! without the messages whose pairs did not survive; the strict reading, which lets nobody but the assistant stand between
//! the halves, always does.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Content, Message, Role, StopReason};

use super::blocks::is_orphaned;
use super::provenance::is_native;
use crate::{RequestFacts, WireRules, json};

/// The message, and which of its server blocks, counted from 0.
pub(crate) type ServerBlock = (usize, usize);

/// Returns the blocks whose other half is not there, or that the wire would not take.
pub(crate) fn halves(
    messages: &[Message],
    rules: &WireRules,
    facts: &RequestFacts,
    without: &HashSet<usize>,
    strict: bool,
) -> HashSet<ServerBlock> {
    let mut halves: HashSet<ServerBlock> = HashSet::new();
    let mut open: HashMap<&str, Vec<ServerBlock>> = HashMap::new();
    for (index, message) in messages.iter().enumerate() {
        if message.role != Role::Assistant {
            let only_results = !message.content.is_empty()
                && message.content.iter().all(|block| block.as_result().is_some());
            if strict || !only_results {
                halves.extend(open.drain().flat_map(|(_, blocks)| blocks));
            }
        }
        let native = message.role == Role::Assistant
            && rules.server_tools
            && !without.contains(&index)
            && is_native(message.origin.as_ref(), facts)
            && !is_orphaned(message, rules, facts);
        let mut ordinal = 0;
        for block in &message.content {
            let here = (index, ordinal);
            match block {
                Content::ServerCall { id, json } => {
                    ordinal += 1;
                    if native && json::is_carried_object(json) {
                        open.entry(id).or_default().push(here);
                    } else {
                        halves.insert(here);
                    }
                }
                Content::ServerResult { call_id, json } => {
                    ordinal += 1;
                    let sound = native && json::is_carried_object(json);
                    let call = open.get_mut(call_id.as_str()).filter(|_| sound).and_then(Vec::pop);
                    if call.is_none() {
                        halves.insert(here);
                    }
                }
                _ => {}
            }
        }
    }
    if strict || !may_go_on(messages) {
        halves.extend(open.drain().flat_map(|(_, blocks)| blocks));
    }
    halves
}

/// Whether the turn at the end is not over: the provider paused it, or it waits for nothing but itself.
fn may_go_on(messages: &[Message]) -> bool {
    let Some(last) = messages.last() else { return false };
    match last.role {
        // A call of ours will be answered, and then it is the provider's turn.
        Role::Assistant => last.stop == Some(StopReason::Pause) || last.calls().next().is_some(),
        _ => !last.content.is_empty() && last.content.iter().all(|block| block.as_result().is_some()),
    }
}

/// Whether a block is one of those.
pub(crate) fn is_server_block(block: &Content) -> bool {
    matches!(block, Content::ServerCall { .. } | Content::ServerResult { .. })
}
