//! Answers that get lost on their way, and those that come late.

use std::sync::Arc;
use std::time::Duration;

use trunkline_session_store::{
    Amend, Batch, Claim, Durability, Lease, PostgresOptions, PostgresStore, Receipt, SessionStore, StoreError,
};

use super::made::{batch, bodies, new_session, note, session};
use super::wire::Wire;
use super::{Schema, server};

/// A store behind a wire, with one session that it holds.
struct Behind {
    // In this order: the lease needs the store, and the store the wire.
    lease: Arc<Lease>,
    store: PostgresStore,
    wire: Wire,
    schema: Schema,
}

impl Behind {
    async fn new(patience: Duration) -> Option<Self> {
        let url = server()?;
        let schema = Schema::new(&url);
        let wire = Wire::to(&url);
        let options = PostgresOptions::new(&wire.url).schema(&schema.name).patience(patience);
        let store = PostgresStore::open(options).await.unwrap();
        store.create(new_session(1)).await.unwrap();
        let lease = Arc::new(store.lease(&session(1)).await.unwrap());
        Some(Behind { lease, store, wire, schema })
    }

    async fn append(&self, batch: Batch) -> Result<Receipt, StoreError> {
        self.store.append(&self.lease, batch).await
    }

    /// Appends in a task of its own.
    fn begin(&self, batch: Batch) -> tokio::task::JoinHandle<Result<Receipt, StoreError>> {
        let (store, lease) = (self.store.clone(), Arc::clone(&self.lease));
        tokio::spawn(async move { store.append(&lease, batch).await })
    }
}

/// The id of a session as it goes over the wire.
fn bytes_of(number: u32) -> [u8; 16] {
    let digits: String = session(number).as_str().chars().filter(|letter| *letter != '-').collect();
    u128::from_str_radix(&digits, 16).expect("it is a UUID").to_be_bytes()
}

const PATIENT: Duration = Duration::from_secs(30);
const HASTY: Duration = Duration::from_secs(1);

fn one(seq: u64, body: &str) -> Batch {
    batch(seq, vec![note(body)])
}

#[tokio::test]
async fn batches_that_were_sent_together_are_all_found_to_be_kept_if_their_answer_is_lost() {
    let Some(behind) = Behind::new(PATIENT).await else { return };
    // While this one is written, others stand in line.
    let hold = behind.wire.hold("\"first\"");
    let first = behind.begin(one(1, "\"first\""));
    hold.reached().await;
    behind.wire.lose("\"third\"");
    let (second, third, ()) =
        tokio::join!(behind.append(one(2, "\"second\"")), behind.append(one(3, "\"third\"")), async {
            hold.let_go()
        });
    assert!(behind.wire.is_done());
    assert_eq!(first.await.unwrap().unwrap().seq, 2);
    let (second, third) = (second.unwrap(), third.unwrap());
    assert_eq!((second.seq, third.seq), (3, 4));
    assert_eq!(bodies(&behind.store, 1).await, ["\"first\"", "\"second\"", "\"third\""]);
    let verified = behind.store.verify(&session(1)).await.unwrap();
    assert!(verified.holds(&second) && verified.holds(&third));
    assert_eq!(behind.append(one(4, "4")).await.unwrap().seq, 5);
}

#[tokio::test]
async fn a_batch_is_known_to_be_kept_although_another_writer_went_on_from_it() {
    for goes_on in [false, true] {
        let Some(behind) = Behind::new(PATIENT).await else { return };
        behind.wire.lose("\"kept\"");
        let again = behind.wire.hold("\"kept\"");
        let first = behind.begin(one(1, "\"kept\""));
        // It was written, nothing came back, and it was sent once more.
        again.reached().await;
        let other = PostgresStore::open(behind.schema.options()).await.unwrap();
        let lease = other.claim(&session(1), Claim::TakeOver).await.unwrap();
        let mut expected = vec!["\"kept\""];
        if goes_on {
            other.append(&lease, one(2, "\"next\"")).await.unwrap();
            expected.push("\"next\"");
        }
        again.let_go();
        let receipt = first.await.unwrap().unwrap();
        assert_eq!((receipt.seq, receipt.durability), (2, Durability::Flushed));
        assert_eq!(bodies(&other, 1).await, expected);
        assert!(other.verify(&session(1)).await.unwrap().holds(&receipt));
        let fenced = behind.append(one(2, "2")).await.unwrap_err();
        assert!(matches!(fenced, StoreError::Fenced { .. }), "{fenced}");
        assert!(behind.wire.is_done());
    }
}

