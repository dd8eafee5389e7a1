//! Carries orders out, whoever gave them: the caller of a method, or a letter, which is consumed with what is recorded.

use trunkline_decision_objects::{Decision, TaskEvent, TaskId};
use trunkline_message_tree::NodeId;
use trunkline_resolve_queue::{ProposalId, RuleId};
use trunkline_revert::MergeRecord;
use trunkline_session_machine::acts::late::{call_at, take, takes_late};
use trunkline_session_machine::acts::roll_back::lease_of_another;
use trunkline_session_machine::acts::take_back::take_back;
use trunkline_session_machine::acts::{close, decide, hold, moves, open, settle, task};
use trunkline_session_machine::{CloseAs, Late, RuntimeError};
use trunkline_session_store::InboxId;

use crate::driver::bind::{bind_decided, catch_up, catch_up_to_close};
use crate::driver::close::tell_others;
use crate::driver::decide::take_verdict;
use crate::driver::discard_hook::{open_hooks, tell_tools};
use crate::driver::look::look_late;
use crate::driver::recover::take_distrust;
use crate::driver::summaries::start_summaries;
use crate::orders::{MoveAct, Order, StepAnswer, content_of, letter_of};
use crate::writer::Writer;

/// What came of an order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Done {
    /// It has taken effect.
    Recorded,
    /// It waits in the session's inbox: there is no place for it yet.
    Waits,
    /// The head was put there.
    Moved(NodeId),
    /// What came of branches was brought here.
    Merged(Box<MergeRecord>),
    /// The rule counts.
    RuleGiven(RuleId),
    /// To take something back is offered as this proposal.
    Offered(ProposalId),
    /// The run has this verdict.
    Closed(Box<Decision>),
    /// A late result was taken in.
    Late(Late),
    /// The session has this task.
    TaskGiven(TaskId),
    /// The task came to this end.
    TaskEnded(Box<TaskEvent>),
}

/// Carries an order out that the caller of a method gives.
pub(crate) async fn carry_out_now(writer: &mut Writer, order: Order) -> Result<Done, RuntimeError> {
    match &order {
        Order::CloseRun { close, .. } => {
            catch_up_to_close(writer, close).await?;
            close::check(&writer.view(), close, lease_of_another(&writer.view(), writer.before()).is_some())?;
            look_late(writer).await?;
        }
        Order::LateResult { call, .. } => {
            catch_up(writer).await?;
            writer.load_words_of(call.node).await?;
            call_at(&writer.state.tree, call)?;
        }
        _ => catch_up(writer).await?,
    }
    if must_wait(writer, &order) {
        let ((kind, body), at) = (letter_of(&order), writer.settings().now());
        writer.store.post(writer.lease.session(), kind, &body, at).await?;
        return Ok(Done::Waits);
    }
    let before = open_hooks(writer);
    let done = carry_out(writer, order, None).await?;
    // The order has taken effect, whatever becomes of this; the next drive does what is left of it.
    let _ = tell_tools(writer, &before).await;
    Ok(done)
}

