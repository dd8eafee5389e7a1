//! Messages in order, shared from one list to the next.

use std::fmt;
use std::ops::{Bound, Index, IndexMut, Range, RangeBounds};
use std::sync::Arc;

use crate::Message;

// A list is copied by its blocks of chunks. Larger ones make a change dearer, smaller ones a comparison.
const CHUNK: usize = 64;
const BLOCK: usize = 64;

type Chunk = Arc<[Arc<Message>]>;

/// A list of messages that is cheap to copy and to compare.
///
/// A copy takes three reference counts, whatever its length. A list that grows shares all of its beginning with the copies
/// that were made of it, so what it has in common with one of them is known by looking at one address in 64.
///
/// ```
/// use trunkline_message_tree::{Message, MessageList};
///
/// let mut list = MessageList::from(vec![Message::user("is 91 prime?")]);
/// let sent = list.clone();
/// list.push(Message::assistant("No, 7 · 13.").into());
/// assert_eq!(list.shared_with(&sent), 1);
/// assert_eq!(sent.len(), 1, "a copy stays as it was");
/// ```
#[derive(Clone, Default)]
pub struct MessageList {
    // Invariant: each block holds BLOCK chunks and each chunk CHUNK messages; `chunks` holds fewer chunks, and `rest` fewer
    // messages.
    blocks: Arc<Vec<Arc<[Chunk]>>>,
    chunks: Arc<Vec<Chunk>>,
    rest: Arc<Vec<Arc<Message>>>,
}

impl MessageList {
    /// Returns a list without messages.
    pub fn new() -> Self {
        MessageList::default()
    }

    /// Returns how many messages there are.
    pub fn len(&self) -> usize {
        self.full() * CHUNK + self.rest.len()
    }

    /// Returns how many chunks there are.
    fn full(&self) -> usize {
        self.blocks.len() * BLOCK + self.chunks.len()
    }

    fn chunk(&self, place: usize) -> Option<&Chunk> {
        match self.blocks.get(place / BLOCK) {
            Some(block) => block.get(place % BLOCK),
            None => self.chunks.get(place - self.blocks.len() * BLOCK),
        }
    }

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the message at this place, counted from 0.
    pub fn get(&self, place: usize) -> Option<&Arc<Message>> {
        match self.chunk(place / CHUNK) {
            Some(chunk) => chunk.get(place % CHUNK),
            None => self.rest.get(place - self.full() * CHUNK),
        }
    }

    /// Returns the message at this place for replacement. If the list has a copy this costs up to 192 steps and one for every
    /// 4,096 messages.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut Arc<Message>> {
        let (whole, full, chunk) = (self.blocks.len() * BLOCK, self.full(), place / CHUNK);
        if chunk >= full {
            return Arc::make_mut(&mut self.rest).get_mut(place - full * CHUNK);
        }
        let chunk = match chunk.checked_sub(whole) {
            Some(chunk) => Arc::make_mut(&mut self.chunks).get_mut(chunk)?,
            None => {
                let block = Arc::make_mut(&mut self.blocks).get_mut(chunk / BLOCK)?;
                Arc::make_mut(block).get_mut(chunk % BLOCK)?
            }
        };
        Arc::make_mut(chunk).get_mut(place % CHUNK)
    }

    /// Returns the first message.
    pub fn first(&self) -> Option<&Arc<Message>> {
        self.get(0)
    }

    /// Returns the last message.
    pub fn last(&self) -> Option<&Arc<Message>> {
        self.len().checked_sub(1).and_then(|last| self.get(last))
    }

    /// Returns the messages in order. `skip` costs one step, whatever the place.
    pub fn iter(&self) -> Messages<'_> {
        Messages { list: self, places: 0..self.len() }
    }

    /// Returns the messages of these places, in order; places that are not there are left out.
    pub fn range(&self, places: impl RangeBounds<usize>) -> Messages<'_> {
        let start = match places.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match places.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => usize::MAX,
        };
        let end = end.min(self.len());
        Messages { list: self, places: start.min(end)..end }
    }

    /// Returns the messages in one piece, for what takes a slice.
    pub fn to_vec(&self) -> Vec<Arc<Message>> {
        self.iter().cloned().collect()
    }

    /// Adds a message at the end.
    ///
    /// Costs one step. In a list that has a copy, the first message after copying costs up to 64 steps, one message in 64 costs up
    /// to 64 more, and one in 4,096 a step for every 4,096 messages there are.
    pub fn push(&mut self, message: Arc<Message>) {
        let rest = Arc::make_mut(&mut self.rest);
        rest.push(message);
        if rest.len() < CHUNK {
            return;
        }
        let chunks = Arc::make_mut(&mut self.chunks);
        chunks.push(std::mem::take(rest).into());
        if chunks.len() == BLOCK {
            Arc::make_mut(&mut self.blocks).push(std::mem::take(chunks).into());
        }
    }

    /// Takes the last message off and returns it.
    pub fn pop(&mut self) -> Option<Arc<Message>> {
        let last = self.last().cloned()?;
        self.truncate(self.len() - 1);
        Some(last)
    }

    /// Takes all messages off.
    pub fn clear(&mut self) {
        *self = MessageList::new();
    }

    /// Keeps this many messages, from the first; a list with no more than that stays as it is.
    pub fn truncate(&mut self, len: usize) {
        if len >= self.len() {
            return;
        }
        let (kept, over) = (len / CHUNK, len % CHUNK);
        let Some(cut) = self.chunk(kept) else {
            Arc::make_mut(&mut self.rest).truncate(over);
            return;
        };
        self.rest = Arc::new(cut.iter().take(over).cloned().collect());
        match self.blocks.get(kept / BLOCK) {
            Some(cut) => {
                self.chunks = Arc::new(cut.iter().take(kept % BLOCK).cloned().collect());
                Arc::make_mut(&mut self.blocks).truncate(kept / BLOCK);
            }
            None => Arc::make_mut(&mut self.chunks).truncate(kept - self.blocks.len() * BLOCK),
        }
    }

    /// Returns how many messages, from the first, are the same allocations in both lists.
    ///
    /// Two messages that say the same are not the same allocation. Between a list and its copy it costs up to 128 steps and one for
    /// every 4,096 messages that they share. Between lists that share no chunk, as two that were collected, it costs a step per
    /// message.
    pub fn shared_with(&self, other: &MessageList) -> usize {
        let blocks = self.blocks.iter().zip(other.blocks.iter());
        let mut chunk = BLOCK * blocks.take_while(|(ours, theirs)| Arc::ptr_eq(ours, theirs)).count();
        while let (Some(ours), Some(theirs)) = (self.chunk(chunk), other.chunk(chunk))
            && (Arc::ptr_eq(ours, theirs) || ours.iter().zip(theirs.iter()).all(|(a, b)| Arc::ptr_eq(a, b)))
        {
            chunk += 1;
        }
        let from = chunk * CHUNK;
        let pairs = self.iter().skip(from).zip(other.iter().skip(from));
        from + pairs.take_while(|(ours, theirs)| Arc::ptr_eq(ours, theirs)).count()
    }
}

