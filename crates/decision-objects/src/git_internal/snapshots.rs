//! Snapshots (intent, plan, task, run, patch set, context snapshot, provenance), from git-internal's form into ours.

use std::num::NonZeroU32;

use super::Violation;
use super::flat::{Flat, Record, Value};
use super::judge::Judge;
use crate::sealed::{Faults, twice};
use crate::{
    Base, Change, ContextItem, ContextSnapshot, Diff, Digest, Environment, FrameId, GitOid, Intent,
    IntentContent, IntentId, Invalid, ItemKind, Label, Opening, PatchSet, PatchSetId, Plan, PlanContent,
    PlanId, PlanStep, Provenance, ProvenanceContent, ProvenanceId, RelativePath, RunId, RunRecord,
    SelectionStrategy, SnapshotContent, SnapshotId, StepId, Task, TaskContent, TaskGoal, TaskId, TouchedFile,
};

impl Judge {
    pub(super) fn intent(&mut self, flat: &Flat<'_>) -> Option<Intent> {
        let header = self.header(flat, IntentId::new);
        let body = flat.body();
        let parents = self.ids(body, "parents", IntentId::new);
        let prompt = self.words(body, "prompt");
        let spec = self.maybe_json(body, "spec");
        let analysis_frames = self.ids(body, "analysis_context_frames", FrameId::new);
        let content = IntentContent {
            parents: parents?,
            prompt: prompt?,
            spec: spec?,
            analysis_frames: analysis_frames?,
        };
        self.whole(Intent::seal(header?, content))
    }

    pub(super) fn plan(&mut self, flat: &Flat<'_>) -> Option<Plan> {
        let header = self.header(flat, PlanId::new);
        let body = flat.body();
        let intent = self.id(body, "intent", IntentId::new);
        let parents = self.ids(body, "parents", PlanId::new);
        let frames = self.ids(body, "context_frames", FrameId::new);
        let steps = self.each_record(body, "steps", |judge, step| {
            let id = judge.id(step, "step_id", StepId::new);
            let description = judge.words(step, "description");
            let inputs = judge.maybe_json(step, "inputs");
            let checks = judge.maybe_json(step, "checks");
            Some(PlanStep { id: id?, description: description?, inputs: inputs?, checks: checks? })
        });
        let content = PlanContent { intent: intent?, parents: parents?, frames: frames?, steps: steps? };
        self.whole(Plan::seal(header?, content))
    }

    pub(super) fn task(&mut self, flat: &Flat<'_>) -> Option<Task> {
        let header = self.header(flat, TaskId::new);
        let body = flat.body();
        let title = self.words(body, "title");
        let description = self.maybe_words(body, "description");
        let goal = match body.text("goal") {
            None => Some(None),
            Some(word) => self.open_word(body, "goal", word, TaskGoal::of_word, TaskGoal::Other).map(Some),
        };
        let constraints = self.list_of_words(body, "constraints");
        let acceptance_criteria = self.list_of_words(body, "acceptance_criteria");
        let requester = match body.record("requester") {
            None => Some(None),
            Some(actor) => self.actor(actor, "requester").map(Some),
        };
        let parent = self.maybe_id(body, "parent", TaskId::new);
        let intent = self.maybe_id(body, "intent", IntentId::new);
        let origin_step = self.maybe_id(body, "origin_step_id", StepId::new);
        let dependencies = self.ids(body, "dependencies", TaskId::new);
        let content = TaskContent {
            title: title?,
            description: description?,
            goal: goal?,
            constraints: constraints?,
            acceptance_criteria: acceptance_criteria?,
            requester: requester?,
            parent: parent?,
            intent: intent?,
            origin_step: origin_step?,
            dependencies: dependencies?,
        };
        self.whole(Task::seal(header?, content))
    }

