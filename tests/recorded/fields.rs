//! Takes the fields of a request one by one; what nobody took is left over and gets its own mention.

use serde_json::{Map, Value};
use trunkline_message_tree::ToolSpec;
use trunkline_providers::Effort;

/// The fields of an object that were not taken yet; a field that is null is not there.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    rest: Map<String, Value>,
}

impl Fields {
    /// Returns the fields of an object, none if it is not one.
    pub fn of(object: &Value) -> Self {
        let fields = object.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        Fields { rest: fields.map(|(name, value)| (name.clone(), value.clone())).collect() }
    }

    /// Takes a field, whatever it is.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.rest.remove(name)
    }

    /// Takes a field if `read` understands it; otherwise it stays.
    pub fn read<T>(&mut self, name: &str, read: impl FnOnce(&Value) -> Option<T>) -> Option<T> {
        let taken = self.rest.get(name).and_then(read)?;
        self.rest.remove(name);
        Some(taken)
    }

    /// Takes a string.
    pub fn text(&mut self, name: &str) -> Option<String> {
        self.read(name, |value| value.as_str().map(str::to_owned))
    }

    /// Takes a switch.
    pub fn switch(&mut self, name: &str) -> Option<bool> {
        self.read(name, Value::as_bool)
    }

    /// Takes a whole number.
    pub fn whole(&mut self, name: &str) -> Option<u32> {
        self.read(name, |value| value.as_u64().and_then(|number| u32::try_from(number).ok()))
    }

    /// Takes a number.
    pub fn number(&mut self, name: &str) -> Option<f32> {
        self.read(name, |value| value.as_f64().map(|number| number as f32))
    }

    /// Takes a list of strings, or one string.
    pub fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        self.read(name, |value| match value {
            Value::String(text) => Some(vec![text.clone()]),
            Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
            _ => None,
        })
    }

    /// Takes labels: an object of strings.
    pub fn labels(&mut self, name: &str) -> Option<std::collections::BTreeMap<String, String>> {
        self.read(name, |value| {
            let labels = value.as_object()?.iter();
            labels.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
        })
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether a field is still there.
    pub fn has(&self, name: &str) -> bool {
        self.rest.contains_key(name)
    }

    /// Returns what is left.
    pub fn rest(self) -> Map<String, Value> {
        self.rest
    }

    /// Puts a field back.
    pub fn put(&mut self, name: &str, value: Value) {
        self.rest.insert(name.to_owned(), value);
    }

    /// Takes the tools if our model has a word for each; if not, they stay as they are, and the ones that it has a word
    /// for are returned all the same, so that a choice can name them.
    pub fn tools(&mut self, name: &str, read: impl Fn(&Value) -> Option<ToolSpec>) -> Vec<ToolSpec> {
        let Some(Value::Array(list)) = self.rest.get(name) else { return Vec::new() };
        let tools: Vec<ToolSpec> = list.iter().filter_map(read).collect();
        if tools.len() == list.len() {
            self.rest.remove(name);
        }
        tools
    }

    /// Takes the choice of a tool; without tools of ours it stays as it is.
    pub fn choice<T>(
        &mut self,
        name: &str,
        tools: &[ToolSpec],
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        if tools.is_empty() { None } else { self.read(name, read) }
    }
}

/// Reads an effort; services have more words than we.
pub fn effort(value: &Value) -> Option<Effort> {
    [Effort::Minimal, Effort::Low, Effort::Medium, Effort::High, Effort::Max]
        .into_iter()
        .find(|effort| value.as_str() == Some(effort.word()))
}

/// Returns a tool in our words; one without a schema takes no arguments.
///
/// What else is said about it is lost, and the comparison will tell.
pub fn tool(tool: &Value, schema: &str) -> Option<ToolSpec> {
    let mut fields = Fields::of(tool);
    let none = || serde_json::json!({"type": "object", "properties": {}});
    let description = fields.text("description").unwrap_or_default();
    let mut spec = ToolSpec::new(fields.text("name")?, description, fields.take(schema).unwrap_or_else(none));
    spec.strict = fields.switch("strict");
    Some(spec)
}
