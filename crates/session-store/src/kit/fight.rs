//! Writers, senders and followers on threads of their own, each with a handle of its own, all at one session.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use trunkline_message_tree::Timestamp;

use super::chance::Chance;
use super::made::*;
use super::report::NOT_TRIED;
use super::verdict::{Broken, Verdict, guard, words};
use super::waiting::{pause, poll_once, within};
use super::{Figures, Options, Place, Promise, Report, Subject};
use crate::{
    Batch, Claim, Durability, Follower, InboxId, Kept, Lease, LetterState, Receipt, Record, SessionStore,
    Spine, StoreError, Verified, consumed,
};

/// What all threads share.
struct Arena<'a> {
    subject: &'a dyn Subject,
    options: &'a Options,
    place: &'a dyn Place,
    until: Instant,
    /// What was acknowledged: which batch, under which token, with which receipt.
    kept: Mutex<Vec<(Label, u64, Receipt)>>,
    /// All leases that anybody had, by their tokens, and whether they were taken over.
    leases: Mutex<BTreeMap<u64, Claim>>,
    /// Set once a thread has failed, so that no other waits for it.
    over: AtomicBool,
}

/// Which thread's batch, and its number there.
type Label = (u32, u32);

pub(super) fn check(subject: &dyn Subject, options: &Options, report: &mut Report) {
    let fights: [(Promise, &str, Fight); 3] = [
        (Promise::Fought, "writers take a session from each other", writers),
        (Promise::Inbox, "many send letters while the writer changes", senders),
        (Promise::Followed, "many follow while one writes", followers),
    ];
    for (promise, what, fight) in fights {
        let broken = match promise == Promise::Fought || report.may_try(Promise::Followed) {
            true => arena(subject, options, |arena| fight(arena, report)).err(),
            false => Some(Broken(NOT_TRIED.to_owned())),
        };
        report.check(promise, broken.map(|broken| format!("{what}: {broken}")));
    }
}