    pub(super) fn run(&mut self, flat: &Flat<'_>) -> Option<RunRecord> {
        let header = self.header(flat, RunId::new);
        let body = flat.body();
        let task = self.id(body, "task", TaskId::new);
        let plan = self.maybe_id(body, "plan", PlanId::new);
        let commit = body.hash("commit").and_then(|hash| self.commit("commit", hash));
        let snapshot = self.maybe_id(body, "snapshot", SnapshotId::new);
        let environment = match body.record("environment") {
            None => Some(None),
            Some(environment) => {
                let os = self.field("environment.os", words(environment, "os"));
                let arch = self.field("environment.arch", words(environment, "arch"));
                // It names a person, mostly.
                self.dropped("environment.cwd", true);
                os.zip(arch).map(|(os, arch)| Some(Environment { os, arch }))
            }
        };
        let header = header?;
        let opening = Opening {
            base: Base { commit, tree: None },
            task: Some(task?),
            plan: plan?,
            snapshot: snapshot?,
            environment: environment?,
            ..Opening::new(header.id, header.at, header.by, "")
        };
        self.field("the object", RunRecord::seal(opening))
    }

    /// Becomes one of ours only where its artifact says the digest of its diff, by which ours names it.
    pub(super) fn patch_set(&mut self, flat: &Flat<'_>) -> Option<PatchSet> {
        let header = self.header(flat, PatchSetId::new);
        let body = flat.body();
        self.dropped("created_at", true);
        self.dropped("created_by", true);
        let run = self.id(body, "run", RunId::new);
        let commit = body.hash("commit").and_then(|hash| self.commit("commit", hash));
        let digest = match body.record("artifact").and_then(stored_digest) {
            Some(digest) => Some(digest),
            None => self.unfit("artifact", "the digest of a diff is missing, by which ours names it"),
        };
        self.dropped("format", body.text("format") != Some("unified_diff"));
        self.dropped("rationale", body.text("rationale").is_some());
        let files = body.records("touched").into_iter();
        let paths: Vec<RelativePath> =
            files.filter_map(|file| RelativePath::new(file.text("path")?).ok()).collect();
        for &path in &twice(&paths) {
            let _: Option<()> = self.field("touched", Err(Invalid::TouchedTwice { path: path.clone() }));
        }
        let files = self.each_record(body, "touched", |judge, file| {
            let path = judge.field("path", RelativePath::new(file.text("path").unwrap_or_default()));
            let change = match file.text("change_type") {
                Some("add") => Some(Change::Added),
                Some("delete") => Some(Change::Deleted),
                Some("rename") => judge.unfit("change_type", "a rename does not say what the path was"),
                Some("copy") => judge.unfit("change_type", "a copy is no change of ours"),
                _ => Some(Change::Modified),
            };
            let lines = |key| file.unsigned(key).and_then(|lines| u32::try_from(lines).ok());
            let (added_lines, deleted_lines) = (lines("lines_added"), lines("lines_deleted"));
            Some(TouchedFile { path: path?, change: change?, added_lines, deleted_lines })
        });
        // Its constructor gives 0 to those that were given none.
        let sequence = body.unsigned("sequence").and_then(|number| u32::try_from(number).ok());
        let files = files?;
        self.dropped("the order of touched", !files.is_sorted());
        let base = Some(commit?);
        let made = PatchSet::new(header?.id, run?, base, files, Diff::named(digest?)).ok()?;
        Some(match sequence.and_then(NonZeroU32::new) {
            Some(sequence) => made.with_sequence(sequence),
            None => made,
        })
    }

