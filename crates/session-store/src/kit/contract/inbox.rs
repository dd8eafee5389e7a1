//! Letters, and waiting for what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use trunkline_message_tree::Timestamp;

use super::super::made::*;
use super::super::verdict::{Broken, Verdict};
use super::super::waiting::{pause, poll_once, within};
use super::{Bench, Store, checks};
use crate::{Activity, Amend, Claim, Follower, InboxId, Letter, LetterState, StoreError, consumed};

checks! {
    Inbox a_letter_waits_until_a_batch_consumes_it
    Inbox a_letter_is_consumed_once_and_only_with_its_batch
    Inbox letters_are_not_named_twice
    Inbox letters_wait_for_the_next_writer
    Waiting activity_counts_records_letters_and_what_was_consumed
    Waiting who_waits_is_woken_through_any_handle
    Waiting who_waits_is_told_of_a_take_over
    Waiting a_sender_waits_until_its_letter_has_taken_effect
    Waiting nobody_waits_for_a_session_that_is_gone
    Followed a_follower_sees_each_record_once_and_in_order
    Followed a_follower_that_was_dropped_while_waiting_misses_nothing
    Followed a_follower_of_a_log_that_was_replaced_says_so
}

async fn a_letter_waits_until_a_batch_consumes_it(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let bodies = ["\"go on\"", "{\"b\" : [1.50],\"a\":null}", "\"\\u0000\u{1F327}\"", "null"];
    let mut expected = Vec::new();
    for (number, body) in (1..).zip(bodies) {
        let (kind, at) = (format!("kind \u{e9} {number}"), Timestamp(u64::MAX - number));
        let id = two.post(&session(1), &kind, body, at).await?;
        same!("the name of the letter", id, InboxId(number));
        expected.push(Letter { id, at, kind, body: body.to_owned() });
    }
    for store in [&one, &two] {
        same!("the inbox", store.inbox(&session(1)).await?, expected);
        same!("the inbox at a look", store.look(&session(1)).await?.1, expected);
    }
    let records = vec![node(1, 0, "x"), note("1")];
    one.append(&lease, batch(1, 0, records).consuming(letters([2]))).await?;
    same!("a consumed letter", two.letter(&session(1), InboxId(2)).await?, LetterState::Consumed { seq: 3 });
    same!("a letter that waits", two.letter(&session(1), InboxId(3)).await?, LetterState::Waiting);
    expected.remove(1);
    same!("the inbox", two.inbox(&session(1)).await?, expected);
    let now = two.changed(&session(1), Activity::default()).await?;
    same!("what is seen at a look", two.look(&session(1)).await?, (now, expected));
    one.append(&lease, batch(3, 1, Vec::new()).consuming(letters([4, 1, 3]))).await?;
    same!("the inbox", two.inbox(&session(1)).await?, []);
    let now = two.changed(&session(1), Activity::default()).await?;
    same!("what is seen at a look", two.look(&session(1)).await?, (now, Vec::new()));
    for number in [1, 3, 4] {
        let state = two.letter(&session(1), InboxId(number)).await?;
        same!("a letter without records", state, LetterState::Consumed { seq: 3 });
    }
    same!("how many records there are", two.info(&session(1)).await?.records, 3);
    Ok(())
}

async fn a_letter_is_consumed_once_and_only_with_its_batch(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    for _ in 0..2 {
        two.post(&session(1), "prompt", "1", Timestamp(1)).await?;
    }
    let with = |seq, ids: &[u64]| batch(seq, 0, vec![note("1")]).consuming(letters(ids.iter().copied()));
    let refusals = [
        (with(1, &[3]), 3),
        (with(1, &[1, 3]), 3),
        (with(1, &[1, 1]), 1),
        (with(1, &[0]), 0),
        (with(1, &[u64::MAX]), u64::MAX),
    ];
    for (made, missing) in refusals {
        let result = one.append(&lease, made).await;
        refused!("a letter", result, StoreError::NoSuchLetter { letter: InboxId(id), .. } if id == missing);
        same!("the inbox", two.inbox(&session(1)).await?.len(), 2);
    }
    refused!("a stale batch", one.append(&lease, with(9, &[1])).await, StoreError::Conflict { .. });
    same!("a letter", two.letter(&session(1), InboxId(1)).await?, LetterState::Waiting);
    one.append(&lease, with(1, &[1])).await?;
    let again = one.append(&lease, with(2, &[1])).await;
    refused!("a letter again", again, StoreError::NoSuchLetter { letter: InboxId(1), .. });
    let again = one.append(&lease, with(2, &[2, 1])).await;
    refused!("a letter again", again, StoreError::NoSuchLetter { letter: InboxId(1), .. });
    same!("the other letter", two.letter(&session(1), InboxId(2)).await?, LetterState::Waiting);
    for id in [0, 3, u64::MAX] {
        let result = two.letter(&session(1), InboxId(id)).await;
        refused!("a letter", result, StoreError::NoSuchLetter { letter: InboxId(named), .. } if named == id);
    }
    same!("how many records there are", two.info(&session(1)).await?.records, 2);
    Ok(())
}

