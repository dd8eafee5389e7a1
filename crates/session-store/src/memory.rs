//! Sessions in memory: the reference that every other store is compared with.
//!
//! Clones are handles on the same sessions. Nothing waits but for what others do, so nothing can be cancelled half-way.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use trunkline_message_tree::{Entry, Message, NodeId, Timestamp, TreeError};

use crate::bell::Bell;
use crate::record::check_body;
use crate::tally::check_name;
use crate::{
    Activity, Amend, Batch, Claim, Collected, Digest, Durability, FoundNote, Holder, ImportError, InboxId,
    Kept, Lease, Letter, LetterState, NoteQuery, Outline, Receipt, Record, Restoring, SessionId, SessionInfo,
    SessionStore, Snapshot, Spine, StoreError, Tally, reading,
};

/// Sessions that end with the process, as their receipts say: none is more than
/// [`Buffered`](crate::Durability::Buffered). Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    sessions: Arc<Mutex<HashMap<SessionId, Session>>>,
    bell: Arc<Bell>,
    /// The token of the newest lease of any session: a session that is made anew must not be open to leases of the one
    /// that had its name before.
    tokens: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Session {
    info: SessionInfo,
    records: Vec<Kept>,
    // All that ever came, with what became of them; their numbers count up from 1. And the numbers of those that wait.
    letters: Vec<(Letter, LetterState)>,
    waiting: BTreeSet<u64>,
    consumed: u64,
    /// The token of the newest lease.
    token: u64,
    held: bool,
    keys: Keys,
    snapshot: Option<Snapshot>,
}

/// The first and the newest note of each key.
type Keys = HashMap<(String, String, String), (u64, u64)>;

/// What a [`Lease`] holds: dropping it frees the session.
struct Held {
    store: MemoryStore,
    session: SessionId,
    token: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(session) = self.store.open().get_mut(&self.session)
            && session.token == self.token
        {
            session.held = false;
        }
    }
}

impl MemoryStore {
    /// Returns a store without sessions.
    pub fn new() -> Self {
        MemoryStore::default()
    }

