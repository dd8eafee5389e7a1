//! What follows for intents and tasks.
//!
//! A task runs while its runs do, and fails when one of them is given up; it is done, or no longer wanted, when a person says so. An
//! intent ends with the last of its tasks: fulfilled, with the commit that shows it if there is one, if one of them is done, and else
//! given up. An intent without a task has nothing that could end it.

use std::collections::{HashMap, HashSet};

use trunkline_decision_objects::{
    Actor, Decision, DecisionId, EventId, GitOid, IntentEvent, IntentEventContent, IntentEventKind, IntentId,
    NonBlank, Object, RunId, TaskEvent, TaskEventContent, TaskId, TaskState, Timestamp as RunTime, Verdict,
};
use trunkline_message_tree::Timestamp;

use super::made::{Made, header, name, not_before};
use super::runs::Runs;

/// Intents and tasks so far.
#[derive(Default)]
pub(super) struct Purposes {
    intents: HashMap<IntentId, Wanted>,
    tasks: HashMap<TaskId, Piece>,
    /// The rollback of each decision that was rolled back, of several the first; it came later than what it undoes.
    rollbacks: HashMap<DecisionId, DecisionId>,
    /// The decisions so far.
    decided: HashSet<DecisionId>,
}

#[derive(Default)]
struct Wanted {
    /// How many of its tasks have no end.
    open: usize,
    /// Whether one of them is done.
    is_fulfilled: bool,
    has_ended: bool,
    /// The decisions that stand in commits, oldest first.
    commits: Vec<(DecisionId, GitOid)>,
}

struct Piece {
    intent: Option<IntentId>,
    state: TaskState,
    at: RunTime,
}

impl Purposes {
    /// Takes in an object that was recorded.
    pub(super) fn object(&mut self, made: &mut Made, object: &Object, runs: &Runs, at: Timestamp) {
        match object {
            Object::Intent(intent) => {
                self.intents.entry(intent.id()).or_default();
            }
            Object::Task(task) if !self.tasks.contains_key(&task.id()) => {
                let (id, header) = (task.id(), task.header());
                let intent = task.content().intent;
                if let Some(wanted) = intent.and_then(|intent| self.intents.get_mut(&intent)) {
                    wanted.open += 1;
                }
                self.tasks.insert(id, Piece { intent, state: TaskState::Created, at: header.at });
                say(made, id, TaskState::Created, (None, None), header.at, header.by.clone());
            }
            Object::Run(record) => {
                let opening = record.opening();
                if let Some(id) = opening.task
                    && let Some(task) = self.tasks.get_mut(&id).filter(|task| !task.state.is_terminal())
                {
                    task.state = TaskState::Running;
                    let at = opening.at.max(task.at);
                    say(made, id, TaskState::Running, (Some(record.id()), None), at, opening.actor.clone());
                }
            }
            Object::TaskEvent(event) => self.ended(made, event),
            Object::Decision(decision) => self.decided(made, decision, runs, at),
            _ => {}
        }
    }

    /// Takes in a person's word on a task.
    fn ended(&mut self, made: &mut Made, event: &TaskEvent) {
        let (content, header) = (event.content(), event.header());
        let Some(task) = self.tasks.get_mut(&content.task) else { return };
        if !content.state.may_follow(Some(task.state)) {
            return;
        }
        task.state = content.state;
        if content.state.is_terminal() {
            let task = content.task;
            self.settle_intent(made, task, content.reason.clone(), header.at, header.by.clone());
        }
    }

    fn decided(&mut self, made: &mut Made, decision: &Decision, runs: &Runs, at: Timestamp) {
        // Said again it is nothing new, and a rollback of what comes later would lead in a circle.
        if self.decided.contains(&decision.id()) {
            return;
        }
        let Some(record) = runs.record(decision.run()) else { return };
        let opening = record.opening();
        match decision.verdict() {
            Verdict::Commit { commit, .. } => {
                if let Some(id) = opening.intent
                    && let Some(intent) = self.intents.get_mut(&id)
                {
                    intent.commits.push((decision.id(), *commit));
                }
            }
            Verdict::Rollback { of, .. } if self.decided.contains(of) => {
                self.rollbacks.entry(*of).or_insert(decision.id());
            }
            _ => {}
        }
        self.decided.insert(decision.id());
        let (true, Some(id)) = (decision.consequences().task_fails(), opening.task) else { return };
        let Some(task) = self.tasks.get_mut(&id).filter(|task| !task.state.is_terminal()) else { return };
        task.state = TaskState::Failed;
        let at = not_before(opening.at, at).max(decision.at());
        let (reason, by) = (decision.verdict().reason().cloned(), decision.decided_by().clone());
        let run = Some(decision.run());
        say(made, id, TaskState::Failed, (run, reason.clone()), at, by.clone());
        self.settle_intent(made, id, reason, at, by);
    }

    /// Ends the intent of a task that has just ended, if that was the last one.
    fn settle_intent(
        &mut self,
        made: &mut Made,
        task: TaskId,
        reason: Option<NonBlank>,
        at: RunTime,
        by: Actor,
    ) {
        let Some(Piece { intent: Some(id), state, .. }) = self.tasks.get(&task) else { return };
        let Some(wanted) = self.intents.get_mut(id) else { return };
        wanted.open = wanted.open.saturating_sub(1);
        wanted.is_fulfilled |= *state == TaskState::Done;
        if wanted.open > 0 || std::mem::replace(&mut wanted.has_ended, wanted.open == 0) {
            return;
        }
        let kind = match wanted.is_fulfilled {
            true => {
                let holds = |(by, _): &&(DecisionId, GitOid)| !is_undone(&self.rollbacks, *by);
                let newest = wanted.commits.iter().rev().find(holds);
                IntentEventKind::Completed { result_commit: newest.map(|(_, commit)| *commit) }
            }
            false => IntentEventKind::Cancelled,
        };
        let content = IntentEventContent { intent: *id, kind, reason, next_intent: None };
        let named = EventId::new(name("intent_event", id.uuid(), made.seq, 0));
        made.push(header(named, at, by).and_then(|header| IntentEvent::new(header, content)));
    }
}

/// Whether a decision is undone now: a rollback undoes, and one of a rollback brings back.
fn is_undone(rollbacks: &HashMap<DecisionId, DecisionId>, decision: DecisionId) -> bool {
    let rollbacks = std::iter::successors(rollbacks.get(&decision), |by| rollbacks.get(by));
    rollbacks.count() % 2 == 1
}

fn say(
    made: &mut Made,
    task: TaskId,
    state: TaskState,
    (run, reason): (Option<RunId>, Option<NonBlank>),
    at: RunTime,
    by: Actor,
) {
    let content = TaskEventContent { task, state, reason, run };
    let id = EventId::new(name("task_event", task.uuid(), made.seq, 0));
    made.push(header(id, at, by).and_then(|header| TaskEvent::new(header, content)));
}
