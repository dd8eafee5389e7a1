//! Readers of single values.
//!
//! Each says what it expected; the place is added by whoever called it.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::{self, Display};
use std::num::NonZeroU32;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::Entry;
use super::{Fault, ParseError, Raw, Sink, Spelled, place, scan};
use crate::Invalid;
use crate::invalid::excerpt;

/// Checks that the bytes are one JSON value, and nothing more.
fn document(json: &[u8]) -> Result<Raw<'_>, ParseError> {
    let text = std::str::from_utf8(json).map_err(|error| syntax(&error))?;
    let value: &RawValue = serde_json::from_str(text).map_err(|error| syntax(&error))?;
    Ok(Raw::strict(value.get()))
}

/// Reads the entries of a document that is one object.
pub(super) fn document_object(json: &[u8]) -> Result<Vec<Entry<'_>>, ParseError> {
    // In one go where all is plain; what is not is then looked at with care.
    if let Ok(text) = std::str::from_utf8(json)
        && let Some(entries) = scan::entries(text)
    {
        return Ok(entries);
    }
    let raw = document(json)?;
    expect_type(raw, "an object")?;
    object(raw)
}

pub(super) fn object(raw: Raw<'_>) -> Result<Vec<Entry<'_>>, ParseError> {
    if let Some(entries) = scan::entries(raw.get()) {
        return Ok(entries);
    }
    let Entries(entries) = typed(raw)?;
    Ok(entries)
}

/// All entries of an object, in their order, equal keys included.
pub(crate) fn entries(raw: Raw<'_>) -> Result<Vec<(Cow<'_, str>, Raw<'_>)>, ParseError> {
    let entries = object(raw)?.into_iter();
    Ok(entries.map(|entry| (entry.key, raw.part(entry.json))).collect())
}

/// All items of an array.
pub(crate) fn items(raw: Raw<'_>) -> Result<Vec<Raw<'_>>, ParseError> {
    expect_type(raw, "an array")?;
    if let Some(items) = scan::items(raw.get()) {
        return Ok(items.into_iter().map(|item| raw.part(item)).collect());
    }
    let items: Vec<&RawValue> = typed(raw)?;
    Ok(items.into_iter().map(|item| raw.part(item.get())).collect())
}

fn typed<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<T, ParseError> {
    serde_json::from_str(raw.get()).map_err(|error| syntax(&error))
}

pub(crate) fn expect_type(raw: Raw<'_>, expected: &'static str) -> Result<(), ParseError> {
    let found = match raw.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    };
    if found == expected { Ok(()) } else { Err(Fault::WrongType { expected, found }.into()) }
}

pub(crate) fn text(raw: Raw<'_>) -> Result<String, ParseError> {
    text_of(raw).map(Cow::into_owned)
}

/// Reads a text; one without escapes is not copied.
pub(crate) fn text_of(raw: Raw<'_>) -> Result<Cow<'_, str>, ParseError> {
    expect_type(raw, "a string")?;
    let json = raw.get();
    match json.get(1..json.len().saturating_sub(1)) {
        Some(inside) if !inside.as_bytes().contains(&b'\\') => Ok(Cow::Borrowed(inside)),
        _ => typed::<String>(raw).map(Cow::Owned),
    }
}

/// Reads a text that must be written exactly as its value prints.
pub(crate) fn canonical<T: Spelled>(raw: Raw<'_>) -> Result<T, ParseError> {
    let text = text_of(raw)?;
    let value: T = text.parse()?;
    let mut place = place();
    let canonical = value.spelling(&mut place);
    if canonical == text {
        Ok(value)
    } else {
        Err(Fault::Spelling { found: excerpt(&text), canonical: canonical.to_owned() }.into())
    }
}

/// Reads one of a few words; `expected` lists them for the error.
pub(crate) fn word<T>(
    raw: Raw<'_>,
    expected: &'static str,
    meaning: impl FnOnce(&str) -> Option<T>,
) -> Result<T, ParseError> {
    let word = text_of(raw)?;
    meaning(&word).ok_or_else(|| Fault::UnknownWord { found: excerpt(&word), expected }.into())
}

pub(crate) fn unsigned(raw: Raw<'_>) -> Result<u32, ParseError> {
    number(raw, "a whole number from 0 to 4294967295")
}

/// A place in a row, counted from 1.
pub(crate) fn counted(raw: Raw<'_>) -> Result<NonZeroU32, ParseError> {
    number(raw, "a whole number from 1 to 4294967295")
}

pub(crate) fn whole(raw: Raw<'_>) -> Result<u64, ParseError> {
    number(raw, "a whole number from 0 to 18446744073709551615")
}

pub(crate) fn signed(raw: Raw<'_>) -> Result<i32, ParseError> {
    number(raw, "a whole number from -2147483648 to 2147483647")
}

pub(crate) fn number<'a, T: Deserialize<'a>>(raw: Raw<'a>, expected: &'static str) -> Result<T, ParseError> {
    expect_type(raw, "a number")?;
    let range = |_| Fault::NumberRange { found: excerpt(raw.get()), expected }.into();
    serde_json::from_str(raw.get()).map_err(range)
}

pub(crate) fn list<'a, T>(
    raw: Raw<'a>,
    read: impl Fn(Raw<'a>) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let items = items(raw)?.into_iter().enumerate();
    match raw.sink() {
        None => items.map(|(index, raw)| read(raw).map_err(|error| error.inside_index(index))).collect(),
        // What cannot be read is left out, so that the faults of its neighbours are found too.
        Some(sink) => {
            let read = |(index, raw)| {
                let read = sink.collect(|| read(raw), |error: &mut ParseError| error.enter_index(index)).ok();
                if read.is_none() {
                    sink.guess();
                }
                read
            };
            Ok(items.filter_map(read).collect())
        }
    }
}

/// All entries of an object in their order, equal keys included.
struct Entries<'a>(Vec<Entry<'a>>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllEntries;

        impl<'de> Visitor<'de> for AllEntries {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::with_capacity(12);
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    entries.push(Entry { key, json: value.get(), taken: false });
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(AllEntries)
    }
}

/// A key; one without escapes is not copied.
struct Key<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyKey;

        impl<'de> Visitor<'de> for AnyKey {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(String::from(key))))
            }
        }

        deserializer.deserialize_str(AnyKey)
    }
}

