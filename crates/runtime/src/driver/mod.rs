//! The loop: asks the machine what is next, does it, writes it down.
//!
//! Whatever is decided here rather than in [`next`](trunkline_session_machine::next) is decided by the world: a reply, a result, a
//! clock, a letter.

pub(crate) mod compact;
pub(crate) mod letters;
pub(crate) mod orders;
pub(crate) mod rollback;

use crate::world::spans::Span;
use tokio::time::Instant;
use trunkline_message_tree::StopReason;
use trunkline_session_machine::acts::calls::answer;
use trunkline_session_machine::acts::look::open_span;
use trunkline_session_machine::acts::open::{begin_run, say};
use trunkline_session_machine::acts::settle::settle;
use trunkline_session_machine::acts::stage::stage_gate;
use trunkline_session_machine::next::{self, Facts, Step};
use trunkline_session_machine::{Limit, RuntimeError, Stop};

use self::compact::{compact_span, make_room, make_room_for_more};
use self::letters::{catch_up_or_abandon, look_at_inbox, take_close_letters, take_letters, take_old_cancels};
use self::orders::{carry_out, must_wait};
use crate::effects::apply::work;
use crate::effects::ask_model::ask_model;
use crate::effects::ask_person::ask_person;
use crate::effects::bind::bind_decided;
use crate::effects::calls::run_calls;
use crate::effects::close::conclude;
use crate::effects::look::look_late;
use crate::effects::recover::tend_proposals;
use crate::effects::resolve::resolve_call;
use crate::effects::restore::await_rollback;
use crate::effects::roll_back::do_rest_of_rollback;
use crate::effects::service::{learn_from, shrink_window};
use crate::effects::summarize::tend_summaries;
use crate::effects::wait::{Waiting, wait_to_ask};
use crate::orders::{Order, Prompt, content_of, letter_of};
use crate::writer::Writer;
use crate::writer::waiting::read_inbox;
use trunkline_agent_traits::Cancel;

/// What one drive has used up.
struct Spent {
    turns: u32,
    tokens: u64,
    /// How often in a row the model was asked to go on.
    nudged: usize,
    /// The wait before the model is asked again.
    waiting: Option<Waiting>,
    since: Instant,
}

/// Gives the model words and drives the session until it stops. Where there is no place for them they wait as a letter.
pub(crate) async fn prompt(
    writer: &mut Writer,
    prompt: Prompt,
    cancel: &Cancel,
) -> Result<Stop, RuntimeError> {
    let order = prompt.into_order();
    if let Order::PromptWith { parts } = &order {
        // Not first when a letter with it is read.
        content_of(parts)?;
    }
    let nothing_waits = ready(writer, cancel, false).await?;
    // What closes the run that was open until now was said first: these words are no part of it.
    if !nothing_waits {
        take_close_letters(writer).await?;
    }
    if must_wait(writer, &order) {
        let ((kind, body), at) = (letter_of(&order), writer.settings().now());
        writer.store.post(writer.lease.session(), kind, &body, at).await?;
        return drive(writer, cancel, false).await;
    }
    carry_out(writer, order, None).await?;
    // Words may open a run, and then its folder was looked at meanwhile.
    let nothing_waits = nothing_waits && writer.settings().workspace.is_none();
    drive(writer, cancel, nothing_waits).await
}

/// Goes on until something stops it; see [`ready`] for what waits.
pub(crate) async fn drive(
    writer: &mut Writer,
    cancel: &Cancel,
    nothing_waits: bool,
) -> Result<Stop, RuntimeError> {
    let nothing_waits = ready(writer, cancel, nothing_waits).await?;
    // What was closed between two drives is over, and ends none.
    writer.closed = None;
    // What could not be bound in the drive before this one is tried again.
    writer.unbindable = false;
    if let Some(kept) = writer.place.take().and_then(|place| place.take()) {
        writer.kept = kept;
    }
    let span = Span::drive(writer.id(), writer.settings().provider.origin());
    let stop = span.around(go_on(writer, cancel, nothing_waits)).await;
    span.stopped(&stop);
    let kept = std::mem::take(&mut writer.kept);
    writer.place = writer.settings().shelf.put(kept);
    if stop.is_ok() {
        // What fails here fails again in the next drive too.
        let _ = tend_summaries(writer).await;
    }
    // Whoever asked to cancel learns that the turn is over. What fails here fails again in the next drive, and what
    // this one came to must not be lost for it.
    if let (Ok(inbox), true) = (look_at_inbox(writer).await, stop.is_ok()) {
        let _ = take_old_cancels(writer, inbox).await;
    }
    writer.keep_snapshot().await;
    stop
}

