//! The decisions that are stored, as far as the caller has read them.
//!
//! Types keep one process from deciding a run twice; this keeps two processes, or one that was restarted, from it.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::{Decision, DecisionId, Predecessor, RunId, RunRecord, Verdict, VerdictKind};

/// Stored decisions: at most one for each run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Decisions {
    by_run: BTreeMap<RunId, Arc<Decision>>,
    /// One entry for each entry of `by_run`.
    runs: HashMap<DecisionId, RunId>,
    /// What each rollback of `by_run` undid, with its own name.
    undone: HashMap<DecisionId, DecisionId>,
}

/// What became of a decision that was to be admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a decision is new or it is not")]
pub enum Admission {
    /// It is new; it must be stored.
    New,
    /// The same decision is already there; there is nothing to do.
    Known,
}

/// The run has another decision already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("run {run} was already decided, by {first}")]
pub struct AlreadyDecided {
    /// The run.
    pub run: RunId,
    /// Its decision.
    pub first: DecisionId,
}

/// Why a decision or a run does not fit to what was decided before.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The run has another decision already.
    #[error(transparent)]
    AlreadyDecided(#[from] AlreadyDecided),
    /// Another run's decision has the same name.
    #[error("the decision id {id} is already used, for run {run}")]
    IdInUse {
        /// The name.
        id: DecisionId,
        /// The run that it decided.
        run: RunId,
    },
    /// A rollback names a decision that changed nothing.
    #[error("decision {of} cannot be rolled back: it ended its run as {found}, without changes")]
    NothingToUndo {
        /// The named decision.
        of: DecisionId,
        /// What it is.
        found: VerdictKind,
    },
    /// A rollback names a decision that another rollback has undone.
    #[error("decision {of} was already rolled back, by {first}")]
    UndoneAlready {
        /// The named decision.
        of: DecisionId,
        /// The decision that rolled it back.
        first: DecisionId,
    },
    /// A rollback names a decision that, by way of rollbacks, rolls back this very one.
    #[error("decision {of} cannot be rolled back: it rolls back this decision itself, or what leads to it")]
    Circle {
        /// The named decision.
        of: DecisionId,
    },
    /// A run follows a run that has no decision here.
    #[error("run {run} cannot be followed: it has no decision yet")]
    Undecided {
        /// The run that would be followed.
        run: RunId,
    },
    /// A run follows a run whose verdict does not allow that.
    #[error("run {run} ended as {found}; only {needed} can be followed so")]
    WrongVerdict {
        /// The run that would be followed.
        run: RunId,
        /// How it ended.
        found: VerdictKind,
        /// How it should have.
        needed: VerdictKind,
    },
}

impl Decisions {
    /// Starts with none.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a decision, if its run has none; the same decision again changes nothing. A shared one is not copied.
    ///
    /// A rollback of a decision that is not here is admitted: it may be stored elsewhere. If that comes later, a
    /// [`Family`](crate::Family) tells what does not fit.
    ///
    /// # Errors
    ///
    /// [`LedgerError::AlreadyDecided`], [`LedgerError::IdInUse`], [`LedgerError::NothingToUndo`],
    /// [`LedgerError::UndoneAlready`], [`LedgerError::Circle`].
    pub fn admit(&mut self, decision: impl Into<Arc<Decision>>) -> Result<Admission, LedgerError> {
        let decision = decision.into();
        if let Some(first) = self.by_run.get(&decision.run()) {
            let again = *first == decision;
            let refused = AlreadyDecided { run: decision.run(), first: first.id() };
            return if again { Ok(Admission::Known) } else { Err(refused.into()) };
        }
        if let Verdict::Rollback { of, .. } = *decision.verdict() {
            self.check_rollback(of)?;
            if self.leads_to(of, decision.id()) {
                return Err(LedgerError::Circle { of });
            }
        }
        match self.runs.entry(decision.id()) {
            Entry::Occupied(used) => Err(LedgerError::IdInUse { id: decision.id(), run: *used.get() }),
            Entry::Vacant(free) => {
                free.insert(decision.run());
                if let Verdict::Rollback { of, .. } = *decision.verdict() {
                    self.undone.insert(of, decision.id());
                }
                self.by_run.insert(decision.run(), decision);
                Ok(Admission::New)
            }
        }
    }

    /// Checks that the decision named `of` can still be rolled back: it has changes, and nobody has undone them.
    ///
    /// A decision that is not here passes: it may be stored elsewhere. Ask this before any file is touched.
    ///
    /// # Errors
    ///
    /// [`LedgerError::NothingToUndo`], [`LedgerError::UndoneAlready`].
    pub fn check_rollback(&self, of: DecisionId) -> Result<(), LedgerError> {
        if let Some(target) = self.get(of)
            && !target.has_changes()
        {
            return Err(LedgerError::NothingToUndo { of, found: target.verdict().kind() });
        }
        match self.undone.get(&of) {
            Some(&first) => Err(LedgerError::UndoneAlready { of, first }),
            None => Ok(()),
        }
    }

    /// Whether `from` rolls back `to`, or rolls back what does so.
    fn leads_to(&self, from: DecisionId, to: DecisionId) -> bool {
        // Nearly always nobody has named a decision that is only now admitted.
        if !self.undone.contains_key(&to) {
            return false;
        }
        let target = |id: &DecisionId| match *self.get(*id)?.verdict() {
            Verdict::Rollback { of, .. } => Some(of),
            _ => None,
        };
        // It ends: there is no circle among those that were admitted.
        std::iter::successors(Some(from), target).any(|id| id == to)
    }

    /// The decision that rolled `of` back.
    #[must_use]
    pub fn undone_by(&self, of: DecisionId) -> Option<&Decision> {
        self.get(*self.undone.get(&of)?)
    }

    /// The decision that closed `run`.
    #[must_use]
    pub fn of_run(&self, run: RunId) -> Option<&Decision> {
        self.by_run.get(&run).map(|decision| &**decision)
    }

    /// The decision of that name.
    #[must_use]
    pub fn get(&self, id: DecisionId) -> Option<&Decision> {
        self.of_run(*self.runs.get(&id)?)
    }

    /// All of them, in the order of their runs' ids.
    pub fn iter(&self) -> impl Iterator<Item = &Decision> {
        self.by_run.values().map(|decision| &**decision)
    }

    /// Checks that the run which `record` follows ended in the verdict that allows it.
    ///
    /// # Errors
    ///
    /// [`LedgerError::Undecided`], [`LedgerError::WrongVerdict`].
    pub fn check_predecessor(&self, record: &RunRecord) -> Result<(), LedgerError> {
        let Some(predecessor) = record.opening().predecessor else { return Ok(()) };
        let run = predecessor.run();
        let Some(decision) = self.of_run(run) else { return Err(LedgerError::Undecided { run }) };
        if decision.consequences().next_run() == Some(predecessor) {
            return Ok(());
        }
        let needed = match predecessor {
            Predecessor::RetryOf(_) => VerdictKind::Retry,
            Predecessor::Continues(_) => VerdictKind::Checkpoint,
        };
        Err(LedgerError::WrongVerdict { run, found: decision.verdict().kind(), needed })
    }
}
