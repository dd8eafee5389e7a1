//! Letters for whoever writes a session, and how one waits for what becomes of them.

use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::Timestamp;

#[cfg(any(feature = "sqlite", feature = "postgres"))]
use crate::digest::Hasher;
#[cfg(feature = "store")]
use crate::{Holder, SessionId, SessionStore, StoreError};

/// The name of a letter in one session's inbox, counted from 1 and never given twice.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxId(pub u64);

impl fmt::Display for InboxId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A message to whoever holds the session, from somebody who does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// Its name.
    pub id: InboxId,
    /// When it was posted, as its sender says.
    pub at: Timestamp,
    /// What it asks for, such as `prompt`.
    pub kind: String,
    /// JSON on one line without white space around it, kept byte for byte.
    pub body: String,
}

#[cfg(any(feature = "sqlite", feature = "postgres"))]
impl Letter {
    /// Returns the digest of what waits in the inbox of a session: which letter of which session it is, when it was posted and
    /// what it says. It is stored beside it, so that a change is noticed before the letter has an effect.
    pub(crate) fn seal(&self, session: &SessionId) -> crate::Digest {
        let Letter { id, at, kind, body } = self;
        // With the signs that a database gives to numbers, because one of them computes it, too.
        let (id, at, length) = (id.0.cast_signed(), at.0.cast_signed(), kind.len());
        let mut hasher = Hasher::default();
        hasher.bytes(format!("trunkline letter {session} {id} {at} {length} {kind} ").as_bytes());
        hasher.bytes(body.as_bytes());
        hasher.digest()
    }
}

/// What became of a letter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a letter waits or has taken effect; there is nothing between")]
pub enum LetterState {
    /// No batch has consumed it yet.
    Waiting,
    /// A batch has consumed it.
    Consumed {
        /// The number of the last record after that batch.
        seq: u64,
    },
}

/// What has happened in a session so far, as counters. Equal counters mean that nothing happened in between.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// How many records there are.
    pub records: u64,
    /// How many letters ever came.
    pub posted: u64,
    /// How many of them were consumed.
    pub consumed: u64,
    /// The token of the newest lease that was given, 0 before the first: whoever writes under another one was taken over, also
    /// if nobody holds the session any more.
    pub token: u64,
}

impl Activity {
    /// Returns the counters of a session that nobody has held; for those who write a store.
    pub fn new(records: u64, posted: u64, consumed: u64) -> Self {
        Activity { records, posted, consumed, token: 0 }
    }

    /// Returns them with the token of the newest lease.
    #[must_use]
    pub fn under(self, token: u64) -> Self {
        Activity { token, ..self }
    }
}

/// Waits until a letter has taken effect, and returns the number of the last record after that.
///
/// If its session has no live writer this waits for the next one: see
/// [`SessionStore::holder`](SessionStore::holder), and take the lease instead.
///
/// # Errors
///
/// [`StoreError::NoSuchLetter`] if it was never posted; [`StoreError::UnknownSession`], also if it is deleted meanwhile.
#[cfg(feature = "store")]
pub async fn consumed<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    letter: InboxId,
) -> Result<u64, StoreError> {
    let mut seen = Activity::default();
    loop {
        // Before the letter is looked at, so that what happens in between is not missed.
        seen = store.changed(session, seen).await?;
        if let LetterState::Consumed { seq } = store.letter(session, letter).await? {
            return Ok(seq);
        }
    }
}

/// What the writer of a session finds that others have done in it.
#[cfg(feature = "store")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "who overlooks that it was taken over works on in vain")]
pub enum Arrived {
    /// The letters that wait, in the order in which they were posted.
    Letters(Vec<Letter>),
    /// It was taken over: who holds it now; `None` if they have let go of it since.
    TakenOver(Option<Holder>),
}

/// Waits until the letters that wait are as `wanted`, or the session was taken over; `token` is that of the
/// [lease](crate::Lease::token) that the caller writes under. For writers, who have to hear of both while they do other things.
///
/// Looks whenever something has happened since `seen`, which then holds what it has seen: with `Activity::default()` at once,
/// with the activity of a [look](SessionStore::look) only when there is news. May be dropped at any time. It keeps no lease and
/// reads nothing but the inbox; what a letter means is for the caller to say, and each look gives all that wait.
///
/// # Errors
///
/// [`StoreError::UnknownSession`], also if it is deleted meanwhile; those of [`inbox`](SessionStore::inbox). `seen` is what it was
/// before the look that failed, so that to call again after a while misses nothing.
#[cfg(feature = "store")]
pub async fn arrived<S: SessionStore + ?Sized>(
    store: &S,
    session: &SessionId,
    token: u64,
    seen: &mut Activity,
    wanted: impl Fn(&[Letter]) -> bool,
) -> Result<Arrived, StoreError> {
    loop {
        // The counters first, so that what comes while the rest is read is not missed.
        let now = store.changed(session, *seen).await?;
        if now.token != token {
            return Ok(Arrived::TakenOver(store.holder(session).await?));
        }
        let letters = store.inbox(session).await?;
        if wanted(&letters) {
            return Ok(Arrived::Letters(letters));
        }
        *seen = now;
    }
}
