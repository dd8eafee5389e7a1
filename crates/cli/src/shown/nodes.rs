//! Nodes, named in a row.

use trunkline_message_tree::NodeId;

/// How many groups of nodes are named.
const RUNS: usize = 5;

/// Names nodes, those that follow each other together: `n5–n9, n12`.
pub(crate) fn span(nodes: &[NodeId]) -> String {
    let mut runs: Vec<(NodeId, NodeId)> = Vec::new();
    for node in nodes {
        match runs.last_mut() {
            Some((_, last)) if last.index() + 1 == node.index() => *last = *node,
            _ => runs.push((*node, *node)),
        }
    }
    let more = runs.len().saturating_sub(RUNS);
    let named = runs.iter().take(RUNS).map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}–{last}"),
    });
    let mut named: Vec<String> = named.collect();
    named.extend((more > 0).then(|| "…".to_owned()));
    if named.is_empty() { "nothing".to_owned() } else { named.join(", ") }
}

/// Returns nodes, separated by commas.
pub(crate) fn listed(nodes: &[NodeId]) -> String {
    nodes.iter().map(NodeId::to_string).collect::<Vec<_>>().join(", ")
}
