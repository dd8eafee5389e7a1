//! Looks up what is known of a call.

use std::collections::HashMap;

use trunkline_message_tree::NodeId;

use crate::{CallFact, RequestFacts};

/// What a fact names of its call: id, node and position.
type Key<'a> = (&'a str, Option<NodeId>, Option<usize>);

/// The facts by what they name, each with its place among them all.
pub(super) struct KnownCalls<'a>(HashMap<Key<'a>, (usize, &'a CallFact)>);

impl<'a> KnownCalls<'a> {
    pub(super) fn new(facts: &'a RequestFacts) -> Self {
        let mut by_name: HashMap<Key<'a>, (usize, &CallFact)> = HashMap::new();
        for (place, fact) in facts.calls.iter().enumerate() {
            by_name.entry((&fact.call_id, fact.node, fact.position)).or_insert((place, fact));
        }
        KnownCalls(by_name)
    }

    /// Returns the first fact that fits the call.
    pub(super) fn find(&self, call_id: &str, node: Option<NodeId>, position: usize) -> Option<&'a CallFact> {
        let nodes = [node, None];
        let keys = nodes.iter().flat_map(|node| [(call_id, *node, Some(position)), (call_id, *node, None)]);
        keys.filter_map(|key| self.0.get(&key)).min_by_key(|(place, _)| *place).map(|(_, fact)| *fact)
    }
}
