//! How a check fails: with what was expected and what was found.

use std::fmt::{self, Debug};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::{ExportError, ImportError, StoreError};

/// Why a check failed, in words. Errors of a store become one by `?`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken(pub(super) String);

pub(super) type Verdict = Result<(), Broken>;

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<StoreError> for Broken {
    fn from(error: StoreError) -> Self {
        Broken(format!("an error that should not be: {}", words(&error)))
    }
}

impl From<ImportError> for Broken {
    fn from(error: ImportError) -> Self {
        Broken(format!("an error that should not be: {}", words(&error)))
    }
}

impl From<ExportError> for Broken {
    fn from(error: ExportError) -> Self {
        Broken(format!("an error that should not be: {}", words(&error)))
    }
}

/// Fails with those words.
macro_rules! fail {
    ($($words:tt)*) => {
        return Err($crate::kit::verdict::Broken(format!($($words)*)))
    };
}

/// Fails with those words unless something is so.
macro_rules! ensure {
    ($what:expr, $($words:tt)*) => {
        if !$what {
            fail!($($words)*);
        }
    };
}

/// Fails unless two values are equal.
macro_rules! same {
    ($what:literal, $found:expr, $expected:expr) => {
        $crate::kit::verdict::same($what, &$found, &$expected)?
    };
}

/// Fails unless a result is an error of that kind.
macro_rules! refused {
    ($what:literal, $result:expr, $kind:pat $(if $so:expr)?) => {
        match $result {
            Err($kind) $(if $so)? => {}
            other => {
                let found = $crate::kit::verdict::outcome(&other);
                fail!("{}: expected {}, found {found}", $what, stringify!($kind $(if $so)?))
            }
        }
    };
}

pub(super) fn same<A: Debug + PartialEq<B>, B: Debug>(what: &str, found: &A, expected: &B) -> Verdict {
    match found == expected {
        true => Ok(()),
        false => fail!("{what}: {}", differ(&format!("{found:?}"), &format!("{expected:?}"))),
    }
}

/// Says where two texts part.
pub(super) fn differ(found: &str, expected: &str) -> String {
    const BEFORE: usize = 40;
    let common = found.chars().zip(expected.chars()).take_while(|(one, other)| one == other).count();
    let from = if common > 2 * BEFORE { common - BEFORE } else { 0 };
    let lead = if from > 0 { "…" } else { "" };
    let part = |text: &str| brief(&text.chars().skip(from).collect::<String>());
    format!("expected {lead}{}, found {lead}{}", part(expected), part(found))
}

/// Cuts a text that nobody wants to read to its end.
pub(super) fn brief(text: &str) -> String {
    const LONGEST: usize = 240;
    match text.char_indices().nth(LONGEST) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
    }
}

pub(super) fn outcome<T: Debug, E: std::error::Error>(result: &Result<T, E>) -> String {
    match result {
        Ok(value) => brief(&format!("{value:?}")),
        Err(error) => words(error),
    }
}

/// An error with its causes on one line.
pub(super) fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    text
}

/// Runs something that may panic.
pub(super) fn guard<T>(run: impl FnOnce() -> T) -> Result<T, Broken> {
    // What a panic leaves half done is thrown away with its place.
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str);
        let words = words.or_else(|| panic.downcast_ref::<&str>().copied());
        Broken(format!("it panicked: {}", words.unwrap_or("without words")))
    })
}
