//! Looks up what is known of a call.

use std::collections::HashMap;

use trunkline_message_tree::NodeId;

use crate::{CallFact, RequestFacts};

/// The facts by call id.
pub(super) struct KnownCalls<'a>(HashMap<&'a str, Vec<&'a CallFact>>);

impl<'a> KnownCalls<'a> {
    pub(super) fn new(facts: &'a RequestFacts) -> Self {
        let mut by_id: HashMap<&str, Vec<&CallFact>> = HashMap::new();
        for fact in &facts.calls {
            by_id.entry(&fact.call_id).or_default().push(fact);
        }
        KnownCalls(by_id)
    }

    /// Returns the first fact that fits the call.
    pub(super) fn find(&self, call_id: &str, node: Option<NodeId>, position: usize) -> Option<&'a CallFact> {
        let fits = |fact: &&&CallFact| {
            fact.node.is_none_or(|wanted| node == Some(wanted))
                && fact.position.is_none_or(|wanted| position == wanted)
        };
        self.0.get(call_id)?.iter().find(fits).copied()
    }
}
