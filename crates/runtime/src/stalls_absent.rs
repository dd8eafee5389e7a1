//! A runtime without reverts watches nothing and proposes no step back.

use trunkline_message_tree::Timestamp;
use trunkline_session_store::Record;

use crate::layers::revert::{Drained, Leaving};
use crate::state::OpenTurn;
use crate::{RuntimeError, Session};

impl Session {
    #[expect(clippy::unused_async, reason = "the layer that is there reads them")]
    pub(crate) async fn watch_turn(
        &self,
        _: &OpenTurn<'_>,
        _: &Drained,
        _: Option<&Leaving>,
        _: &mut Vec<Record>,
        _: Timestamp,
    ) -> Result<(), RuntimeError> {
        Ok(())
    }
}