pub(crate) fn canonical_list<T: Spelled>(raw: Raw<'_>) -> Result<Vec<T>, ParseError> {
    list(raw, canonical)
}

/// Reads a list that may not name anything twice; `what` is the thing, for the error.
pub(crate) fn distinct_list<T: Spelled + Ord + Clone>(
    raw: Raw<'_>,
    what: &'static str,
) -> Result<Vec<T>, ParseError> {
    let guessed = raw.sink().map(Sink::guessed);
    let names: Vec<T> = canonical_list(raw)?;
    let mut seen = BTreeSet::new();
    let again = names.iter().enumerate().filter(|(_, name)| !seen.insert(*name)).map(|(index, name)| {
        let name = name.spelling(&mut place()).to_owned();
        ParseError::from(Invalid::Twice { what, name }).inside_index(index)
    });
    let again: Vec<ParseError> = again.collect();
    let Some(sink) = raw.sink() else {
        return again.into_iter().next().map_or(Ok(names), Err);
    };
    // Where something was left out, nobody knows at which places the others stand.
    if guessed == Some(sink.guessed()) {
        again.into_iter().for_each(|error| sink.push(error));
    }
    // What was told of is not there again for whoever looks at the whole.
    let mut seen = BTreeSet::new();
    Ok(names.into_iter().filter(|name| seen.insert(name.clone())).collect())
}

fn syntax(error: &dyn Display) -> ParseError {
    Fault::Syntax { message: error.to_string() }.into()
}
