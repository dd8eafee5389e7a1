//! What is kept beside a log, and is believed only beside that one.

use std::time::Duration;

use super::super::made::*;
use super::super::verdict::{Broken, Verdict};
use super::super::waiting::within;
use super::{Bench, Store, checks};
use crate::{
    Activity, Claim, Digest, Durability, Lease, MemoryStore, SessionId, SessionStore, Snapshot, StoreError,
};

checks! {
    Snapshots a_snapshot_is_given_back_as_it_was_kept
    Snapshots a_snapshot_is_that_of_its_log
    Snapshots a_snapshot_goes_with_its_session
    Snapshots who_was_taken_over_keeps_no_snapshot
    Snapshots a_snapshot_changes_nothing_else
    Snapshots a_snapshot_of_what_stands_in_line_is_kept
}

/// Makes the `number`th session with ten records, and returns the lease.
async fn ten_records(store: &Store, number: u64) -> Result<Lease, Broken> {
    store.create(new_session(number)).await?;
    let lease = store.lease(&session(number)).await?;
    let notes = (2..=10).map(|seq| note(&seq.to_string())).collect();
    store.append(&lease, batch(1, 0, notes)).await?;
    Ok(lease)
}

/// Returns a snapshot of the first `seq` records.
async fn of_first(
    store: &dyn SessionStore,
    session: &SessionId,
    seq: u64,
    bytes: &[u8],
) -> Result<Snapshot, Broken> {
    match all(store, session).await?.into_iter().find(|kept| kept.seq == seq) {
        Some(kept) => Ok(Snapshot::new(seq, kept.digest, 1, bytes.to_vec())),
        None => fail!("there is no record {seq}"),
    }
}

async fn a_snapshot_is_given_back_as_it_was_kept(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let lease = ten_records(&one, 1).await?;
    let other = ten_records(&two, 2).await?;
    for store in [&one, &two] {
        same!("a snapshot that was never kept", store.snapshot(&session(1)).await?, None);
    }
    let every_byte: Vec<u8> = (0..=u8::MAX).collect();
    let contents: [&[u8]; 5] = [b"spine", b"", &[0], &every_byte, &[7; 100_000]];
    // Each in the place of the one before, whether that was larger, or went further.
    for (seq, form, bytes) in
        [(10, 1, contents[0]), (1, 0, contents[1]), (10, u32::MAX, contents[4]), (9, 7, contents[2])]
            .into_iter()
            .chain(contents.map(|bytes| (5, 3, bytes)))
    {
        let mut snapshot = of_first(&*two, &session(1), seq, bytes).await?;
        snapshot.form = form;
        one.keep_snapshot(&lease, snapshot.clone()).await?;
        for store in [&one, &two] {
            match store.snapshot(&session(1)).await? {
                Some(found) if found == snapshot => {}
                found => fail!("kept {snapshot:?}, found {found:?}"),
            }
        }
        same!("that of another session", two.snapshot(&session(2)).await?, None);
    }
    let last = one.snapshot(&session(1)).await?;
    let second = of_first(&*one, &session(2), 4, b"second").await?;
    two.keep_snapshot(&other, second.clone()).await?;
    // The log may go on.
    one.append(&lease, batch(10, 0, vec![note("11")])).await?;
    drop((lease, other, one, two));
    let (one, two) = bench.reopen().await?;
    same!("after opening again", one.snapshot(&session(1)).await?, last);
    same!("that of another session", two.snapshot(&session(2)).await?, Some(second));
    Ok(())
}

async fn a_snapshot_is_that_of_its_log(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let lease = ten_records(&one, 1).await?;
    let _other = ten_records(&one, 2).await?;
    let kept = of_first(&*one, &session(1), 5, b"kept").await?;
    one.keep_snapshot(&lease, kept.clone()).await?;
    let genesis = Snapshot::new(0, Digest::genesis(&session(1)), 1, Vec::new());
    let digest = kept.digest;
    for wrong in [
        genesis,
        Snapshot::new(11, digest, 1, Vec::new()),
        Snapshot::new(u64::MAX, digest, 1, Vec::new()),
        Snapshot::new(1 << 63, digest, 1, Vec::new()),
        Snapshot::new(4, digest, 1, Vec::new()),
        Snapshot::new(5, Digest::of(b"x"), 1, Vec::new()),
        of_first(&*one, &session(2), 5, b"").await?,
    ] {
        let seq = wrong.seq;
        let result = one.keep_snapshot(&lease, wrong).await;
        refused!("a snapshot of another log", result, StoreError::Replaced { seq: named, .. } if named == seq);
        same!("the one before", two.snapshot(&session(1)).await?, Some(kept.clone()));
    }
    Ok(())
}

