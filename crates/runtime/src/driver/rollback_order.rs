//! Rollbacks as a person asks for them: begun, and brought to their end.

use trunkline_decision_objects::{Decision, DecisionId};
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::roll_back::{begin, check_at_rest, refused};

use super::letters::{look_at_inbox, take_old_cancels};
use super::roll_back::await_rollback;
use super::roll_back::do_rest_of_rollback;
use crate::writer::Writer;
use crate::writer::waiting::read_inbox;
use trunkline_agent_traits::Cancel;

/// Takes back what a decision brought about.
pub(crate) async fn roll_back(
    writer: &mut Writer,
    of: DecisionId,
    reason: Option<&str>,
) -> Result<Decision, RuntimeError> {
    check_at_rest(&writer.view())?;
    writer.load_whole().await?;
    writer.perform(|view, asked| begin(view, asked, of, reason)).await?;
    let ended = do_rest_of_rollback(writer).await;
    // Whoever called is told here.
    writer.finished = None;
    match ended? {
        Some(decision) => Ok(decision),
        None => Err(refused("the rollback has ended already")),
    }
}

/// Brings a rollback that was cut off to its end. Returns also, once, one that ended when the session was opened.
pub(crate) async fn finish_rollback(writer: &mut Writer) -> Result<Option<Decision>, RuntimeError> {
    // What ended an earlier drive ends no waiting here.
    writer.cancel = Some(Cancel::new());
    let inbox = read_inbox(writer).await?;
    take_old_cancels(writer, inbox).await?;
    if !await_rollback(writer).await? {
        // Whoever asked to cancel meant this waiting, and no drive after it.
        let inbox = look_at_inbox(writer).await?;
        take_old_cancels(writer, inbox).await?;
        return Err(refused("another process may still be putting files back; try again in a minute"));
    }
    match do_rest_of_rollback(writer).await {
        Err(_) if writer.finished.is_some() => {}
        Ok(Some(decision)) => return Ok(Some(decision)),
        ended => {
            ended?;
        }
    }
    Ok(writer.finished.take().map(|decision| *decision))
}
