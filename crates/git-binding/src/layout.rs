//! Where things stand: the names of refs, and of files under them.

use trunkline_decision_objects::RunId;

/// Every ref of a decision begins so.
pub(crate) const PREFIX: &str = "refs/trunkline/decisions/";

/// Every ref of a checkpoint begins so.
pub(crate) const CHECKPOINTS: &str = "refs/trunkline/checkpoints/";

pub(crate) const DECISION: &str = "decision.json";
pub(crate) const EVIDENCE: &str = "evidence";
pub(crate) const LINK: &str = "link.json";
pub(crate) const PATCH_SETS: &str = "patch_sets";
pub(crate) const RUN: &str = "run.json";

/// The ref of a run.
///
/// Ids of version 7 begin with the time, so a folder by their beginning would hold them all; their end is chance.
pub(crate) fn reference(run: RunId) -> String {
    below(PREFIX, run)
}

/// The ref that keeps the checkpoint of a run.
pub(crate) fn checkpoint(run: RunId) -> String {
    below(CHECKPOINTS, run)
}

fn below(prefix: &str, run: RunId) -> String {
    let run = run.to_string();
    let shard = &run[run.len() - 2..];
    format!("{prefix}{shard}/{run}")
}

/// The run of a ref, if it is spelled as [`reference`] spells it.
pub(crate) fn run_of(name: &str) -> Option<RunId> {
    let (_, run) = name.strip_prefix(PREFIX)?.split_once('/')?;
    let run = run.parse().ok()?;
    (reference(run) == name).then_some(run)
}
