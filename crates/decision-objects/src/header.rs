//! What every object of the family says first.

use crate::json::{Fields, Object, ParseError, Spelled, read};
use crate::{Actor, Timestamp};

/// Which object it is, when it came to be, and who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header<Id> {
    /// The object's name.
    pub id: Id,
    /// When it came to be.
    pub at: Timestamp,
    /// Who made it.
    pub by: Actor,
}

pub(crate) fn print<Id: Spelled>(header: &Header<Id>, object: Object) -> Object {
    object.show("id", &header.id).show("at", &header.at).object("by", header.by.print())
}

pub(crate) fn read<Id: Spelled>(fields: &mut Fields<'_>) -> Result<Header<Id>, ParseError> {
    Ok(Header {
        id: fields.required("id", read::canonical)?,
        at: fields.required("at", read::canonical)?,
        by: fields.required("by", Actor::read)?,
    })
}
