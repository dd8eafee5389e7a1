//! What a model or a person asks for.
//!
//! Reading is lenient where only one meaning is possible and refuses the rest in words that the model can act on.
//! Nothing here looks at a tree: a well-formed request may still be refused by [`plan`](crate::plan).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use trunkline_message_tree::{Message, NodeId};

use crate::one_line::one_line;
use crate::{NoteKind, TOOL_NAME};

/// The longest summary that is kept, in characters; the rest is cut and ends in `…`.
const MAX_SUMMARY_CHARS: usize = 2_000;

/// Why a branch is left.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Category {
    /// The way did not work.
    Failure,
    /// The way led elsewhere.
    Tangent,
    /// The work is done and its details are no longer needed.
    Completion,
    /// A step of the work is done and its details are no longer needed.
    StepSummary,
}

impl Category {
    /// The categories in the order in which a model is offered them.
    pub const ALL: [Category; 4] =
        [Category::Failure, Category::Tangent, Category::Completion, Category::StepSummary];

    /// Returns the word that a model writes, such as `step-summary`.
    pub const fn name(self) -> &'static str {
        match self {
            Category::Failure => "failure",
            Category::Tangent => "tangent",
            Category::Completion => "completion",
            Category::StepSummary => "step-summary",
        }
    }

    /// Returns the category of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Category::ALL.into_iter().find(|category| category.name() == name)
    }

    /// Returns the kind of note that such a revert leaves.
    pub const fn note_kind(self) -> NoteKind {
        match self {
            Category::Failure => NoteKind::Lesson,
            Category::Tangent => NoteKind::Finding,
            Category::Completion => NoteKind::Outcome,
            Category::StepSummary => NoteKind::Checkpoint,
        }
    }
}

impl fmt::Display for Category {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The place of a tool call: ids of calls repeat within a session, places do not.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallPlace {
    /// The assistant message that holds the call.
    pub node: NodeId,
    /// The position among the calls of that message, from 0.
    pub index: usize,
    /// The provider's id of the call, for readers.
    pub call_id: String,
}

/// A wish to go back: leave everything after `target` and go on from there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Request {
    /// Why.
    pub category: Category,
    /// The last node to keep, as it was named.
    pub target: NodeId,
    /// One line to take along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The call that asked; `None` if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallPlace>,
}

impl Request {
    /// Returns a request that no call made; the summary is folded to one line of at most 2,000 characters.
    pub fn new(category: Category, target: NodeId, summary: Option<&str>) -> Self {
        let summary = summary.map(|text| one_line(text, MAX_SUMMARY_CHARS)).filter(|line| !line.is_empty());
        Request { category, target, summary, call: None }
    }

    /// Names the call that asked.
    #[must_use]
    pub fn from_call(self, call: CallPlace) -> Self {
        Request { call: Some(call), ..self }
    }

    /// Reads the arguments of a call to `revert_to_state`.
    ///
    /// `step` may be `"n12"`, `"N12"`, `"12"`, `"[n12]"` or the integer 12. A `null` counts as absent, an empty summary
    /// as none; names that we do not know are ignored.
    ///
    /// # Errors
    ///
    /// Any [`ArgumentError`]; its text is meant for the model.
    pub fn parse(arguments: &str) -> Result<Self, ArgumentError> {
        let fields = Fields::parse(arguments)?;
        let category = fields.category()?;
        let step = fields.present("step").ok_or(ArgumentError::StepMissing)?;
        let target = node_of(step).ok_or_else(|| ArgumentError::StepMalformed { got: shown(step) })?;
        Ok(Request::new(category, target, fields.summary()?))
    }

    /// Reads the arguments of a call to `return_to_branch`: as [`parse`](Request::parse), with `branch` in place of `step`.
    ///
    /// # Errors
    ///
    /// Any [`ArgumentError`]; its text is meant for the model.
    pub fn parse_return(arguments: &str) -> Result<Self, ArgumentError> {
        let fields = Fields::parse(arguments)?;
        let category = fields.category()?;
        Ok(Request::new(category, fields.node("branch")?, fields.summary()?))
    }
}

/// The arguments of a call, of which nothing is believed.
pub(crate) struct Fields(Map<String, Value>);

impl Fields {
    pub(crate) fn parse(arguments: &str) -> Result<Self, ArgumentError> {
        if arguments.trim().is_empty() {
            return Ok(Fields(Map::new()));
        }
        let fields = serde_json::from_str(arguments);
        fields.map(Fields).map_err(|error| ArgumentError::NotAnObject { reason: error.to_string() })
    }

