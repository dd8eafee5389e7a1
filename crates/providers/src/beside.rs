//! What a service said beside the words or the call of a block: citations, who called, in which phase of the answer.
//!
//! Our blocks have room for the words and for the call. What else its wire had in the same block is kept right after it, as a
//! raw block in a form of our own that is never sent as it is: the encoder of the same wire puts its members back into the
//! block before it. Every other wire leaves it out with whatever else it does not know.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use trunkline_message_tree::Content;

use crate::EncodeError;
use crate::shape;

/// Members of an object by their names, each as it was written.
pub(crate) type Members<'a> = BTreeMap<Cow<'a, str>, &'a RawValue>;

/// What such a raw block stands beside.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The words before it.
    Text,
    /// The call before it.
    Call,
    /// The message that it is in.
    Message,
}

#[derive(Serialize, Deserialize)]
struct Form<'a> {
    #[serde(borrow, rename = "besideText", skip_serializing_if = "Option::is_none")]
    text: Option<Members<'a>>,
    #[serde(borrow, rename = "besideCall", skip_serializing_if = "Option::is_none")]
    call: Option<Members<'a>>,
    #[serde(borrow, rename = "besideMessage", skip_serializing_if = "Option::is_none")]
    message: Option<Members<'a>>,
}

/// Returns the block that keeps these members, if there are any.
pub(crate) fn block(wire: &str, of: Of, members: Members<'_>) -> Option<Content> {
    let members = Some(members).filter(|members| !members.is_empty())?;
    let form = match of {
        Of::Text => Form { text: Some(members), call: None, message: None },
        Of::Call => Form { text: None, call: Some(members), message: None },
        Of::Message => Form { text: None, call: None, message: Some(members) },
    };
    let json = serde_json::to_string(&form).ok()?;
    Some(Content::Opaque { wire: wire.to_owned(), json })
}

/// Reads such a block of a wire, and what it stands beside.
pub(crate) fn read<'a>(content: &'a Content, wire: &str) -> Option<(Of, Members<'a>)> {
    let Content::Opaque { wire: of, json } = content else { return None };
    if of != wire || !json.contains("\"beside") {
        return None;
    }
    match serde_json::from_str::<Form<'a>>(json).ok()? {
        Form { text: Some(members), .. } => Some((Of::Text, members)),
        Form { call: Some(members), .. } => Some((Of::Call, members)),
        Form { message: Some(members), .. } => Some((Of::Message, members)),
        _ => None,
    }
}

/// Returns the members that the next block keeps of this one, which must be of the given kind.
pub(crate) fn of_next<'a>(rest: &'a [Content], of: Of, wire: &str) -> Members<'a> {
    let next = rest.first().and_then(|next| read(next, wire));
    next.filter(|(kind, _)| *kind == of).map(|(_, members)| members).unwrap_or_default()
}

/// Adds members to an object that was just written and ends in `}`.
pub(crate) fn splice(bytes: &mut Vec<u8>, members: &Members<'_>) -> Result<(), EncodeError> {
    if members.is_empty() || bytes.pop_if(|last| *last == b'}').is_none() {
        return Ok(());
    }
    for (name, value) in members {
        bytes.push(b',');
        shape::write(bytes, name)?;
        bytes.push(b':');
        bytes.extend_from_slice(value.get().as_bytes());
    }
    bytes.push(b'}');
    Ok(())
}