async fn letters_are_not_named_twice(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    one.create(new_session(2)).await?;
    let lease = one.lease(&session(1)).await?;
    for number in 1..=4 {
        let id = two.post(&session(1), "cancel", "null", Timestamp(1)).await?;
        same!("the name of a letter", id, InboxId(number));
        one.append(&lease, batch(1, 0, Vec::new()).consuming([id])).await?;
    }
    let other = one.post(&session(2), "cancel", "null", Timestamp(1)).await?;
    same!("the name of another session's letter", other, InboxId(1));
    Ok(())
}

async fn letters_wait_for_the_next_writer(bench: &mut Bench) -> Verdict {
    let (one, _) = bench.stores()?;
    one.create(new_session(1)).await?;
    for body in ["1", "2", "3"] {
        one.post(&session(1), "prompt", body, Timestamp(1)).await?;
    }
    let lease = one.lease(&session(1)).await?;
    one.append(&lease, batch(1, 0, vec![note("1")]).consuming(letters([2]))).await?;
    drop((lease, one));
    let (one, two) = bench.reopen().await?;
    let bodies: Vec<String> = one.inbox(&session(1)).await?.into_iter().map(|letter| letter.body).collect();
    same!("the inbox", bodies, ["1", "3"]);
    same!("a letter", one.letter(&session(1), InboxId(2)).await?, LetterState::Consumed { seq: 2 });
    let lease = bench.soon(&two, &session(1)).await?;
    let twice = two.append(&lease, batch(2, 0, Vec::new()).consuming(letters([2]))).await;
    refused!("a letter again", twice, StoreError::NoSuchLetter { .. });
    two.append(&lease, batch(2, 0, Vec::new()).consuming(letters([1, 3]))).await?;
    same!("the name of the next", one.post(&session(1), "prompt", "4", Timestamp(1)).await?, InboxId(4));
    Ok(())
}

async fn activity_counts_records_letters_and_what_was_consumed(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let id = session(1);
    // Tokens are the store's own business, but for their order.
    let counted = |now: Activity| Activity::new(now.records, now.posted, now.consumed);
    let now = async || two.changed(&id, Activity::default()).await.map(counted);
    same!("a new session", now().await?, Activity::new(1, 0, 0));
    let lease = one.lease(&session(1)).await?;
    one.append(&lease, batch(1, 0, vec![node(1, 0, "x"), note("1")])).await?;
    same!("after two records", now().await?, Activity::new(3, 0, 0));
    for _ in 0..3 {
        two.post(&session(1), "prompt", "1", Timestamp(1)).await?;
    }
    same!("after three letters", now().await?, Activity::new(3, 3, 0));
    one.append(&lease, batch(3, 1, Vec::new()).consuming(letters([1, 3]))).await?;
    same!("after two of them", now().await?, Activity::new(3, 3, 2));
    let refused = one.append(&lease, batch(3, 1, Vec::new()).consuming(letters([1]))).await;
    ensure!(refused.is_err(), "a letter was consumed twice");
    same!("after a refusal", now().await?, Activity::new(3, 3, 2));
    drop((one, two, lease));
    let (one, _) = bench.reopen().await?;
    let again = one.changed(&session(1), Activity::default()).await?;
    same!("after opening again", counted(again), Activity::new(3, 3, 2));
    Ok(())
}

