//! The state that a checkpoint names, told in words, and what shows its files.
//!
//! Names of git objects are digits and go into commands. A ref may have come with an import from anywhere, so it does not,
//! unless it is spelled as this program spells it.

use trunkline_git_binding::CheckpointPlan;
use trunkline_runtime::decision_objects::{CheckpointFiles, CheckpointState, Decision, GitOid};

use crate::term::shell::quoted;
use crate::term::text::one_line;

/// How much of a commit's name stands in a command: no repository has two that begin with so much.
const DIGITS: usize = 16;

/// Tells where the files are, or why they are nowhere, in lines.
pub(crate) fn files(state: &CheckpointState) -> Vec<String> {
    match &state.files {
        CheckpointFiles::Kept { tree, commit, reference } => vec![
            format!("kept by git: commit {commit}"),
            format!("tree {tree}"),
            one_line(reference.as_str(), 200),
        ],
        CheckpointFiles::NotKept { reason } => vec![format!("not kept: {}", one_line(reason.as_str(), 400))],
    }
}

/// Returns what shows the files, from another folder if one is named.
pub(crate) fn look(state: &CheckpointState, folder: Option<&str>) -> Option<String> {
    let CheckpointFiles::Kept { commit, .. } = &state.files else { return None };
    let commit: String = commit.to_string().chars().take(DIGITS).collect();
    Some(format!("{} show --stat {commit}", git(folder)))
}

/// Returns the ref that keeps the files of a decision, and the commit that it holds, if both are as this program makes them.
pub(crate) fn kept_by(decision: &Decision) -> Option<(&str, GitOid)> {
    match &decision.verdict().checkpoint_state()?.files {
        CheckpointFiles::Kept { commit, reference, .. } => {
            let is_ours = reference.as_str() == CheckpointPlan::reference(decision.run());
            is_ours.then_some((reference.as_str(), *commit))
        }
        CheckpointFiles::NotKept { .. } => None,
    }
}

/// Returns what takes a ref away, if it holds this commit still.
pub(crate) fn removal((reference, commit): (&str, GitOid), folder: Option<&str>) -> String {
    format!("{} update-ref --no-deref -d {reference} {commit}", git(folder))
}

/// Returns what puts a ref back.
pub(crate) fn put_back((reference, commit): (&str, GitOid), folder: Option<&str>) -> String {
    format!("{} update-ref {reference} {commit}", git(folder))
}

fn git(folder: Option<&str>) -> String {
    folder.map_or_else(|| "git".to_owned(), |folder| format!("git -C {}", quoted(folder)))
}
