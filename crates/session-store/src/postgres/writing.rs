//! Writes what stands in line, batches of many sessions in one statement.
//!
//! One statement is one trip to the server, one transaction and one flush, however many sessions are in it. It moves the
//! row of each session whose lease and place are still what the batch expects, and inserts only for those; for the
//! others it does nothing, and we look why. So it may be sent again after a lost connection: what was written the first
//! time is found to be there, by its digest.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::bind::{Bind, get};
use super::fault::{Fault, FaultKind, same};
use super::leases::{Grant, STANDING, Standing};
use super::line::{Held, Job};
use super::link::Link;
use super::moving::{BYTES, move_in_steps, move_sessions};
use super::rows::{self, Place, stored};
use super::tries::{Tries, attempt};
use super::{Inner, unknown};
use crate::{Digest, Durability, InboxId, SessionId, StoreError};

/// How many sessions one statement takes.
const SESSIONS: usize = 64;

/// Who has something in line.
#[derive(Default)]
pub(super) struct Ready {
    waiting: VecDeque<Arc<Held>>,
    writers: usize,
}

/// What one session writes next. Dropped with jobs, as at the end of the runtime, it fails them, so that no append
/// waits for ever.
struct Flight {
    held: Arc<Held>,
    jobs: Vec<Job>,
    /// Why there was no answer when they were sent, if they were: they may all be written.
    open: Option<StoreError>,
}

impl Flight {
    fn bytes(&self) -> usize {
        self.jobs.iter().map(|job| job.bytes).sum()
    }

    fn take(&mut self) -> Vec<Job> {
        std::mem::take(&mut self.jobs)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if !self.jobs.is_empty() {
            let error = ended(&self.held.store);
            let jobs = self.take();
            self.held.land_all(jobs, &error);
        }
    }
}

/// One of those that write lines. Dropped before it has ended, as at the end of the runtime, it fails all that waits.
struct Writer {
    store: Arc<Inner>,
    has_ended: bool,
}

impl Writer {
    fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let waiting = {
            let mut ready = self.store.ready();
            ready.writers = ready.writers.saturating_sub(1);
            std::mem::take(&mut ready.waiting)
        };
        for held in waiting {
            held.fail_all(&ended(&self.store));
        }
    }
}

/// Returns the error of what cannot be written any more; what was sent may be.
fn ended(store: &Inner) -> StoreError {
    let reason = "the runtime in which the store was opened has ended".to_owned();
    StoreError::Io { place: store.links.place().to_owned(), reason }
}

impl Inner {
    /// Has a line written as soon as a connection is free.
    pub(super) fn write_soon(self: &Arc<Self>, held: Arc<Held>) {
        let is_needed = {
            let mut ready = self.ready();
            ready.waiting.push_back(held);
            let is_needed = ready.writers < self.links.writers();
            ready.writers += usize::from(is_needed);
            is_needed
        };
        if is_needed {
            let writer = Writer { store: Arc::clone(self), has_ended: false };
            // A runtime that has ended drops it at once.
            self.runtime.spawn(async move {
                while let Some(flights) = writer.store.next_flights() {
                    writer.store.fly(flights).await;
                }
                writer.end();
            });
        }
    }

    /// Takes what one statement can carry, all of one shard, or ends the writer.
    fn next_flights(&self) -> Option<Vec<Flight>> {
        let mut ready = self.ready();
        let mut flights: Vec<Flight> = Vec::new();
        let mut bytes = 0;
        let mut next = 0;
        while flights.len() < SESSIONS && bytes < BYTES {
            let Some(shard) = ready.waiting.get(next).map(|held| held.shard) else { break };
            if flights.first().is_some_and(|first| first.held.shard != shard) {
                next += 1;
                continue;
            }
            let Some(held) = ready.waiting.remove(next) else { break };
            let flight = Flight { jobs: held.take(BYTES - bytes), held, open: None };
            bytes += flight.bytes();
            flights.push(flight);
        }
        if flights.is_empty() {
            ready.writers = ready.writers.saturating_sub(1);
            return None;
        }
        Some(flights)
    }

