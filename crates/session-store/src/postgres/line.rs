//! What a lease holds: where its session is, and the batches that stand in line to be written.
//!
//! Batches are checked and chained before they are sent, against where the session will be when everything before them
//! is written. The statement that writes them moves the session's row only from where they believe it to be; so a batch
//! that was made on something that failed, or that was sent twice, changes nothing.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{oneshot, watch};

use super::Inner;
use super::fault::same;
use super::keys::Keys;
use super::leases::Grant;
use super::rows::Place;
use crate::{Batch, Durability, InboxId, Kept, Position, Receipt, SessionId, StoreError};

/// So many batches or bytes may be on their way before a buffered one waits like the others.
const LINE_JOBS: usize = 4096;
const LINE_BYTES: usize = 8 * 1024 * 1024;

/// What a [`Lease`](crate::Lease) holds: dropping it frees the session.
pub(super) struct Held {
    pub(super) store: Arc<Inner>,
    pub(super) session: SessionId,
    pub(super) grant: Grant,
    /// Sessions of one shard are written together.
    pub(super) shard: i64,
    line: Mutex<Line>,
    /// How many batches have left the line.
    left: watch::Sender<u64>,
}

struct Line {
    /// Where the session is when all in line are written; nothing if it has to be read.
    end: Option<Place>,
    jobs: VecDeque<Job>,
    /// How many batches and bytes are not written yet: those in line, and those that were taken from it.
    under_way: usize,
    bytes: usize,
    /// Whether some are being written, or are about to be.
    moving: bool,
    /// How many batches ever stood in it, up to the last and up to the last that was acknowledged at once.
    joined: u64,
    buffered: u64,
    lost: Option<Lost>,
    /// The furthest place that was acknowledged, or found when the session was claimed. A server that has less now has taken
    /// over from one whose last commits it did not have.
    known: Option<Place>,
}

/// Batches that were acknowledged and could not be written, as far as is known.
struct Lost {
    /// Where the first of them began, and where the last of them ended.
    first: u64,
    last: u64,
    reason: String,
}

/// A batch in line.
pub(super) struct Job {
    pub(super) base: Place,
    pub(super) after: Place,
    pub(super) kept: Vec<Kept>,
    pub(super) letters: Vec<InboxId>,
    pub(super) keys: Keys,
    pub(super) durability: Durability,
    pub(super) bytes: usize,
    /// Nobody waits for one that was acknowledged at once.
    answer: Option<oneshot::Sender<Result<Receipt, StoreError>>>,
}

impl Job {
    /// Whether others of its session may be written with it as if they were one batch.
    pub(super) fn is_plain(&self) -> bool {
        self.letters.is_empty() && self.keys.is_empty()
    }

    /// Whether it cannot succeed, whatever the database holds.
    pub(super) fn is_doomed(&self) -> bool {
        self.keys.clash()
            || self
                .letters
                .iter()
                .enumerate()
                .any(|(place, letter)| self.letters.iter().take(place).any(|earlier| earlier == letter))
    }
}

/// What became of an attempt to stand in line.
enum Joined {
    Acknowledged(Receipt),
    Waits(oneshot::Receiver<Result<Receipt, StoreError>>),
    /// It has to be read first where the session is.
    Lookup(Batch),
    /// Refused, if the session is where it is believed to be.
    Refused(Position, Option<Batch>, StoreError),
}

/// What a look at a session's row means for its line.
enum Compared {
    /// Nobody has stood in line since; the session was known to have come as far as this.
    Alone(Option<Place>),
    /// Somebody else has found out where the session is.
    Known(Place),
    /// It has to be read again.
    Again,
    /// What was only buffered is lost.
    Lost(StoreError),
}

impl Held {
    pub(super) fn new(
        store: Arc<Inner>,
        session: SessionId,
        grant: Grant,
        (place, shard): (Place, i64),
    ) -> Self {
        let line = Line {
            end: Some(place),
            jobs: VecDeque::new(),
            under_way: 0,
            bytes: 0,
            moving: false,
            joined: 0,
            buffered: 0,
            lost: None,
            known: Some(place),
        };
        let left = watch::Sender::new(0);
        Held { store, session, grant, shard, line: Mutex::new(line), left }
    }

