//! Decisions are bound to the repository: with a commit, in the step that moves the branch; without one, after they are
//! recorded.
//!
//! The store is the truth, and git cannot take part in its batches. So what closes a run is recorded first in a note, then
//! git moves the branch and keeps the decision in one step of its own, then the same bytes close the run. The next writer after
//! a kill asks git how far it came. A run of which git holds the decision is decided, whatever was said since.

use trunkline_decision_objects::Decision;

use crate::acts::asked::Asked;
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::binding::bound;
use crate::state::decision::Unbound;
use crate::words::bound::{BindingState, Bound};
use crate::words::error::RuntimeError;
use crate::words::files::WorkspaceFault;

/// How many of the things that were about to be bound are looked for: more than one only if a person kept moving the branch.
const LOOKED_FOR: usize = 8;

/// What is known of the open run once git has answered.
pub enum Settled {
    /// It has its decision.
    Decided(Box<Decision>),
    /// It is not bound. If what was prepared last could not be, why: perhaps it can be prepared anew.
    Open(Option<String>),
    /// Its commit was on the branch, and somebody has taken it off; in these words.
    TakenBack(String),
}

/// Finds out what became of a binding that did not say how it ended, and closes the run if git holds its decision.
///
/// What is half done is brought to its end. What was not begun is begun only if `again` says so, and nothing was said
/// since. A commit that somebody has taken off its branch is never put back. A fault says that git holds another decision of the run,
/// so that what was to begin cannot.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn settle(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    again: bool,
) -> Result<Plan<Result<Settled, WorkspaceFault>>, Pause> {
    let open = |then| Ok(Plan::nothing().then(then));
    let Some(run) = &view.state.decision.run else { return open(Ok(Settled::Open(None))) };
    if !view.setup.files.looks && !run.bindings.is_empty() {
        return Err(cannot_tell(view, "its folder was not given").into());
    }
    let (mut other, mut overtaken, mut taken_back) = (None, None, None);
    for (place, note) in run.bindings.iter().rev().take(LOOKED_FOR).enumerate() {
        let binding = note
            .binding(&run.record, &run.patch_sets)
            .map_err(|fault| cannot_tell(view, &fault.to_string()))?;
        let newest = place == 0 && note.head == view.state.tree.head();
        let begin = again && newest;
        let state = match begin {
            true => BindingState::Neither,
            false => asked.bound(&binding)?.map_err(|fault| cannot_tell(view, &fault.message))?,
        };
        let came = match state {
            BindingState::BoundElsewhere { reference } => Bound::Done { reference },
            BindingState::OtherDecision { first } => Bound::OtherDecision { first },
            // What was said since is about other files.
            BindingState::TakenBack { why } => Bound::TakenBack { why },
            BindingState::Elsewhere => continue,
            BindingState::Neither if !begin => continue,
            // What git has done by then is not known if it fails.
            _ => asked.bind(&binding)?.map_err(|fault| not_told(view, &fault.message))?,
        };
        match came {
            Bound::Done { reference } => {
                let decision = note.decision()?;
                let mut records = note.closing();
                records.push(bound(
                    &decision.run().to_string(),
                    decision.id().to_string(),
                    &reference,
                    view.at,
                ));
                return Ok(Plan::of(records).then(Ok(Settled::Decided(Box::new(decision)))));
            }
            Bound::Overtaken { why } => overtaken = overtaken.or(newest.then_some(why)),
            Bound::TakenBack { why } => taken_back = taken_back.or(newest.then_some(why)),
            Bound::OtherDecision { first } => drop(other.get_or_insert(first)),
        }
    }
    open(match (other, taken_back) {
        (Some(first), _) if again => Err(WorkspaceFault { message: bound_to(&run_name(view), &first) }),
        (_, Some(why)) => Ok(Settled::TakenBack(why)),
        _ => Ok(Settled::Open(overtaken)),
    })
}

/// Returns what is recorded and has to be bound now. Nothing, where git gave no answer in this drive (`unbindable`), or is not
/// asked at all.
pub fn due(view: &View<'_>, unbindable: bool) -> Vec<Unbound> {
    match view.setup.files.binds && view.setup.files.looks && !unbindable {
        true => view.state.decision.to_bind.clone(),
        false => Vec::new(),
    }
}

/// Binds what is recorded and not bound yet. Returns why it could not be.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn bind_decided(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    unbound: &Unbound,
) -> Result<Plan<Option<String>>, Pause> {
    let why = match asked.bind(&unbound.binding)? {
        Ok(Bound::Done { reference }) => {
            let done = bound(&unbound.run.to_string(), unbound.decision.clone(), &reference, view.at);
            return Ok(Plan::of(vec![done]).then(None));
        }
        Ok(Bound::OtherDecision { first }) => bound_to(&unbound.run.to_string(), &first),
        Ok(Bound::Overtaken { why } | Bound::TakenBack { why }) => tried_again(&why),
        Err(fault) => tried_again(&fault.message),
    };
    Ok(Plan::nothing().then(Some(why)))
}

/// Says that git has to be asked first and gives no answer, and what a person can do then.
fn cannot_tell(view: &View<'_>, why: &str) -> RuntimeError {
    let run = run_name(view);
    let message = format!(
        "run {run} may be decided in git already, and git cannot be asked: {why}; open the session with the folder \
         of its repository, or abandon the run with words, and what git holds of it counts no more"
    );
    WorkspaceFault { message }.into()
}

/// Says that git was to bind the end of the open run and has not told whether it did, and what a person can do then.
fn not_told(view: &View<'_>, why: &str) -> RuntimeError {
    let run = run_name(view);
    let message = format!(
        "run {run} may be decided in git already, and git did not say so: {why}; mend that and resume the session, \
         which asks it again, or abandon the run with words, and what git holds of it counts no more"
    );
    WorkspaceFault { message }.into()
}

/// Says that the end of the open run could not be bound, and what a person can do then.
pub fn not_committed(view: &View<'_>, why: &str) -> RuntimeError {
    let run = run_name(view);
    let message = format!(
        "run {run} is still open, and it is not known to be bound: {why}; mend that and resume the session, or abandon \
         the run with words"
    );
    WorkspaceFault { message }.into()
}

fn run_name(view: &View<'_>) -> String {
    view.state.decision.run.as_ref().map(|run| run.record.id().to_string()).unwrap_or_default()
}

fn bound_to(run: &str, first: &str) -> String {
    format!(
        "the repository holds another decision of run {run}, {first}, as where a session was copied and both went on; \
         `trunkline decisions --git` shows it; go on without binding"
    )
}

fn tried_again(why: &str) -> String {
    format!("{why}; the decision is recorded, and the next `trunkline resume --bind` tries again")
}
