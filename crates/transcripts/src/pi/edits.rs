//! Edits of the context: later requests carry other words in place of an entry, or none.
//!
//! The client keeps the entry and applies the edit when it sends. So what the session goes on with becomes a line of
//! its own, which leaves the old one where the first edited entry stands; the old one stays as it was. Edits on other
//! lines than that one are not applied.

use std::collections::HashMap;

use super::message::Said;
use crate::json::range_in;
use crate::log::{Entry, Log, Part};
use crate::source::{Piece, Source};

/// One edit.
#[derive(Debug)]
pub(super) struct Edit<'a> {
    /// Its record.
    pub(super) record: usize,
    /// The entry that is meant.
    pub(super) target: usize,
    /// What it says from now on; nothing if it is left out.
    pub(super) said: Option<Said<'a>>,
}

/// Returns where a message stands whose blocks are in one record.
pub(super) fn source(text: &str, record: usize, raws: &[&str], exact: bool) -> Source {
    let place = |raw: &&str| if raw.is_empty() { 0..0 } else { range_in(text, raw) };
    let blocks = raws.iter().map(|raw| Piece { record, range: place(raw) });
    Source { records: vec![record], blocks: blocks.collect(), exact, ..Source::default() }
}

/// Applies the edits on the way to the head; of several of one entry the last counts.
pub(super) fn apply(log: &mut Log, text: &str, edits: Vec<Edit<'_>>) {
    let Some(head) = log.head else { return };
    let line = log.line(head);
    let is_compaction =
        |at: &usize| matches!(log.entries.get(*at), Some(Entry { part: Part::Compaction { .. }, .. }));
    // What a compaction covers is not sent, so that its edits change nothing.
    let from = line.iter().rposition(is_compaction).and_then(|place| {
        let summary = log.entries.get(*line.get(place)?)?;
        match summary.part {
            Part::Compaction { kept: Some(kept) } => line.iter().position(|at| *at == kept),
            _ => Some(place),
        }
    });
    let sent = line.get(from.unwrap_or(0)..).unwrap_or_default();
    let mut edits: HashMap<usize, Edit<'_>> = edits.into_iter().map(|edit| (edit.target, edit)).collect();
    let Some(first) = sent.iter().position(|at| edits.contains_key(at)) else { return };
    let edited = sent.get(first..).unwrap_or_default();
    let Some(first) = edited.first().copied() else { return };
    let mut last = log.entries.get(first).and_then(|entry| entry.parent);
    // Where each entry of the new line stands, by the entry that it is made from, in order.
    let mut copies: Vec<(usize, usize)> = Vec::new();
    for at in edited {
        let Some(mut entry) = log.entries.get(*at).cloned() else { continue };
        entry.parent = last;
        match edits.remove(at) {
            Some(Edit { said: None, .. }) => continue,
            Some(Edit { said: Some(said), record, .. }) => {
                let home = entry.source.records.clone();
                entry.source = Source { records: home, ..source(text, record, &said.raws, false) };
                entry.message = said.message;
            }
            None => entry.part = copied(entry.part, *at, first, &copies),
        }
        last = Some(log.push(entry));
        copies.extend(last.map(|copy| (*at, copy)));
    }
    log.head = last;
}

/// Returns what a copy of an entry is in the session, on a line that is copied from `first` on.
fn copied(part: Part, of: usize, first: usize, copies: &[(usize, usize)]) -> Part {
    match part {
        Part::Said | Part::Copy { .. } => Part::Copy { of },
        Part::Compaction { kept: Some(kept) } if kept >= first => {
            // If it was left out itself, the next one that was not is the first.
            let place = copies.partition_point(|(old, _)| *old < kept);
            Part::Compaction { kept: copies.get(place).map(|(_, new)| *new) }
        }
        part => part,
    }
}
