//! Rollbacks: when one begins, and who brings it to its end. What is recorded of it is planned in
//! [`acts`](trunkline_session_machine::acts::roll_back).

use crate::driver::bind::bind_decided;
use crate::driver::bind::settle_binding;
use crate::driver::close::conclude;
use crate::effects::restore::restore;
use crate::writer::Writer;
use crate::writer::waiting::wait_a_while;
use trunkline_agent_traits::Restore;
use trunkline_decision_objects::Decision;
use trunkline_message_tree::Timestamp;
use trunkline_session_machine::acts::bind::Settled;
use trunkline_session_machine::acts::question::Pieces;
use trunkline_session_machine::acts::roll_back::{self, Failed, Rest};
use trunkline_session_machine::{Event, FileStates, Left, RuntimeError, Stop, WorkspaceFault};

/// Brings a rollback that was cut off to its end, if nobody else may be at it and nothing stands in its way: that is told
/// to whoever wants to go on.
pub(crate) async fn try_rest_of_rollback(writer: &mut Writer) {
    if !writer.facts.unsure
        && roll_back::lease_of_another(&writer.view(), writer.before()).is_none()
        && let Ok(Some(decision)) = do_rest_of_rollback(writer).await
    {
        writer.finished = Some(Box::new(decision));
    }
}

/// Waits until nobody else may put files back here. Returns whether that is so: not if the drive was cancelled.
pub(crate) async fn await_rollback(writer: &mut Writer) -> Result<bool, RuntimeError> {
    let mut told = false;
    while let Some(lease) = roll_back::lease_of_another(&writer.view(), writer.before()) {
        if !told && let Some(of) = restoring_of(writer) {
            writer.tell(&Event::AwaitingRollback { of, until: Timestamp(lease.until) });
            told = true;
        }
        if !wait_a_while(writer).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Restores what is not restored yet, and decides. `None` if there is nothing of that kind to do. Nobody else may be at it.
pub(crate) async fn do_rest_of_rollback(writer: &mut Writer) -> Result<Option<Decision>, RuntimeError> {
    let restoring = writer.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
    let Some(of) = restoring.map(|restoring| restoring.of) else { return Ok(None) };
    writer.load_whole().await?;
    // What an import brought along was asked for elsewhere. Here is nobody who would take that letter in.
    let taken_back = match settle_binding(writer, false).await? {
        Settled::Decided(decision) => return Ok(Some(*decision)),
        Settled::TakenBack(why) => Some(why),
        Settled::Open(_) => None,
    };
    let rest = writer.find_out(|view, asked| roll_back::rest(view, asked, of, taken_back.as_deref()));
    let fault = match (rest.await?, writer.settings().workspace.clone()) {
        (Rest::Restore(left, kept), Some(workspace)) => match workspace.as_restore() {
            Some(files) => restore_or_undo(writer, files, &left, &kept).await?,
            // The session was opened with another folder than the one it was begun in.
            None => return Err(WorkspaceFault::cannot_restore().into()),
        },
        (Rest::GiveUp(fault), _) => Some((fault, Vec::new())),
        _ => None,
    };
    if let Some((fault, remains)) = fault {
        let why = give_up_rollback(writer, &fault, &remains).await?;
        // It is recorded, and bound later if not now: what stood in the way of the files is what has to be told.
        bind_decided(writer).await.ok();
        return Err(why.into());
    }
    match conclude(writer).await? {
        Stop::Decided(decision) => Ok(Some(*decision)),
        _ => Ok(None),
    }
}

/// Restores files, and makes them what they were before that if somebody else's bytes stand in the way. Returns those then,
/// with what remains restored.
async fn restore_or_undo(
    writer: &mut Writer,
    files: &dyn Restore,
    left: &Left,
    kept: &[Pieces],
) -> Result<Option<(WorkspaceFault, Vec<FileStates>)>, RuntimeError> {
    let restored = restore(writer, files, left, &roll_back::files(kept)).await?;
    let Err(fault) = restored else { return Ok(None) };
    let back = match writer.find_out(|view, asked| roll_back::failed(view, asked, left, kept)).await? {
        Failed::Later => return Err(fault.into()),
        Failed::Undo(back) => back,
    };
    let remains = match back {
        None => Vec::new(),
        // Where not all of them can be written, none are, and that is what is told.
        Some(back) if restore(writer, files, &back, &[]).await?.is_ok() => Vec::new(),
        Some(_) => writer.find_out(|view, asked| roll_back::remains(view, asked, left)).await?,
    };
    Ok(Some((fault, remains)))
}

/// Gives up a rollback that was begun elsewhere: whoever asked for it meant other files.
pub(crate) async fn distrust_rollback(writer: &mut Writer) -> Result<(), RuntimeError> {
    if writer.state.decision.run.as_ref().is_none_or(|run| run.restoring.is_none()) {
        return Ok(());
    }
    let message = "this session was brought here from elsewhere, and so was the wish to take them back";
    match give_up_rollback(writer, &WorkspaceFault { message: message.to_owned() }, &[]).await {
        // A run that cannot be decided goes on as any other.
        Ok(_) | Err(RuntimeError::Verdict { .. }) => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// Ends a rollback that cannot be done, and returns why. `remains` are the files that it has restored all the same.
async fn give_up_rollback(
    writer: &mut Writer,
    fault: &WorkspaceFault,
    remains: &[FileStates],
) -> Result<WorkspaceFault, RuntimeError> {
    let given_up = writer.perform(|view, asked| roll_back::give_up(view, asked, fault, remains));
    let (decision, why) = given_up.await?;
    if let Some(decision) = decision {
        writer.finished = Some(Box::new(decision));
    }
    Ok(why)
}

fn restoring_of(writer: &Writer) -> Option<trunkline_decision_objects::DecisionId> {
    Some(writer.state.decision.run.as_ref()?.restoring.as_ref()?.of)
}