/// Carries an order out. One that has to wait stays in the inbox if it came from there.
pub(crate) async fn carry_out(
    writer: &mut Writer,
    order: Order,
    letter: Option<InboxId>,
) -> Result<Done, RuntimeError> {
    if must_wait(writer, &order) {
        return Ok(Done::Waits);
    }
    match order {
        Order::Prompt { text } => {
            writer.perform_for(letter, |view, asked| open::prompt(view, asked, &text)).await?;
        }
        Order::PromptWith { parts } => {
            let content = content_of(&parts)?;
            writer.perform_for(letter, |view, asked| open::prompt_with(view, asked, &content)).await?;
        }
        Order::Cancel => writer.signal().cancel(),
        Order::CloseRun { run, close } => {
            let open = writer.state.decision.run.as_ref().map(|open| open.record.id());
            if open.is_some_and(|open| open != run) {
                return Err(refused(format!("run {run} is over, and another one is open")));
            }
            return close_run(writer, &close, letter).await;
        }
        Order::Verdict { proposal, said, seen } => {
            take_verdict(writer, proposal, &said, seen, letter).await?;
        }
        Order::TakeBack { proposal } => {
            writer.load_whole().await?;
            let offered = writer.perform_for(letter, |view, asked| take_back(view, asked, proposal));
            return Ok(Done::Offered(offered.await?));
        }
        Order::GiveRule { rule } => {
            let given = writer.perform_for(letter, |view, _| decide::give_rule(view, &rule));
            return Ok(Done::RuleGiven(given.await?));
        }
        Order::RevokeRule { rule, reason } => {
            writer.perform_for(letter, |view, _| decide::revoke_rule(view, rule, &reason)).await?;
        }
        Order::ToolChoice { policy } => {
            writer.perform_for(letter, |view, _| Ok(hold::under(view, policy, letter))).await?;
        }
        Order::Distrust => take_distrust(writer, letter).await?,
        Order::Move { act, expected_head } => {
            let takes_back = matches!(act, MoveAct::Undo | MoveAct::Redo);
            moves::check_seen(&writer.view(), takes_back, expected_head)?;
            return move_head(writer, act, letter).await;
        }
        Order::Name { naming } => {
            writer.perform_for(letter, |view, _| moves::name(view, &naming)).await?;
        }
        Order::GiveTask { task: new } => {
            let given = writer.perform_for(letter, |view, asked| task::give(view, asked, &new));
            return Ok(Done::TaskGiven(given.await?));
        }
        Order::BoundTask { bounds } => {
            writer.perform_for(letter, |view, _| task::bound(view, bounds)).await?;
        }
        Order::EndTask { end } => {
            let ended = writer.perform_for(letter, |view, asked| task::end(view, asked, &end));
            return Ok(Done::TaskEnded(Box::new(ended.await?)));
        }
        Order::Select { run, patch_set, reason } => {
            writer.perform_for(letter, |view, _| task::select(view, run, patch_set, &reason)).await?;
        }
        Order::LateResult { call, result } => {
            writer.load_words_of(call.node).await?;
            return Ok(Done::Late(writer.perform_for(letter, |view, _| take(view, &call, &result)).await?));
        }
        Order::StepBack { proposal, answer, expected_head } => {
            settle::check_seen(&writer.view(), expected_head)?;
            match answer {
                StepAnswer::Accept => {
                    writer.load_whole().await?;
                    writer.perform_for(letter, |view, asked| settle::accept(view, asked, proposal)).await?;
                    start_summaries(writer);
                }
                StepAnswer::Decline { reason } => {
                    let reason = reason.as_deref();
                    writer.perform_for(letter, |view, _| settle::decline(view, proposal, reason)).await?;
                }
            }
        }
    }
    Ok(Done::Recorded)
}

/// Returns whether there is no place for what an order brings yet.
pub(crate) fn must_wait(writer: &Writer, order: &Order) -> bool {
    match order {
        Order::Prompt { .. } | Order::PromptWith { .. } => open::must_wait(&writer.view()),
        Order::LateResult { call, .. } => !takes_late(&writer.state, call),
        _ => false,
    }
}

async fn move_head(writer: &mut Writer, act: MoveAct, letter: Option<InboxId>) -> Result<Done, RuntimeError> {
    writer.load_whole().await?;
    let mut moved = None;
    match act {
        MoveAct::Revert { to, lesson } => {
            let lesson = lesson.as_deref();
            writer.perform_for(letter, |view, asked| moves::go_back(view, asked, to, lesson)).await?;
            start_summaries(writer);
        }
        MoveAct::Go { to } => {
            moved = Some(writer.perform_for(letter, |view, asked| moves::go(view, asked, to)).await?);
        }
        MoveAct::Merge { tips } => {
            let merged = writer.perform_for(letter, |view, _| moves::merge(view, &tips)).await?;
            return Ok(Done::Merged(Box::new(merged)));
        }
        MoveAct::Undo => writer.perform_for(letter, moves::undo).await?,
        MoveAct::Redo => writer.perform_for(letter, moves::redo).await?,
    }
    writer.keep_snapshot().await;
    Ok(moved.map_or(Done::Recorded, Done::Moved))
}

async fn close_run(
    writer: &mut Writer,
    how: &CloseAs,
    letter: Option<InboxId>,
) -> Result<Done, RuntimeError> {
    close::check(&writer.view(), how, lease_of_another(&writer.view(), writer.before()).is_some())?;
    let closed = writer.perform_for(letter, |view, asked| close::close(view, asked, how)).await;
    let (decision, others) = match (closed, letter) {
        // What does not work now would stand in the way of every letter after it.
        (Err(RuntimeError::Workspace(cause)), Some(_)) => {
            let message = cause.message.clone();
            return Err(refused(format!("{}: {message}", RuntimeError::Workspace(cause))));
        }
        (Err(fault @ RuntimeError::Verdict { .. }), Some(_)) => return Err(refused(fault.to_string())),
        (closed, _) => closed?,
    };
    tell_others(writer, others);
    bind_decided(writer).await?;
    if letter.is_some() {
        writer.facts.closed = Some(Box::new(decision.clone()));
    }
    Ok(Done::Closed(Box::new(decision)))
}

fn refused(reason: String) -> RuntimeError {
    RuntimeError::Refused { reason }
}
