//! The loop: asks the machine what is next, does it, writes it down.
//!
//! What is decided here rather than in [`next`](trunkline_session_machine::next) is decided by the world: a reply, a result, a
//! clock, a letter.

pub(crate) mod apply;
pub(crate) mod bind;
pub(crate) mod close;
pub(crate) mod compact;
pub(crate) mod decide;
pub(crate) mod discard_hook;
pub(crate) mod learn;
pub(crate) mod letters;
pub(crate) mod look;
pub(crate) mod orders;
pub(crate) mod recover;
pub(crate) mod request;
pub(crate) mod resolve;
pub(crate) mod roll_back;
pub(crate) mod rollback_order;
pub(crate) mod summaries;

use tokio::time::Instant;
use trunkline_agent_traits::Cancel;
use trunkline_session_machine::acts::apply::{check, give_up};
use trunkline_session_machine::acts::calls::answer;
use trunkline_session_machine::acts::close_request::ask_to_close;
use trunkline_session_machine::acts::decide::{approve_ahead, decide_ahead};
use trunkline_session_machine::acts::drained::names_branches;
use trunkline_session_machine::acts::expire::expire_due;
use trunkline_session_machine::acts::look::open_span;
use trunkline_session_machine::acts::open::{begin_run, say, tell_untold};
use trunkline_session_machine::acts::propose::{ask_for_plan, propose_plan};
use trunkline_session_machine::acts::settle::settle;
use trunkline_session_machine::acts::stage::stage_gate;
use trunkline_session_machine::next::{self, Step};
use trunkline_session_machine::{RuntimeError, Stop};
use trunkline_session_store::InboxId;

use self::apply::apply;
use self::bind::{bind_these, catch_up};
use self::close::{close_as_asked, conclude};
use self::compact::compact_span;
use self::decide::ask;
use self::discard_hook::tell_tool;
use self::letters::{catch_up_or_abandon, look_at_inbox, take_close_letters, take_letters, take_old_cancels};
use self::look::{look_after, look_late};
use self::orders::{carry_out, must_wait};
use self::recover::{await_apply, settle_attempt};
use self::request::request;
use self::resolve::resolve_call;
use self::roll_back::{await_rollback, do_rest_of_rollback};
use self::summaries::tend_summaries;
use crate::effects::calls::run_calls;
use crate::effects::wait::{Waiting, wait_to_ask};
use crate::orders::{Order, Prompt, content_of, letter_of};
use crate::world::spans::Span;
use crate::writer::Writer;
use crate::writer::waiting::read_inbox;

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
    // What was closed between two drives ends none, and what could not be bound is tried again.
    writer.facts.begin(!nothing_waits);
    if let Some(kept) = writer.place.take().and_then(|place| place.take()) {
        writer.kept = kept;
    }
    let span = Span::drive(writer.id(), writer.settings().provider.origin());
    let stop = span.around(go_on(writer, cancel)).await;
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

/// What a drive remembers beside its [`Facts`](next::Facts): what it waits for, and what it has told.
struct Drive<'a> {
    since: Instant,
    cancel: &'a Cancel,
    /// The newest letter that was looked at.
    seen: Option<InboxId>,
    /// The wait before the model is asked again.
    waiting: Option<Waiting>,
    /// The attempt of another writer that is waited for, as it was told.
    awaited: Option<trunkline_resolve_queue::Attempt>,
}

async fn go_on(writer: &mut Writer, cancel: &Cancel) -> Result<Stop, RuntimeError> {
    let mut drive = Drive { since: Instant::now(), cancel, seen: None, waiting: None, awaited: None };
    if !writer.facts.unread {
        // No inbox is read in the first step, and summaries that came meanwhile are for the first request.
        tend_summaries(writer).await?;
    }
    loop {
        if names_branches(&writer.view()) {
            // What was said there decides what comes of it.
            writer.load_whole().await?;
        }
        let before = writer.before();
        let facts = &mut writer.facts;
        (facts.cancelled, facts.before) = (cancel.is_cancelled(), before);
        facts.spent.time = drive.since.elapsed();
        facts.waited = Waiting::waited(drive.waiting.as_ref());
        let facts = writer.facts.clone();
        let step = writer.find_out(|view, asked| next::next(view, asked, &facts)).await?;
        writer.facts.begun(&step, &writer.state);
        if let Some(stop) = take(writer, &mut drive, step).await? {
            return Ok(stop);
        }
    }
}

