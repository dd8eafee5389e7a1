//! Does what calls of the `resolve` tool mean. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::resolve).

use crate::driver::apply::apply;
use crate::driver::decide::load_proposals;
use crate::driver::discard_hook::tell_tool;
use crate::driver::look::look_after;
use crate::effects::standing::ask_standing;
use crate::writer::Writer;
use trunkline_agent_traits::Cancel;

use trunkline_resolve_queue::ProposalId;
use trunkline_resolve_queue::resolve_tool::{self, Resolution};

use trunkline_session_machine::acts::resolve::{
    Carried, Next, answer, begin_standing, carry_on, end_standing, resolve, take_up,
};
use trunkline_session_machine::{CallPlace, RuntimeError};

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
        Next::CarryOn(id) => carry_on_with(writer, id, place, cancel).await,
        Next::Standing(asked) => resolve_standing(writer, place, asked, cancel).await,
    }
}

/// Does what a call was decided to mean.
async fn carry_on_with(
    writer: &mut Writer,
    id: ProposalId,
    place: &CallPlace,
    cancel: &Cancel,
) -> Result<(), RuntimeError> {
    let cancelled = cancel.is_cancelled();
    match writer.perform(|view, _| carry_on(view, id, place, cancelled)).await? {
        Carried::Done => Ok(()),
        Carried::Apply => apply(writer, id, Some(place)).await,
        Carried::CallHook => tell_tool(writer, id, Some(place), cancel).await,
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
    let (output, ended) = ask_standing(writer, standing.as_ref(), &asked, place, cancel).await;
    let plan = end_standing(&writer.view(), place, details, output)?;
    writer.write(plan, None).await?;
    if ended {
        look_after(writer).await?;
    }
    Ok(())
}
