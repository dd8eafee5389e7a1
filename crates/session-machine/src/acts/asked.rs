//! What an act has asked so far, and how it is called until it has all answers.
//!
//! An answer is found by its question and its place: an act that asks another one than the last time has no use for the
//! answers behind it.

use std::sync::Arc;

use serde_json::{Map, Value};
use trunkline_resolve_queue::{Entry, Fingerprint, Preview, ProposalId};
use trunkline_revert::Effects;
use trunkline_session_store::Digest;
use uuid::Uuid;

use crate::acts::question::{Answer, Pause, Pieces, Question, Wanted};
use crate::acts::view::View;
use crate::words::bound::{Binding, BindingState, Bound, Prepared};
use crate::words::call::{Declared, Kept};
use crate::words::checkpoint::{Checkpoint, KeptFiles};
use crate::words::error::RuntimeError;
use crate::words::files::{Base, Comparison, Deciding, FileStates, Left, OwnChanges, WorkspaceFault};
use crate::words::start::Start;

/// What an act has asked and was told, in order.
pub struct Asked<'a> {
    known: &'a [(Question, Answer)],
    next: usize,
}

impl<'a> Asked<'a> {
    /// Returns what was asked and answered so far, oldest first; nothing in the first call.
    pub fn of(known: &'a [(Question, Answer)]) -> Self {
        Asked { known, next: 0 }
    }

