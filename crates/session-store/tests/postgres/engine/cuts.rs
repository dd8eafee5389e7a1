//! Connections that are cut at each message, in both directions.

use std::time::Duration;

use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::kit::engine::{HardEngine, Profile, Way};
use trunkline_session_store::{
    Batch, Durability, InboxId, Lease, Note, Position, PostgresOptions, PostgresStore, Record, SessionStore,
    StoreError,
};

use super::super::made::{new_session, note, session};
use super::super::{Schema, server};

/// A store that says nothing unasked, behind an engine that cuts.
struct Behind {
    // In this order: the lease needs the store, and the store the engine.
    lease: Lease,
    store: PostgresStore,
    engine: HardEngine,
    _schema: Schema,
    /// How long the bodies were that were acknowledged, and how they begin.
    written: Vec<(usize, String)>,
}

impl Behind {
    async fn new() -> Option<Self> {
        let url = server()?;
        let schema = Schema::new(&url);
        let engine = HardEngine::start(&url, Profile::plain(), 1).expect("it starts");
        // Neither notifications nor signs of life: what is counted is what the test does.
        let options = PostgresOptions::new(format!("{}&notify=off", engine.url())).schema(&schema.name);
        let store = PostgresStore::open(options.lease_ttl(Duration::from_secs(3600))).await.unwrap();
        store.create(new_session(1)).await.unwrap();
        let lease = store.lease(&session(1)).await.unwrap();
        Some(Behind { lease, store, engine, _schema: schema, written: Vec::new() })
    }

    fn next(&self) -> u64 {
        self.written.len() as u64 + 1
    }

    async fn append(&mut self, kind: Kind) {
        let next = self.next();
        let at = Position { seq: next, head: NodeId::ROOT };
        let body = match kind {
            Kind::Large => format!("\"{next} {}\"", "large ".repeat(1_400_000)),
            _ => next.to_string(),
        };
        let letter: Vec<InboxId> = match kind {
            Kind::WithLetter => vec![self.store.inbox(&session(1)).await.unwrap().remove(0).id],
            _ => Vec::new(),
        };
        let record = match kind {
            Kind::WithLetter => Record::Note(Note::new("test", "said", Timestamp(2), &body).once(&body, "")),
            _ => note(&body),
        };
        let batch = Batch::new(at, vec![record]).consuming(letter).with(Durability::Flushed);
        let receipt = self.store.append(&self.lease, batch).await;
        let receipt = receipt.unwrap_or_else(|error| panic!("{kind:?} after {next}: {error}"));
        assert_eq!((receipt.seq, receipt.durability), (next + 1, Durability::Flushed));
        self.written.push(short(&body));
    }

    /// Appends with a cut after each number of messages, until there are not so many; returns how many times it was cut.
    async fn cut_everywhere(&mut self, kind: Kind, way: Way) -> u64 {
        for messages in 0.. {
            if kind == Kind::WithLetter {
                self.store.post(&session(1), "prompt", "1", Timestamp(1)).await.unwrap();
            }
            self.engine.cut_after(way, messages);
            self.append(kind).await;
            // It was never that long: the cut has not come.
            if self.engine.forget_cut() {
                return messages;
            }
        }
        unreachable!("a batch has an end")
    }

    async fn is_whole(&self) {
        let mut found = Vec::new();
        loop {
            // A page is bounded by its bytes too.
            let page = self.store.read(&session(1), found.len() as u64 + 1, 1000).await.unwrap();
            found.extend(page.iter().map(|kept| short(&kept.body)));
            if page.is_empty() {
                break;
            }
        }
        assert_eq!(found, self.written);
        self.store.verify(&session(1)).await.unwrap();
        assert!(self.store.inbox(&session(1)).await.unwrap().is_empty());
    }
}

fn short(body: &str) -> (usize, String) {
    (body.len(), body.chars().take(12).collect())
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// One statement, in one trip.
    Plain,
    /// The same, that consumes a letter and has a key.
    WithLetter,
    /// One that is too large for one statement, in several trips.
    Large,
}

#[tokio::test]
async fn an_append_that_is_cut_at_any_message_is_kept_once() {
    let Some(mut behind) = Behind::new().await else { return };
    for (kind, least) in [(Kind::Plain, 7), (Kind::WithLetter, 7), (Kind::Large, 12)] {
        for way in [Way::ToServer, Way::ToClient] {
            let cuts = behind.cut_everywhere(kind, way).await;
            assert!(cuts >= least, "{kind:?} {way:?}: {cuts}");
        }
    }
    behind.is_whole().await;
}

#[tokio::test]
async fn a_letter_that_is_cut_at_any_message_is_posted_once_or_it_is_told_that_it_is_open() {
    let Some(behind) = Behind::new().await else { return };
    let mut there = 0;
    for way in [Way::ToServer, Way::ToClient] {
        for number in 0_u64.. {
            behind.engine.cut_after(way, number);
            let posted = behind.store.post(&session(1), "prompt", &number.to_string(), Timestamp(1)).await;
            let was_cut = !behind.engine.forget_cut();
            let inbox = behind.store.inbox(&session(1)).await.unwrap();
            let new = inbox.get(there..).unwrap_or_default();
            there = inbox.len();
            match posted {
                Ok(letter) => assert!(new.len() == 1 && new[0].id == letter, "{new:?}"),
                Err(StoreError::Io { .. }) => assert!(was_cut && new.len() <= 1, "{new:?}"),
                Err(error) => panic!("{error}"),
            }
            if !was_cut {
                assert!(number >= 7, "{way:?}: {number}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn a_store_that_is_cut_at_a_message_while_it_is_opened_is_made_once() {
    let Some(url) = server() else { return };
    let engine = HardEngine::start(&url, Profile::plain(), 1).expect("it starts");
    for way in [Way::ToServer, Way::ToClient] {
        // Each second one, because there are many.
        for messages in (0..).step_by(2) {
            let schema = Schema::through(&url, &engine.url());
            engine.cut_after(way, messages);
            let opened = PostgresStore::open(schema.options()).await;
            let store = opened.unwrap_or_else(|error| panic!("{way:?} after {messages}: {error}"));
            let was_cut = !engine.forget_cut();
            store.create(new_session(1)).await.unwrap();
            assert_eq!(store.sessions().await.unwrap().len(), 1);
            store.close().await;
            if !was_cut {
                assert!(messages > 20, "{way:?}: {messages}");
                break;
            }
        }
    }
}
