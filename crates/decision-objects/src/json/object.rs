//! Prints one JSON object, compact and in the order of the calls.

use std::fmt::Display;

use crate::NonBlank;

pub(crate) struct Object {
    json: String,
}

impl Object {
    pub(crate) fn new() -> Self {
        Self { json: String::from("{") }
    }

    /// A text of unknown content.
    pub(crate) fn text(self, key: &'static str, value: &str) -> Self {
        self.bare(key, &quoted(value))
    }

    pub(crate) fn maybe_text(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// A value that prints as text: an id, a time, a digest.
    pub(crate) fn show(self, key: &'static str, value: &impl Display) -> Self {
        self.text(key, &value.to_string())
    }

    pub(crate) fn maybe_show(self, key: &'static str, value: Option<&impl Display>) -> Self {
        match value {
            Some(value) => self.show(key, value),
            None => self,
        }
    }

    /// A number.
    pub(crate) fn show_bare(self, key: &'static str, value: impl Into<i64>) -> Self {
        self.bare(key, &value.into().to_string())
    }

    pub(crate) fn maybe_bare(self, key: &'static str, value: Option<impl Into<i64>>) -> Self {
        match value {
            Some(value) => self.show_bare(key, value),
            None => self,
        }
    }

    /// A number of the full 64 bits, such as a count of tokens.
    pub(crate) fn whole(self, key: &'static str, value: u64) -> Self {
        self.bare(key, &value.to_string())
    }

    pub(crate) fn maybe_whole(self, key: &'static str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.whole(key, value),
            None => self,
        }
    }

    pub(crate) fn object(self, key: &'static str, value: Self) -> Self {
        self.bare(key, &value.finish())
    }

    /// A list of values that print as text without anything to escape: ids.
    pub(crate) fn ids(self, key: &'static str, ids: &[impl Display]) -> Self {
        self.list(key, ids.iter().map(|id| format!("\"{id}\"")))
    }

    /// A list of texts of unknown content.
    pub(crate) fn texts(self, key: &'static str, texts: &[NonBlank]) -> Self {
        self.list(key, texts.iter().map(|text| quoted(text.as_str())))
    }

    pub(crate) fn list(self, key: &'static str, items: impl IntoIterator<Item = String>) -> Self {
        let items: Vec<String> = items.into_iter().collect();
        self.bare(key, &format!("[{}]", items.join(",")))
    }

    pub(crate) fn finish(mut self) -> String {
        self.json.push('}');
        self.json
    }

    fn bare(mut self, key: &'static str, json: &str) -> Self {
        if self.json.len() > 1 {
            self.json.push(',');
        }
        self.json.extend(["\"", key, "\":", json]);
        self
    }
}

pub(crate) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text has no map keys and no failing writer, the only ways to fail")
}
