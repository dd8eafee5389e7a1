//! What is told when a drive has ended: how it did, what waits, what it cost, and what can be typed next.

use trunkline_message_tree::{Author, Usage};
use trunkline_runtime::decision_objects::{Decision, Verdict};
use trunkline_runtime::resolve_queue::{ActorKind, ProposalId};
use trunkline_runtime::{GivenTask, Limit, Session, Stop};

use crate::desk::place::Place;
use crate::desk::task::more_of;
use crate::reading::session::Reading;
use crate::shown::usage::cost;
use crate::shown::verdict::{outcome, short_commit};
use crate::shown::{close_request, plan, proposal};
use crate::term::fault::Fault;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::{shell, text};

/// A drive that has ended, with what the next commands need.
pub(crate) struct Ended<'a> {
    pub(crate) place: &'a Place,
    /// How the session is called in commands.
    pub(crate) name: &'a str,
    /// The flags with which a command goes on under the same terms.
    pub(crate) again: String,
    /// The same without how much it may take.
    pub(crate) unbounded: String,
    /// The flag of what is recorded or played.
    pub(crate) tape: String,
    /// Where the agent works.
    pub(crate) folder: Option<&'a str>,
    /// Whether a person was asked at the terminal.
    pub(crate) asks: bool,
    /// Whether nothing is told but what waits.
    pub(crate) quiet: bool,
    /// What it has cost, if a model was asked.
    pub(crate) usage: Option<Usage>,
}

