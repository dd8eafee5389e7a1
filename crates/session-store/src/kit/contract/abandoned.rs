//! Calls that nobody waits for any more: what they began is there whole or not at all, and blocks nobody.
//!
//! A call can be dropped wherever it waits. So each is made again and again: first it is dropped before its first step,
//! then after it, and so on until it comes to its end; at once, or a little later, when what it began has had its turn.

use std::pin::pin;
use std::time::{Duration, Instant};

use trunkline_message_tree::{Entry, Timestamp};

use super::super::made::*;
use super::super::verdict::{Broken, Verdict, words};
use super::super::waiting::{pause, poll_times};
use super::{Bench, Store, checks, soon};
use crate::{
    Activity, Claim, Durability, Header, ImportError, InboxId, Lease, LetterState, MemoryStore, NoteQuery,
    Record, Restoring, SessionId, SessionStore, StoreError,
};

checks! {
    Whole an_abandoned_append_is_there_whole_or_not_at_all
    OneWriter an_abandoned_claim_leaves_the_session_free
    Restored an_abandoned_restore_is_there_whole_or_not_at_all
    Deleted an_abandoned_deletion_is_done_or_not
    Inbox an_abandoned_letter_is_posted_or_not
}

/// How long it takes others to have had their turn.
const A_LITTLE: Duration = Duration::from_millis(1);

/// A call that comes to no end after so many steps is not given more.
const MOST: u32 = 12;

/// One call after the other, each of which is dropped: four after each number of steps, two of one kind and two of
/// another, and of both one at once and one a little later.
#[derive(Default)]
struct Calls {
    steps: u32,
    turn: u32,
    /// Whether one of this many steps did not come to its end.
    dropped: bool,
}

impl Calls {
    /// Begins the next one; returns whether there is one.
    fn next(&mut self) -> bool {
        if self.turn == 4 {
            if !self.dropped || self.steps == MOST {
                return false;
            }
            (self.steps, self.turn, self.dropped) = (self.steps + 1, 0, false);
        }
        self.turn += 1;
        true
    }

    fn is_of_the_other_kind(&self) -> bool {
        self.turn > 2
    }

    /// Lets a call do its steps and drops it; returns what it gave if it came to its end.
    async fn give_up<T>(&mut self, call: impl Future<Output = T>) -> Option<T> {
        let mut call = pin!(call);
        let given = poll_times(self.steps, call.as_mut()).await;
        if given.is_none() {
            self.dropped = true;
            if self.turn.is_multiple_of(2) {
                pause(A_LITTLE).await;
            }
        }
        given
    }

    /// A session of its own for each call.
    fn number(&self) -> u64 {
        u64::from(10 + self.steps * 4 + self.turn)
    }
}

/// What was dropped may still be under way and come in between others, but only once.
const TRIES: u32 = 3;

async fn an_abandoned_append_is_there_whole_or_not_at_all(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let mut calls = Calls::default();
    while calls.next() {
        let before = one.info(&session(1)).await?;
        let id = before.nodes as u32;
        let pair = batch(before.records, id - 1, vec![node(id, id - 1, "a"), node(id + 1, id, "b")]);
        let letter = match calls.is_of_the_other_kind() {
            true => Some(one.post(&session(1), "prompt", &id.to_string(), Timestamp(1)).await?),
            false => None,
        };
        // A letter is never consumed in line.
        let level = if letter.is_some() { Durability::Flushed } else { Durability::Buffered };
        let appended = calls.give_up(one.append(&lease, pair.with(level).consuming(letter))).await;
        let appended = appended.transpose()?.is_some();
        let mut tries = 0;
        loop {
            let info = one.info(&session(1)).await?;
            let more = info.records.wrapping_sub(before.records);
            ensure!(more == 0 || more == 2, "{more} of 2 records of an abandoned batch are there");
            let id = info.nodes as u32;
            let after = vec![node(id, id - 1, "after it")];
            match one.append(&lease, batch(info.records, id - 1, after)).await {
                Ok(_) => break,
                // It was on its way and came in between.
                Err(StoreError::Conflict { .. }) if tries < TRIES => tries += 1,
                Err(error) => return Err(error.into()),
            }
        }
        // From here on it can come no more.
        let found = two.load_after(&session(1), before.records).await?;
        let texts: Vec<String> = found.iter().filter_map(|(_, record)| text(record)).collect();
        let is = texts.as_slice() == ["a", "b", "after it"];
        ensure!(is || (texts.as_slice() == ["after it"] && !appended), "a batch is not whole: {texts:?}");
        if let Some(letter) = letter {
            let state = two.letter(&session(1), letter).await?;
            let seq = before.records + 2;
            let expected = if is { LetterState::Consumed { seq } } else { LetterState::Waiting };
            same!("the letter that it consumes", state, expected);
        }
    }
    two.verify(&session(1)).await?;
    Ok(())
}

