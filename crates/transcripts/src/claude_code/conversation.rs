//! From records to the messages that the next request would carry.
//!
//! The chain gives the order of messages; which lines belong to a message and which results follow it is found by ids.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Message, Usage};

use super::links::Links;
use super::record::{Body, Piece, Record};
use crate::json;
use crate::source::{self, Source};

/// A way through the records, and what was taken along beside it.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) messages: Vec<Message>,
    pub(super) sources: Vec<Source>,
    /// Every record of the way, in order, and those that belong to its messages.
    pub(super) records: Vec<usize>,
    /// The compaction that the way begins at.
    pub(super) boundary: Option<usize>,
}

/// Follows the chain up from a record and reads what stands on it.
pub(super) fn line(links: &Links<'_, '_>, leaf: usize) -> Line {
    let mut way = links.up_from(leaf);
    way.reverse();
    let is_boundary =
        |at: &&usize| matches!(links.records.get(**at), Some(Record { body: Body::Boundary { .. }, .. }));
    let boundary = way.first().filter(is_boundary).copied();
    if let Some(boundary) = boundary {
        keep_segment(links, boundary, &mut way);
    }
    let mut line = Line { boundary, ..Line::default() };
    let on_way: HashSet<usize> = way.iter().copied().collect();
    let before = message_before(links, &way);
    let mut done: HashSet<usize> = HashSet::new();
    let mut told: HashSet<usize> = HashSet::new();
    for at in &way {
        let Some(piece) = links.records.get(*at).and_then(Record::piece) else { continue };
        if piece.unsent || done.contains(at) {
            continue;
        }
        let Some(group) = links.group.get(*at).copied().flatten() else {
            line.push(links, &[*at]);
            continue;
        };
        if !told.insert(group) {
            continue;
        }
        line.push(links, links.groups.get(group).map_or(&[], Vec::as_slice));
        let answers = answers(links, group, &on_way, &before);
        done.extend(&answers);
        if !answers.is_empty() {
            line.push(links, &answers);
        }
    }
    line.records.extend(way);
    line
}

/// Puts what a compaction kept word for word back where the model sees it: after the anchor.
fn keep_segment(links: &Links<'_, '_>, boundary: usize, way: &mut Vec<usize>) {
    let Some(Record { body: Body::Boundary { kept: Some(kept), .. }, .. }) = links.records.get(boundary)
    else {
        return;
    };
    let find = |uuid: &str| links.by_uuid.get(uuid).copied();
    let (Some(head), Some(tail)) = (find(&kept.head), find(&kept.tail)) else { return };
    let mut segment = links.up_from(tail);
    let Some(length) = segment.iter().position(|at| *at == head) else { return };
    segment.truncate(length + 1);
    segment.reverse();
    let on_way: HashSet<&usize> = way.iter().collect();
    if segment.iter().any(|at| on_way.contains(at)) {
        return;
    }
    let anchor = find(&kept.anchor).and_then(|anchor| way.iter().position(|at| *at == anchor)).unwrap_or(0);
    way.splice(anchor + 1..anchor + 1, segment);
}

/// Returns for each record of the way the group that was the last before it, by position in the file.
fn message_before(links: &Links<'_, '_>, way: &[usize]) -> HashMap<usize, usize> {
    let mut before = HashMap::with_capacity(way.len());
    let mut last = None;
    for at in way {
        let unsent = links.records.get(*at).and_then(Record::piece).is_some_and(|piece| piece.unsent);
        if let Some(group) = links.group.get(*at).copied().flatten().filter(|_| !unsent) {
            last = Some(group);
        } else if let Some(last) = last {
            before.insert(*at, last);
        }
    }
    before
}

/// Returns the results that follow a message at once: those on the way before any other message of the model, and
/// those beside the way whose calls are not answered on it.
fn answers(
    links: &Links<'_, '_>,
    group: usize,
    on_way: &HashSet<usize>,
    before: &HashMap<usize, usize>,
) -> Vec<usize> {
    let all = links.answers.get(group).map_or(&[][..], Vec::as_slice);
    let ids = |at: usize| {
        let piece = links.records.get(at).and_then(Record::piece);
        piece
            .into_iter()
            .flat_map(|piece| &piece.content)
            .filter_map(|block| block.as_result())
            .map(|result| result.call_id.as_str())
    };
    let mut answered: HashSet<&str> =
        all.iter().filter(|at| on_way.contains(*at)).flat_map(|at| ids(*at)).collect();
    let mut taken = Vec::new();
    for at in all {
        let take = if on_way.contains(at) {
            before.get(at) == Some(&group)
        } else {
            let new = ids(*at).all(|id| !answered.contains(id));
            answered.extend(ids(*at).filter(|_| new));
            new
        };
        if take {
            taken.push(*at);
        }
    }
    taken
}

impl Line {
    /// Adds one message that stands in several records.
    fn push(&mut self, links: &Links<'_, '_>, records: &[usize]) {
        let mut source = Source { exact: true, ..Source::default() };
        let mut message: Option<Message> = None;
        for at in records {
            let Some(record) = links.records.get(*at) else { continue };
            let Some(piece) = record.piece() else { continue };
            source.records.push(*at);
            source.exact &= piece.exact;
            let piece_of = |raw: &&str| source::Piece { record: *at, range: json::range_in(links.text, raw) };
            source.blocks.extend(piece.raws.iter().map(piece_of));
            match &mut message {
                None => message = Some(first(piece)),
                Some(message) => add(message, piece),
            }
        }
        let Some(mut message) = message else { return };
        message.node = source::node(self.messages.len());
        self.records.extend(records);
        self.messages.push(message);
        self.sources.push(source);
    }
}

fn first(piece: &Piece<'_>) -> Message {
    let mut message = Message::new(piece.role, piece.author, piece.content.clone());
    message.origin = piece.origin.clone();
    message.stop = piece.stop.clone();
    message.usage = piece.usage;
    message
}

fn add(message: &mut Message, piece: &Piece<'_>) {
    message.content.extend(piece.content.iter().cloned());
    if message.origin.is_none() {
        message.origin = piece.origin.clone();
    }
    if piece.stop.is_some() {
        message.stop = piece.stop.clone();
    }
    // Every line repeats what the request cost; the last one has counted the most.
    if let Some(usage) = piece.usage {
        let most = message.usage.get_or_insert(Usage::default());
        if usage.output_tokens >= most.output_tokens {
            *most = usage;
        }
    }
}
