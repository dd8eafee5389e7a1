//! How the steps of plans stand.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Family, PlanStanding, RunStanding, StepStanding};
use crate::{IntentId, Object, ObjectName, PlanId, RunId, StepId, StepState};

impl Family {
    pub(super) fn plans_standing(
        &self,
        runs: &BTreeMap<RunId, RunStanding>,
    ) -> BTreeMap<PlanId, PlanStanding> {
        let steps = self.steps_standing(runs);
        let mut revisions: HashMap<PlanId, Vec<PlanId>> = HashMap::new();
        for object in self.iter() {
            if let Object::Plan(plan) = object {
                for &parent in &plan.content().parents {
                    revisions.entry(parent).or_default().push(plan.id());
                }
            }
        }
        let plans = self.iter().filter_map(|object| match object {
            Object::Plan(plan) => Some(plan),
            _ => None,
        });
        let standing = plans.map(|plan| {
            let content = plan.content();
            let steps = content.steps.iter().map(|step| {
                let said = steps.get(&(content.intent, step.id)).copied();
                StepStanding { step: step.id, state: said.map(|said| said.0), by: said.map(|said| said.1) }
            });
            let mut revised_by = revisions.remove(&plan.id()).unwrap_or_default();
            revised_by.sort_unstable();
            (plan.id(), PlanStanding { steps: steps.collect(), revised_by })
        });
        standing.collect()
    }

    /// What is said of each step of the plans for an intent.
    fn steps_standing(
        &self,
        runs: &BTreeMap<RunId, RunStanding>,
    ) -> HashMap<(IntentId, StepId), (StepState, ObjectName)> {
        let mut said = HashMap::new();
        let mut ended: HashSet<(IntentId, StepId, RunId)> = HashSet::new();
        for object in self.iter() {
            let Object::StepEvent(event) = object else { continue };
            let content = event.content();
            let Some(plan) = self.plan(content.plan) else { continue };
            if runs.get(&content.run).is_some_and(|run| run.undone_by.is_some()) {
                continue;
            }
            let (intent, state) = (plan.content().intent, content.state);
            let at_end = (intent, content.step, content.run);
            if ended.contains(&at_end) {
                continue;
            }
            if state.is_terminal() {
                ended.insert(at_end);
            }
            let this = (state, object.name());
            let known = said.entry((intent, content.step)).or_insert(this);
            if known.0 != StepState::Completed {
                *known = this;
            }
        }
        said
    }
}
