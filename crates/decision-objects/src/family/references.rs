//! Whether what is named is here, and belongs where it is named.

use std::collections::HashSet;

use super::names::visit;
use super::{Family, Rule, Violation};
use crate::{
    Choice, ContextFrame, Evidence, IntentId, Object, ObjectName, Plan, PlanId, Predecessor, RunEvent,
    RunRecord, StepEvent, StepId, TaskEvent,
};

/// The typed look-ups that the rules need; ids are unique within a kind only.
macro_rules! lookups {
    ($($name:ident($id:ident) -> $kind:ident($type:ident),)+) => {
        impl Family {
            $(
                pub(super) fn $name(&self, id: crate::$id) -> Option<&crate::$type> {
                    match self.get(id) {
                        Some(Object::$kind(object)) => Some(object),
                        _ => None,
                    }
                }
            )+
        }
    };
}

lookups! {
    plan(PlanId) -> Plan(Plan),
    task(TaskId) -> Task(Task),
    run(RunId) -> Run(RunRecord),
    patch_set(PatchSetId) -> PatchSet(PatchSet),
    evidence(EvidenceId) -> Evidence(Evidence),
    frame(FrameId) -> ContextFrame(ContextFrame),
    decision(DecisionId) -> Decision(Decision),
}

impl Violation {
    /// Tells of what belongs to `owner`, unless that is the expected one.
    pub(super) fn unless_of(
        object: ObjectName,
        field: &'static str,
        to: impl Into<ObjectName>,
        owner: impl Into<ObjectName>,
        expected: impl Into<ObjectName>,
    ) -> Option<Self> {
        let (to, owner, expected) = (to.into(), owner.into(), expected.into());
        (owner != expected).then_some(Self { object, rule: Rule::Foreign { field, to, owner, expected } })
    }
}

impl Family {
    pub(super) fn references(&self, found: &mut Vec<Violation>) {
        let steps = Steps::of(self);
        for object in self.iter() {
            let name = object.name();
            visit(object, &mut |field, to| {
                if self.get(to).is_none() {
                    found.push(Violation { object: name, rule: Rule::Dangling { field, to } });
                }
            });
            match object {
                Object::Plan(plan) => self.plan_belongs(plan, found),
                Object::Task(task) => {
                    let step = task.content().origin_step;
                    found.extend(step.and_then(|step| steps.missing(name, "origin_step", step, None)));
                }
                Object::Run(run) => self.run_belongs(run, found),
                Object::TaskEvent(event) => self.task_event_belongs(name, event, found),
                Object::RunEvent(event) => self.run_event_belongs(name, event, found),
                Object::StepEvent(event) => {
                    let content = event.content();
                    let plan = self.plan(content.plan).map(|_| content.plan);
                    // A plan that is not here dangles, and that has been told.
                    found.extend(plan.and_then(|plan| steps.missing(name, "step", content.step, Some(plan))));
                    self.step_event_belongs(name, event, found);
                }
                Object::ContextFrame(frame) => self.frame_belongs(frame, &steps, found),
                Object::Selection(selection) => {
                    self.selection_belongs(name, selection.content().choice, found)
                }
                Object::Evidence(evidence) => self.evidence_belongs(evidence, found),
                _ => {}
            }
        }
    }

    /// Plans are revised for the intent that they were made for.
    fn plan_belongs(&self, plan: &Plan, found: &mut Vec<Violation>) {
        let content = plan.content();
        for &parent in &content.parents {
            if let Some(known) = self.plan(parent) {
                let theirs = known.content().intent;
                found.extend(Violation::unless_of(
                    plan.id().into(),
                    "parents",
                    parent,
                    theirs,
                    content.intent,
                ));
            }
        }
    }

    /// The task and the plan of a run are for one intent: the one that the run names, or else that of its task. A run that
    /// follows another works on the same task.
    fn run_belongs(&self, run: &RunRecord, found: &mut Vec<Violation>) {
        let (name, opening) = (run.id().into(), run.opening());
        let of_task = opening.task.and_then(|id| Some((id, self.task(id)?.content().intent?)));
        if let (Some((task, theirs)), Some(ours)) = (of_task, opening.intent) {
            found.extend(Violation::unless_of(name, "task", task, theirs, ours));
        }
        let ours = opening.intent.or_else(|| of_task.map(|(_, intent)| intent));
        if let (Some(plan), Some(ours)) = (opening.plan, ours) {
            found.extend(self.plan_for(name, "plan", plan, ours));
        }
        if let (Some(before), Some(ours)) = (opening.predecessor, opening.task)
            && let Some(theirs) = self.run(before.run()).and_then(|run| run.opening().task)
        {
            let field = predecessor_field(before);
            found.extend(Violation::unless_of(name, field, before.run(), theirs, ours));
        }
    }

