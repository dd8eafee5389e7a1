//! Results that come after their call was answered.
//!
//! A result enters the trunk only if its call is on it. Otherwise it is filed under its call: whoever looks at the branch
//! that was left sees it, and no prompt ever holds it.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::ToolResult;
use trunkline_session_store::{InboxId, Letter};

use crate::{Session, letters};
use trunkline_session_machine::acts::late::{call_at, take, takes_late};
use trunkline_session_machine::{CallPlace, Late, RuntimeError, journal};

/// What a letter brings.
#[derive(Serialize, Deserialize)]
pub(crate) struct LateBody {
    pub(crate) call: CallPlace,
    pub(crate) result: ToolResult,
}

impl Session {
    /// Takes in what a call gave that ended outside of the loop, as of a tool that goes on in the background.
    ///
    /// `call.node` and `call.index` name the call; the ids in `call` and `result` are not looked at, because they repeat.
    /// The model is not asked: drive the session on with [`resume`](Session::resume).
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is no such call; [`RuntimeError::Store`].
    pub async fn late_result(&mut self, call: &CallPlace, result: ToolResult) -> Result<Late, RuntimeError> {
        self.catch_up().await?;
        self.load_words_of(call.node).await?;
        call_at(&self.state.tree, call)?;
        if !self.takes_late(call) {
            let body = journal::json(&LateBody { call: call.clone(), result });
            let at = self.settings().now();
            self.store.post(self.lease.session(), letters::LATE, &body, at).await?;
            return Ok(Late::Waiting);
        }
        self.take_late(call, result, None).await
    }

    pub(crate) async fn take_late_letter(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let LateBody { call, result } = letters::body(letter)?;
        match self.takes_late(&call) {
            true => self.take_late(&call, result, Some(letter.id)).await.map(drop),
            // As a prompt does, it stays until the open calls have their results.
            false => Ok(()),
        }
    }

    pub(crate) fn takes_late(&self, call: &CallPlace) -> bool {
        takes_late(&self.state, call)
    }

    pub(crate) async fn take_late(
        &mut self,
        call: &CallPlace,
        result: ToolResult,
        letter: Option<InboxId>,
    ) -> Result<Late, RuntimeError> {
        self.load_words_of(call.node).await?;
        self.perform_for(letter, |view, _| take(view, call, &result)).await
    }
}
