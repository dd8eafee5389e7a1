//! The loop: asks the machine what is next, does it, writes it down.
//!
//! All waiting happens here and in the files beside it. Whatever is decided here rather than in [`turn`](trunkline_session_machine::turn)
//! is decided by the world: a reply, a result, a clock, a letter.

use tokio::time::Instant;
use trunkline_message_tree::StopReason;
use trunkline_providers::{ErrorKind, Fold, ProviderError, Request};
use trunkline_session_machine::prefixes::binds_reasoning;

use crate::asking_again::{Waiting, chance};
use crate::{Cancel, Limit, Session, Stop};
use trunkline_session_machine::acts::calls::answer;
use trunkline_session_machine::acts::hold::hold;
use trunkline_session_machine::acts::look::open_span;
use trunkline_session_machine::acts::open::{begin_run, say};
use trunkline_session_machine::acts::reply::{Came, take_reply};
use trunkline_session_machine::acts::settle::settle;
use trunkline_session_machine::acts::stage::stage_gate;
use trunkline_session_machine::rendering::Rendering;
use trunkline_session_machine::turn::{self, Facts, Step};
use trunkline_session_machine::{CallPlace, Event, RuntimeError, prompt};

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

impl Session {
    /// Goes on until something stops it; see [`ready`](Session::ready) for what waits.
    pub(crate) async fn drive(&mut self, cancel: &Cancel, nothing_waits: bool) -> Result<Stop, RuntimeError> {
        let nothing_waits = self.ready(cancel, nothing_waits).await?;
        // What was closed between two drives is over, and ends none.
        self.take_closed();
        self.try_bindings_again();
        if let Some(kept) = self.place.take().and_then(|place| place.take()) {
            self.kept = kept;
        }
        let stop = self.go_on(cancel, nothing_waits).await;
        let kept = std::mem::take(&mut self.kept);
        self.place = self.settings().shelf.put(kept);
        if stop.is_ok() {
            // What fails here fails again in the next drive too.
            let _ = self.tend_summaries().await;
        }
        // Whoever asked to cancel learns that the turn is over. What fails here fails again in the next drive, and what
        // this one came to must not be lost for it.
        if let (Ok(inbox), true) = (self.look_at_inbox().await, stop.is_ok()) {
            let _ = self.take_old_cancels(inbox).await;
        }
        self.keep_snapshot().await;
        stop
    }

    /// Makes a drive ready: puts aside what was meant for an earlier one, and brings to its end what has to end first. Until
    /// the drive is cancelled that may wait for another process. Returns whether nothing waits in the inbox; it is not read
    /// if it was read just now, and nothing waited.
    pub(crate) async fn ready(&mut self, cancel: &Cancel, nothing_waits: bool) -> Result<bool, RuntimeError> {
        self.catch_up_or_abandon().await?;
        self.cancel = Some(cancel.clone());
        let mut nothing_waits = nothing_waits;
        if !nothing_waits {
            // What was meant for a turn that is long over must not end this one. What came since is meant for this one: its
            // sender saw a writer.
            let inbox = self.read_inbox().await?;
            nothing_waits = inbox.is_empty();
            self.take_old_cancels(inbox).await?;
        }
        // What follows may look at a whole folder, or wait for another process.
        {
            let restores = self.state.decision.run.as_ref().is_some_and(|run| run.restoring.is_some());
            nothing_waits &= open_span(&self.view()).is_none() && !restores;
        }
        self.look_late().await?;
        if self.await_rollback().await? {
            match self.do_rest_of_rollback().await {
                // It was given up, which is recorded and told: nothing stands in the way of what comes now.
                Err(RuntimeError::Workspace(_)) if !self.state.decision.is_open() => {}
                ended => drop(ended?),
            }
        }
        Ok(nothing_waits)
    }

