//! The tool with which a model applies or discards: its name, its words, its schema, and how its arguments are read.
//!
//! An argument that is not known is refused rather than skipped: a misspelt `id` would otherwise resolve the wrong proposal.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{ParseIdError, ProposalId, Verdict};

/// The tool's name on the wire.
pub const NAME: &str = "resolve";

/// The tool's name for people.
pub const LABEL: &str = "Resolve";

/// What the tool says of itself to a model.
pub const DESCRIPTION: &str = "Applies or discards a proposal that was staged as a preview. \
Nothing of a proposal is done before it is applied. \
`apply` does exactly what the preview showed, or nothing if what it was computed from has changed since; \
`discard` drops it. `reason` is required for both and changes nothing in what is done. \
Name the proposal with `id` (such as \"p3\"); without it the oldest one that waits for you is meant. \
One whose apply failed is kept: apply it again or discard it. Calls of other tools may stand beside this one.";

/// The JSON schema of the tool's arguments.
pub const SCHEMA: &str = r#"{
  "type": "object",
  "properties": {
    "action": {
      "type": "string",
      "enum": ["apply", "discard"],
      "description": "What to do with the proposal."
    },
    "reason": {
      "type": "string",
      "minLength": 1,
      "description": "Why, in one sentence."
    },
    "id": {
      "type": "string",
      "description": "The proposal, such as \"p3\". Without it: the oldest one that waits for you."
    },
    "extra": {
      "type": "object",
      "description": "Anything the proposing tool asked for."
    }
  },
  "required": ["action", "reason"],
  "additionalProperties": false
}"#;

/// What a call of the tool asks for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Resolution {
    /// Apply or discard.
    pub action: Action,
    /// Why; never blank.
    pub reason: String,
    /// Which proposal; `None` leaves that to [`Queue::target`](crate::Queue::target).
    pub id: Option<ProposalId>,
    /// Whatever the proposing tool asked for.
    pub extra: Option<Map<String, Value>>,
}

/// What a call of the tool wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the two words of the schema")]
pub enum Action {
    /// Approve it and have it applied.
    Apply,
    /// Drop it.
    Discard,
}

/// Why the arguments of a call could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// Not JSON.
    #[error("the arguments are not valid JSON (line {}, column {})", .source.line(), .source.column())]
    NotJson {
        /// What the parser says.
        source: serde_json::Error,
    },
    /// JSON, but not an object.
    #[error("the arguments must be a JSON object, not {found}")]
    NotAnObject {
        /// What it was.
        found: &'static str,
    },
    /// A required argument is not there.
    #[error("`{name}` is missing: {hint}")]
    Missing {
        /// Which.
        name: &'static str,
        /// What belongs there.
        hint: &'static str,
    },
    /// An argument has the wrong type.
    #[error("`{name}` must be {expected}, not {found}")]
    WrongType {
        /// Which.
        name: &'static str,
        /// What it must be.
        expected: &'static str,
        /// What it was.
        found: &'static str,
    },
    /// The action is neither of the two.
    #[error("`action` must be \"apply\" or \"discard\", not {found:?}")]
    UnknownAction {
        /// What it was.
        found: String,
    },
    /// The id is none.
    #[error("`id` must be a proposal's id such as \"p3\", not {:?}", .source.found)]
    BadId {
        /// What it was.
        source: ParseIdError,
    },
    /// There is no such argument.
    #[error("there is no argument `{name}`; known are `action`, `reason`, `id`, `extra`")]
    UnknownArgument {
        /// What it was called.
        name: String,
    },
}

impl From<Action> for Verdict {
    fn from(action: Action) -> Self {
        match action {
            Action::Apply => Verdict::Approve,
            Action::Discard => Verdict::Discard,
        }
    }
}

/// Reads the arguments of one call.
///
/// Lenient where nothing can be misunderstood: case and blanks around words, an id written as a number or in brackets,
/// and `null` or a blank text for what may be left out.
///
/// # Errors
///
/// Every variant of [`ArgumentError`]; each text tells a model what to write instead.
pub fn parse_arguments(text: &str) -> Result<Resolution, ArgumentError> {
    let value: Value = serde_json::from_str(text).map_err(|source| ArgumentError::NotJson { source })?;
    let Value::Object(mut arguments) = value else {
        return Err(ArgumentError::NotAnObject { found: kind(&value) });
    };
    let resolution = Resolution {
        action: action(arguments.remove("action"))?,
        reason: reason(arguments.remove("reason"))?,
        id: id(arguments.remove("id"))?,
        extra: extra(arguments.remove("extra"))?,
    };
    match arguments.into_iter().next() {
        Some((name, _)) => Err(ArgumentError::UnknownArgument { name }),
        None => Ok(resolution),
    }
}

fn action(value: Option<Value>) -> Result<Action, ArgumentError> {
    let text = required(value, "action", "write \"apply\" or \"discard\"")?;
    match text.to_ascii_lowercase().as_str() {
        "apply" => Ok(Action::Apply),
        "discard" => Ok(Action::Discard),
        _ => Err(ArgumentError::UnknownAction { found: text }),
    }
}

fn reason(value: Option<Value>) -> Result<String, ArgumentError> {
    required(value, "reason", "say in one sentence why")
}

fn id(value: Option<Value>) -> Result<Option<ProposalId>, ArgumentError> {
    let text = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => return Ok(None),
        Some(Value::String(text)) => text,
        Some(Value::Number(number)) => number.to_string(),
        Some(other) => {
            return Err(ArgumentError::WrongType {
                name: "id",
                expected: "a text such as \"p3\"",
                found: kind(&other),
            });
        }
    };
    text.parse().map(Some).map_err(|source| ArgumentError::BadId { source })
}

fn extra(value: Option<Value>) -> Result<Option<Map<String, Value>>, ArgumentError> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(extra)) => Ok(Some(extra)),
        Some(other) => {
            Err(ArgumentError::WrongType { name: "extra", expected: "an object", found: kind(&other) })
        }
    }
}

fn required(value: Option<Value>, name: &'static str, hint: &'static str) -> Result<String, ArgumentError> {
    match value {
        None | Some(Value::Null) => Err(ArgumentError::Missing { name, hint }),
        Some(Value::String(text)) => match text.trim() {
            "" => Err(ArgumentError::Missing { name, hint }),
            text => Ok(text.to_owned()),
        },
        Some(other) => Err(ArgumentError::WrongType { name, expected: "a text", found: kind(&other) }),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