    /// Takes the mutex. Nothing here panics while holding it, so a poisoned value is still whole.
    fn open(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(
        &self,
        session: &SessionId,
        read: impl FnOnce(&mut Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        match self.open().get_mut(session) {
            Some(found) => read(found),
            None => Err(StoreError::UnknownSession { session: session.clone() }),
        }
    }
}

impl Session {
    /// Refuses who was fenced out.
    fn check(&self, lease: &Lease) -> Result<(), StoreError> {
        if self.token == lease.token() {
            return Ok(());
        }
        let holder = self.held.then(holder).flatten();
        Err(StoreError::Fenced { session: lease.session().clone(), token: lease.token(), holder })
    }
}

impl MemoryStore {
    /// Returns what a lease of this store holds.
    fn held(&self, lease: &Lease) -> Result<Arc<Held>, StoreError> {
        let ours = |held: &Arc<Held>| Arc::ptr_eq(&held.store.sessions, &self.sessions);
        let guard = lease.guard::<Held>().filter(ours);
        guard.ok_or_else(|| StoreError::ForeignLease { session: lease.session().clone() })
    }

    fn remove(
        &self,
        session: &SessionId,
        check: impl FnOnce(&Session) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        {
            // One guard for both: whoever comes in between would lose what he was told is kept.
            let mut sessions = self.open();
            let Some(found) = sessions.get(session) else {
                return Err(StoreError::UnknownSession { session: session.clone() });
            };
            if found.held {
                return Err(StoreError::Locked { session: session.clone(), holder: holder() });
            }
            check(found)?;
            sessions.remove(session);
        }
        self.bell.ring();
        Ok(())
    }
}

fn holder() -> Option<String> {
    Some(format!("process {}", std::process::id()))
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn restore(&self, mut restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        let taken = |id: &SessionId| StoreError::SessionExists { session: id.clone() };
        if self.open().contains_key(restoring.session()) {
            return Err(taken(restoring.session()).into());
        }
        let (mut records, mut keys) = (Vec::new(), Keys::new());
        loop {
            let chunk = restoring.next_chunk()?;
            if chunk.is_empty() {
                break;
            }
            let new = new_keys(restoring.session(), &keys, &chunk)?;
            keys.extend(new);
            records.extend(chunk);
        }
        let letters = restoring.take_letters()?;
        let info = restoring.info();
        let mut sessions = self.open();
        if sessions.contains_key(&info.id) {
            return Err(taken(&info.id).into());
        }
        let session = Session {
            info: info.clone(),
            records,
            waiting: letters.iter().map(|letter| letter.id.0).collect(),
            letters: letters.into_iter().map(|letter| (letter, LetterState::Waiting)).collect(),
            consumed: 0,
            token: 0,
            held: false,
            keys,
            snapshot: None,
        };
        sessions.insert(info.id.clone(), session);
        Ok(info)
    }

    fn free_means_gone(&self) -> bool {
        true
    }

    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        let lease = self.with(session, |found| {
            if found.held && claim == Claim::IfFree {
                return Err(StoreError::Locked { session: session.clone(), holder: holder() });
            }
            found.held = true;
            found.token = self.tokens.fetch_add(1, Ordering::Relaxed) + 1;
            let held = Held { store: self.clone(), session: session.clone(), token: found.token };
            Ok(Lease::new(session.clone(), found.token, held))
        })?;
        self.bell.ring();
        Ok(lease)
    }

    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        self.with(session, |found| Ok(found.held.then(|| Holder::new(holder(), found.token))))
    }

    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        let session = lease.session();
        let _held = self.held(lease)?;
        let receipt = self.with(session, |found| {
            found.check(lease)?;
            let consumed = batch.consumed.clone();
            let (kept, tally) = batch.check(session, Tally::of(&found.info))?;
            let mut taken = BTreeSet::new();
            if let Some(id) = consumed.iter().find(|id| !found.waiting.contains(&id.0) || !taken.insert(id.0))
            {
                return Err(StoreError::NoSuchLetter { session: session.clone(), letter: *id });
            }
            let keys = new_keys(session, &found.keys, &kept)?;
            // Nothing is refused from here on.
            found.keys.extend(keys);
            for id in &consumed {
                found.waiting.remove(&id.0);
                if let Some((_, state)) = found.letters.get_mut(place(*id)) {
                    *state = LetterState::Consumed { seq: tally.seq };
                }
            }
            found.consumed += consumed.len() as u64;
            found.records.extend(kept);
            found.info.follow(&tally);
            // Nothing in memory survives the process.
            Ok(Receipt::new(tally.seq, tally.digest, Durability::Buffered))
        })?;
        self.bell.ring();
        Ok(receipt)
    }

    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        self.with(session, |found| Ok(found.records.iter().skip(skip).take(limit).cloned().collect()))
    }

    async fn spine(
        &self,
        session: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, Spine)>, StoreError> {
        let skip = usize::try_from(after).unwrap_or(usize::MAX);
        self.with(session, |found| {
            let page = found.records.iter().skip(skip).take(limit);
            Ok(page.map(|kept| (kept.seq, kept.spine.clone())).collect())
        })
    }

    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        self.with(session, |found| {
            let branches = found.records.iter().filter_map(|kept| match kept.spine {
                Spine::Node { id, parent: Some(parent), .. } => Some((id, parent)),
                _ => None,
            });
            Outline::new(found.info.nodes, found.info.head, branches).map_err(|reason| {
                StoreError::BadRecord { session: session.clone(), seq: found.info.records, reason }
            })
        })
    }

    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        self.with(session, |found| {
            let mut by_node = BTreeMap::new();
            for kept in &found.records {
                if let Spine::Node { id, .. } = kept.spine {
                    by_node.insert(id, kept);
                }
            }
            let newest = by_node.keys().next_back().copied().unwrap_or(NodeId::ROOT);
            let message = |node: &NodeId| {
                let missing = || StoreError::Misfit {
                    session: session.clone(),
                    seq: found.info.records,
                    source: TreeError::UnknownNode { node: *node, newest },
                };
                match by_node.get(node).ok_or_else(missing)?.record(session)? {
                    Record::Entry(Entry::Node { message, .. }) => Ok(message),
                    _ => Err(missing()),
                }
            };
            nodes.iter().map(message).collect()
        })
    }

    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.with(session, |found| {
            let is = |kept: &&Kept| matches!(&kept.spine, Spine::Blob { content, .. } if content == digest);
            match found.records.iter().find(is).map(|kept| kept.record(session)).transpose()? {
                Some(Record::Blob(blob)) => Ok(Some(blob.bytes)),
                _ => Ok(None),
            }
        })
    }

    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.with(session, |found| Ok(found.info.clone()))
    }

    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        let mut list: Vec<SessionInfo> = self.open().values().map(|found| found.info.clone()).collect();
        list.sort_by(SessionInfo::newest_first);
        Ok(list)
    }

    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        amend.check(session)?;
        self.with(session, |found| {
            amend.apply(&mut found.info);
            Ok(())
        })
    }

    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.remove(session, |_| Ok(()))
    }

    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        self.remove(&seen.id, |found| found.info.check_idle(seen, found.waiting.len() as u64))
    }

    async fn post(
        &self,
        session: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        check_name(kind)
            .and_then(|()| check_body(body).map(drop))
            .map_err(|reason| StoreError::body(session, kind, reason))?;
        let id = self.with(session, |found| {
            let id = InboxId(found.letters.len() as u64 + 1);
            let letter = Letter { id, at, kind: kind.to_owned(), body: body.to_owned() };
            found.letters.push((letter, LetterState::Waiting));
            found.waiting.insert(id.0);
            Ok(id)
        })?;
        self.bell.ring();
        Ok(id)
    }

    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.with(session, |found| {
            let waiting = found.waiting.iter().filter_map(|id| found.letters.get(place(InboxId(*id))));
            Ok(waiting.map(|(letter, _)| letter.clone()).collect())
        })
    }

    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        self.with(session, |found| {
            let posted = found.letters.get(place(letter));
            let missing = || StoreError::NoSuchLetter { session: session.clone(), letter };
            posted.map(|(_, state)| *state).ok_or_else(missing)
        })
    }

    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        let sessions = self.open();
        if let Some(session) = query.session.as_ref().filter(|session| !sessions.contains_key(session)) {
            return Err(StoreError::UnknownSession { session: session.clone() });
        }
        let newest = sessions.iter().flat_map(|(session, found)| {
            found.keys.values().map(move |(_, seq)| (session, &found.records[*seq as usize - 1]))
        });
        let mut list: Vec<FoundNote> = newest
            .filter_map(|(session, kept)| {
                let Spine::Note { layer, kind, at, key: Some(key) } = &kept.spine else { return None };
                Some(FoundNote {
                    session: session.clone(),
                    seq: kept.seq,
                    layer: layer.clone(),
                    kind: kind.clone(),
                    at: *at,
                    key: key.clone(),
                    body: kept.body.clone(),
                })
            })
            .filter(|found| query.fits(found))
            .collect();
        list.sort_by(|one, other| (&one.session, one.seq).cmp(&(&other.session, other.seq)));
        Ok(list)
    }

    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        loop {
            let rings = self.bell.listen();
            let now = self.with(session, |found| {
                let now = Activity::new(found.info.records, found.letters.len() as u64, found.consumed);
                Ok(now.under(found.token))
            })?;
            if now != seen {
                return Ok(now);
            }
            rings.await;
        }
    }

    async fn records(&self, session: &SessionId, numbers: &[u64]) -> Result<Vec<Kept>, StoreError> {
        self.with(session, |found| {
            let numbers = reading::in_order(session, numbers, found.info.records)?;
            Ok(numbers.iter().map(|seq| found.records[*seq as usize - 1].clone()).collect())
        })
    }

    async fn snapshot(&self, session: &SessionId) -> Result<Option<Snapshot>, StoreError> {
        // Its log only grows, and goes together with it.
        self.with(session, |found| Ok(found.snapshot.clone()))
    }

    async fn keep_snapshot(&self, lease: &Lease, snapshot: Snapshot) -> Result<(), StoreError> {
        let session = lease.session();
        let _held = self.held(lease)?;
        snapshot.check(session)?;
        self.with(session, |found| {
            found.check(lease)?;
            let last = found.records.get(usize::try_from(snapshot.seq.wrapping_sub(1)).unwrap_or(usize::MAX));
            if last.is_none_or(|last| last.digest != snapshot.digest) {
                return Err(snapshot.of_another(session));
            }
            found.snapshot = Some(snapshot);
            Ok(())
        })
    }

    async fn collect(&self, _: bool) -> Result<Collected, StoreError> {
        // What is deleted is gone at once, and an import that fails never was here.
        Ok(Collected::default())
    }
}

/// Returns where a letter of this number is; beyond the end for one that never came.
fn place(letter: InboxId) -> usize {
    usize::try_from(letter.0.wrapping_sub(1)).unwrap_or(usize::MAX)
}

/// Returns what becomes of the keys that new records have, or names the first that is taken.
fn new_keys(session: &SessionId, known: &Keys, kept: &[Kept]) -> Result<Keys, StoreError> {
    let mut keys = Keys::new();
    for one in kept {
        let Spine::Note { layer, kind, key: Some(key), .. } = &one.spine else { continue };
        let named = (layer.clone(), kind.clone(), key.key.clone());
        let before = known.get(&named).copied().unwrap_or((one.seq, one.seq));
        let found = keys.entry(named).or_insert(before);
        if key.once && found.0 != one.seq {
            let (kind, key) = (kind.clone(), key.key.clone());
            return Err(StoreError::KeyTaken { session: session.clone(), kind, key, seq: found.0 });
        }
        found.1 = one.seq;
    }
    Ok(keys)
}
