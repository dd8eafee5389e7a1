//! Verdicts, told in a word, and on a line.

use anstyle::Style;
use trunkline_runtime::decision_objects::{CheckpointFiles, CheckpointState, Decision, GitOid, Verdict};

use crate::term::style::{DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::one_line;

/// Says in a word or two how a run ended.
pub(crate) fn outcome(decision: &Decision) -> String {
    match decision.verdict() {
        Verdict::Commit { commit, .. } => format!("commit {}", short_commit(commit)),
        Verdict::Abandon { .. } => "abandoned".to_owned(),
        Verdict::Rollback { reverted_to: Some(reverted_to), .. } => {
            format!("rollback {}", short_commit(reverted_to))
        }
        Verdict::Checkpoint { state: Some(state), .. } => match &state.files {
            CheckpointFiles::Kept { commit, .. } => format!("checkpoint {}", short_commit(commit)),
            CheckpointFiles::NotKept { .. } => "checkpoint".to_owned(),
        },
        Verdict::Other { label, .. } => one_line(label.as_str(), 20),
        other => other.kind().to_string(),
    }
}

/// Returns as much of a commit's name as git shows.
pub(crate) fn short_commit(commit: &GitOid) -> String {
    commit.to_string().chars().take(7).collect()
}

/// Returns the colour of a verdict.
pub(crate) fn verdict_style(verdict: &Verdict) -> Style {
    match verdict {
        Verdict::Commit { .. } | Verdict::Other { .. } => GREEN,
        Verdict::Abandon { .. } | Verdict::Retry { .. } => RED,
        Verdict::Checkpoint { .. } | Verdict::Rollback { .. } => YELLOW,
    }
}

/// Tells a verdict on one line.
pub(crate) fn verdict(decision: &Decision) -> String {
    let verdict = decision.verdict();
    let style = verdict_style(verdict);
    let why = match verdict {
        // The verdict says it already.
        Verdict::Abandon { .. } | Verdict::Retry { .. } => String::new(),
        Verdict::Checkpoint { state: Some(state), .. } => format!(" — {}", in_a_few_words(state)),
        _ => verdict
            .reason()
            .map(|reason| format!(" — {}", one_line(reason.as_str(), 200)))
            .unwrap_or_default(),
    };
    format!(
        "{} {}{}",
        paint(style, "◆"),
        paint(style.bold(), &one_line(&verdict.to_string(), 200)),
        paint(DIM, &why)
    )
}

/// Tells in a few words where the conversation was, and whether the files are kept.
fn in_a_few_words(state: &CheckpointState) -> String {
    let files = match &state.files {
        CheckpointFiles::Kept { commit, .. } => format!("files kept as {}", short_commit(commit)),
        CheckpointFiles::NotKept { .. } => "files not kept".to_owned(),
    };
    format!("at {}, {files}", one_line(state.node.as_str(), 20))
}
