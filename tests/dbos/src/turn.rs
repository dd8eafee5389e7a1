//! A turn as a workflow: suspended at proposals, resumed by verdicts.
//!
//! DBOS runs the function again from its beginning after a kill and gives it what its finished steps have answered. A drive is such
//! a step. One that was cut off is done again, so it first looks how far the session is: the prompt is given if no message after
//! the node for which it was meant has its words, and a verdict if its proposal still waits for that attempt.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use trunkline_runtime::message_tree::{NodeId, Role};
use trunkline_runtime::providers::{Request, Scripted, Turn as Reply};
use trunkline_runtime::resolve_queue::{Attempt, ProposalId, State};
use trunkline_runtime::session_store::{PostgresStore, SessionId};
use trunkline_runtime::{Agent, Cancel, Said, Session, Stop};

use crate::Failed;

/// The name of the workflow.
pub const WORKFLOW: &str = "turn";
/// Where turns wait for a worker.
pub const QUEUE: &str = "turns";
/// The name of the event that says what waits for a person.
pub const ASKED: &str = "asked";

/// How long one call waits for a verdict; then it waits again.
const PATIENCE: Duration = Duration::from_secs(24 * 60 * 60);

/// What is to be done.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Turn {
    /// The session, which is there already.
    pub session: String,
    /// The node at which it stood when the words were said.
    pub at: NodeId,
    /// The words.
    pub words: String,
}

impl Turn {
    /// Returns the id of its workflow: a turn that is asked for twice, for the same session at the same node, is one.
    pub fn key(&self) -> String {
        format!("{}/{}", self.session, self.at)
    }
}

/// What waits for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The proposal in its session.
    pub proposal: u32,
    /// The attempt that an approval begins. If it fails, the next one is asked for on its own.
    pub attempt: u32,
    /// What would be done.
    pub label: String,
}

impl Asked {
    /// Returns on which topic its verdict is sent. It is the idempotency key of that message as well, with the turn before it.
    pub fn topic(&self) -> String {
        Attempt { proposal: ProposalId(self.proposal), number: self.attempt }.to_string()
    }
}

/// Where a drive has stopped.
#[derive(Debug, Serialize, Deserialize)]
enum Stopped {
    Answered(String),
    Waits(Vec<Asked>),
}

/// What a drive needs; the same in every worker.
pub struct Desk {
    /// The agent.
    pub agent: Agent,
    /// Where its sessions are.
    pub store: Arc<PostgresStore>,
}

/// Runs a turn to its answer; the workflow.
///
/// # Errors
///
/// [`dbos::Error`] if the session, or its model, fails.
pub async fn turn(desk: &Desk, turn: Turn) -> dbos::Result<String, Failed> {
    let mut stopped = dbos::step_with("drive", often(), || async { Ok(desk.prompt(&turn).await?) }).await?;
    loop {
        let asked = match stopped {
            Stopped::Answered(answer) => return Ok(answer),
            Stopped::Waits(asked) => asked,
        };
        dbos::set_event(ASKED, &asked).await?;
        let mut answered = Vec::new();
        for one in asked {
            // Here it is suspended, for days if need be: nothing is held, and no process has to live.
            let said = loop {
                let topic = one.topic();
                match dbos::recv::<Said, Failed>(Some(&topic), PATIENCE).await? {
                    Some(said) => break said,
                    None => continue,
                }
            };
            answered.push((one, said));
        }
        stopped =
            dbos::step_with("drive", often(), || async { Ok(desk.decide(&turn, &answered).await?) }).await?;
    }
}

/// A store that is busy, or was away for a moment, is tried again.
fn often() -> dbos::StepOptions<Failed> {
    dbos::StepOptions { max_attempts: 10, ..dbos::StepOptions::default() }
}

impl Desk {
    async fn prompt(&self, turn: &Turn) -> Result<Stopped, Failed> {
        let mut session = self.take_over(&turn.session).await?;
        let stop = match is_said(&session, turn) {
            true => session.resume(&Cancel::new()).await,
            false if session.tree().head() == turn.at => {
                session.prompt(turn.words.as_str(), &Cancel::new()).await
            }
            false => return Err(Failed(format!("the session has moved on from {}", turn.at))),
        };
        stopped(&session, &stop.map_err(Failed::because)?)
    }

    async fn decide(&self, turn: &Turn, answered: &[(Asked, Said)]) -> Result<Stopped, Failed> {
        let mut session = self.take_over(&turn.session).await?;
        for (asked, said) in answered {
            let id = ProposalId(asked.proposal);
            let waits = session.proposals().get(id).is_some_and(|entry| {
                matches!(entry.state, State::Proposed | State::Failed) && entry.attempts + 1 == asked.attempt
            });
            if waits {
                session.decide_with(id, said.clone()).await.map_err(Failed::because)?;
            }
        }
        let stop = session.resume(&Cancel::new()).await.map_err(Failed::because)?;
        stopped(&session, &stop)
    }

    /// DBOS gives a workflow to one worker. The one that had it before may still live: it can write nothing from here on.
    async fn take_over(&self, session: &str) -> Result<Session, Failed> {
        let id = SessionId::parse(session).map_err(Failed::because)?;
        self.agent.take_over(self.store.clone(), &id).await.map_err(Failed::because)
    }
}

/// Whether a drive that was cut off had recorded the words already.
fn is_said(session: &Session, turn: &Turn) -> bool {
    let tree = session.tree();
    let Ok(path) = tree.ancestry(tree.head()) else { return false };
    path.take_while(|(id, _)| *id > turn.at)
        .any(|(_, node)| node.message().role == Role::User && node.message().text() == turn.words)
}

fn stopped(session: &Session, stop: &Stop) -> Result<Stopped, Failed> {
    match stop {
        Stop::Decided(_) | Stop::Idle => Ok(Stopped::Answered(session.answer())),
        Stop::Waiting(waiting) => {
            let asked = waiting.iter().filter_map(|id| session.proposals().get(*id)).map(|entry| Asked {
                proposal: entry.id.0,
                attempt: entry.attempts + 1,
                label: entry.proposal.label.clone(),
            });
            Ok(Stopped::Waits(asked.collect()))
        }
        stop => Err(Failed(stop.to_string())),
    }
}

/// A model that wants two letters sent, one after the other, and then says so. One that was dropped it asks for again.
pub(crate) fn model() -> Scripted {
    Scripted::new("scripted", "clerk", |request: &Request| {
        let told =
            |words: &str| request.messages.iter().filter(|message| message.text().contains(words)).count();
        let asked = request.messages.iter().flat_map(|message| message.calls()).count();
        let dropped = told("It is dropped");
        let call = |name: &str| {
            let id = format!("{name}{dropped}");
            Reply::new().call(id, "send_letter", &json!({ "to": name, "text": "The parcel is on its way." }))
        };
        match asked - dropped.min(asked) {
            0 => call("ada"),
            1 => call("grace"),
            _ => Reply::say("The letters are on their way."),
        }
    })
}
