//! Orders as letters: their kinds and bodies, which are stored, and so stay what they are.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use trunkline_decision_objects::RunId;
use trunkline_message_tree::{NodeId, Part, Timestamp, ToolResult};
use trunkline_resolve_queue::{Policy, ProposalId, RuleId};
use trunkline_revert::ProposalId as StepId;
use trunkline_session_machine::notes::record;
use trunkline_session_machine::{CallPlace, CloseAs, RuntimeError, Said};
use trunkline_session_store::{InboxId, Letter};

use super::order::{MoveAct, Order, StepAnswer};
use super::prompt::words_of;

pub(crate) const PROMPT: &str = "prompt";
pub(crate) const CANCEL: &str = "cancel";
pub(crate) const CLOSE_RUN: &str = "close_run";
pub(crate) const DISTRUST: &str = "distrust";
const MOVE: &str = "move";
const NAME: &str = "name";
const LATE: &str = "late_result";
const STEP_BACK: &str = "step_back";
const VERDICT: &str = "verdict";
const GIVE_RULE: &str = "give_rule";
const REVOKE_RULE: &str = "revoke_rule";
const TAKE_BACK: &str = "take_back";
const GIVE_TASK: &str = "give_task";
const BOUND_TASK: &str = "bound_task";
const END_TASK: &str = "end_task";
const SELECT: &str = "select";
const TOOL_CHOICE: &str = "tool_choice";

#[derive(Serialize, Deserialize)]
struct PromptBody {
    /// Its words.
    text: String,
    /// All of it, its words among it, if it is more than words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<Part>,
}

#[derive(Serialize, Deserialize)]
struct CloseBody {
    /// The run that its sender saw.
    run: String,
    close: CloseAs,
}

#[derive(Serialize, Deserialize)]
struct MoveBody {
    act: MoveAct,
    expected_head: NodeId,
}

#[derive(Serialize, Deserialize)]
struct VerdictBody {
    proposal: ProposalId,
    #[serde(flatten)]
    said: Said,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seen: Option<u32>,
}

