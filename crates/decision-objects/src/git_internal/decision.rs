//! Decisions, from git-internal's form into ours and back.

use std::borrow::Cow;

use super::flat::{Flat, Record, Value, padded};
use super::judge::Judge;
use super::{Kind, Violation, header};
use crate::decision::Content;
use crate::{Citations, Decision, DecisionId, Label, NonBlank, PatchSetId, RunId, Verdict, VerdictKind};

/// The projection: evidence, alternatives, who approved, what a rollback undoes, the state of a checkpoint and what is cited have
/// no place there.
pub(super) fn project(decision: &Decision) -> Flat<'_> {
    let verdict = decision.verdict();
    let decision_type = match verdict {
        Verdict::Other { label, .. } => Value::Other(Cow::Borrowed(label.as_str())),
        named => Value::Word(named.kind().as_str()),
    };
    let commit = match verdict {
        Verdict::Commit { commit, .. } => Value::Hash(padded(*commit)),
        _ => Value::Absent,
    };
    let checkpoint = match verdict {
        Verdict::Checkpoint { checkpoint, .. } => Value::Text(Cow::Borrowed(checkpoint.as_str())),
        _ => Value::Absent,
    };
    // They share a field there.
    let rationale = match (verdict.reason(), decision.rationale()) {
        (Some(reason), Some(rationale)) => Value::Text(Cow::Owned(format!("{reason}\n\n{rationale}"))),
        (Some(one), None) | (None, Some(one)) => Value::Text(Cow::Borrowed(one.as_str())),
        (None, None) => Value::Absent,
    };
    let patch_set = verdict.patch_set().map_or(Value::Absent, |id| Value::Uuid(id.uuid()));
    let header = header(Kind::Decision, decision.id().uuid(), decision.at(), decision.decided_by());
    let run = Value::Uuid(decision.run().uuid());
    let body = vec![run, decision_type, patch_set, commit, checkpoint, rationale];
    Flat::of(Kind::Decision, header.into(), body)
}

impl Judge {
    /// Reads everything before it gives up on anything.
    pub(super) fn decision(&mut self, flat: &Flat<'_>) -> Option<Decision> {
        let header = self.header(flat, DecisionId::new);
        let body = flat.body();
        let run = body.uuid("run_id").and_then(|id| self.field("run_id", RunId::new(id)));
        let (verdict, rationale) = self.verdict(body);
        let header = header?;
        let content = Content {
            id: header.id,
            run: run?,
            at: header.at,
            decided_by: header.by,
            approved_by: None,
            verdict: verdict?,
            rationale,
            evidence: Vec::new(),
            considered: Vec::new(),
            cites: Citations::default(),
        };
        self.field("decision_type", Decision::seal(content))
    }

    fn verdict(&mut self, body: Record<'_, '_>) -> (Option<Verdict>, Option<NonBlank>) {
        let word = body.text("decision_type").unwrap_or_default();
        let named = VerdictKind::of_word(word).filter(|kind| *kind != VerdictKind::Other);
        let kind = named.unwrap_or(VerdictKind::Other);
        let label = match named {
            Some(_) => None,
            None => self.field("decision_type", Label::new(word)),
        };
        let patch_set = body.uuid("chosen_patchset_id");
        let patch_set = patch_set.and_then(|id| self.field("chosen_patchset_id", PatchSetId::new(id)));
        let checkpoint = body.text("checkpoint_id");
        let checkpoint = checkpoint.and_then(|id| self.field("checkpoint_id", NonBlank::new(id)));
        let commit = body.hash("result_commit_sha").and_then(|hash| self.commit("result_commit_sha", hash));
        let rationale = body.text("rationale").and_then(|text| NonBlank::new(text).ok());
        if body.text("rationale").is_some() && rationale.is_none() {
            self.violations.push(Violation::BlankRationale);
        }
        // What an unreadable verdict needs, nobody knows.
        if named.is_some() || label.is_some() {
            self.needs_and_forbids(kind, body, rationale.is_some());
        }
        match kind {
            VerdictKind::Commit => {
                let both = patch_set.zip(commit);
                (both.map(|(patch_set, commit)| Verdict::Commit { patch_set, commit }), rationale)
            }
            VerdictKind::Checkpoint => {
                (checkpoint.map(|checkpoint| Verdict::Checkpoint { checkpoint, state: None }), rationale)
            }
            VerdictKind::Abandon => (rationale.map(|reason| Verdict::Abandon { reason }), None),
            VerdictKind::Retry => (rationale.map(|reason| Verdict::Retry { reason }), None),
            VerdictKind::Rollback => {
                self.violations.push(Violation::RollbackOfNothing);
                (None, rationale)
            }
            VerdictKind::Other => {
                let both = label.zip(rationale);
                (both.map(|(label, reason)| Verdict::Other { label, patch_set, reason }), None)
            }
        }
    }

    fn needs_and_forbids(&mut self, verdict: VerdictKind, body: Record<'_, '_>, has_reason: bool) {
        use VerdictKind::{Abandon, Checkpoint, Commit, Other, Retry, Rollback};
        let has = |key| *body.get(key) != Value::Absent;
        let needs_reason = matches!(verdict, Abandon | Retry | Other);
        let table = [
            (
                "chosen_patchset_id",
                has("chosen_patchset_id"),
                verdict == Commit,
                matches!(verdict, Other | Rollback),
            ),
            ("result_commit_sha", has("result_commit_sha"), verdict == Commit, false),
            ("checkpoint_id", has("checkpoint_id"), verdict == Checkpoint, false),
            ("rationale", has_reason, needs_reason, true),
        ];
        for (field, there, needed, allowed) in table {
            match (there, needed) {
                (false, true) => self.violations.push(Violation::Needs { verdict, field }),
                (true, false) if !allowed => self.violations.push(Violation::Forbids { verdict, field }),
                _ => {}
            }
        }
    }
}
