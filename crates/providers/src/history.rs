//! The conversation's part of a body, encoded once.
//!
//! A conversation is cut into rounds: what the assistant says in a row, and what answers it. Whatever a wire joins,
//! pairs or checks lies within one round, so each is encoded apart from the others and, while its messages are the same,
//! never again. Messages are known again by their address: a message that was changed is another one.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use trunkline_message_tree::{Message, MessageList, Role};

use crate::shape::{self, After};
use crate::{EncodeError, Place};

// Pieces up to this size are joined, so that a long conversation is not thousands of small writes.
const PIECE: usize = 64 * 1024;

/// What was encoded for the request before, so that the next one costs what was added to it.
///
/// One memo serves one conversation on one wire. After a revert it keeps what is still on the trunk; with another wire,
/// other settings or another conversation it begins anew. It holds the encoded bytes and a share in each message.
#[derive(Debug, Default)]
pub struct Memo {
    // The wire and everything besides the messages that the bytes depend on.
    key: String,
    messages: MessageList,
    blocks: Vec<Block>,
    // Whether a round leaves calls open, or answers those of another, on a wire that lets it.
    late: bool,
}

/// Rounds whose bytes lie in one piece.
#[derive(Debug)]
struct Block {
    bytes: Bytes,
    rounds: Vec<Written>,
}

/// A round that was encoded; positions count within its block.
#[derive(Clone, Debug, Default)]
struct Written {
    end: usize,
    // How many messages of the conversation lie before its end.
    messages: usize,
    marks: Vec<usize>,
    tail: Option<usize>,
    // Breakpoints that raw blocks brought along, up to here in the whole conversation.
    carried: usize,
}

/// What the assistant says in a row and what answers it, or the messages before it first speaks.
#[derive(Copy, Clone)]
pub(crate) struct Round<'a> {
    pub(crate) messages: &'a [Arc<Message>],
    // The index of its first message in the conversation.
    pub(crate) first: usize,
    // Whether these are the system messages that lead the conversation.
    pub(crate) leads: bool,
}

impl<'a> Round<'a> {
    /// Returns each message with its place.
    pub(crate) fn places(self) -> impl Iterator<Item = (Place, &'a Message)> {
        self.messages.iter().zip(self.first..).map(|(message, index)| (Place::of(index, message), &**message))
    }
}

/// How a wire writes its conversation.
pub(crate) trait WriteRound {
    /// Returns everything besides the messages that the bytes depend on, the wire's name included.
    fn key(&self) -> String;

    /// Returns after what this wire looks for results.
    fn pairing(&self) -> After;

    /// Whether the wire takes the name of a called tool.
    fn takes_name(&self, name: &str) -> bool {
        !name.is_empty()
    }

    /// Writes the elements of one round, whose roles and pairs are already checked.
    fn write(&self, round: Round<'_>, out: &mut Out<'_>) -> Result<(), EncodeError>;
}

/// Where a round is written to: the elements of one JSON array.
pub(crate) struct Out<'a> {
    bytes: &'a mut Vec<u8>,
    begun: bool,
    written: Written,
}

impl Out<'_> {
    /// Writes one element of the array.
    pub(crate) fn element(&mut self, value: &impl Serialize) -> Result<(), EncodeError> {
        let bytes = self.begin();
        serde_json::to_writer(bytes, value).map_err(|fault| EncodeError::Json { reason: fault.to_string() })
    }

    /// Begins an element that the caller writes by hand, and returns where to.
    pub(crate) fn begin(&mut self) -> &mut Vec<u8> {
        if self.begun {
            self.bytes.push(b',');
        }
        self.begun = true;
        self.bytes
    }

    /// Returns where the element that was begun is written to.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        self.bytes
    }

    /// Says that a breakpoint may be put at this position; only the newest ones will be.
    pub(crate) fn mark_at(&mut self, position: usize) {
        self.written.marks.push(position);
    }

    /// Says that at this position a block may be added to the newest message that is not the model's.
    pub(crate) fn tail_at(&mut self, position: usize) {
        self.written.tail = Some(position);
    }

    /// Says that the model spoke last: there is nothing to add a block to.
    pub(crate) fn no_tail(&mut self) {
        self.written.tail = None;
    }

    /// Counts a breakpoint that a raw block brought along.
    pub(crate) fn carries_mark(&mut self) {
        self.written.carried += 1;
    }
}