#[derive(Serialize, Deserialize)]
struct RevokeBody {
    rule: RuleId,
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct LateBody {
    call: CallPlace,
    result: ToolResult,
}

#[derive(Serialize, Deserialize)]
struct StepBody {
    proposal: StepId,
    answer: StepAnswer,
    expected_head: NodeId,
}

#[derive(Serialize, Deserialize)]
struct SelectBody {
    run: String,
    patch_set: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    reason: String,
}

#[derive(Serialize, Deserialize)]
struct TakeBackBody {
    proposal: ProposalId,
}

#[derive(Serialize, Deserialize)]
struct ToolChoiceBody {
    policy: Policy,
}

/// Returns the kind and the body of the letter that is an order.
pub(crate) fn letter_of(order: &Order) -> (&'static str, String) {
    match order.clone() {
        Order::Prompt { text } => (PROMPT, record::json(&PromptBody { text, parts: Vec::new() })),
        Order::PromptWith { parts } => (PROMPT, record::json(&PromptBody { text: words_of(&parts), parts })),
        Order::Cancel => (CANCEL, "{}".to_owned()),
        Order::CloseRun { run, close } => {
            (CLOSE_RUN, record::json(&CloseBody { run: run.to_string(), close }))
        }
        Order::Verdict { proposal, said, seen } => {
            (VERDICT, record::json(&VerdictBody { proposal, said, seen }))
        }
        Order::TakeBack { proposal } => (TAKE_BACK, record::json(&TakeBackBody { proposal })),
        Order::GiveRule { rule } => (GIVE_RULE, record::json(&rule)),
        Order::RevokeRule { rule, reason } => (REVOKE_RULE, record::json(&RevokeBody { rule, reason })),
        Order::GiveTask { task } => (GIVE_TASK, record::json(&task)),
        Order::BoundTask { bounds } => (BOUND_TASK, record::json(&bounds)),
        Order::EndTask { end } => (END_TASK, record::json(&end)),
        Order::Select { run, patch_set, reason } => {
            let (run, patch_set) = (run.to_string(), patch_set.to_string());
            (SELECT, record::json(&SelectBody { run, patch_set, reason }))
        }
        Order::ToolChoice { policy } => (TOOL_CHOICE, record::json(&ToolChoiceBody { policy })),
        Order::Distrust => (DISTRUST, "{}".to_owned()),
        Order::Move { act, expected_head } => (MOVE, record::json(&MoveBody { act, expected_head })),
        Order::Name { naming } => (NAME, record::json(&naming)),
        Order::LateResult { call, result } => (LATE, record::json(&LateBody { call, result })),
        Order::StepBack { proposal, answer, expected_head } => {
            (STEP_BACK, record::json(&StepBody { proposal, answer, expected_head }))
        }
    }
}

/// Reads the order that a letter is.
///
/// # Errors
///
/// [`RuntimeError::Refused`] if it is none, or cannot be read.
pub(crate) fn read(letter: &Letter) -> Result<Order, RuntimeError> {
    Ok(match letter.kind.as_str() {
        PROMPT => {
            let PromptBody { text, parts } = body(letter)?;
            if parts.is_empty() { Order::Prompt { text } } else { Order::PromptWith { parts } }
        }
        CANCEL => Order::Cancel,
        CLOSE_RUN => {
            let CloseBody { run, close } = body(letter)?;
            // Written as it is shown: whoever waits for the letter compares the text.
            let named = run.parse::<RunId>().ok().filter(|named| named.to_string() == run);
            let run = named.ok_or_else(|| refused(format!("{} is no run's name", one_line(&run))))?;
            Order::CloseRun { run, close }
        }
        VERDICT => {
            let VerdictBody { proposal, said, seen } = body(letter)?;
            Order::Verdict { proposal, said, seen }
        }
        TAKE_BACK => {
            let TakeBackBody { proposal } = body(letter)?;
            Order::TakeBack { proposal }
        }
        GIVE_RULE => Order::GiveRule { rule: body(letter)? },
        REVOKE_RULE => {
            let RevokeBody { rule, reason } = body(letter)?;
            Order::RevokeRule { rule, reason }
        }
        GIVE_TASK => Order::GiveTask { task: body(letter)? },
        BOUND_TASK => Order::BoundTask { bounds: body(letter)? },
        END_TASK => Order::EndTask { end: body(letter)? },
        SELECT => {
            let SelectBody { run, patch_set, reason } = body(letter)?;
            let unnamed = |what: &str, text: &str| refused(format!("{} is no {what}'s name", one_line(text)));
            Order::Select {
                run: run.parse().map_err(|_| unnamed("run", &run))?,
                patch_set: patch_set.parse().map_err(|_| unnamed("patch set", &patch_set))?,
                reason,
            }
        }
        TOOL_CHOICE => {
            let ToolChoiceBody { policy } = body(letter)?;
            Order::ToolChoice { policy }
        }
        DISTRUST => Order::Distrust,
        MOVE => {
            let MoveBody { act, expected_head } = body(letter)?;
            Order::Move { act, expected_head }
        }
        NAME => Order::Name { naming: body(letter)? },
        LATE => {
            let LateBody { call, result } = body(letter)?;
            Order::LateResult { call, result }
        }
        STEP_BACK => {
            let StepBody { proposal, answer, expected_head } = body(letter)?;
            Order::StepBack { proposal, answer, expected_head }
        }
        other => return Err(refused(format!("nothing is known of letters of kind {other:?}"))),
    })
}

/// Returns the run that a letter asks to close, as its sender named it; `None` if it asks for something else.
pub(crate) fn closes_run(letter: &Letter) -> Option<String> {
    let close = (letter.kind == CLOSE_RUN).then(|| body::<CloseBody>(letter).ok());
    close.flatten().map(|close| close.run)
}

/// Returns whether a letter asks to abandon a run.
pub(crate) fn abandons(letter: &Letter) -> bool {
    letter.kind == CLOSE_RUN
        && body::<CloseBody>(letter).is_ok_and(|body| matches!(body.close, CloseAs::Abandon { .. }))
}

/// Returns the letter that voids everything that waits or was approved, as
/// [`Order::Distrust`] posts it: an import carries it in with the session, so that
/// nobody can open that before.
pub fn distrust(at: Timestamp) -> Letter {
    Letter { id: InboxId(1), at, kind: DISTRUST.to_owned(), body: "{}".to_owned() }
}

fn body<T: DeserializeOwned>(letter: &Letter) -> Result<T, RuntimeError> {
    serde_json::from_str(&letter.body).map_err(|fault| refused(format!("the letter cannot be read: {fault}")))
}

fn refused(reason: String) -> RuntimeError {
    RuntimeError::Refused { reason }
}

/// Returns what a letter says, fit for one line.
pub(crate) fn one_line(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
