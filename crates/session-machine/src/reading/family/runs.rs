//! What follows for runs: how each went, who answered in it, what it used, what was learned.

use std::collections::HashMap;

use trunkline_decision_objects::{
    Actor, ContextFrame, ContextFrameContent, Cost, Decision, EventId, FrameId, FrameKind, GitOid, IntentId,
    NonBlank, Object, PatchSetId, Provenance, ProvenanceContent, ProvenanceId, RunEvent, RunEventContent,
    RunId, RunRecord, RunState, Timestamp as RunTime, Usage, UsageContent, Verdict,
};
use trunkline_message_tree::{Link, Message, NodeId, Timestamp};
use trunkline_resolve_queue::ProposalId;
use trunkline_revert::{Note as Learned, NoteKind};
use trunkline_session_store::Note;

use super::made::{Made, harness, header, model, name, not_before};
use super::pieces::summary;
use crate::notes::record::read;
use crate::words::bill::bill;
use crate::words::close_as::PROMPT_LEFT;

/// The runs so far.
#[derive(Default)]
pub(super) struct Runs {
    known: HashMap<RunId, Known>,
    open: Option<OpenRun>,
}

/// A run that was opened.
struct Known {
    record: RunRecord,
    /// Whether it has its verdict.
    is_over: bool,
}

/// The run that has no verdict yet.
pub(super) struct OpenRun {
    pub(super) id: RunId,
    pub(super) at: RunTime,
    pub(super) base: Option<GitOid>,
    pub(super) intent: Option<IntentId>,
    /// Who answered first.
    pub(super) model: Option<Actor>,
    /// What each reply has cost, with the record and its maker.
    used: Vec<Used>,
    has_provenance: bool,
}

struct Used {
    seq: u64,
    at: RunTime,
    by: Actor,
    cost: Cost,
}

impl Runs {
    pub(super) fn open(&self) -> Option<&OpenRun> {
        self.open.as_ref()
    }

    /// Returns how a run was opened.
    pub(super) fn record(&self, run: RunId) -> Option<&RunRecord> {
        self.known.get(&run).map(|known| &known.record)
    }

    /// Takes in an object that was recorded.
    pub(super) fn object(&mut self, made: &mut Made, object: &Object, at: Timestamp) {
        match object {
            Object::Run(record) => self.opened(made, record),
            Object::Decision(decision) => self.decided(made, decision, at),
            _ => {}
        }
    }

    fn opened(&mut self, made: &mut Made, record: &RunRecord) {
        let id = record.id();
        if self.known.contains_key(&id) {
            return;
        }
        self.end(made);
        let opening = record.opening();
        let (at, by) = (opening.at, opening.actor.clone());
        let content = RunEventContent { reason: None, ..event(id, RunState::Created) };
        made.push(run_event(made.seq, at, by, content));
        self.known.insert(id, Known { record: record.clone(), is_over: false });
        let (base, intent) = (opening.base.commit, opening.intent);
        self.open =
            Some(OpenRun { id, at, base, intent, model: None, used: Vec::new(), has_provenance: false });
    }

    fn decided(&mut self, made: &mut Made, decision: &Decision, at: Timestamp) {
        let Some(known) = self.known.get_mut(&decision.run()).filter(|known| !known.is_over) else { return };
        known.is_over = true;
        let opened = known.record.opening().at;
        if let Some(open) = self.open.take_if(|open| open.id == decision.run()) {
            open.settle(made, decision.cites().cost.as_ref());
        }
        let at = not_before(opened, at).max(decision.at());
        let verdict = decision.verdict();
        let state = match verdict {
            Verdict::Other { label, .. } if label.as_str() == PROMPT_LEFT => RunState::Failed,
            Verdict::Commit { .. } | Verdict::Rollback { .. } | Verdict::Other { .. } => RunState::Completed,
            Verdict::Abandon { .. } | Verdict::Retry { .. } => RunState::Failed,
            Verdict::Checkpoint { .. } => RunState::Checkpointed,
        };
        let by = decision.decided_by().clone();
        let (reason, patch_set) = (verdict.reason().cloned(), verdict.patch_set());
        let content = RunEventContent { reason, patch_set, ..event(decision.run(), state) };
        made.push(run_event(made.seq, at, by.clone(), content));
        if let Verdict::Checkpoint { checkpoint, .. } = verdict {
            frame(made, (decision.run(), at, by), FrameKind::Checkpoint, checkpoint.clone());
        }
    }

    /// Takes in that something proposed was applied in the open run.
    pub(super) fn patches(&mut self, made: &mut Made, at: Timestamp, proposal: ProposalId) {
        self.goes_on(made, at, RunState::Patching, NonBlank::new(format!("{proposal} was applied")).ok());
    }

    /// Takes in that a call of the open run has proved something.
    pub(super) fn validates(&mut self, made: &mut Made, at: Timestamp) {
        self.goes_on(made, at, RunState::Validating, None);
    }

    fn goes_on(&mut self, made: &mut Made, at: Timestamp, state: RunState, reason: Option<NonBlank>) {
        let (Some(open), Ok(by)) = (&self.open, harness()) else { return };
        let content = RunEventContent { reason, ..event(open.id, state) };
        made.push(run_event(made.seq, not_before(open.at, at), by, content));
    }

