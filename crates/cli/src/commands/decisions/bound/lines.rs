//! Decisions that a repository or this store holds, told in lines, and for programs.

use serde::Serialize;
use serde_json::value::RawValue;
use trunkline_git_binding::{By, Held};
use trunkline_runtime::decision_objects::Decision;

use crate::desk::clock::now;
use crate::shown::time::ago;
use crate::shown::verdict::{outcome, verdict_style};
use crate::term::style::{BOLD, DIM, paint};
use crate::term::text::one_line;

#[derive(Serialize)]
pub(super) struct Line<'a> {
    pub(super) version: u32,
    /// None of a decision that only this store has.
    pub(super) reference: Option<&'a str>,
    pub(super) run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) found_by: Option<&'static str>,
    pub(super) decision: Option<Box<RawValue>>,
    pub(super) digest: String,
    pub(super) commit: Option<String>,
    pub(super) tree: Option<String>,
    pub(super) base: Option<String>,
    pub(super) patch_id: Option<String>,
    /// Which one was moved to the commit.
    pub(super) branch: Option<&'a str>,
    /// What holds the commit now: `branch`, `none`, or `gone` if there is no such commit.
    pub(super) held: Option<&'static str>,
    pub(super) held_by: Option<&'a str>,
    /// `same`, `differs` or `absent`.
    pub(super) store: &'static str,
    pub(super) session: Option<&'a str>,
}

/// What is decided, and by what it was found.
pub(super) fn first_lines(decision: &Decision, by: Option<By>) -> String {
    let at = u64::try_from(decision.at().milliseconds()).unwrap_or(0);
    let found = by.map(|by| format!("  found by {}\n", words(by))).unwrap_or_default();
    format!(
        "{}  {}  {}\n{found}",
        paint(BOLD, &decision.id().to_string()),
        paint(verdict_style(decision.verdict()), &outcome(decision)),
        paint(DIM, &ago(trunkline_message_tree::Timestamp(at), now())),
    )
}

pub(super) fn rationale(decision: &Decision) -> String {
    let words = decision.rationale().map(|words| one_line(words.as_str(), 100));
    words.map(|words| format!("  {}\n", paint(DIM, &words))).unwrap_or_default()
}

/// Says what holds a commit now, after its name. What was moved to it when it was bound is of interest where that changed.
pub(super) fn stands(held: Option<&Held>, moved: Option<&str>) -> String {
    let name = |name: &str| one_line(name.strip_prefix("refs/heads/").unwrap_or(name), 80);
    match (held, moved) {
        (Some(Held::Branch(branch)), Some(moved)) if branch != moved => {
            format!(" on {}, no longer on {}", name(branch), name(moved))
        }
        (Some(Held::Branch(branch)), _) => format!(" on {}", name(branch)),
        (Some(Held::SomeBranch), Some(moved)) => format!(", no longer on {}", name(moved)),
        (Some(Held::NoBranch), Some(moved)) => {
            format!(", made on {}: no branch holds it any more", name(moved))
        }
        (Some(Held::NoBranch), None) => ": no branch holds it".to_owned(),
        (Some(Held::Gone), Some(moved)) => {
            format!(", made on {}: it is gone from this repository", name(moved))
        }
        (Some(Held::Gone), None) => ": it is gone from this repository".to_owned(),
        _ => String::new(),
    }
}

fn words(by: By) -> &'static str {
    match by {
        By::Commit => "its id",
        By::Trailer => "the line in its message (a claim: anybody can write it)",
        By::PatchId => "the change that it makes",
        By::Tree => "the files that it has",
        By::Mention => "its message, which names it in passing (a claim: anybody can write it)",
        _ => "a way that this release does not know",
    }
}

pub(super) fn key(by: By) -> &'static str {
    match by {
        By::Commit => "commit",
        By::Trailer => "trailer",
        By::PatchId => "patch_id",
        By::Tree => "tree",
        By::Mention => "mention",
        _ => "other",
    }
}

pub(super) fn as_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is plain data with text keys") + "\n"
}