    async fn go_on(&mut self, cancel: &Cancel, mut nothing_waits: bool) -> Result<Stop, RuntimeError> {
        let mut spent = Spent { turns: 0, tokens: 0, nudged: 0, waiting: None, since: Instant::now() };
        loop {
            if spent.since.elapsed() >= self.settings().limits.time {
                return Ok(Stop::Limit(Limit::Time));
            }
            let seen = match cancel.is_cancelled() {
                _ if std::mem::take(&mut nothing_waits) => None,
                true => {
                    self.take_close_letters().await?;
                    None
                }
                false => self.take_letters(cancel).await?,
            };
            if let Some(stop) = self.take_closed() {
                return Ok(stop);
            }
            self.tend_summaries().await?;
            self.tend_proposals().await?;
            self.bind_decided().await?;
            let facts = Facts {
                cancelled: cancel.is_cancelled(),
                nudged: spent.nudged,
                waited: Waiting::waited(spent.waiting.as_ref()),
            };
            match self.find_out(|view, asked| turn::next(view, asked, &facts)).await? {
                Step::Answer(answers) => self.answer_calls(answers).await?,
                Step::Run(calls) => self.run_calls(calls, cancel).await?,
                Step::Settle => {
                    spent.nudged = 0;
                    self.perform(settle).await?;
                }
                Step::Nudge(text) => {
                    let full = self.state.head_message().stop == Some(StopReason::ContextWindow);
                    if full && spent.nudged == 0 {
                        let tokens = self.make_room_for_more(cancel).await?;
                        spent.tokens = spent.tokens.saturating_add(tokens);
                        if cancel.is_cancelled() {
                            continue;
                        }
                    }
                    spent.nudged += 1;
                    self.perform(|view, _| say(view, &text)).await?;
                }
                Step::OpenRun => self.perform(begin_run).await?,
                Step::Wait(until) => {
                    let end = spent.since.checked_add(self.settings().limits.time);
                    self.wait_to_ask(until, &mut spent.waiting, end, seen, cancel).await?;
                }
                Step::Request => {
                    // What is asked again is the same turn.
                    let first = spent.turns == 0 || self.state.tries.is_first();
                    if let Some(limit) = self.limit(&spent).filter(|limit| first || *limit != Limit::Turns) {
                        return Ok(Stop::Limit(limit));
                    }
                    spent.turns += u32::from(first);
                    let tokens = match self.ask(spent.turns, cancel).await {
                        Err(fault) if self.learn(&fault).await? => {
                            spent.turns = spent.turns.saturating_sub(u32::from(first));
                            0
                        }
                        Err(fault) => match self.make_room(fault, cancel).await {
                            Err(fault) if self.shrink(&fault).await? => 0,
                            made => made?,
                        },
                        asked => asked?,
                    };
                    spent.tokens = spent.tokens.saturating_add(tokens);
                }
                Step::Compact(plan) => {
                    if let Some(limit) = self.limit(&spent) {
                        return Ok(Stop::Limit(limit));
                    }
                    spent.tokens = spent.tokens.saturating_add(self.compact_span(plan, cancel).await?);
                }
                Step::Conclude => return self.conclude().await,
                Step::Rest => return Ok(self.rest(cancel)),
                Step::Gate(place, asked) => {
                    self.perform(|view, _| stage_gate(view, &place, &asked)).await?;
                }
                Step::Resolve(place, arguments) => self.resolve_call(&place, &arguments, cancel).await?,
                Step::Work(work) => self.work(work).await?,
                Step::Ask(waiting) => {
                    if let Some(stop) = self.ask_person(waiting, seen, cancel).await? {
                        return Ok(stop);
                    }
                }
            }
        }
    }

    fn rest(&self, cancel: &Cancel) -> Stop {
        if cancel.is_cancelled() {
            return Stop::Cancelled;
        }
        let head = self.state.head_message();
        match head.stop {
            Some(StopReason::MaxTokens | StopReason::ContextWindow | StopReason::Pause)
                if self.state.decision.is_open() =>
            {
                Stop::Limit(Limit::Output)
            }
            _ => Stop::Idle,
        }
    }

    fn limit(&self, spent: &Spent) -> Option<Limit> {
        let limits = &self.settings().limits;
        if spent.turns >= limits.turns {
            return Some(Limit::Turns);
        }
        (spent.tokens >= limits.tokens).then_some(Limit::Tokens)
    }

