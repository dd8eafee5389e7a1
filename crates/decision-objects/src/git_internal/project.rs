//! Ours in git-internal's form, and what is lost on the way.

use std::borrow::Cow;
use std::num::NonZeroU32;

use serde_json::value::RawValue;
use uuid::Uuid;

use super::any_json;
use super::flat::{Flat, Value, padded};
use super::schema::Shape;
use super::snapshots::SHA256_STORE;
use super::{Kind, actor, decision, header};
use crate::json::{Raw, quoted};
use crate::{
    Actor, Change, Digest, FrameKind, GitOid, Header, IntentEventKind, ItemKind, JsonText, NonBlank, Object,
    ObjectKind, TaskGoal, Timestamp, ToolStatus,
};

/// Why an object of ours has no form there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoForm {
    /// Its reader wants a key for which ours has nothing to say.
    #[error("a {kind} needs `{field}` there, and ours says none")]
    Needs {
        /// What it would be.
        kind: Kind,
        /// The key without which its reader refuses it.
        field: &'static str,
    },
    /// None of its sixteen objects is one of these.
    #[error(
        "git-internal has no {kind} object; it records the choice of a patch set in the decision of the run, and none of a plan"
    )]
    NoKind {
        /// What it is here.
        kind: ObjectKind,
    },
}