    pub(super) fn context_snapshot(&mut self, flat: &Flat<'_>) -> Option<ContextSnapshot> {
        let header = self.header(flat, SnapshotId::new);
        let body = flat.body();
        let selection = SelectionStrategy::of_word(body.text("selection_strategy").unwrap_or_default());
        let items = self.each_record(body, "items", |judge, item| {
            let word = item.text("kind").unwrap_or_default();
            let kind = judge.open_word(item, "kind", word, ItemKind::of_word, ItemKind::Other);
            let path = judge.words(item, "path");
            let blob = match item.get("blob") {
                Value::ObjectHash("Sha1", bytes) => {
                    bytes.as_slice().try_into().ok().map(GitOid::Sha1).map(Some)
                }
                Value::ObjectHash("Sha256", bytes) => {
                    bytes.as_slice().try_into().ok().map(GitOid::Sha256).map(Some)
                }
                Value::ObjectHash(..) => judge.unfit("blob", "git knows SHA-1 and SHA-256, and no BLAKE3"),
                _ => Some(None),
            };
            let preview = item.text("preview").map(String::from);
            Some(ContextItem { kind: kind?, path: path?, preview, blob: blob? })
        });
        let summary = self.maybe_words(body, "summary");
        let content = SnapshotContent { selection: selection?, items: items?, summary: summary? };
        self.whole(ContextSnapshot::seal(header?, content))
    }

    pub(super) fn provenance(&mut self, flat: &Flat<'_>) -> Option<Provenance> {
        let header = self.header(flat, ProvenanceId::new);
        let body = flat.body();
        let run = self.id(body, "run_id", RunId::new);
        let provider = self.words(body, "provider");
        let model = self.words(body, "model");
        let parameters = self.maybe_json(body, "parameters");
        let temperature_milli = match body.text("temperature") {
            None => Some(None),
            Some(number) => {
                self.dropped("the sign of temperature", number == "-0.0");
                match parts(number, 1_000.0).and_then(|parts| u32::try_from(parts).ok()) {
                    Some(thousandths) => Some(Some(thousandths)),
                    None => self.unfit("temperature", "it is no whole number of thousandths"),
                }
            }
        };
        let content = ProvenanceContent {
            run: run?,
            provider: provider?,
            model: model?,
            parameters: parameters?,
            temperature_milli: temperature_milli?,
            max_tokens: body.unsigned("max_tokens"),
        };
        self.whole(Provenance::seal(header?, content))
    }

    /// What only shows when everything is put together.
    pub(super) fn whole<T>(&mut self, object: Result<T, Faults>) -> Option<T> {
        match object {
            Ok(object) => Some(object),
            Err(faults) => {
                let field = || String::from("the object");
                let told =
                    faults.into_iter().map(|broken| Violation::Field { field: field(), why: broken.why });
                self.violations.extend(told);
                None
            }
        }
    }

    /// A word of a list, or a label.
    pub(super) fn open_word<T>(
        &mut self,
        record: Record<'_, '_>,
        key: &str,
        word: &str,
        of_word: fn(&str) -> Option<T>,
        other: fn(Label) -> T,
    ) -> Option<T> {
        match record.get(key) {
            Value::Word(_) => of_word(word),
            _ => self.field(key, Label::new(word)).map(other),
        }
    }
}

/// The store of artifacts that are named by their SHA-256, which is all that there is to know of them.
pub(super) const SHA256_STORE: &str = "sha256";

/// The digest by which an artifact is named, if it is.
pub(super) fn stored_digest(artifact: Record<'_, '_>) -> Option<Digest> {
    let key = artifact.text("key").filter(|_| artifact.text("store") == Some(SHA256_STORE))?;
    key.parse::<Digest>().ok().filter(|digest| digest.to_string() == key)
}

fn words(record: Record<'_, '_>, key: &str) -> Result<crate::NonBlank, Invalid> {
    crate::NonBlank::new(record.text(key).unwrap_or_default())
}

/// A number in whole parts (thousandths, millionths), if it is one and not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the result is compared with what it came from"
)]
pub(super) fn parts(number: &str, of_one: f64) -> Option<u64> {
    let number: f64 = number.parse().ok()?;
    let parts = (number * of_one).round();
    let whole = parts as u64;
    // 2^64, where `as` ends.
    let fits = (0.0..18_446_744_073_709_551_616.0).contains(&parts);
    (fits && whole as f64 / of_one == number).then_some(whole)
}
