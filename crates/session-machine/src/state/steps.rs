//! Whether a run gets anywhere, and the steps back that were proposed.
//!
//! A fold of the log. Stored for it are a digest of each turn, and the proposals; words and moves of a person, and reverts,
//! are read off the records that tell of them anyway.

use serde_json::Value;
use trunkline_message_tree::{Author, Entry, HeadMove, Link, Message, MoveKind, NodeId, Role};
use trunkline_revert::{
    Answer, Category, Digest, Observation, ProposalEvent, ProposalId, Proposals, Record, StallEvent,
    StallPolicy, Watch,
};
use trunkline_session_store::Note as StoredNote;

use crate::notes::record;
use crate::notes::revert::TURN;

/// What the log holds of this.
#[derive(Default)]
pub struct Steps {
    /// What there was to see before somebody watched; whoever only looks never does.
    seen: Vec<StallEvent>,
    watch: Option<Box<Watch>>,
    /// Where a person has moved the head. It counts when something comes that does not say otherwise: that they accepted a
    /// proposal is told after the move that it makes.
    moved: Option<NodeId>,
    /// Where a merge has put it since. That a model asked for it is told after the move that it makes.
    merged: Option<NodeId>,
    /// Whether what a person says now is a copy that a revert has just made.
    copying: bool,
    /// Those that nobody has answered.
    pub open: Proposals,
    /// Everything that was recorded of proposals, oldest first.
    pub told: Vec<ProposalEvent>,
}

impl Steps {
    /// Begins to watch; what was seen until now was told then.
    pub(crate) fn watch(&mut self, policy: StallPolicy) {
        let seen = std::mem::take(&mut self.seen);
        self.watch = Some(Box::new(Watch::replay(policy, &seen)));
    }

    /// Returns the watch as it is before the next turn, to try out what that would show.
    pub(crate) fn watching(&self) -> Option<Watch> {
        let mut watch = Watch::clone(self.watch.as_ref()?);
        if let Some(node) = self.merged.or(self.moved) {
            watch.observe(&StallEvent::Person { node });
        }
        Some(watch)
    }

    fn observe(&mut self, event: StallEvent) {
        match &mut self.watch {
            Some(watch) => drop(watch.observe(&event)),
            None => self.seen.push(event),
        }
    }

    fn settle_move(&mut self) {
        let moved = self.moved.take();
        if let Some(node) = self.merged.take().or(moved) {
            self.observe(StallEvent::Person { node });
        }
    }

    /// Takes in a note of this module. What cannot be read, as of a later version, or does not fit is passed over: a watch
    /// that misses a turn is better than a session that nobody can open.
    pub(crate) fn record(&mut self, note: &StoredNote) {
        self.copying = false;
        if note.kind == TURN {
            if let Ok(turn) = record::read::<Observation>(note) {
                self.settle_move();
                self.observe(StallEvent::Turn(turn));
            }
            return;
        }
        let read: Option<ProposalEvent> = record::read(note).ok();
        let answered = read.as_ref().and_then(|event| match event {
            ProposalEvent::Answered { id, .. } => self.open.get(*id).cloned(),
            _ => None,
        });
        let Some(event) = read.filter(|event| self.open.record(event).is_ok()) else {
            return self.pass_over(note);
        };
        if let ProposalEvent::Answered { answer: Answer::Accepted { .. }, by: Author::Person, .. } = &event
            && let Some(to) = self.moved.take()
        {
            let request = answered.and_then(|proposal| proposal.request);
            let lesson = request.and_then(|request| lesson(request.category, request.summary.as_deref()));
            self.observe(StallEvent::Reverted { to, lesson });
        }
        self.told.push(event);
    }

    /// Keeps of a proposal that is passed over that its name is taken, and of one whose answer cannot be read that it is
    /// not open any more.
    fn pass_over(&mut self, note: &StoredNote) {
        let Ok(body) = record::read::<Value>(note) else { return };
        let id = |kind: &str| {
            let id = body.get(kind)?.get("id")?.as_u64()?;
            u32::try_from(id).ok().map(ProposalId)
        };
        if let Some(id) = id("made") {
            self.open.pass_over(id);
        }
        if let Some(id) = id("answered") {
            let event = ProposalEvent::Answered { id, answer: Answer::Overtaken, by: Author::Harness };
            if self.open.record(&event).is_ok() {
                self.told.push(event);
            }
        }
    }

    /// Takes in what became of a request; a person's own is seen from the move.
    pub(crate) fn reverted(&mut self, record: &Record) {
        self.copying = false;
        if let Some(event) = event_of(record) {
            self.settle_move();
            self.observe(event);
        }
    }

    /// Takes in that the move before this was the model's own merge, which is no word of a person. What a person did before stays one.
    pub(crate) fn merged_by_model(&mut self) {
        self.merged = None;
    }

    /// Takes in what the tree does.
    pub(crate) fn entry(&mut self, entry: &Entry) {
        match entry {
            Entry::Move(HeadMove { kind: MoveKind::ModelRevert, .. }) => self.copying = true,
            Entry::Move(HeadMove { kind: MoveKind::Merge, to, .. }) => {
                self.copying = false;
                self.merged = Some(*to);
            }
            Entry::Move(HeadMove { to, .. }) => {
                self.copying = false;
                (self.moved, self.merged) = (Some(*to), None);
            }
            Entry::Node { id, link: Link::Next, message, .. } if is_prompt(message) => {
                if !self.copying {
                    (self.moved, self.merged) = (None, None);
                    self.observe(StallEvent::Person { node: *id });
                }
            }
            Entry::Node { .. } => self.copying = false,
        }
    }
}

fn is_prompt(message: &Message) -> bool {
    message.role == Role::User && message.author == Author::Person
}

/// Returns what a watch has to know of a revert; `None` if nothing was moved, or a person did it.
pub(crate) fn event_of(record: &Record) -> Option<StallEvent> {
    let to = record.landed.filter(|_| record.applied && record.author != Author::Person)?;
    let lesson = lesson(record.category, record.summary.as_deref());
    Some(match (record.abandoned.first(), record.back.first()) {
        (Some(left), Some(back)) => StallEvent::Returned { to, lesson, between: (*left, *back) },
        _ => StallEvent::Reverted { to, lesson },
    })
}

/// Returns what was learned; what is done may be said in the same words each time.
fn lesson(category: Category, summary: Option<&str>) -> Option<Digest> {
    let teaches = matches!(category, Category::Failure | Category::Tangent);
    summary.filter(|_| teaches).map(Digest::of_lesson)
}