/// Puts an object into git-internal's form. `at` and `by` say when and by whom where ours does not: for patch sets both,
/// for evidence only by whom.
pub(super) fn flat<'a>(object: &'a Object, at: Timestamp, by: &'a Actor) -> Result<Flat<'a>, NoForm> {
    Ok(match object {
        Object::Intent(intent) => {
            let content = intent.content();
            Flat::new(
                Kind::Intent,
                head(Kind::Intent, intent.header(), intent.id().uuid()),
                [
                    ("parents", ids(&content.parents, |id| id.uuid())),
                    ("prompt", words(&content.prompt)),
                    ("spec", maybe(content.spec.as_ref(), json)),
                    ("analysis_context_frames", ids(&content.analysis_frames, |id| id.uuid())),
                ],
            )
        }
        Object::Plan(plan) => {
            let content = plan.content();
            let steps = content.steps.iter().map(|step| {
                Value::Record(vec![
                    Value::Uuid(step.id.uuid()),
                    words(&step.description),
                    maybe(step.inputs.as_ref(), json),
                    maybe(step.checks.as_ref(), json),
                ])
            });
            Flat::new(
                Kind::Plan,
                head(Kind::Plan, plan.header(), plan.id().uuid()),
                [
                    ("intent", Value::Uuid(content.intent.uuid())),
                    ("parents", ids(&content.parents, |id| id.uuid())),
                    ("context_frames", ids(&content.frames, |id| id.uuid())),
                    ("steps", Value::List(steps.collect())),
                ],
            )
        }
        Object::Task(task) => {
            let content = task.content();
            let goal = match &content.goal {
                Some(TaskGoal::Other(label)) => Value::Other(Cow::Borrowed(label.as_str())),
                Some(goal) => known(Kind::Task, "goal", goal.as_str()),
                None => Value::Absent,
            };
            Flat::new(
                Kind::Task,
                head(Kind::Task, task.header(), task.id().uuid()),
                [
                    ("title", words(&content.title)),
                    ("description", maybe(content.description.as_ref(), words)),
                    ("goal", goal),
                    ("constraints", list_of_words(&content.constraints)),
                    ("acceptance_criteria", list_of_words(&content.acceptance_criteria)),
                    ("requester", maybe(content.requester.as_ref(), actor)),
                    ("parent", maybe(content.parent, |id| Value::Uuid(id.uuid()))),
                    ("intent", maybe(content.intent, |id| Value::Uuid(id.uuid()))),
                    ("origin_step_id", maybe(content.origin_step, |id| Value::Uuid(id.uuid()))),
                    ("dependencies", ids(&content.dependencies, |id| id.uuid())),
                ],
            )
        }
        Object::Run(run) => {
            let opening = run.opening();
            let task = opening.task.ok_or(NoForm::Needs { kind: Kind::Run, field: "task" })?;
            let commit = opening.base.commit.ok_or(NoForm::Needs { kind: Kind::Run, field: "commit" })?;
            // There is no folder in ours, on purpose; its reader wants the key.
            let environment = opening.environment.as_ref().map(|environment| {
                let values = vec![words(&environment.os), words(&environment.arch), text("")];
                Value::OpenRecord(values, Vec::new())
            });
            Flat::new(
                Kind::Run,
                header(Kind::Run, opening.id.uuid(), opening.at, &opening.actor),
                [
                    ("task", Value::Uuid(task.uuid())),
                    ("plan", maybe(opening.plan, |id| Value::Uuid(id.uuid()))),
                    ("commit", Value::Hash(padded(commit))),
                    ("snapshot", maybe(opening.snapshot, |id| Value::Uuid(id.uuid()))),
                    ("environment", environment.unwrap_or(Value::Absent)),
                ],
            )
        }
        Object::PatchSet(patch_set) => {
            let commit = patch_set.base().ok_or(NoForm::Needs { kind: Kind::PatchSet, field: "commit" })?;
            let touched = patch_set.files().iter().map(|file| {
                let change = match &file.change {
                    Change::Added => "add",
                    Change::Modified => "modify",
                    Change::Deleted => "delete",
                    Change::Renamed { .. } => "rename",
                };
                Value::Record(vec![
                    text(file.path.as_str()),
                    Value::Word(change),
                    Value::Unsigned(file.added_lines.unwrap_or(0).into()),
                    Value::Unsigned(file.deleted_lines.unwrap_or(0).into()),
                ])
            });
            Flat::new(
                Kind::PatchSet,
                header(Kind::PatchSet, patch_set.id().uuid(), at, by),
                [
                    ("run", Value::Uuid(patch_set.run().uuid())),
                    ("sequence", Value::Unsigned(patch_set.sequence().map_or(0, NonZeroU32::get).into())),
                    ("commit", Value::Hash(padded(commit))),
                    ("format", Value::Word("unified_diff")),
                    ("artifact", artifact(patch_set.diff().digest())),
                    ("touched", Value::List(touched.collect())),
                ],
            )
        }
        Object::ContextSnapshot(snapshot) => {
            let content = snapshot.content();
            let items = content.items.iter().map(|item| {
                let kind = match &item.kind {
                    ItemKind::Other(label) => Value::Other(Cow::Borrowed(label.as_str())),
                    kind => word_of(ITEM_KINDS, kind.as_str()),
                };
                let blob = match item.blob {
                    Some(GitOid::Sha1(bytes)) => Value::ObjectHash("Sha1", bytes.to_vec()),
                    Some(GitOid::Sha256(bytes)) => Value::ObjectHash("Sha256", bytes.to_vec()),
                    None => Value::Absent,
                };
                Value::Record(vec![kind, words(&item.path), maybe(item.preview.as_deref(), text), blob])
            });
            Flat::new(
                Kind::ContextSnapshot,
                head(Kind::ContextSnapshot, snapshot.header(), snapshot.id().uuid()),
                [
                    ("selection_strategy", Value::Word(content.selection.as_str())),
                    ("items", Value::List(items.collect())),
                    ("summary", maybe(content.summary.as_ref(), words)),
                ],
            )
        }
        Object::Provenance(provenance) => {
            let content = provenance.content();
            let temperature = content.temperature_milli.map(|milli| f64::from(milli) / 1_000.0);
            Flat::new(
                Kind::Provenance,
                head(Kind::Provenance, provenance.header(), provenance.id().uuid()),
                [
                    ("run_id", Value::Uuid(content.run.uuid())),
                    ("provider", words(&content.provider)),
                    ("model", words(&content.model)),
                    ("parameters", maybe(content.parameters.as_ref(), json)),
                    ("temperature", maybe(temperature, float)),
                    ("max_tokens", maybe(content.max_tokens, Value::Unsigned)),
                ],
            )
        }
        Object::IntentEvent(event) => {
            let content = event.content();
            let commit = match &content.kind {
                IntentEventKind::Completed { result_commit } => *result_commit,
                _ => None,
            };
            let kind = match (&content.kind, content.kind.state()) {
                (IntentEventKind::Other(label), _) => Value::Other(Cow::Borrowed(label.as_str())),
                (_, state) => Value::Word(state.map_or("analyzed", |state| state.as_str())),
            };
            Flat::new(
                Kind::IntentEvent,
                head(Kind::IntentEvent, event.header(), event.id().uuid()),
                [
                    ("intent_id", Value::Uuid(content.intent.uuid())),
                    ("kind", kind),
                    ("reason", maybe(content.reason.as_ref(), words)),
                    ("result_commit", maybe(commit, |commit| Value::Hash(padded(commit)))),
                    ("next_intent_id", maybe(content.next_intent, |id| Value::Uuid(id.uuid()))),
                ],
            )
        }
        Object::TaskEvent(event) => {
            let content = event.content();
            Flat::new(
                Kind::TaskEvent,
                head(Kind::TaskEvent, event.header(), event.id().uuid()),
                [
                    ("task_id", Value::Uuid(content.task.uuid())),
                    ("kind", Value::Word(content.state.as_str())),
                    ("reason", maybe(content.reason.as_ref(), words)),
                    ("run_id", maybe(content.run, |id| Value::Uuid(id.uuid()))),
                ],
            )
        }
        Object::RunEvent(event) => {
            let content = event.content();
            Flat::new(
                Kind::RunEvent,
                head(Kind::RunEvent, event.header(), event.id().uuid()),
                [
                    ("run_id", Value::Uuid(content.run.uuid())),
                    ("kind", Value::Word(content.state.as_str())),
                    ("reason", maybe(content.reason.as_ref(), words)),
                    ("error", maybe(content.error.as_ref(), words)),
                    ("metrics", maybe(content.metrics.as_deref(), free)),
                    ("patchset_id", maybe(content.patch_set, |id| Value::Uuid(id.uuid()))),
                ],
            )
        }
        Object::StepEvent(event) => {
            let content = event.content();
            Flat::new(
                Kind::PlanStepEvent,
                head(Kind::PlanStepEvent, event.header(), event.id().uuid()),
                [
                    ("plan_id", Value::Uuid(content.plan.uuid())),
                    ("step_id", Value::Uuid(content.step.uuid())),
                    ("run_id", Value::Uuid(content.run.uuid())),
                    ("status", Value::Word(content.state.as_str())),
                    ("reason", maybe(content.reason.as_ref(), words)),
                    ("consumed_frames", ids(&content.consumed, |id| id.uuid())),
                    ("produced_frames", ids(&content.produced, |id| id.uuid())),
                    ("spawned_task_id", maybe(content.spawned_task, |id| Value::Uuid(id.uuid()))),
                    ("outputs", maybe(content.outputs.as_deref(), free)),
                ],
            )
        }
        Object::Usage(usage) => {
            let content = usage.content();
            Flat::new(
                Kind::RunUsage,
                head(Kind::RunUsage, usage.header(), usage.id().uuid()),
                [
                    ("run_id", Value::Uuid(content.run.uuid())),
                    // What the cache took and gave is prompt as well; there is no other place for it.
                    ("input_tokens", Value::Unsigned(usage.total_tokens() - content.output_tokens)),
                    ("output_tokens", Value::Unsigned(content.output_tokens)),
                    ("total_tokens", Value::Unsigned(usage.total_tokens())),
                    ("cost_usd", maybe(content.microdollars, dollars)),
                ],
            )
        }
        Object::ToolInvocation(call) => {
            let content = call.content();
            let paths = |paths: &'a std::collections::BTreeSet<crate::RelativePath>| {
                Value::List(paths.iter().map(|path| text(path.as_str())).collect())
            };
            let footprint = if content.reads.is_empty() && content.writes.is_empty() {
                Value::Absent
            } else {
                Value::Record(vec![paths(&content.reads), paths(&content.writes)])
            };
            let artifacts = content.artifacts.iter();
            let artifacts =
                artifacts.map(|artifact| Value::Record(vec![words(&artifact.store), words(&artifact.key)]));
            Flat::new(
                Kind::ToolInvocation,
                head(Kind::ToolInvocation, call.header(), call.id().uuid()),
                [
                    ("run_id", Value::Uuid(content.run.uuid())),
                    ("tool_name", words(&content.tool)),
                    ("io_footprint", footprint),
                    ("args", free(&content.args)),
                    ("status", Value::Word(if content.status == ToolStatus::Ok { "ok" } else { "error" })),
                    ("result_summary", maybe(content.summary.as_deref(), text)),
                    ("artifacts", Value::List(artifacts.collect())),
                ],
            )
        }
        Object::ContextFrame(frame) => {
            let content = frame.content();
            let kind = match &content.kind {
                FrameKind::Other(label) => Value::Other(Cow::Borrowed(label.as_str())),
                kind => known(Kind::ContextFrame, "kind", kind.as_str()),
            };
            Flat::new(
                Kind::ContextFrame,
                head(Kind::ContextFrame, frame.header(), frame.id().uuid()),
                [
                    ("intent_id", maybe(content.intent, |id| Value::Uuid(id.uuid()))),
                    ("run_id", maybe(content.run, |id| Value::Uuid(id.uuid()))),
                    ("plan_id", maybe(content.plan, |id| Value::Uuid(id.uuid()))),
                    ("step_id", maybe(content.step, |id| Value::Uuid(id.uuid()))),
                    ("kind", kind),
                    ("summary", words(&content.summary)),
                    ("data", maybe(content.data.as_deref(), free)),
                    ("token_estimate", maybe(content.token_estimate, Value::Unsigned)),
                ],
            )
        }
        Object::Selection(_) => return Err(NoForm::NoKind { kind: ObjectKind::Selection }),
        Object::Evidence(evidence) => {
            let finding = evidence.finding();
            Flat::new(
                Kind::Evidence,
                header(Kind::Evidence, evidence.id().uuid(), evidence.at(), by),
                [
                    ("run_id", Value::Uuid(evidence.run().uuid())),
                    ("patchset_id", maybe(evidence.patch_set(), |id| Value::Uuid(id.uuid()))),
                    ("kind", Value::Other(Cow::Borrowed(finding.kind.as_str()))),
                    ("tool", words(&finding.tool)),
                    ("command", maybe(finding.command.as_deref(), text)),
                    ("exit_code", maybe(finding.exit_code, Value::Signed)),
                    ("summary", maybe(finding.summary.as_deref(), text)),
                    ("report_artifacts", Value::List(finding.output.map(artifact).into_iter().collect())),
                ],
            )
        }
        Object::Decision(decision) => decision::project(decision),
    })
}

