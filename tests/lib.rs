//! Stories and laws that need more than one crate live in `stories/`; here is what they share with the program that
//! holds the wires against a folder of recorded exchanges.

#![expect(clippy::exhaustive_enums, reason = "the package is not published: all its readers are in it")]

pub mod corpora;
pub mod recorded;
