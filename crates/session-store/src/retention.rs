//! Which sessions have had their time: a plan that can be looked at before anything is deleted.

use std::collections::BTreeSet;

use trunkline_message_tree::Timestamp;

use crate::{NoteQuery, SessionId, SessionInfo, SessionStore, StoreError};

/// What nothing needed any more.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collected {
    /// How many parts no session has any more.
    pub parts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many imports had been cut off.
    pub imports: u64,
}

impl Collected {
    /// Returns the counts; for those who write a store.
    pub fn new(parts: u64, bytes: u64, imports: u64) -> Self {
        Collected { parts, bytes, imports }
    }
}

/// What may go, and what may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retention {
    /// Sessions that were not updated for longer, in milliseconds, may go.
    pub older_than: Option<u64>,
    /// The oldest sessions may go until the bodies of all that stay have no more bytes than this.
    pub bytes: Option<u64>,
    /// Only archived sessions may go.
    pub only_archived: bool,
    /// Sessions with one of these tags stay.
    pub keep_tags: BTreeSet<String>,
    /// Sessions with a key that one of these finds stay, such as a pending proposal.
    pub keep_notes: Vec<NoteQuery>,
}

/// A session that has had its time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expired {
    /// The session.
    pub info: SessionInfo,
    /// Why.
    pub reason: ExpiryReason,
}

/// Why a session may go.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExpiryReason {
    /// It was not updated for too long.
    Age,
    /// There is too much, and the others are younger.
    Size,
}

impl Retention {
    /// Returns a retention by age, in milliseconds since the last update.
    pub fn older_than(milliseconds: u64) -> Self {
        Retention { older_than: Some(milliseconds), ..Retention::default() }
    }

    /// Returns a retention by the bytes of all bodies.
    pub fn bytes(bytes: u64) -> Self {
        Retention { bytes: Some(bytes), ..Retention::default() }
    }

    /// Returns which sessions may go, the oldest first, without touching any. Sessions with a live writer or with letters
    /// that wait always stay.
    ///
    /// To carry the plan out, [`delete_idle`](SessionStore::delete_idle) each of them and then
    /// [`collect`](SessionStore::collect): a session that somebody has come back to since the plan was made stays, with a
    /// [`StoreError::Locked`] or [`StoreError::Changed`] that is passed over.
    ///
    /// # Errors
    ///
    /// What the store says.
    pub async fn plan<S: SessionStore + ?Sized>(
        &self,
        store: &S,
        now: Timestamp,
    ) -> Result<Vec<Expired>, StoreError> {
        let mut kept: BTreeSet<SessionId> = BTreeSet::new();
        for query in &self.keep_notes {
            kept.extend(store.notes(query).await?.into_iter().map(|found| found.session));
        }
        let sessions = store.sessions().await?;
        let mut total = sessions.iter().fold(0_u64, |sum, info| sum.saturating_add(info.bytes));
        let mut expired = Vec::new();
        for info in sessions.into_iter().rev() {
            let reason = match self.reason(&info, total, now) {
                Some(reason) if !kept.contains(&info.id) => reason,
                _ => continue,
            };
            let busy = match is_busy(store, &info.id).await {
                // Somebody else has deleted it, so it takes no room any more.
                Err(StoreError::UnknownSession { .. }) => None,
                busy => Some(busy?),
            };
            if busy == Some(true) {
                continue;
            }
            total = total.saturating_sub(info.bytes);
            if busy.is_some() {
                expired.push(Expired { info, reason });
            }
        }
        Ok(expired)
    }

    fn reason(&self, info: &SessionInfo, total: u64, now: Timestamp) -> Option<ExpiryReason> {
        if self.only_archived && !info.archived || !self.keep_tags.is_disjoint(&info.tags) {
            return None;
        }
        let age = now.0.saturating_sub(info.updated_at.0);
        if self.older_than.is_some_and(|limit| age > limit) {
            return Some(ExpiryReason::Age);
        }
        self.bytes.is_some_and(|limit| total > limit).then_some(ExpiryReason::Size)
    }
}

async fn is_busy<S: SessionStore + ?Sized>(store: &S, session: &SessionId) -> Result<bool, StoreError> {
    if store.holder(session).await?.is_some() {
        return Ok(true);
    }
    match store.inbox(session).await {
        // What it was is not known, but something was left for it.
        Err(StoreError::Corrupt { .. }) => Ok(true),
        inbox => Ok(!inbox?.is_empty()),
    }
}