    async fn fly(self: &Arc<Self>, flights: Vec<Flight>) {
        let (alone, mut together): (Vec<Flight>, Vec<Flight>) = flights
            .into_iter()
            .partition(|flight| flight.bytes() > BYTES || flight.jobs.iter().any(Job::is_doomed));
        let mut failed: Vec<Flight> = alone;
        if !together.is_empty() {
            // Whoever else writes several rows has them in the same order, so that nobody waits in a circle.
            together.sort_by(|one, other| one.held.session.cmp(&other.held.session));
            match self.write_together(&together).await {
                Ok((moved, level)) => {
                    let (done, not): (Vec<Flight>, Vec<Flight>) =
                        together.into_iter().partition(|flight| moved.contains(flight.held.session.as_str()));
                    for mut flight in done {
                        self.tell(&flight.held.session);
                        let landed = flight.take().into_iter().map(|job| (job, Ok(level))).collect();
                        flight.held.land(landed);
                    }
                    failed.extend(not);
                }
                Err(Fault { error, kind: kind @ (FaultKind::Unreachable | FaultKind::Silent) }) => {
                    if kind == FaultKind::Silent {
                        self.links.distrust();
                    }
                    for mut flight in together {
                        let jobs = flight.take();
                        flight.held.land_all(jobs, &error);
                    }
                }
                Err(Fault { error, kind: FaultKind::Lost }) => {
                    self.links.distrust();
                    failed.extend(together.into_iter().map(|mut flight| {
                        flight.open = Some(same(&error));
                        flight
                    }));
                }
                Err(_) => failed.extend(together),
            }
        }
        // Each for itself, since one whose row others hold for long must not keep the rest waiting.
        for flight in failed {
            let store = Arc::clone(self);
            self.runtime.spawn(async move { store.write_alone(flight).await });
        }
    }

    async fn write_together(
        self: &Arc<Self>,
        flights: &[Flight],
    ) -> Result<(BTreeSet<String>, Durability), Fault> {
        let mut link = self.links.take_in_turn().await?;
        let jobs: Vec<(&Held, &[Job])> =
            flights.iter().map(|flight| (&*flight.held, flight.jobs.as_slice())).collect();
        let moved = move_sessions(&mut link, &jobs).await?;
        let level = level(&link, jobs.iter().flat_map(|(_, jobs)| jobs.iter()));
        link.keep();
        Ok((moved, level))
    }

    /// Writes the batches of one session one after the other.
    async fn write_alone(self: &Arc<Self>, mut flight: Flight) {
        let mut results = Vec::with_capacity(flight.jobs.len());
        let mut away: Option<StoreError> = None;
        while let Some((job, more)) = flight.jobs.get(results.len()..).and_then(<[Job]>::split_first) {
            let written = match &away {
                Some(error) => Err(same(error)),
                None => self.write_one(&flight.held, job, more, flight.open.as_ref().map(same)).await,
            };
            if let Err(error @ (StoreError::Busy { .. } | StoreError::Io { .. })) = &written {
                away.get_or_insert_with(|| same(error));
            }
            match written {
                Ok((with_it, level)) => results.extend((0..=with_it).map(|_| Ok(level))),
                Err(error) => results.push(Err(error)),
            }
        }
        let jobs = flight.take();
        flight.held.land(jobs.into_iter().zip(results).collect());
    }

