//! Objects read one level deep, with the bytes of each field.
//!
//! Nothing is parsed further than it is understood: what is carried stays the text that it was, whatever it nests, and
//! the parser that skips over it does not recurse.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The fields of one object, in order, each value unread.
#[derive(Debug)]
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(serde::Deserialize)]
#[serde(transparent)]
struct Words<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsFields;
        impl<'de> Visitor<'de> for AsFields {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(key) = map.next_key::<Words<'de>>()? {
                    fields.push((key.0, map.next_value::<&'de RawValue>()?));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(AsFields)
    }
}

/// A record with its message read in the same pass, as far as that can be: whoever asks for one level after the other reads
/// what is nested most as many times.
#[derive(Debug)]
pub(crate) struct Envelope<'a> {
    /// All fields but the message.
    pub(crate) fields: Fields<'a>,
    /// The last message, if there is one.
    pub(crate) message: Option<Inner<'a>>,
}

/// What stands in the field of a message.
#[derive(Debug)]
pub(crate) enum Inner<'a> {
    /// The fields of an object but its content, and what stands there, the last of each.
    Object(Fields<'a>, Option<Inside<'a>>),
    /// No object.
    Other,
}

/// What stands in the field of a content.
#[derive(Debug)]
pub(crate) enum Inside<'a> {
    /// A string without escapes.
    Text(&'a str),
    /// The elements of an array.
    Items(Vec<&'a RawValue>),
    /// Nothing.
    Null,
    /// Something else: it is not known where it stands.
    Other,
}

impl<'de> Deserialize<'de> for Envelope<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsEnvelope;
        impl<'de> Visitor<'de> for AsEnvelope {
            type Value = Envelope<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut fields, mut message) = (Vec::new(), None);
                while let Some(key) = map.next_key::<Words<'de>>()? {
                    if key.0 == "message" {
                        message = Some(map.next_value::<Inner<'de>>()?);
                    } else {
                        fields.push((key.0, map.next_value::<&'de RawValue>()?));
                    }
                }
                Ok(Envelope { fields: Fields(fields), message })
            }
        }
        deserializer.deserialize_map(AsEnvelope)
    }
}

/// Visits what is no value of interest.
macro_rules! others {
    ($other:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($other)
        }
    };
}

impl<'de> Deserialize<'de> for Inner<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsInner;
        impl<'de> Visitor<'de> for AsInner {
            type Value = Inner<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a message")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let (mut fields, mut content) = (Vec::new(), None);
                while let Some(key) = map.next_key::<Words<'de>>()? {
                    if key.0 == "content" {
                        content = Some(map.next_value::<Inside<'de>>()?);
                    } else {
                        fields.push((key.0, map.next_value::<&'de RawValue>()?));
                    }
                }
                Ok(Inner::Object(Fields(fields), content))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                while items.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Inner::Other)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Inner::Other)
            }

            others!(Inner::Other);
        }
        deserializer.deserialize_any(AsInner)
    }
}

impl<'de> Deserialize<'de> for Inside<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AsInside;
        impl<'de> Visitor<'de> for AsInside {
            type Value = Inside<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a content")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Inside::Text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut all = Vec::new();
                while let Some(item) = items.next_element::<&'de RawValue>()? {
                    all.push(item);
                }
                Ok(Inside::Items(all))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Inside::Other)
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Inside::Null)
            }

            others!(Inside::Other);
        }
        deserializer.deserialize_any(AsInside)
    }
}

impl<'a> Fields<'a> {
    /// Reads one object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the fields of a value that is an object.
    pub(crate) fn of(raw: &'a RawValue) -> Option<Self> {
        raw.get().starts_with('{').then(|| Fields::parse(raw.get()).ok()).flatten()
    }

    /// Returns a field's value; the last one counts if there are several. `null` is nothing.
    pub(crate) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0
            .iter()
            .rev()
            .find(|(key, _)| key == name)
            .map(|(_, raw)| *raw)
            .filter(|raw| raw.get() != "null")
    }

    /// Tells whether there is such a field, `null` or not.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    /// Returns the names of the fields that are not `null`, each once.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut seen = HashSet::new();
        let said = self.0.iter().filter(|(_, raw)| raw.get() != "null").map(|(name, _)| name.as_ref());
        said.filter(|name| seen.insert(*name)).collect()
    }

    /// Returns the fields, `null` or not, in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &'a RawValue)> {
        self.0.iter().map(|(name, raw)| (name.as_ref(), *raw))
    }

    /// Returns the field's text, if it is a string.
    pub(crate) fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        self.get(name).and_then(text)
    }

    /// Returns the object in a field, if it is one.
    pub(crate) fn object(&self, name: &str) -> Option<Fields<'a>> {
        self.get(name).and_then(Fields::of)
    }

    /// Returns the elements in a field, if it is an array.
    pub(crate) fn items(&self, name: &str) -> Option<Vec<&'a RawValue>> {
        self.get(name).and_then(items)
    }

    /// Returns the number in a field, or 0.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.get(name).and_then(|raw| raw.get().parse().ok()).unwrap_or(0)
    }

    /// Tells whether the field is `true`.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(|raw| raw.get() == "true")
    }

    /// Writes the object with other values for some fields: `None` removes one, and a new one goes to the end.
    pub(crate) fn rewrite(&self, edits: &[(&str, Option<String>)]) -> String {
        let mut out = String::from("{");
        let mut field = |key: &str, value: &str| {
            if out.len() > 1 {
                out.push(',');
            }
            out.push_str(&quote(key));
            out.push(':');
            out.push_str(value);
        };
        let mut written: Vec<&str> = Vec::new();
        for (key, raw) in &self.0 {
            match edits.iter().find(|(name, _)| name == key) {
                None => field(key, raw.get()),
                Some((name, _)) if written.contains(name) => {}
                Some((name, value)) => {
                    written.push(name);
                    if let Some(value) = value {
                        field(key, value);
                    }
                }
            }
        }
        for (name, value) in edits {
            if let Some(value) = value
                && !written.contains(name)
            {
                field(name, value);
            }
        }
        out.push('}');
        out
    }
}

/// Writes an object from values that are JSON already; `None` is left out.
pub(crate) fn object(fields: &[(&str, Option<String>)]) -> String {
    Fields(Vec::new()).rewrite(fields)
}

/// Returns the text of a string.
pub(crate) fn text(raw: &RawValue) -> Option<Cow<'_, str>> {
    if !raw.get().starts_with('"') {
        return None;
    }
    serde_json::from_str::<Words<'_>>(raw.get()).ok().map(|words| words.0)
}

/// Returns the elements of an array.
pub(crate) fn items(raw: &RawValue) -> Option<Vec<&RawValue>> {
    raw.get().starts_with('[').then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// Returns where a part of a text stands in it; an empty place for what is no part of it.
pub(crate) fn range_in(whole: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
    match start.checked_add(part.len()) {
        Some(end) if end <= whole.len() => start..end,
        _ => 0..0,
    }
}

/// Returns what a parser said of one line, without the line that it counted itself.
pub(crate) fn reason(fault: &serde_json::Error) -> String {
    fault.to_string().replace(" at line 1 column ", " at column ")
}

/// Writes a string as JSON.
pub(crate) fn quote(text: &str) -> String {
    serde_json::to_string(text).expect("a string is always JSON")
}
