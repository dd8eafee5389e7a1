//! Memory and SQLite give the same answers to the same operations.

use proptest::prelude::*;
use trunkline_message_tree::Timestamp;
use trunkline_session_store::{Batch, InboxId, MemoryStore, Record, SessionStore, SqliteStore, StoreError};

use crate::material::{batch, filed, head_move, new_session, node, note, session, words};

/// One call; numbers are small so that they hit and miss alike.
#[derive(Clone, Debug)]
enum Call {
    Create(u32),
    Append { session: u32, records: Vec<Piece>, consumed: Vec<u64>, stale: bool },
    Post(u32, String),
    Title(u32, String),
    LoadAfter(u32, u64),
}

/// A record relative to where the log is; `wrong` ones do not fit.
#[derive(Clone, Debug)]
enum Piece {
    Node { text: String, wrong: bool },
    Filed(u32),
    Move(u32),
    Note(String),
}

fn piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        4 => (any::<String>(), prop::bool::weighted(0.05)).prop_map(|(text, wrong)| Piece::Node { text, wrong }),
        1 => (0..4u32).prop_map(Piece::Filed),
        1 => (0..4u32).prop_map(Piece::Move),
        2 => prop_oneof![Just("null".to_owned()), Just("{\"a\": [1.0]}".to_owned()), any::<String>()]
            .prop_map(Piece::Note),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let number = 1..3u32;
    prop_oneof![
        2 => number.clone().prop_map(Call::Create),
        6 => (
            number.clone(),
            prop::collection::vec(piece(), 0..6),
            prop::collection::vec(1..4u64, 0..2),
            prop::bool::weighted(0.1),
        )
            .prop_map(|(session, records, consumed, stale)| Call::Append { session, records, consumed, stale }),
        2 => (number.clone(), prop_oneof![Just("1".to_owned()), any::<String>()])
            .prop_map(|(session, body)| Call::Post(session, body)),
        1 => (number.clone(), any::<String>()).prop_map(|(session, title)| Call::Title(session, title)),
        1 => (number, 0..9u64).prop_map(|(session, seq)| Call::LoadAfter(session, seq)),
    ]
}

/// Makes the call and returns the answer as text.
async fn answer(store: &dyn SessionStore, call: &Call) -> String {
    let answer = match call {
        Call::Create(number) => store.create(new_session(*number)).await.map(|()| String::new()),
        Call::Append { session: number, records, consumed, stale } => {
            append(store, *number, records, consumed, *stale).await
        }
        Call::Post(number, body) => {
            let posted = store.post(&session(*number), "prompt", body, Timestamp(u64::MAX)).await;
            posted.map(|id| id.to_string())
        }
        Call::Title(number, title) => store.set_title(&session(*number), title).await.map(|()| String::new()),
        Call::LoadAfter(number, seq) => {
            store.load_after(&session(*number), *seq).await.map(|records| format!("{records:?}"))
        }
    };
    answer.unwrap_or_else(|error| words(&error))
}

async fn append(
    store: &dyn SessionStore,
    number: u32,
    pieces: &[Piece],
    consumed: &[u64],
    stale: bool,
) -> Result<String, StoreError> {
    let lock = store.lock(&session(number)).await?;
    let info = store.info(&session(number)).await?;
    let (mut head, mut next) = (info.head.index() as u32, info.nodes as u32);
    let mut records: Vec<Record> = Vec::new();
    for piece in pieces {
        records.push(match piece {
            Piece::Node { text, wrong } => {
                let record = node(next, if *wrong { next } else { head }, text);
                head = next;
                next += 1;
                record
            }
            Piece::Filed(parent) => {
                next += 1;
                filed(next - 1, *parent, "late")
            }
            Piece::Move(to) => {
                let record = head_move(head, *to);
                head = *to;
                record
            }
            Piece::Note(body) => note(body),
        });
    }
    let consumed = consumed.iter().copied().map(InboxId).collect();
    let made = batch(info.records + u64::from(stale), info.head.index() as u32, records);
    let receipt = store.append(&lock, Batch { consumed, ..made }).await?;
    Ok(format!("{receipt:?}"))
}

/// Everything that can be asked.
async fn state(store: &dyn SessionStore) -> String {
    let mut text = format!("{:?}\n", store.sessions().await);
    for info in store.sessions().await.unwrap() {
        text += &format!("{:?}\n{:?}\n", store.load(&info.id).await, store.inbox(&info.id).await);
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn memory_and_sqlite_give_the_same_answers(calls in prop::collection::vec(call(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("sessions.db");
            let memory = MemoryStore::new();
            let sqlite = SqliteStore::open(&path).await.unwrap();
            for call in &calls {
                prop_assert_eq!(answer(&memory, call).await, answer(&sqlite, call).await, "{:?}", call);
            }
            prop_assert_eq!(state(&memory).await, state(&sqlite).await);
            sqlite.close().await;
            let sqlite = SqliteStore::open(&path).await.unwrap();
            prop_assert_eq!(state(&memory).await, state(&sqlite).await, "after it was opened again");
            Ok(())
        })?;
    }
}
