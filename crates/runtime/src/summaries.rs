//! What a branch came to, asked of somebody after it was left.
//!
//! A revert never waits for this. It is asked beside the loop, and what it gives is written by the session's writer between
//! two turns, as a note of its own. What is lost in a kill is asked for once more by the next process, and then no more.

mod model;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use trunkline_session_machine::layers::revert::SummaryAsked;

use async_trait::async_trait;
use tokio::task::{Id as TaskId, JoinError, JoinSet};
use trunkline_message_tree::{Message, MoveId};
use trunkline_providers::ProviderError;
use trunkline_revert::{Ledger, Note, NoteKind};

pub use self::model::ModelSummarizer;
use crate::Session;
use trunkline_session_machine::layers::revert::{LAYER, NOTE, Part, SUMMARY_ASKED};
use trunkline_session_machine::rare::{Rare, Unchanged};
use trunkline_session_machine::{Event, RuntimeError, journal};

/// How long a summary may take, whatever the summarizer itself says.
const LIMIT: Duration = Duration::from_secs(300);
/// How often a summary of one revert is asked for at most, over all processes.
const MOST_ASKED: u32 = 2;
/// How many summaries are asked for at once.
const MOST_AT_ONCE: usize = 2;
/// Of how many reverts of other processes, the latest, a process asks again. The log may come from anywhere, and each of
/// them costs a request.
const MOST_AGAIN: usize = 8;

/// Says in a sentence or two what a branch came to.
///
/// It may take its time, fail or panic: nothing waits for it, and nothing else is lost. Like any future it must not block its
/// thread.
#[async_trait]
pub trait Summarizer: Send + Sync {
    /// Returns the summary, on one line; it is shortened to 600 characters.
    ///
    /// # Errors
    ///
    /// [`SummaryError`]; observers are told, and the branch keeps the summary that was made without it.
    async fn summarize(&self, branch: LeftBranch) -> Result<String, SummaryError>;
}

/// A branch that was left by a revert that did not say what it came to.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LeftBranch {
    /// What its note is about.
    pub kind: NoteKind,
    /// Its messages, oldest first, as they are stored. Whatever tools and models wrote is in them: do not follow it.
    pub messages: Vec<Message>,
    /// What was done there.
    pub ledger: Ledger,
}

/// Why there is no summary.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SummaryError {
    /// The model could not be asked, or broke off.
    #[error("the summarizer's model failed")]
    Provider {
        /// What happened.
        #[from]
        source: ProviderError,
    },
    /// It took too long.
    #[error("no summary within {limit:?}")]
    TimedOut {
        /// How long it had.
        limit: Duration,
    },
    /// It said nothing.
    #[error("the summary is empty")]
    Empty,
    /// Something else, in one line.
    #[error("{reason}")]
    Other {
        /// What.
        reason: String,
    },
}

/// What is being asked. Dropping it stops the asking.
pub(crate) struct Summaries {
    asking: Rare<Asking>,
    /// The notes before this one were made by other processes.
    ours_from: usize,
}

#[derive(Default)]
pub(crate) struct Asking {
    tasks: JoinSet<Result<String, SummaryError>>,
    by_task: HashMap<TaskId, MoveId>,
    /// What is to be asked when there is room.
    waiting: VecDeque<MoveId>,
    /// What has come and waits for the end of a turn.
    came: VecDeque<(MoveId, Result<String, String>)>,
    /// What this process has asked.
    started: HashSet<MoveId>,
}

impl Unchanged for Asking {
    fn unchanged() -> &'static Self {
        static ASKING: LazyLock<Asking> = LazyLock::new(Asking::default);
        &ASKING
    }
}

impl Summaries {
    pub(crate) fn new(part: &Part) -> Self {
        Summaries { asking: Rare::default(), ours_from: part.notes.len() }
    }

    /// Takes in what has come. Waits for nothing.
    fn take_ready(&mut self) {
        let Some(asking) = self.asking.changed() else { return };
        while let Some(joined) = asking.tasks.try_join_next_with_id() {
            asking.take(joined);
        }
    }
}

impl Asking {
    fn take(&mut self, joined: Result<(TaskId, Result<String, SummaryError>), JoinError>) {
        let (task, answer) = match joined {
            Ok((task, answer)) => (task, answer.map_err(|fault| told(&fault))),
            Err(fault) => (fault.id(), Err("the summarizer crashed".to_owned())),
        };
        if let Some(head_move) = self.by_task.remove(&task) {
            self.came.push_back((head_move, answer));
        }
    }
}

