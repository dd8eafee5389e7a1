//! What a person answers to steps back that are proposed. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::settle).

use serde::{Deserialize, Serialize};
use trunkline_message_tree::NodeId;
use trunkline_revert::{Proposal, ProposalId};
use trunkline_session_store::{InboxId, Letter};

use crate::{Session, letters};
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::settle;

/// What becomes of a step back that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepAnswer {
    /// It is carried out.
    Accept,
    /// It is not.
    Decline {
        /// Why.
        reason: Option<String>,
    },
}

/// What a letter asks for.
#[derive(Serialize, Deserialize)]
pub(crate) struct StepBody {
    pub(crate) proposal: ProposalId,
    pub(crate) answer: StepAnswer,
    pub(crate) expected_head: NodeId,
}

impl Session {
    /// Returns the steps back that are proposed and that nobody has answered, oldest first.
    pub fn proposed_reverts(&self) -> impl DoubleEndedIterator<Item = &Proposal> {
        self.state.revert.steps.open.open()
    }

    /// Carries out a step back that was proposed, as a person: their words may be left behind.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it is not open, proposes no step, or the head went elsewhere since;
    /// [`RuntimeError::Store`].
    pub async fn accept_revert(&mut self, id: ProposalId) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.accept_step(id, None).await
    }

    /// Declines a step back that was proposed. The model is not told.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it is not open; [`RuntimeError::Store`].
    pub async fn decline_revert(&mut self, id: ProposalId, reason: Option<&str>) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.decline_step(id, reason, None).await
    }

    pub(crate) async fn accept_step(
        &mut self,
        id: ProposalId,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        self.perform_for(letter, |view, asked| settle::accept(view, asked, id)).await?;
        self.start_summaries();
        Ok(())
    }

    pub(crate) async fn decline_step(
        &mut self,
        id: ProposalId,
        reason: Option<&str>,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.perform_for(letter, |view, _| settle::decline(view, id, reason)).await
    }

    pub(crate) async fn take_step_back(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let StepBody { proposal, answer, expected_head } = letters::body(letter)?;
        if !self.state.tree.is_on_trunk(expected_head) {
            let reason = format!("{expected_head}, where this was asked for, is not on the trunk any more");
            return Err(RuntimeError::Refused { reason });
        }
        match answer {
            StepAnswer::Accept => self.accept_step(proposal, Some(letter.id)).await,
            StepAnswer::Decline { reason } => {
                self.decline_step(proposal, reason.as_deref(), Some(letter.id)).await
            }
        }
    }
}
