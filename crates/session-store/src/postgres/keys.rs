//! The keys of notes in a batch or in a chunk of an import.

use std::collections::BTreeMap;

use super::bind::Bind;
use super::rows::{hash, name_of, stored};
use crate::{Kept, NoteKey, SessionId, Spine, StoreError};

/// The keys that some records have, with what is to be kept of each.
#[derive(Debug, Default)]
pub(super) struct Keys {
    rows: BTreeMap<[u8; 32], Row>,
    onces: Vec<Once>,
}

#[derive(Debug)]
struct Row {
    first: u64,
    last: u64,
    topic: i64,
    state: i64,
}

/// A note that must be the first of its key.
#[derive(Debug)]
struct Once {
    name: [u8; 32],
    kind: String,
    key: String,
    seq: u64,
    /// The first of these records that has the key.
    first: u64,
}

impl Keys {
    pub(super) fn of(kept: &[Kept]) -> Self {
        let mut keys = Keys::default();
        for one in kept {
            let Spine::Note { layer, kind, key: Some(NoteKey { key, state, once }), .. } = &one.spine else {
                continue;
            };
            let name = *name_of(&[layer, kind, key]).as_bytes();
            let row = keys.rows.entry(name).or_insert_with(|| Row {
                first: one.seq,
                last: one.seq,
                topic: hash(&[layer, kind]),
                state: 0,
            });
            (row.last, row.state) = (one.seq, hash(&[state]));
            if *once {
                let (kind, key) = (kind.clone(), key.clone());
                keys.onces.push(Once { name, kind, key, seq: one.seq, first: row.first });
            }
        }
        keys
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn has_once(&self) -> bool {
        !self.onces.is_empty()
    }

    /// Whether a note must be the first of its key and these records alone have an earlier one.
    pub(super) fn clash(&self) -> bool {
        self.onces.iter().any(|once| once.first != once.seq)
    }

    /// Returns the names that must be new.
    pub(super) fn onces(&self) -> Vec<Vec<u8>> {
        self.onces.iter().map(|once| once.name.to_vec()).collect()
    }

    /// Names the first note that is not the first of its key, with what is stored: names and their first records.
    pub(super) fn check(
        &self,
        session: &SessionId,
        stored: &BTreeMap<Vec<u8>, u64>,
    ) -> Result<(), StoreError> {
        for once in &self.onces {
            let first = stored.get(once.name.as_slice()).copied().unwrap_or(once.first);
            if first != once.seq {
                let (kind, key) = (once.kind.clone(), once.key.clone());
                return Err(StoreError::KeyTaken { session: session.clone(), kind, key, seq: first });
            }
        }
        Ok(())
    }
}

impl Keys {
    /// Adds what these records have to what those before them had.
    pub(super) fn remember(&self, known: &mut BTreeMap<Vec<u8>, u64>) {
        for (name, row) in &self.rows {
            known.entry(name.to_vec()).or_insert(row.first);
        }
    }
}

/// Columns of `keys` for any number of sessions.
#[derive(Default)]
pub(super) struct KeyColumns {
    session: Vec<String>,
    name: Vec<Vec<u8>>,
    first: Vec<i64>,
    last: Vec<i64>,
    topic: Vec<i64>,
    state: Vec<i64>,
    once: Vec<bool>,
}

impl KeyColumns {
    pub(super) fn push(&mut self, session: &SessionId, keys: &Keys) {
        for (name, row) in &keys.rows {
            self.session.push(session.to_string());
            self.name.push(name.to_vec());
            self.first.push(stored(row.first));
            self.last.push(stored(row.last));
            self.topic.push(row.topic);
            self.state.push(row.state);
            self.once.push(keys.onces.iter().any(|once| once.name == *name));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.name.is_empty()
    }

    pub(super) fn bind(self, bind: Bind) -> Bind {
        bind.with(self.session)
            .with(self.name)
            .with(self.first)
            .with(self.last)
            .with(self.topic)
            .with(self.state)
            .with(self.once)
    }
}

/// The table that [`KeyColumns::bind`] binds from `$first` on, in seven arguments.
pub(super) fn given_keys(first: usize) -> String {
    format!(
        "given_keys AS (
            SELECT k.* FROM unnest(${}::text[]::uuid[], ${}::bytea[], ${}::bigint[], ${}::bigint[], ${}::bigint[],
                ${}::bigint[], ${}::boolean[]) AS k (session, name, first, last, topic, state, once)
        )",
        first,
        first + 1,
        first + 2,
        first + 3,
        first + 4,
        first + 5,
        first + 6
    )
}

/// The statement that keeps them for the sessions that `moved` names.
pub(super) const INSERT_KEYS: &str = "keys AS (
    INSERT INTO @keys (session, name, first, last, topic, state)
    SELECT session, name, first, last, topic, state FROM given_keys WHERE session IN (SELECT session FROM moved)
    ON CONFLICT (session, name) DO UPDATE SET last = excluded.last, state = excluded.state
)";
