//! The tools of an agent by name, as values, and what is wrong with a call before it runs.
//!
//! Everything a model writes is hostile: a call runs only if its tool exists, its arguments are whole, and whoever holds the schema
//! accepts them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use trunkline_message_tree::{CallOutcome, ToolCall, ToolSpec, tool_label};

use crate::words::call::Access;

/// Deeper arguments are refused. They are wrapped into notes before they are stored, and what is stored must be readable
/// within the 128 levels of the JSON parser.
const DEPTH: usize = 64;
/// The most characters of what people are shown for a tool.
const LABEL_CHARS: usize = 60;

/// What a model is told of a call that its reply did not bring to an end.
pub(crate) const TRUNCATED: &str =
    "not run: the reply ended in the middle of this call; write less at once and call again";

/// The tools of an agent.
#[derive(Default)]
pub struct Catalogue {
    // By name, so that the list that a model gets is the same on every start.
    tools: BTreeMap<String, Entry>,
}

struct Entry {
    spec: ToolSpec,
    access: Access,
    hook: bool,
    /// What people are shown, where that does not follow from the name.
    label: Option<String>,
}

impl Catalogue {
    /// Adds a tool, in the place of one that was called so.
    pub fn add(&mut self, spec: ToolSpec, access: Access) {
        self.tools.insert(spec.name.clone(), Entry { spec, access, hook: false, label: None });
    }

    /// Says that a tool has a discard hook: it is told when something that it has staged ends without having been applied.
    pub fn hook(&mut self, name: &str) {
        if let Some(entry) = self.tools.get_mut(name) {
            entry.hook = true;
        }
    }

    pub(crate) fn has_hook(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|entry| entry.hook)
    }

    /// Says what people are shown for a tool; on one line of at most 60 characters.
    pub fn label_as(&mut self, name: &str, label: &str) {
        let words: Vec<&str> = label.split(|c: char| c.is_whitespace() || c.is_control()).collect();
        let words = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        let label: String = words.chars().take(LABEL_CHARS).collect();
        if let Some(entry) = self.tools.get_mut(name) {
            entry.label = (!label.is_empty() && label != tool_label(name)).then_some(label);
        }
    }

    /// Returns what people are shown for a tool, where that does not follow from its name.
    pub(crate) fn label(&self, name: &str) -> Option<&str> {
        self.tools.get(name)?.label.as_deref()
    }

    /// Returns whether there is a tool of that name.
    pub fn has(&self, name: &str) -> bool {
        self.tools.contains_key(name)
    }

    /// Returns what a tool does to the world; `None` if there is no such tool.
    pub(crate) fn access(&self, name: &str) -> Option<Access> {
        self.tools.get(name).map(|entry| entry.access)
    }

    pub(crate) fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|entry| &entry.spec)
    }

    /// Returns the arguments of a call whose tool is there and that is whole, or what the model is told instead. `offered` are
    /// all tools that it has, those of layers too.
    pub(crate) fn arguments(
        &self,
        call: &ToolCall,
        outcome: CallOutcome,
        offered: &[ToolSpec],
    ) -> Result<Map<String, Value>, String> {
        if !self.has(&call.name) {
            let known: Vec<&str> = offered.iter().map(|spec| spec.name.as_str()).collect();
            return Err(format!(
                "not run: there is no tool {:?}; there are: {}",
                call.name,
                known.join(", ")
            ));
        }
        self.read_arguments(call, outcome)
    }

    /// Returns the arguments of a call that is whole, whatever its tool is, or what the model is told instead.
    pub(crate) fn read_arguments(
        &self,
        call: &ToolCall,
        outcome: CallOutcome,
    ) -> Result<Map<String, Value>, String> {
        let received = || call.arguments.chars().take(500).collect::<String>();
        let arguments = match outcome {
            CallOutcome::Ready(arguments) => arguments,
            CallOutcome::NotJson { reason } => {
                return Err(format!(
                    "not run: the arguments are not a JSON object ({reason}); received: {}",
                    received()
                ));
            }
            CallOutcome::Truncated => return Err(TRUNCATED.to_owned()),
            _ => {
                return Err(format!(
                    "not run: the arguments are not a JSON object; received: {}",
                    received()
                ));
            }
        };
        let value = Value::Object(arguments);
        if !is_within(&value, DEPTH) {
            return Err(format!("not run: the arguments are nested deeper than {DEPTH} levels"));
        }
        match value {
            Value::Object(arguments) => Ok(arguments),
            _ => Ok(Map::new()),
        }
    }
}

/// Returns whether what is handed over with a decision can be stored and read again: it is nested no deeper than arguments.
pub(crate) fn can_be_handed(extra: Option<&Map<String, Value>>) -> Result<(), String> {
    match extra.is_none_or(|extra| extra.values().all(|value| is_within(value, DEPTH - 1))) {
        true => Ok(()),
        false => Err(format!("`extra` is nested deeper than {DEPTH} levels")),
    }
}

fn is_within(value: &Value, levels: usize) -> bool {
    match (value, levels) {
        (Value::Array(_) | Value::Object(_), 0) => false,
        (Value::Array(items), _) => items.iter().all(|item| is_within(item, levels - 1)),
        (Value::Object(fields), _) => fields.values().all(|field| is_within(field, levels - 1)),
        _ => true,
    }
}