    /// Writes a batch after all that stand in line.
    pub(super) async fn append(self: Arc<Self>, batch: Batch) -> Result<Receipt, StoreError> {
        let mut batch = batch;
        let mut looked = false;
        if !self.store.claims.lives(self.grant.claim) {
            self.forget_place();
        }
        loop {
            match self.join(batch) {
                Joined::Acknowledged(receipt) => return Ok(receipt),
                Joined::Waits(answer) => {
                    // Only the end of the runtime leaves it unanswered.
                    let gone = |_| StoreError::Io {
                        place: self.store.links.place().to_owned(),
                        reason: "the runtime ended before the write did".to_owned(),
                    };
                    let answer = answer.await.unwrap_or_else(|error| Err(gone(error)));
                    if let Err(StoreError::Conflict { .. } | StoreError::Fenced { .. }) = &answer {
                        // That others have written, or that the server lost what it had acknowledged?
                        self.forget_place();
                        self.look_up().await.map(drop).or_else(|error| match error {
                            StoreError::AcknowledgedLost { .. } | StoreError::BufferLost { .. } => Err(error),
                            // It cannot be said yet, and the next append asks again.
                            StoreError::Busy { .. } | StoreError::Io { .. } => Err(error),
                            _ => Ok(()),
                        })?;
                    }
                    return answer;
                }
                Joined::Lookup(back) => {
                    batch = back;
                    self.look_up().await?;
                    looked = true;
                }
                Joined::Refused(_, _, error) if looked => return Err(error),
                Joined::Refused(expected, back, error) => {
                    // What it was held against is what we believe; the lease may be lost, or what is in line fail.
                    self.forget_place();
                    let place = self.look_up().await?;
                    looked = true;
                    match back {
                        Some(back) => batch = back,
                        None if place.tally.position() == expected => return Err(error),
                        None => {
                            let actual = place.tally.position();
                            return Err(StoreError::Conflict {
                                session: self.session.clone(),
                                expected,
                                actual,
                            });
                        }
                    }
                }
            }
        }
    }

    fn join(self: &Arc<Self>, batch: Batch) -> Joined {
        let mut line = self.line();
        let Some(base) = line.end else { return Joined::Lookup(batch) };
        let expected = Position { seq: batch.expected_seq, head: batch.expected_head };
        let actual = base.tally.position();
        if expected != actual {
            let error = StoreError::Conflict { session: self.session.clone(), expected, actual };
            return Joined::Refused(expected, Some(batch), error);
        }
        let (letters, durability) = (batch.consumed.clone(), batch.durability);
        let (kept, tally) = match batch.check(&self.session, base.tally) {
            Ok(checked) => checked,
            Err(error) => return Joined::Refused(expected, None, error),
        };
        let after = Place { tally, consumed: base.consumed + letters.len() as u64 };
        let keys = Keys::of(&kept);
        let bytes = kept.iter().map(Kept::size).sum();
        let room = line.under_way < LINE_JOBS && line.bytes + bytes <= LINE_BYTES;
        // What the database could refuse is not acknowledged before it has agreed.
        let at_once = durability == Durability::Buffered && room && letters.is_empty() && !keys.has_once();
        let (answer, waits) = match at_once {
            true => (None, None),
            false => {
                let (answer, waits) = oneshot::channel();
                (Some(answer), Some(waits))
            }
        };
        line.joined += 1;
        if at_once {
            line.buffered = line.joined;
        }
        line.under_way += 1;
        line.bytes += bytes;
        line.end = Some(after);
        line.jobs.push_back(Job { base, after, kept, letters, keys, durability, bytes, answer });
        let idle = !std::mem::replace(&mut line.moving, true);
        drop(line);
        if idle {
            self.store.write_soon(Arc::clone(self));
        }
        match waits {
            Some(waits) => Joined::Waits(waits),
            None => {
                let Place { tally, .. } = after;
                Joined::Acknowledged(Receipt::new(tally.seq, tally.digest, Durability::Buffered))
            }
        }
    }

    /// Takes what can be written together from the front of the line.
    pub(super) fn take(&self, most_bytes: usize) -> Vec<Job> {
        let mut line = self.line();
        let mut taken: Vec<Job> = Vec::new();
        let mut bytes = 0;
        while let Some(next) = line.jobs.front() {
            let joins = taken.is_empty()
                || next.is_plain() && taken.iter().all(Job::is_plain) && bytes + next.bytes <= most_bytes;
            if !joins {
                break;
            }
            bytes += next.bytes;
            taken.extend(line.jobs.pop_front());
        }
        taken
    }

