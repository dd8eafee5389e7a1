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
    /// Bytes that are not UTF-8 were replaced by U+FFFD.
    NotUtf8,
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
    /// A record that should be a message and is not; it was left out.
    NotAMessage {
        /// What is the matter with it.
        reason: String,
    },
    /// A record whose id was there before; the first was taken.
    RepeatedId {
        /// The id.
        id: String,
    },
    /// A record whose parent is not in the file; it was read as continuing the one above it.
    MissingParent {
        /// The parent's id.
        id: String,
    },
    /// There are more branches than are read.
    BranchesLeftOut {
        /// How many were left out.
        count: usize,
    },
}

impl FaultKind {
    /// Returns a short name to count by, such as `not-json`.
    pub const fn row(&self) -> &'static str {
        match self {
            FaultKind::NotJson { .. } => "not-json",
            FaultKind::NotUtf8 => "not-utf8",
            FaultKind::LoneSurrogates { .. } => "lone-surrogates",
            FaultKind::UnknownRecord { .. } => "unknown-record",
            FaultKind::NotAMessage { .. } => "not-a-message",
            FaultKind::RepeatedId { .. } => "repeated-id",
            FaultKind::MissingParent { .. } => "missing-parent",
            FaultKind::BranchesLeftOut { .. } => "branches-left-out",
        }
    }

    /// Tells whether text was damaged: something was left out or replaced that may have been part of the conversation.
    ///
    /// The others are drift between versions and the usual disorder of these files.
    pub const fn is_damage(&self) -> bool {
        matches!(
            self,
            FaultKind::NotJson { .. }
                | FaultKind::NotUtf8
                | FaultKind::LoneSurrogates { .. }
                | FaultKind::NotAMessage { .. }
        )
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FaultKind::NotJson { reason } => write!(f, "not JSON, left out: {reason}"),
            FaultKind::NotUtf8 => f.write_str("not UTF-8; the bytes were replaced by U+FFFD"),
            FaultKind::LoneSurrogates { count } => {
                write!(f, "halves of surrogate pairs replaced by U+FFFD: {count}")
            }
            FaultKind::UnknownRecord { name, count } => {
                write!(f, "records of unknown type {name:?}: {count}")
            }
            FaultKind::NotAMessage { reason } => write!(f, "not a message, left out: {reason}"),
            FaultKind::RepeatedId { id } => write!(f, "record {id:?} repeats an id; the first was taken"),
            FaultKind::MissingParent { id } => write!(f, "parent {id:?} is not in this file"),
            FaultKind::BranchesLeftOut { count } => write!(f, "{count} branches too many, left out"),
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
