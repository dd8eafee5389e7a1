//! The decisions behind a commit that only this store knows: made without `--bind`, or bound in another repository.

use std::collections::{BTreeSet, HashSet};

use serde_json::value::RawValue;
use trunkline_git_binding::{BoundDecision, By, NamedCommit};
use trunkline_runtime::decision_objects::{Decision, GitOid, Verdict};
use trunkline_session_store::FoundNote;

use crate::commands::decisions::bound::known::Known;
use crate::commands::decisions::bound::lines::{Line, as_line, first_lines, key, rationale};
use crate::desk::place::Place;
use crate::shown::verdict::short_commit;
use crate::term::screen;
use crate::term::style::YELLOW;

/// How many characters an id has.
const ID: usize = 36;
/// How many names that may be decisions' are searched for: each in every verdict of the store.
const MOST_SEARCHED: usize = 64;

/// A verdict of this store, and by what it was found.
pub(super) struct Unbound<'a> {
    note: &'a FoundNote,
    decision: Decision,
    by: By,
}

/// Finds the verdicts of the store that name a commit, or that its message names; what is bound was found already.
pub(super) fn of<'a>(known: &'a Known, named: &NamedCommit, bound: &[BoundDecision]) -> Vec<Unbound<'a>> {
    let bound: BTreeSet<String> = bound.iter().map(|bound| bound.decision.run().to_string()).collect();
    let commit = named.commit.to_string();
    // A message may have any number of such lines, and anything in them.
    let ids: HashSet<&str> = named.trailers.iter().map(String::as_str).filter(|id| id.len() == ID).collect();
    let decisions =
        named.trailers.iter().filter(|id| ids.contains(id.as_str()) && !known.verdicts.contains_key(*id));
    let decisions: Vec<&str> = decisions.take(MOST_SEARCHED).map(String::as_str).collect();
    let mut found: Vec<Unbound<'a>> = Vec::new();
    for (run, note) in known.verdicts.iter().filter(|(run, _)| !bound.contains(*run)) {
        let trailers = || ids.contains(run.as_str()) || decisions.iter().any(|id| note.body.contains(id));
        // Most are neither, and to read them all would take long.
        if !note.body.contains(&commit) && !trailers() {
            continue;
        }
        // What cannot be read `decisions --check` tells of.
        let Ok(decision) = Decision::parse(note.body.as_bytes()) else { continue };
        let by = if commit_of(&decision) == Some(named.commit) {
            By::Commit
        } else if ids.contains(run.as_str()) || ids.contains(decision.id().to_string().as_str()) {
            By::Trailer
        } else {
            continue;
        };
        found.push(Unbound { note, decision, by });
    }
    found.sort_by_key(|found| (found.by, found.decision.id()));
    found
}

/// The commit that a verdict made; that of a rollback has what stands since.
fn commit_of(decision: &Decision) -> Option<GitOid> {
    match decision.verdict() {
        Verdict::Commit { commit, .. } => Some(*commit),
        Verdict::Rollback { reverted_to, .. } => *reverted_to,
        _ => None,
    }
}

impl Unbound<'_> {
    /// Tells of it, in lines that fit the screen.
    pub(super) fn told(&self, known: &Known, place: &Place) -> String {
        let mut told = first_lines(&self.decision, Some(self.by));
        if let (By::Trailer, Some(commit)) = (self.by, commit_of(&self.decision)) {
            told.push_str(&format!("  it was about commit {}\n", short_commit(&commit)));
        }
        told.push_str(&rationale(&self.decision));
        let show = place.command(&format!("decisions {} -s {}", self.decision.run(), known.name(self.note)));
        let line = screen::command_line(YELLOW, "only in this store, not bound here  ", &show);
        format!("{}{line}", screen::page(&told))
    }

    pub(super) fn line(&self) -> String {
        as_line(&Line {
            version: 1,
            reference: None,
            run_id: self.decision.run().to_string(),
            found_by: Some(key(self.by)),
            decision: RawValue::from_string(self.decision.print()).ok(),
            digest: self.decision.digest().to_string(),
            commit: commit_of(&self.decision).map(|oid| oid.to_string()),
            tree: None,
            base: None,
            patch_id: None,
            branch: None,
            held: None,
            held_by: None,
            store: "same",
            session: Some(self.note.session.as_str()),
        })
    }
}
