//! A writer: claims sessions, writes records with labels of its own, and believes nothing that it was not told.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use trunkline_message_tree::Timestamp;
use trunkline_session_store::{
    Batch, Claim, Durability, Lease, Note, Position, PostgresStore, Record, SessionId, SessionStore,
    StoreError,
};

use super::Signal;
use super::journal::{Ack, Event, Journal, Told};

/// A batch whose outcome is not known after the end is asked for so long.
const GRACE: Duration = Duration::from_secs(30);

/// A call that takes longer than any wait that the store has inside never returns.
const NEVER: Duration = Duration::from_secs(75);

/// Numbers from a seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        // Marsaglia, "Xorshift RNGs", 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    fn millis(&mut self, least: usize, most: usize) -> Duration {
        Duration::from_millis((least + self.below(most - least)) as u64)
    }
}

/// One writer with a store of its own.
pub(crate) struct Writer {
    number: u32,
    store: PostgresStore,
    chance: Chance,
    signal: watch::Receiver<Signal>,
    journal: Journal,
    labels: u64,
    /// Since when it has tried to write, and has no receipt.
    since: Option<Instant>,
}

/// A record that was tried and has no receipt yet.
struct Pending {
    label: String,
    level: Durability,
    /// The earliest place that it was tried at.
    lowest: u64,
}

/// How the time under a lease ended.
enum End {
    /// The writer lets go.
    Free,
    Fenced,
}

impl Writer {
    pub(crate) fn new(
        number: u32,
        store: PostgresStore,
        chance: Chance,
        signal: watch::Receiver<Signal>,
    ) -> Self {
        let journal = Journal { writer: number, events: Vec::new() };
        Writer { number, store, chance, signal, journal, labels: 0, since: None }
    }

    /// Takes turns at sessions with others, by asking for them or by taking them over, until the end.
    pub(crate) async fn take_turns(mut self, sessions: Vec<SessionId>) -> Journal {
        while !self.signal.borrow().stop {
            let Some(session) = sessions.get(self.chance.below(sessions.len())) else { break };
            let how = if self.chance.below(4) == 0 { Claim::TakeOver } else { Claim::IfFree };
            let Some(lease) = self.claim(session, how).await else {
                tokio::time::sleep(self.chance.millis(20, 200)).await;
                continue;
            };
            let until = Instant::now() + self.chance.millis(1000, 15_000);
            self.hold(&lease, until).await;
        }
        self.journal
    }

    /// Writes once each time it is called, and keeps its lease in between.
    pub(crate) async fn wait_for_calls(mut self, session: SessionId) -> Journal {
        let mut seen = 0;
        let mut lease: Option<Lease> = None;
        loop {
            let now = *self.signal.borrow();
            if now.calls != seen || now.stop {
                seen = now.calls;
                let begun = Instant::now();
                while begun.elapsed() < GRACE {
                    let held = match lease.take() {
                        Some(held) => held,
                        None => match self.claim(&session, Claim::TakeOver).await {
                            Some(held) => held,
                            None => continue,
                        },
                    };
                    // Writes exactly one record, unless it is told that the lease has ended.
                    if let End::Free = self.hold(&held, Instant::now()).await {
                        lease = Some(held);
                        break;
                    }
                }
            }
            // The channel is open as long as anybody writes.
            if now.stop || self.signal.changed().await.is_err() {
                return self.journal;
            }
        }
    }

    async fn claim(&mut self, session: &SessionId, how: Claim) -> Option<Lease> {
        let begun = Instant::now();
        let Ok(claimed) = tokio::time::timeout(NEVER, self.store.claim(session, how)).await else {
            self.odd("a claim did not return");
            return None;
        };
        match claimed {
            Ok(lease) => {
                let (session, token, at) = (session.clone(), lease.token(), Instant::now());
                self.journal.events.push(Event::Claimed { session, token, begun, at });
                return Some(lease);
            }
            // Another one writes, so there is no pause.
            Err(StoreError::Locked { .. }) => self.since = None,
            Err(error) => {
                self.since.get_or_insert(begun);
                self.soft(error).await;
            }
        }
        None
    }

