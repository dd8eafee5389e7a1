//! What became of a call that a model wrote: whether it may run.
//!
//! A reply that was cut ends in the middle of something. What it ends in can still be readable by accident, and no
//! arguments at all are readable as "no arguments"; such a call was not asked for.

use serde_json::{Map, Value};

use crate::{Message, StopReason, ToolCall};

/// Whether a call is whole. Only [`CallOutcome::Ready`] may ever run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum CallOutcome {
    /// It is whole.
    Ready(Map<String, Value>),
    /// The reply ended before the call did, or may have.
    Truncated,
    /// The arguments are not JSON.
    NotJson {
        /// What is wrong with them and where.
        reason: String,
    },
    /// The arguments are JSON, but not an object.
    NotAnObject,
}

impl Message {
    /// Returns each call with what became of it, in order.
    ///
    /// ```
    /// use trunkline_message_tree::{Author, CallOutcome, Content, Message, Role, StopReason, ToolCall};
    ///
    /// let call = |arguments: &str| {
    ///     let (id, name) = ("c1".to_owned(), "delete".to_owned());
    ///     Content::ToolCall(ToolCall { id, name, arguments: arguments.to_owned(), signature: None })
    /// };
    /// let mut message = Message::new(Role::Assistant, Author::Model, vec![call("")]);
    /// assert!(matches!(message.call_outcomes().next(), Some((_, CallOutcome::Ready(_)))));
    /// // The limit may have come before the first byte of the arguments.
    /// message.stop = Some(StopReason::MaxTokens);
    /// assert_eq!(message.call_outcomes().next().map(|(_, outcome)| outcome), Some(CallOutcome::Truncated));
    /// ```
    pub fn call_outcomes(&self) -> impl Iterator<Item = (&ToolCall, CallOutcome)> {
        let blocks = self.content.len();
        let calls = self.content.iter().enumerate();
        calls.filter_map(move |(at, block)| {
            let call = block.as_call()?;
            Some((call, self.outcome(call, at + 1 == blocks)))
        })
    }

    /// Returns what became of the call with this number among the calls of the message, from 0.
    pub fn outcome_of(&self, call: usize) -> Option<CallOutcome> {
        self.call_outcomes().nth(call).map(|(_, outcome)| outcome)
    }

    fn outcome(&self, call: &ToolCall, ends_message: bool) -> CallOutcome {
        let text = call.arguments.trim();
        let cut = self.may_end_in_the_middle();
        // That something follows says that the call had ended. What has no byte says nothing.
        if cut && (ends_message || text.is_empty()) {
            return CallOutcome::Truncated;
        }
        if text.is_empty() {
            return CallOutcome::Ready(Map::new());
        }
        match serde_json::from_str(text) {
            Ok(Value::Object(arguments)) => CallOutcome::Ready(arguments),
            Ok(_) => CallOutcome::NotAnObject,
            // Pieces of two calls may have come in turn, and the text between them afterwards.
            Err(_) if cut => CallOutcome::Truncated,
            Err(fault) => CallOutcome::NotJson { reason: fault.to_string() },
        }
    }

    /// Returns whether the reply stopped for a reason that does not wait for the end of a block.
    fn may_end_in_the_middle(&self) -> bool {
        match &self.stop {
            Some(
                StopReason::MaxTokens
                | StopReason::ContextWindow
                | StopReason::Cancelled
                | StopReason::Cut
                // A filter stops a model in the middle of a word.
                | StopReason::Refusal
                // Nobody knows what it means; some services call a call that they could not read so.
                | StopReason::Other(_),
            ) => true,
            Some(
                StopReason::EndTurn
                | StopReason::ToolUse
                | StopReason::StopSequence
                | StopReason::Pause,
            )
            | None => false,
        }
    }
}
