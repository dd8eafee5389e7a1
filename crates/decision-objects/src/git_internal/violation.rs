//! What git-internal lets pass and our rules do not.
//!
//! The judge never stops at the first one: whoever repairs a record wants to see all of them at once.

use crate::decision::Content;
use crate::{
    Actor, ActorKind, Citations, Decision, DecisionId, Digest, GitOid, Invalid, Label, NonBlank, PatchSetId,
    RunId, Timestamp, Verdict, VerdictKind,
};

use super::flat::{Flat, SHA1_PADDING};

/// One way in which an imported decision departs from our rules.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// The value of a field cannot be a value of ours.
    #[error("{field}: {why}")]
    Field {
        /// The key, with the key of its object before it.
        field: &'static str,
        /// Why not.
        why: Invalid,
    },
    /// The object says that it is something else.
    #[error("object_type: {found:?} stands in a decision")]
    ObjectType {
        /// What it says.
        found: String,
    },
    /// The version of the header is not 1.
    #[error("version: {found} is not known")]
    Version {
        /// The version.
        found: u8,
    },
    /// The verdict needs a field that is not there.
    #[error("{field}: missing, the verdict `{verdict}` needs it")]
    Needs {
        /// The verdict.
        verdict: VerdictKind,
        /// The missing key; `rationale` holds the reason of an abandon, a retry or another verdict.
        field: &'static str,
    },
    /// The verdict has no use for a field that is there.
    #[error("{field}: the verdict `{verdict}` has no use for it")]
    Forbids {
        /// The verdict.
        verdict: VerdictKind,
        /// The key.
        field: &'static str,
    },
    /// A rollback cannot say here which decision it undoes.
    #[error("decision_type: a rollback does not say which decision it undoes")]
    RollbackOfNothing,
    /// The commit's name ends in 24 zeros, and was taken for a SHA-1 name that was filled up.
    #[error("result_commit_sha: taken for the sha-1 name {commit}, filled up with zeros")]
    PaddedSha1 {
        /// The name without them.
        commit: GitOid,
    },
    /// There is a rationale that says nothing.
    #[error("rationale: the text is blank")]
    BlankRationale,
    /// Printing gives other bytes than came in: other white space, order, escapes, explicit nulls, spelling of an id or a time.
    #[error("the spelling is not the one that git-internal writes")]
    Respelled,
}

impl Violation {
    /// Whether our decision says the same all the same.
    #[must_use]
    pub const fn is_harmless(&self) -> bool {
        matches!(self, Self::PaddedSha1 { .. } | Self::BlankRationale | Self::Respelled)
    }
}

pub(super) fn judge(flat: &Flat) -> (Option<Decision>, Vec<Violation>) {
    let mut judge = Judge { violations: Vec::new() };
    let content = judge.content(flat);
    let sealed = content.map(Decision::seal).transpose();
    let decision = sealed.unwrap_or_else(|why| {
        judge.violations.push(Violation::Field { field: "decision_type", why });
        None
    });
    let harmless = judge.violations.iter().all(Violation::is_harmless);
    (decision.filter(|_| harmless), judge.violations)
}

struct Judge {
    violations: Vec<Violation>,
}

impl Judge {
    /// Reads everything before it gives up on anything.
    fn content(&mut self, flat: &Flat) -> Option<Content> {
        let id = self.field("object_id", DecisionId::new(flat.object_id));
        if flat.object_type != "decision" {
            self.violations.push(Violation::ObjectType { found: flat.object_type.clone() });
        }
        if flat.version != 1 {
            self.violations.push(Violation::Version { found: flat.version });
        }
        let at = self.field("created_at", flat.created_at.parse::<Timestamp>());
        let kind = match ActorKind::of_word(&flat.created_by.kind) {
            Some(kind) => Some(kind),
            None => {
                let label = Label::new(flat.created_by.kind.as_str());
                self.field("created_by.kind", label).map(ActorKind::Other)
            }
        };
        let actor_id = self.field("created_by.id", NonBlank::new(flat.created_by.id.as_str()));
        let run = self.field("run_id", RunId::new(flat.run_id));
        let (verdict, rationale) = self.verdict(flat);
        let decided_by =
            Actor { kind: kind?, id: actor_id?, display_name: flat.created_by.display_name.clone() };
        Some(Content {
            id: id?,
            run: run?,
            at: at?,
            decided_by,
            approved_by: None,
            verdict: verdict?,
            rationale,
            evidence: Vec::new(),
            considered: Vec::new(),
            cites: Citations::default(),
        })
    }

    fn verdict(&mut self, flat: &Flat) -> (Option<Verdict>, Option<NonBlank>) {
        let named = VerdictKind::of_word(&flat.decision_type).filter(|kind| *kind != VerdictKind::Other);
        let kind = named.unwrap_or(VerdictKind::Other);
        let label = match named {
            Some(_) => None,
            None => self.field("decision_type", Label::new(flat.decision_type.as_str())),
        };
        let patch_set =
            flat.chosen_patchset_id.and_then(|id| self.field("chosen_patchset_id", PatchSetId::new(id)));
        let checkpoint =
            flat.checkpoint_id.as_deref().and_then(|id| self.field("checkpoint_id", NonBlank::new(id)));
        let commit = flat.result_commit_sha.map(|hash| self.commit(hash));
        let rationale = flat.rationale.as_deref().and_then(|text| NonBlank::new(text).ok());
        if flat.rationale.is_some() && rationale.is_none() {
            self.violations.push(Violation::BlankRationale);
        }
        // What an unreadable verdict needs, nobody knows.
        if named.is_some() || label.is_some() {
            self.needs_and_forbids(kind, flat, rationale.is_some());
        }
        match kind {
            VerdictKind::Commit => {
                let both = patch_set.zip(commit);
                (both.map(|(patch_set, commit)| Verdict::Commit { patch_set, commit }), rationale)
            }
            VerdictKind::Checkpoint => {
                (checkpoint.map(|checkpoint| Verdict::Checkpoint { checkpoint }), rationale)
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

    fn needs_and_forbids(&mut self, verdict: VerdictKind, flat: &Flat, has_reason: bool) {
        use VerdictKind::{Abandon, Checkpoint, Commit, Other, Retry};
        let needs_reason = matches!(verdict, Abandon | Retry | Other);
        let table = [
            ("chosen_patchset_id", flat.chosen_patchset_id.is_some(), verdict == Commit, verdict == Other),
            ("result_commit_sha", flat.result_commit_sha.is_some(), verdict == Commit, false),
            ("checkpoint_id", flat.checkpoint_id.is_some(), verdict == Checkpoint, false),
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

    fn commit(&mut self, hash: Digest) -> GitOid {
        let text = hash.to_string();
        match text.strip_suffix(SHA1_PADDING).and_then(|name| name.parse().ok()) {
            Some(commit) => {
                self.violations.push(Violation::PaddedSha1 { commit });
                commit
            }
            None => GitOid::Sha256(*hash.as_bytes()),
        }
    }

    fn field<T>(&mut self, field: &'static str, value: Result<T, Invalid>) -> Option<T> {
        value.map_err(|why| self.violations.push(Violation::Field { field, why })).ok()
    }
}
