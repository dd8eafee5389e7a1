//! Moves of the head, told in a line.

use trunkline_message_tree::{MessageTree, NodeId};
use trunkline_runtime::revert;

use crate::shown::nodes::span;
use crate::term::style::{MAGENTA, YELLOW, paint};
use crate::term::text::{count, one_line};

/// Tells what left the trunk, what came back and what is new there; `newest` was the newest node before.
pub(crate) fn told(before: &[NodeId], newest: NodeId, tree: &MessageTree) -> String {
    let after = tree.trunk().ids();
    let left: Vec<NodeId> = before.iter().copied().filter(|id| !tree.is_on_trunk(*id)).collect();
    let came = after.iter().copied().skip_while(|id| before.contains(id));
    let (back, new): (Vec<NodeId>, Vec<NodeId>) = came.partition(|id| *id <= newest);
    let mut told = Vec::new();
    if !left.is_empty() {
        told.push(format!("left {} ({})", span(&left), count(left.len(), "node")));
    }
    if !back.is_empty() {
        told.push(format!("{} on the trunk again", span(&back)));
    }
    if !new.is_empty() {
        told.push(format!("{} added", span(&new)));
    }
    told.push(format!("head at {}", tree.head()));
    format!("⤺ {}", told.join(", "))
}

pub(crate) fn moved_line(word: &str, from: NodeId, to: NodeId) -> String {
    paint(MAGENTA, &format!("⤺ {word}: from {from} to {to}"))
}

pub(crate) fn reverted(record: &revert::Record) -> String {
    let words =
        record.summary.as_deref().map(|summary| format!(": {}", one_line(summary, 300))).unwrap_or_default();
    match (record.landed, record.abandoned.as_slice()) {
        (Some(landed), abandoned) => {
            let shown = record.uncovered.map(|shown| format!("; {shown}")).unwrap_or_default();
            let told =
                format!("⤺ left {}, back at {landed} ({}){words}{shown}", span(abandoned), record.category);
            paint(MAGENTA, &told)
        }
        (None, _) => {
            let reason = one_line(record.reason.as_deref().unwrap_or("refused"), 300);
            paint(YELLOW, &format!("⤺ not left: {reason}"))
        }
    }
}
