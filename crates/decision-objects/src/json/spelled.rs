//! Values that are written as one text, in one spelling.
//!
//! `Display` says the same, by way of a formatter; most of what is written or compared are ids, times and digests,
//! and for them the way would cost more than the writing.

use std::str::FromStr;

use crate::Invalid;

/// Where a value without a text of its own puts it; none needs more.
pub(crate) type Place = [u8; 64];

pub(crate) const fn place() -> Place {
    [0; 64]
}

/// A value that is written as a text: an id, a time, a digest.
pub(crate) trait Spelled: FromStr<Err = Invalid> {
    /// The text, as `Display` prints it.
    fn spelling<'a>(&'a self, place: &'a mut Place) -> &'a str;
}
