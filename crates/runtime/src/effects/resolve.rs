//! Does what calls of the `resolve` tool mean. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::resolve).

use crate::effects::apply::apply;
use crate::effects::ask_person::load_proposals;
use crate::effects::look::look_after;
use crate::world::contained;
use crate::writer::Writer;
use crate::writer::waiting::asked_to_end;
use std::time::Duration;
use trunkline_agent_traits::Cancel;

use trunkline_resolve_queue::ProposalId;
use trunkline_resolve_queue::resolve_tool::{self, Resolution};

use trunkline_session_machine::acts::resolve::{
    Next, OUTCOME_UNKNOWN, answer, begin_standing, carry_on, end_standing, resolve, take_up,
};
use trunkline_session_machine::{CallPlace, RuntimeError, ToolOutput};

/// How long a standing handler may take to stop by itself once the turn is cancelled.
const GRACE: Duration = Duration::from_secs(5);

/// Carries out a model's own decision.
pub(crate) async fn resolve_call(
    writer: &mut Writer,
    place: &CallPlace,
    arguments: &str,
    cancel: &Cancel,
) -> Result<(), RuntimeError> {
    // Somebody began with it and died.
    let next = match take_up(&writer.view(), place) {
        Some(plan) => writer.write(plan, None).await?,
        None => match resolve_tool::parse_arguments(arguments) {
            Err(fault) => {
                let plan = answer(&writer.view(), place, fault.to_string());
                writer.write(plan, None).await?
            }
            Ok(asked) => {
                load_proposals(writer, asked.id.as_slice()).await?;
                writer.perform(|view, _| resolve(view, place, &asked)).await?
            }
        },
    };
    match next {
        Next::Done => Ok(()),
        Next::CarryOn(id) => carry_on_with(writer, id, place).await,
        Next::Standing(asked) => resolve_standing(writer, place, asked, cancel).await,
    }
}

/// Does what a call was decided to mean.
async fn carry_on_with(writer: &mut Writer, id: ProposalId, place: &CallPlace) -> Result<(), RuntimeError> {
    match writer.perform(|view, asked| carry_on(view, asked, id, place)).await? {
        true => apply(writer, id, Some(place)).await,
        false => Ok(()),
    }
}

async fn resolve_standing(
    writer: &mut Writer,
    place: &CallPlace,
    asked: Resolution,
    cancel: &Cancel,
) -> Result<(), RuntimeError> {
    let Some(standing) = writer.settings().standing.clone() else { return Ok(()) };
    let begun = writer.perform(|view, answers| begin_standing(view, answers, place, &asked)).await?;
    let Some(details) = begun else { return Ok(()) };
    let context = writer.context(cancel.clone(), place.clone());
    let cut_off = async {
        tokio::select! {
            () = cancel.cancelled() => {}
            // The next write finds out if it is because somebody took the session over.
            _ = asked_to_end(writer) => cancel.cancel(),
        }
        tokio::time::sleep(GRACE).await;
    };
    let (output, ended) = tokio::select! {
        output = contained::standing(standing.as_ref(), &asked, &context) => (output, true),
        () = cut_off => (ToolOutput::error(OUTCOME_UNKNOWN), false),
    };
    let plan = end_standing(&writer.view(), place, details, output)?;
    writer.write(plan, None).await?;
    if ended {
        look_after(writer).await?;
    }
    Ok(())
}
