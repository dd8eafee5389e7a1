//! A session on disk: written, refused, followed, asked from elsewhere, proven, and given away as lines of JSON.

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use trunkline_message_tree::{Message, MessageTree, Timestamp};
use trunkline_session_store::{
    Batch, Follower, MemoryStore, NewSession, Note, NoteQuery, Position, Receipt, Record, SessionId,
    SessionStore, SqliteStore, consumed, export, import,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sessions.db");
    let id = SessionId::parse("0198c3f0-6d5e-7cc3-98c6-5fa3a2b1c0de")?;
    let receipt = write(&path, &id).await?;
    serve_a_letter(&path, &id).await?;
    prove_and_give_away(&path, &id, &receipt).await
}

/// The first life of the session: it is made, and two batches are written. Returns the receipt of the first.
async fn write(path: &Path, id: &SessionId) -> Outcome<Receipt> {
    let mut tree = MessageTree::new(Message::system("You are a weather station."), Timestamp(1_000));
    let root = tree.entries().next().ok_or("a tree has its root")?;
    let store = SqliteStore::open(path).await?;
    let (title, workspace) = ("rain".to_owned(), None);
    store.create(NewSession { id: id.clone(), title, workspace, at: Timestamp(1_000), root }).await?;
    let lease = store.lease(id).await?;

    let mut draft = tree.draft();
    draft.append(Message::user("Will it rain?"), Timestamp(2_000))?;
    draft.append(Message::assistant("It already does."), Timestamp(3_000))?;
    let entries = draft.into_entries();
    let records = entries.iter().cloned().map(Record::Entry).collect();
    let batch = Batch::new(Position { seq: 1, head: tree.head() }, records);
    let receipt = store.append(&lease, batch.clone()).await?;
    println!("kept up to record {}, {}", receipt.seq, receipt.durability);
    // The store has agreed; now memory moves.
    for entry in entries {
        tree.record(entry)?;
    }
    if let Err(error) = store.append(&lease, batch).await {
        println!("the same batch again: {error}");
    }

    // What a layer above the tree writes down can be found by what it is about, and may be said only once.
    let reading = Note::new("gauge", "reading", Timestamp(4_000), r#"{"mm":1.50}"#).once("monday", "raining");
    let again = |seq| Batch::new(Position { seq, head: tree.head() }, vec![Record::Note(reading.clone())]);
    store.append(&lease, again(receipt.seq)).await?;
    if let Err(error) = store.append(&lease, again(receipt.seq + 1)).await {
        println!("the same note again: {error}");
    }
    for found in store.notes(&NoteQuery::of("gauge", "reading").in_state("raining")).await? {
        println!("found {}: {}", found.key.key, found.body);
    }
    drop(lease);
    store.close().await;
    Ok(receipt)
}

/// The second life: somebody who may not write asks the one who may.
async fn serve_a_letter(path: &Path, id: &SessionId) -> Outcome<()> {
    let (writer, other) = (SqliteStore::open(path).await?, SqliteStore::open(path).await?);
    let lease = writer.lease(id).await?;
    if other.lease(id).await.is_err() {
        println!("a second writer is refused");
    }
    let letter = other.post(id, "prompt", r#"{"text":"And tomorrow?"}"#, Timestamp(5_000)).await?;
    let info = writer.info(id).await?;
    let mut follower = Follower::new(Arc::new(other.clone()), id.clone(), info.records);

    for letter in writer.inbox(id).await? {
        println!("the writer finds letter {}: {} {}", letter.id, letter.kind, letter.body);
        let tree = MessageTree::replay(writer.load(id).await?.entries().cloned())?;
        let mut draft = tree.draft();
        draft.append(Message::user("And tomorrow?"), Timestamp(6_000))?;
        let records = draft.into_entries().into_iter().map(Record::Entry).collect();
        // The letter leaves the inbox in the step that keeps its effect.
        let batch = Batch::new(Position { seq: info.records, head: tree.head() }, records);
        writer.append(&lease, batch.consuming([letter.id])).await?;
    }
    for (seq, record) in follower.next().await? {
        println!("the other sees record {seq}, made at {}", record.at());
    }
    println!("its letter took effect by record {}", consumed(&other, id, letter).await?);
    drop((lease, follower));
    writer.close().await;
    other.close().await;
    Ok(())
}

/// The third life: the log is held against what was acknowledged, and moved to another store.
async fn prove_and_give_away(path: &Path, id: &SessionId, receipt: &Receipt) -> Outcome<()> {
    let store = SqliteStore::open(path).await?;
    let verified = store.verify(id).await?;
    println!("{} records follow from each other", verified.records);
    println!("the first receipt names one of them: {}\n", verified.holds(receipt));

    let mut lines = Vec::new();
    export(&store, id, &mut lines).await?;
    print!("{}", String::from_utf8_lossy(&lines));
    let memory = MemoryStore::new();
    import(&memory, lines.as_slice()).await?;
    let same = memory.verify(id).await? == verified;
    println!("\nin another store the digests are the same: {same}");
    store.close().await;
    Ok(())
}