/// Runs `act` while `store` waits, which must end neither before nor never.
async fn woken(
    store: &Store,
    seen: Activity,
    patience: Duration,
    act: impl Future<Output = Verdict>,
) -> Result<Activity, Broken> {
    let id = session(1);
    let waiting = within(patience, store.changed(&id, seen));
    let mut waiting = std::pin::pin!(waiting);
    // A few chances to end too early, also for what listens from elsewhere.
    for _ in 0..3 {
        if poll_once(waiting.as_mut()).await.is_some() {
            fail!("waiting ended though nothing had happened");
        }
        pause(Duration::from_millis(2)).await;
    }
    act.await?;
    match waiting.await {
        Some(now) => Ok(now?),
        None => fail!("who waited was not told within {patience:?}"),
    }
}

async fn who_waits_is_woken_through_any_handle(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    one.create(new_session(2)).await?;
    let patience = bench.patience / 2;
    let lease = one.lease(&session(1)).await?;
    let (mut seq, mut letter) = (1, 0);
    for store in [&one, &two] {
        let seen = store.changed(&session(1), Activity::default()).await?;
        let seen = woken(store, seen, patience, async {
            one.append(&lease, batch(seq, 0, vec![note("1")])).await?;
            Ok(())
        });
        let seen = seen.await?;
        seq += 1;
        same!("after a record", (seen.records, seen.posted), (seq, letter));
        let seen = woken(store, seen, patience, async {
            two.post(&session(1), "prompt", "1", Timestamp(1)).await?;
            Ok(())
        });
        let seen = seen.await?;
        letter += 1;
        same!("after a letter", (seen.records, seen.posted), (seq, letter));
        let seen = woken(store, seen, patience, async {
            one.append(&lease, batch(seq, 0, Vec::new()).consuming(letters([letter]))).await?;
            Ok(())
        });
        same!("after its batch", seen.await?.consumed, letter);
    }
    // What happens elsewhere ends nothing.
    let seen = two.changed(&session(1), Activity::default()).await?;
    one.post(&session(2), "prompt", "1", Timestamp(1)).await?;
    one.amend(&session(1), Amend::title("x")).await?;
    let early = within(Duration::from_millis(20), two.changed(&session(1), seen)).await;
    ensure!(early.is_none(), "waiting ended though nothing had happened in that session: {early:?}");
    Ok(())
}

async fn who_waits_is_told_of_a_take_over(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let mut lease = one.lease(&session(1)).await?;
    for (waits, takes) in [(&one, &two), (&two, &one), (&one, &one)] {
        let seen = waits.changed(&session(1), Activity::default()).await?;
        same!("the token", seen.token, lease.token());
        let mut taken = None;
        let woken = woken(waits, seen, bench.patience / 2, async {
            taken = Some(takes.claim(&session(1), Claim::TakeOver).await?);
            Ok(())
        });
        let told = woken.await?.token;
        lease = taken.ok_or_else(|| Broken("nobody took it over".to_owned()))?;
        same!("the token after it", told, lease.token());
    }
    // Also when nobody holds it any more.
    let last = lease.token();
    drop(lease);
    same!("the token at the end", two.changed(&session(1), Activity::default()).await?.token, last);
    Ok(())
}

async fn a_sender_waits_until_its_letter_has_taken_effect(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let first = two.post(&session(1), "prompt", "1", Timestamp(1)).await?;
    let second = two.post(&session(1), "prompt", "2", Timestamp(1)).await?;
    let id = session(1);
    let waiting = within(bench.patience / 2, consumed(&*two, &id, second));
    let mut waiting = std::pin::pin!(waiting);
    ensure!(poll_once(waiting.as_mut()).await.is_none(), "the wait for a letter ended before its effect");
    one.append(&lease, batch(1, 0, vec![note("1")]).consuming([first])).await?;
    ensure!(poll_once(waiting.as_mut()).await.is_none(), "another letter's effect ended the wait");
    one.append(&lease, batch(2, 0, vec![note("1"), note("2")]).consuming([second])).await?;
    match waiting.await {
        Some(seq) => same!("the record after its effect", seq?, 4),
        None => fail!("the sender was never told"),
    }
    same!("an effect that is past", consumed(&*one, &id, first).await?, 2);
    let missing = consumed(&*one, &id, InboxId(9)).await;
    refused!("a letter that was never posted", missing, StoreError::NoSuchLetter { .. });
    Ok(())
}

async fn nobody_waits_for_a_session_that_is_gone(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for store in [&one, &two] {
        one.create(new_session(1)).await?;
        let seen = store.changed(&session(1), Activity::default()).await?;
        let gone = woken(store, seen, bench.patience / 2, async {
            two.delete(&session(1)).await?;
            Ok(())
        });
        match gone.await {
            Err(Broken(words)) if words.contains("there is no session") => {}
            other => fail!("expected the wait to end as the session does, found {other:?}"),
        }
    }
    Ok(())
}

