//! Reading on after a fault, so that all of them are found.
//!
//! The readers of the forms give up at their first fault. While faults are collected, each fault goes into a sink with
//! its place, and a stand-in takes the place of the value, so that the reader goes on. What it builds is thrown away.
//! A rule over several values (a decision that undoes itself) is only asked where those that it looks at could be read.

use std::cell::{Cell, RefCell};

use super::{ParseError, Raw};

/// The faults so far; places are completed on the way out.
#[derive(Debug, Default)]
pub(crate) struct Sink {
    faults: RefCell<Vec<ParseError>>,
    /// How often something was left out, or a stand-in took its place.
    guessed: Cell<usize>,
}

impl Sink {
    pub(super) fn push(&self, error: ParseError) {
        self.faults.borrow_mut().push(error);
    }

    /// Runs a reader, puts its error beside those that it collected itself, and gives all of them their place.
    ///
    /// An error that comes after others is left out: it may be one of them, or rest on a stand-in.
    pub(crate) fn collect<T>(
        &self,
        read: impl FnOnce() -> Result<T, ParseError>,
        enter: impl Fn(&mut ParseError),
    ) -> Result<T, ParseError> {
        let before = self.len();
        let result = read();
        let mut faults = self.faults.borrow_mut();
        if let Err(error) = &result
            && faults.len() == before
        {
            faults.push(error.clone());
        }
        faults.iter_mut().skip(before).for_each(enter);
        result
    }

    /// Notes that something is left out, or that a stand-in takes its place.
    pub(super) fn guess(&self) {
        self.guessed.set(self.guessed.get() + 1);
    }

    pub(super) fn guessed(&self) -> usize {
        self.guessed.get()
    }

    pub(super) fn len(&self) -> usize {
        self.faults.borrow().len()
    }

    pub(crate) fn into_faults(self) -> Vec<ParseError> {
        self.faults.into_inner()
    }
}

/// Values of which one fits wherever a value is wanted.
const STAND_INS: [&str; 11] = [
    "\"x\"",
    "\"00000000-0000-0000-0000-000000000001\"",
    "\"1970-01-01T00:00:00Z\"",
    "\"0000000000000000000000000000000000000000000000000000000000000001\"",
    "1",
    "true",
    "[]",
    "null",
    "{\"kind\":\"system\",\"id\":\"x\"}",
    "{\"kind\":\"abandon\",\"reason\":\"x\"}",
    "{\"store\":\"x\",\"key\":\"x\"}",
];

/// The first word of each list of words.
const WORDS: [&str; 14] = [
    "\"human\"",
    "\"abandon\"",
    "\"test\"",
    "\"added\"",
    "\"created\"",
    "\"failed\"",
    "\"analyzed\"",
    "\"pending\"",
    "\"ok\"",
    "\"explicit\"",
    "\"file\"",
    "\"feature\"",
    "\"step_summary\"",
    "\"other\"",
];

/// A value that the reader takes, and whether it is a word that says what else must be there.
pub(super) fn stand_in<'a, T>(read: &impl Fn(Raw<'a>) -> Result<T, ParseError>) -> Option<(T, bool)> {
    let first = |texts: &[&'static str]| texts.iter().find_map(|json| read(Raw::strict(json)).ok());
    match first(&STAND_INS) {
        Some(value) => Some((value, false)),
        None => first(&WORDS).map(|value| (value, true)),
    }
}
