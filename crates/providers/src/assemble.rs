//! Puts a body together: our fields, the conversation, and the caller's own fields.
//!
//! The conversation is not copied. A field of the caller's own replaces ours; where both are objects its members replace
//! ours one by one, unless it says with a `type` that it is whole.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use crate::{Body, EncodeError};

// Our fields keep their bytes: a number that goes through a value may come out with more digits.
type Fields = BTreeMap<String, Box<RawValue>>;

/// Writes a body from `fields`, an object without the conversation.
///
/// `list` is the conversation's name and its elements.
pub(crate) fn body(
    fields: &impl Serialize,
    list: (&str, Vec<Bytes>),
    extra: &Map<String, Value>,
) -> Result<Body, EncodeError> {
    let fault = |fault: serde_json::Error| EncodeError::Json { reason: fault.to_string() };
    let mut head = serde_json::to_vec(fields).map_err(fault)?;
    if !extra.is_empty() {
        head = serde_json::to_vec(&merged(&head, extra).map_err(fault)?).map_err(fault)?;
    }
    let (name, elements) = list;
    let mut body = Body::default();
    if extra.contains_key(name) {
        body.push(head);
        return Ok(body);
    }
    head.pop();
    if head.as_slice() != b"{" {
        head.push(b',');
    }
    serde_json::to_writer(&mut head, name).map_err(fault)?;
    head.extend_from_slice(b":[");
    body.push(head);
    elements.into_iter().for_each(|element| body.push(element));
    body.push(Bytes::from_static(b"]}"));
    Ok(body)
}

fn merged(ours: &[u8], extra: &Map<String, Value>) -> Result<Fields, serde_json::Error> {
    let mut fields: Fields = serde_json::from_slice(ours)?;
    for (name, value) in extra {
        let object = fields.get(name).filter(|ours| ours.get().starts_with('{'));
        let value = match (object, value) {
            (Some(ours), Value::Object(theirs)) if !theirs.contains_key("type") => {
                let mut members: Fields = serde_json::from_str(ours.get())?;
                for (name, value) in theirs {
                    members.insert(name.clone(), to_raw_value(value)?);
                }
                to_raw_value(&members)?
            }
            (_, theirs) => to_raw_value(theirs)?,
        };
        fields.insert(name.clone(), value);
    }
    Ok(fields)
}
