//! How the things of a family stand, read off its events, runs, decisions and selections.
//!
//! What is stored never changes, so nothing of this is stored. Each rule below is an order of precedence: the first line
//! that says something gives the answer, and names the object that said it.

mod intents;
mod plans;
mod runs;
mod tasks;
mod undone;

use std::collections::BTreeMap;

use super::Family;
use crate::{
    DecisionId, GitOid, IntentId, IntentState, ObjectName, PatchSetId, PlanId, RunId, RunState, StepId,
    StepState, TaskId, TaskState,
};

/// How everything in a family stands: [`Family::standing`].
///
/// Only what is in the family has a place here; what is merely named has none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// How each intent stands.
    pub intents: BTreeMap<IntentId, IntentStanding>,
    /// How the steps of each plan stand.
    pub plans: BTreeMap<PlanId, PlanStanding>,
    /// How each task stands.
    pub tasks: BTreeMap<TaskId, TaskStanding>,
    /// How each run stands.
    pub runs: BTreeMap<RunId, RunStanding>,
    /// The commit that stands at the end of all decisions, and the decision that says so.
    ///
    /// 1. The latest decision that names a commit and was not rolled back: a `commit`, or a `rollback` that says which
    ///    commit it went back to.
    pub release: Option<(GitOid, DecisionId)>,
}

/// How an intent stands.
///
/// 1. Its first event that ends it: completed or cancelled. It stays so, also where a commit is rolled back later.
/// 2. The end of the last of its tasks, if it has some, each of them has ended and no run for it is open: completed if one of
///    them is done, else cancelled.
/// 3. Its last event: analyzed; `None` if there is none.
///
/// No decision ends it: a commit shows what was made and not that it was what was wanted, and that it was rolled back does not
/// say that nothing is wanted any more. So one without a task stays open until an event says otherwise. What
/// [`Consequences`](crate::Consequences) say of it is what it may be ended as, by whom has that to say.
///
/// A run is for the intent of its plan, or else for the one that it names, or else for that of its task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct IntentStanding {
    /// Its state; `None` while nothing was said of it.
    pub state: Option<IntentState>,
    /// What says so.
    pub by: Option<ObjectName>,
    /// The plan that is worked by.
    ///
    /// 1. That of the last [`Selection`](crate::Selection) for the intent.
    /// 2. That which the latest run for the intent names.
    /// 3. The only one for the intent that was not dropped and that no other such plan revises; none if there are several, until one
    ///    is selected.
    ///
    /// A plan for another intent is passed over, whoever names it.
    pub plan: Option<PlanId>,
    /// The commit that holds what was made for it, and what says so.
    ///
    /// 1. Its latest `commit` decision that was not rolled back.
    /// 2. The commit in the event that completed it, unless that is one of a decision that was rolled back.
    pub release: Option<(GitOid, ObjectName)>,
    /// The runs for it, in the order of their names.
    pub runs: Vec<RunId>,
    /// The intents that name it as a parent, in the order of their names; it is a head if there are none.
    pub revised_by: Vec<IntentId>,
}

/// How a plan stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlanStanding {
    /// Its state.
    pub state: PlanState,
    /// Its steps, in its order.
    pub steps: Vec<StepStanding>,
    /// The plans that name it as a parent, in the order of their names; it is a head if there are none.
    pub revised_by: Vec<PlanId>,
}

impl PlanStanding {
    /// Whether every step is completed or skipped, and not all are skipped. A plan without steps is not finished: nothing was planned.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let is = |step: &StepStanding, state: StepState| step.state == Some(state);
        let has_ended = |step: &StepStanding| is(step, StepState::Completed) || is(step, StepState::Skipped);
        self.steps.iter().all(has_ended) && self.steps.iter().any(|step| is(step, StepState::Completed))
    }

    /// Whether each of its steps was skipped, as those of a plan are that was refused.
    #[must_use]
    pub fn is_dropped(&self) -> bool {
        !self.steps.is_empty() && self.steps.iter().all(|step| step.state == Some(StepState::Skipped))
    }
}

/// What a plan is good for now; the first line that holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum PlanState {
    /// [All of it is done](PlanStanding::is_finished).
    Finished,
    /// [Each of its steps was skipped](PlanStanding::is_dropped).
    Dropped,
    /// A plan that was not dropped revises it, or its intent is worked by [another one](IntentStanding::plan).
    Superseded,
    /// Its intent has ended, and of some step nobody has said what it came to.
    Closed,
    /// It can be worked by.
    #[default]
    Open,
}

impl PlanState {
    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::Dropped => "dropped",
            Self::Superseded => "superseded",
            Self::Closed => "closed",
            Self::Open => "open",
        }
    }
}

/// How a step of a plan stands, over all runs.
///
/// A step keeps its name from one revision to the next, so the events of all plans for the same intent count. Those of a run
/// that was rolled back do not, nor does what comes in a run after the end of the step there.
///
/// 1. Completed, if a run has completed it: the first that did.
/// 2. Its last event.
/// 3. `None` if there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepStanding {
    /// The step.
    pub step: StepId,
    /// Its state; `None` while no run has come to it.
    pub state: Option<StepState>,
    /// The event that says so.
    pub by: Option<ObjectName>,
}

