//! Attempts to ask the model that came to nothing, as the log holds them.
//!
//! What had come of such an answer is filed beside the trunk, and a note says why, and until when is waited. Both are one
//! batch, so a process that takes the session up waits on, and counts on, where the other one was.

use std::time::Duration;

use trunkline_message_tree::{Author, Entry, NodeId, Origin, Timestamp};
use trunkline_session_store::Note;

use crate::notes::record;
use crate::words::attempt::Attempt;
use crate::words::retries::Cause;

/// What the log holds of the attempts since the conversation last went on.
#[derive(Debug, Default)]
pub struct Tries {
    /// The latest that is followed by another one.
    last: Option<Box<Attempt>>,
    /// Whether the model was told already that its answer had nothing in it.
    told_nothing: bool,
}

impl Tries {
    /// Takes in what the tree has done. Words of the harness belong to the request; anything else ends it.
    pub(crate) fn entry(&mut self, entry: &Entry) {
        let goes_on = match entry {
            Entry::Node { link, message, .. } => !link.is_filed() && message.author != Author::Harness,
            Entry::Move(_) => true,
        };
        if goes_on {
            *self = Tries::default();
        }
    }

    /// Takes in a note. One that cannot be read, as of a later version, is passed over: to ask once too often is better than
    /// a session that nobody can open.
    pub(crate) fn record(&mut self, note: &Note) {
        let Ok(attempt) = record::read::<Attempt>(note) else { return };
        match (attempt.until, attempt.cause) {
            // Whoever goes on after that begins anew.
            (None, _) => *self = Tries::default(),
            // It did come through.
            (Some(_), Cause::Nothing) => *self = Tries { last: None, told_nothing: true },
            (Some(_), _) => self.last = Some(Box::new(attempt)),
        }
    }

    /// Returns whether the next request is asked for the first time.
    pub fn is_first(&self) -> bool {
        self.last.is_none() && !self.told_nothing
    }

    pub(crate) fn told_nothing(&self) -> bool {
        self.told_nothing
    }

    /// Returns until when is waited before this model is asked. What another one asked for does not bind it.
    pub(crate) fn until(&self, asks: &Origin) -> Option<Timestamp> {
        self.of(asks)?.until
    }

    /// Returns how many attempts with this model came to nothing, and how long they took with their waits.
    pub(crate) fn before(&self, asks: &Origin) -> (u32, Duration) {
        self.of(asks).map_or((0, Duration::ZERO), |last| (last.attempt, Duration::from_millis(last.spent)))
    }

    /// Returns the id of the answer that this model makes in the background. It was asked for at one head: of what was said
    /// since then it knows nothing, and is no answer to it.
    pub fn answer(&self, asks: &Origin, head: NodeId) -> Option<&str> {
        self.of(asks).filter(|last| last.head == head)?.answer.as_deref()
    }

    fn of(&self, asks: &Origin) -> Option<&Attempt> {
        self.last.as_deref().filter(|last| last.origin == *asks)
    }
}
