//! How the steps of plans stand.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Family, PlanStanding, PlanState, RunStanding, Standing, StepStanding};
use crate::{IntentId, IntentState, Object, ObjectName, PlanId, RunId, StepId, StepState};

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
            // What it is depends on which plan its intent is worked by; that is said when this is known.
            (plan.id(), PlanStanding { state: PlanState::Open, steps: steps.collect(), revised_by })
        });
        standing.collect()
    }

    /// Says of each plan what it is good for, when it is known how its intent stands.
    pub(super) fn say_of_plans(&self, standing: &mut Standing) {
        let mut states = Vec::new();
        for object in self.iter() {
            let Object::Plan(plan) = object else { continue };
            let Some(stands) = standing.plans.get(&plan.id()) else { continue };
            let intent = standing.intents.get(&plan.content().intent);
            let by_another = intent.and_then(|intent| intent.plan).is_some_and(|other| other != plan.id());
            let has_ended = intent.and_then(|intent| intent.state).is_some_and(IntentState::is_terminal);
            let state = if stands.is_finished() {
                PlanState::Finished
            } else if stands.is_dropped() {
                PlanState::Dropped
            } else if by_another || !standing.is_current(plan.id()) {
                PlanState::Superseded
            } else if has_ended {
                PlanState::Closed
            } else {
                PlanState::Open
            };
            states.push((plan.id(), state));
        }
        for (plan, state) in states {
            if let Some(stands) = standing.plans.get_mut(&plan) {
                stands.state = state;
            }
        }
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
