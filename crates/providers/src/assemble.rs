//! Puts a body together: our fields, the conversation, and the caller's own fields.
//!
//! The conversation is not copied. A field of the caller's own replaces ours; where both are objects its members replace
//! ours one by one, unless it says with a `type` that it is whole.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Body, EncodeError};

/// Writes a body from `fields`, an object without the conversation.
///
/// `list` is the conversation's name and its elements.
pub(crate) fn body(
    fields: &impl Serialize,
    list: (&str, Vec<Bytes>),
    extra: &Map<String, Value>,
) -> Result<Body, EncodeError> {
    let fault = |fault: serde_json::Error| EncodeError::Json { reason: fault.to_string() };
    let mut head = match extra.is_empty() {
        true => serde_json::to_vec(fields).map_err(fault)?,
        false => serde_json::to_vec(&merged(fields, extra).map_err(fault)?).map_err(fault)?,
    };
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

fn merged(fields: &impl Serialize, extra: &Map<String, Value>) -> Result<Value, serde_json::Error> {
    let mut fields = serde_json::to_value(fields)?;
    for (name, value) in extra {
        match (fields.get_mut(name), value) {
            (Some(Value::Object(ours)), Value::Object(theirs)) if !theirs.contains_key("type") => {
                ours.extend(theirs.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            (Some(ours), theirs) => ours.clone_from(theirs),
            (None, theirs) => {
                if let Value::Object(fields) = &mut fields {
                    fields.insert(name.clone(), theirs.clone());
                }
            }
        }
    }
    Ok(fields)
}
