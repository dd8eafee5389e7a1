//! The state that a checkpoint names: where the conversation is, and where the files are.

use trunkline_decision_objects::{CheckpointFiles, CheckpointState, GitOid, NonBlank};
use trunkline_message_tree::NodeId;

use crate::words::checkpoint::KeptFiles;

/// How much is said of why files are not kept.
const REASON: usize = 1_000;

/// Returns the state that a verdict names. Whatever became of the files, a checkpoint is none the less: that they are not kept
/// is a part of it.
pub(crate) fn state(node: NodeId, kept: Result<KeptFiles, String>) -> Option<CheckpointState> {
    let files = match kept.and_then(|kept| files(&kept)) {
        Ok(files) => files,
        Err(why) => CheckpointFiles::NotKept { reason: reason(&why)? },
    };
    Some(CheckpointState { node: NonBlank::new(node.to_string()).ok()?, files })
}

/// Reads what a workspace says. Its names go into a record that is read strictly.
fn files(kept: &KeptFiles) -> Result<CheckpointFiles, String> {
    let unfit = |what: &str| format!("what keeps the files named no {what}");
    Ok(CheckpointFiles::Kept {
        tree: kept.tree.parse::<GitOid>().map_err(|_| unfit("tree"))?,
        commit: kept.commit.parse::<GitOid>().map_err(|_| unfit("commit"))?,
        reference: NonBlank::new(kept.reference.as_str()).map_err(|_| unfit("ref"))?,
    })
}

fn reason(why: &str) -> Option<NonBlank> {
    let said: String = why.trim().chars().take(REASON).collect();
    NonBlank::new(said).or_else(|_| NonBlank::new("it was not said why")).ok()
}
