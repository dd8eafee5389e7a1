//! Reads whether a text is a JSON object, without building it.
//!
//! It must agree with [`ToolCall::parse_arguments`] to the last number: what is let through here is parsed by others.
//!
//! [`ToolCall::parse_arguments`]: trunkline_message_tree::ToolCall::parse_arguments

mod plain;

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Whether a call with these arguments can be sent; no text at all means no arguments, and `null` may.
pub(crate) fn are_arguments(text: &str, null: bool) -> bool {
    text == "{}"
        || plain::is_object(text)
        || text.trim().is_empty()
        || is_object(text)
        || (null && text.trim() == "null")
}

/// Whether the text is a JSON object.
pub(crate) fn is_object(text: &str) -> bool {
    if !text.trim_start().starts_with('{') {
        return false;
    }
    // The walk is unsure of a key that the parser itself gives a meaning to; then the parser decides.
    serde_json::from_str::<Walked>(text).is_ok() || serde_json::from_str::<Map<String, Value>>(text).is_ok()
}

/// Whether the text is a JSON object that nobody here or later reads: a number may be larger than any parser takes.
pub(crate) fn is_carried_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// Whether the text stands for no arguments, although it is not an object.
pub(crate) fn is_empty_value(text: &str) -> bool {
    matches!(text.trim(), "null" | "[]" | "\"\"")
}

/// A JSON value that was read with all checks and kept nowhere.
struct Walked;

impl<'de> Deserialize<'de> for Walked {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Walked)
    }
}

impl<'de> Visitor<'de> for Walked {
    type Value = Walked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Walked, E> {
        Ok(Walked)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Walked, E> {
        Ok(Walked)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Walked, E> {
        Ok(Walked)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Walked, E> {
        Ok(Walked)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Walked, E> {
        Ok(Walked)
    }

    fn visit_str<E>(self, _: &str) -> Result<Walked, E> {
        Ok(Walked)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Walked, A::Error> {
        while values.next_element::<Walked>()?.is_some() {}
        Ok(Walked)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Walked, A::Error> {
        while entries.next_key::<Key>()?.is_some() {
            entries.next_value::<Walked>()?;
        }
        Ok(Walked)
    }
}

/// A key that means itself.
struct Key;

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Key)
    }
}

impl Visitor<'_> for Key {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Key, E> {
        if key.starts_with("$serde_json::private") {
            Err(E::custom("a key of the parser's own"))
        } else {
            Ok(Key)
        }
    }
}
