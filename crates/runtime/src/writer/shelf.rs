//! What sessions keep of their requests from one drive to the next, within a limit for all sessions of an agent.
//!
//! It can be made again from the log, at the cost of looking at the whole conversation and encoding it once more. So a service with
//! thousands of idle sessions keeps it only for those that were driven last.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use trunkline_message_tree::MessageList;

use trunkline_session_machine::request::rendering::Rendering;

/// For how many messages of all sessions of an agent together something is kept. A message takes some 100 bytes; with reverts the
/// words of tools and people are copied besides.
const MOST: usize = 400_000;
/// The least number of messages that a session is counted as.
const LEAST: usize = 1_024;

/// What a session keeps of its requests.
#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) rendering: Option<Box<Rendering>>,
    /// What was sent last: what is sent again is known by its address, and not encoded again.
    pub(crate) sent: MessageList,
}

impl Kept {
    fn weight(&self) -> usize {
        let rendered = self.rendering.as_ref().map_or(0, |rendering| rendering.messages().len());
        rendered.max(self.sent.len()).max(LEAST)
    }
}

/// What the sessions of an agent keep that are not driven now.
#[derive(Default)]
pub(crate) struct Shelf(Mutex<Places>);

#[derive(Default)]
struct Places {
    /// By the order in which they were put here.
    kept: BTreeMap<u64, (usize, Kept)>,
    weight: usize,
    next: u64,
}

/// Where something stands on a shelf. It goes with its place, and before that if others need the room.
pub(crate) struct Place {
    shelf: Arc<Shelf>,
    number: u64,
}

impl Shelf {
    /// Puts something here, if there is anything, and takes away what has been here for the longest time while it is too much.
    /// What was put here last stays, however much it is.
    pub(crate) fn put(self: &Arc<Self>, kept: Kept) -> Option<Place> {
        if kept.rendering.is_none() && kept.sent.is_empty() {
            return None;
        }
        let mut gone = Vec::new();
        let mut places = self.open();
        let (number, weight) = (places.next, kept.weight());
        places.next += 1;
        places.weight += weight;
        places.kept.insert(number, (weight, kept));
        while places.weight > MOST && places.kept.len() > 1 {
            let Some((_, (weight, oldest))) = places.kept.pop_first() else { break };
            places.weight -= weight;
            gone.push(oldest);
        }
        // Freed after the lock.
        drop(places);
        drop(gone);
        Some(Place { shelf: Arc::clone(self), number })
    }

    fn take(&self, number: u64) -> Option<Kept> {
        let mut places = self.open();
        let (weight, kept) = places.kept.remove(&number)?;
        places.weight -= weight;
        drop(places);
        Some(kept)
    }

    // Nothing here panics while holding the mutex, so a poisoned value is still whole.
    fn open(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Takes back what stands here, if it still does.
    pub(crate) fn take(&self) -> Option<Kept> {
        self.shelf.take(self.number)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shelf.take(self.number);
    }
}