    fn present(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    fn category(&self) -> Result<Category, ArgumentError> {
        let category = self.present("category").ok_or(ArgumentError::CategoryMissing)?;
        let known = category.as_str().and_then(Category::from_name);
        known.ok_or_else(|| ArgumentError::CategoryUnknown { got: shown(category) })
    }

    fn summary(&self) -> Result<Option<&str>, ArgumentError> {
        match self.present("summary") {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(ArgumentError::SummaryNotText { got: shown(other) }),
        }
    }

    /// Returns the node that a field names.
    pub(crate) fn node(&self, field: &'static str) -> Result<NodeId, ArgumentError> {
        let named = self.present(field).ok_or(ArgumentError::NodeMissing { field })?;
        node_of(named).ok_or_else(|| ArgumentError::NodeMalformed { field, got: shown(named) })
    }

    /// Returns the nodes that a field names, in that order; each once. A single one needs no list.
    pub(crate) fn nodes(&self, field: &'static str) -> Result<Vec<NodeId>, ArgumentError> {
        let named = self.present(field).ok_or(ArgumentError::NodeMissing { field })?;
        let one = std::slice::from_ref(named);
        let named = named.as_array().map_or(one, Vec::as_slice);
        let mut nodes = Vec::with_capacity(named.len().min(MOST_NAMED));
        for value in named {
            let node =
                node_of(value).ok_or_else(|| ArgumentError::NodeMalformed { field, got: shown(value) })?;
            if nodes.contains(&node) {
                continue;
            }
            if nodes.len() == MOST_NAMED {
                return Err(ArgumentError::TooMany { field, most: MOST_NAMED });
            }
            nodes.push(node);
        }
        if nodes.is_empty() { Err(ArgumentError::NodeMissing { field }) } else { Ok(nodes) }
    }
}

/// How many nodes one call can name: as many branches as one node can merge.
const MOST_NAMED: usize = trunkline_message_tree::MOST_MERGED;

fn node_of(value: &Value) -> Option<NodeId> {
    match value {
        Value::String(text) => text.parse().ok(),
        Value::Number(number) => number.as_u64().and_then(|index| u32::try_from(index).ok()).map(NodeId::new),
        _ => None,
    }
}

/// Returns the calls to `revert_to_state` in a message, in order, each with its place and what it asks for.
///
/// A driver that was killed reads its queue again from the stored message this way.
pub fn requests(
    node: NodeId,
    message: &Message,
) -> impl Iterator<Item = (CallPlace, Result<Request, ArgumentError>)> {
    let calls = message.calls().enumerate().filter(|(_, call)| call.name == TOOL_NAME);
    calls.map(move |(index, call)| {
        let place = CallPlace { node, index, call_id: call.id.clone() };
        let request = Request::parse(&call.arguments).map(|request| request.from_call(place.clone()));
        (place, request)
    })
}

/// Why the arguments of a call do not make a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The arguments are cut short, not JSON, or not an object.
    #[error("arguments must be a JSON object: {reason}")]
    NotAnObject {
        /// What the parser said.
        reason: String,
    },
    /// There is no category.
    #[error("category is required")]
    CategoryMissing,
    /// The category is none of ours.
    #[error("category must be one of failure | tangent | completion | step-summary; got {got}")]
    CategoryUnknown {
        /// What was given, as JSON, shortened.
        got: String,
    },
    /// There is no step.
    #[error("step is required")]
    StepMissing,
    /// The step does not name a node.
    #[error("step must be a node identifier like \"n12\" or \"12\"; got {got}")]
    StepMalformed {
        /// What was given, as JSON, shortened.
        got: String,
    },
    /// No node is named.
    #[error("{field} is required: name a node such as \"n12\"")]
    NodeMissing {
        /// The field that should name it.
        field: &'static str,
    },
    /// What is named is no node.
    #[error("{field} must name nodes like \"n12\" or \"12\"; got {got}")]
    NodeMalformed {
        /// The field.
        field: &'static str,
        /// What was given, as JSON, shortened.
        got: String,
    },
    /// More is named than one call can be about.
    #[error("{field} names too many nodes; at most {most} at once")]
    TooMany {
        /// The field.
        field: &'static str,
        /// How many it may name.
        most: usize,
    },
    /// The summary is something other than text.
    #[error("summary must be a string; got {got}")]
    SummaryNotText {
        /// What was given, as JSON, shortened.
        got: String,
    },
}

/// Returns a value as JSON on one short line.
fn shown(value: &Value) -> String {
    match value {
        // Shortened before quoting, so that the quotes always close.
        Value::String(text) => Value::from(one_line(text, 80)).to_string(),
        other => one_line(&other.to_string(), 80),
    }
}
