//! What is known of a request besides its messages.
//!
//! A message list alone cannot say whether a call without a result ever ran. Who knows says it here; with nothing
//! said, nothing is claimed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{NodeId, Origin};

use crate::{FieldFact, PrefixDigest, Prefixes};

/// What is known of one request besides its messages. The default claims nothing.
///
/// ```
/// use trunkline_sanitize::{CallFact, Fate, RequestFacts, Thinking};
///
/// let mut facts = RequestFacts::default();
/// facts.thinking = Thinking::On;
/// facts.calls.push(CallFact::new("c1", Fate::StartedOutcomeUnknown));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RequestFacts {
    /// The provider and model that the request goes to, and the digest of the address; reasoning of others is dropped.
    ///
    /// `None` claims that all of the history comes from them. Where only one side knows the address, provider and model decide.
    pub origin: Option<Origin>,
    /// Whether the request asks the model to think.
    pub thinking: Thinking,
    /// Whether the request forces the model to call a tool.
    pub choice_forced: bool,
    /// Whether the request offers any tool; `None` claims nothing.
    pub tools_offered: Option<bool>,
    /// The names of the tools that the request offers, as far as they are known; a name that is made for a call is none of
    /// them.
    pub tools: Vec<String>,
    /// How many tokens the model can read at once; `None` claims nothing.
    ///
    /// Tokens are not counted here. A result is cut if it has more than four bytes for each token of the window, since then
    /// it cannot fit, and keeps two bytes for each token. A window below 256 tokens is taken for one of 256.
    pub context_window: Option<u32>,
    /// What becomes of reasoning that another provider or model wrote, where it has to go.
    pub foreign_reasoning: ForeignReasoning,
    /// What is known of calls that have no result. Calls that have one need no entry.
    pub calls: Vec<CallFact>,
    /// Fields that the messages have in the file they were read from, and that the vocabulary has no word for.
    ///
    /// Those that the wire refuses are told of in [`RepairKind::FieldDropped`](crate::RepairKind::FieldDropped), and whoever
    /// writes the messages leaves them out.
    pub fields: Vec<FieldFact>,
    /// The digest of what the request sends before its messages, as its tools; `None` if there is nothing, or nothing is claimed.
    ///
    /// Looked at with [`prefixes`](RequestFacts::prefixes) only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<PrefixDigest>,
    /// Behind what answers were written, where their reasoning is [bound](crate::WireRules::reasoning_bound) to it: of each the digest
    /// of the whole [`Prefix`](crate::Prefix) as it was sent, from the [head](RequestFacts::head) on.
    ///
    /// An answer of which nothing is known counts as one that stands where it stood.
    #[serde(skip_serializing_if = "Prefixes::is_empty")]
    pub prefixes: Prefixes,
    /// The answers whose prefix was found to have changed, while a list is gone over.
    #[serde(skip)]
    pub(crate) unbound: BTreeSet<NodeId>,
    /// The message with which the running tool loop begins, while a list is gone over.
    #[serde(skip)]
    pub(crate) loop_from: usize,
}

/// What becomes of reasoning that another provider or model wrote.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ForeignReasoning {
    /// It is left out.
    #[default]
    Drop,
    /// What can be read of it becomes text of the same message.
    AsText,
}

/// Whether a request asks the model to think.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Thinking {
    /// No.
    #[default]
    Off,
    /// Yes, always.
    On,
    /// As the model sees fit; then a running tool loop need not start with reasoning.
    Adaptive,
}

/// What is known of a call that has no result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallFact {
    /// The id of the call, as it is stored.
    pub call_id: String,
    /// The node of the message that holds the call; `None` fits any, which is enough while ids are unique.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<NodeId>,
    /// The position among the calls of that message, from 0; `None` fits any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<usize>,
    /// What became of the call.
    pub fate: Fate,
    /// What an earlier request said of the call. It is repeated to the letter, or the provider's cache would be lost.
    ///
    /// It comes from [`RepairKind::Answered`](crate::RepairKind::Answered) of that request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
}

impl CallFact {
    /// Returns a fact about every call of that id which has no result.
    pub fn new(call_id: impl Into<String>, fate: Fate) -> Self {
        CallFact { call_id: call_id.into(), node: None, position: None, fate, said: None }
    }

    /// Returns the fact for the call of that node only.
    pub fn at(mut self, node: NodeId) -> Self {
        self.node = Some(node);
        self
    }

    /// Returns the fact for the call at that position among the calls of its message, from 0.
    pub fn at_position(mut self, position: usize) -> Self {
        self.position = Some(position);
        self
    }

    /// Returns the fact with what an earlier request said of the call.
    pub fn having_said(mut self, text: impl Into<String>) -> Self {
        self.said = Some(text.into());
        self
    }

    /// Returns the text that the model is given in place of a result.
    pub fn text(&self) -> String {
        // Nothing can have been said in blank words: no wire takes them everywhere.
        let said = self.said.as_ref().filter(|said| !said.trim().is_empty());
        said.cloned().unwrap_or_else(|| self.fate.text())
    }
}

/// What became of a call that has no result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fate", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fate {
    /// Nothing is known.
    #[default]
    Unknown,
    /// It never ran.
    NotStarted,
    /// It ran, and nobody saw how it ended. It may have changed things.
    StartedOutcomeUnknown,
    /// It was refused before it ran.
    Denied {
        /// Why, in the words of who refused.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It was left out before it ran.
    Skipped {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Something else took its place before it ran, such as a revert.
    Superseded {
        /// What took its place, such as `a revert to n12`.
        by: String,
    },
    /// It waits for a person's approval and has not run yet.
    AwaitingApproval,
}

impl Fate {
    /// Returns the one sentence that the model is given in place of a result.
    pub fn text(&self) -> String {
        let because = |text: &str, reason: &Option<String>| match reason {
            Some(reason) => format!("{text}: {reason}"),
            None => text.to_owned(),
        };
        match self {
            Fate::Unknown => "tool call interrupted; no result was recorded".to_owned(),
            Fate::NotStarted => "tool call was never started; it had no effect".to_owned(),
            Fate::StartedOutcomeUnknown => {
                "tool call was started and then interrupted; whether it took effect is not known".to_owned()
            }
            Fate::Denied { reason } => because("tool call was denied and did not run", reason),
            Fate::Skipped { reason } => because("tool call was skipped and did not run", reason),
            Fate::Superseded { by } => format!("tool call was superseded by {by} and did not run"),
            Fate::AwaitingApproval => "tool call is waiting for approval and has not run yet".to_owned(),
        }
    }
}

/// A window of fewer tokens is taken for one of that many, so that a cut result has room for the note about the cut.
const SMALLEST_WINDOW: u32 = 256;

/// Returns how many bytes of a result are left if it has to be cut; `None` if it may stay whole.
pub(crate) fn room_for(bytes: usize, facts: &RequestFacts) -> Option<usize> {
    let tokens = facts.context_window?.max(SMALLEST_WINDOW) as usize;
    (bytes > tokens.saturating_mul(4)).then_some(tokens.saturating_mul(2))
}

/// Whether a result of that many bytes alone is larger than the window.
pub(crate) fn is_too_large(bytes: usize, facts: &RequestFacts) -> bool {
    room_for(bytes, facts).is_some()
}
