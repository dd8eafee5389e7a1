//! What was encoded before, for the conversations that a provider talks in.

use std::sync::{Mutex, MutexGuard, PoisonError};

use trunkline_message_tree::MessageList;

use crate::Memo;

// One holds a conversation's bytes. These are kept whatever they hold: an agent, and helpers that it asks at the same time.
const LEAST: usize = 4;
// And so many, as long as they hold no more bytes together than that: a service with many conversations.
const MOST: usize = 64;
const BYTES: usize = 32 * 1024 * 1024;

/// The memos of the newest conversations, the last used one last.
///
/// Each is taken out while it is used, so that nobody waits for somebody else's encoding.
#[derive(Default)]
pub(crate) struct Memos(Mutex<Vec<Memo>>);

impl Memos {
    /// Takes out the memo that knows most of these messages, or begins one.
    pub(crate) fn take(&self, messages: &MessageList) -> Memo {
        let mut memos = self.memos();
        let shared = memos.iter().map(|memo| memo.shared_with(messages)).enumerate();
        // Instructions that two conversations share do not make them one: more than half must be of use.
        let known = shared.filter(|(at, shared)| {
            *shared > 0 && memos.get(*at).is_some_and(|memo| *shared * 2 > memo.messages_known())
        });
        match known.max_by_key(|(_, shared)| *shared) {
            Some((at, _)) => memos.remove(at),
            None => Memo::new(),
        }
    }

    /// Puts a memo back after use.
    pub(crate) fn put(&self, memo: Memo) {
        if memo.messages_known() == 0 {
            return;
        }
        let mut memos = self.memos();
        memos.push(memo);
        let mut bytes = 0;
        let fits = memos.iter().rev().enumerate().take_while(|(place, memo)| {
            bytes += memo.bytes();
            *place < LEAST || (*place < MOST && bytes <= BYTES)
        });
        let over = memos.len() - fits.count();
        // Freed after the lock.
        let _gone: Vec<Memo> = memos.drain(..over).collect();
        drop(memos);
    }

    fn memos(&self) -> MutexGuard<'_, Vec<Memo>> {
        // A list of memos is whole after any panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