    fn task_event_belongs(&self, name: ObjectName, event: &TaskEvent, found: &mut Vec<Violation>) {
        let content = event.content();
        if let Some(run) = content.run
            && let Some(theirs) = self.run(run).and_then(|run| run.opening().task)
        {
            found.extend(Violation::unless_of(name, "run", run, theirs, content.task));
        }
    }

    fn run_event_belongs(&self, name: ObjectName, event: &RunEvent, found: &mut Vec<Violation>) {
        let content = event.content();
        if let Some(patch_set) = content.patch_set
            && let Some(known) = self.patch_set(patch_set)
        {
            found.extend(Violation::unless_of(name, "patch_set", patch_set, known.run(), content.run));
        }
    }

    /// A run may go on with a revision of its plan, for the same intent. It uses frames of whatever run, and produces its own.
    fn step_event_belongs(&self, name: ObjectName, event: &StepEvent, found: &mut Vec<Violation>) {
        let content = event.content();
        if let Some(ours) = self.run(content.run).and_then(|run| self.intent_of(run)) {
            found.extend(self.plan_for(name, "plan", content.plan, ours));
        }
        for &frame in &content.produced {
            if let Some(theirs) = self.frame(frame).and_then(|frame| frame.content().run) {
                found.extend(Violation::unless_of(name, "produced", frame, theirs, content.run));
            }
        }
    }

    /// The intent of a run: that of its plan, or else the one that it names, or that of its task. Where these differ, the run
    /// has been told of.
    pub(super) fn intent_of(&self, run: &RunRecord) -> Option<IntentId> {
        let opening = run.opening();
        let of_task = || self.task(opening.task?)?.content().intent;
        let of_plan = || Some(self.plan(opening.plan?)?.content().intent);
        of_plan().or(opening.intent).or_else(of_task)
    }

    fn evidence_belongs(&self, evidence: &Evidence, found: &mut Vec<Violation>) {
        let name = evidence.id().into();
        if let Some(patch_set) = evidence.patch_set()
            && let Some(known) = self.patch_set(patch_set)
        {
            found.extend(Violation::unless_of(name, "patch_set", patch_set, known.run(), evidence.run()));
        }
    }

    fn frame_belongs(&self, frame: &ContextFrame, steps: &Steps, found: &mut Vec<Violation>) {
        let (name, content) = (frame.id().into(), frame.content());
        if let (Some(plan), Some(intent)) = (content.plan, content.intent) {
            found.extend(self.plan_for(name, "plan", plan, intent));
        }
        if let Some(step) = content.step {
            match content.plan {
                Some(plan) if self.plan(plan).is_none() => {}
                plan => found.extend(steps.missing(name, "step", step, plan)),
            }
        }
    }

    fn selection_belongs(&self, name: ObjectName, choice: Choice, found: &mut Vec<Violation>) {
        match choice {
            Choice::PatchSet { run, patch_set } => {
                if let Some(known) = self.patch_set(patch_set) {
                    found.extend(Violation::unless_of(name, "patch_set", patch_set, known.run(), run));
                }
            }
            Choice::Plan { intent, plan } => found.extend(self.plan_for(name, "plan", plan, intent)),
        }
    }

    fn plan_for(
        &self,
        object: ObjectName,
        field: &'static str,
        plan: PlanId,
        intent: IntentId,
    ) -> Option<Violation> {
        Violation::unless_of(object, field, plan, self.plan(plan)?.content().intent, intent)
    }
}

pub(super) const fn predecessor_field(predecessor: Predecessor) -> &'static str {
    match predecessor {
        Predecessor::RetryOf(_) => "retry_of",
        Predecessor::Continues(_) => "continues",
    }
}

/// Which steps there are: a step has no object of its own.
struct Steps {
    of_plans: HashSet<(PlanId, StepId)>,
    all: HashSet<StepId>,
}

impl Steps {
    fn of(family: &Family) -> Self {
        let (mut of_plans, mut all) = (HashSet::new(), HashSet::new());
        for object in family.iter() {
            if let Object::Plan(plan) = object {
                for step in &plan.content().steps {
                    of_plans.insert((plan.id(), step.id));
                    all.insert(step.id);
                }
            }
        }
        Self { of_plans, all }
    }

    fn missing(
        &self,
        object: ObjectName,
        field: &'static str,
        step: StepId,
        plan: Option<PlanId>,
    ) -> Option<Violation> {
        let known =
            plan.map_or_else(|| self.all.contains(&step), |plan| self.of_plans.contains(&(plan, step)));
        (!known).then_some(Violation { object, rule: Rule::UnknownStep { field, step, plan } })
    }
}
