//! Readers of single values.
//!
//! Each says what it expected; the place is added by whoever called it.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::str::FromStr;

use serde::Deserialize;

use super::{Fault, ParseError, Raw};
use crate::Invalid;
use crate::invalid::excerpt;

/// Checks that the bytes are one JSON value, and nothing more.
pub(crate) fn document(json: &[u8]) -> Result<Raw<'_>, ParseError> {
    let text = std::str::from_utf8(json).map_err(|error| syntax(&error))?;
    serde_json::from_str(text).map_err(|error| syntax(&error))
}

pub(crate) fn typed<'a, T: Deserialize<'a>>(raw: Raw<'a>) -> Result<T, ParseError> {
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
    expect_type(raw, "a string")?;
    typed(raw)
}

/// Reads a text that must be written exactly as its value prints.
pub(crate) fn canonical<T: FromStr<Err = Invalid> + Display>(raw: Raw<'_>) -> Result<T, ParseError> {
    let text = text(raw)?;
    let value: T = text.parse()?;
    let canonical = value.to_string();
    if canonical == text {
        Ok(value)
    } else {
        Err(Fault::Spelling { found: excerpt(&text), canonical }.into())
    }
}

/// Reads one of a few words; `expected` lists them for the error.
pub(crate) fn word<T>(
    raw: Raw<'_>,
    expected: &'static str,
    meaning: impl FnOnce(&str) -> Option<T>,
) -> Result<T, ParseError> {
    let word = text(raw)?;
    meaning(&word).ok_or_else(|| Fault::UnknownWord { found: excerpt(&word), expected }.into())
}

pub(crate) fn unsigned(raw: Raw<'_>) -> Result<u32, ParseError> {
    number(raw, "a whole number from 0 to 4294967295")
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
    expect_type(raw, "an array")?;
    let items: Vec<Raw<'a>> = typed(raw)?;
    let read_at = |(index, raw)| read(raw).map_err(|error: ParseError| error.inside_index(index));
    items.into_iter().enumerate().map(read_at).collect()
}

pub(crate) fn canonical_list<T: FromStr<Err = Invalid> + Display>(
    raw: Raw<'_>,
) -> Result<Vec<T>, ParseError> {
    list(raw, canonical)
}

/// Reads a list that may not name anything twice; `what` is the thing, for the error.
pub(crate) fn distinct_list<T: FromStr<Err = Invalid> + Display + Ord>(
    raw: Raw<'_>,
    what: &'static str,
) -> Result<Vec<T>, ParseError> {
    let names: Vec<T> = canonical_list(raw)?;
    let mut seen = BTreeSet::new();
    let twice = names.iter().enumerate().find(|(_, name)| !seen.insert(*name));
    match twice.map(|(index, name)| (index, name.to_string())) {
        Some((index, name)) => Err(ParseError::from(Invalid::Twice { what, name }).inside_index(index)),
        None => Ok(names),
    }
}

fn syntax(error: &dyn Display) -> ParseError {
    Fault::Syntax { message: error.to_string() }.into()
}
