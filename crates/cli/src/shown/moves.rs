//! Moves of the head, told in a line.

use std::collections::BTreeMap;

use trunkline_message_tree::{MessageTree, NodeId};
use trunkline_runtime::revert::{self, Sentence};

use crate::reading::session::Reading;
use crate::shown::nodes::{listed, span};
use crate::term::style::{BOLD, DIM, MAGENTA, YELLOW, paint};
use crate::term::text::{count, one_line, wrapped};

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

/// Tells a move that says no more than its ends.
pub(crate) fn moved_line(word: &str, from: NodeId, to: NodeId) -> String {
    paint(MAGENTA, &format!("⤺ {word}: from {from} to {to}"))
}

/// Tells what came of a revert, applied or refused.
pub(crate) fn reverted(record: &revert::Record) -> String {
    let words =
        record.summary.as_deref().map(|summary| format!(": {}", one_line(summary, 300))).unwrap_or_default();
    match (record.landed, record.abandoned.as_slice()) {
        (Some(landed), abandoned) => {
            let shown = record.uncovered.map(|shown| format!("; {shown}")).unwrap_or_default();
            let back = match record.back.as_slice() {
                [] => format!("back at {landed}"),
                back => format!("{} on the trunk again", span(back)),
            };
            let told = format!("⤺ left {}, {back} ({}){words}{shown}", span(abandoned), record.category);
            paint(MAGENTA, &told)
        }
        (None, _) => {
            let reason = one_line(record.reason.as_deref().unwrap_or("refused"), 300);
            paint(YELLOW, &format!("⤺ not left: {reason}"))
        }
    }
}

/// Tells that a request to revert could not be read, with what the model wrote.
pub(crate) fn unread(request: &revert::UnreadRequest) -> String {
    let (fault, wrote) = (one_line(&request.fault, 200), one_line(&request.arguments, 120));
    let wrote = if wrote.is_empty() { "nothing".to_owned() } else { wrote };
    paint(YELLOW, &format!("⤺ not read: {fault}; the model wrote: {wrote}"))
}

/// Tells of the requests to revert that moved nothing, by the message that asked and the place of the call in it.
pub(crate) fn declined(reading: &Reading) -> BTreeMap<NodeId, BTreeMap<usize, String>> {
    let refused = reading.reverts().iter().filter(|record| !record.applied);
    let refused = refused.filter_map(|record| Some((record.call.as_ref()?, reverted(record))));
    let unread = reading.view().going_back().unread.iter().map(|request| (&request.call, unread(request)));
    let mut told: BTreeMap<NodeId, BTreeMap<usize, String>> = BTreeMap::new();
    for (call, line) in refused.chain(unread) {
        told.entry(call.node).or_default().insert(call.index, line);
    }
    told
}

/// Tells what the model has merged.
pub(crate) fn merged(record: &revert::MergeRecord) -> String {
    let lines = count(record.sentences.len(), "line");
    paint(MAGENTA, &format!("⤺ {} merges {}, {lines}", record.node, listed(&record.with)))
}

/// Tells which results the model leaves out of its requests, or why it cannot.
pub(crate) fn pruned(record: &revert::PruneRecord) -> String {
    if let Some(reason) = &record.reason {
        return paint(YELLOW, &format!("⤓ not pruned: {}", one_line(reason, 300)));
    }
    let named = |one: &revert::Pruned| {
        let node = one.node.map(|node| node.to_string()).unwrap_or_default();
        format!("{node} ({} of {})", count(one.bytes, "byte"), one_line(&one.tool, 64))
    };
    let named: Vec<String> = record.results.iter().map(named).collect();
    paint(MAGENTA, &format!("⤓ pruned {}", named.join(", ")))
}

/// Tells what a merge carries over, sentence by sentence with the nodes that it comes from.
pub(crate) fn carried(heading: &str, sentences: &[Sentence], left_out: usize, width: usize) -> String {
    let mut told = format!("{}\n", paint(MAGENTA, &format!("⤺ {heading}")));
    for Sentence { text, kind, from, .. } in sentences {
        let label = kind.map(|kind| format!("{kind}: ")).unwrap_or_default();
        let words = format!("{label}{} ({})", one_line(text, usize::MAX), listed(from));
        for (place, line) in wrapped(&words, width.saturating_sub(4).max(20)).iter().enumerate() {
            let bullet = if place == 0 { "  - " } else { "    " };
            told.push_str(&format!("{}{line}\n", paint(BOLD, bullet)));
        }
    }
    if left_out > 0 {
        told.push_str(&paint(DIM, &format!("  … {} left out\n", count(left_out, "more sentence"))));
    }
    told
}