    /// Writes a job. Returns also how many of those that follow it are found to be written with it: they may have been
    /// sent together, and the answer was lost; `open` says why it was.
    async fn write_one(
        self: &Arc<Self>,
        held: &Held,
        job: &Job,
        more: &[Job],
        open: Option<StoreError>,
    ) -> Result<(usize, Durability), StoreError> {
        let mut tries = Tries::going_on(open);
        // A row that was moved by nobody we know of between two looks at it.
        let mut puzzles = 0;
        loop {
            let mut link = self.links.take_in_turn().await.map_err(|fault| tries.end(fault.error))?;
            match write_once(&mut link, held, job, more).await {
                Ok(Verdict::Written(with_it)) => {
                    let level = level(&link, kept_jobs(job, more, with_it));
                    link.keep();
                    self.tell(&held.session);
                    return Ok((with_it, level));
                }
                Ok(Verdict::Refused(error @ StoreError::Fenced { .. })) if tries.is_open() => {
                    // Who took the session over may have gone on from what this one has written.
                    match is_below(&mut link, held, job).await {
                        Ok(true) => {
                            let level = level(&link, std::iter::once(job));
                            link.keep();
                            return Ok((0, level));
                        }
                        Ok(false) => {
                            link.keep();
                            return Err(error);
                        }
                        Err(fault) => {
                            drop(link);
                            tries.after(fault, &self.links).await?;
                        }
                    }
                }
                Ok(Verdict::Refused(error)) => {
                    link.keep();
                    return Err(error);
                }
                Ok(Verdict::Puzzle) if puzzles < 3 => {
                    puzzles += 1;
                    link.keep();
                }
                Ok(Verdict::Puzzle) => {
                    return Err(tries.end(StoreError::Busy { place: link.place().to_owned() }));
                }
                Err(fault) => {
                    drop(link);
                    tries.after(fault, &self.links).await?;
                }
            }
        }
    }

    /// Whether a session has a record with that digest.
    pub(super) async fn has_record(
        self: &Arc<Self>,
        session: &SessionId,
        seq: u64,
        digest: &Digest,
    ) -> Result<bool, StoreError> {
        let (store, session, digest) = (Arc::clone(self), session.clone(), *digest);
        self.spawned(async move {
            let sql = "SELECT 1 FROM @records WHERE session = $1 AND seq = $2 AND digest = $3";
            let bind = || Bind::new().session(&session).with(stored(seq)).with(digest.as_bytes().as_slice());
            store.query(sql, bind).await.map(|found| !found.is_empty())
        })
        .await
    }

    /// Reads where a session is, if the lease with that token still holds.
    pub(super) async fn look_up(self: &Arc<Self>, held: &Held) -> Result<Place, StoreError> {
        let (store, session) = (Arc::clone(self), held.session.clone());
        let grant = held.grant.clone();
        self.spawned(async move { attempt!(reading store.links, |link| look(&mut link, &session, &grant)) })
            .await
    }
}

enum Verdict {
    /// It is, and so are as many of those that follow it.
    Written(usize),
    Refused(StoreError),
    /// Nothing speaks against it: it should have been written.
    Puzzle,
}

/// Returns what a commit on this connection is worth.
fn level<'a>(link: &Link, jobs: impl Iterator<Item = &'a Job>) -> Durability {
    match link.flushes() && flushed(jobs) {
        true => Durability::Flushed,
        false => Durability::Committed,
    }
}

pub(super) fn flushed<'a>(mut jobs: impl Iterator<Item = &'a Job>) -> bool {
    jobs.any(|job| job.durability == Durability::Flushed)
}

fn kept_jobs<'a>(job: &'a Job, more: &'a [Job], with_it: usize) -> impl Iterator<Item = &'a Job> {
    std::iter::once(job).chain(more.iter().take(with_it))
}

async fn write_once(link: &mut Link, held: &Held, job: &Job, more: &[Job]) -> Result<Verdict, Fault> {
    if !job.is_doomed() {
        let jobs = std::slice::from_ref(job);
        let moved = match job.bytes > BYTES {
            true => move_in_steps(link, held, job).await?,
            false => !move_sessions(link, &[(held, jobs)]).await?.is_empty(),
        };
        if moved {
            return Ok(Verdict::Written(0));
        }
    }
    // In the order in which the reference looks.
    let place = match look(link, &held.session, &held.grant).await? {
        Ok(place) => place,
        Err(error) => return Ok(Verdict::Refused(error)),
    };
    if place != job.base {
        // The digest of where a session is says all that was ever written: it cannot be there in another way.
        let last = more.iter().rposition(|one| one.after == place).map(|index| index + 1);
        let Some(with_it) = last.or((job.after == place).then_some(0)) else {
            let (expected, actual) = (job.base.tally.position(), place.tally.position());
            let session = held.session.clone();
            return Ok(Verdict::Refused(StoreError::Conflict { session, expected, actual }));
        };
        if level(link, kept_jobs(job, more, with_it)) == Durability::Flushed
            && !rows::flush_after(link, &held.session).await?
        {
            return Ok(Verdict::Refused(unknown(&held.session)));
        }
        return Ok(Verdict::Written(with_it));
    }
    if let Some(error) = wrong_letter(link, &held.session, &job.letters).await? {
        return Ok(Verdict::Refused(error));
    }
    let stored = stored_keys(link, &held.session, job.keys.onces()).await?;
    Ok(match job.keys.check(&held.session, &stored) {
        Err(error) => Verdict::Refused(error),
        Ok(()) => Verdict::Puzzle,
    })
}

