//! A runtime without verdicts: nothing is bound.

use trunkline_session_store::Record;

use crate::{RuntimeError, Session};

impl Session {
    #[expect(clippy::unused_async, reason = "the layer that is there asks the repository")]
    pub(crate) async fn bind_decided(&mut self) -> Result<(), RuntimeError> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the layer that is there asks the repository")]
    pub(crate) async fn take_up_bindings(&mut self) -> Result<(), RuntimeError> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the layer that is there asks the repository")]
    pub(crate) async fn be_sure(&mut self) -> Result<(), RuntimeError> {
        Ok(())
    }

    pub(crate) async fn catch_up_or_abandon(&mut self) -> Result<(), RuntimeError> {
        self.catch_up().await
    }

    #[expect(clippy::unused_self, reason = "the layer that is there knows")]
    pub(crate) fn try_bindings_again(&mut self) {}

    #[expect(clippy::unused_self, reason = "the layer that is there looks at the run")]
    pub(crate) fn mark_bindings(&self, _: &mut Vec<Record>) {}
}
