//! What a session is called and what a list of sessions shows.
//!
//! Ids are made elsewhere: this crate has neither a clock nor randomness, so it only checks them.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use trunkline_message_tree::{Entry, NodeId, Timestamp};

use crate::tally::Tally;
use crate::{Log, Record, StoreError};

/// The name of a session: a UUID in lower case, such as `0198c3f0-6d5e-7cc3-98c6-5fa3a2b1c0de`.
///
/// Safe as a file name, and in order of making if the maker uses version 7.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
// Invariant: 36 bytes, lower-case hexadecimal digits in groups of 8-4-4-4-12.
pub struct SessionId(String);

impl SessionId {
    /// Reads an id exactly as it is printed.
    ///
    /// # Errors
    ///
    /// [`ParseSessionIdError`] for everything else, also for upper case and for prefixes.
    pub fn parse(text: &str) -> Result<Self, ParseSessionIdError> {
        let fits = |(place, byte): (usize, u8)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        };
        if text.len() == 36 && text.bytes().enumerate().all(fits) {
            return Ok(SessionId(text.to_owned()));
        }
        Err(ParseSessionIdError { text: text.chars().take(80).collect() })
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for SessionId {
    type Err = ParseSessionIdError;

    fn from_str(text: &str) -> Result<Self, ParseSessionIdError> {
        SessionId::parse(text)
    }
}

impl<'de> Deserialize<'de> for SessionId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        SessionId::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// The text is not a session id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a session id: {text:?}; write it like 0198c3f0-6d5e-7cc3-98c6-5fa3a2b1c0de")]
pub struct ParseSessionIdError {
    /// What was given, cut after 80 characters.
    pub text: String,
}

/// A session before it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its name; nobody else may have it.
    pub id: SessionId,
    /// What people call it; may be empty.
    pub title: String,
    /// The folder that it works in, if any.
    pub workspace: Option<String>,
    /// When it is made.
    pub at: Timestamp,
    /// Its first record: the node `n0`, as [`MessageTree::entries`](trunkline_message_tree::MessageTree::entries)
    /// gives it first.
    pub root: Entry,
}

impl NewSession {
    /// Returns the log that starts with the root.
    pub(crate) fn into_log(self) -> Result<Log, StoreError> {
        let root = Record::Entry(self.root);
        let mut tally = Tally::new(self.at);
        tally.add(&root).map_err(|misfit| StoreError::misfit(&self.id, 1, misfit))?;
        let info = SessionInfo {
            id: self.id,
            title: self.title,
            workspace: self.workspace,
            created_at: self.at,
            updated_at: tally.updated_at,
            head: tally.head,
            records: tally.seq,
            nodes: tally.nodes,
        };
        Ok(Log { info, records: vec![(1, root)] })
    }
}

/// A session as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionInfo {
    /// Its name.
    pub id: SessionId,
    /// What people call it; may be empty.
    pub title: String,
    /// The folder that it works in, if any.
    pub workspace: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The latest time that one of its records carries, or when it was made.
    pub updated_at: Timestamp,
    /// The end of its trunk.
    pub head: NodeId,
    /// How many records it has; also the number of the last one.
    pub records: u64,
    /// How many of them are nodes.
    pub nodes: u64,
}

impl SessionInfo {
    /// The order of lists.
    pub(crate) fn newest_first(&self, other: &Self) -> Ordering {
        (other.updated_at, &other.id).cmp(&(self.updated_at, &self.id))
    }
}