/// The messages of a [`MessageList`], in order.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    list: &'a MessageList,
    places: Range<usize>,
}

impl<'a> Iterator for Messages<'a> {
    type Item = &'a Arc<Message>;

    fn next(&mut self) -> Option<Self::Item> {
        self.list.get(self.places.next()?)
    }

    fn nth(&mut self, skipped: usize) -> Option<Self::Item> {
        self.list.get(self.places.nth(skipped)?)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.places.size_hint()
    }
}

impl DoubleEndedIterator for Messages<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.list.get(self.places.next_back()?)
    }
}

impl ExactSizeIterator for Messages<'_> {}

impl<'a> IntoIterator for &'a MessageList {
    type Item = &'a Arc<Message>;
    type IntoIter = Messages<'a>;

    fn into_iter(self) -> Messages<'a> {
        self.iter()
    }
}

impl IntoIterator for MessageList {
    type Item = Arc<Message>;
    type IntoIter = std::vec::IntoIter<Arc<Message>>;

    fn into_iter(self) -> Self::IntoIter {
        self.to_vec().into_iter()
    }
}

/// Panics for a place that is not there, as a slice does; [`get`](MessageList::get) does not.
impl Index<usize> for MessageList {
    type Output = Arc<Message>;

    fn index(&self, place: usize) -> &Arc<Message> {
        let len = self.len();
        self.get(place).unwrap_or_else(|| panic!("a list of {len} messages has none at place {place}"))
    }
}

/// Panics for a place that is not there, as a slice does; [`get_mut`](MessageList::get_mut) does not.
impl IndexMut<usize> for MessageList {
    fn index_mut(&mut self, place: usize) -> &mut Arc<Message> {
        let len = self.len();
        self.get_mut(place).unwrap_or_else(|| panic!("a list of {len} messages has none at place {place}"))
    }
}

impl Extend<Arc<Message>> for MessageList {
    fn extend<I: IntoIterator<Item = Arc<Message>>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl FromIterator<Arc<Message>> for MessageList {
    fn from_iter<I: IntoIterator<Item = Arc<Message>>>(messages: I) -> Self {
        let mut list = MessageList::new();
        list.extend(messages);
        list
    }
}

impl<M: Into<Arc<Message>>> From<Vec<M>> for MessageList {
    fn from(messages: Vec<M>) -> Self {
        messages.into_iter().map(Into::into).collect()
    }
}

/// By content.
impl PartialEq for MessageList {
    fn eq(&self, other: &Self) -> bool {
        let shared = if self.len() == other.len() { self.shared_with(other) } else { 0 };
        self.len() == other.len() && self.iter().skip(shared).eq(other.iter().skip(shared))
    }
}

impl fmt::Debug for MessageList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self).finish()
    }
}
