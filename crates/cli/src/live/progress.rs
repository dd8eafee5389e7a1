//! What goes on, told on stderr while it goes.
//!
//! One line for everything that has an end, and the model's words as they come. The observer runs on the driver's own
//! time and two of its calls never overlap, but it may be called from any thread.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use trunkline_message_tree::{
    Author, Message, MessageTree, MoveId, MoveKind, NodeId, Role, StopReason, Usage,
};
use trunkline_providers::Event as Streamed;
use trunkline_runtime::resolve_queue::{Change, Event as Proposed, Notice, ProposalId, Queue};
use trunkline_runtime::sanitize::{Repair, RepairKind};
use trunkline_runtime::{Attempt, Cause, CloseRequest, Event, HookEnded, PlanRecord, revert};

use crate::live::unbound;
use crate::shown::call::{finished, label_of, shown_call};
use crate::shown::changes::{self, staged};
use crate::shown::close_request::needs_its_name;
use crate::shown::files::{named_files, still_staged};
use crate::shown::moves::{merged, moved_line, pruned, reverted, unread};
use crate::shown::plan::NEEDED;
use crate::shown::verdict::verdict;
use crate::shown::{binding, rule, step_back};
use crate::term::limits::duration;
use crate::term::style::{self, BOLD, CYAN, DIM, MAGENTA, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{self, one_line};

/// How much of a proposal's diff is shown in passing.
const DIFF_LINES: usize = 12;
/// The provider of models that only play.
const SCRIPTED: &str = "scripted";
/// Said while a rollback is left to whoever was at it when the session was taken over.
pub(crate) const AWAITING_ROLLBACK: &str = "… an earlier writer was putting files back; waiting until it has ended or its time is over, a minute at most";

/// Tells people what goes on, and counts what it costs.
pub(crate) struct Progress {
    told: Mutex<Told>,
    unbound: unbound::ToldUnbound,
    quiet: bool,
    diffs: bool,
}

type Calls = HashMap<(NodeId, u32), (String, String)>;

#[derive(Default)]
struct Told {
    /// Whether the cursor stands behind streamed text.
    in_line: bool,
    /// What is said before anything else, unless nothing happens at all.
    opening: String,
    /// Whether a scripted model spoke: its tokens cost nobody anything.
    scripted: bool,
    thinking: bool,
    /// Whether the last reply was streamed to its end.
    answered: bool,
    /// What the service said of the end of the reply.
    remark: Option<String>,
    /// How many attempts to ask the model came to nothing.
    failed_attempts: u32,
    /// Whether it was just said how long the model is waited for.
    told_wait: bool,
    /// Tool and arguments of the calls that were seen.
    calls: Calls,
    /// What people are shown for tools, where that does not follow from their names.
    labels: HashMap<String, String>,
    usage: Usage,
    /// The steps back whose summary is still asked for.
    summaries: HashSet<MoveId>,
    /// The proposals that are plans, or requests to end the run.
    plans: HashSet<ProposalId>,
    /// The results that were told not to fit.
    cuts: HashSet<String>,
}

impl Progress {
    /// Returns one for a run: `quiet` only counts; `asks` leaves diffs to whoever asks about them.
    pub(crate) fn of_run(quiet: bool, asks: bool) -> Arc<Self> {
        Arc::new(Progress {
            told: Mutex::default(),
            unbound: unbound::ToldUnbound::default(),
            quiet,
            diffs: !asks,
        })
    }

    /// Returns what an agent's `on_event` takes.
    pub(crate) fn observer(self: &Arc<Self>) -> impl Fn(&Event) + Send + Sync + use<> {
        let progress = Arc::clone(self);
        move |event| progress.take(event)
    }

    /// Adds to what is said before the first thing that happens.
    pub(crate) fn begin_with(&self, words: &str) {
        if !self.quiet {
            self.told().opening.push_str(words);
        }
    }

    /// Says how it begins, unless that was said.
    pub(crate) fn open(&self) {
        let opening = std::mem::take(&mut self.told().opening);
        if !opening.is_empty() {
            tell(&opening);
        }
    }

    /// Makes the calls of an open turn known, which another process may have recorded.
    pub(crate) fn know(&self, tree: &MessageTree) {
        if let Some((id, node)) = tree.trunk().nodes().next_back() {
            remember(&mut self.told().calls, id, node.message());
        }
    }

    /// Makes the plans known that were proposed before.
    pub(crate) fn know_plans(&self, proposals: &Queue<Value>) {
        let plans = proposals.unsettled().filter(|entry| needs_its_name(entry)).map(|entry| entry.id);
        self.told().plans.extend(plans);
    }

    /// Returns what the replies since the start have cost, as far as their providers said.
    pub(crate) fn usage(&self) -> Usage {
        self.told().usage
    }

    /// Counts what was asked beside the conversation.
    pub(crate) fn spent(&self, usage: &Usage) {
        add(&mut self.told().usage, *usage);
    }

    /// Returns how many summaries are still asked for.
    pub(crate) fn summaries_asked(&self) -> usize {
        self.told().summaries.len()
    }

    /// Returns how many attempts to ask the model came to nothing since the start.
    pub(crate) fn failed_attempts(&self) -> u32 {
        self.told().failed_attempts
    }

    /// Returns whether the usage says what somebody pays.
    pub(crate) fn has_cost(&self) -> bool {
        let told = self.told();
        !told.scripted && told.usage.input_tokens + told.usage.output_tokens > 0
    }

    /// Returns whether the last words of the model were shown as they came.
    pub(crate) fn has_shown_answer(&self) -> bool {
        !self.quiet && self.told().answered
    }

    /// Ends a line of streamed text that is still open.
    pub(crate) fn end_line(&self) {
        let mut told = self.told();
        if std::mem::take(&mut told.in_line) && !self.quiet {
            tell("\n");
        }
        told.thinking = false;
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        // Numbers and flags are whole after any panic.
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says something on a line of its own.
    pub(crate) fn line(&self, line: &str) {
        self.end_line();
        if !self.quiet {
            tell(&format!("{line}\n"));
        }
    }

    fn take(&self, event: &Event) {
        self.open();
        match event {
            Event::Stream(streamed) => self.stream(streamed),
            Event::Message { node, message, .. } => self.message(*node, message),
            Event::AttemptFailed { attempt, wait } => self.attempt(attempt, *wait),
            // Of an attempt in this process it was said right before.
            Event::AwaitingModel { .. } if std::mem::take(&mut self.told().told_wait) => {}
            Event::AwaitingModel { wait } => {
                let told = format!("… the model is asked again in {}", duration(*wait));
                self.line(&paint(YELLOW, &told));
            }
            Event::CallStarted { tool, label, arguments, .. } => {
                if *label != label_of(tool) {
                    self.told().labels.insert(tool.clone(), label.clone());
                }
                if tool == "run_command" {
                    self.line(&format!("{} {}", paint(DIM, "…"), shown_call(tool, label, arguments)));
                }
            }
            Event::CallFinished { call, result, elapsed } => {
                let (tool, arguments) =
                    self.told().calls.get(&(call.node, call.index)).cloned().unwrap_or_default();
                let label = self.told().labels.get(&tool).cloned().unwrap_or_else(|| label_of(&tool));
                self.line(&finished((&tool, &label), &arguments, result, *elapsed));
            }
            Event::Proposal(proposed) => self.proposal(proposed),
            Event::DiscardHook { proposal, ended: HookEnded { failed: Some(failed), .. } } => {
                let told = format!("✗ {proposal}: its tool did not clean up: {}", one_line(failed, 200));
                self.line(&paint(YELLOW, &told));
            }
            // Its writer was taken over, or is gone; nobody here can tell which.
            Event::AwaitingApply { attempt, .. } => {
                let id = attempt.proposal;
                let told = format!(
                    "… {id} was begun by an earlier writer; waiting until it has ended or its time is over"
                );
                self.line(&paint(YELLOW, &told));
            }
            Event::AwaitingRollback { .. } => self.line(&paint(YELLOW, AWAITING_ROLLBACK)),
            Event::Choice(notice) => {
                if let Some(line) = choice(notice) {
                    self.line(&paint(YELLOW, &line));
                }
            }
            Event::Rule(event) => {
                if let Some(line) = rule::event(event) {
                    self.line(&line);
                }
            }
            Event::Reverted(record) => self.line(&reverted(record)),
            Event::RevertUnread(request) => self.line(&unread(request)),
            Event::SummaryAsked { head_move } => {
                self.told().summaries.insert(*head_move);
                let told = format!("… asking what came of the branch that {head_move} left");
                self.line(&paint(DIM, &told));
            }
            Event::LateSummary(note) => {
                self.told().summaries.remove(&note.made_by);
                let told = format!("⤺ what {} left came to: {}", note.made_by, one_line(&note.text(), 300));
                self.line(&paint(MAGENTA, &told));
            }
            Event::SummaryFailed { head_move, reason } => {
                self.told().summaries.remove(head_move);
                let why = one_line(reason, 200);
                let told =
                    format!("⤺ no summary of what {head_move} left: {why}; the note says what was called");
                self.line(&paint(YELLOW, &told));
            }
            Event::Merged(record) => self.line(&merged(record)),
            Event::MergeRefused(refused) => {
                self.line(&paint(YELLOW, &format!("⤺ not merged: {}", one_line(&refused.reason, 300))));
            }
            Event::Pruned(record) => self.line(&pruned(record)),
            Event::StepBack(revert::ProposalEvent::Made(open)) => {
                self.line(&paint(YELLOW, &step_back::shown(open)))
            }
            Event::Learned { wants, refused: true } => {
                self.line(&paint(DIM, &format!("· the service wants {wants}; it is asked so from now on")));
            }
            Event::Unlearned { wants } => {
                let told = format!("· it did not help to send {wants}; that is not believed any more");
                self.line(&paint(DIM, &told));
            }
            Event::Asking { repairs, .. } => self.cuts(repairs),
            Event::Compacted(made) => {
                let (from, to) = (made.plan.from, made.plan.to);
                let count = made.plan.covered;
                let told = format!("⤓ {} stands for {from} to {to} ({count} messages)", made.node);
                self.line(&paint(MAGENTA, &told));
            }
            Event::CompactionFailed { reason } => {
                self.line(&paint(YELLOW, &format!("⤓ not summed up: {}", one_line(reason, 200))));
            }
            Event::HeadMoved(moved) => match moved.kind {
                MoveKind::Undo { .. } => self.line(&moved_line("undone", moved.from, moved.to)),
                MoveKind::Redo { .. } => self.line(&moved_line("done again", moved.from, moved.to)),
                MoveKind::Fork => self.line(&moved_line("gone", moved.from, moved.to)),
                // Told with its reason as a revert, or by what follows as a merge.
                _ => {}
            },
            Event::PlanAsked => self.line(&paint(DIM, &format!("· {NEEDED}"))),
            Event::Decided(decision) => self.line(&verdict(decision)),
            Event::Bound { .. } if self.quiet => {}
            Event::NotBound { .. } if !self.unbound.is_news(event) => {}
            // That it is not was asked for, so it is said also to those who want to hear of nothing else.
            Event::Bound { .. } | Event::NotBound { .. } => {
                self.end_line();
                tell(&binding::told(event).unwrap_or_default());
            }
            Event::LeftAlone { files } => {
                let told = "left alone, changed by somebody else meanwhile";
                self.line(&paint(YELLOW, &named_files(told, files)));
            }
            // Whoever wants to hear of nothing else would find their next commit to take back what was done.
            Event::StillStaged { files } => {
                self.end_line();
                tell(&still_staged(files));
            }
            Event::TakenIn { files } => {
                let told = "changed during or after a command that was cut off, counted as this run's";
                self.line(&paint(YELLOW, &named_files(told, files)));
            }
            Event::LookFailed { why } => {
                let why = one_line(why, 200);
                let told =
                    format!("· until the folder can be looked at, all changes count as this run's: {why}");
                self.line(&paint(YELLOW, &told));
            }
            Event::LetterRefused { kind, reason } => {
                let told =
                    format!("a note ({}) had no effect: {}", one_line(kind, 20), one_line(reason, 200));
                self.line(&paint(YELLOW, &format!("✉ {told}")));
            }
            _ => {}
        }
    }

    /// Tells of results that do not fit the window, each once.
    fn cuts(&self, repairs: &[Repair]) {
        for repair in repairs {
            let RepairKind::ResultCut { call_id, bytes } = &repair.kind else { continue };
            let place = repair.at.node.map_or_else(|| call_id.clone(), |node| node.to_string());
            if self.told().cuts.insert(place.clone()) {
                let told = format!(
                    "✂ the result {place} does not fit the window: its middle is left out ({bytes} bytes)"
                );
                self.line(&paint(YELLOW, &one_line(&told, 200)));
            }
        }
    }

    fn stream(&self, streamed: &Streamed) {
        match streamed {
            Streamed::TextDelta(words) => {
                let mut told = self.told();
                let begins = !told.in_line || std::mem::take(&mut told.thinking);
                if begins && words.trim().is_empty() {
                    return;
                }
                (told.in_line, told.answered) = (true, true);
                drop(told);
                if !self.quiet {
                    let words = if begins { words.trim_start() } else { words.as_str() };
                    tell(&format!("{}{}", if begins { "\n" } else { "" }, text::safe_piece(words)));
                }
            }
            Streamed::ThinkingDelta(_) => {
                let told = self.told();
                if told.thinking || told.in_line {
                    return;
                }
                drop(told);
                self.line(&paint(DIM, "… thinking"));
                self.told().thinking = true;
            }
            Streamed::BlockDone => self.end_line(),
            Streamed::Unread { text, cause } => {
                let told = format!(
                    "· a part of the answer could not be read ({}): {}",
                    one_line(cause, 120),
                    one_line(text, 120)
                );
                self.end_line();
                self.line(&paint(YELLOW, &told));
            }
            Streamed::Started { .. } => self.told().remark = None,
            Streamed::Remark(words) => self.told().remark = Some(words.clone()),
            Streamed::Stopped(StopReason::Refusal) => {
                let remark = self.told().remark.take();
                if let Some(words) = remark {
                    let told = format!("· the model declined; the service says: {}", one_line(&words, 200));
                    self.end_line();
                    self.line(&paint(YELLOW, &told));
                }
            }
            Streamed::Retrying { attempt, wait, cause } => {
                let told = format!(
                    "↻ attempt {attempt} failed ({}); the next one in {}",
                    one_line(cause, 200),
                    duration(*wait)
                );
                self.line(&paint(YELLOW, &told));
                // The words above are void; the answer comes anew.
                self.told().answered = false;
            }
            _ => {}
        }
    }

    fn attempt(&self, attempt: &Attempt, wait: Option<Duration>) {
        self.end_line();
        {
            let mut told = self.told();
            // The words above are void; the answer comes anew.
            told.answered = false;
            told.failed_attempts = told.failed_attempts.saturating_add(1);
            told.told_wait = wait.is_some_and(|wait| !wait.is_zero());
        }
        let (words, number) = (one_line(&attempt.words, 200), attempt.attempt);
        let kept = attempt.node.map(|node| format!("; what came is kept as {node}")).unwrap_or_default();
        let told = match (attempt.cause, wait) {
            (Cause::Nothing, Some(_)) => {
                format!(
                    "the model's answer brought nothing ({words}){kept}; it is told so and asked once more"
                )
            }
            (_, Some(wait)) => {
                format!("attempt {number} failed ({words}){kept}; the next one in {}", duration(wait))
            }
            // What is told as an error says it.
            (_, None) if number == 1 && attempt.node.is_none() => return,
            (_, None) => format!("attempt {number} failed{kept}; it is the last one"),
        };
        self.line(&paint(YELLOW, &format!("↻ {told}")));
    }

    fn message(&self, node: NodeId, message: &Message) {
        match (message.role, message.author) {
            (Role::Assistant, _) => {
                self.end_line();
                let mut told = self.told();
                if let Some(usage) = message.usage {
                    add(&mut told.usage, usage);
                }
                told.scripted |= message.origin.as_ref().is_some_and(|origin| origin.provider == SCRIPTED);
                told.answered &= message.calls().next().is_none();
                remember(&mut told.calls, node, message);
            }
            (Role::User, Author::Person) => {
                self.line(&format!(
                    "{} {}",
                    paint(CYAN.bold(), "›"),
                    paint(BOLD, &one_line(&message.text(), 200))
                ));
            }
            // What the harness says is meant for the model, also where it says "you".
            (Role::User, Author::Harness) => {
                self.line(&paint(DIM, &format!("· to the model: {}", one_line(&message.text(), 160))));
            }
            (Role::User, _) => self.line(&paint(DIM, &format!("· {}", one_line(&message.text(), 160)))),
            _ => {}
        }
    }

    fn proposal(&self, event: &Proposed<Value>) {
        let id = event.proposal;
        if let Some(proposal) = staged(event) {
            if PlanRecord::of_proposal(proposal).is_some() || CloseRequest::of_proposal(proposal).is_some() {
                self.told().plans.insert(id);
            }
            let mut line = format!(
                "{} {} {}",
                paint(YELLOW, "±"),
                paint(BOLD, &id.to_string()),
                one_line(&proposal.label, 160)
            );
            if let (true, Some(diff)) = (self.diffs, &proposal.preview.diff) {
                let (diff, more) = style::diff(diff, "    ", DIFF_LINES);
                line.push_str(&format!("\n{}", diff.trim_end_matches('\n')));
                if more > 0 {
                    line.push_str(&paint(DIM, &format!("\n    … {more} more lines")));
                }
            }
            return self.line(&line);
        }
        // Of a plan, or of a request to end the run, nothing is done: that it was approved says all.
        let is_done = matches!(event.change, Change::Finished { .. }) && self.told().plans.contains(&id);
        if let Some(line) = changes::told(event).filter(|_| !is_done) {
            self.line(&line);
        }
    }
}

/// Tells what came of a turn that was held to a tool; nothing of one that called it, which its call tells, nor of what is
/// asked again.
fn choice(notice: &Notice) -> Option<String> {
    match notice {
        Notice::GaveUp { about } => {
            let ids: Vec<String> = about.iter().map(|attempt| attempt.proposal.to_string()).collect();
            Some(format!("· the model was asked often enough to decide on {}", one_line(&ids.join(", "), 80)))
        }
        Notice::Rejected { label, requeued: false, .. } => {
            Some(format!("· {} is dropped: it came to nothing", one_line(label, 80)))
        }
        _ => None,
    }
}

fn remember(calls: &mut Calls, node: NodeId, message: &Message) {
    for (index, call) in (0..).zip(message.calls()) {
        calls.insert((node, index), (call.name.clone(), call.arguments.clone()));
    }
}

fn add(total: &mut Usage, usage: Usage) {
    total.input_tokens += usage.input_tokens;
    total.output_tokens += usage.output_tokens;
    total.cache_read_tokens += usage.cache_read_tokens;
    total.cache_write_tokens += usage.cache_write_tokens;
    total.reasoning_tokens += usage.reasoning_tokens;
}
