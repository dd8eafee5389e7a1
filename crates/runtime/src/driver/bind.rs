//! Lets git answer for the end of a run, and binds what is recorded. What is recorded of it is planned in
//! [`acts`](trunkline_session_machine::acts::bind).

use crate::writer::Writer;
use trunkline_decision_objects::{Decision, Verdict};
use trunkline_session_machine::acts::bind::{self, Settled};
use trunkline_session_machine::state::decision::Unbound;
use trunkline_session_machine::{CloseAs, Event, RuntimeError};

/// Finds out what became of a binding that did not say how it ended; see [`settle`](bind::settle).
pub(crate) async fn settle_binding(writer: &mut Writer, again: bool) -> Result<Settled, RuntimeError> {
    // Until git has answered it is not known whether the run is decided.
    writer.facts.unsure = writer.state.decision.run.as_ref().is_some_and(|run| !run.bindings.is_empty());
    let settled = writer.perform(|view, asked| bind::settle(view, asked, again)).await?;
    writer.facts.unsure = false;
    let settled = settled?;
    if let Settled::Decided(decision) = &settled {
        tell_staged(writer, decision).await;
    }
    Ok(settled)
}

/// Binds what is recorded and not bound yet, unless git gave no answer in this drive. What fails is told, once for each reason, and
/// stays to be done.
///
/// # Errors
///
/// Those of a write.
pub(crate) async fn bind_decided(writer: &mut Writer) -> Result<(), RuntimeError> {
    let unbound = bind::due(&writer.view(), writer.facts.unbindable);
    bind_these(writer, unbound).await
}

/// Binds these.
pub(crate) async fn bind_these(writer: &mut Writer, unbound: Vec<Unbound>) -> Result<(), RuntimeError> {
    for unbound in unbound {
        let run = unbound.run.to_string();
        match writer.perform(|view, asked| bind::bind_decided(view, asked, &unbound)).await? {
            None => drop(writer.not_bound.remove(&run)),
            Some(why) => {
                writer.facts.unbindable = true;
                // The session is opened and driven in one act, and both try.
                if writer.not_bound.insert(run.clone(), why.clone()).as_ref() != Some(&why) {
                    writer.tell(&Event::NotBound { run, why });
                }
            }
        }
    }
    Ok(())
}

/// Takes up what an earlier process has left to be bound. Git that cannot be asked now is asked before anything else is
/// done, and a note that cannot be read is told to whoever wants to do something.
pub(crate) async fn take_up_bindings(writer: &mut Writer) -> Result<(), RuntimeError> {
    match settle_binding(writer, false).await {
        Ok(_) => bind_decided(writer).await,
        Err(RuntimeError::Workspace(_)) => Ok(()),
        Err(fault) => Err(fault),
    }
}

/// Finds out whether this is still the writer, what became of a write that was not answered, and how an earlier try of this process to
/// bind has ended, before anything else is done.
pub(crate) async fn catch_up(writer: &mut Writer) -> Result<(), RuntimeError> {
    writer.follow().await?;
    be_sure(writer).await
}

/// Finds out how an earlier try of this process ended.
async fn be_sure(writer: &mut Writer) -> Result<(), RuntimeError> {
    match writer.facts.unsure {
        true => settle_binding(writer, false).await.map(drop),
        false => Ok(()),
    }
}

/// Makes sure that a run can be ended in this way. Whoever abandons one need not wait for a git that gives no answer: its
/// folder may be gone for good, and there is no other way out.
pub(crate) async fn catch_up_to_close(writer: &mut Writer, how: &CloseAs) -> Result<(), RuntimeError> {
    match catch_up(writer).await {
        Err(RuntimeError::Workspace(_)) if writer.facts.unsure && matches!(how, CloseAs::Abandon { .. }) => {
            Ok(())
        }
        sure => sure,
    }
}

/// Tells of which files of the commit of a decision something else is staged. Where that cannot be asked nothing is lost.
pub(crate) async fn tell_staged(writer: &Writer, decision: &Decision) {
    let commit = match decision.verdict() {
        Verdict::Commit { commit, .. } => commit,
        Verdict::Rollback { reverted_to: Some(commit), .. } => commit,
        _ => return,
    };
    let Some(workspace) = &writer.settings().workspace else { return };
    let Some(git) = workspace.as_git_binding() else { return };
    let files = git.still_staged(&commit.to_string()).await.unwrap_or_default();
    if !files.is_empty() {
        writer.tell(&Event::StillStaged { files });
    }
}
