//! A model that is brought to decide on what it proposed: nothing is written before, and then exactly that.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_message_tree::ToolSpec;
use trunkline_runtime::resolve_queue::{
    Effect, Entry, Fingerprint, Outcome as Applied, Policy, ProposalId, State,
};
use trunkline_runtime::{
    Access, Agent, Approval, Cancel, Event, Executor, Proposal, Session, Tool, ToolContext, ToolOutput,
};
use trunkline_session_store::MemoryStore;

use crate::checks::{Facts, Outcome, causes, ensure, turns};
use crate::endpoint::Endpoint;
use crate::weather::Weather;

/// Enough for a call.
const A_CALL: u32 = 64;
const P1: ProposalId = ProposalId(1);

/// The very next turn is held to the decision.
pub(crate) async fn at_once(at: &Endpoint) -> Outcome {
    let told = decided(at, Policy::AtOnce { turns: 3 }, None).await?;
    ensure(told.turns == 2, || format!("{} turns until it was decided", told.turns))?;
    Ok(Facts(told.to_string()))
}

/// It does something else first, and is then held to the decision.
pub(crate) async fn soft_first(at: &Endpoint) -> Outcome {
    let told = decided(at, Policy::default(), Some("get_weather")).await?;
    ensure(told.turns == 3, || format!("{} turns until it was decided", told.turns))?;
    Ok(Facts(told.to_string()))
}

const ASKED: &str = "Note the capital of France.";

/// What was counted on the way to a decision.
struct Told {
    turns: usize,
    demands: usize,
    state: State,
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} after {} turns, {} of them with a demand", self.state, self.turns, self.demands)
    }
}

/// Drives it until the proposal is decided; by the model, since nobody else is there.
async fn decided(at: &Endpoint, policy: Policy, strays_to: Option<&'static str>) -> Result<Told, String> {
    let notes = Notes::default();
    let (mut session, seen) = begin(at, &notes, policy, strays_to).await?;
    let stop = session.prompt(ASKED, &Cancel::new()).await.map_err(causes)?;
    let entry = session.proposals().get(P1).ok_or("nothing was proposed")?;
    let by = entry.decision.as_ref().map(|decision| decision.by.to_string());
    ensure(by.as_deref() == Some("model"), || format!("decided by {by:?}; it ended: {stop}"))?;
    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    let written = notes.written();
    match entry.state {
        State::Applied => {
            let wanted = entry.proposal.payload.as_str().unwrap_or_default();
            ensure(written == [wanted], || format!("{written:?} was written and {wanted:?} shown"))?;
        }
        State::Discarded => ensure(written.is_empty(), || format!("discarded, and {written:?} written"))?,
        other => return Err(format!("it is {other}; it ended: {stop}")),
    }
    ensure(seen.demands() == 1, || format!("{} demands", seen.demands()))?;
    Ok(Told { turns: seen.decided_after, demands: seen.demands(), state: entry.state })
}

/// What went over the wire.
#[derive(Default)]
struct Seen {
    asked: usize,
    demands: Arc<AtomicUsize>,
    decided_after: usize,
}

impl Seen {
    fn demands(&self) -> usize {
        self.demands.load(Ordering::Relaxed)
    }
}

async fn begin(
    at: &Endpoint,
    notes: &Notes,
    policy: Policy,
    strays_to: Option<&'static str>,
) -> Result<(Session, Arc<Mutex<Seen>>), String> {
    let mut provider = at.provider().map_err(|fault| fault.to_string())?;
    provider.strays_to = strays_to;
    let seen = Arc::new(Mutex::new(Seen { demands: Arc::clone(&provider.demands), ..Seen::default() }));
    let hears = Arc::clone(&seen);
    let mut agent = Agent::builder(provider)
        .system("You note what you are asked to.")
        .tool(notes.clone())
        .approval(Approval::Model)
        .choice_policy(policy)
        .max_output_tokens(A_CALL)
        .temperature(0.0)
        .limits(turns(6));
    if strays_to.is_some() {
        agent = agent.tool(Weather::default());
    }
    let agent = agent.on_event(move |event| {
        let mut seen = hears.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Asking { .. } => seen.asked += 1,
            Event::Resolved { .. } if seen.decided_after == 0 => seen.decided_after = seen.asked,
            _ => {}
        }
    });
    let agent = agent.build().map_err(|fault| fault.to_string())?;
    let session = agent.start(Arc::new(MemoryStore::new()), "notes", None).await.map_err(causes)?;
    Ok((session, seen))
}

/// A tool that proposes to write a word down.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<BTreeMap<String, String>>>);

impl Notes {
    fn written(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }
}

#[async_trait]
impl Tool for Notes {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new(
            "write_note",
            "Proposes to write a word down",
            json!({
                "type": "object",
                "properties": {"word": {"type": "string", "enum": ["Paris", "Rome", "Oslo"]}},
                "required": ["word"],
                "additionalProperties": false,
            }),
        )
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let word = arguments.get("word").and_then(Value::as_str).unwrap_or_default();
        let mut proposal = Proposal::new(format!("note {word}"), "write_note", json!(word));
        proposal.fingerprints = vec![Fingerprint::absent("note")];
        proposal.after = vec![Fingerprint::digest("note", word)];
        proposal.effect = Effect::Reversible;
        let mut output = ToolOutput::text(format!("This would be noted: {word}"));
        output.proposals.push(proposal);
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Notes {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let print = |subject: &String| match notes.get(subject) {
            Some(word) => Fingerprint::digest(subject, word),
            None => Fingerprint::absent(subject),
        };
        subjects.iter().map(print).collect()
    }

    async fn apply(&self, entry: &Entry<Value>, _: &ToolContext) -> (Applied, ToolOutput) {
        let word = entry.proposal.payload.as_str().unwrap_or_default();
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.insert("note".to_owned(), word.to_owned());
        (Applied::Applied, ToolOutput::text("Noted."))
    }
}