#[tokio::test]
async fn what_was_sent_behind_a_begin_that_was_refused_is_looked_for() {
    let Some(behind) = Behind::new(PATIENT).await else { return };
    behind.wire.garble("BEGIN ISOLATION");
    // The server does it all the same, in a transaction of its own.
    assert_eq!(behind.append(one(1, "\"kept\"")).await.unwrap().seq, 2);
    assert!(behind.wire.is_done());
    behind.wire.garble("BEGIN ISOLATION");
    behind.store.create(new_session(2)).await.unwrap();
    assert!(behind.wire.is_done());
    assert_eq!(bodies(&behind.store, 1).await, ["\"kept\""]);
    assert_eq!(behind.store.sessions().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_warning_of_a_trigger_is_not_one_about_standbys() {
    let Some(behind) = Behind::new(PATIENT).await else { return };
    behind
        .schema
        .run(
            "CREATE FUNCTION @warn() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN RAISE WARNING 'audited'; RETURN NEW; END $$;
             CREATE TRIGGER audit BEFORE UPDATE ON @sessions FOR EACH ROW EXECUTE FUNCTION @warn()",
        )
        .await;
    let receipt = behind.append(one(1, "1")).await.unwrap();
    assert_eq!((receipt.seq, receipt.durability), (2, Durability::Flushed));
}

#[tokio::test]
async fn what_may_have_been_done_is_never_told_as_if_nothing_was() {
    let Some(behind) = Behind::new(HASTY).await else { return };
    let Behind { wire, store, .. } = &behind;
    store.create(new_session(2)).await.unwrap();
    let open = |error: StoreError| assert!(matches!(error, StoreError::Io { .. }), "{error}");

    wire.lose_for_good("\"kept\"");
    open(behind.append(one(1, "\"kept\"")).await.unwrap_err());
    wire.mend();
    let again = behind.append(one(1, "\"kept\"")).await.unwrap_err();
    assert!(matches!(again, StoreError::Conflict { .. }), "{again}");

    wire.lose_for_good("SET title = ");
    open(store.amend(&session(2), Amend::title("a new title")).await.unwrap_err());
    wire.mend();
    assert_eq!(store.info(&session(2)).await.unwrap().title, "a new title");

    wire.lose_for_good("SET token = ");
    open(store.lease(&session(2)).await.unwrap_err());
    wire.mend();
    // What nobody knows of is given back.
    drop(store.lease(&session(2)).await.unwrap());

    wire.lose_for_good("bodies WHERE session = ");
    open(store.delete(&session(2)).await.unwrap_err());
    wire.mend();
    let gone = store.delete(&session(2)).await.unwrap_err();
    assert!(matches!(gone, StoreError::UnknownSession { .. }), "{gone}");

    let mut new = new_session(3);
    new.title = "the third".to_owned();
    wire.lose_for_good("the third");
    open(store.create(new).await.unwrap_err());
    wire.mend();
    assert_eq!(store.info(&session(3)).await.unwrap().title, "the third");
    assert!(wire.is_done());
}

#[tokio::test]
async fn reading_that_got_no_answer_is_told_as_busy() {
    let Some(behind) = Behind::new(HASTY).await else { return };
    behind.wire.lose_for_good(bytes_of(1));
    let away = behind.store.info(&session(1)).await.unwrap_err();
    assert!(matches!(away, StoreError::Busy { .. }), "{away}");
}

#[tokio::test]
async fn a_session_is_deleted_although_the_answer_is_lost() {
    let Some(behind) = Behind::new(PATIENT).await else { return };
    behind.store.create(new_session(2)).await.unwrap();
    behind.wire.lose("bodies WHERE session = ");
    behind.store.delete(&session(2)).await.unwrap();
    assert!(behind.wire.is_done());
    let gone = behind.store.delete(&session(2)).await.unwrap_err();
    assert!(matches!(gone, StoreError::UnknownSession { .. }), "{gone}");
}

#[tokio::test]
async fn a_look_that_is_answered_late_does_not_lead_back_to_where_the_session_was() {
    let Some(behind) = Behind::new(PATIENT).await else { return };
    // A batch for the wrong place has the place looked up.
    let hold = behind.wire.hold(bytes_of(1));
    let wrong = behind.begin(one(77, "77"));
    hold.reached().await;
    // Meanwhile another looks too, and writes.
    assert_eq!(behind.append(one(1, "1")).await.unwrap().seq, 2);
    hold.let_go();
    let refused = wrong.await.unwrap().unwrap_err();
    assert!(matches!(refused, StoreError::Conflict { actual, .. } if actual.seq == 2), "{refused}");
    // What was made for the old place must not be acknowledged, because it cannot be kept.
    let stale = behind.append(one(1, "\"stale\"").with(Durability::Buffered)).await.unwrap_err();
    assert!(matches!(stale, StoreError::Conflict { .. }), "{stale}");
    let next = behind.append(one(2, "2").with(Durability::Buffered)).await.unwrap();
    assert_eq!((next.seq, next.durability), (3, Durability::Buffered));
    assert_eq!(bodies(&behind.store, 1).await, ["1", "2"]);
}

#[tokio::test]
async fn no_more_than_eight_mebibytes_are_only_buffered_also_while_some_are_written() {
    let Some(behind) = Behind::new(PATIENT).await else { return };
    let megabyte = |word: &str| format!("\"{word}{}\"", "x".repeat(1_000_000));
    let mut seq = 1;
    let mut next = |word: &str| {
        seq += 1;
        one(seq - 1, &megabyte(word)).with(Durability::Buffered)
    };
    let first = behind.wire.hold("alpha");
    behind.append(next("alpha")).await.unwrap();
    first.reached().await;
    // These go together as soon as the first is written.
    let second = behind.wire.hold("beta");
    for _ in 0..6 {
        behind.append(next("beta")).await.unwrap();
    }
    first.let_go();
    second.reached().await;
    let mut acknowledged = 0;
    loop {
        let mut append = Box::pin(behind.append(next("gamma")));
        // What is acknowledged in line is so at once.
        let at_once = tokio::select! {
            biased;
            result = append.as_mut() => Some(result.unwrap()),
            () = std::future::ready(()) => None,
        };
        let Some(receipt) = at_once else {
            second.let_go();
            let receipt = append.await.unwrap();
            assert_eq!(receipt.durability, Durability::Committed);
            break;
        };
        assert_eq!(receipt.durability, Durability::Buffered);
        acknowledged += 1;
    }
    assert_eq!(acknowledged, 2, "six were on their way, and no more than eight fit");
    assert_eq!(behind.store.info(&session(1)).await.unwrap().records, seq);
}
