//! Puts a summary in the place of what it stands for. What is recorded of it is planned in
//! [`acts`](trunkline_session_machine::acts::compact).

use trunkline_providers::ErrorKind;
use trunkline_revert::CompactPlan;
use trunkline_session_machine::acts::compact::{self, Made};
use trunkline_session_machine::words::bill::tokens_of;
use trunkline_session_machine::{Compacted, Event, RuntimeError};

use super::learn::learn_from;
use super::letters::{look_at_inbox, take_letters, take_old_cancels};
use crate::effects::summarize::{Unwritten, summarize};
use crate::writer::Writer;
use crate::writer::waiting::{asked_to_end, read_inbox};
use trunkline_agent_traits::Cancel;

/// Carries out a plan of the turn machine. Returns the tokens that the summary cost.
pub(crate) async fn compact_span(
    writer: &mut Writer,
    plan: CompactPlan,
    cancel: &Cancel,
) -> Result<u64, RuntimeError> {
    Ok(make(writer, plan, cancel).await?.1)
}

/// After a request that the provider refused because it was too long: compacts, so that it can be made again, or
/// gives the fault back.
pub(crate) async fn make_room(
    writer: &mut Writer,
    fault: RuntimeError,
    cancel: &Cancel,
) -> Result<u64, RuntimeError> {
    let too_long =
        matches!(&fault, RuntimeError::Provider(fault) if fault.kind() == Some(ErrorKind::ContextTooLong));
    let Some(plan) = compact::room(&writer.view()).filter(|_| too_long) else { return Err(fault) };
    match make(writer, plan, cancel).await? {
        (Made::Covered(_), tokens) => Ok(tokens),
        (Made::Nothing, tokens) if cancel.is_cancelled() => Ok(tokens),
        (Made::Failed(_) | Made::Nothing, _) => Err(fault),
    }
}

/// Asks for a summary and puts it in the place of what it stands for. Returns what came of it, and the tokens that it cost.
async fn make(writer: &mut Writer, plan: CompactPlan, cancel: &Cancel) -> Result<(Made, u64), RuntimeError> {
    writer.tell(&Event::Compacting(plan.clone()));
    let ask = plan.prompt(&writer.state.tree);
    let summarized = loop {
        let summarized = tokio::select! {
            biased;
            () = cancel.cancelled() => return Ok((Made::Nothing, 0)),
            asked = asked_to_end(writer) => {
                asked.map_err(|by| writer.lost(by))?;
                cancel.cancel();
                return Ok((Made::Nothing, 0));
            }
            summarized = summarize(writer, ask.clone()) => summarized,
        };
        match summarized {
            Err(Unwritten::Refused(fault)) => {
                let fault = RuntimeError::from(fault);
                if !learn_from(writer, &fault).await? {
                    break Err((error_line(&fault), None));
                }
            }
            Err(Unwritten::Told(reason, usage)) => break Err((reason, usage)),
            Ok(summary) => {
                writer.facts.on_trial.clear();
                break Ok(summary);
            }
        }
    };
    let usage = summarized.as_ref().map_or_else(|(_, usage)| *usage, |summary| summary.usage);
    let tokens = usage.map_or(0, tokens_of);
    // Whatever came meanwhile comes first: a move of the head may have left the span.
    take_letters(writer, cancel).await?;
    let plan = match &summarized {
        _ if cancel.is_cancelled() => compact::given_up(&writer.view(), usage),
        Ok(summary) => compact::cover(&writer.view(), plan, Ok(&summary.text), usage)?,
        Err((reason, _)) => compact::cover(&writer.view(), plan, Err(reason.clone()), usage)?,
    };
    Ok((writer.write(plan, None).await?, tokens))
}

/// Compacts now, as a person, however small the prompt is.
pub(crate) async fn compact_now(writer: &mut Writer, cancel: &Cancel) -> Result<Compacted, RuntimeError> {
    let inbox = read_inbox(writer).await?;
    take_old_cancels(writer, inbox).await?;
    let refused = |reason: String| RuntimeError::Refused { reason };
    if writer.settings().setup.compaction.is_none() {
        return Err(refused("this agent does not compact; build it with `with_compaction`".to_owned()));
    }
    let Some(plan) = compact::coverable(&writer.view()) else {
        let why = if writer.state.open_turn().is_some() {
            "calls are open; compact when they have their results"
        } else {
            "there is nothing to compact: what stands before the newest turns is too little"
        };
        return Err(refused(why.to_owned()));
    };
    let made = make(writer, plan, cancel).await;
    if let Ok(inbox) = look_at_inbox(writer).await {
        take_old_cancels(writer, inbox).await?;
    }
    match made?.0 {
        Made::Covered(compacted) => Ok(compacted),
        Made::Failed(reason) => Err(refused(format!("nothing was compacted: {reason}"))),
        Made::Nothing => Err(refused("nothing was compacted: it was cancelled, or overtaken".to_owned())),
    }
}

/// Says what a provider said, without the layers around it.
fn error_line(fault: &RuntimeError) -> String {
    std::error::Error::source(fault).map_or_else(|| fault.to_string(), ToString::to_string)
}