/// Whether a session has what a job adds, below what others have written since.
async fn is_below(link: &mut Link, held: &Held, job: &Job) -> Result<bool, Fault> {
    let last = &job.after.tally;
    if last.seq == job.base.tally.seq {
        return Ok(false);
    }
    let sql = "SELECT 1 FROM @records WHERE session = $1 AND seq = $2 AND digest = $3";
    let bind =
        Bind::new().session(&held.session).with(stored(last.seq)).with(last.digest.as_bytes().as_slice());
    if link.rows(sql, bind).await?.is_empty() {
        return Ok(false);
    }
    match job.durability == Durability::Flushed {
        true => rows::flush_after(link, &held.session).await,
        false => Ok(true),
    }
}

pub(super) async fn look(
    link: &mut Link,
    session: &SessionId,
    grant: &Grant,
) -> Result<Result<Place, StoreError>, Fault> {
    let query = format!(
        "SELECT {}, {STANDING} FROM @sessions s LEFT JOIN @owners o USING (owner)
         WHERE s.session = $1::uuid AND s.complete",
        rows::SESSION
    );
    let found = link.rows(&query, Bind::new().session(session)).await?;
    let Some(row) = found.first() else { return Ok(Err(unknown(session))) };
    let corrupt = |reason| Fault::corrupt(link.place(), reason);
    let standing = Standing::of(row).map_err(corrupt)?;
    if !standing.is_under(grant) {
        let (session, token) = (session.clone(), grant.token);
        let holder = standing.holder().and_then(|holder| holder.name);
        return Ok(Err(StoreError::Fenced { session, token, holder }));
    }
    rows::place(row).map(Ok).map_err(corrupt)
}

/// Returns what is wrong with the first letter that does not wait in the inbox when its turn comes, or is not what was posted.
async fn wrong_letter(
    link: &mut Link,
    session: &SessionId,
    letters: &[InboxId],
) -> Result<Option<StoreError>, Fault> {
    if letters.is_empty() {
        return Ok(None);
    }
    let query = format!(
        "SELECT {} FROM @letters l WHERE session = $1::uuid AND letter = ANY ($2) AND ({}) ORDER BY letter",
        rows::LETTER,
        rows::WAITING
    );
    let wanted: Vec<i64> = letters.iter().map(|letter| stored(letter.0)).collect();
    let found = link.rows(&query, Bind::new().session(session).with(wanted)).await?;
    let mut waiting = BTreeSet::new();
    for row in &found {
        match rows::letter(row, session) {
            Ok(letter) => waiting.insert(letter.id),
            Err(reason) => return Ok(Some(StoreError::Corrupt { place: link.place().to_owned(), reason })),
        };
    }
    let missing = letters.iter().find(|letter| !waiting.remove(letter)).copied();
    Ok(missing.map(|letter| StoreError::NoSuchLetter { session: session.clone(), letter }))
}

/// Returns which of these names are stored, with the first record of each.
pub(super) async fn stored_keys(
    link: &mut Link,
    session: &SessionId,
    names: Vec<Vec<u8>>,
) -> Result<BTreeMap<Vec<u8>, u64>, Fault> {
    if names.is_empty() {
        return Ok(BTreeMap::new());
    }
    let query = "SELECT name, first FROM @keys WHERE session = $1::uuid AND name = ANY ($2)";
    let found = link.rows(query, Bind::new().session(session).with(names)).await?;
    let read = |row| Ok((get(row, "name")?, rows::read(get(row, "first")?)));
    let keys: Result<_, String> = found.iter().map(read).collect();
    keys.map_err(|reason| Fault::corrupt(link.place(), reason))
}
