//! A piece of work with a title and a measure of when it is done.
//!
//! What became of it is told by events; the task itself stays as it was given.

use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::open_vocabulary;
use crate::{Actor, IntentId, NonBlank, StepId, TaskId};

open_vocabulary! {
    /// What kind of work it is; the words are git-internal's.
    TaskGoal, "feature, bugfix, refactor, docs, perf, test, chore, build, ci, style or other" {
        /// Something new.
        Feature = "feature",
        /// Something that was wrong.
        Bugfix = "bugfix",
        /// The same in another shape.
        Refactor = "refactor",
        /// Words about it.
        Docs = "docs",
        /// The same, faster.
        Perf = "perf",
        /// Tests.
        Test = "test",
        /// What has to be done now and then.
        Chore = "chore",
        /// How it is built.
        Build = "build",
        /// How it is checked by machines.
        Ci = "ci",
        /// How it looks.
        Style = "style",
    }
    /// Something else; none of the words above in other dress.
    Other
}

/// What a [`Task`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskContent {
    /// What it is called.
    pub title: NonBlank,
    /// What it is, at length.
    pub description: Option<NonBlank>,
    /// What kind of work it is.
    pub goal: Option<TaskGoal>,
    /// What must not be done.
    pub constraints: Vec<NonBlank>,
    /// When it is done.
    pub acceptance_criteria: Vec<NonBlank>,
    /// Who asked for it.
    pub requester: Option<Actor>,
    /// The task that it is a part of; not itself.
    pub parent: Option<TaskId>,
    /// What it is for.
    pub intent: Option<IntentId>,
    /// The step of a plan that it came from.
    pub origin_step: Option<StepId>,
    /// What must be done before; none twice, and not itself.
    pub dependencies: Vec<TaskId>,
}

sealed! {
    /// A piece of work, sealed.
    Task(TaskId, TaskContent) is "task";
    /// Seals a task.
    ///
    /// # Errors
    ///
    /// [`Invalid::Twice`](crate::Invalid::Twice), [`Invalid::OfItself`](crate::Invalid::OfItself), and
    /// [`Invalid::ReservedLabel`](crate::Invalid::ReservedLabel) if the goal is a word of
    /// [`TaskGoal`] written as a label.
    new
}

impl TaskContent {
    /// Says what the task is called and nothing more; the other fields are there to be filled.
    #[must_use]
    pub const fn new(title: NonBlank) -> Self {
        Self {
            title,
            description: None,
            goal: None,
            constraints: Vec::new(),
            acceptance_criteria: Vec::new(),
            requester: None,
            parent: None,
            intent: None,
            origin_step: None,
            dependencies: Vec::new(),
        }
    }

    fn faults(&self, id: TaskId) -> Faults {
        let mut faults = Faults::default();
        faults.check(&["goal", "goal_label"], self.goal.as_ref().map_or(Ok(()), TaskGoal::checked));
        faults.not_itself(&["id", "parent"], "parent", self.parent, id);
        let dependencies = self.dependencies.iter().copied();
        faults.not_itself(&["id", "dependencies"], "dependency", dependencies, id);
        faults.unique(&["dependencies"], "dependency", &self.dependencies);
        faults
    }

    fn print(&self, object: Object) -> Object {
        let object = object
            .text("title", self.title.as_str())
            .maybe_text("description", self.description.as_ref().map(NonBlank::as_str));
        let object = match &self.goal {
            Some(goal) => goal.print(object, "goal", "goal_label"),
            None => object,
        };
        let object = object
            .texts("constraints", &self.constraints)
            .texts("acceptance_criteria", &self.acceptance_criteria);
        let object = match &self.requester {
            Some(actor) => object.object("requester", actor.print()),
            None => object,
        };
        object
            .maybe_show("parent", self.parent.as_ref())
            .maybe_show("intent", self.intent.as_ref())
            .maybe_show("origin_step", self.origin_step.as_ref())
            .ids("dependencies", &self.dependencies)
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            title: fields.required("title", read::canonical)?,
            description: fields.optional("description", read::canonical)?,
            goal: TaskGoal::optional(fields, "goal", "goal_label")?,
            constraints: fields.required("constraints", read::canonical_list)?,
            acceptance_criteria: fields.required("acceptance_criteria", read::canonical_list)?,
            requester: fields.optional("requester", Actor::read)?,
            parent: fields.optional("parent", read::canonical)?,
            intent: fields.optional("intent", read::canonical)?,
            origin_step: fields.optional("origin_step", read::canonical)?,
            dependencies: fields.required("dependencies", |raw| read::distinct_list(raw, "dependency"))?,
        })
    }
}