    /// Writes under a lease until a moment, at least one record.
    async fn hold(&mut self, lease: &Lease, until: Instant) -> End {
        let session = lease.session().clone();
        let mut place: Option<Position> = None;
        let mut pending: Option<Pending> = None;
        let mut written = 0;
        let mut patience = None;
        loop {
            let stop = self.signal.borrow().stop;
            let done = written > 0 && (stop || Instant::now() >= until);
            if pending.is_none() && done {
                return End::Free;
            }
            if stop && *patience.get_or_insert_with(Instant::now) + GRACE < Instant::now() {
                self.odd("a batch had no outcome long after the end");
                return End::Free;
            }
            let at = match place {
                Some(at) => at,
                None => match self.look(&session, &mut pending).await {
                    Some(at) => *place.insert(at),
                    None => continue,
                },
            };
            let mut next = match pending.take() {
                Some(next) => next,
                None if done => return End::Free,
                None => self.next(at),
            };
            next.lowest = next.lowest.min(at.seq);
            let record =
                Record::Note(Note::new("failover", "said", Timestamp(2), format!("{:?}", next.label)));
            let batch = Batch::new(at, vec![record]).with(next.level);
            self.since.get_or_insert_with(Instant::now);
            let appended = self.store.append(lease, batch);
            let Ok(appended) = tokio::time::timeout(NEVER, appended).await else {
                self.odd("an append did not return");
                return End::Fenced;
            };
            match appended {
                Ok(receipt) => {
                    let waited = self.since.take().map_or(Duration::ZERO, |since| since.elapsed());
                    self.journal.events.push(Event::Kept(Ack {
                        session: session.clone(),
                        label: next.label,
                        seq: receipt.seq,
                        digest: receipt.digest,
                        level: receipt.durability,
                        waited,
                        at: Instant::now(),
                    }));
                    place = Some(Position { seq: receipt.seq, head: at.head });
                    written += 1;
                    let pause = self.chance.millis(2, 40);
                    tokio::time::sleep(pause).await;
                }
                Err(StoreError::Fenced { .. }) => {
                    self.journal.events.push(Event::Fenced { session, at: Instant::now() });
                    return End::Fenced;
                }
                Err(error) => {
                    if let Some(told) = lost(&error) {
                        self.journal.events.push(Event::Lost {
                            session: session.clone(),
                            told,
                            at: Instant::now(),
                        });
                        place = None;
                    } else if matches!(error, StoreError::Conflict { .. }) {
                        place = None;
                    } else {
                        self.soft(error).await;
                    }
                    pending = Some(next);
                }
            }
        }
    }

    /// Reads where a session is, and whether a record whose outcome is open is there.
    async fn look(&mut self, session: &SessionId, pending: &mut Option<Pending>) -> Option<Position> {
        let asked = tokio::time::timeout(NEVER, self.store.info(session));
        let Ok(asked) = asked.await else {
            self.odd("a look at a session did not return");
            return None;
        };
        let info = match asked {
            Ok(info) => info,
            Err(error) => {
                self.soft(error).await;
                return None;
            }
        };
        if let Some(open) = pending {
            let after = open.lowest.min(info.records);
            match self.store.read(session, after, usize::MAX).await {
                Ok(kept) => {
                    let body = format!("{:?}", open.label);
                    if kept.iter().any(|kept| kept.body == body) {
                        *pending = None;
                    }
                }
                Err(error) => {
                    self.soft(error).await;
                    return None;
                }
            }
        }
        Some(Position { seq: info.records, head: info.head })
    }

    fn next(&mut self, at: Position) -> Pending {
        self.labels += 1;
        let level = match self.chance.below(10) {
            0 => Durability::Buffered,
            1 => Durability::Committed,
            _ => Durability::Flushed,
        };
        let label = format!("{}-{}", self.number, self.labels);
        Pending { label, level, lowest: at.seq }
    }

    /// What happens while servers fail over is waited for; anything else is written down.
    async fn soft(&mut self, error: StoreError) {
        if !matches!(error, StoreError::Busy { .. } | StoreError::Io { .. }) {
            self.odd(&error.to_string());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    fn odd(&mut self, what: &str) {
        self.journal.events.push(Event::Odd(what.to_owned()));
    }
}

/// Returns which records are gone, if an error says so.
fn lost(error: &StoreError) -> Option<Told> {
    match error {
        StoreError::BufferLost { seq, .. } => Some(Told::From(*seq)),
        StoreError::AcknowledgedLost { seq, .. } => Some(Told::Acknowledged(*seq)),
        _ => None,
    }
}