/// Takes a step. Returns why the drive ends, if it does.
async fn take(writer: &mut Writer, drive: &mut Drive<'_>, step: Step) -> Result<Option<Stop>, RuntimeError> {
    let cancel = drive.cancel;
    match step {
        Step::Stop(stop) => return Ok(Some(stop)),
        Step::Conclude => return conclude(writer).await.map(Some),
        Step::Ask(waiting) => return ask(writer, waiting, drive.seen, cancel).await,
        Step::ReadInbox { closing } => {
            drive.seen = match closing {
                true => take_close_letters(writer).await.map(|()| None)?,
                false => take_letters(writer, cancel).await?,
            };
            // What closes the run ends the drive, whatever else fails.
            if writer.facts.closed.is_none() {
                tend_summaries(writer).await?;
            }
        }
        Step::AskGit => catch_up(writer).await?,
        Step::Bind(unbound) => bind_these(writer, unbound).await?,
        Step::Expire => writer.perform(|view, _| expire_due(view)).await?,
        Step::CallHook(id) => tell_tool(writer, id, None, cancel).await?,
        Step::TellUntold => writer.perform(|view, _| tell_untold(view)).await?,
        Step::LookUp(id, sight) => settle_attempt(writer, id, sight).await?,
        Step::AwaitApply(attempt, lease) => await_apply(writer, (attempt, lease), &mut drive.awaited).await?,
        Step::Answer(answers) => {
            let plan = answer(&writer.view(), answers);
            writer.write(plan, None).await?;
        }
        Step::AskForPlan => writer.perform(|view, _| ask_for_plan(view)).await?,
        Step::ProposePlan(place, text) => {
            writer.perform(|view, asked| propose_plan(view, asked, &place, &text)).await?;
        }
        Step::AskToClose(place, close) => {
            writer.perform(|view, _| ask_to_close(view, &place, &close)).await?;
        }
        Step::CloseAsAsked => return close_as_asked(writer).await,
        Step::Gate(place, asked) => writer.perform(|view, _| stage_gate(view, &place, &asked)).await?,
        Step::Run(calls) => {
            if run_calls(writer, calls, cancel).await? {
                look_after(writer).await?;
            }
        }
        Step::Resolve(place, arguments) => resolve_call(writer, &place, &arguments, cancel).await?,
        Step::Settle => writer.perform(settle).await?,
        Step::Approve(id) => writer.perform(|view, _| approve_ahead(view, id)).await?,
        Step::Forbid(id) => writer.perform(|view, _| decide_ahead(view, id)).await?,
        Step::Apply(id) => apply(writer, id, None).await?,
        Step::Check(id) => writer.perform(|view, asked| check(view, asked, id)).await?,
        Step::GiveUp(id) => writer.perform(|view, _| give_up(view, id)).await?,
        Step::Nudge(text) => writer.perform(|view, _| say(view, &text)).await?,
        Step::OpenRun => writer.perform(begin_run).await?,
        Step::Request => request(writer, cancel).await?,
        Step::Compact(plan) | Step::MakeRoom(plan) => {
            let tokens = compact_span(writer, plan, cancel).await?;
            writer.facts.cost(tokens);
        }
        Step::Wait(until) => {
            let end = drive.since.checked_add(writer.settings().setup.limits.time);
            wait_to_ask(writer, until, &mut drive.waiting, end, drive.seen, cancel).await?;
        }
    }
    Ok(None)
}