/// Makes a drive ready: puts aside what was meant for an earlier one, and brings to its end what has to end first. Until
/// the drive is cancelled that may wait for another process. Returns whether nothing waits in the inbox; it is not read
/// if it was read just now, and nothing waited.
pub(crate) async fn ready(
    writer: &mut Writer,
    cancel: &Cancel,
    nothing_waits: bool,
) -> Result<bool, RuntimeError> {
    catch_up_or_abandon(writer).await?;
    writer.cancel = Some(cancel.clone());
    let mut nothing_waits = nothing_waits;
    if !nothing_waits {
        // What was meant for a turn that is long over must not end this one. What came since is meant for this one: its
        // sender saw a writer.
        let inbox = read_inbox(writer).await?;
        nothing_waits = inbox.is_empty();
        take_old_cancels(writer, inbox).await?;
    }
    // What follows may look at a whole folder, or wait for another process.
    {
        let restores = writer.state.decision.run.as_ref().is_some_and(|run| run.restoring.is_some());
        nothing_waits &= open_span(&writer.view()).is_none() && !restores;
    }
    look_late(writer).await?;
    if await_rollback(writer).await? {
        match do_rest_of_rollback(writer).await {
            // It was given up, which is recorded and told: nothing stands in the way of what comes now.
            Err(RuntimeError::Workspace(_)) if !writer.state.decision.is_open() => {}
            ended => drop(ended?),
        }
    }
    Ok(nothing_waits)
}

async fn go_on(writer: &mut Writer, cancel: &Cancel, mut nothing_waits: bool) -> Result<Stop, RuntimeError> {
    let mut spent = Spent { turns: 0, tokens: 0, nudged: 0, waiting: None, since: Instant::now() };
    loop {
        if spent.since.elapsed() >= writer.settings().limits.time {
            return Ok(Stop::Limit(Limit::Time));
        }
        let seen = match cancel.is_cancelled() {
            _ if std::mem::take(&mut nothing_waits) => None,
            true => {
                take_close_letters(writer).await?;
                None
            }
            false => take_letters(writer, cancel).await?,
        };
        if let Some(decision) = writer.closed.take() {
            return Ok(Stop::Decided(decision));
        }
        tend_summaries(writer).await?;
        tend_proposals(writer).await?;
        bind_decided(writer).await?;
        let facts = Facts {
            cancelled: cancel.is_cancelled(),
            nudged: spent.nudged,
            waited: Waiting::waited(spent.waiting.as_ref()),
        };
        match writer.find_out(|view, asked| next::next(view, asked, &facts)).await? {
            Step::Answer(answers) => {
                let plan = answer(&writer.view(), answers);
                writer.write(plan, None).await?;
            }
            Step::Run(calls) => run_calls(writer, calls, cancel).await?,
            Step::Settle => {
                spent.nudged = 0;
                writer.perform(settle).await?;
            }
            Step::Nudge(text) => {
                let full = writer.state.head_message().stop == Some(StopReason::ContextWindow);
                if full && spent.nudged == 0 {
                    let tokens = make_room_for_more(writer, cancel).await?;
                    spent.tokens = spent.tokens.saturating_add(tokens);
                    if cancel.is_cancelled() {
                        continue;
                    }
                }
                spent.nudged += 1;
                writer.perform(|view, _| say(view, &text)).await?;
            }
            Step::OpenRun => writer.perform(begin_run).await?,
            Step::Wait(until) => {
                let end = spent.since.checked_add(writer.settings().limits.time);
                wait_to_ask(writer, until, &mut spent.waiting, end, seen, cancel).await?;
            }
            Step::Request => {
                // What is asked again is the same turn.
                let first = spent.turns == 0 || writer.state.tries.is_first();
                if let Some(limit) = limit(writer, &spent).filter(|limit| first || *limit != Limit::Turns) {
                    return Ok(Stop::Limit(limit));
                }
                spent.turns += u32::from(first);
                let tokens = match ask_model(writer, spent.turns, cancel).await {
                    Err(fault) if learn_from(writer, &fault).await? => {
                        spent.turns = spent.turns.saturating_sub(u32::from(first));
                        0
                    }
                    Err(fault) => match make_room(writer, fault, cancel).await {
                        Err(fault) if shrink_window(writer, &fault).await? => 0,
                        made => made?,
                    },
                    asked => asked?,
                };
                spent.tokens = spent.tokens.saturating_add(tokens);
            }
            Step::Compact(plan) => {
                if let Some(limit) = limit(writer, &spent) {
                    return Ok(Stop::Limit(limit));
                }
                spent.tokens = spent.tokens.saturating_add(compact_span(writer, plan, cancel).await?);
            }
            Step::Conclude => return conclude(writer).await,
            Step::Rest => return Ok(rest(writer, cancel)),
            Step::Gate(place, asked) => {
                writer.perform(|view, _| stage_gate(view, &place, &asked)).await?;
            }
            Step::Resolve(place, arguments) => resolve_call(writer, &place, &arguments, cancel).await?,
            Step::Work(moves_on) => work(writer, moves_on).await?,
            Step::Ask(waiting) => {
                if let Some(stop) = ask_person(writer, waiting, seen, cancel).await? {
                    return Ok(stop);
                }
            }
        }
    }
}

fn rest(writer: &Writer, cancel: &Cancel) -> Stop {
    if cancel.is_cancelled() {
        return Stop::Cancelled;
    }
    let head = writer.state.head_message();
    match head.stop {
        Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Pause)
            if writer.state.decision.is_open() =>
        {
            Stop::Limit(Limit::Output)
        }
        _ => Stop::Idle,
    }
}

fn limit(writer: &Writer, spent: &Spent) -> Option<Limit> {
    let limits = &writer.settings().limits;
    if spent.turns >= limits.turns {
        return Some(Limit::Turns);
    }
    (spent.tokens >= limits.tokens).then_some(Limit::Tokens)
}