/// How a task stands.
///
/// 1. Its first event that ends it: done, failed or cancelled.
/// 2. Failed, if a run at it was abandoned: the earliest such decision.
/// 3. Running, while a run at it is open; blocked, if its last event says so.
/// 4. Its last event; but one that says running says no more than created once the run that it names has ended.
/// 5. Created.
///
/// No verdict completes a task. One that was answered, or whose files were committed, stays open until an event says that it is
/// done; which commit it has until then, [`committed`](Self::committed) says.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskStanding {
    /// Its state.
    pub state: TaskState,
    /// What says so; `None` if nothing does but that it is there.
    pub by: Option<ObjectName>,
    /// The latest commit of a run at it that was not rolled back, and the decision that names it. It does not end the task.
    pub committed: Option<(GitOid, DecisionId)>,
    /// The runs at it, in the order of their names.
    pub runs: Vec<RunId>,
}

/// How a run stands.
///
/// 1. Its earliest decision: `checkpoint` is checkpointed, `abandon` and `retry` are failed, `commit` and `rollback` are
///    completed; `other` is failed if the run's events say so, else completed.
/// 2. Its first event that ends it.
/// 3. Its last event.
/// 4. Created.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunStanding {
    /// Its state.
    pub state: RunState,
    /// What says so; `None` if nothing does but that it is there.
    pub by: Option<ObjectName>,
    /// Its decision; of several, the earliest.
    pub decision: Option<DecisionId>,
    /// The rollback by which its decision is undone now: its earliest one, unless that was rolled back itself.
    pub undone_by: Option<DecisionId>,
    /// The intent that it is for.
    pub intent: Option<IntentId>,
    /// Which of its patch sets was chosen.
    ///
    /// 1. The one that its decision names.
    /// 2. That of the last [`Selection`](crate::Selection) for the run.
    /// 3. The only one that its decision does not reject; none if there are several, until one is selected, and none under a
    ///    `checkpoint`, an `abandon` or a `retry`, which choose nothing.
    ///
    /// A patch set of another run is passed over, whoever names it.
    pub patch_set: Option<PatchSetId>,
    /// Its patch sets, by their sequence; those without one come first, in the order of their names.
    pub candidates: Vec<PatchSetId>,
    /// The runs that retry or continue it, in the order of their names; it is a head if there are none.
    pub followed_by: Vec<RunId>,
}

impl RunStanding {
    /// Whether it has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.state.is_terminal()
    }
}

impl Standing {
    /// The ends of the thread: the runs that no run follows, in the order of their names.
    pub fn head_runs(&self) -> impl Iterator<Item = RunId> {
        self.runs.iter().filter(|(_, run)| run.followed_by.is_empty()).map(|(&id, _)| id)
    }

    /// The intents that no intent revises, in the order of their names.
    pub fn head_intents(&self) -> impl Iterator<Item = IntentId> {
        self.intents.iter().filter(|(_, intent)| intent.revised_by.is_empty()).map(|(&id, _)| id)
    }

    /// Whether a plan was not dropped, and no other such plan revises it.
    fn is_current(&self, plan: PlanId) -> bool {
        let dropped = |plan: &PlanId| self.plans.get(plan).is_some_and(PlanStanding::is_dropped);
        !dropped(&plan) && self.plans.get(&plan).is_some_and(|known| known.revised_by.iter().all(dropped))
    }

    /// The plans that no plan revises, in the order of their names.
    pub fn head_plans(&self) -> impl Iterator<Item = PlanId> {
        self.plans.iter().filter(|(_, plan)| plan.revised_by.is_empty()).map(|(&id, _)| id)
    }
}

impl Family {
    /// How every intent, plan, task and run in it stands.
    ///
    /// Takes `n log n` steps for `n` objects and names in them. What contradicts itself has a standing too, by the order of
    /// precedence of each rule; that it does, [`violations`](Self::violations) tell. "Earliest" and "latest" go by the time of
    /// the object and then by its name, "first" and "last" event by the order of adding; the order of adding says nothing
    /// else.
    ///
    /// ```
    /// use trunkline_decision_objects::{Family, Object, TaskState};
    ///
    /// let family: Family = [
    ///     r#"{"type":"task","version":1,"id":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","by":{"kind":"human","id":"kim"},"title":"fix it","constraints":[],"acceptance_criteria":[],"dependencies":[]}"#,
    ///     r#"{"type":"run","version":1,"id":"00000000-0000-0000-0000-000000000002","at":"2026-11-21T20:49:31Z","actor":{"kind":"agent","id":"coder-1"},"goal":"fix it","task":"00000000-0000-0000-0000-000000000001"}"#,
    ///     r#"{"type":"decision","version":1,"id":"00000000-0000-0000-0000-000000000003","run":"00000000-0000-0000-0000-000000000002","at":"2026-11-21T20:49:32Z","decided_by":{"kind":"agent","id":"coder-1"},"verdict":{"kind":"abandon","reason":"no use"},"evidence":[],"considered":[]}"#,
    /// ]
    /// .iter()
    /// .map(|json| Object::parse(json.as_bytes()))
    /// .collect::<Result<_, _>>()?;
    ///
    /// let standing = family.standing();
    /// let task = standing.tasks.values().next().expect("there is one");
    /// assert_eq!(task.state, TaskState::Failed);
    /// assert_eq!(task.by.expect("something says so").to_string(), "decision 00000000-0000-0000-0000-000000000003");
    /// # Ok::<(), trunkline_decision_objects::ParseError>(())
    /// ```
    #[must_use]
    pub fn standing(&self) -> Standing {
        let decisions = self.first_decisions();
        let undone = undone::of(&decisions);
        let mut standing = Standing { runs: self.runs_standing(&decisions, &undone), ..Standing::default() };
        standing.tasks = self.tasks_standing(&standing.runs, &decisions);
        standing.plans = self.plans_standing(&standing.runs);
        standing.intents = self.intents_standing(&standing, &decisions, &undone);
        self.say_of_plans(&mut standing);
        standing.release = intents::release_of_all(&decisions, &undone);
        standing
    }
}
