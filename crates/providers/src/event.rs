//! What arrives while a model writes, and the fold that makes one message of it.
//!
//! A decoder may stop after any event with an error; what came until then is a message that was cut.

use std::ops::Range;
use std::time::Duration;

use trunkline_message_tree::{Author, Content, Message, Origin, Role, StopReason, ToolCall, Usage};

use crate::Trait;

// The most calls of one answer. None has nearly as many; keeps a hostile endpoint from making each piece cost more than the
// one before.
pub(crate) const CALL_LIMIT: usize = 1024;

/// One thing that arrived.
///
/// The order is the same on every wire; a reply that ends in an error may stop after any of them:
///
/// ```text
/// ( Retrying | Unread )*  Started  ( block | Replace | Usage | Wants | Ping | Unread | Remark )*  Stopped
///
/// block = TextDelta+ BlockDone
///       | ThinkingDelta* Signature? BlockDone
///       | CallStarted ( ArgumentsDelta | CallName )* CallSignature? CallDone
///                                                   (calls may overlap, told apart by their index)
///       | Block                                     (came whole)
/// ```
///
/// Empty deltas are never sent. `Retrying` comes as long as nothing was said, which is after any number of `Started`,
/// `Usage`, `Ping`, `Unread` and `Remark`, see [`Event::says`]. Where the caller lets an answer that broke off be asked for
/// again ([`RetryPolicy::restart`](crate::RetryPolicy::restart)), it comes after any event but `Stopped`. The order then
/// begins anew.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// An attempt failed; another one follows. Everything that came before in this reply is void.
    ///
    /// Without leave to restart, nothing of it [says](Event::says) anything.
    Retrying {
        /// The attempt that failed, from 1.
        attempt: u32,
        /// How long we wait before the next one.
        wait: Duration,
        /// Why it failed, on one line.
        cause: String,
    },
    /// The model begins.
    Started {
        /// The model that answers; may be more exact than what was asked for.
        model: String,
        /// The provider's id for this answer.
        id: Option<String>,
    },
    /// More words. They continue the open text block or open one.
    TextDelta(String),
    /// More reasoning. It continues the open reasoning block or opens one.
    ThinkingDelta(String),
    /// The whole signature of the open reasoning block; opens one if the reasoning itself is withheld.
    Signature(String),
    /// The open text or reasoning block is complete.
    BlockDone,
    /// A call begins.
    CallStarted {
        /// Its number among the calls of this answer, from 0.
        index: usize,
        /// The provider's id for it.
        id: String,
        /// The tool.
        name: String,
    },
    /// More of a call's arguments; they can be read only when the call is done.
    ArgumentsDelta {
        /// The number of the call.
        index: usize,
        /// The piece, byte for byte.
        text: String,
    },
    /// The name of a call, whole: it went on after its arguments had begun.
    CallName {
        /// The number of the call.
        index: usize,
        /// The tool.
        name: String,
    },
    /// The signature of a call itself, opaque.
    CallSignature {
        /// The number of the call.
        index: usize,
        /// The signature, whole.
        signature: String,
    },
    /// A call is complete.
    CallDone {
        /// The number of the call.
        index: usize,
    },
    /// A block that came whole, such as encrypted reasoning or the answer of a tool that the provider runs.
    Block(Content),
    /// Blocks that came are in truth another one: reasoning was shown in words, and what must go back to the provider
    /// is known only at its end, which may come after what it led to.
    Replace {
        /// The numbers of the blocks among those of the answer, from 0; an empty range puts one before that number.
        blocks: Range<usize>,
        /// What stands there instead.
        with: Content,
    },
    /// What the request costs so far; replaces what was said before.
    Usage(Usage),
    /// A part of the answer that could not be read; what came after it was.
    ///
    /// It belongs into a record and before a person, never into words that the model reads. A call that it may have been a
    /// piece of makes the whole answer an error.
    Unread {
        /// How it begins, on one line.
        text: String,
        /// What is wrong with it, on one line.
        cause: String,
    },
    /// What the service says of the end of its answer, in its own words, on one line.
    Remark(String),
    /// The model has stopped, and why.
    Stopped(StopReason),
    /// The answer shows how the service wants something back that it gave.
    Wants(Trait),
    /// A sign of life.
    Ping,
}

impl Event {
    /// Returns whether it is a part of what the model says: words, reasoning, a call, any block.
    ///
    /// Until such an event, nothing is lost if the request is sent again.
    pub fn says(&self) -> bool {
        match self {
            Event::Started { .. }
            | Event::Retrying { .. }
            | Event::Usage(_)
            | Event::Unread { .. }
            | Event::Remark(_)
            | Event::Wants(_)
            | Event::Stopped(_)
            | Event::Ping => false,
            Event::TextDelta(_)
            | Event::ThinkingDelta(_)
            | Event::Signature(_)
            | Event::BlockDone
            | Event::CallStarted { .. }
            | Event::ArgumentsDelta { .. }
            | Event::CallName { .. }
            | Event::CallSignature { .. }
            | Event::CallDone { .. }
            | Event::Block(_)
            | Event::Replace { .. } => true,
        }
    }
}