impl Ended<'_> {
    /// Tells how it ended. `task` is the one that is still open, `account` what the recording says of itself.
    pub(crate) fn tell(
        &self,
        session: &Session,
        stop: &Stop,
        task: Option<&GivenTask>,
        account: Option<&str>,
    ) {
        let name = self.name;
        if self.quiet && !matches!(stop, Stop::Waiting(_)) {
            return;
        }
        let mut end = String::from(if *stop == Stop::Idle { "" } else { "\n" });
        let mut next = Vec::new();
        let resume = self.place.command(&format!("resume {name}{}{}", self.again, self.tape));
        match stop {
            Stop::Waiting(_) if close_request::waiting(session.proposals()).is_some() => {
                if let Some(entry) = close_request::waiting(session.proposals()) {
                    end.push_str(&paint(YELLOW, close_request::headline(entry)));
                    // Whoever was asked has it before their eyes.
                    let limit = if self.asks { 0 } else { usize::MAX };
                    end.push_str(&proposal::preview(entry, limit).0);
                    let typed = plan::commands(entry.id, name);
                    next.extend(typed.map(|(what, command)| (what, self.place.command(&command))));
                }
                next.push(("go on", resume.clone()));
            }
            Stop::Waiting(waiting) => {
                end.push_str(&paint(YELLOW, "waiting for you; nothing of this is done yet\n"));
                // A command keeps the turn open, and edits of that turn wait with it.
                let beside: Vec<ProposalId> =
                    waiting_for_person(session).filter(|id| !waiting.contains(id)).collect();
                end.push_str(&listed(session, waiting.iter().chain(&beside)));
                if let Some(id) = waiting.first() {
                    next.extend(self.decide(*id));
                }
                next.push(("go on", resume.clone()));
            }
            Stop::Cancelled => {
                end.push_str(&paint(YELLOW, "cancelled; what the model had written is kept\n"));
                let waiting: Vec<ProposalId> = waiting_for_person(session).collect();
                if let Some(id) = waiting.first() {
                    end.push_str(&paint(YELLOW, "waiting for you; nothing of this is done yet\n"));
                    end.push_str(&listed(session, &waiting));
                    next.extend(self.decide(*id));
                }
                next.push(("go on", resume.clone()));
            }
            Stop::Limit(limit) => {
                let reached = match limit {
                    Limit::Turns => "the limit of turns is reached (--max-turns)",
                    Limit::Tokens => "the limit of tokens is reached (--max-tokens)",
                    Limit::Time => "the time is up",
                    Limit::TaskTurns => "the task has had its turns in all its runs (--max-turns)",
                    Limit::TaskTokens => "the task has had its tokens in all its runs (--max-tokens)",
                    Limit::Output => "the model's replies keep running into --max-output-tokens",
                    _ => "a limit is reached",
                };
                end.push_str(&paint(YELLOW, &format!("{reached}; the run is open\n")));
                // The bound that was just reached would only be reached again.
                let more = task.and_then(more_of);
                let typed = more.map(|more| format!("resume {name}{}{more}{}", self.unbounded, self.tape));
                next.push(("go on", typed.map_or(resume.clone(), |typed| self.place.command(&typed))));
            }
            _ => {}
        }
        if !matches!(stop, Stop::Waiting(_)) {
            next.push(("see it", self.place.command(&format!("tree {}", self.name))));
        }
        if matches!(stop, Stop::Decided(_) | Stop::Idle) {
            next.push(("say more", format!("{resume} -p \"…\"")));
        }
        if let Some(task) = task.filter(|_| matches!(stop, Stop::Decided(_))) {
            let title = text::one_line(&task.title, 60);
            end.push_str(&format!("the task “{title}” stays open until you end it\n"));
            next.push(("it is done", self.place.command(&format!("decide done -s {name}"))));
        }
        if let Stop::Decided(decision) = stop {
            if decision.has_changes() {
                next.push(("why", self.place.command(&format!("decisions {}", decision.id()))));
            }
            if let Some(look) = self.look_at(decision) {
                next.push(("look at it", look));
            }
        }
        if let Some(usage) = &self.usage {
            end.push_str(&paint(DIM, &format!("{}\n", cost(*usage))));
        }
        end.push_str(account.unwrap_or_default());
        end.push_str(&paint(DIM, &format!("session {name} in {}\n", self.place)));
        let width = next.iter().map(|(what, _)| what.len() + 1).max().unwrap_or(0).max(9);
        for (what, command) in next {
            end.push_str(&paint(DIM, &format!("  {what:<width$}{command}\n")));
        }
        tell(&end);
    }

    /// Returns what can be typed about a proposal.
    fn decide(&self, id: ProposalId) -> [(&'static str, String); 2] {
        let command = |act: &str| self.place.command(&format!("resolve {id}{act} -s {}", self.name));
        [("look", command("")), ("decide", command(" apply"))]
    }

    /// Says that a session has no prompt: whoever began it was killed before that was written.
    pub(crate) fn nothing_said(&self, reading: &Reading) -> Fault {
        let fault = Fault::new("there is nothing to go on from: no prompt was recorded in this session");
        let fault = match reading.info.title.is_empty() {
            true => fault,
            false => fault.line(format!("it is called “{}”", text::one_line(&reading.info.title, 80))),
        };
        // What else was typed is not recorded either: a plan may have been demanded.
        let delete = self.place.command(&format!("delete {}", self.name));
        fault.hint("its process was stopped before that: type the same `trunkline run …` again, with its --plan and --task")
            .hint(format!("`{delete}` removes this one"))
    }

    /// Says why there was nothing to do, and what there is instead.
    pub(crate) fn nothing_to_do(&self, reading: &Reading) -> String {
        let tree = reading.tree();
        if !tree.trunk().messages().any(|message| message.author == Author::Person) {
            return "nothing to do: the head is before your prompt; say something with -p".to_owned();
        }
        match reading.verdicts().iter().rfind(|(after, _)| *after == tree.head()) {
            Some((_, decision)) => {
                let look = self
                    .look_at(decision)
                    .unwrap_or_else(|| self.place.command(&format!("tree {}", self.name)));
                let with = if matches!(decision.verdict(), Verdict::Commit { .. }) { " with " } else { ": " };
                format!("nothing to do: this run ended{with}{}; see it with `{look}`", outcome(decision))
            }
            None => "nothing to do: the model has answered; say more with -p".to_owned(),
        }
    }

    /// Returns the command that shows the commit of a verdict, if it has one.
    fn look_at(&self, decision: &Decision) -> Option<String> {
        let Verdict::Commit { commit, .. } = decision.verdict() else { return None };
        let folder = self.folder?;
        Some(format!("git -C {} show {}", shell::quoted(folder), short_commit(commit)))
    }
}

/// The proposals that nobody but a person may decide on, and that wait for that.
fn waiting_for_person(session: &Session) -> impl Iterator<Item = ProposalId> {
    let waits = session.proposals().unsettled().filter(|entry| entry.awaits_decision());
    waits.filter(|entry| !entry.may_approve(ActorKind::Model)).map(|entry| entry.id)
}

/// Names proposals, a line each.
fn listed<'a>(session: &Session, ids: impl IntoIterator<Item = &'a ProposalId>) -> String {
    let label = |id: &ProposalId| {
        let entry = session.proposals().get(*id);
        entry.map(|entry| text::one_line(&entry.proposal.label, 100)).unwrap_or_default()
    };
    ids.into_iter().map(|id| format!("  {} {}\n", paint(BOLD, &id.to_string()), label(id))).collect()
}
