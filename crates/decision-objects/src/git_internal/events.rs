//! Events, evidence and pieces of context, from git-internal's form into ours.

use std::collections::BTreeSet;

use serde::de::IgnoredAny;

use super::flat::{Flat, Value};
use super::judge::Judge;
use super::snapshots::{parts, stored_digest};
use crate::{
    Artifact, ContextFrame, ContextFrameContent, EventId, Evidence, EvidenceId, EvidenceKind, Finding,
    FrameId, FrameKind, IntentEvent, IntentEventContent, IntentEventKind, IntentId, IntentState, PatchSetId,
    PlanId, RelativePath, RunEvent, RunEventContent, RunId, RunState, StepEvent, StepEventContent, StepId,
    StepState, TaskEvent, TaskEventContent, TaskId, TaskState, ToolInvocation, ToolInvocationContent,
    ToolStatus, Usage, UsageContent,
};

impl Judge {
    pub(super) fn intent_event(&mut self, flat: &Flat<'_>) -> Option<IntentEvent> {
        let header = self.header(flat, EventId::new);
        let body = flat.body();
        let intent = self.id(body, "intent_id", IntentId::new);
        let result_commit = body.hash("result_commit").and_then(|hash| self.commit("result_commit", hash));
        let word = body.text("kind").unwrap_or_default();
        let kind = match IntentState::of_word(word) {
            Some(IntentState::Analyzed) => Some(IntentEventKind::Analyzed),
            Some(IntentState::Completed) => Some(IntentEventKind::Completed { result_commit }),
            Some(IntentState::Cancelled) => Some(IntentEventKind::Cancelled),
            None => self.open_word(body, "kind", word, |_| None, IntentEventKind::Other),
        };
        if result_commit.is_some() && !matches!(kind, Some(IntentEventKind::Completed { .. })) {
            let _: Option<()> = self.unfit("result_commit", "only an intent that is completed has one");
        }
        let reason = self.maybe_words(body, "reason");
        let next_intent = self.maybe_id(body, "next_intent_id", IntentId::new);
        let content =
            IntentEventContent { intent: intent?, kind: kind?, reason: reason?, next_intent: next_intent? };
        self.whole(IntentEvent::seal(header?, content))
    }

    pub(super) fn task_event(&mut self, flat: &Flat<'_>) -> Option<TaskEvent> {
        let header = self.header(flat, EventId::new);
        let body = flat.body();
        let task = self.id(body, "task_id", TaskId::new);
        let state = TaskState::of_word(body.text("kind").unwrap_or_default());
        let reason = self.maybe_words(body, "reason");
        let run = self.maybe_id(body, "run_id", RunId::new);
        let content = TaskEventContent { task: task?, state: state?, reason: reason?, run: run? };
        self.whole(TaskEvent::seal(header?, content))
    }

    pub(super) fn run_event(&mut self, flat: &Flat<'_>) -> Option<RunEvent> {
        let header = self.header(flat, EventId::new);
        let body = flat.body();
        let run = self.id(body, "run_id", RunId::new);
        let state = RunState::of_word(body.text("kind").unwrap_or_default());
        let reason = self.maybe_words(body, "reason");
        let error = self.maybe_words(body, "error");
        let patch_set = self.maybe_id(body, "patchset_id", PatchSetId::new);
        let content = RunEventContent {
            run: run?,
            state: state?,
            reason: reason?,
            error: error?,
            metrics: body.text("metrics").map(plain),
            patch_set: patch_set?,
        };
        self.whole(RunEvent::seal(header?, content))
    }

    pub(super) fn step_event(&mut self, flat: &Flat<'_>) -> Option<StepEvent> {
        let header = self.header(flat, EventId::new);
        let body = flat.body();
        let plan = self.id(body, "plan_id", PlanId::new);
        let step = self.id(body, "step_id", StepId::new);
        let run = self.id(body, "run_id", RunId::new);
        let state = StepState::of_word(body.text("status").unwrap_or_default());
        let reason = self.maybe_words(body, "reason");
        let consumed = self.ids(body, "consumed_frames", FrameId::new);
        let produced = self.ids(body, "produced_frames", FrameId::new);
        let spawned_task = self.maybe_id(body, "spawned_task_id", TaskId::new);
        let content = StepEventContent {
            plan: plan?,
            step: step?,
            run: run?,
            state: state?,
            reason: reason?,
            consumed: consumed?,
            produced: produced?,
            spawned_task: spawned_task?,
            outputs: body.text("outputs").map(plain),
        };
        self.whole(StepEvent::seal(header?, content))
    }

    pub(super) fn usage(&mut self, flat: &Flat<'_>) -> Option<Usage> {
        let header = self.header(flat, EventId::new);
        let body = flat.body();
        let run = self.id(body, "run_id", RunId::new);
        let (input_tokens, output_tokens) = (body.unsigned("input_tokens")?, body.unsigned("output_tokens")?);
        let sum = input_tokens.checked_add(output_tokens);
        let summed = match body.unsigned("total_tokens") == sum {
            true => Some(()),
            false => self.unfit("total_tokens", "it is not the sum of the other two"),
        };
        let microdollars = match body.text("cost_usd") {
            None => Some(None),
            Some(number) => {
                self.dropped("the sign of cost_usd", number == "-0.0");
                match parts(number, 1_000_000.0) {
                    Some(millionths) => Some(Some(millionths)),
                    None => self.unfit("cost_usd", "it is no whole number of millionths"),
                }
            }
        };
        summed?;
        let content = UsageContent {
            run: run?,
            input_tokens,
            output_tokens,
            cache_read_tokens: 0,
            cache_write_tokens: 0,
            microdollars: microdollars?,
        };
        self.whole(Usage::seal(header?, content))
    }