    fn ask(&mut self, question: Question) -> Result<&'a Answer, Pause> {
        match self.known.get(self.next) {
            Some((asked, answer)) if *asked == question => {
                self.next += 1;
                Ok(answer)
            }
            // The time that has passed may lead another way: what was asked on the first one counts no more.
            _ => Err(Pause::Needs(Box::new(question), self.next)),
        }
    }

    pub(super) fn keep(&mut self, id: ProposalId) -> Result<Option<Arc<[Kept]>>, Pause> {
        self.kept(Question::Keep(id))
    }

    pub(super) fn preimages(
        &mut self,
        named: Vec<(Fingerprint, Option<Digest>)>,
    ) -> Result<Option<Arc<[Kept]>>, Pause> {
        self.kept(Question::Preimages(named))
    }

    fn kept(&mut self, question: Question) -> Result<Option<Arc<[Kept]>>, Pause> {
        match self.ask(question)? {
            Answer::Kept(kept) => Ok(kept.clone()),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn observe(&mut self, id: ProposalId) -> Result<Option<&'a [Fingerprint]>, Pause> {
        match self.ask(Question::Observe(id))? {
            Answer::Observed(observed) => Ok(observed.as_deref()),
            _ => Err(mistaken()),
        }
    }

    /// Looks, and once more if the tool crashes at that: what it finds decides whether files stay half written.
    pub(super) fn observe_twice(&mut self, id: ProposalId) -> Result<Option<&'a [Fingerprint]>, Pause> {
        match self.observe(id)? {
            None => self.observe(id),
            observed => Ok(observed),
        }
    }

    pub(super) fn put_back(&mut self, id: ProposalId, kept: &Arc<[Kept]>) -> Result<(), Pause> {
        self.ask(Question::PutBack(id, Pieces(Arc::clone(kept)))).map(drop)
    }

    pub(super) fn undo(
        &mut self,
        entry: &Entry<Value>,
        kept: Arc<[Kept]>,
    ) -> Result<Option<&'a (Value, Preview)>, Pause> {
        match self.ask(Question::Undo(Box::new(entry.clone()), Pieces(kept)))? {
            Answer::Undo(undo) => Ok(undo.as_ref()),
            _ => Err(mistaken()),
        }
    }

    /// Returns the calls that were asked about here, each with the answer; `None` if that was not asked.
    pub(crate) fn known_calls(&self) -> Option<impl Iterator<Item = (&'a Wanted, &'a Declared)> + use<'a>> {
        match self.known.get(self.next) {
            Some((Question::Calls(calls), Answer::Calls(answers))) => Some(calls.iter().zip(answers)),
            _ => None,
        }
    }

    pub(crate) fn calls(&mut self, calls: Vec<Wanted>) -> Result<(), Pause> {
        self.ask(Question::Calls(calls)).map(drop)
    }

    pub(crate) fn effects(
        &mut self,
        calls: Vec<(String, Map<String, Value>)>,
    ) -> Result<&'a [Effects], Pause> {
        if calls.is_empty() {
            return Ok(&[]);
        }
        match self.ask(Question::Effects(calls))? {
            Answer::Effects(effects) => Ok(effects),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn ids(&mut self, count: usize) -> Result<&'a [Uuid], Pause> {
        match self.ask(Question::Ids(count))? {
            Answer::Ids(ids) => Ok(ids),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn new_ids<const N: usize>(&mut self) -> Result<[Uuid; N], Pause> {
        let refused = |_| RuntimeError::Refused { reason: format!("{N} names were asked for and not given") };
        Ok(self.ids(N)?.try_into().map_err(refused)?)
    }

    pub(super) fn start(&mut self) -> Result<Start, Pause> {
        match self.ask(Question::Start)? {
            Answer::Start(start) => Ok(start.clone()?),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn look(&mut self) -> Result<&'a Result<Base, String>, Pause> {
        match self.ask(Question::Look)? {
            Answer::Look(files) => Ok(files),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn own_changes(
        &mut self,
        question: Question,
    ) -> Result<Result<&'a OwnChanges, WorkspaceFault>, Pause> {
        match self.ask(question)? {
            Answer::OwnChanges(own) => Ok(own.as_ref().map_err(Clone::clone)),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn states(
        &mut self,
        question: Question,
    ) -> Result<Result<Vec<FileStates>, WorkspaceFault>, Pause> {
        match self.ask(question)? {
            Answer::States(states) => Ok(states.clone()),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn comparison(&mut self, left: Left, kept: Vec<Pieces>) -> Result<Comparison, Pause> {
        match self.ask(Question::Compare(Box::new(left), kept))? {
            Answer::Compared(comparison) => Ok(comparison.clone()?),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn kept_files(
        &mut self,
        checkpoint: Checkpoint,
    ) -> Result<Result<KeptFiles, WorkspaceFault>, Pause> {
        match self.ask(Question::KeepFiles(checkpoint))? {
            Answer::KeptFiles(kept) => Ok(kept.clone()),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn commit(&mut self, question: Question) -> Result<Option<String>, Pause> {
        match self.ask(question)? {
            Answer::Commit(commit) => Ok(commit.clone()?),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn prepared(&mut self, deciding: &Deciding) -> Result<Option<Prepared>, Pause> {
        match self.ask(Question::WriteCommit(deciding.clone()))? {
            Answer::Prepared(prepared) => Ok(prepared.clone()?),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn bound(&mut self, binding: &Binding) -> Result<Result<BindingState, WorkspaceFault>, Pause> {
        match self.ask(Question::Bound(Box::new(binding.clone())))? {
            Answer::Bound(state) => Ok(state.clone()),
            _ => Err(mistaken()),
        }
    }

    pub(super) fn bind(&mut self, binding: &Binding) -> Result<Result<Bound, WorkspaceFault>, Pause> {
        match self.ask(Question::Bind(Box::new(binding.clone())))? {
            Answer::Bind(bound) => Ok(bound.clone()),
            _ => Err(mistaken()),
        }
    }
}

fn mistaken() -> Pause {
    RuntimeError::Refused { reason: "a question was given the answer to another one".to_owned() }.into()
}

/// Calls an act until it has all answers, with a view that stays what it is; `answer` gives one at a time.
///
/// # Errors
///
/// [`RuntimeError`]: why the act cannot be done, or an answer not be had.
pub fn find_out<T>(
    view: &View<'_>,
    act: impl Fn(&View<'_>, &mut Asked<'_>) -> Result<T, Pause>,
    mut answer: impl FnMut(&Question) -> Result<Answer, RuntimeError>,
) -> Result<T, RuntimeError> {
    let mut known = Vec::new();
    loop {
        match act(view, &mut Asked::of(&known)) {
            Ok(learned) => return Ok(learned),
            Err(Pause::Refused(fault)) => return Err(fault),
            Err(Pause::Needs(question, counting)) => {
                known.truncate(counting);
                let answer = answer(&question)?;
                known.push((*question, answer));
            }
        }
    }
}
