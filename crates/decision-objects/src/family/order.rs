//! Whether events came in their turn.
//!
//! After an event out of turn the rest is judged from the state that it brought, so one that is missing is told once.
//! What comes after an end changes nothing.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Family, Rule, Violation};
use crate::{
    IntentId, IntentState, Object, ObjectName, PlanId, RunId, RunState, StepId, StepState, TaskId, TaskState,
};

/// States that have a table of moves.
trait State: Copy + Eq {
    fn word(self) -> &'static str;
    fn follows(self, before: Option<Self>) -> bool;
    fn ends(self) -> bool;
}

macro_rules! state {
    ($($name:ident),+) => {
        $(
            impl State for $name {
                fn word(self) -> &'static str {
                    self.as_str()
                }

                fn follows(self, before: Option<Self>) -> bool {
                    self.may_follow(before)
                }

                fn ends(self) -> bool {
                    self.is_terminal()
                }
            }
        )+
    };
}

state!(IntentState, TaskState, RunState, StepState);

/// How each thing stands so far.
#[derive(Default)]
struct SoFar {
    intents: HashMap<IntentId, IntentState>,
    tasks: HashMap<TaskId, TaskState>,
    runs: HashMap<RunId, RunState>,
    /// A step that failed in one run begins anew in another.
    steps: HashMap<(PlanId, StepId, RunId), StepState>,
}

impl Family {
    pub(super) fn order(&self, found: &mut Vec<Violation>) {
        let mut so_far = SoFar::default();
        for object in self.iter() {
            let rule = match object {
                Object::IntentEvent(event) => {
                    let content = event.content();
                    let of = content.intent.into();
                    match content.kind.state() {
                        Some(state) => advance(so_far.intents.entry(content.intent), of, state),
                        None => so_far
                            .intents
                            .get(&content.intent)
                            .filter(|state| state.is_terminal())
                            .map(|end| Rule::AfterTheEnd { of, end: end.as_str(), state: "other" }),
                    }
                }
                Object::TaskEvent(event) => {
                    let content = event.content();
                    advance(so_far.tasks.entry(content.task), content.task.into(), content.state)
                }
                Object::RunEvent(event) => {
                    let content = event.content();
                    advance(so_far.runs.entry(content.run), content.run.into(), content.state)
                }
                Object::StepEvent(event) => {
                    let content = event.content();
                    let key = (content.plan, content.step, content.run);
                    advance(so_far.steps.entry(key), content.plan.into(), content.state)
                }
                _ => None,
            };
            found.extend(rule.map(|rule| Violation { object: object.name(), rule }));
        }
    }
}

fn advance<K, S: State>(entry: Entry<'_, K, S>, of: ObjectName, state: S) -> Option<Rule> {
    let before = match &entry {
        Entry::Occupied(taken) => Some(*taken.get()),
        Entry::Vacant(_) => None,
    };
    if let Some(end) = before.filter(|before| before.ends()) {
        return Some(Rule::AfterTheEnd { of, end: end.word(), state: state.word() });
    }
    entry.insert_entry(state);
    let out = !state.follows(before);
    out.then(|| Rule::OutOfOrder { of, before: before.map(State::word), state: state.word() })
}
