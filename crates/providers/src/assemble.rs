//! Puts a body together: our fields, the conversation, and the caller's own fields.
//!
//! The conversation is not copied. A field of the caller's own replaces ours; two of one name would be refused or, worse,
//! not.

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{Body, EncodeError};

/// Writes a body from `fields`, an object without the conversation and without what `extra` replaces.
///
/// `list` is the conversation's name and its elements. Members of `extra` that are named in `done` are already in
/// `fields`.
pub(crate) fn body(
    fields: &impl Serialize,
    list: (&str, Vec<Bytes>),
    extra: &Map<String, Value>,
    done: &[&str],
) -> Result<Body, EncodeError> {
    let fault = |fault: serde_json::Error| EncodeError::Json { reason: fault.to_string() };
    let mut head = serde_json::to_vec(fields).map_err(fault)?;
    head.pop();
    let comma = |bytes: &mut Vec<u8>| {
        if bytes.as_slice() != b"{" {
            bytes.push(b',');
        }
    };
    let (name, elements) = list;
    let mut body = Body::default();
    if !extra.contains_key(name) {
        comma(&mut head);
        serde_json::to_writer(&mut head, name).map_err(fault)?;
        head.extend_from_slice(b":[");
        body.push(std::mem::take(&mut head));
        elements.into_iter().for_each(|element| body.push(element));
        head.push(b']');
    }
    for (name, value) in extra.iter().filter(|(name, _)| !done.contains(&name.as_str())) {
        comma(&mut head);
        serde_json::to_writer(&mut head, name).map_err(fault)?;
        head.push(b':');
        serde_json::to_writer(&mut head, value).map_err(fault)?;
    }
    head.push(b'}');
    body.push(head);
    Ok(body)
}