    pub(super) fn tool_invocation(&mut self, flat: &Flat<'_>) -> Option<ToolInvocation> {
        let header = self.header(flat, EventId::new);
        let body = flat.body();
        let run = self.id(body, "run_id", RunId::new);
        let tool = self.words(body, "tool_name");
        let paths = |judge: &mut Self, key: &'static str| match body.record("io_footprint") {
            None => Some(BTreeSet::new()),
            Some(footprint) => {
                let items = footprint.list(key);
                let place = format!("io_footprint.{key}");
                let paths = judge.each(items, &place, |path| match path {
                    Value::Text(path) => RelativePath::new(path.as_ref()),
                    _ => RelativePath::new(""),
                });
                let paths = paths?;
                judge.dropped(&format!("the order of {place}"), !paths.is_sorted());
                let unique: BTreeSet<RelativePath> = paths.into_iter().collect();
                if unique.len() == items.len() {
                    Some(unique)
                } else {
                    judge.unfit(&place, "a path stands there twice")
                }
            }
        };
        let reads = paths(self, "paths_read");
        let writes = paths(self, "paths_written");
        let empty = body.record("io_footprint").is_some_and(|footprint| {
            footprint.list("paths_read").is_empty() && footprint.list("paths_written").is_empty()
        });
        self.dropped("io_footprint", empty);
        let status = ToolStatus::of_word(body.text("status").unwrap_or_default());
        let artifacts = self.each_record(body, "artifacts", |judge, artifact| {
            let store = judge.words(artifact, "store");
            let key = judge.words(artifact, "key");
            Some(Artifact { store: store?, key: key?, digest: None })
        });
        let content = ToolInvocationContent {
            run: run?,
            tool: tool?,
            call: None,
            reads: reads?,
            writes: writes?,
            args: plain(body.text("args").unwrap_or("null")),
            status: status?,
            summary: body.text("result_summary").map(String::from),
            artifacts: artifacts?,
            started: None,
            ended: None,
        };
        self.whole(ToolInvocation::seal(header?, content))
    }

    pub(super) fn evidence(&mut self, flat: &Flat<'_>) -> Option<Evidence> {
        let header = self.header(flat, EvidenceId::new);
        let body = flat.body();
        self.dropped("created_by", true);
        let reports = body.records("report_artifacts");
        // Ours names what was printed by its digest, and nothing else.
        let output = match reports.as_slice() {
            [one] => stored_digest(*one),
            _ => None,
        };
        self.dropped("report_artifacts", !reports.is_empty() && output.is_none());
        let run = self.id(body, "run_id", RunId::new);
        let patch_set = self.maybe_id(body, "patchset_id", PatchSetId::new);
        let word = body.text("kind").unwrap_or_default();
        let kind = self.open_word(body, "kind", word, EvidenceKind::of_word, EvidenceKind::Other);
        let tool = self.words(body, "tool");
        let exit_code = if let Value::Signed(code) = body.get("exit_code") { Some(*code) } else { None };
        let finding = Finding {
            kind: kind?,
            tool: tool?,
            command: body.text("command").map(String::from),
            exit_code,
            summary: body.text("summary").map(String::from),
            output,
        };
        let header = header?;
        Some(Evidence::new(header.id, run?, header.at, patch_set?, None, finding))
    }

    pub(super) fn context_frame(&mut self, flat: &Flat<'_>) -> Option<ContextFrame> {
        let header = self.header(flat, FrameId::new);
        let body = flat.body();
        let intent = self.maybe_id(body, "intent_id", IntentId::new);
        let run = self.maybe_id(body, "run_id", RunId::new);
        let plan = self.maybe_id(body, "plan_id", PlanId::new);
        let step = self.maybe_id(body, "step_id", StepId::new);
        let word = body.text("kind").unwrap_or_default();
        let kind = self.open_word(body, "kind", word, FrameKind::of_word, FrameKind::Other);
        let summary = self.words(body, "summary");
        let content = ContextFrameContent {
            intent: intent?,
            run: run?,
            plan: plan?,
            step: step?,
            kind: kind?,
            summary: summary?,
            data: body.text("data").map(plain),
            token_estimate: body.unsigned("token_estimate"),
        };
        self.whole(ContextFrame::seal(header?, content))
    }
}

/// A JSON text as the text that it means, any other JSON as it stands.
///
/// A text that is JSON itself stays in its quotes: without them nobody could tell that it was a text.
fn plain(json: &str) -> String {
    let text: Option<String> = serde_json::from_str(json).ok();
    text.filter(|text| serde_json::from_str::<IgnoredAny>(text).is_err())
        .unwrap_or_else(|| String::from(json))
}
