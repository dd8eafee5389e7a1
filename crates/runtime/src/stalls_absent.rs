//! A runtime without reverts watches nothing and proposes no step back.

use trunkline_message_tree::Timestamp;
use trunkline_session_store::Record;

use crate::layers::revert::{Drained, Leaving};
use crate::state::OpenTurn;
use crate::{RuntimeError, Session};

impl Session {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the layer that is there needs both")]
    pub(crate) fn watch_turn(
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
