//! One writer for each session, and none after it was taken over.

use super::super::made::*;
use super::super::verdict::{Verdict, words};
use super::{Bench, checks};
use crate::{Batch, Claim, Durability, Lease, MemoryStore, SessionStore, StoreError};

checks! {
    OneWriter a_session_has_one_writer_until_the_lease_is_dropped
    OneWriter each_session_has_a_lease_of_its_own
    OneWriter a_lease_ends_with_the_store_that_gave_it
    Fenced who_was_taken_over_can_write_nothing_more
    Fenced what_is_in_line_under_a_lease_that_was_taken_over_is_not_written
    Fenced a_lease_that_was_taken_over_frees_nothing_when_it_is_dropped
    Fenced each_lease_has_a_greater_token_than_all_before_it
    Fenced a_lease_does_not_outlive_its_session
    Fenced a_lease_of_another_store_is_refused
}

async fn a_session_has_one_writer_until_the_lease_is_dropped(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    same!("the holder before", two.holder(&session(1)).await?, None);
    let lease = one.lease(&session(1)).await?;
    same!("the session of the lease", lease.session(), &session(1));
    for store in [&one, &two] {
        let holder = store.holder(&session(1)).await?;
        same!("the token of the holder", holder.map(|holder| holder.token), Some(lease.token()));
        let second = store.lease(&session(1)).await;
        refused!("a second lease", second, StoreError::Locked { session: named, .. } if named == session(1));
    }
    // Neither the refusals nor readers and senders of letters have done it harm.
    two.load(&session(1)).await?;
    two.post(&session(1), "prompt", "1", trunkline_message_tree::Timestamp(1)).await?;
    one.append(&lease, batch(1, 0, vec![node(1, 0, "x")])).await?;
    drop(lease);
    let lease = bench.soon(&two, &session(1)).await?;
    two.append(&lease, batch(2, 1, vec![node(2, 1, "y")])).await?;
    refused!("the first store's second lease", one.lease(&session(1)).await, StoreError::Locked { .. });
    drop(lease);
    drop(bench.soon(&one, &session(1)).await?);
    Ok(())
}

async fn each_session_has_a_lease_of_its_own(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    let mut leases: Vec<Lease> = Vec::new();
    for number in 1..=40 {
        one.create(new_session(number)).await?;
        let store = if number % 2 == 0 { &one } else { &two };
        leases.push(store.lease(&session(number)).await?);
    }
    for (number, lease) in (1..).zip(&leases) {
        let store = if number % 2 == 0 { &one } else { &two };
        store.append(lease, batch(1, 0, vec![node(1, 0, "x")])).await?;
        let second = one.lease(&session(number)).await;
        refused!("a second lease", second, StoreError::Locked { .. });
    }
    Ok(())
}

async fn a_lease_ends_with_the_store_that_gave_it(bench: &mut Bench) -> Verdict {
    let (one, _) = bench.stores()?;
    one.create(new_session(1)).await?;
    drop(one.lease(&session(1)).await?);
    drop(one);
    let (one, two) = bench.reopen().await?;
    let lease = bench.soon(&two, &session(1)).await?;
    two.append(&lease, batch(1, 0, vec![node(1, 0, "x")])).await?;
    refused!("a second lease", one.lease(&session(1)).await, StoreError::Locked { .. });
    Ok(())
}

async fn who_was_taken_over_can_write_nothing_more(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    for (old_store, new_store) in [(&one, &two), (&two, &one), (&one, &one)] {
        let old = bench.soon(old_store, &session(1)).await?;
        let letter = two.post(&session(1), "prompt", "1", trunkline_message_tree::Timestamp(1)).await?;
        let new = new_store.claim(&session(1), Claim::TakeOver).await?;
        ensure!(new.token() > old.token(), "token {} follows {}", new.token(), old.token());
        let before = state(&*two, &session(1)).await?;
        for level in [Durability::Flushed, Durability::Committed, Durability::Buffered] {
            for records in [Vec::new(), vec![note("1")]] {
                let made = next(&**old_store, &session(1), records).await?.with(level).consuming([letter]);
                let result = old_store.append(&old, made).await;
                let token = old.token();
                refused!("an append", result, StoreError::Fenced { token: named, .. } if named == token);
            }
        }
        same!("the session afterwards", state(&*two, &session(1)).await?, before);
        let made = next(&**new_store, &session(1), vec![note("1")]).await?.consuming([letter]);
        new_store.append(&new, made).await?;
        let made = next(&**old_store, &session(1), vec![note("1")]).await?;
        refused!("a later append", old_store.append(&old, made).await, StoreError::Fenced { .. });
        drop(new);
        // Nobody holds it now, and yet the old lease is no more than it was.
        drop(bench.soon(new_store, &session(1)).await?);
        let made = next(&**old_store, &session(1), vec![note("1")]).await?;
        refused!("a last append", old_store.append(&old, made).await, StoreError::Fenced { .. });
    }
    Ok(())
}

