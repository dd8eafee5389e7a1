//! A runtime without staged actions: no turn is held to anything.

use trunkline_message_tree::{Message, Timestamp, ToolSpec};
use trunkline_session_store::Record;

use crate::layers::resolve;
use crate::prompt::Held;
use crate::turn::Setup;
use crate::{CallPlace, Event, RuntimeError, Session};

#[expect(dead_code, reason = "the machine speaks of what here never happens")]
pub(crate) enum Left {
    Nothing,
    Model,
    Person(Vec<resolve::Id>),
}

pub(crate) fn reserved(_: &Setup) -> Option<String> {
    None
}

pub(crate) fn is_call(_: &Setup, _: &str) -> bool {
    false
}

pub(crate) fn spec(_: &Setup) -> Option<ToolSpec> {
    None
}

pub(crate) fn is_carried_out(_: &resolve::Part, _: &CallPlace) -> bool {
    false
}

pub(crate) fn left(_: &Setup, _: &resolve::Part, _: Timestamp) -> Left {
    Left::Nothing
}

impl Session {
    #[expect(clippy::unused_async, reason = "the layer that is there writes")]
    pub(crate) async fn hold(&mut self) -> Result<Held, RuntimeError> {
        Ok(Held::default())
    }

    #[expect(clippy::unused_self, reason = "the layer that is there looks")]
    pub(crate) fn heard(
        &self,
        _: Option<&Message>,
        _: bool,
        _: impl FnOnce() -> Timestamp,
    ) -> (Vec<Record>, Vec<Event>) {
        (Vec::new(), Vec::new())
    }
}
