//! How far a call without a result in the conversation has come.

use anstyle::Style;
use serde_json::{Value, json};
use trunkline_message_tree::ToolCall;
use trunkline_runtime::session_machine::reading::unanswered::Standing;

use crate::term::style::{DIM, GREEN, RED, YELLOW};

/// Tells it on one line.
pub(crate) fn told(standing: &Standing<'_>) -> (Style, &'static str) {
    match standing {
        Standing::NotBegun => (DIM, "never begun"),
        Standing::Begun => (YELLOW, "begun, not known to have ended"),
        Standing::Ended { ran: false, .. } => (YELLOW, "not run"),
        Standing::Ended { result, .. } if result.is_error => (RED, "ended, failed"),
        Standing::Ended { .. } => (GREEN, "ended"),
    }
}

/// Tells it in as few words as a picture has room for.
pub(crate) fn short(standing: &Standing<'_>) -> &'static str {
    match standing {
        Standing::Begun => "begun, end unknown",
        other => told(other).1,
    }
}

/// Tells of each call of a message how far it came, for programs.
pub(crate) fn as_json<'a>(calls: impl Iterator<Item = &'a ToolCall>, standings: &[Standing<'_>]) -> Value {
    let calls = calls.zip(standings).map(|(call, standing)| match standing {
        Standing::NotBegun => json!({ "id": call.id, "name": call.name, "state": "not_begun" }),
        Standing::Begun => json!({ "id": call.id, "name": call.name, "state": "begun" }),
        Standing::Ended { result, ran } => json!({
            "id": call.id, "name": call.name, "state": "ended", "ran": ran, "result": result,
        }),
    });
    calls.collect()
}
