//! The passes that repair a list, one per file; the mender calls them in order, turn by turn.
//!
//! They share nothing with the judge: two readings of the same rules find each other's mistakes.

mod blocks;
mod call_ids;
mod companions;
mod empties;
mod ends;
mod flatten;
mod known_calls;
pub(crate) mod live_loop;
mod mender;
mod names;
pub(crate) mod noted;
pub(crate) mod pairing;
pub(crate) mod provenance;
mod roles;
pub(crate) mod server_pairs;
mod slot;
mod turn;

pub(crate) use blocks::{drop_refused_of, is_thinking};
pub(crate) use call_ids::fits as id_fits;
pub(crate) use mender::{Line, LineMark, Mender, TurnPlace, mend};
pub(crate) use names::{fits as name_fits, refers_to_nothing};
pub(crate) use server_pairs::is_server_block;

use std::borrow::Cow;

use trunkline_message_tree::{Author, Content, Message, Part, Role, ToolResult};

use self::known_calls::KnownCalls;
use crate::{Place, RequestFacts, Thinking, WireRules};

/// What the passes are asked by.
pub(crate) struct Asked<'a> {
    pub(crate) rules: &'a WireRules,
    pub(crate) facts: &'a RequestFacts,
    pub(crate) thinking: Thinking,
    known: KnownCalls<'a>,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(rules: &'a WireRules, facts: &'a RequestFacts, thinking: Thinking) -> Self {
        Asked { rules, facts, thinking, known: KnownCalls::new(facts) }
    }
}

/// A message on its way through the passes.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) message: Message,
    /// Where it comes from.
    pub(crate) at: Place,
    /// How many blocks it was given with; none is known to be where it was unless they are still as many.
    given: usize,
    /// Whether it is left only to mark that the user had a turn here; its end is already accounted for.
    pub(crate) ghost: bool,
}

impl Item {
    pub(crate) fn new(index: usize, message: Message) -> Self {
        Item { at: Place::message(index, &message), given: message.content.len(), message, ghost: false }
    }

    /// Returns a further message made of blocks of this one.
    fn piece(&self, role: Role, content: Vec<Content>) -> Self {
        let author = match role {
            Role::Assistant => Author::Model,
            Role::Tool => Author::Tool,
            Role::User if self.message.role == Role::User => self.message.author,
            Role::User | Role::System => Author::Harness,
        };
        let node = self.message.node;
        let message = Message { node, ..Message::new(role, author, content) };
        Item { message, at: self.at, given: usize::MAX, ghost: false }
    }

    /// Returns a message of the harness that was nowhere before.
    fn stub(text: &str, at: Place) -> Self {
        Item { message: Message::harness(text), at, given: usize::MAX, ghost: false }
    }

    /// Returns the place of a block, or of the message if the block may have moved.
    fn place_of(&self, block: usize) -> Place {
        if self.message.content.len() == self.given { self.at.block(block) } else { self.at }
    }

    fn is_assistant(&self) -> bool {
        self.message.role == Role::Assistant
    }

    fn is_empty(&self) -> bool {
        self.message.content.is_empty()
    }
}

pub(crate) fn is_blank(text: &str) -> bool {
    text.trim_start().is_empty()
}

pub(crate) fn is_blank_part(part: &Part) -> bool {
    matches!(part, Part::Text { text } if is_blank(text))
}

/// What is said in the place of a raw part that its new place cannot hold.
fn raw_words(wire: &str, json: &str) -> String {
    format!("(a part of the {wire} wire) {json}")
}

/// The words of a result that is quoted, raw parts included.
fn quoted_words(result: &ToolResult) -> String {
    let words = result.content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(Cow::Borrowed(text.as_str())),
        Part::Opaque { wire, json } => Some(Cow::Owned(raw_words(wire, json))),
        Part::Image(_) | Part::Document(_) => None,
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Whether a message holds no words, or blank ones only.
fn is_silent(message: &Message) -> bool {
    message.content.iter().all(|block| matches!(block, Content::Text { text } if is_blank(text)))
}
