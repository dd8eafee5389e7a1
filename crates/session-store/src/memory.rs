//! Sessions in memory: the reference that every other store is compared with.
//!
//! Clones are handles on the same sessions. Nothing waits, so nothing can be cancelled half-way.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use trunkline_message_tree::Timestamp;

use crate::tally::{Tally, check_body};
use crate::{
    Batch, InboxId, Letter, Log, NewSession, Receipt, Record, SessionId, SessionInfo, SessionStore,
    StoreError, WriterLock,
};

/// Sessions that end with the process. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    sessions: Arc<Mutex<HashMap<SessionId, Kept>>>,
    held: Arc<Mutex<HashSet<SessionId>>>,
}

#[derive(Debug)]
struct Kept {
    info: SessionInfo,
    records: Vec<Record>,
    // Unconsumed ones only, oldest first; `posted` counts all that ever came.
    letters: Vec<Letter>,
    posted: u64,
}

/// What a [`WriterLock`] holds: dropping it frees the session.
struct Held {
    held: Arc<Mutex<HashSet<SessionId>>>,
    session: SessionId,
}

impl Drop for Held {
    fn drop(&mut self) {
        open(&self.held).remove(&self.session);
    }
}

impl MemoryStore {
    /// Returns a store without sessions.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    fn with<T>(
        &self,
        session: &SessionId,
        read: impl FnOnce(&mut Kept) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match open(&self.sessions).get_mut(session) {
            Some(kept) => read(kept),
            None => Err(StoreError::UnknownSession { session: session.clone() }),
        }
    }
}

/// Takes a mutex. Nothing here panics while holding one, so a poisoned value is still whole.
fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create(&self, new: NewSession) -> Result<(), StoreError> {
        self.restore(new.into_log()?).await
    }

    async fn restore(&self, log: Log) -> Result<(), StoreError> {
        log.check()?;
        let mut sessions = open(&self.sessions);
        if sessions.contains_key(&log.info.id) {
            return Err(StoreError::SessionExists { session: log.info.id });
        }
        let records = log.records.into_iter().map(|(_, record)| record).collect();
        sessions
            .insert(log.info.id.clone(), Kept { info: log.info, records, letters: Vec::new(), posted: 0 });
        Ok(())
    }

    async fn lock(&self, session: &SessionId) -> Result<WriterLock, StoreError> {
        self.with(session, |_| Ok(()))?;
        if !open(&self.held).insert(session.clone()) {
            let holder = Some(format!("process {}", std::process::id()));
            return Err(StoreError::Locked { session: session.clone(), holder });
        }
        let held = Held { held: Arc::clone(&self.held), session: session.clone() };
        Ok(WriterLock::new(session.clone(), held))
    }

    async fn is_locked(&self, session: &SessionId) -> Result<bool, StoreError> {
        self.with(session, |_| Ok(()))?;
        Ok(open(&self.held).contains(session))
    }

    async fn append(&self, lock: &WriterLock, batch: Batch) -> Result<Receipt, StoreError> {
        let session = lock.session();
        let ours = |held: &Arc<Held>| Arc::ptr_eq(&held.held, &self.held);
        let guard = lock.guard::<Held>().filter(ours);
        let _guard = guard.ok_or_else(|| StoreError::ForeignLock { session: session.clone() })?;
        self.with(session, |kept| {
            let tally = batch.check(session, Tally::of(&kept.info))?;
            let mut letters = kept.letters.clone();
            for id in &batch.consumed {
                let place = letters.iter().position(|letter| letter.id == *id);
                let missing = || StoreError::NoSuchLetter { session: session.clone(), letter: *id };
                letters.remove(place.ok_or_else(missing)?);
            }
            kept.letters = letters;
            kept.records.extend(batch.records);
            kept.info.head = tally.head;
            kept.info.records = tally.seq;
            kept.info.nodes = tally.nodes;
            kept.info.updated_at = tally.updated_at;
            Ok(Receipt::new(tally.seq))
        })
    }

    async fn load(&self, session: &SessionId) -> Result<Log, StoreError> {
        self.with(session, |kept| Ok(Log { info: kept.info.clone(), records: numbered(&kept.records, 0) }))
    }

    async fn load_after(&self, session: &SessionId, seq: u64) -> Result<Vec<(u64, Record)>, StoreError> {
        self.with(session, |kept| Ok(numbered(&kept.records, seq)))
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.with(session, |kept| Ok(kept.info.clone()))
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let mut list: Vec<SessionInfo> =
            open(&self.sessions).values().map(|kept| kept.info.clone()).collect();
        list.sort_by(SessionInfo::newest_first);
        Ok(list)
    }

    async fn set_title(&self, session: &SessionId, title: &str) -> Result<(), StoreError> {
        self.with(session, |kept| {
            title.clone_into(&mut kept.info.title);
            Ok(())
        })
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        check_body(body).map_err(|reason| StoreError::body(session, kind, reason))?;
        self.with(session, |kept| {
            kept.posted += 1;
            let id = InboxId(kept.posted);
            kept.letters.push(Letter { id, at, kind: kind.to_owned(), body: body.to_owned() });
            Ok(id)
        })
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.with(session, |kept| Ok(kept.letters.clone()))
    }
}

fn numbered(records: &[Record], after: u64) -> Vec<(u64, Record)> {
    let skip = usize::try_from(after).unwrap_or(usize::MAX);
    records.iter().enumerate().skip(skip).map(|(place, record)| (place as u64 + 1, record.clone())).collect()
}
