//! The files of a checkpoint: a commit that no branch holds, kept by a ref of its run.

use trunkline_agent_traits::decision_objects::{GitOid, RunId};
use trunkline_agent_traits::{Checkpoint, KeptFiles, WorkspaceFault};
use trunkline_git_binding::{BindError, CheckpointPlan};

use super::GitWorkspace;
use crate::folder::fault;

/// How much of what was said is the first line of the commit.
const SUBJECT: usize = 72;

impl GitWorkspace {
    pub(super) fn keep_now(&self, checkpoint: &Checkpoint) -> Result<KeptFiles, WorkspaceFault> {
        let unreadable = |what| fault(format!("{what} of the checkpoint cannot be read"));
        let run: RunId = checkpoint.run.parse().map_err(|_| unreadable("the run"))?;
        let at = i64::try_from(checkpoint.at / 1000).map_err(|_| unreadable("the time"))?;
        let repository = self.repository()?;
        let tree: GitOid =
            self.snapshot_under(repository.sync_setting())?.parse().map_err(|_| unreadable("the tree"))?;
        let plan = CheckpointPlan { run, tree, message: message(checkpoint), at };
        let kept = repository.keep(&plan).map_err(|error| fault(told(&error)))?;
        Ok(KeptFiles { tree: tree.to_string(), commit: kept.commit.to_string(), reference: kept.reference })
    }
}

/// What the commit says: what was said, and where in the conversation that was.
fn message(checkpoint: &Checkpoint) -> String {
    let plain = |text: &str| -> String {
        let odd = |sign: char| sign.is_control() && sign != '\n';
        text.chars().map(|sign| if odd(sign) { ' ' } else { sign }).collect()
    };
    let said = plain(checkpoint.words.trim());
    let first = said.lines().next().unwrap_or_default().trim();
    let subject: String = first.chars().take(SUBJECT).collect();
    let rest = if subject == said { String::new() } else { format!("{said}\n\n") };
    format!("Checkpoint: {subject}\n\n{rest}At node {} of the session.", plain(&checkpoint.node))
}

fn told(error: &BindError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    text
}
