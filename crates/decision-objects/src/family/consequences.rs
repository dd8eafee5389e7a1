//! Whether what was said to have followed from a decision is what follows from it.
//!
//! Nobody has to say it: an abandoned run whose task has no event yet is no violation. Only another end is one.

use super::{Family, Rule, Violation};
use crate::{Consequences, Decision, Object, ObjectName, RunState, TaskState, VerdictKind};

impl Family {
    pub(super) fn consequences(&self, found: &mut Vec<Violation>) {
        let decisions = self.first_decisions();
        for object in self.iter() {
            let (run, of, state, fits) = match object {
                Object::RunEvent(event) => {
                    let content = event.content();
                    let Some(decision) = decisions.get(&content.run) else { continue };
                    let fits = run_may_end(content.state, decision.verdict().kind());
                    (content.run, content.run.into(), content.state.as_str(), fits)
                }
                Object::TaskEvent(event) => {
                    let content = event.content();
                    let Some(run) = content.run else { continue };
                    let Some(decision) = decisions.get(&run) else { continue };
                    let fits = task_may_end(content.state, decision.consequences());
                    (run, content.task.into(), content.state.as_str(), fits)
                }
                _ => continue,
            };
            if let Some(decision) = decisions.get(&run).filter(|_| !fits) {
                found.push(Violation { object: object.name(), rule: contradicts(of, state, decision) });
            }
        }
    }
}

fn contradicts(of: ObjectName, state: &'static str, decision: &Decision) -> Rule {
    Rule::Contradicts { of, state, decision: decision.id(), verdict: decision.verdict().kind() }
}

/// Whether a run with this verdict can come into this state.
fn run_may_end(state: RunState, verdict: VerdictKind) -> bool {
    match state {
        RunState::Created | RunState::Patching | RunState::Validating => true,
        RunState::Completed => {
            matches!(verdict, VerdictKind::Commit | VerdictKind::Rollback | VerdictKind::Other)
        }
        // The word of `other` is the caller's, and may well be one for a failure.
        RunState::Failed => matches!(verdict, VerdictKind::Abandon | VerdictKind::Retry | VerdictKind::Other),
        RunState::Checkpointed => verdict == VerdictKind::Checkpoint,
    }
}

/// Whether a run with these consequences can bring its task into this state.
fn task_may_end(state: TaskState, consequences: Consequences) -> bool {
    match consequences {
        Consequences::TaskFails => !state.is_terminal() || state == TaskState::Failed,
        // Another run shall work on it.
        Consequences::NextRun(_) => !state.is_terminal(),
        Consequences::IntentEnds(_) | Consequences::Nothing => true,
    }
}