async fn a_follower_sees_each_record_once_and_in_order(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let mut followers = [
        (Follower::new(Arc::clone(&one), session(1), 0), 0),
        (Follower::new(Arc::clone(&two), session(1), 0), 0),
        (Follower::new(Arc::clone(&two), session(1), 3), 3),
    ];
    for number in 1..=6_u32 {
        let many = if number == 4 { 2_000 } else { 2 };
        let records = (0..many).map(|_| note(&number.to_string())).collect();
        let made = next(&*one, &session(1), records).await?;
        let end = one.append(&lease, made).await?.seq;
        for (follower, seen) in &mut followers {
            while *seen < end {
                let Some(records) = within(bench.patience / 2, follower.next()).await else {
                    fail!("a follower is at {seen} of {end} and sees nothing more");
                };
                for (seq, record) in records? {
                    same!("the number of the next record", seq, *seen + 1);
                    let fits =
                        seq == 1 || matches!(&record, crate::Record::Note(note) if note.body.len() == 1);
                    ensure!(fits, "record {seq} is {record:?}");
                    *seen = seq;
                }
            }
        }
    }
    Ok(())
}

async fn a_follower_that_was_dropped_while_waiting_misses_nothing(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let lease = one.lease(&session(1)).await?;
    let mut follower = Follower::new(Arc::clone(&two), session(1), 1);
    for seq in 1..=20 {
        let early = poll_once(follower.next()).await;
        ensure!(early.is_none(), "a follower saw {early:?} before it was there");
        one.append(&lease, batch(seq, 0, vec![note(&seq.to_string())])).await?;
        let Some(seen) = within(bench.patience / 2, follower.next()).await else {
            fail!("the follower never saw record {}", seq + 1);
        };
        same!("what it saw", seen?, [(seq + 1, note(&seq.to_string()))]);
    }
    Ok(())
}

/// A session with some notes.
async fn written(store: &Store, notes: &[&str], patience: Duration) -> Result<(), Broken> {
    store.create(new_session(1)).await?;
    let lease = super::soon(&**store, &session(1), patience).await?;
    let notes = notes.iter().map(|body| note(body)).collect();
    store.append(&lease, batch(1, 0, notes)).await?;
    Ok(())
}

async fn a_follower_of_a_log_that_was_replaced_says_so(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for others in
        [&["0"] as &[&str], &["0", "1", "9"], &["0", "9", "2"], &["9", "1", "2", "3"], &["0", "1", "2", "3"]]
    {
        written(&one, &["0", "1", "2"], bench.patience).await?;
        let mut followers = [
            Follower::new(Arc::clone(&one), session(1), 0),
            Follower::new(Arc::clone(&two), session(1), 2),
            Follower::new(Arc::clone(&two), session(1), 3),
        ];
        for follower in &mut followers {
            let seen = within(bench.patience, follower.next()).await;
            let last = seen.transpose()?.and_then(|seen| seen.last().map(|one| one.0));
            same!("the last record that it sees", last, Some(4));
        }
        while let Err(StoreError::Locked { .. }) = one.delete(&session(1)).await {
            drop(bench.soon(&one, &session(1)).await?);
        }
        written(&one, others, bench.patience).await?;
        // The same records again are the same log.
        let same = others.starts_with(&["0", "1", "2"]);
        for mut follower in followers {
            if others.len() == 3 {
                let lease = bench.soon(&one, &session(1)).await?;
                let more = next(&*one, &session(1), vec![note("4")]).await?;
                one.append(&lease, more).await?;
            }
            match (same, within(bench.patience, follower.next()).await) {
                (true, Some(Ok(found))) => same!("what it sees", found.first().map(|one| one.0), Some(5)),
                (false, Some(Err(StoreError::Replaced { session: named, seq: 4 }))) => {
                    same!("the session", named, session(1));
                }
                (_, other) => fail!("{others:?} in the place of [0, 1, 2]: found {other:?}"),
            }
        }
        while let Err(StoreError::Locked { .. }) = one.delete(&session(1)).await {
            drop(bench.soon(&one, &session(1)).await?);
        }
    }
    Ok(())
}