type Fight = fn(&Arena<'_>, &mut Report) -> Verdict;

fn arena(subject: &dyn Subject, options: &Options, fight: impl FnOnce(&Arena<'_>) -> Verdict) -> Verdict {
    let place = guard(|| subject.place())?.map_err(Broken)?;
    let arena = Arena {
        subject,
        options,
        place: &*place,
        until: Instant::now() + options.patience,
        kept: Mutex::default(),
        leases: Mutex::default(),
        over: AtomicBool::new(false),
    };
    arena.alone(async |store| {
        store.create(new_session(1)).await?;
        Ok(())
    })?;
    fight(&arena)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Arena<'_> {
    /// Runs something with a handle of its own on this thread.
    fn alone<T>(
        &self,
        act: impl AsyncFnOnce(&Arc<dyn SessionStore>) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        let result = super::run_within(self.subject, self.options.patience, async {
            let handle = self.place.open().await?;
            let result = act(&handle.store()).await;
            handle.close().await;
            result
        });
        let result = result.and_then(|result| result);
        if result.is_err() {
            self.over.store(true, Ordering::SeqCst);
        }
        result
    }

    fn goes_on(&self) -> Verdict {
        ensure!(!self.over.load(Ordering::SeqCst), "{ELSEWHERE}");
        ensure!(Instant::now() < self.until, "it did not end within {:?}", self.options.patience);
        Ok(())
    }
}

// What a thread says that gives up because of another.
const ELSEWHERE: &str = "another thread failed";

/// Runs all at once; the first failure that is a thread's own counts.
fn together(acts: Vec<Box<dyn FnOnce() -> Verdict + Send + '_>>) -> Verdict {
    let verdicts: Vec<Verdict> = thread::scope(|scope| {
        let threads: Vec<_> = acts.into_iter().map(|act| scope.spawn(act)).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|end| end.unwrap_or_else(|_| fail!("a thread panicked"))).collect()
    });
    let mut failures = verdicts.into_iter().filter_map(Result::err).collect::<Vec<Broken>>();
    failures.sort_by_key(|Broken(words)| words == ELSEWHERE);
    failures.into_iter().next().map_or(Ok(()), Err)
}

/// Becomes the writer: usually when nobody is, sometimes at once.
async fn become_writer(
    arena: &Arena<'_>,
    store: &dyn SessionStore,
    chance: &mut Chance,
) -> Result<Lease, Broken> {
    loop {
        arena.goes_on()?;
        let claim = if chance.one_in(4) { Claim::TakeOver } else { Claim::IfFree };
        match store.claim(&session(1), claim).await {
            Ok(lease) => {
                let twice = lock(&arena.leases).insert(lease.token(), claim);
                ensure!(twice.is_none(), "two leases have the token {}", lease.token());
                return Ok(lease);
            }
            Err(StoreError::Locked { .. }) if claim == Claim::IfFree => pause(MOMENT).await,
            Err(StoreError::Busy { .. }) => pause(MOMENT).await,
            Err(error) => return Err(error.into()),
        }
    }
}

const MOMENT: Duration = Duration::from_micros(300);

fn level(chance: &mut Chance) -> Durability {
    chance.pick(Durability::Flushed, &[Durability::Committed, Durability::Buffered])
}

fn label((thread, number): Label, token: u64) -> String {
    format!("{{\"thread\":{thread},\"batch\":{number},\"token\":{token}}}")
}

fn writers(arena: &Arena<'_>, report: &mut Report) -> Verdict {
    let acts = (0..arena.options.threads).map(|thread| {
        let act: Box<dyn FnOnce() -> Verdict + Send + '_> =
            Box::new(move || arena.alone(async |store| write(arena, &**store, thread).await));
        act
    });
    together(acts.collect())?;
    let kept = std::mem::take(&mut *lock(&arena.kept));
    report.figures.acknowledged += kept.len() as u64;
    arena.alone(async |store| {
        let log = all(&**store, &session(1)).await?;
        let verified = store.verify(&session(1)).await?;
        judge(arena, &log, &verified, &kept, &mut report.figures)
    })
}

async fn write(arena: &Arena<'_>, store: &dyn SessionStore, thread: u32) -> Verdict {
    let mut chance = Chance::new(arena.options.seed, 1_000 + u64::from(thread));
    let (mut done, mut number) = (0, 0);
    while done < arena.options.batches {
        let lease = become_writer(arena, store, &mut chance).await?;
        let mut at = position(&store.info(&session(1)).await?);
        for _ in 0..=chance.below(6) {
            number += 1;
            let this = (thread, number);
            let body = label(this, lease.token());
            // The size says whether all of it is there.
            let records: Vec<_> = (0..1 + number % 3).map(|_| note(&body)).collect();
            let batch = Batch::new(at, records).with(level(&mut chance));
            match store.append(&lease, batch).await {
                Ok(receipt) => {
                    at.seq = receipt.seq;
                    lock(&arena.kept).push((this, lease.token(), receipt));
                    done += 1;
                }
                // What it had in line is lost with the lease.
                Err(StoreError::Fenced { .. } | StoreError::BufferLost { .. }) => break,
                Err(StoreError::Busy { .. }) => {}
                // A lease that was taken over is told as such, and who holds it knows where the log is.
                Err(error) => fail!("the writer with token {} got: {}", lease.token(), words(&error)),
            }
        }
        drop(lease);
        if chance.one_in(2) {
            pause(MOMENT).await;
        }
    }
    Ok(())
}

/// Compares the log with what was acknowledged; all else must not be there.
fn judge(
    arena: &Arena<'_>,
    log: &[Kept],
    verified: &Verified,
    kept: &[(Label, u64, Receipt)],
    figures: &mut Figures,
) -> Verdict {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    let mut token = 0;
    for record in log.iter().filter(|record| matches!(record.spine, Spine::Note { .. })) {
        *seen.entry(&record.body).or_default() += 1;
        let now = record.body.rsplit_once(':').and_then(|(_, rest)| rest.strip_suffix('}'));
        let Some(now) = now.and_then(|now| now.parse::<u64>().ok()) else {
            fail!("record {} is not one that was written: {}", record.seq, record.body);
        };
        ensure!(now >= token, "record {} under token {now} follows one under token {token}", record.seq);
        token = now;
    }
    // The first batch under each token that was lost from the line to the writer.
    let mut cut: BTreeMap<u64, u32> = BTreeMap::new();
    let leases = lock(&arena.leases);
    for (this, token, receipt) in kept {
        let expected = 1 + this.1 % 3;
        let found = seen.remove(label(*this, *token).as_str()).unwrap_or(0);
        if found == expected && verified.holds(receipt) {
            let lost = cut.get(token);
            ensure!(lost.is_none(), "batch {this:?} is kept, and batch {lost:?} before it is lost");
            continue;
        }
        ensure!(found == 0, "batch {this:?} is there with {found} records of {expected}");
        let next = leases.range(token + 1..).next();
        let may = receipt.durability == Durability::Buffered
            && arena.subject.reaches() > Durability::Buffered
            && next.is_some_and(|(_, claim)| *claim == Claim::TakeOver);
        if may {
            cut.entry(*token).or_insert(this.1);
            figures.buffered_lost += 1;
        } else {
            figures.lost += 1;
        }
    }
    ensure!(figures.lost == 0, "{} of {} acknowledged batches are gone", figures.lost, kept.len());
    ensure!(seen.is_empty(), "records of batches that were not acknowledged are kept: {seen:?}");
    Ok(())
}

fn senders(arena: &Arena<'_>, report: &mut Report) -> Verdict {
    let threads = arena.options.threads.max(2);
    let letters = arena.options.batches;
    let all_letters = u64::from(threads) * u64::from(letters);
    let mut acts: Vec<Box<dyn FnOnce() -> Verdict + Send + '_>> = Vec::new();
    for thread in 0..threads {
        acts.push(Box::new(move || arena.alone(async |store| send(arena, &**store, thread, letters).await)));
    }
    for thread in 0..2 {
        acts.push(Box::new(move || {
            arena.alone(async |store| consume(arena, &**store, thread, all_letters).await)
        }));
    }
    together(acts)?;
    report.figures.letters += all_letters;
    arena.alone(async |store| {
        same!("the inbox", store.inbox(&session(1)).await?, []);
        let log = all(&**store, &session(1)).await?;
        let mut ids: Vec<u64> = Vec::new();
        let mut last: BTreeMap<u64, u64> = BTreeMap::new();
        for kept in log.iter().filter(|kept| matches!(kept.spine, Spine::Note { .. })) {
            let words: Vec<u64> =
                kept.body.trim_matches('"').split(' ').filter_map(|word| word.parse().ok()).collect();
            let [id, sender, number] = words.as_slice() else {
                fail!("record {} is not one that was written: {}", kept.seq, kept.body);
            };
            let before = last.insert(*sender, *number).unwrap_or(0);
            ensure!(*number == before + 1, "letter {number} of sender {sender} takes effect after {before}");
            ids.push(*id);
        }
        same!("the letters in the order of their effect", ids, (1..=all_letters).collect::<Vec<u64>>());
        for id in 1..=all_letters {
            let state = store.letter(&session(1), InboxId(id)).await?;
            let consumed = matches!(state, LetterState::Consumed { .. });
            ensure!(consumed, "letter {id} had its effect and still waits");
        }
        Ok(())
    })
}

async fn send(arena: &Arena<'_>, store: &dyn SessionStore, thread: u32, letters: u32) -> Verdict {
    for number in 1..=letters {
        arena.goes_on()?;
        let body = format!("\"{thread} {number}\"");
        let id = loop {
            match store.post(&session(1), "prompt", &body, Timestamp(1)).await {
                Err(StoreError::Busy { .. }) => arena.goes_on()?,
                other => break other?,
            }
        };
        if number % 8 == 0 {
            let left = arena.until.saturating_duration_since(Instant::now());
            match within(left.min(arena.options.patience / 2), consumed(store, &session(1), id)).await {
                Some(seq) => ensure!(seq? > 1, "letter {id} had no effect"),
                None => fail!("the sender of letter {id} was never told that it was consumed"),
            }
        }
    }
    Ok(())
}

async fn consume(arena: &Arena<'_>, store: &dyn SessionStore, thread: u32, all_letters: u64) -> Verdict {
    let mut chance = Chance::new(arena.options.seed, 2_000 + u64::from(thread));
    loop {
        let lease = become_writer(arena, store, &mut chance).await?;
        for _ in 0..1 + chance.below(5) {
            let info = store.info(&session(1)).await?;
            if info.records == all_letters + 1 {
                return Ok(());
            }
            let waiting = store.inbox(&session(1)).await?;
            let few = waiting.iter().take(1 + chance.below(3) as usize);
            let (ids, records): (Vec<InboxId>, Vec<_>) = few
                .map(|letter| {
                    let words = letter.body.trim_matches('"');
                    (letter.id, note(&format!("\"{} {words}\"", letter.id)))
                })
                .unzip();
            let batch = Batch::new(position(&info), records).consuming(ids).with(level(&mut chance));
            match store.append(&lease, batch).await {
                Ok(_) => {}
                // Somebody took it over, in the middle of what was read above or before.
                Err(StoreError::Fenced { .. } | StoreError::BufferLost { .. }) => break,
                Err(StoreError::Busy { .. }) => {}
                Err(error) => fail!("the writer with token {} got: {}", lease.token(), words(&error)),
            }
        }
        drop(lease);
        pause(MOMENT).await;
    }
}

fn followers(arena: &Arena<'_>, report: &mut Report) -> Verdict {
    let (threads, batches) = (arena.options.threads.max(1), arena.options.batches);
    let end = 1 + u64::from(batches) * 2;
    let mut acts: Vec<Box<dyn FnOnce() -> Verdict + Send + '_>> = Vec::new();
    for thread in 0..threads {
        acts.push(Box::new(move || {
            arena.alone(async |store| {
                let follower = Follower::new(Arc::clone(store), session(1), 0);
                follow(arena, follower, thread, end).await
            })
        }));
    }
    acts.push(Box::new(move || {
        arena.alone(async |store| {
            let mut chance = Chance::new(arena.options.seed, 3_000);
            let lease = store.lease(&session(1)).await?;
            for number in 0..batches {
                let records = vec![note(&number.to_string()), note(&number.to_string())];
                let made = batch(1 + 2 * u64::from(number), 0, records).with(level(&mut chance));
                store.append(&lease, made).await?;
                if chance.one_in(3) {
                    pause(MOMENT).await;
                }
            }
            Ok(())
        })
    }));
    together(acts)?;
    report.figures.acknowledged += u64::from(batches);
    Ok(())
}

async fn follow(arena: &Arena<'_>, mut follower: Follower, thread: u32, end: u64) -> Verdict {
    let mut chance = Chance::new(arena.options.seed, 4_000 + u64::from(thread));
    let mut seen = 0;
    while seen < end {
        arena.goes_on()?;
        // Now and then it does something else in between.
        let records = match chance.one_in(3) {
            true => poll_once(follower.next()).await,
            false => {
                let records = within(arena.options.patience / 2, follower.next()).await;
                ensure!(records.is_some(), "a follower is at {seen} of {end} and sees nothing more");
                records
            }
        };
        for (seq, record) in records.transpose()?.unwrap_or_default() {
            same!("the number of the next record", seq, seen + 1);
            seen = seq;
            if let Record::Note(note) = record {
                same!("the record", note.body, ((seq - 2) / 2).to_string());
            }
        }
    }
    Ok(())
}
