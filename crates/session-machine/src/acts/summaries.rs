//! What a branch came to, asked of a summarizer after it was left: which branches are asked about, and what becomes of the answers.
//!
//! A revert never waits for this. What is lost in a kill is asked for once more by the next process, and then no more.

use std::collections::{BTreeSet, HashSet, VecDeque};

use trunkline_decision_objects::TaskId;
use trunkline_message_tree::{Message, MoveId, Usage};
use trunkline_revert::{Ledger, Note, NoteKind};

use crate::acts::plan::Plan;
use crate::acts::view::View;
use crate::notes::record;
use crate::notes::revert::{LAYER, NOTE, SUMMARY_ASKED, SummaryAsked};
use crate::notes::task::{self, Beside};
use crate::rules::spending;
use crate::words::event::Event;

/// How often a summary of one revert is asked for at most, over all processes.
const MOST_ASKED: u32 = 2;
/// How many summaries are asked for at once.
const MOST_AT_ONCE: usize = 2;
/// Of how many reverts of other processes, the latest, a process asks again. The log may come from anywhere, and each of
/// them costs a request.
const MOST_AGAIN: usize = 8;

/// What this process has asked of its summarizer. Like [`Facts`](crate::next::Facts) it is not in the log.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    /// What is to be asked when there is room.
    waiting: VecDeque<MoveId>,
    /// What this process has asked, or gave up to ask.
    started: HashSet<MoveId>,
}

/// A branch of which a summary is asked.
#[derive(Clone, Debug)]
pub struct Unsaid {
    /// The move that left it.
    pub head_move: MoveId,
    /// What its note is about.
    pub kind: NoteKind,
    /// Its messages, oldest first.
    pub messages: Vec<Message>,
    /// What was done there.
    pub ledger: Ledger,
    /// The task that was open when it was asked for: what it costs is spent on that.
    pub task: Option<TaskId>,
}

/// A summary that was asked for.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The move that left the branch.
    pub head_move: MoveId,
    /// The task that was open when it was asked for.
    pub task: Option<TaskId>,
    /// What providers have counted for it.
    pub usage: Option<Usage>,
}

impl Asking {
    /// Adds what the reverts of this process did not say. The first `others` notes were made by other processes.
    pub fn add_own(&mut self, view: &View<'_>, others: usize) {
        let part = &view.state.revert;
        if part.asked.is_empty() {
            return;
        }
        let own: HashSet<MoveId> = part.notes.iter().skip(others).map(|note| note.made_by).collect();
        for note in part.unsaid() {
            let once = part.asked.get(&note.made_by) == Some(&1);
            if once && own.contains(&note.made_by) && self.started.insert(note.made_by) {
                self.waiting.push_back(note.made_by);
            }
        }
    }

    /// Takes up what other processes have asked for and did not live to see: the first `others` notes are theirs. What follows is
    /// whether their branches have to be read. While nothing may be spent on summaries they are left for later; `spent` is what the drive
    /// has cost in tokens.
    pub fn take_up(&mut self, view: &View<'_>, others: usize, spent: u64) -> Option<Plan<bool>> {
        if spending::no_summary(view.state, view.setup.limits.tokens, spent).is_some() {
            return None;
        }
        let part = &view.state.revert;
        let old: HashSet<MoveId> = part.notes.iter().take(others).map(|note| note.made_by).collect();
        let lost = part.unsaid().filter(|note| {
            let asked = part.asked.get(&note.made_by).copied().unwrap_or_default();
            let open = (1..MOST_ASKED).contains(&asked) && !self.started.contains(&note.made_by);
            open && old.contains(&note.made_by) && note.is_in_force(&view.state.tree)
        });
        // Of one move there may be several notes.
        let lost: BTreeSet<MoveId> = lost.map(|note| note.made_by).collect();
        let lost: Vec<MoveId> = lost.into_iter().rev().take(MOST_AGAIN).collect();
        // What is old and not asked for now was given up.
        self.started.extend(old);
        let records = lost.iter().map(|head_move| {
            record::note(LAYER, SUMMARY_ASKED, view.at, &SummaryAsked { head_move: *head_move })
        });
        let plan = Plan::of(records.collect()).then(!lost.is_empty());
        self.waiting.extend(lost);
        Some(plan)
    }

    /// Returns whether anything waits to be asked.
    pub fn is_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Gives up what waits if nothing may be spent on it any more, and tells so. `spent` is what the drive has cost in tokens. The
    /// branches keep what was said of them without a model.
    pub fn give_up(&mut self, view: &View<'_>, spent: u64) -> Vec<Event> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let Some(reason) = spending::no_summary(view.state, view.setup.limits.tokens, spent) else {
            return Vec::new();
        };
        let told = |head_move| Event::SummaryFailed { head_move, reason: reason.clone() };
        self.waiting.drain(..).map(told).collect()
    }

    /// Returns what is asked now, while so many are under way.
    pub fn next(&mut self, view: &View<'_>, under_way: usize) -> Option<Unsaid> {
        if under_way >= MOST_AT_ONCE {
            return None;
        }
        loop {
            let head_move = self.waiting.pop_front()?;
            let part = &view.state.revert;
            let Some(note) = part.unsaid().find(|note| note.made_by == head_move) else { continue };
            let nodes = note.abandoned.iter().filter_map(|id| view.state.tree.node(*id).ok());
            return Some(Unsaid {
                head_move,
                kind: note.kind,
                messages: nodes.map(|node| node.message().clone()).collect(),
                ledger: note.ledger.clone().unwrap_or_default(),
                task: view.state.tasks.open_task().map(|task| task.id),
            });
        }
    }
}

/// Records a summary that has come, unless an undo was faster: then there is nothing to say any more. What it has cost is recorded
/// where a task has a bound to be held against.
pub fn said(view: &View<'_>, asked: &Asked, text: Option<&str>) -> Plan {
    let tree = &view.state.tree;
    let first = view.state.revert.unsaid().find(|note| note.made_by == asked.head_move);
    let first = first.filter(|note| note.is_in_force(tree)).zip(text);
    let late = first.map(|(first, text)| Note::late(first, text, tree.head(), trunkline_revert::turn(tree)));
    let late = late.map(|late| record::note(LAYER, NOTE, view.at, &late));
    let spent = asked.task.zip(asked.usage);
    let spent = spent.map(|(task, usage)| task::spent(task, Beside::Summary, usage, view.at));
    Plan::of(late.into_iter().chain(spent).collect())
}
