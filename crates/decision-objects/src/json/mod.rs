//! Our own JSON form: one value, one canonical text, one digest.
//!
//! Printing is canonical: compact, keys in a fixed order, absent options left out.
//! Parsing takes the same value in any order of keys, with any white space and any escapes in its texts, files in any order
//! where their order says nothing (those that were touched, cited, read or written), and nothing else;
//! the digest is one of the value, so it does not matter how a store kept the text.

mod fields;
mod object;
mod parse_error;
pub(crate) mod read;
mod salvage;
pub(crate) mod scan;
mod spelled;

pub(crate) use fields::{Fields, Raw};
pub(crate) use object::{Object, push_display, push_quoted, quoted};
pub use parse_error::{Fault, ParseError};
pub(crate) use salvage::Sink;
pub(crate) use spelled::{Place, Spelled, place};

use crate::Digest;

/// The only version of the form that there is.
const VERSION: u32 = 1;

/// A value with a canonical form.
pub(crate) trait Canonical: Sized {
    const TYPE: &'static str;

    fn print_fields(&self, object: Object) -> Object;

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError>;
}

pub(crate) fn print<T: Canonical>(value: &T) -> String {
    let head = Object::document().text("type", T::TYPE).show_bare("version", VERSION);
    value.print_fields(head).finish()
}

pub(crate) fn parse<T: Canonical>(json: &[u8]) -> Result<T, ParseError> {
    Fields::read(json, |mut fields| {
        fields.required("type", |raw| read::word(raw, T::TYPE, |word| (word == T::TYPE).then_some(())))?;
        parse_body(fields)
    })
}

/// Parses what stands beside a `type` that has been read.
pub(crate) fn parse_body<T: Canonical>(mut fields: Fields<'_>) -> Result<T, ParseError> {
    fields.required("version", |raw| match read::unsigned(raw)? {
        VERSION => Ok(()),
        version => Err(Fault::Version { version }.into()),
    })?;
    let value = T::read_fields(&mut fields);
    fields.settle(value)
}

pub(crate) fn parse_verified<T: Canonical>(json: &[u8], expected: Digest) -> Result<T, ParseError> {
    let value: T = parse(json)?;
    let found = Digest::of(print(&value).as_bytes());
    if found == expected { Ok(value) } else { Err(Fault::DigestMismatch { expected, found }.into()) }
}

/// Gives a type its `print`, `digest`, `parse` and `parse_verified`.
macro_rules! canonical_form {
    ($name:ident) => {
        impl $name {
            /// Prints the canonical JSON: compact, keys in their fixed order.
            #[must_use]
            pub fn print(&self) -> String {
                $crate::json::print(self)
            }

            /// The SHA-256 of the canonical JSON.
            #[must_use]
            pub fn digest(&self) -> $crate::Digest {
                $crate::Digest::of(self.print().as_bytes())
            }

            /// Parses the JSON form, strictly; only the order of keys and of files, white space and escapes are free.
            ///
            /// # Errors
            ///
            /// [`ParseError`](crate::ParseError) with the path of the first fault found.
            pub fn parse(json: &[u8]) -> Result<Self, $crate::ParseError> {
                $crate::json::parse(json)
            }

            /// Parses like [`parse`](Self::parse) and compares the value's digest with the expected one.
            ///
            /// # Errors
            ///
            /// As [`parse`](Self::parse), and [`Fault::DigestMismatch`](crate::Fault::DigestMismatch).
            pub fn parse_verified(json: &[u8], expected: $crate::Digest) -> Result<Self, $crate::ParseError> {
                $crate::json::parse_verified(json, expected)
            }
        }
    };
}
pub(crate) use canonical_form;
