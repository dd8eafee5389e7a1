//! From records to the messages that the next request would carry.
//!
//! The chain gives the order of messages; which lines belong to a message and which results follow it is found by ids.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Author, Content, Message, Origin, Role, Usage};

use super::record::{Body, Piece, Record};
use super::tree::Tree;
use crate::anthropic::WIRE;
use crate::source::{self, Source};

/// A way through the records, as messages.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) messages: Vec<Message>,
    pub(super) sources: Vec<Source>,
    /// Whether the last message answers calls and is open for what was said beside its results.
    open: bool,
}

/// Follows the chain up from a record and reads what stands on it.
pub(super) fn line(tree: &Tree, leaf: usize) -> Line {
    let mut way: Vec<usize> = tree.up_from(leaf).collect();
    way.reverse();
    if let Some(boundary) = way.first().copied() {
        keep_segment(tree, boundary, &mut way);
    }
    let mut line = Line::default();
    let on_way: HashSet<usize> = way.iter().copied().collect();
    let before = message_before(tree, &way);
    let mut done: HashSet<usize> = HashSet::new();
    let mut told: HashSet<usize> = HashSet::new();
    for at in &way {
        let Some(piece) = tree.records.get(*at).and_then(Record::piece) else { continue };
        if piece.unsent || done.contains(at) {
            continue;
        }
        let Some(group) = tree.group_of(*at) else {
            if piece.queued && line.open {
                line.extend(tree, *at);
            } else {
                line.push(tree, &[*at]);
                line.open = piece.is_answer();
            }
            continue;
        };
        if !told.insert(group) {
            continue;
        }
        line.push(tree, tree.lines(group));
        let answers = answers(tree, group, &on_way, &before);
        done.extend(&answers);
        line.open = !answers.is_empty();
        if line.open {
            line.push(tree, &answers);
        }
    }
    line
}

/// Puts what a compaction kept word for word back where the model sees it: after the anchor.
fn keep_segment(tree: &Tree, boundary: usize, way: &mut Vec<usize>) {
    let Some(Record { body: Body::Boundary { kept: Some(kept), .. }, .. }) = tree.records.get(boundary)
    else {
        return;
    };
    let mut segment: Vec<usize> = tree.up_from(kept.tail).collect();
    let Some(length) = segment.iter().position(|at| *at == kept.head) else { return };
    segment.truncate(length + 1);
    segment.reverse();
    let on_way: HashSet<&usize> = way.iter().collect();
    if segment.iter().any(|at| on_way.contains(at)) {
        return;
    }
    let anchor = way.iter().position(|at| *at == kept.anchor).unwrap_or(0);
    way.splice(anchor + 1..anchor + 1, segment);
}

/// Returns for each record of the way the group that was the last before it, by position in the file.
fn message_before(tree: &Tree, way: &[usize]) -> HashMap<usize, usize> {
    let mut before = HashMap::with_capacity(way.len());
    let mut last = None;
    for at in way {
        let unsent = tree.records.get(*at).and_then(Record::piece).is_some_and(|piece| piece.unsent);
        if let Some(group) = tree.group_of(*at).filter(|_| !unsent) {
            last = Some(group);
        } else if let Some(last) = last {
            before.insert(*at, last);
        }
    }
    before
}

/// Returns the results that follow a message at once: those on the way before any other message of the model, and
/// those beside the way whose calls are not answered on it.
fn answers(tree: &Tree, group: usize, on_way: &HashSet<usize>, before: &HashMap<usize, usize>) -> Vec<usize> {
    let all = tree.answers(group);
    let ids = |at: usize| {
        let piece = tree.records.get(at).and_then(Record::piece);
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
    fn push(&mut self, tree: &Tree, records: &[usize]) {
        let mut records = records.iter().copied();
        let first = records.by_ref().find_map(|at| Some((at, tree.records.get(at)?.piece()?)));
        let Some((at, piece)) = first else { return };
        let mut message = Message::new(piece.role, piece.author, Vec::new());
        message.node = source::node(self.messages.len());
        self.messages.push(message);
        self.sources.push(Source { exact: true, ..Source::default() });
        self.extend(tree, at);
        for at in records {
            self.extend(tree, at);
        }
        if let (Some(message), Some(source)) = (self.messages.last_mut(), self.sources.last_mut())
            && source.records.len() > 1
            && message.role == Role::User
        {
            results_first(message, source);
        }
    }

    /// Adds a record to the last message.
    fn extend(&mut self, tree: &Tree, at: usize) {
        let (Some(message), Some(source)) = (self.messages.last_mut(), self.sources.last_mut()) else {
            return;
        };
        let Some(piece) = tree.records.get(at).and_then(Record::piece) else { return };
        source.records.push(at);
        source.exact &= piece.exact;
        let places = piece.places.iter().cloned();
        source.blocks.extend(places.map(|range| source::Piece { record: at, range }));
        add(message, piece);
    }
}

fn add(message: &mut Message, piece: &Piece) {
    message.content.extend(piece.content.iter().cloned());
    // Results are nobody's words; whoever speaks beside them is the author.
    if message.author == Author::Tool || piece.author == Author::Person {
        message.author = piece.author;
    }
    if message.origin.is_none() {
        let origin = |model: &std::sync::Arc<str>| Origin::new(WIRE, model.as_ref());
        message.origin = piece.model.as_ref().map(origin);
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

/// Puts results before words that stand in another record, as the client sends them.
fn results_first(message: &mut Message, source: &mut Source) {
    let is_result = |block: &Content| block.as_result().is_some();
    if message.content.is_sorted_by_key(|block| !is_result(block)) {
        return;
    }
    let blocks = std::mem::take(&mut message.content).into_iter().zip(std::mem::take(&mut source.blocks));
    let (results, words): (Vec<_>, Vec<_>) = blocks.partition(|(block, _)| is_result(block));
    (message.content, source.blocks) = results.into_iter().chain(words).unzip();
}