/// What is put into the bytes of the conversation when they are handed out.
pub(crate) struct Inserts {
    /// What a breakpoint looks like, and how many of the newest places get one.
    pub(crate) mark: &'static str,
    pub(crate) marks: usize,
    // Whether the oldest place gets one too, for wires whose instructions are in the same list.
    pub(crate) lead: bool,
    /// What is added to the newest message that is not the model's.
    pub(crate) tail: Option<String>,
}

impl Inserts {
    /// Returns nothing.
    pub(crate) fn none() -> Self {
        Inserts { mark: "", marks: 0, lead: false, tail: None }
    }
}

impl Memo {
    /// Returns a memo that knows nothing.
    pub fn new() -> Self {
        Memo::default()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Memo::default();
    }

    /// Returns how many messages lead both this list and the one that was encoded last.
    pub fn shared_with(&self, messages: &MessageList) -> usize {
        self.messages.shared_with(messages)
    }

    /// Returns how many messages were encoded last.
    #[cfg(feature = "provider")]
    pub(crate) fn messages_known(&self) -> usize {
        self.messages.len()
    }

    /// Returns how many bytes it holds.
    #[cfg(feature = "provider")]
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.iter().map(|block| block.bytes.len()).sum()
    }

    /// Encodes what is new in the messages from `from` on. On an error nothing is known any more.
    pub(crate) fn update(
        &mut self,
        messages: &MessageList,
        from: usize,
        writer: &impl WriteRound,
    ) -> Result<(), EncodeError> {
        let key = format!("{from} {}", writer.key());
        if self.key != key {
            self.clear();
            self.key = key;
        }
        let outcome = self.add(messages, from, writer);
        if outcome.is_err() {
            self.clear();
        }
        outcome
    }

    fn add(
        &mut self,
        messages: &MessageList,
        from: usize,
        writer: &impl WriteRound,
    ) -> Result<(), EncodeError> {
        let lead = messages.iter().take_while(|message| message.role == Role::System).count();
        let starts = |index: usize| starts_round(messages, index, lead);
        let shared = self.shared_with(messages);
        let known = self.keep(shared, |end| end == messages.len() || starts(end)).max(from);
        self.messages.clone_from(messages);
        // Rounds are slices, so what is new is put side by side.
        let new: Vec<Arc<Message>> = messages.range(known..).cloned().collect();

        let mut bytes = Vec::new();
        let mut rounds = Vec::new();
        let mut begun = self.blocks.iter().any(|block| !block.bytes.is_empty());
        let mut carried = self.carried();
        let mut at = known;
        while at < messages.len() {
            let end = (at + 1..messages.len()).find(|index| starts(*index)).unwrap_or(messages.len());
            let of_round = new.get(at - known..end - known).unwrap_or_default();
            let round = Round { messages: of_round, first: at, leads: at < lead };
            shape::check_round(round, writer.pairing())?;
            // Where each round answers its own calls, nothing is late, and the rest need not be looked at again.
            self.late |= writer.pairing() == After::Anywhere && !shape::is_paired(round);
            for (node, message) in round.places() {
                if let Some(call) = message.calls().find(|call| !writer.takes_name(&call.name)) {
                    return Err(EncodeError::CalledName { name: call.name.clone(), node });
                }
            }
            let written = Written { carried, ..Written::default() };
            let mut out = Out { bytes: &mut bytes, begun, written };
            writer.write(round, &mut out)?;
            let (mut written, now_begun) = (out.written, out.begun);
            begun = now_begun;
            carried = written.carried;
            written.end = bytes.len();
            written.messages = end;
            rounds.push(written);
            at = end;
        }
        if self.late {
            shape::check_late_pairing(messages)?;
        }
        if !rounds.is_empty() {
            self.blocks.push(Block { bytes: bytes.into(), rounds });
            self.join_small();
        }
        Ok(())
    }

    /// Keeps the rounds that end within the first `shared` messages and where `ends` agrees; returns where the last ends.
    fn keep(&mut self, shared: usize, ends: impl Fn(usize) -> bool) -> usize {
        while let Some(block) = self.blocks.last_mut() {
            while block.rounds.last().is_some_and(|last| last.messages > shared || !ends(last.messages)) {
                block.rounds.pop();
            }
            if let Some(last) = block.rounds.last() {
                block.bytes.truncate(last.end);
                return last.messages;
            }
            self.blocks.pop();
        }
        0
    }

    /// Joins the newest pieces. One waits until what follows it is half as long, so a byte is copied once for each doubling.
    fn join_small(&mut self) {
        while let [.., first, second] = self.blocks.as_slice()
            && first.bytes.len() + second.bytes.len() <= PIECE
            && first.bytes.len() <= 2 * second.bytes.len()
        {
            let (Some(second), Some(first)) = (self.blocks.pop(), self.blocks.last_mut()) else { return };
            let offset = first.bytes.len();
            first.bytes = [first.bytes.as_ref(), second.bytes.as_ref()].concat().into();
            first.rounds.extend(second.rounds.into_iter().map(|mut round| {
                round.end += offset;
                round.marks.iter_mut().for_each(|mark| *mark += offset);
                round.tail = round.tail.map(|tail| tail + offset);
                round
            }));
        }
    }

    fn last(&self) -> Option<&Written> {
        self.blocks.last()?.rounds.last()
    }

    /// Returns how many breakpoints raw blocks brought along.
    pub(crate) fn carried(&self) -> usize {
        self.last().map_or(0, |round| round.carried)
    }

    /// Returns how many breakpoints could be placed, up to `most`.
    pub(crate) fn places(&self, most: usize) -> usize {
        let rounds = self.blocks.iter().rev().flat_map(|block| block.rounds.iter().rev());
        rounds.flat_map(|round| &round.marks).take(most).count()
    }

    /// Returns whether a block could be added to the newest message.
    pub(crate) fn has_tail(&self) -> bool {
        self.last().is_some_and(|round| round.tail.is_some())
    }

    /// Returns whether there is no element at all.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.iter().all(|block| block.bytes.is_empty())
    }

    /// Returns the elements of the array, with what is put in between. Copies no message.
    pub(crate) fn elements(&self, inserts: Inserts) -> Vec<Bytes> {
        let mut cuts: Vec<(usize, usize, Bytes)> = Vec::new();
        let newest = self.blocks.iter().enumerate().rev().flat_map(|(number, block)| {
            let rounds = block.rounds.iter().rev();
            rounds.flat_map(|round| round.marks.iter().rev()).map(move |at| (number, *at))
        });
        let mark = Bytes::from_static(inserts.mark.as_bytes());
        cuts.extend(newest.take(inserts.marks).map(|(number, at)| (number, at, mark.clone())));
        let oldest = self.blocks.first().and_then(|block| block.rounds.first());
        let oldest = oldest.and_then(|round| round.marks.last()).filter(|_| inserts.lead);
        if let Some(at) =
            oldest.filter(|at| !cuts.iter().any(|(number, other, _)| *number == 0 && other == *at))
        {
            cuts.push((0, *at, mark));
        }
        // Behind a breakpoint at the same place: what it says does not come again.
        if let Some(tail) = inserts.tail
            && let Some(at) = self.last().and_then(|round| round.tail)
        {
            cuts.push((self.blocks.len() - 1, at, tail.into()));
        }
        cuts.sort_by_key(|(number, at, _)| (*number, *at));
        let mut cuts = cuts.into_iter().peekable();
        let mut pieces = Vec::with_capacity(self.blocks.len() + 8);
        for (number, block) in self.blocks.iter().enumerate() {
            let mut rest = block.bytes.clone();
            let mut taken = 0;
            while let Some((_, at, insert)) = cuts.next_if(|(of, _, _)| *of == number) {
                pieces.push(rest.split_to(at - taken));
                taken = at;
                pieces.push(insert);
            }
            pieces.push(rest);
        }
        pieces
    }
}

/// Whether a round begins at this message: where the model begins to speak, and after the leading instructions.
fn starts_round(messages: &MessageList, index: usize, lead: usize) -> bool {
    let role = |index: usize| messages.get(index).map(|message| message.role);
    let before = index.checked_sub(1).and_then(role);
    let begins = role(index) == Some(Role::Assistant) && before != Some(Role::Assistant);
    begins || index == lead
}
