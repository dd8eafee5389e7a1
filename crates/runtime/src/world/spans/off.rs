//! No spans: nothing is made, and nothing is kept beside a future.

use std::future::Future;

use trunkline_message_tree::{Message, Origin};
use trunkline_providers::ProviderError;
use trunkline_resolve_queue::{Attempt, Outcome};
use trunkline_session_machine::{CallPlace, RuntimeError, Stop, ToolOutput};
use trunkline_session_store::SessionId;

pub(crate) struct Span;

impl Span {
    pub(crate) fn drive(_: &SessionId, _: &Origin) -> Self {
        Span
    }

    pub(crate) fn request(_: Option<&SessionId>, _: &Origin) -> Self {
        Span
    }

    pub(crate) fn call(_: &SessionId, _: &str, _: &CallPlace) -> Self {
        Span
    }

    pub(crate) fn apply(_: &SessionId, _: &str, _: Attempt) -> Self {
        Span
    }

    pub(crate) fn around<F: Future>(&self, future: F) -> F {
        future
    }

    pub(crate) fn stopped(self, _: &Result<Stop, RuntimeError>) {}

    pub(crate) fn answered(self, _: Option<&Message>, _: Option<&ProviderError>) {}

    pub(crate) fn returned(self, _: &ToolOutput) {}

    pub(crate) fn applied(self, _: &Outcome) {}
}