async fn what_is_in_line_under_a_lease_that_was_taken_over_is_not_written(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    for number in 1..=3_u32 {
        let id = session(u64::from(number));
        one.create(new_session(u64::from(number))).await?;
        let old = one.lease(&id).await?;
        let known = one.append(&old, batch(1, 0, vec![node(1, 0, "before")])).await?;
        let new = two.claim(&id, Claim::TakeOver).await?;
        // It may be told at once, or stand in line until somebody looks whose turn it is.
        let mut at = batch(known.seq, 1, Vec::new());
        for _ in 0..number {
            let records = vec![note("\"too late\"")];
            let late = Batch { records, ..at.clone() }.with(Durability::Buffered);
            match one.append(&old, late).await {
                Ok(receipt) => at.expected_seq = receipt.seq,
                Err(StoreError::Fenced { .. } | StoreError::BufferLost { .. }) => {}
                Err(error) => fail!("a buffered append: {}", words(&error)),
            }
        }
        let told = one.append(&old, at.clone()).await;
        refused!("the append after it", told, StoreError::Fenced { .. } | StoreError::BufferLost { .. });
        refused!("the one after that", one.append(&old, at).await, StoreError::Fenced { .. });
        let receipt = two.append(&new, batch(known.seq, 1, vec![note("\"mine\"")])).await?;
        same!("the number of the next record", receipt.seq, known.seq + 1);
        for store in [&one, &two] {
            same!("how many records there are", store.verify(&id).await?.records, receipt.seq);
        }
    }
    Ok(())
}

async fn a_lease_that_was_taken_over_frees_nothing_when_it_is_dropped(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    // Another one each time: what was dropped a moment ago may still be held, so that it cannot be deleted yet.
    for (old_store, new_store, other) in [(&one, &two, 2), (&one, &one, 3)] {
        let old = bench.soon(old_store, &session(1)).await?;
        let new = new_store.claim(&session(1), Claim::TakeOver).await?;
        drop(old);
        // As long as it takes to free a lease that is dropped: another one is.
        one.create(new_session(other)).await?;
        drop(old_store.lease(&session(other)).await?);
        drop(bench.soon(new_store, &session(other)).await?);
        refused!("a second lease", one.lease(&session(1)).await, StoreError::Locked { .. });
        let made = next(&**new_store, &session(1), vec![note("1")]).await?;
        new_store.append(&new, made).await?;
    }
    Ok(())
}

async fn each_lease_has_a_greater_token_than_all_before_it(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let mut last = 0;
    let mut check = |lease: &Lease| {
        ensure!(lease.token() > last, "token {} follows {last}", lease.token());
        last = lease.token();
        Ok(())
    };
    for store in [&one, &two, &one, &two] {
        check(&bench.soon(store, &session(1)).await?)?;
        check(&store.claim(&session(1), Claim::TakeOver).await?)?;
    }
    drop((one, two));
    let (one, _) = bench.reopen().await?;
    check(&bench.soon(&one, &session(1)).await?)
}

async fn a_lease_does_not_outlive_its_session(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let old = one.lease(&session(1)).await?;
    drop(two.claim(&session(1), Claim::TakeOver).await?);
    drop(bench.soon(&two, &session(1)).await?);
    while let Err(StoreError::Locked { .. }) = two.delete(&session(1)).await {
        drop(bench.soon(&two, &session(1)).await?);
    }
    let gone = one.append(&old, batch(1, 0, vec![note("1")])).await;
    refused!("an append", gone, StoreError::UnknownSession { .. });
    // The session of that name is another one now, and its leases may have the tokens of the first.
    two.create(new_session(1)).await?;
    let _new = two.lease(&session(1)).await?;
    for _ in 0..4 {
        let result = one.append(&old, batch(1, 0, vec![note("1")])).await;
        refused!("an append", result, StoreError::Fenced { .. } | StoreError::UnknownSession { .. });
        drop(two.claim(&session(1), Claim::TakeOver).await?);
    }
    Ok(())
}

async fn a_lease_of_another_store_is_refused(bench: &mut Bench) -> Verdict {
    let (one, two) = bench.stores()?;
    one.create(new_session(1)).await?;
    let other = MemoryStore::new();
    other.create(new_session(1)).await?;
    let lease = other.lease(&session(1)).await?;
    let result = one.append(&lease, batch(1, 0, vec![note("1")])).await;
    refused!("an append", result, StoreError::ForeignLease { session: named } if named == session(1));
    // Also while it gave one itself.
    let _ours = one.lease(&session(1)).await?;
    let result = one.append(&lease, batch(1, 0, vec![note("1")])).await;
    refused!("an append", result, StoreError::ForeignLease { .. });
    same!("how many records there are", two.info(&session(1)).await?.records, 1);
    Ok(())
}
