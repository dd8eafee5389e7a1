//! Pieces of answers, read as leniently as services write them, and without a copy where there need not be one.
//!
//! serde borrows a `Cow` only where it stands alone as a field; inside of an `Option` it always copies. These types borrow
//! anywhere.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::DecodeError;
use crate::error::one_line;

// As long as what is shown of an error.
const REMARK_LIMIT: usize = 500;

/// A string; anything else that stands in its place has no words.
#[derive(Default)]
pub(crate) struct Text<'a>(pub(crate) Cow<'a, str>);

impl Text<'_> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the words if there are any.
    pub(crate) fn some(self) -> Option<String> {
        (!self.0.is_empty()).then(|| self.0.into_owned())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;

        impl<'de> Visitor<'de> for Reader {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }

            fn visit_bool<E>(self, _: bool) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }

            fn visit_i64<E>(self, _: i64) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }

            fn visit_u64<E>(self, _: u64) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }

            fn visit_f64<E>(self, _: f64) -> Result<Text<'de>, E> {
                Ok(Text::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Text<'de>, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Text<'de>, A::Error> {
                while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Text::default())
            }
        }

        deserializer.deserialize_any(Reader)
    }
}

/// Reads a number, also where it is written as a string or with a point; anything else that stands in its place is none.
pub(crate) fn number<'de, D: Deserializer<'de>, N: TryFrom<i128>>(
    deserializer: D,
) -> Result<Option<N>, D::Error> {
    let raw: Option<&RawValue> = Deserialize::deserialize(deserializer)?;
    let digits = raw.map_or("", RawValue::get).trim_matches('"');
    let digits = digits.strip_suffix(".0").unwrap_or(digits);
    Ok(digits.parse().ok().and_then(|number: i128| N::try_from(number).ok()))
}

/// Reads what is true or false; anything else that stands in its place is neither.
pub(crate) fn truth<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    let raw: Option<&RawValue> = Deserialize::deserialize(deserializer)?;
    Ok(raw.and_then(|raw| raw.get().trim_matches('"').parse().ok()))
}

/// Returns whether a field says something: not `null`, and nothing that is empty.
pub(crate) fn says_something(raw: &RawValue) -> bool {
    !matches!(raw.get(), "null" | "\"\"" | "{}" | "[]" | "false")
}

/// Returns what a service says beside the reason of an end: a string, or the strings of an object that are meant for people.
pub(crate) fn remark(raw: Option<&RawValue>) -> Option<String> {
    let said: Value = serde_json::from_str(raw?.get()).ok()?;
    let words = match &said {
        Value::String(words) => words.clone(),
        Value::Object(fields) => {
            let fields = ["category", "explanation", "message", "reason"].map(|name| fields.get(name));
            let words: Vec<&str> = fields.into_iter().flatten().filter_map(Value::as_str).collect();
            words.join(": ")
        }
        _ => String::new(),
    };
    Some(one_line(&words, REMARK_LIMIT)).filter(|words| !words.is_empty())
}

/// Reads a string that was kept raw; `null` is empty, and of anything else the bytes are taken as they came.
pub(crate) fn string(raw: &RawValue) -> Result<Cow<'_, str>, DecodeError> {
    let text = raw.get();
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        // Whatever stands raw was read once: without an escape, what is between the quotes are the words.
        Some(words) if memchr::memchr(b'\\', words.as_bytes()).is_none() => Ok(Cow::Borrowed(words)),
        Some(_) => {
            serde_json::from_str(text).map(Cow::Owned).map_err(|fault| DecodeError::malformed(fault, text))
        }
        None if text == "null" => Ok(Cow::Borrowed("")),
        None => Ok(Cow::Borrowed(text)),
    }
}
