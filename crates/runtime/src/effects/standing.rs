//! Hands a resolution to the handler of the application.

use std::time::Duration;

use trunkline_agent_traits::{Cancel, Standing};
use trunkline_resolve_queue::resolve_tool::Resolution;
use trunkline_session_machine::acts::resolve::OUTCOME_UNKNOWN;
use trunkline_session_machine::{CallPlace, ToolOutput};

use crate::world::contained;
use crate::writer::Writer;
use crate::writer::waiting::asked_to_end;

/// How long a standing handler may take to stop by itself once the turn is cancelled.
const GRACE: Duration = Duration::from_secs(5);

/// Returns what a handler makes of a resolution, and whether it has ended by itself.
pub(crate) async fn ask_standing(
    writer: &Writer,
    standing: &dyn Standing,
    asked: &Resolution,
    place: &CallPlace,
    cancel: &Cancel,
) -> (ToolOutput, bool) {
    let context = writer.context(cancel.clone(), place.clone());
    let cut_off = async {
        tokio::select! {
            () = cancel.cancelled() => {}
            // The next write finds out if it is because somebody took the session over.
            _ = asked_to_end(writer) => cancel.cancel(),
        }
        tokio::time::sleep(GRACE).await;
    };
    tokio::select! {
        output = contained::standing(standing, asked, &context) => (output, true),
        () = cut_off => (ToolOutput::error(OUTCOME_UNKNOWN), false),
    }
}