    /// Tells what became of jobs that were taken; those in line after them are written next.
    pub(super) fn land(self: &Arc<Self>, landed: Vec<(Job, Result<Durability, StoreError>)>) {
        let mut line = self.line();
        let count = landed.len() as u64;
        let mut answers = Vec::new();
        for (job, result) in landed {
            line.under_way = line.under_way.saturating_sub(1);
            line.bytes = line.bytes.saturating_sub(job.bytes);
            let Job { base, after, answer, .. } = job;
            if let (Err(error), None) = (&result, &answer) {
                let lost = line.lost.get_or_insert_with(|| Lost {
                    first: base.tally.seq + 1,
                    last: after.tally.seq,
                    reason: error.to_string(),
                });
                lost.last = lost.last.max(after.tally.seq);
            }
            match result.is_ok() {
                true => line.known = Some(after),
                false => line.end = None,
            }
            if let Some(answer) = answer {
                let Place { tally, .. } = after;
                answers.push((answer, result.map(|level| Receipt::new(tally.seq, tally.digest, level))));
            }
        }
        let more = !line.jobs.is_empty();
        line.moving = more;
        drop(line);
        for (answer, result) in answers {
            // Whoever went away wanted it written all the same.
            let _ = answer.send(result);
        }
        self.left.send_modify(|left| *left += count);
        if more {
            self.store.write_soon(Arc::clone(self));
        }
    }

    /// Fails jobs with what hit all of them.
    pub(super) fn land_all(self: &Arc<Self>, jobs: Vec<Job>, error: &StoreError) {
        self.land(jobs.into_iter().map(|job| (job, Err(same(error)))).collect());
    }

    /// Fails all that stand in line with what hit all of them.
    pub(super) fn fail_all(self: &Arc<Self>, error: &StoreError) {
        let jobs = self.line().jobs.drain(..).collect();
        self.land_all(jobs, error);
    }

    /// Waits until what was acknowledged at once is written or known to be lost.
    pub(super) async fn settle(&self) {
        let buffered = self.line().buffered;
        self.wait_for(buffered).await;
    }

    async fn wait_for(&self, number: u64) {
        // The sender is ours: it cannot be gone.
        let _ = self.left.subscribe().wait_for(|left| *left >= number).await;
    }

    fn forget_place(&self) {
        self.line().end = None;
    }

    /// Reads where the session is, after all in line have left it.
    async fn look_up(&self) -> Result<Place, StoreError> {
        loop {
            let joined = self.line().joined;
            self.wait_for(joined).await;
            let found = self.store.look_up(self).await;
            let known = match self.compare(joined, &found) {
                Compared::Alone(known) => known,
                Compared::Known(place) => return Ok(place),
                Compared::Again => continue,
                Compared::Lost(error) => return Err(error),
            };
            if let Some(error) = self.missing(&found, known).await? {
                // Said once: what is there now is what the next append goes on from.
                self.line().known = found.ok();
                return Err(error);
            }
            let place = found?;
            let mut line = self.line();
            if line.joined == joined {
                line.end = Some(place);
            }
            return Ok(place);
        }
    }

    /// Holds what was found against what has stood in line since, and against what was only buffered.
    fn compare(&self, joined: u64, found: &Result<Place, StoreError>) -> Compared {
        let mut line = self.line();
        if line.joined != joined {
            // Somebody else has looked and stood in line; what they wrote may have come after what we found.
            return line.end.map_or(Compared::Again, Compared::Known);
        }
        if matches!(found, Ok(_) | Err(StoreError::Fenced { .. } | StoreError::UnknownSession { .. }))
            && let Some(Lost { first, last, reason }) = line.lost.take()
        {
            let there = found.as_ref().map_or(0, |place| place.tally.seq);
            // An answer that got lost on its way need not mean that the records did.
            if there < last {
                let seq = first.max(there + 1);
                let session = self.session.clone();
                return Compared::Lost(StoreError::BufferLost { session, seq, reason });
            }
        }
        Compared::Alone(line.known)
    }

    /// Returns the error of a session that has less than was acknowledged.
    async fn missing(
        &self,
        found: &Result<Place, StoreError>,
        known: Option<Place>,
    ) -> Result<Option<StoreError>, StoreError> {
        let Some(Place { tally: known, .. }) = known else { return Ok(None) };
        let is_there = match found {
            Ok(Place { tally, .. }) if tally.seq == known.seq => tally.digest == known.digest,
            Ok(Place { tally, .. }) => tally.seq > known.seq,
            // Whoever took it over went on from what the server had.
            Err(StoreError::Fenced { .. }) => {
                self.store.has_record(&self.session, known.seq, &known.digest).await?
            }
            Err(_) => true,
        };
        let session = self.session.clone();
        Ok((!is_there).then_some(StoreError::AcknowledgedLost { session, seq: known.seq }))
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Jobs in line hold on to it, so nothing is being written any more.
        self.store.give_back(&self.session, self.grant.claim);
    }
}
