//! How a writer waits for what others do with its session.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use trunkline_message_tree::Timestamp;
use trunkline_session_store::{
    Activity, Arrived, Claim, Lease, Letter, MemoryStore, SessionStore, StoreError, arrived,
};

use crate::material::{batch, new_session, note, session};

/// Returns what is there without waiting.
fn now<T>(what: impl Future<Output = T>) -> Option<T> {
    match pin!(what).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn held() -> (MemoryStore, Lease) {
    let store = MemoryStore::new();
    now(store.create(new_session(1))).unwrap().unwrap();
    let lease = now(store.lease(&session(1))).unwrap().unwrap();
    (store, lease)
}

fn post(store: &MemoryStore, kind: &str) {
    now(store.post(&session(1), kind, "{}", Timestamp(1))).unwrap().unwrap();
}

fn look(
    store: &MemoryStore,
    lease: &Lease,
    seen: &mut Activity,
    wanted: impl Fn(&[Letter]) -> bool,
) -> Option<Result<Arrived, StoreError>> {
    now(arrived(store, &session(1), lease.token(), seen, wanted))
}

fn kinds(found: Option<Result<Arrived, StoreError>>) -> Vec<String> {
    match found {
        Some(Ok(Arrived::Letters(letters))) => letters.into_iter().map(|letter| letter.kind).collect(),
        other => panic!("no letters: {other:?}"),
    }
}

#[test]
fn it_waits_until_what_waits_is_as_wanted() {
    let (store, lease) = held();
    let mut seen = Activity::default();
    let cancels = |inbox: &[Letter]| inbox.iter().any(|letter| letter.kind == "cancel");
    assert!(look(&store, &lease, &mut seen, cancels).is_none());
    post(&store, "prompt");
    assert!(look(&store, &lease, &mut seen, cancels).is_none());
    post(&store, "cancel");
    assert_eq!(kinds(look(&store, &lease, &mut seen, cancels)), ["prompt", "cancel"]);
    // It was not waited past, so it is found again until it is consumed.
    assert_eq!(kinds(look(&store, &lease, &mut seen, cancels)), ["prompt", "cancel"]);
}

#[test]
fn a_look_without_news_since_what_was_seen_reads_no_inbox() {
    let (store, lease) = held();
    post(&store, "prompt");
    let (mut seen, _) = now(store.look(&session(1))).unwrap().unwrap();
    assert!(look(&store, &lease, &mut seen, |_| panic!("nobody looks")).is_none());
    // A write of the writer's own is news as well.
    now(store.append(&lease, batch(1, 0, vec![note("1")]))).unwrap().unwrap();
    assert_eq!(kinds(look(&store, &lease, &mut seen, |_| true)), ["prompt"]);
}

#[test]
fn a_takeover_is_heard_of_whatever_was_wanted_and_also_when_it_is_over() {
    let (store, lease) = held();
    let mut seen = Activity::default();
    assert!(look(&store, &lease, &mut seen, |_| false).is_none());
    let other = now(store.claim(&session(1), Claim::TakeOver)).unwrap().unwrap();
    let found = look(&store, &lease, &mut seen, |_| false).unwrap().unwrap();
    assert!(matches!(found, Arrived::TakenOver(Some(holder)) if holder.token == other.token()));
    drop(other);
    let found = look(&store, &lease, &mut seen, |_| false).unwrap().unwrap();
    assert_eq!(found, Arrived::TakenOver(None));
}

#[test]
fn a_session_that_is_gone_is_an_error_and_what_was_seen_stays() {
    let (store, lease) = held();
    let mut seen = Activity::default();
    assert!(look(&store, &lease, &mut seen, |_| false).is_none());
    let before = seen;
    let token = lease.token();
    drop(lease);
    now(store.delete(&session(1))).unwrap().unwrap();
    let found = now(arrived(&store, &session(1), token, &mut seen, |_| true)).unwrap();
    assert!(matches!(found, Err(StoreError::UnknownSession { .. })), "{found:?}");
    assert_eq!(seen, before);
}