    /// Asks the model and records its reply, whole or as far as it came. Returns the tokens that it cost.
    async fn ask(&mut self, turn: u32, cancel: &Cancel) -> Result<u64, RuntimeError> {
        let held = self.perform(|view, _| hold(view)).await?;
        self.load_last_reply().await?;
        self.note_break().await?;
        self.note_asked().await?;
        let provider = self.settings().provider.clone();
        let binds = binds_reasoning(&self.state, &self.settings().setup);
        let settings = &self.agent.settings;
        let rendering = Rendering::of(&mut self.kept.rendering, &settings.setup.revert, binds);
        let prompt = prompt::build(&self.state, rendering, &settings.setup, held, &self.kept.sent);
        let (sent, asked) = (prompt.request.messages.clone(), prompt.asked);
        let background = provider.answers_in_background(&prompt.request);
        self.tell(&Event::Asking { turn, messages: sent.len(), repairs: prompt.repairs });
        let mut fold = Fold::new(provider.origin().clone());
        let (began, mut within) = (Instant::now(), 0);
        let cancelled = tokio::select! {
            biased;
            () = cancel.cancelled() => Ok(true),
            asked = self.asked_to_end() => {
                // What was streamed until then cannot be kept: that is for whoever writes now.
                asked.map_err(|by| self.lost(by))?;
                cancel.cancel();
                Ok(true)
            }
            received = self.receive(prompt.request, &mut fold, &mut within) => received.map(|()| false),
        };
        if matches!(cancelled, Ok(false)) {
            self.on_trial.clear();
            self.cuts = 0;
        }
        let (wants, unread) = (fold.wants().to_vec(), fold.unread().to_vec());
        let (remark, id) = (fold.remark().map(str::to_owned), fold.id().map(str::to_owned));
        let stopped = matches!(cancelled, Ok(true));
        let (message, fault) = match cancelled {
            Ok(false) => (Some(fold.finish()), None),
            Ok(true) => (fold.cut(StopReason::Cancelled), None),
            Err(fault) => (fold.cut(StopReason::Cut), Some(fault)),
        };
        self.kept.sent = sent.clone();
        let came = Came {
            message,
            fault,
            cancelled: stopped,
            wants,
            unread,
            remark,
            id,
            background,
            behind: asked,
            sent,
            took: began.elapsed(),
            within,
            chance: chance(),
        };
        let plan = take_reply(&self.view(), came)?;
        self.write(plan, None).await?
    }

    /// Takes an answer in as it comes. `within` counts the attempts that the provider itself made in vain.
    async fn receive(
        &self,
        request: Request,
        fold: &mut Fold,
        within: &mut u32,
    ) -> Result<(), ProviderError> {
        let provider = &self.settings().provider;
        let fetched = match self.state.tries.answer(provider.origin(), self.state.tree.head()) {
            Some(id) => provider.fetch(&request, id).await?,
            None => None,
        };
        // What is sent in its place, should it be gone.
        let mut instead = None;
        let mut reply = match fetched {
            Some(reply) => {
                instead = Some(request);
                reply
            }
            None => provider.send(request).await?,
        };
        loop {
            let event = match reply.next().await {
                // It is not kept any more, or never was.
                Err(fault) if fault.kind() == Some(ErrorKind::NotFound) => match instead.take() {
                    Some(request) => {
                        reply = provider.send(request).await?;
                        continue;
                    }
                    None => return Err(fault),
                },
                event => event?,
            };
            let Some(event) = event else { return Ok(()) };
            *within += u32::from(matches!(event, trunkline_providers::Event::Retrying { .. }));
            fold.push(&event);
            self.tell(&Event::Stream(event));
        }
    }

    /// Records results of calls that did not run.
    pub(crate) async fn answer_calls(
        &mut self,
        answers: Vec<(CallPlace, String)>,
    ) -> Result<(), RuntimeError> {
        let plan = answer(&self.view(), answers);
        self.write(plan, None).await
    }
}
