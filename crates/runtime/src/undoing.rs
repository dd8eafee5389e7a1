//! Taking back what was applied, as a proposal of its own.
//!
//! What it would write is what the apply had written over. It is offered, decided and applied like any other, and begins
//! only if everything is still as that apply left it.

use serde::{Deserialize, Serialize};
use trunkline_resolve_queue::ProposalId;
use trunkline_session_store::{InboxId, Letter};

use crate::{Session, letters};
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::take_back::take_back;

pub(crate) const TAKE_BACK: &str = "take_back";

/// The body of a letter that asks for it.
#[derive(Serialize, Deserialize)]
pub(crate) struct TakeBack {
    proposal: ProposalId,
}

impl TakeBack {
    pub(crate) fn of(proposal: ProposalId) -> Self {
        TakeBack { proposal }
    }
}

impl Session {
    /// Offers to take back what an applied proposal did. Returns the proposal that would do it, which waits to be decided like
    /// any other. What wrote to the same files since and waits is put aside for it. Where a part was taken back already, it
    /// is the undo of the rest.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if it was not applied, or not here; if it did more than files show; if what it wrote over was
    /// not kept; if its tool is not there or cannot take it back; if all of it was taken back; if a rule forbids it.
    /// [`RuntimeError::Store`];
    /// [`RuntimeError::TakenOver`].
    pub async fn take_back(&mut self, id: ProposalId) -> Result<ProposalId, RuntimeError> {
        self.catch_up().await?;
        self.take_back_for(id, None).await
    }

    pub(crate) async fn take_back_letter(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let TakeBack { proposal } = letters::body(letter)?;
        self.take_back_for(proposal, Some(letter.id)).await.map(drop)
    }

    async fn take_back_for(
        &mut self,
        id: ProposalId,
        letter: Option<InboxId>,
    ) -> Result<ProposalId, RuntimeError> {
        self.load_whole().await?;
        self.perform_for(letter, |view, asked| take_back(view, asked, id)).await
    }
}
