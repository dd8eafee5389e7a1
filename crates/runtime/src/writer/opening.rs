//! Taking a session up without reading what it does not go on with.
//!
//! A snapshot says which records of the log a fold needs, and keeps the other nodes bare. What was said comes from the log
//! itself, so a snapshot cannot tell it otherwise. One that does not lead to the log's nodes and head is not used, and the log is
//! read whole. That notes are missing cannot be seen: so one is made of the one before it only while nothing was asked for that
//! it has left out.

use trunkline_message_tree::{BareNode, Entry};
use trunkline_session_store::{Lease, Record, SessionId, SessionStore, Snapshot};

use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::reading::spine::{self, Spine, Step};
use trunkline_session_machine::reading::trimming::{Seen, saves, trim};
use trunkline_session_machine::state::State;
use trunkline_session_machine::state::task::Tally;

/// What a fold takes in at one place of the log.
enum Taken {
    Bare(BareNode),
    // Most are bare, and a record takes several times the room.
    Record(Box<Record>),
    /// What the snapshot has counted until here.
    Tally(Option<Box<Tally>>),
}

/// A log as it is read to be gone on with.
struct Read {
    taken: Vec<(u64, Taken)>,
    /// Whether some of it was left out.
    trimmed: bool,
    /// How many records of it no snapshot knows.
    since: u64,
}

/// Reads a session's state, and keeps a snapshot of it if so many records came since the last one.
pub(crate) async fn state_of(
    store: &dyn SessionStore,
    lease: &Lease,
    after: u64,
) -> Result<State, RuntimeError> {
    let session = lease.session();
    let (mut state, seen, since) = match from_snapshot(store, session, after).await {
        Some(found) => found,
        None => {
            let Read { taken, since, .. } = whole(store, session).await?;
            let (mut state, seen) = fold(taken, since >= after)?;
            // One that is there was of no use, and must not become part of the next.
            state.reached_beside = true;
            (state, seen, since)
        }
    };
    if since >= after && (after == 0 || saves(&state)) {
        state.beside = state.tree.beside();
        if keep(store, lease, &state, &seen).await {
            state.reached_beside = false;
        }
    }
    Ok(state)
}

/// Keeps a snapshot if so much has left the trunk since the last one that the next opening would read it in vain.
pub(crate) async fn keep_snapshot(after: u64, store: &dyn SessionStore, lease: &Lease, state: &mut State) {
    let left = state.tree.beside().saturating_sub(state.beside);
    // All of it is written each time: the larger it is, the more nodes have to have left.
    let least = after.max(state.beside as u64 / 16).max(1);
    if (left as u64) < least || (after > 0 && !saves(state)) {
        return;
    }
    // Also where it cannot be kept: it is tried again when as much has left.
    state.beside = state.tree.beside();
    let older = if state.reached_beside { None } else { trimmed(store, lease.session()).await };
    let read = match older {
        Some(read) => Ok(read),
        None => whole(store, lease.session()).await,
    };
    let Ok(Read { taken, .. }) = read else { return };
    let after_the_root = taken.into_iter().skip(1);
    let seen: Vec<(u64, Seen)> =
        after_the_root.filter_map(|(seq, taken)| Some((seq, taken.seen()?))).collect();
    if keep(store, lease, state, &seen).await {
        state.reached_beside = false;
    }
}

/// Keeps a snapshot, and returns whether that was done. One that cannot be kept costs time later and nothing else, so no fault of
/// it stops anything.
async fn keep(store: &dyn SessionStore, lease: &Lease, state: &State, seen: &[(u64, Seen)]) -> bool {
    let Some(kept) = trim(state, seen) else { return false };
    let Ok(info) = store.info(lease.session()).await else { return false };
    if info.records != state.seq {
        return false;
    }
    let snapshot = Snapshot::new(info.records, info.digest, spine::FORM, spine::encode(&kept));
    store.keep_snapshot(lease, snapshot).await.is_ok()
}

async fn whole(store: &dyn SessionStore, session: &SessionId) -> Result<Read, RuntimeError> {
    let log = store.load(session).await?;
    let taken = log.records.into_iter().map(|(seq, record)| (seq, Taken::record(record)));
    Ok(Read { taken: taken.collect(), trimmed: false, since: log.info.records })
}

