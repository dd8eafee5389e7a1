//! A session on disk: two processes' worth of work, a refusal, a letter, and the log as lines of JSON.

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;

use trunkline_message_tree::{Message, MessageTree, Timestamp};
use trunkline_session_store::{
    Batch, NewSession, Note, Record, SessionId, SessionStore, SqliteStore, export,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sessions.db");
    let id = SessionId::parse("0198c3f0-6d5e-7cc3-98c6-5fa3a2b1c0de")?;

    // The first life: make a session, write a batch, go away.
    let mut tree = MessageTree::new(Message::system("You are a weather station."), Timestamp(1_000));
    let root = tree.entries().next().ok_or("a tree has its root")?;
    let store = SqliteStore::open(&path).await?;
    let (title, workspace) = ("rain".to_owned(), None);
    store.create(NewSession { id: id.clone(), title, workspace, at: Timestamp(1_000), root }).await?;
    let lock = store.lock(&id).await?;
    let mut draft = tree.draft();
    draft.append(Message::user("Will it rain?"), Timestamp(2_000))?;
    draft.append(Message::assistant("It already does."), Timestamp(3_000))?;
    let entries = draft.into_entries();
    let mut records: Vec<Record> = entries.iter().cloned().map(Record::Entry).collect();
    records.push(Record::Note(Note {
        layer: "gauge".to_owned(),
        kind: "reading".to_owned(),
        at: Timestamp(3_000),
        body: r#"{"mm":1.50}"#.to_owned(),
    }));
    let batch = Batch { expected_head: tree.head(), expected_seq: 1, records, consumed: Vec::new() };
    let receipt = store.append(&lock, batch.clone()).await?;
    println!("kept up to record {}", receipt.seq);
    // The store has agreed; now memory moves.
    for entry in entries {
        tree.record(entry)?;
    }
    if let Err(error) = store.append(&lock, batch).await {
        println!("the same batch again: {error}");
    }
    drop(lock);
    store.close().await;

    // The second life: somebody leaves a letter, somebody reads what there is.
    let store = SqliteStore::open(&path).await?;
    let lock = store.lock(&id).await?;
    if let Err(error) = store.lock(&id).await {
        println!("a second writer: {error}");
        let letter = store.post(&id, "prompt", r#"{"text":"And tomorrow?"}"#, Timestamp(4_000)).await?;
        println!("so it left letter {letter}");
    }
    for letter in store.inbox(&id).await? {
        println!("the writer finds {} {}", letter.kind, letter.body);
    }
    drop(lock);
    let log = store.load(&id).await?;
    let again = MessageTree::replay(log.entries().cloned())?;
    println!("replayed: {} nodes, head {}\n", again.len(), again.head());
    export(&log, &mut std::io::stdout().lock())?;
    store.close().await;
    Ok(())
}
