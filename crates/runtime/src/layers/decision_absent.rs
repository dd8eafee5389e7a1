//! A runtime without verdicts: a prompt is simply answered.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::NodeId;
use trunkline_session_store::Note;

use crate::{Event, RuntimeError};

pub(crate) const LAYER: &str = "decision";

pub(crate) fn is_told(_: &str) -> bool {
    false
}

/// Which runs of another build have no verdict.
#[derive(Default)]
pub(crate) struct Part {
    open: BTreeSet<String>,
}

impl Part {
    pub(crate) fn record(&mut self, note: &Note, _: u64, _: NodeId) -> Result<(), RuntimeError> {
        let body: Value = crate::journal::read(note)?;
        match note.kind.as_str() {
            "opened" => {
                let run =
                    body.get("run").and_then(Value::as_str).and_then(|run| serde_json::from_str(run).ok());
                let run: Value = run.unwrap_or_default();
                if let Some(id) = run.get("id").and_then(Value::as_str) {
                    self.open.insert(id.to_owned());
                }
            }
            "decided" => {
                if let Some(run) = body.get("run").and_then(Value::as_str) {
                    self.open.remove(run);
                }
            }
            _ => {}
        }
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn started(&mut self, _: &str) {}

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn follow(&mut self, _: &[(NodeId, NodeId)]) {}

    #[cfg(feature = "revert")]
    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn tests(&self, _: NodeId) -> impl Iterator<Item = &'static str> {
        std::iter::empty()
    }

    #[expect(clippy::unused_self, reason = "the layer that is there forgets what was to be bound")]
    pub(crate) fn distrust(&mut self) {}

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn log_ends(&mut self) {}

    /// Without verdicts there is always one open run: the conversation.
    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn is_open(&self) -> bool {
        true
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn rests(&self, _: NodeId) -> bool {
        false
    }

    /// Refuses a session that another build has left without a verdict.
    pub(crate) fn check_settled(&self) -> Result<(), RuntimeError> {
        if self.open.is_empty() {
            Ok(())
        } else {
            Err(RuntimeError::LayerMissing { feature: "decision-objects" })
        }
    }
}

pub(crate) fn event(_: &Note) -> Option<Event> {
    None
}
