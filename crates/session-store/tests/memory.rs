//! What the memory store does where threads meet, and whoever follows a log in it.

use std::pin::pin;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::thread;

use trunkline_session_store::{Follower, MemoryStore, Record, SessionStore, StoreError};

use crate::material::{batch, new_session, note, session};

/// Returns what is there without waiting.
fn now<T>(what: impl Future<Output = T>) -> Option<T> {
    match pin!(what).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn written(store: &MemoryStore, notes: &[&str]) {
    now(store.create(new_session(1))).unwrap().unwrap();
    let lease = now(store.lease(&session(1))).unwrap().unwrap();
    let notes = notes.iter().map(|body| note(body)).collect();
    now(store.append(&lease, batch(1, 0, notes))).unwrap().unwrap();
}

fn follower(store: &MemoryStore, after: u64) -> Follower {
    Follower::new(Arc::new(store.clone()), session(1), after)
}

fn numbers(found: Option<Result<Vec<(u64, Record)>, StoreError>>) -> Vec<u64> {
    found.unwrap().unwrap().into_iter().map(|(seq, _)| seq).collect()
}

#[test]
fn who_leases_while_somebody_deletes_has_a_session_or_is_told() {
    for _ in 0..3_000 {
        let store = MemoryStore::new();
        written(&store, &[]);
        let start = Barrier::new(2);
        let (lease, deleted) = thread::scope(|scope| {
            let lease = scope.spawn(|| {
                start.wait();
                now(store.lease(&session(1))).unwrap()
            });
            start.wait();
            let deleted = now(store.delete(&session(1))).unwrap();
            (lease.join().unwrap(), deleted)
        });
        assert!(lease.is_ok() != deleted.is_ok(), "{lease:?} and {deleted:?}");
    }
}

#[test]
fn a_follower_that_waits_at_the_end_notices_that_the_log_was_replaced() {
    for (others, replaced) in [
        (&["1"] as &[&str], true),
        (&["1", "2", "9", "4"], true),
        (&["9", "2", "3", "4"], true),
        (&["1", "2", "3", "4"], false),
    ] {
        let store = MemoryStore::new();
        written(&store, &["1", "2", "3"]);
        let mut follower = follower(&store, 4);
        assert!(now(follower.next()).is_none());
        now(store.delete(&session(1))).unwrap().unwrap();
        written(&store, others);
        let found = now(follower.next());
        match replaced {
            true => assert!(matches!(found, Some(Err(StoreError::Replaced { seq: 4, .. }))), "{found:?}"),
            false => assert_eq!(numbers(found), [5]),
        }
    }
}

#[test]
fn a_follower_may_begin_behind_the_end() {
    let store = MemoryStore::new();
    written(&store, &["1"]);
    let mut follower = follower(&store, 3);
    assert!(now(follower.next()).is_none());
    let lease = now(store.lease(&session(1))).unwrap().unwrap();
    now(store.append(&lease, batch(2, 0, vec![note("2")]))).unwrap().unwrap();
    assert!(now(follower.next()).is_none());
    now(store.append(&lease, batch(3, 0, vec![note("3"), note("4")]))).unwrap().unwrap();
    assert_eq!(numbers(now(follower.next())), [4, 5]);
}
