//! What was wrong with a file, or new in it.
//!
//! Reading goes on past every fault, so the list is the only trace of what was left out.

use std::fmt;

/// One thing in a file that was not as expected, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Fault {
    /// The line, from 1; 0 for what is said of the file as a whole.
    pub line: usize,
    /// What was found.
    pub kind: FaultKind,
}

/// What can be wrong with a file, or new in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The line is not JSON and was left out.
    NotJson {
        /// What the parser said.
        reason: String,
    },
    /// The line is not JSON; whole records in it were read and the rest was left out.
    TornLine {
        /// How many records were read.
        count: usize,
        /// What the parser said.
        reason: String,
    },
    /// A line holds several records, as after a line end that was lost. All were read; the client itself reads none.
    SharedLine {
        /// How many.
        count: usize,
    },
    /// The file is packed, and the pack ends too early or is damaged. What could be unpacked before that was read.
    Packed {
        /// What the unpacker said.
        reason: String,
    },
    /// Bytes that are not UTF-8 were replaced by U+FFFD.
    NotUtf8,
    /// Control characters, such as the NULs that a power cut leaves, were replaced; JSON cannot hold them.
    ControlCharacters {
        /// How many.
        count: usize,
    },
    /// Halves of surrogate pairs, which no provider takes, were replaced by U+FFFD.
    LoneSurrogates {
        /// How many.
        count: usize,
    },
    /// Records of a type that is not known; they were left out of the messages. The line is that of the first.
    UnknownRecord {
        /// The type as the file names it.
        name: String,
        /// How many.
        count: usize,
    },
    /// A field that is not known, in records of a known type; it stays with its record. The line is that of the first.
    UnknownField {
        /// The type of the records as the file names it.
        record: String,
        /// The field.
        field: String,
        /// How many.
        count: usize,
    },
    /// A record that should be a message and is not; it was left out.
    NotAMessage {
        /// What is the matter with it.
        reason: String,
    },
    /// A record has the id of another one above it, and says something else. What names the id is taken to mean the
    /// nearest record above.
    RepeatedId {
        /// The id.
        id: String,
    },
    /// A record stands a second time in the file; it was taken once.
    RepeatedRecord {
        /// Its id.
        id: String,
    },
    /// A record whose parent is not in the file; it was read as continuing the one above it.
    MissingParent {
        /// The parent's id.
        id: String,
    },
}

impl FaultKind {
    /// Returns a short name to count by, such as `not-json`.
    pub const fn row(&self) -> &'static str {
        match self {
            FaultKind::NotJson { .. } => "not-json",
            FaultKind::TornLine { .. } => "torn-line",
            FaultKind::SharedLine { .. } => "shared-line",
            FaultKind::Packed { .. } => "packed",
            FaultKind::NotUtf8 => "not-utf8",
            FaultKind::ControlCharacters { .. } => "control-characters",
            FaultKind::LoneSurrogates { .. } => "lone-surrogates",
            FaultKind::UnknownRecord { .. } => "unknown-record",
            FaultKind::UnknownField { .. } => "unknown-field",
            FaultKind::NotAMessage { .. } => "not-a-message",
            FaultKind::RepeatedId { .. } => "repeated-id",
            FaultKind::RepeatedRecord { .. } => "repeated-record",
            FaultKind::MissingParent { .. } => "missing-parent",
        }
    }

    /// Tells whether text was damaged: something was left out or replaced that may have been part of a conversation, or
    /// stands where its own client does not read it.
    ///
    /// The others are drift between versions and the usual disorder of these files.
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            FaultKind::NotJson { .. }
                | FaultKind::TornLine { .. }
                | FaultKind::SharedLine { .. }
                | FaultKind::Packed { .. }
                | FaultKind::NotUtf8
                | FaultKind::ControlCharacters { .. }
                | FaultKind::LoneSurrogates { .. }
                | FaultKind::NotAMessage { .. }
        )
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::NotJson { reason } => write!(f, "not JSON, left out: {reason}"),
            FaultKind::TornLine { count, reason } => {
                write!(f, "not JSON but in part: records read {count}, the rest left out: {reason}")
            }
            FaultKind::SharedLine { count } => {
                write!(f, "{count} records on one line; all were read, the client would read none of them")
            }
            FaultKind::ControlCharacters { count } => {
                write!(f, "control characters, which JSON cannot hold, replaced: {count}")
            }
            FaultKind::Packed { reason } => {
                write!(f, "the packed file is damaged or cut, the rest left out: {reason}")
            }
            FaultKind::NotUtf8 => f.write_str("not UTF-8; the bytes were replaced by U+FFFD"),
            FaultKind::LoneSurrogates { count } => {
                write!(f, "halves of surrogate pairs replaced by U+FFFD: {count}")
            }
            FaultKind::UnknownRecord { name, count } => {
                write!(f, "records of unknown type {name:?}: {count}")
            }
            FaultKind::UnknownField { record, field, count } => {
                write!(f, "unknown field {field:?} in records of type {record:?}: {count}")
            }
            FaultKind::NotAMessage { reason } => write!(f, "not a message, left out: {reason}"),
            FaultKind::RepeatedId { id } => {
                write!(f, "record {id:?} has the id of another one above it; each is read where it stands")
            }
            FaultKind::RepeatedRecord { id } => {
                write!(f, "record {id:?} stands here a second time; it was taken once")
            }
            FaultKind::MissingParent { id } => write!(f, "parent {id:?} is not in this file"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => self.kind.fmt(f),
            line => write!(f, "line {line}: {}", self.kind),
        }
    }
}
