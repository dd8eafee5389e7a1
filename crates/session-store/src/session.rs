//! What a session is called and what a list of sessions shows.
//!
//! Ids are made elsewhere: this crate has neither a clock nor randomness, so it only checks them.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};
use trunkline_message_tree::{Entry, NodeId, Timestamp};

use crate::tally::{Tally, check_name};
use crate::{Digest, StoreError};
#[cfg(feature = "store")]
use crate::{Kept, Record};

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
    /// Returns the header of the session and its first record.
    #[cfg(feature = "store")]
    pub(crate) fn into_rows(self) -> Result<(Header, Kept), StoreError> {
        let mut tally = Tally::new(&self.id, self.at);
        let root = tally.add(&self.id, Record::Entry(self.root))?;
        let header = Header {
            id: self.id,
            title: self.title,
            tags: BTreeSet::new(),
            archived: false,
            workspace: self.workspace,
            created_at: self.at,
            head: tally.head,
            records: tally.seq,
            nodes: tally.nodes,
            digest: Some(tally.digest),
        };
        Ok((header, root))
    }
}

/// A session as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionInfo {
    /// Its name.
    pub id: SessionId,
    /// What people call it; may be empty.
    pub title: String,
    /// Words that people sort it by.
    pub tags: BTreeSet<String>,
    /// Whether lists leave it out unless they are asked.
    pub archived: bool,
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
    /// The bytes of all bodies, before equal parts are stored once.
    pub bytes: u64,
    /// The digest of the last record, and so of all.
    pub digest: Digest,
}

impl SessionInfo {
    /// Returns the info of a session that has come as far as `tally`. For those who write a store.
    pub fn new(header: &Header, tally: &Tally) -> Self {
        SessionInfo {
            id: header.id.clone(),
            title: header.title.clone(),
            tags: header.tags.clone(),
            archived: header.archived,
            workspace: header.workspace.clone(),
            created_at: header.created_at,
            updated_at: tally.updated_at,
            head: tally.head,
            records: tally.seq,
            nodes: tally.nodes,
            bytes: tally.bytes,
            digest: tally.digest,
        }
    }

    /// Moves it on to where the log now is. For those who write a store.
    pub fn follow(&mut self, tally: &Tally) {
        self.updated_at = tally.updated_at;
        self.head = tally.head;
        self.records = tally.seq;
        self.nodes = tally.nodes;
        self.bytes = tally.bytes;
        self.digest = tally.digest;
    }

    /// Checks that a session that is now so, and has so many letters that wait, may be deleted by whoever has `seen` it. For
    /// those who write a store.
    ///
    /// # Errors
    ///
    /// [`StoreError::Changed`].
    pub fn check_idle(&self, seen: &SessionInfo, letters: u64) -> Result<(), StoreError> {
        let reason = match (self == seen, letters) {
            (true, 0) => return Ok(()),
            (true, _) => "a letter was left for it",
            (false, _) if (self.records, self.digest) == (seen.records, seen.digest) => {
                "its name, tags or place changed"
            }
            (false, _) => "its log changed",
        };
        Err(StoreError::Changed { session: self.id.clone(), reason })
    }

    /// Compares as lists are ordered: the one updated last comes first, and of equals the greatest id.
    pub fn newest_first(&self, other: &Self) -> Ordering {
        (other.updated_at, &other.id).cmp(&(self.updated_at, &self.id))
    }
}

/// What stands before the records of a session that is moved: how it is called, and what its records must come to.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "whoever writes an import makes one")]
pub struct Header {
    /// Its name.
    pub id: SessionId,
    /// What people call it.
    pub title: String,
    /// Words that people sort it by.
    pub tags: BTreeSet<String>,
    /// Whether lists leave it out.
    pub archived: bool,
    /// The folder that it works in, if any.
    pub workspace: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// Where the head must be at the end.
    pub head: NodeId,
    /// How many records there must be.
    pub records: u64,
    /// How many nodes.
    pub nodes: u64,
    /// The digest of the last record; nothing in files that were written before there were digests.
    pub digest: Option<Digest>,
}