fn text(record: &Record) -> Option<String> {
    match record {
        Record::Entry(Entry::Node { message, .. }) => Some(message.text()),
        _ => None,
    }
}

async fn an_abandoned_claim_leaves_the_session_free(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let mut calls = Calls::default();
    while calls.next() {
        if calls.is_of_the_other_kind() {
            let held = bench.soon(&one, &session(1)).await?;
            drop(calls.give_up(two.claim(&session(1), Claim::TakeOver)).await.transpose()?);
            // It was taken over or it was not; nothing else.
            let made = next(&*one, &session(1), vec![note("1")]).await?;
            match one.append(&held, made).await {
                Ok(_) | Err(StoreError::Fenced { .. }) => {}
                Err(error) => fail!("an append under a lease that was perhaps taken over: {}", words(&error)),
            }
        } else {
            match calls.give_up(two.claim(&session(1), Claim::IfFree)).await {
                // The lease before it is just being given up.
                None | Some(Ok(_) | Err(StoreError::Locked { .. })) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
        for store in [&one, &two] {
            let mut tries = 0;
            loop {
                let lease = free_soon(bench, store, &session(1)).await?;
                let made = next(&**store, &session(1), vec![note("2")]).await?;
                match store.append(&lease, made).await {
                    Ok(_) => break,
                    // It was on its way and came in between.
                    Err(StoreError::Fenced { .. }) if tries < TRIES => tries += 1,
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }
    Ok(())
}

/// Takes a lease that nobody holds; says so if that cannot be had, before the whole check is told to have no end.
async fn free_soon(bench: &Bench, store: &Store, session: &SessionId) -> Result<Lease, Broken> {
    soon(&**store, session, bench.patience / 4).await
}

async fn an_abandoned_restore_is_there_whole_or_not_at_all(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    // A little more than a chunk: a chunk ends behind the record that brings it to 4 MiB, and one comes after it.
    let large = "x".repeat(4 * 1024 * 1024);
    let mut calls = Calls::default();
    while calls.next() {
        let id = session(calls.number());
        let text = if calls.is_of_the_other_kind() { &large } else { "small" };
        let origin = MemoryStore::new();
        origin.create(new_session(calls.number())).await?;
        let lease = origin.lease(&id).await?;
        let key = Record::Note(rain("0").once("k", ""));
        origin.append(&lease, batch(1, 0, vec![node(1, 0, text), key, node(2, 1, "b")])).await?;
        let (whole, kept) = (origin.info(&id).await?, all(&origin, &id).await?);
        let rows = || kept.iter().cloned().map(Ok);
        let mut given = rows();
        let restoring = Restoring::new(Header::of(&whole), &mut given);
        drop(calls.give_up(one.restore(restoring)).await.transpose()?);
        let until = Instant::now() + bench.patience / 4;
        loop {
            match two.info(&id).await {
                Ok(info) => same!("a session that is taken in", info, whole),
                Err(StoreError::UnknownSession { .. }) => {}
                Err(error) => return Err(error.into()),
            }
            let mut given = rows();
            match two.restore(Restoring::new(Header::of(&whole), &mut given)).await {
                Ok(_) => break,
                Err(ImportError::Store { source }) => match *source {
                    StoreError::SessionExists { .. } if two.info(&id).await.is_ok() => break,
                    // What it has left is just being removed.
                    StoreError::SessionExists { .. } if Instant::now() < until => pause(A_LITTLE).await,
                    error => fail!("restoring it again: {}", words(&error)),
                },
                Err(error) => return Err(error.into()),
            }
        }
        same!("the digest of what was restored again", one.verify(&id).await?.digest, whole.digest);
        // None of what was dropped takes it away again.
        one.collect(false).await?;
        same!("what is there at the end", two.info(&id).await?, whole);
        two.delete(&id).await?;
    }
    Ok(())
}

async fn an_abandoned_deletion_is_done_or_not(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    fill(&one, 1).await?;
    let other = state(&*two, &session(1)).await?;
    let mut calls = Calls::default();
    while calls.next() {
        let id = session(calls.number());
        fill(&one, calls.number()).await?;
        let before = state(&*two, &id).await?;
        calls.give_up(one.delete(&id)).await.transpose()?;
        match state(&*two, &id).await {
            Ok(now) => same!("a session that was not deleted", now, before),
            // It may go while it is looked at.
            Err(broken) => match two.info(&id).await {
                Err(StoreError::UnknownSession { .. }) => {}
                _ => return Err(broken),
            },
        }
        match two.delete(&id).await {
            Ok(()) | Err(StoreError::UnknownSession { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        for store in [&one, &two] {
            refused!("a session that was deleted", store.info(&id).await, StoreError::UnknownSession { .. });
            let keys = store.notes(&NoteQuery::default()).await?;
            ensure!(keys.iter().all(|found| found.session == session(1)), "keys are left: {keys:?}");
        }
        same!("another session", state(&*two, &session(1)).await?, other);
    }
    Ok(())
}

/// Makes a session of everything that has to go with it, and of a large part that others have too. Nobody ever had a
/// lease on it, so nobody is just giving one up when it is deleted.
async fn fill(store: &Store, number: u64) -> Verdict {
    let origin = MemoryStore::new();
    origin.create(new_session(number)).await?;
    let lease = origin.lease(&session(number)).await?;
    let key = Record::Note(rain("0").about("k", ""));
    let large = "shared ".repeat(1_000);
    origin.append(&lease, batch(1, 0, vec![node(1, 0, &large), key, note("1")])).await?;
    crate::import(&**store, exported(&origin, &session(number)).await?.as_slice()).await?;
    store.post(&session(number), "prompt", "1", Timestamp(1)).await?;
    Ok(())
}

async fn an_abandoned_letter_is_posted_or_not(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let (mut begun, mut posted) = (Vec::new(), Vec::new());
    let mut calls = Calls::default();
    while calls.next() {
        let body = format!("\"dropped {}\"", calls.number());
        let given = calls.give_up(one.post(&session(1), "prompt", &body, Timestamp(1))).await;
        match given.transpose()? {
            Some(letter) => posted.push((letter, body)),
            None => begun.push(body),
        }
        let store = if calls.is_of_the_other_kind() { &one } else { &two };
        let body = format!("\"after {}\"", calls.number());
        posted.push((store.post(&session(1), "prompt", &body, Timestamp(1)).await?, body));
    }
    // Some may still be under way.
    let until = Instant::now() + bench.patience / 4;
    let inbox = loop {
        let Activity { posted, .. } = two.changed(&session(1), Activity::default()).await?;
        let inbox = two.inbox(&session(1)).await?;
        if inbox.len() as u64 == posted {
            break inbox;
        }
        ensure!(Instant::now() < until, "{posted} letters came, {} are there", inbox.len());
        pause(A_LITTLE).await;
    };
    for letter in &inbox {
        let found = (letter.id, letter.body.clone());
        let known = posted.contains(&found) || begun.contains(&found.1);
        ensure!(known && letter.kind == "prompt", "a letter that nobody has posted: {letter:?}");
        begun.retain(|body| *body != found.1);
    }
    let names: Vec<InboxId> = inbox.iter().map(|letter| letter.id).collect();
    for (id, body) in &posted {
        let times = names.iter().filter(|name| *name == id).count();
        ensure!(times == 1, "letter {id}, {body}, is there {times} times");
    }
    let lease = two.lease(&session(1)).await?;
    two.append(&lease, batch(1, 0, vec![note("1")]).consuming(names)).await?;
    Ok(())
}