impl Session {
    /// Waits for the summaries that are asked for, at most five minutes, and writes down what has come.
    ///
    /// For whoever is about to leave a session and does not want to lose them; nothing else waits for them. While calls
    /// are open they are kept back.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn finish_summaries(&mut self) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.tend_summaries().await?;
        let until = tokio::time::Instant::now() + LIMIT;
        let mut next = tokio::time::timeout_at(until, self.summaries.asking.tasks.join_next_with_id()).await;
        while let Ok(Some(joined)) = next {
            self.summaries.asking.take(joined);
            self.start_waiting();
            next = tokio::time::timeout_at(until, self.summaries.asking.tasks.join_next_with_id()).await;
        }
        self.tend_summaries().await
    }

    /// Writes down what has come, and asks for what is missing. Waits for no summary.
    pub(crate) async fn tend_summaries(&mut self) -> Result<(), RuntimeError> {
        self.summaries.take_ready();
        if self.state.open_turn().is_none() {
            // It is given up only when it is written: it was paid for.
            while let Some((head_move, answer)) = self.summaries.asking.came.front().cloned() {
                match answer {
                    Ok(text) => self.write_summary(head_move, &text).await?,
                    Err(reason) => self.tell(&Event::SummaryFailed { head_move, reason }),
                }
                self.summaries.asking.came.pop_front();
            }
        }
        self.ask_again().await?;
        self.start_summaries();
        Ok(())
    }

    async fn write_summary(&mut self, head_move: MoveId, text: &str) -> Result<(), RuntimeError> {
        let tree = &self.state.tree;
        let first = self.state.revert.unsaid().find(|note| note.made_by == head_move);
        // An undo was faster: there is nothing to say any more.
        let Some(first) = first.filter(|note| note.is_in_force(tree)) else { return Ok(()) };
        let late = Note::late(first, text, tree.head(), trunkline_revert::turn(tree));
        let record = journal::note(LAYER, NOTE, self.settings().now(), &late);
        self.commit(vec![record], None).await
    }

    /// Records that this process asks for what another one did not live to see.
    async fn ask_again(&mut self) -> Result<(), RuntimeError> {
        if self.summaries.ours_from == 0 || self.summarizer().is_none() {
            return Ok(());
        }
        let part = &self.state.revert;
        let old: HashSet<MoveId> =
            part.notes[..self.summaries.ours_from].iter().map(|note| note.made_by).collect();
        let lost = part.unsaid().filter(|note| {
            let asked = part.asked.get(&note.made_by).copied().unwrap_or_default();
            let open =
                (1..MOST_ASKED).contains(&asked) && !self.summaries.asking.started.contains(&note.made_by);
            open && old.contains(&note.made_by) && note.is_in_force(&self.state.tree)
        });
        // Of one move there may be several notes.
        let lost: BTreeSet<MoveId> = lost.map(|note| note.made_by).collect();
        let lost: Vec<MoveId> = lost.into_iter().rev().take(MOST_AGAIN).collect();
        // From here on everything is ours; what is old and not asked for now was given up.
        self.summaries.ours_from = 0;
        self.summaries.asking.started.extend(old);
        if !lost.is_empty() {
            // Those branches are read.
            self.load_whole().await?;
        }
        let at = self.settings().now();
        let record = |head_move: &MoveId| {
            journal::note(LAYER, SUMMARY_ASKED, at, &SummaryAsked { head_move: *head_move })
        };
        let records = lost.iter().map(record).collect();
        self.commit(records, None).await?;
        self.summaries.asking.waiting.extend(lost);
        Ok(())
    }

    /// Asks for what the reverts of this process did not say.
    pub(crate) fn start_summaries(&mut self) {
        let part = &self.state.revert;
        if part.asked.is_empty() {
            return;
        }
        let ours = part.notes.iter().skip(self.summaries.ours_from);
        let ours: HashSet<MoveId> = ours.map(|note| note.made_by).collect();
        let open = part.unsaid().filter(|note| {
            let first = part.asked.get(&note.made_by) == Some(&1);
            first && ours.contains(&note.made_by) && !self.summaries.asking.started.contains(&note.made_by)
        });
        let open: Vec<MoveId> = open.map(|note| note.made_by).collect();
        for head_move in open {
            if self.summaries.asking.started.insert(head_move) {
                self.summaries.asking.waiting.push_back(head_move);
            }
        }
        self.start_waiting();
    }

    fn start_waiting(&mut self) {
        while self.summaries.asking.by_task.len() < MOST_AT_ONCE
            && let Some(head_move) = self.summaries.asking.waiting.pop_front()
        {
            self.start_summary(head_move);
        }
    }

    /// Returns who says what branches came to, if the model may leave any.
    fn summarizer(&self) -> Option<&Arc<dyn Summarizer>> {
        self.settings().summarizer.as_ref().filter(|_| self.settings().setup.revert.is_some())
    }

    fn start_summary(&mut self, head_move: MoveId) {
        let Some(summarizer) = self.summarizer().cloned() else { return };
        let Some(note) = self.state.revert.unsaid().find(|note| note.made_by == head_move) else { return };
        let nodes = note.abandoned.iter().filter_map(|id| self.state.tree.node(*id).ok());
        let branch = LeftBranch {
            kind: note.kind,
            messages: nodes.map(|node| node.message().clone()).collect(),
            ledger: note.ledger.clone().unwrap_or_default(),
        };
        let task = self.summaries.asking.tasks.spawn(async move {
            let asked = async { summarizer.summarize(branch).await };
            match tokio::time::timeout(LIMIT, asked).await {
                Ok(Ok(text)) if text.trim().is_empty() => Err(SummaryError::Empty),
                Ok(answer) => answer,
                Err(_) => Err(SummaryError::TimedOut { limit: LIMIT }),
            }
        });
        self.summaries.asking.by_task.insert(task.id(), head_move);
    }
}

/// Returns an error with its causes, on one short line.
fn told(fault: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(fault), |fault| fault.source());
    let line = causes.map(ToString::to_string).collect::<Vec<String>>().join(": ");
    line.split_whitespace().collect::<Vec<&str>>().join(" ").chars().take(300).collect()
}
