//! What the log holds of discard hooks: whose proposals have ended, and whose tools have not been told of it yet.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trunkline_resolve_queue::Entry;
use trunkline_session_store::Note;

use crate::notes::discard_hook::{HookChange, HookNote};
use crate::notes::record;
use crate::words::hook::HookEnded;
use crate::words::work::Id;

/// The hooks of proposals that have ended without having been applied.
#[derive(Default)]
pub struct Hooks {
    known: BTreeMap<Id, Hook>,
    /// Those that have not ended. What is asked in each step must not walk over the others.
    open: BTreeSet<Id>,
}

/// What became of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hook {
    /// For which end of its proposal it is called.
    pub end: u32,
    /// How often it was begun.
    pub begun: u32,
    /// How it has ended; `None` as long as it has not.
    pub ended: Option<HookEnded>,
    /// Whether the model was told of the discard before.
    pub(crate) told: bool,
}

impl Hooks {
    /// Returns what became of the hook of the newest end of a proposal; `None` where it has none, or has not ended.
    pub fn of(&self, id: Id) -> Option<&Hook> {
        self.known.get(&id)
    }

    /// Returns the proposals that have ended and whose tools have not been told, in their order.
    pub fn open(&self) -> impl Iterator<Item = Id> {
        self.open.iter().copied()
    }

    /// Returns whether a tool has yet to be told of the end of a proposal.
    pub(crate) fn is_open(&self, id: Id) -> bool {
        self.open.contains(&id)
    }

    /// Takes in where a proposal stands after something happened to it.
    pub(crate) fn follow(&mut self, entry: &Entry<Value>) {
        if !entry.proposal.hears_end {
            return;
        }
        match &entry.end {
            Some(end) if self.known.get(&entry.id).is_none_or(|hook| hook.end != end.number) => {
                self.known.insert(entry.id, Hook { end: end.number, begun: 0, ended: None, told: false });
                self.open.insert(entry.id);
            }
            Some(_) => {}
            // It came back, and there is nothing to clean up.
            None => drop(self.open.remove(&entry.id)),
        }
    }

    /// Takes in what happened to a hook. One that cannot be read is passed over: then the hook is called once more.
    pub(crate) fn record(&mut self, note: &Note) {
        let Ok(HookNote { proposal, end, change }) = record::read(note) else { return };
        let Some(hook) = self.known.get_mut(&proposal).filter(|hook| hook.end == end) else { return };
        match change {
            HookChange::Began => hook.begun = hook.begun.saturating_add(1),
            HookChange::Told => hook.told = true,
            HookChange::Ended(ended) => {
                hook.ended = Some(ended);
                self.open.remove(&proposal);
            }
        }
    }

    /// Forgets what was staged elsewhere: no tool here has made anything for it, and what would be cleaned up somebody else wrote.
    pub(crate) fn distrust(&mut self) {
        self.open.clear();
    }
}
