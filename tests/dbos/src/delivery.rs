//! What an approved call does to the world: a workflow of its own, whose id is the key of the step.
//!
//! The tool only stages. When a person has approved, its executor asks DBOS for the workflow with the key of this attempt and waits
//! for its end; a workflow that is there already is joined. After a crash the runtime asks [`observe`](Executor::observe) how things
//! are, and DBOS knows.
//!
//! The process that began an attempt may only have been paused, and can ask for its workflow at any later time. So before it is
//! said that an attempt has done nothing its key is taken, by an order to do nothing. What comes late joins that one.

use async_trait::async_trait;
use dbos::{Client, EnqueueOptions};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::resolve_queue::{Entry, Fingerprint, Outcome};
use trunkline_runtime::{Access, Executor, PendingAction, Tool, ToolContext, ToolOutput};

use crate::letters::{Letter, Letters};
use crate::{Failed, StepKey, VERSION};

/// The name of the workflow.
pub const WORKFLOW: &str = "deliver";
/// Where deliveries wait for a worker.
pub const QUEUE: &str = "deliveries";

/// What a letter's subject is once it was sent.
const SENT: &str = "sent";

/// What a delivery is to do.
#[derive(Serialize, Deserialize)]
pub struct Order {
    key: StepKey,
    /// None: the key is used up, and nothing is sent.
    letter: Option<Letter>,
}

/// Sends a letter, if there is one, and returns whether there was; the workflow.
///
/// # Errors
///
/// [`dbos::Error`] if the service does not answer, ten times. Then it is open whether it was sent.
pub async fn deliver(letters: Letters, order: Order) -> dbos::Result<bool, Failed> {
    let Some(letter) = &order.letter else { return Ok(false) };
    let options = dbos::StepOptions { max_attempts: 10, ..dbos::StepOptions::default() };
    dbos::step_with("send", options, || async { Ok(letters.send(&order.key, letter).await?) }).await?;
    Ok(true)
}

/// The tool: a model may ask for a letter to be sent.
pub struct SendLetter {
    /// Through it workflows are asked for. It does not own the workers, as what a workflow holds must not.
    pub deliveries: Client,
}

/// What is staged.
#[derive(Serialize, Deserialize)]
struct Staged {
    letter: Letter,
    /// The session and the call: the key of the step, without the attempt.
    step: String,
}

#[async_trait]
impl Tool for SendLetter {
    fn spec(&self) -> ToolSpec {
        let field = json!({ "type": "string" });
        let schema = json!({
            "type": "object",
            "properties": { "to": field, "text": field },
            "required": ["to", "text"],
        });
        ToolSpec::new("send_letter", "Sends a letter once a person has approved it.", schema)
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let letter: Letter = match serde_json::from_value(Value::Object(arguments)) {
            Ok(letter) => letter,
            Err(fault) => return ToolOutput::error(fault.to_string()),
        };
        let Some(session) = &context.session else { return ToolOutput::error("there is no session") };
        let step = format!("{session}/{}.{}", context.call.node, context.call.index);
        let mut action = PendingAction::new(format!("send a letter to {}", letter.to), Value::Null);
        action.preview.text.clone_from(&letter.text);
        action.fingerprints = vec![Fingerprint::absent(&step)];
        action.after = vec![Fingerprint::digest(&step, SENT)];
        action.payload = match serde_json::to_value(Staged { letter, step }) {
            Ok(payload) => payload,
            Err(fault) => return ToolOutput::error(fault.to_string()),
        };
        match context.push_pending_action(action) {
            Ok(()) => ToolOutput::text("It is sent once a person has approved it."),
            Err(fault) => ToolOutput::error(fault.to_string()),
        }
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for SendLetter {
    async fn apply(&self, entry: &Entry<Value>, _: &ToolContext) -> (Outcome, ToolOutput) {
        let staged: Staged = match serde_json::from_value(entry.proposal.payload.clone()) {
            Ok(staged) => staged,
            Err(fault) => {
                let reason = fault.to_string();
                return (Outcome::Failed { reason: reason.clone() }, ToolOutput::error(reason));
            }
        };
        let key = StepKey { step: staged.step, attempt: entry.attempt().number };
        let to = staged.letter.to.clone();
        let reason = match self.deliver(key, Some(staged.letter)).await {
            Ok(true) => return (Outcome::Applied, ToolOutput::text(format!("The letter to {to} was sent."))),
            Ok(false) => "its key was used up by another process".to_owned(),
            Err(fault) => fault.to_string(),
        };
        // It may have been sent, or may yet be: DBOS has the order, or has it not.
        (Outcome::Unknown { reason: reason.clone() }, ToolOutput::error(reason))
    }

    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let mut found = Vec::new();
        for step in subjects {
            found.extend(print(step, self.was_sent(step).await));
        }
        found
    }

    async fn observe_cut_off(&self, entry: &Entry<Value>, _: &[String]) -> Vec<Fingerprint> {
        let Ok(staged) = serde_json::from_value::<Staged>(entry.proposal.payload.clone()) else {
            return Vec::new();
        };
        let key = StepKey { step: staged.step, attempt: entry.attempt().number };
        let sent = self.deliver(key.clone(), None).await;
        print(&key.step, sent).into_iter().collect()
    }
}

/// Says how things are. Where it is open whether a letter was sent nothing is said, and so nothing is done.
fn print(step: &str, sent: dbos::Result<bool, Failed>) -> Option<Fingerprint> {
    match sent {
        Ok(true) => Some(Fingerprint::digest(step, SENT)),
        Ok(false) => Some(Fingerprint::absent(step)),
        Err(_) => None,
    }
}

impl SendLetter {
    /// Takes the keys of all attempts up to this one, with an order to send nothing for those before it. Returns whether the letter was
    /// sent at any of them.
    async fn deliver(&self, key: StepKey, letter: Option<Letter>) -> dbos::Result<bool, Failed> {
        for attempt in 1..key.attempt {
            let earlier = StepKey { attempt, ..key.clone() };
            if self.ordered(Order { key: earlier, letter: None }).await? {
                return Ok(true);
            }
        }
        self.ordered(Order { key, letter }).await
    }

    /// Waits for the end of every attempt that was begun, and returns whether one has sent the letter. An attempt begins only once
    /// all before it have a workflow, so behind the first that has none there is none.
    async fn was_sent(&self, step: &str) -> dbos::Result<bool, Failed> {
        for attempt in 1.. {
            let key = StepKey { step: step.to_owned(), attempt }.to_string();
            if self.deliveries.workflow_status(&key).await.map_err(dbos::Error::lift)?.is_none() {
                break;
            }
            if self.deliveries.retrieve_workflow::<bool, Failed>(&key).result().await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Has an order carried out, or waits for the one that was given under its key before. Returns whether a letter was sent.
    async fn ordered(&self, order: Order) -> dbos::Result<bool, Failed> {
        let id = order.key.to_string();
        let options = EnqueueOptions {
            workflow_id: Some(&id),
            app_version: Some(VERSION),
            ..EnqueueOptions::new(QUEUE)
        };
        let given = self.deliveries.enqueue_with::<_, bool, Failed>(WORKFLOW, order, options).await;
        given.map_err(dbos::Error::lift)?.result().await
    }
}
