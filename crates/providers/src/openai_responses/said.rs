//! Reads what an item says: its parts, its members, its words.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::shapes::{ItemShape, PartOfItem};
use crate::{DecodeError, beside};

// The caller of a call that the model made itself, which goes without saying.
const DIRECT: &str = "{\"type\":\"direct\"}";

/// Returns what a reasoning item says to people: its summary, else the reasoning itself.
pub(super) fn readable(item: &ItemShape<'_>) -> Result<String, DecodeError> {
    for list in [item.summary, item.content] {
        let texts: Vec<Cow<'_, str>> = parts(list)?.into_iter().map(|part| part.text.0).collect();
        if texts.iter().any(|text| !text.is_empty()) {
            return Ok(texts.join("\n\n"));
        }
    }
    Ok(String::new())
}

/// Returns the parts of a content or a summary; anything but a list has none.
pub(super) fn parts(list: Option<&RawValue>) -> Result<Vec<PartOfItem<'_>>, DecodeError> {
    match list {
        Some(list) if list.get().starts_with('[') => parse(list.get()),
        _ => Ok(Vec::new()),
    }
}

pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(json).map_err(|fault| DecodeError::malformed(fault, json))
}

/// Returns what was said under these names, if it says anything.
pub(super) fn said<'a, const N: usize>(
    members: [(&'static str, Option<&'a RawValue>); N],
) -> beside::Members<'a> {
    let silent = |value: &RawValue| {
        let value = value.get();
        value == "null"
            || value == "\"\""
            || value == DIRECT
            || serde_json::from_str::<[(); 0]>(value).is_ok()
    };
    let members = members.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
    members.filter(|(_, value)| !silent(value)).collect()
}

pub(super) fn same_json(one: &str, other: &str) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    read(one).is_some_and(|one| read(other) == Some(one))
}

/// Counts what is kept of an item until its end, which says all of it again in one event and cannot be larger than that.
pub(super) fn hold(held: &mut usize, more: usize, limit: usize) -> Result<(), DecodeError> {
    *held = held.saturating_add(more);
    if *held > limit { Err(DecodeError::TooLarge { limit }) } else { Ok(()) }
}