/// Returns what a snapshot leaves of the log, and what came after it; nothing if there is none that can be read.
async fn trimmed(store: &dyn SessionStore, session: &SessionId) -> Option<Read> {
    let snapshot = store.snapshot(session).await.ok()?.filter(|kept| kept.form == spine::FORM)?;
    let Spine { steps, tally } = spine::decode(&snapshot.bytes, snapshot.seq)?;
    let named = steps.iter().filter(|(_, step)| matches!(step, Step::Read)).map(|(seq, _)| *seq);
    // The first record is the root, which no spine has.
    let numbers: Vec<u64> = std::iter::once(1).chain(named).collect();
    let mut kept = store.records(session, &numbers).await.ok()?.into_iter();
    let tail = store.load_after(session, snapshot.seq).await.ok()?;
    let mut taken = Vec::with_capacity(1 + steps.len() + tail.len());
    let steps = std::iter::once((1, Step::Read)).chain(steps);
    for (seq, step) in steps {
        let one = match step {
            Step::Bare(bare) => Taken::Bare(bare),
            Step::Read => {
                let kept = kept.next().filter(|kept| kept.seq == seq)?;
                Taken::record(kept.record(session).ok()?)
            }
        };
        taken.push((seq, one));
    }
    taken.push((snapshot.seq, Taken::Tally(tally.map(Box::new))));
    let since = tail.len() as u64;
    taken.extend(tail.into_iter().map(|(seq, record)| (seq, Taken::record(record))));
    Some(Read { taken, trimmed: true, since })
}

/// Returns nothing if there is no snapshot, or it does not lead to a state: then the log itself is read.
async fn from_snapshot(
    store: &dyn SessionStore,
    session: &SessionId,
    after: u64,
) -> Option<(State, Vec<(u64, Seen)>, u64)> {
    let Read { taken, trimmed, since } = trimmed(store, session).await?;
    let (mut state, seen) = fold(taken, since >= after).ok()?;
    state.whole = !trimmed;
    let info = store.info(session).await.ok()?;
    // The last records may be none that a fold needs.
    state.seq = state.seq.max(info.records.saturating_sub(since));
    let fits =
        (state.seq, state.tree.len() as u64, state.tree.head()) == (info.records, info.nodes, info.head);
    // A head on a node without words is one that the snapshot did not know of.
    let has_words = state.tree.trunk().nodes().all(|(_, node)| !node.is_bare());
    state.beside = state.tree.beside();
    let knows_enough = state.resolve.knows_what_it_undoes() && !state.decision.is_being_settled();
    (fits && has_words && knows_enough).then_some((state, seen, since))
}

/// Folds what was read, and returns what stood where if that is wanted.
fn fold(taken: Vec<(u64, Taken)>, wanted: bool) -> Result<(State, Vec<(u64, Seen)>), RuntimeError> {
    let mut taken = taken.into_iter();
    let first = match taken.next() {
        Some((1, Taken::Record(record))) => Some(*record),
        _ => None,
    };
    let mut state = State::begin(first.as_ref())?;
    let mut seen = Vec::new();
    for (seq, taken) in taken {
        // What is noted of a record is the number of the one before it.
        state.seq = seq - 1;
        match &taken {
            Taken::Bare(bare) => state.record_bare(bare.clone())?,
            Taken::Record(record) => state.record(record)?,
            Taken::Tally(tally) => state.take_up(tally.as_deref())?,
        }
        state.seq = seq;
        if wanted {
            seen.extend(taken.seen().map(|seen| (seq, seen)));
        }
    }
    Ok((state, seen))
}

impl Taken {
    fn record(record: Record) -> Self {
        Taken::Record(Box::new(record))
    }

    fn seen(self) -> Option<Seen> {
        let record = match self {
            Taken::Bare(bare) => return Some(Seen::Node(bare.id)),
            Taken::Record(record) => *record,
            // The next snapshot has one of its own.
            Taken::Tally(_) => return None,
        };
        Some(match record {
            Record::Entry(Entry::Node { id, .. }) => Seen::Node(id),
            Record::Entry(Entry::Move(_)) => Seen::Move,
            Record::Note(note) => Seen::Note(Box::new(note)),
            Record::Blob(_) => Seen::Blob,
        })
    }
}