impl Header {
    /// Checks that every store can keep its words.
    #[cfg(feature = "store")]
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let mut words = [&self.title].into_iter().chain(&self.workspace).chain(&self.tags);
        let checked = words.try_for_each(|word| check_name(word));
        checked.map_err(|reason| StoreError::body(&self.id, "title", reason))
    }

    /// Returns the digest of what a session says of itself and no record of it does: how it is called and listed, which
    /// folder it works in, when it was made. It is stored beside it, so that a change of these is noticed like one of a
    /// record.
    pub fn seal(&self) -> Digest {
        let Header { id, title, tags, archived, workspace, created_at, .. } = self;
        let sealed =
            Sealed { session: id, title, tags, archived: *archived, workspace, created_at: *created_at };
        Digest::of(serde_json::to_string(&sealed).expect("words and numbers are JSON").as_bytes())
    }

    /// Returns the header of a session as it is.
    pub fn of(info: &SessionInfo) -> Self {
        Header {
            id: info.id.clone(),
            title: info.title.clone(),
            tags: info.tags.clone(),
            archived: info.archived,
            workspace: info.workspace.clone(),
            created_at: info.created_at,
            head: info.head,
            records: info.records,
            nodes: info.nodes,
            digest: Some(info.digest),
        }
    }
}

/// What a seal is made of, in this order.
#[derive(Serialize)]
struct Sealed<'a> {
    session: &'a SessionId,
    title: &'a str,
    tags: &'a BTreeSet<String>,
    archived: bool,
    workspace: &'a Option<String>,
    created_at: Timestamp,
}

/// What is to change about how a session is called and listed. What is `None` stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Amend {
    /// The title.
    pub title: Option<String>,
    /// All tags. Whoever means to change some of them says which, below: what others add meanwhile stays.
    pub tags: Option<BTreeSet<String>>,
    /// Tags that it is not to have; no error if it has none of them.
    pub remove_tags: BTreeSet<String>,
    /// Tags that it is to have besides those that it has; these win over `remove_tags`.
    pub add_tags: BTreeSet<String>,
    /// Whether it is archived.
    pub archived: Option<bool>,
}

impl Amend {
    /// Returns a change of the title.
    pub fn title(title: impl Into<String>) -> Self {
        Amend { title: Some(title.into()), ..Amend::default() }
    }

    /// Returns a change of all tags.
    pub fn tags<T: Into<String>>(tags: impl IntoIterator<Item = T>) -> Self {
        Amend { tags: Some(tags.into_iter().map(Into::into).collect()), ..Amend::default() }
    }

    /// Returns a change that adds tags to those that the session has then.
    pub fn add_tags<T: Into<String>>(tags: impl IntoIterator<Item = T>) -> Self {
        Amend { add_tags: tags.into_iter().map(Into::into).collect(), ..Amend::default() }
    }

    /// Returns a change that takes tags off.
    pub fn remove_tags<T: Into<String>>(tags: impl IntoIterator<Item = T>) -> Self {
        Amend { remove_tags: tags.into_iter().map(Into::into).collect(), ..Amend::default() }
    }

    /// Returns a change into the archive or out of it.
    pub fn archived(archived: bool) -> Self {
        Amend { archived: Some(archived), ..Amend::default() }
    }

    /// Changes an info. For those who write a store.
    pub fn apply(self, info: &mut SessionInfo) {
        if let Some(title) = self.title {
            info.title = title;
        }
        if let Some(tags) = self.tags {
            info.tags = tags;
        }
        info.tags.retain(|tag| !self.remove_tags.contains(tag));
        info.tags.extend(self.add_tags);
        if let Some(archived) = self.archived {
            info.archived = archived;
        }
    }

    /// Checks that every store can keep it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Body`] if a word has a NUL, or if the title or a tag is longer than 64 KiB.
    pub fn check(&self, session: &SessionId) -> Result<(), StoreError> {
        let tags = self.tags.iter().flatten().chain(&self.remove_tags).chain(&self.add_tags);
        let mut words = self.title.iter().chain(tags);
        let checked = words.try_for_each(|word| check_name(word));
        checked.map_err(|reason| StoreError::body(session, "title", reason))
    }
}