const ITEM_KINDS: &[&str] = &["file", "url", "snippet", "command", "image"];

fn head<Id>(kind: Kind, of: &Header<Id>, id: Uuid) -> [Value<'_>; 5] {
    header(kind, id, of.at, &of.by)
}

fn maybe<'a, T>(value: Option<T>, print: impl FnOnce(T) -> Value<'a>) -> Value<'a> {
    value.map_or(Value::Absent, print)
}

fn text(text: &str) -> Value<'_> {
    Value::Text(Cow::Borrowed(text))
}

/// What is kept elsewhere, or nowhere, and named by its digest.
fn artifact(digest: Digest) -> Value<'static> {
    let key = Value::Text(Cow::Owned(digest.to_string()));
    Value::Record(vec![Value::Text(Cow::Borrowed(SHA256_STORE)), key])
}

fn words(words: &NonBlank) -> Value<'_> {
    text(words.as_str())
}

fn list_of_words(list: &[NonBlank]) -> Value<'_> {
    Value::List(list.iter().map(words).collect())
}

fn ids<T: Copy>(ids: &[T], uuid: impl Fn(T) -> Uuid) -> Value<'static> {
    Value::List(ids.iter().map(|id| Value::Uuid(uuid(*id))).collect())
}

/// A word of ours under a key where those of the table are told from others.
fn known(kind: Kind, key: &str, word: &str) -> Value<'static> {
    let field = kind.fields().iter().find(|field| field.key == key);
    match field.map(|field| field.shape) {
        Some(Shape::TaggedWord(words, _)) => word_of(words, word),
        _ => Value::Absent,
    }
}

fn word_of(words: &'static [&'static str], word: &str) -> Value<'static> {
    words.iter().copied().find(|known| *known == word).map_or(Value::Absent, Value::Word)
}

fn json(json: &JsonText) -> Value<'_> {
    free(json.as_str())
}

/// A text of a form of its own: objects, arrays and the like as JSON, anything else as a JSON text.
fn free(text: &str) -> Value<'static> {
    let value: Option<&RawValue> = serde_json::from_str(text).ok();
    let respelled = value.and_then(|value| any_json::respelled(Raw::strict(value.get()), 1).ok());
    match respelled {
        Some(json) => Value::Json(Cow::Owned(json)),
        None => Value::Json(Cow::Owned(quoted(text))),
    }
}

fn float(number: f64) -> Value<'static> {
    let printed = serde_json::to_string(&number);
    Value::Float(printed.expect("a number has no map keys and no failing writer, the only ways to fail"))
}

#[expect(clippy::cast_precision_loss, reason = "it is exact up to nine billion dollars")]
fn dollars(millionths: u64) -> Value<'static> {
    float(millionths as f64 / 1_000_000.0)
}
