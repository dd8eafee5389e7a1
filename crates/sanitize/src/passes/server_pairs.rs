//! Finds the halves of pairs that the provider ran itself.
//!
//! A call of the provider's is open until its result comes, in the same message or in a later one: while a paused turn goes
//! on, or after the results of our own tools. Words of the user close it, and then a call without a result is refused.
//! What becomes words or falls away in the passes is not known here. So whoever asks looks at the outcome, and asks again
//! without the messages whose pairs did not survive; the strict reading, which lets nobody but the assistant stand between
//! the halves, always does.

use std::borrow::Borrow;
use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Content, Message, Role, StopReason};

use super::blocks::is_orphaned;
use super::provenance::is_native;
use crate::{RequestFacts, WireRules, json};

/// The message, and which of its server blocks, counted from 0.
pub(crate) type ServerBlock = (usize, usize);

/// Returns the blocks whose other half is not there, or that the wire would not take.
pub(crate) fn halves<M: Borrow<Message>>(
    messages: &[M],
    rules: &WireRules,
    facts: &RequestFacts,
    without: &HashSet<usize>,
    strict: bool,
) -> HashSet<ServerBlock> {
    let mut pairs = ServerPairs::default();
    for (index, message) in messages.iter().map(Borrow::borrow).enumerate() {
        pairs.step(index, message, rules, facts, !without.contains(&index), strict);
    }
    if strict || !may_go_on(messages.last().map(Borrow::borrow)) {
        pairs.close();
    }
    pairs.halves
}

/// What is known of the pairs of a list while it is read.
#[derive(Debug, Default)]
pub(crate) struct ServerPairs<'a> {
    open: HashMap<&'a str, Vec<ServerBlock>>,
    /// How many calls have no result yet.
    waiting: usize,
    /// Whether there were any such blocks.
    pub(crate) any: bool,
    /// The blocks without their other halves.
    pub(crate) halves: HashSet<ServerBlock>,
}

impl<'a> ServerPairs<'a> {
    /// Reads the next message; `counts` tells whether its blocks may stay at all.
    pub(crate) fn step(
        &mut self,
        index: usize,
        message: &'a Message,
        rules: &WireRules,
        facts: &RequestFacts,
        counts: bool,
        strict: bool,
    ) {
        if message.role != Role::Assistant {
            let only_results = !message.content.is_empty()
                && message.content.iter().all(|block| block.as_result().is_some());
            if strict || !only_results {
                self.close();
            }
        }
        if !message.content.iter().any(is_server_block) {
            return;
        }
        self.any = true;
        let native = message.role == Role::Assistant
            && rules.server_tools
            && counts
            && is_native(message.origin.as_ref(), facts)
            && !is_orphaned(message, rules, facts);
        for (ordinal, block) in message.content.iter().filter(|block| is_server_block(block)).enumerate() {
            let here = (index, ordinal);
            match block {
                Content::ServerCall { id, json } if native && json::is_carried_object(json) => {
                    self.open.entry(id).or_default().push(here);
                    self.waiting += 1;
                }
                Content::ServerResult { call_id, json } if native && json::is_carried_object(json) => {
                    match self.open.get_mut(call_id.as_str()).and_then(Vec::pop) {
                        Some(_) => self.waiting -= 1,
                        None => drop(self.halves.insert(here)),
                    }
                }
                _ => drop(self.halves.insert(here)),
            }
        }
    }

    /// Whether a result that comes now can be one of an earlier call.
    pub(crate) fn waits(&self) -> bool {
        self.waiting > 0
    }

    /// Says that no result comes any more.
    pub(crate) fn close(&mut self) {
        self.halves.extend(self.open.drain().flat_map(|(_, blocks)| blocks));
        self.waiting = 0;
    }
}

/// Whether the turn at the end is not over: the provider paused it, or it waits for nothing but itself.
pub(crate) fn may_go_on(last: Option<&Message>) -> bool {
    let Some(last) = last else { return false };
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