/// Folds events to one assistant message.
///
/// ```
/// use trunkline_message_tree::{Origin, StopReason};
/// use trunkline_providers::{Event, Fold};
///
/// let origin = Origin::new("anthropic", "m");
/// let mut fold = Fold::new(origin);
/// fold.push(&Event::TextDelta("half a sen".into()));
/// // What was streamed before a cancel is kept as what it is.
/// let message = fold.cut(StopReason::Cancelled).expect("something came");
/// assert_eq!(message.text(), "half a sen");
/// assert_eq!(message.stop, Some(StopReason::Cancelled));
/// ```
#[derive(Clone, Debug)]
pub struct Fold {
    origin: Origin,
    content: Vec<Content>,
    // Whether the last block of `content` takes further deltas.
    open: bool,
    // The place in `content` of each call, by its index.
    calls: Vec<usize>,
    usage: Option<Usage>,
    stop: Option<StopReason>,
    id: Option<String>,
    wants: Vec<Trait>,
    remark: Option<String>,
    // Text and cause.
    unread: Vec<(String, String)>,
}

impl Fold {
    /// Returns a fold that has seen nothing. The origin is written on the message.
    pub fn new(origin: Origin) -> Self {
        Fold {
            origin,
            content: Vec::new(),
            open: false,
            calls: Vec::new(),
            usage: None,
            stop: None,
            id: None,
            wants: Vec::new(),
            remark: None,
            unread: Vec::new(),
        }
    }

    /// Takes in the next event. Deltas of a call that never started are ignored; [`Event::Retrying`] begins anew.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::TextDelta(delta) => match self.open_block() {
                Some(Content::Text { text }) => text.push_str(delta),
                _ => self.open_with(Content::text(delta)),
            },
            Event::ThinkingDelta(delta) => match self.open_block() {
                Some(Content::Thinking { text, signature: None }) => text.push_str(delta),
                _ => self.open_with(Content::Thinking { text: delta.clone(), signature: None }),
            },
            Event::Signature(whole) => match self.open_block() {
                Some(Content::Thinking { signature, .. }) => *signature = Some(whole.clone()),
                _ => {
                    self.open_with(Content::Thinking { text: String::new(), signature: Some(whole.clone()) })
                }
            },
            Event::BlockDone => self.open = false,
            Event::CallStarted { index, id, name } => {
                // A repeated or skipped index would be a decoder's fault; the call itself is kept either way.
                if *index == self.calls.len() {
                    self.calls.push(self.content.len());
                }
                let call = ToolCall {
                    id: id.clone(),
                    name: name.clone(),
                    arguments: String::new(),
                    signature: None,
                };
                self.content.push(Content::ToolCall(call));
                self.open = false;
            }
            Event::ArgumentsDelta { index, text } => {
                if let Some(call) = self.call(*index) {
                    call.arguments.push_str(text);
                }
            }
            Event::CallName { index, name } => {
                if let Some(call) = self.call(*index) {
                    call.name.clone_from(name);
                }
            }
            Event::CallSignature { index, signature } => {
                if let Some(call) = self.call(*index) {
                    call.signature = Some(signature.clone());
                }
            }
            Event::Block(block) => {
                self.content.push(block.clone());
                self.open = false;
            }
            Event::Replace { blocks, with } => self.replace(blocks, with),
            Event::Usage(usage) => self.usage = Some(*usage),
            Event::Stopped(stop) => self.stop = Some(stop.clone()),
            Event::Wants(one) => self.wants.push(*one),
            Event::Remark(words) => self.remark = Some(words.clone()),
            // What an answer is called outlives its connection.
            Event::Retrying { .. } => *self = Fold { id: self.id.take(), ..Fold::new(self.origin.clone()) },
            Event::Started { id: Some(id), .. } => self.id = Some(id.clone()),
            Event::Unread { text, cause } => self.unread.push((text.clone(), cause.clone())),
            Event::CallDone { .. } | Event::Started { .. } | Event::Ping => {}
        }
    }

    /// Returns the message of a complete reply; it may have no block at all.
    pub fn finish(self) -> Message {
        let mut message = Message::new(Role::Assistant, Author::Model, self.content);
        message.origin = Some(self.origin);
        message.stop = self.stop;
        message.usage = self.usage;
        message
    }

    /// Returns what came of a reply that was cut off, for the given reason; `None` if no block had begun.
    ///
    /// The last block may be half a sentence, reasoning without its signature, or a call whose arguments end in the
    /// middle. Such a call must never run; [`ToolCall::parse_arguments`] refuses it unless the piece happens to be
    /// whole JSON, so look at the stop reason first.
    pub fn cut(mut self, reason: StopReason) -> Option<Message> {
        if self.content.is_empty() {
            return None;
        }
        self.stop = Some(reason);
        Some(self.finish())
    }

    /// Returns the provider's id for the answer, the last that was told.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns what the answer has shown of how the service wants something back.
    pub fn wants(&self) -> &[Trait] {
        &self.wants
    }

    /// Returns the last usage that was reported.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// Returns the parts of the answer that could not be read: how each begins, and what is wrong with it.
    pub fn unread(&self) -> &[(String, String)] {
        &self.unread
    }

    /// Returns what the service said of the end of its answer, in its own words.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    fn replace(&mut self, blocks: &Range<usize>, with: &Content) {
        let start = blocks.start.min(self.content.len());
        let end = blocks.end.clamp(start, self.content.len());
        // Calls stay: deltas still find them by their place.
        let end = if self.calls.iter().any(|place| (start..end).contains(place)) { start } else { end };
        if end == self.content.len() {
            self.open = false;
        }
        self.content.splice(start..end, [with.clone()]);
        for place in self.calls.iter_mut().filter(|place| **place >= end) {
            *place = *place + 1 - (end - start);
        }
    }

    fn call(&mut self, index: usize) -> Option<&mut ToolCall> {
        match self.content.get_mut(*self.calls.get(index)?)? {
            Content::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    fn open_block(&mut self) -> Option<&mut Content> {
        if self.open { self.content.last_mut() } else { None }
    }

    fn open_with(&mut self, block: Content) {
        self.content.push(block);
        self.open = true;
    }
}
