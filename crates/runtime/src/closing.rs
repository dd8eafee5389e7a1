//! The end of a run: what it changed is computed, committed if that is wanted, and decided.

use trunkline_message_tree::{NodeId, StopReason};

use crate::agent::new_id;
use crate::layers::decision::{self, Ending, Outcome};
use crate::layers::{resolve, revert};
use crate::{Changes, Deciding, RuntimeError, Session, Stop};

impl Session {
    /// Gives the open run its verdict: computes what changed, commits it if that is wanted, and records the decision.
    pub(crate) async fn conclude(&mut self) -> Result<Stop, RuntimeError> {
        let Some(run) = &self.state.decision.run else { return Ok(Stop::Idle) };
        let prompts: Vec<NodeId> = run.prompts().collect();
        let announced = run.deciding(self.state.tree.head()).cloned();
        let workspace = self.settings().workspace.clone();
        let changes = match (&workspace, &announced) {
            (Some(workspace), None) => {
                let touched = resolve::touched(&self.state.resolve, run.opened);
                let changes = workspace.changes(&run.base, &touched).await?;
                (!changes.files.is_empty()).then_some(changes)
            }
            _ => None,
        };
        let deciding = match (announced, &changes) {
            (None, Some(changes)) if self.settings().commits => self.announce(changes).await?,
            (announced, _) => announced,
        };
        // After a kill this looks for what the note names before it makes anything.
        let commit = match (&workspace, &deciding) {
            (Some(workspace), Some(deciding)) if self.settings().commits => {
                workspace.commit(deciding).await?
            }
            // A process that was allowed to commit may have done so before it died.
            (Some(workspace), Some(deciding)) => workspace.find_commit(deciding).await?,
            _ => None,
        };
        let outcome = match (&deciding, &commit, &changes) {
            (Some(deciding), Some(commit), _) => Outcome::Committed(deciding, commit),
            (Some(deciding), None, _) => Outcome::Announced(deciding),
            (None, _, Some(changes)) => Outcome::Changed(changes),
            _ => Outcome::Unchanged,
        };
        let head = self.state.head_message();
        let ending = Ending {
            outcome,
            answer: &head.text(),
            origin: head.origin.as_ref(),
            considered: revert::lessons(&self.state.revert, &self.state.tree, &prompts),
            refused: head.stop == Some(StopReason::Refusal),
            at: self.settings().now(),
            new_id,
        };
        let Some(run) = &self.state.decision.run else { return Ok(Stop::Idle) };
        let records = decision::close(run, &ending)?;
        self.commit(records, None).await?;
        match self.state.decision.last() {
            Some(decision) => Ok(Stop::Decided(Box::new(decision.clone()))),
            None => Ok(Stop::Answered),
        }
    }

    /// Records what is about to be committed; `None` where there is nothing to commit to.
    async fn announce(&mut self, changes: &Changes) -> Result<Option<Deciding>, RuntimeError> {
        let (Some(run), Some(tree)) = (&self.state.decision.run, &changes.tree) else { return Ok(None) };
        let deciding = Deciding {
            run: run.record.id().to_string(),
            patch_set: new_id().to_string(),
            base: run.base.clone(),
            tree: tree.clone(),
            message: commit_message(&run.record.opening().goal, &self.answer()),
        };
        let records =
            decision::deciding(run, &deciding, changes, self.state.tree.head(), self.settings().now())?;
        self.commit(records, None).await?;
        Ok(Some(deciding))
    }
}

/// Writes a commit message: the prompt's first line as the subject, the model's last words as the body.
fn commit_message(goal: &str, answer: &str) -> String {
    let subject: String = goal.lines().next().unwrap_or("").trim().chars().take(72).collect();
    let subject = if subject.is_empty() { "Changes of an agent's run".to_owned() } else { subject };
    let body: String = answer.trim().chars().take(4000).collect();
    if body.is_empty() { subject } else { format!("{subject}\n\n{body}") }
}