async fn a_snapshot_goes_with_its_session(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let unknown = one.snapshot(&session(1)).await;
    refused!("that of no session", unknown, StoreError::UnknownSession { session: named } if named == session(1));
    let lease = ten_records(&one, 1).await?;
    let same_log = exported(&*one, &session(1)).await?;
    drop(lease);
    let shorter = MemoryStore::new();
    shorter.create(new_session(1)).await?;
    let held = shorter.lease(&session(1)).await?;
    shorter.append(&held, batch(1, 0, vec![note("1"); 9])).await?;
    let other_log = exported(&shorter, &session(1)).await?;
    // An import begins without one, whatever log it brings.
    for (idle, log) in [(true, &other_log), (false, &same_log), (true, &same_log), (false, &other_log)] {
        let lease = bench.soon(&one, &session(1)).await?;
        one.keep_snapshot(&lease, of_first(&*one, &session(1), 10, b"kept").await?).await?;
        ensure!(two.snapshot(&session(1)).await?.is_some(), "it was not kept");
        drop(lease);
        // As long as it takes to free a lease that is dropped.
        drop(bench.soon(&two, &session(1)).await?);
        let seen = two.info(&session(1)).await?;
        loop {
            let deleted = if idle { two.delete_idle(&seen).await } else { two.delete(&session(1)).await };
            match deleted {
                Err(StoreError::Locked { .. }) => drop(bench.soon(&two, &session(1)).await?),
                deleted => break deleted?,
            }
        }
        refused!("that of no session", one.snapshot(&session(1)).await, StoreError::UnknownSession { .. });
        crate::import(&*two, log.as_slice()).await?;
        for store in [&one, &two] {
            same!("that of a session that was imported", store.snapshot(&session(1)).await?, None);
        }
    }
    one.collect(false).await?;
    same!("what was collected", one.snapshot(&session(1)).await?, None);
    Ok(())
}

async fn who_was_taken_over_keeps_no_snapshot(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let old = ten_records(&one, 1).await?;
    let kept = of_first(&*one, &session(1), 5, b"kept").await?;
    one.keep_snapshot(&old, kept.clone()).await?;
    let late = of_first(&*one, &session(1), 10, b"late").await?;
    let new = two.claim(&session(1), Claim::TakeOver).await?;
    let result = one.keep_snapshot(&old, late.clone()).await;
    let token = old.token();
    refused!("a late one", result, StoreError::Fenced { token: named, .. } if named == token);
    same!("the one before", one.snapshot(&session(1)).await?, Some(kept));
    two.keep_snapshot(&new, late.clone()).await?;
    same!("that of the new writer", one.snapshot(&session(1)).await?, Some(late.clone()));
    drop(new);
    refused!("a last one", one.keep_snapshot(&old, late.clone()).await, StoreError::Fenced { .. });

    let memory = MemoryStore::new();
    memory.create(new_session(1)).await?;
    let foreign = memory.lease(&session(1)).await?;
    let result = one.keep_snapshot(&foreign, late.clone()).await;
    refused!("one under a foreign lease", result, StoreError::ForeignLease { session: named } if named == session(1));

    while let Err(StoreError::Locked { .. }) = two.delete(&session(1)).await {
        drop(bench.soon(&two, &session(1)).await?);
    }
    let gone = one.keep_snapshot(&old, late).await;
    refused!("one of a session that is gone", gone, StoreError::UnknownSession { .. });
    Ok(())
}

async fn a_snapshot_changes_nothing_else(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let lease = ten_records(&one, 1).await?;
    one.post(&session(1), "prompt", "1", trunkline_message_tree::Timestamp(1)).await?;
    let before = (state(&*two, &session(1)).await?, exported(&*two, &session(1)).await?);
    let listed = two.sessions().await?;
    let seen = two.changed(&session(1), Activity::default()).await?;
    for seq in [3, 10] {
        one.keep_snapshot(&lease, of_first(&*one, &session(1), seq, &[9; 10_000]).await?).await?;
    }
    let after = (state(&*two, &session(1)).await?, exported(&*two, &session(1)).await?);
    same!("the session afterwards", after, before);
    same!("the list afterwards", two.sessions().await?, listed);
    same!("the activity", two.changed(&session(1), Activity::default()).await?, seen);
    let early = within(Duration::from_millis(20), two.changed(&session(1), seen)).await;
    ensure!(early.is_none(), "waiting ended with a snapshot: {early:?}");
    let holder = two.holder(&session(1)).await?;
    same!("the token of the holder", holder.map(|holder| holder.token), Some(lease.token()));
    one.append(&lease, batch(10, 0, vec![note("11")])).await?;
    Ok(())
}

async fn a_snapshot_of_what_stands_in_line_is_kept(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let lease = ten_records(&one, 1).await?;
    for seq in 10..40 {
        let made = batch(seq, 0, vec![note("1")]).with(Durability::Buffered);
        let receipt = one.append(&lease, made).await?;
        let snapshot = Snapshot::new(receipt.seq, receipt.digest, 1, b"line".to_vec());
        one.keep_snapshot(&lease, snapshot.clone()).await?;
        same!("the snapshot", two.snapshot(&session(1)).await?, Some(snapshot));
    }
    Ok(())
}
