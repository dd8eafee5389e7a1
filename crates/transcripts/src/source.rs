//! Where each message stands in the text that it was read from.
//!
//! The way back depends on it: a block that nobody changed is written with the bytes that it had, and so keeps fields
//! that we do not know.

use std::ops::Range;

use trunkline_message_tree::{Content, Message, NodeId};

use crate::conversation::{Heading, Loss};
use crate::json::quote;

/// Where one message was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source {
    /// The records that it was read from, in order; by position among the records of the file.
    pub(crate) records: Vec<usize>,
    /// Where each of its blocks stands; as many as the message has.
    pub(crate) blocks: Vec<Piece>,
    /// Whether the records say what the message says, so that they can be written as they are.
    pub(crate) exact: bool,
    /// Whether it is a call or a result of the form before ids (OpenAI Chat): it is written anew with its other half.
    pub(crate) older: bool,
}

/// Where one block was read.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) record: usize,
    pub(crate) range: Range<usize>,
}

/// One message, and the bytes of its blocks.
#[derive(Debug)]
pub(crate) struct Parsed<'a> {
    pub(crate) message: Message,
    pub(crate) raws: Vec<&'a str>,
    pub(crate) exact: bool,
    pub(crate) older: bool,
}

/// A conversation as it was read: the messages, their sources, and the text.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Read<'a> {
    pub(crate) text: &'a str,
    pub(crate) messages: &'a [Message],
    pub(crate) sources: &'a [Source],
}

impl<'a> Read<'a> {
    /// Returns what a message was when it was read, by its node.
    pub(crate) fn origin(&self, message: &Message) -> Option<(&'a Message, &'a Source)> {
        let index = message.node?.index();
        Some((self.messages.get(index)?, self.sources.get(index)?))
    }

    /// Returns the source of a message that can be written as it was read.
    pub(crate) fn untouched(&self, message: &Message) -> Option<&'a Source> {
        let (read, source) = self.origin(message)?;
        (source.exact && read == message).then_some(source)
    }

    /// Begins to look for the blocks of one message.
    pub(crate) fn reuse(&self, message: &Message) -> Reuse<'a> {
        let origin = self.origin(message);
        let held = origin.map_or(0, |(_, source)| source.blocks.len());
        Reuse { text: self.text, origin, taken: vec![false; held], next: 0 }
    }
}

/// What a new session file is made from.
#[derive(Debug)]
pub(crate) struct Session<'a> {
    pub(crate) read: Read<'a>,
    /// Where each record of the old file stands.
    pub(crate) records: &'a [Range<usize>],
    /// Records that belong to the session as a whole and go along, such as its header.
    pub(crate) labels: &'a [Range<usize>],
    pub(crate) heading: &'a Heading,
}

impl<'a> Session<'a> {
    /// Returns the bytes of a record of the old file.
    pub(crate) fn record(&self, record: usize) -> Option<&'a str> {
        self.read.text.get(self.records.get(record)?.clone())
    }

    /// Returns the bytes of the labels of the old file.
    pub(crate) fn label_texts(&self) -> impl Iterator<Item = &'a str> {
        self.labels.iter().filter_map(|label| self.read.text.get(label.clone()))
    }
}

/// The blocks of a message as it was read, each given out once.
#[derive(Debug)]
pub(crate) struct Reuse<'a> {
    text: &'a str,
    origin: Option<(&'a Message, &'a Source)>,
    taken: Vec<bool>,
    next: usize,
}

/// The bytes of a block, and the record that they stand in.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Raw<'a> {
    pub(crate) record: usize,
    pub(crate) text: &'a str,
}

impl Raw<'_> {
    /// Returns the block as an object; a message whose content is a string has none.
    pub(crate) fn block(&self) -> String {
        if self.text.starts_with('"') {
            return format!(r#"{{"type":"text","text":{}}}"#, self.text);
        }
        self.text.to_owned()
    }
}

impl<'a> Reuse<'a> {
    /// Returns the bytes of the first equal block that was not given out yet.
    pub(crate) fn take(&mut self, content: &Content) -> Option<Raw<'a>> {
        // Blocks seldom move, so the search goes on from the last one. The limit keeps a message of a hundred
        // thousand blocks, all changed, from being compared with itself.
        const LIMIT: usize = 2_000;
        let (read, source) = self.origin?;
        let from_here = (self.next..self.taken.len()).chain(0..self.next).take(LIMIT);
        let is_it = |index: &usize| {
            self.taken.get(*index) == Some(&false) && read.content.get(*index) == Some(content)
        };
        let found = from_here.into_iter().find(is_it)?;
        let piece = source.blocks.get(found)?;
        // Where a block has no bytes of its own, as a result in a message of its own, it is written anew.
        let text = self.text.get(piece.range.clone()).filter(|text| !text.is_empty())?;
        *self.taken.get_mut(found)? = true;
        self.next = found + 1;
        Some(Raw { record: piece.record, text })
    }
}

/// Notes what found no place, for one message.
#[derive(Debug)]
pub(crate) struct Losses<'a> {
    pub(crate) list: &'a mut Vec<Loss>,
    pub(crate) message: usize,
    pub(crate) node: Option<NodeId>,
}

impl Losses<'_> {
    /// Notes one loss.
    pub(crate) fn note(&mut self, what: String) {
        self.list.push(Loss { message: self.message, node: self.node, what });
    }
}

/// Returns the node of the message at a position; none beyond what a node can name.
pub(crate) fn node(index: usize) -> Option<NodeId> {
    u32::try_from(index).ok().map(NodeId::new)
}

/// Writes words as blocks are written that hold only words: one string.
pub(crate) fn words(texts: &[&str]) -> String {
    quote(&texts.join("\n"))
}
