//! Prints one JSON object, compact and in the order of the calls.

use std::fmt::{Display, Write};

use super::{Spelled, place};
use crate::NonBlank;

pub(crate) struct Object {
    json: String,
}

impl Object {
    pub(crate) fn new() -> Self {
        let mut json = String::with_capacity(256);
        json.push('{');
        Self { json }
    }

    /// One that stands by itself: longer than those inside others.
    pub(crate) fn document() -> Self {
        let mut json = String::with_capacity(640);
        json.push('{');
        Self { json }
    }

    /// A text of unknown content.
    pub(crate) fn text(mut self, key: &'static str, value: &str) -> Self {
        self.key(key);
        push_quoted(&mut self.json, value);
        self
    }

    pub(crate) fn maybe_text(self, key: &'static str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    /// A value that prints as text: an id, a time, a digest.
    pub(crate) fn show(mut self, key: &'static str, value: &impl Spelled) -> Self {
        self.key(key);
        push_shown(&mut self.json, value);
        self
    }

    pub(crate) fn maybe_show(self, key: &'static str, value: Option<&impl Spelled>) -> Self {
        match value {
            Some(value) => self.show(key, value),
            None => self,
        }
    }

    /// A number.
    pub(crate) fn show_bare(mut self, key: &'static str, value: impl Into<i128>) -> Self {
        self.key(key);
        push_display(&mut self.json, &value.into());
        self
    }

    pub(crate) fn maybe_bare(self, key: &'static str, value: Option<impl Into<i128>>) -> Self {
        match value {
            Some(value) => self.show_bare(key, value),
            None => self,
        }
    }

    /// A number of the full 64 bits, such as a count of tokens.
    pub(crate) fn whole(mut self, key: &'static str, value: u64) -> Self {
        self.key(key);
        push_display(&mut self.json, &value);
        self
    }

    pub(crate) fn maybe_whole(self, key: &'static str, value: Option<u64>) -> Self {
        match value {
            Some(value) => self.whole(key, value),
            None => self,
        }
    }

    pub(crate) fn object(mut self, key: &'static str, value: Self) -> Self {
        self.key(key);
        self.json.push_str(&value.json);
        self.json.push('}');
        self
    }

    /// A list of values that print as text: ids.
    pub(crate) fn ids(self, key: &'static str, ids: &[impl Spelled]) -> Self {
        self.each(key, ids, |json, id| push_shown(json, id))
    }

    /// A list of texts of unknown content.
    pub(crate) fn texts(self, key: &'static str, texts: &[NonBlank]) -> Self {
        self.each(key, texts, |json, text| push_quoted(json, text.as_str()))
    }

    pub(crate) fn list(self, key: &'static str, items: impl IntoIterator<Item = String>) -> Self {
        self.each(key, items, |json, item| json.push_str(&item))
    }

    fn each<T>(
        mut self,
        key: &'static str,
        items: impl IntoIterator<Item = T>,
        push: impl Fn(&mut String, T),
    ) -> Self {
        self.key(key);
        self.json.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.json.push(',');
            }
            push(&mut self.json, item);
        }
        self.json.push(']');
        self
    }

    pub(crate) fn finish(mut self) -> String {
        self.json.push('}');
        self.json
    }

    fn key(&mut self, key: &'static str) {
        self.json.push_str(if self.json.len() > 1 { ",\"" } else { "\"" });
        self.json.push_str(key);
        self.json.push_str("\":");
    }
}

/// A text with its quotes and escapes.
pub(crate) fn quoted(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_quoted(&mut json, text);
    json
}

/// Writes a text with its quotes and escapes.
pub(crate) fn push_quoted(json: &mut String, text: &str) {
    if is_plain(text) {
        json.push('"');
        json.push_str(text);
        json.push('"');
    } else {
        let quoted = serde_json::to_string(text);
        json.push_str(&quoted.expect("a text has no map keys and no failing writer, the only ways to fail"));
    }
}

/// Writes a value that is written as text.
fn push_shown(json: &mut String, value: &impl Spelled) {
    push_quoted(json, value.spelling(&mut place()));
}

pub(crate) fn push_display(json: &mut String, value: &impl Display) {
    write!(json, "{value}")
        .expect("writing to a text does not fail, and the values that are printed here do not either");
}

/// Whether JSON writes it as it is.
fn is_plain(text: &str) -> bool {
    // Without a branch in the loop, so that the compiler can take many bytes at once.
    !text.bytes().fold(false, |found, byte| found | (byte < 0x20) | (byte == b'"') | (byte == b'\\'))
}
