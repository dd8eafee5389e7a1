//! A runtime without verdicts: an answer is the end.

use trunkline_message_tree::Author;
use trunkline_session_store::Record;

use crate::{RuntimeError, Session, Stop};

impl Session {
    #[expect(clippy::unused_async, reason = "the layer that is there reads the files")]
    pub(crate) async fn conclude(&mut self) -> Result<Stop, RuntimeError> {
        Ok(Stop::Answered)
    }

    #[expect(clippy::unused_async, reason = "the layer that is there reads the files")]
    pub(crate) async fn leave_run(&self, _: Author) -> Result<Vec<Record>, RuntimeError> {
        Ok(Vec::new())
    }

    #[expect(clippy::unused_async, reason = "the layer that is there reads the inbox")]
    pub(crate) async fn take_close_letters(&mut self) -> Result<(), RuntimeError> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn take_closed(&mut self) -> Option<Stop> {
        None
    }
}
