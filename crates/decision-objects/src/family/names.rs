//! What each object names, key by key.

use super::references::predecessor_field;
use crate::{Alternative, Choice, Decision, Object, ObjectName, RunRecord, StepEvent, Verdict};

/// Gives each name in the object to `see`, with the key under which it stands.
///
/// Steps are left out: they have no object of their own.
pub(super) fn visit(object: &Object, see: &mut impl FnMut(&'static str, ObjectName)) {
    match object {
        Object::Intent(intent) => {
            let content = intent.content();
            each(see, "parents", content.parents.iter().copied());
            each(see, "analysis_frames", content.analysis_frames.iter().copied());
        }
        Object::Plan(plan) => {
            let content = plan.content();
            see("intent", content.intent.into());
            each(see, "parents", content.parents.iter().copied());
            each(see, "frames", content.frames.iter().copied());
        }
        Object::Task(task) => {
            let content = task.content();
            each(see, "parent", content.parent);
            each(see, "intent", content.intent);
            each(see, "dependencies", content.dependencies.iter().copied());
        }
        Object::Run(run) => of_run(run, see),
        Object::PatchSet(patch_set) => see("run", patch_set.run().into()),
        Object::ContextSnapshot(_) => {}
        Object::Provenance(provenance) => see("run", provenance.content().run.into()),
        Object::IntentEvent(event) => {
            see("intent", event.content().intent.into());
            each(see, "next_intent", event.content().next_intent);
        }
        Object::TaskEvent(event) => {
            see("task", event.content().task.into());
            each(see, "run", event.content().run);
        }
        Object::RunEvent(event) => {
            see("run", event.content().run.into());
            each(see, "patch_set", event.content().patch_set);
        }
        Object::StepEvent(event) => of_step(event, see),
        Object::Usage(usage) => see("run", usage.content().run.into()),
        Object::ToolInvocation(call) => see("run", call.content().run.into()),
        Object::ContextFrame(frame) => {
            let content = frame.content();
            each(see, "intent", content.intent);
            each(see, "run", content.run);
            each(see, "plan", content.plan);
        }
        Object::Selection(selection) => match selection.content().choice {
            Choice::PatchSet { run, patch_set } => {
                see("run", run.into());
                see("patch_set", patch_set.into());
            }
            Choice::Plan { intent, plan } => {
                see("intent", intent.into());
                see("plan", plan.into());
            }
        },
        Object::Evidence(evidence) => {
            see("run", evidence.run().into());
            each(see, "patch_set", evidence.patch_set());
            each(see, "decision", evidence.decision());
        }
        Object::Decision(decision) => of_decision(decision, see),
    }
}

fn of_run(run: &RunRecord, see: &mut impl FnMut(&'static str, ObjectName)) {
    let opening = run.opening();
    if let Some(predecessor) = opening.predecessor {
        see(predecessor_field(predecessor), predecessor.run().into());
    }
    each(see, "intent", opening.intent);
    each(see, "task", opening.task);
    each(see, "plan", opening.plan);
    each(see, "snapshot", opening.snapshot);
}

fn of_step(event: &StepEvent, see: &mut impl FnMut(&'static str, ObjectName)) {
    let content = event.content();
    see("plan", content.plan.into());
    see("run", content.run.into());
    each(see, "consumed", content.consumed.iter().copied());
    each(see, "produced", content.produced.iter().copied());
    each(see, "spawned_task", content.spawned_task);
}

fn of_decision(decision: &Decision, see: &mut impl FnMut(&'static str, ObjectName)) {
    see("run", decision.run().into());
    if let Verdict::Rollback { of, .. } = *decision.verdict() {
        see("verdict.of", of.into());
    }
    each(see, "verdict.patch_set", decision.verdict().patch_set());
    each(see, "evidence", decision.evidence().iter().copied());
    for considered in decision.considered() {
        if let Alternative::PatchSet(patch_set) = considered.alternative {
            see("considered", patch_set.into());
        }
    }
}

fn each<Id: Into<ObjectName>>(
    see: &mut impl FnMut(&'static str, ObjectName),
    field: &'static str,
    ids: impl IntoIterator<Item = Id>,
) {
    for id in ids {
        see(field, id.into());
    }
}