    /// Takes in a message: who answered, and what that cost. What a summary of older messages cost stands at the node that has it.
    pub(super) fn node(
        &mut self,
        made: &mut Made,
        (_, at): (NodeId, Timestamp),
        link: &Link,
        message: &Message,
    ) {
        let Some(open) = &mut self.open else { return };
        let at = not_before(open.at, at);
        let by = match message.origin.as_ref().map_or_else(harness, model).or_else(|_| harness()) {
            Ok(by) => by,
            Err(_) => return,
        };
        if let Some(origin) = message.origin.as_ref().filter(|_| !open.has_provenance) {
            let provider = NonBlank::new(origin.provider.as_str());
            if let (Ok(provider), Ok(model)) = (provider, NonBlank::new(origin.model.as_str())) {
                let content = ProvenanceContent {
                    run: open.id,
                    provider,
                    model,
                    parameters: None,
                    temperature_milli: None,
                    max_tokens: None,
                };
                let id = ProvenanceId::new(name("provenance", open.id.uuid(), made.seq, 0));
                made.push(header(id, at, by.clone()).and_then(|header| Provenance::new(header, content)));
                open.has_provenance = true;
                open.model = Some(by.clone());
            }
        }
        if let Some(usage) = &message.usage {
            open.used.push(Used { seq: made.seq, at, by: by.clone(), cost: bill(usage) });
        }
        if let (Link::Cover { .. }, Some(words)) = (link, summary(&message.text())) {
            frame(made, (open.id, at, by), FrameKind::StepSummary, words);
        }
    }

    /// Takes in what a branch that was left has taught.
    pub(super) fn learned(&mut self, made: &mut Made, note: &Note) {
        let (Some(open), Ok(learned)) = (&self.open, read::<Learned>(note)) else { return };
        let kind = match learned.kind {
            NoteKind::Lesson => FrameKind::ErrorRecovery,
            NoteKind::Checkpoint => FrameKind::Checkpoint,
            // It only says that a branch is back.
            NoteKind::Undone => return,
            _ => FrameKind::StepSummary,
        };
        let words = learned.summary.as_deref().and_then(summary);
        if let (Some(words), Ok(by)) = (words, harness()) {
            frame(made, (open.id, not_before(open.at, note.at), by), kind, words);
        }
    }

    /// Takes in that nothing more comes of the open run, although it has no verdict.
    pub(super) fn end(&mut self, made: &mut Made) {
        if let Some(open) = self.open.take() {
            open.settle(made, None);
        }
    }
}

impl OpenRun {
    /// Adds what each reply has used. Where that is not what the verdict says, as where a sum is too large for its number, the verdict
    /// is right.
    fn settle(self, made: &mut Made, decided: Option<&Cost>) {
        let sum = |count: fn(&Cost) -> u64| {
            self.used.iter().map(|used| u128::from(count(&used.cost))).sum::<u128>()
        };
        let counts: [fn(&Cost) -> u64; 4] = [
            |cost| cost.input_tokens,
            |cost| cost.output_tokens,
            |cost| cost.cache_read_tokens,
            |cost| cost.cache_write_tokens,
        ];
        let is_whole = |cost: &Cost| cost.total_tokens().is_some();
        let fits = decided
            .is_none_or(|decided| counts.iter().all(|count| sum(*count) == u128::from(count(decided))))
            && self.used.iter().all(|used| is_whole(&used.cost));
        if fits {
            for used in &self.used {
                made.push_of(used.seq, self.usage(used.seq, used.at, used.by.clone(), &used.cost));
            }
        } else if let (Some(decided), Ok(by)) = (decided, harness()) {
            let at = self.used.last().map_or(self.at, |used| used.at);
            made.push(self.usage(made.seq, at, by, decided));
        }
    }

    fn usage(
        &self,
        seq: u64,
        at: RunTime,
        by: Actor,
        cost: &Cost,
    ) -> Result<Usage, trunkline_decision_objects::Invalid> {
        let content = UsageContent {
            run: self.id,
            input_tokens: cost.input_tokens,
            output_tokens: cost.output_tokens,
            cache_read_tokens: cost.cache_read_tokens,
            cache_write_tokens: cost.cache_write_tokens,
            microdollars: cost.microdollars,
        };
        Usage::new(header(EventId::new(name("usage", self.id.uuid(), seq, 0)), at, by)?, content)
    }
}

fn event(run: RunId, state: RunState) -> RunEventContent {
    RunEventContent { run, state, reason: None, error: None, metrics: None, patch_set: None::<PatchSetId> }
}

fn run_event(
    seq: u64,
    at: RunTime,
    by: Actor,
    content: RunEventContent,
) -> Result<RunEvent, trunkline_decision_objects::Invalid> {
    let id = EventId::new(name("run_event", content.run.uuid(), seq, 0));
    RunEvent::new(header(id, at, by)?, content)
}

fn frame(made: &mut Made, (run, at, by): (RunId, RunTime, Actor), kind: FrameKind, summary: NonBlank) {
    let content = ContextFrameContent {
        intent: None,
        run: Some(run),
        plan: None,
        step: None,
        kind,
        summary,
        data: None,
        token_estimate: None,
    };
    let id = FrameId::new(name("context_frame", run.uuid(), made.seq, 0));
    made.push(header(id, at, by).and_then(|header| ContextFrame::new(header, content)));
}
