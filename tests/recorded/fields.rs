//! Takes the fields of a request one by one; what nobody took is left over and gets its own mention.

use serde_json::{Map, Value};
use trunkline_message_tree::{ToolChoice, ToolSpec};
use trunkline_providers::{Effort, Request};

/// The fields of an object that were not taken yet; a field that is null is not there.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields {
    rest: Map<String, Value>,
}

impl Fields {
    /// Returns the fields of an object, none if it is not one.
    pub(super) fn of(object: &Value) -> Self {
        let fields = object.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        Fields { rest: fields.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Takes a field, whatever it is.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.remove(name)
    }

    /// Takes a field if `read` understands it; otherwise it stays.
    pub(super) fn read<T>(&mut self, name: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let taken = self.rest.get(name).and_then(read)?;
        self.rest.remove(name);
        Some(taken)
    }

    /// Takes a string.
    pub(super) fn text(&mut self, name: &str) -> Option<String> {
        self.read(name, |value| value.as_str().map(str::to_owned))
    }

    /// Takes a switch.
    pub(super) fn switch(&mut self, name: &str) -> Option<bool> {
        self.read(name, Value::as_bool)
    }

    /// Takes a whole number.
    pub(super) fn whole(&mut self, name: &str) -> Option<u32> {
        self.read(name, |value| value.as_u64().and_then(|number| u32::try_from(number).ok()))
    }

    /// Takes a number.
    pub(super) fn number(&mut self, name: &str) -> Option<f32> {
        self.read(name, |value| value.as_f64().map(|number| number as f32))
    }

    /// Takes a list of strings, or one string.
    pub(super) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        self.read(name, |value| match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
            _ => None,
        })
    }

    /// Takes labels: an object of strings.
    pub(super) fn labels(&mut self, name: &str) -> Option<std::collections::BTreeMap<String, String>> {
        self.read(name, |value| {
            let labels = value.as_object()?.iter();
            labels.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
        })
    }

    /// Whether nothing is left.
    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether a field is still there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.rest.contains_key(name)
    }

    /// Returns what is left.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.rest
    }

    /// Puts a field back.
    pub(super) fn put(&mut self, name: &str, value: Value) {
        self.rest.insert(name.to_owned(), value);
    }

    /// Takes the tools: those that our model has a word for, and those that are the provider's own.
    pub(super) fn tools(
        &mut self,
        name: &str,
        read: impl Fn(&Value) -> Option<ToolSpec>,
        request: &mut Request,
    ) {
        let list = self.read(name, |list| list.as_array().cloned());
        for tool in list.unwrap_or_default() {
            match read(&tool) {
                Some(ours) => request.tools.push(ours),
                None => request.provider_tools.push(tool),
            }
        }
    }

    /// Takes the choice of a tool if it can be made among these; one that cannot stays as it is.
    pub(super) fn choice(
        &mut self,
        name: &str,
        read: impl FnOnce(&Value) -> Option<ToolChoice>,
        request: &mut Request,
    ) {
        let offered = |choice: &ToolChoice| match choice {
            ToolChoice::Named(name) => request.tools.iter().any(|tool| tool.name == *name),
            ToolChoice::Any => !request.tools.is_empty() || !request.provider_tools.is_empty(),
            ToolChoice::Auto | ToolChoice::None => true,
        };
        request.tool_choice = self.read(name, |choice| read(choice).filter(offered)).unwrap_or_default();
    }
}

/// Reads an effort; services have more words than we.
pub(super) fn effort(value: &Value) -> Option<Effort> {
    [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::XHigh, Effort::Max]
        .into_iter()
        .find(|effort| value.as_str() == Some(effort.word()))
}

/// Returns a tool in our words, if they are enough for it; one without a schema takes no arguments.
pub(super) fn tool(tool: &Value, schema: &str) -> Option<ToolSpec> {
    let mut fields = Fields::of(tool);
    let none = || serde_json::json!({"type": "object", "properties": {}});
    let description = fields.text("description").unwrap_or_default();
    let mut spec = ToolSpec::new(fields.text("name")?, description, fields.take(schema).unwrap_or_else(none));
    spec.strict = fields.switch("strict");
    // Marks are set by our own policy.
    fields.take("cache_control");
    fields.is_empty().then_some(spec)
}
