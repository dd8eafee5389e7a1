//! What every object of the family says first.

use std::fmt::Display;
use std::str::FromStr;

use crate::json::{Fields, Object, ParseError, read};
use crate::{Actor, Invalid, Timestamp};

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

impl<Id: Display + FromStr<Err = Invalid>> Header<Id> {
    pub(crate) fn print_fields(&self, object: Object) -> Object {
        object.show("id", &self.id).show("at", &self.at).object("by", self.by.print())
    }

    pub(crate) fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            id: fields.required("id", read::canonical)?,
            at: fields.required("at", read::canonical)?,
            by: fields.required("by", Actor::read)?,
        })
    }
}
