//! Reads a store of the command from a program: every session with its last words.
//!
//! `cargo run -p trunkline-cli --example read_sessions -- ~/.local/share/trunkline/sessions.db`; without a path it makes
//! a small store in memory and reads that.

#![expect(clippy::print_stdout, reason = "an example shows something")]

use std::error::Error;

use trunkline_message_tree::{Message, MessageTree, Timestamp};
use trunkline_session_store::{
    Batch, MemoryStore, NewSession, Position, Record, SessionId, SessionStore, SqliteStore,
};

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match std::env::args().nth(1) {
            Some(path) => read(&SqliteStore::open(path).await?).await,
            None => read(&small_store().await?).await,
        }
    })
}

/// Prints each session: its title, how much of its tree is on the trunk, and what was said last.
async fn read(store: &dyn SessionStore) -> Result<(), Box<dyn Error>> {
    for info in store.sessions().await? {
        let log = store.load(&info.id).await?;
        let tree = MessageTree::replay(log.entries().cloned())?;
        let last = tree.trunk().messages().next_back().map(Message::text).unwrap_or_default();
        println!("{}  {}", info.id, info.title);
        println!("  {} of {} nodes on the trunk, head {}", tree.trunk().ids().len(), tree.len(), tree.head());
        println!("  last words: {}", last.lines().next().unwrap_or("(none)"));
    }
    Ok(())
}

/// Makes a session with a question and an answer.
async fn small_store() -> Result<MemoryStore, Box<dyn Error>> {
    let store = MemoryStore::new();
    let id = SessionId::parse("0198c3f0-6d5e-7cc3-98c6-5fa3a2b1c0de")?;
    let tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
    let root = tree.root_entry();
    store
        .create(NewSession {
            id: id.clone(),
            title: "a question".into(),
            workspace: None,
            at: Timestamp(0),
            root,
        })
        .await?;
    let mut draft = tree.draft();
    draft.append(Message::user("what is a trunk?"), Timestamp(1))?;
    draft.append(Message::assistant("The line from the root to the head."), Timestamp(2))?;
    let records = draft.into_entries().into_iter().map(Record::Entry).collect();
    let lease = store.lease(&id).await?;
    store.append(&lease, Batch::new(Position { seq: 1, head: tree.head() }, records)).await?;
    Ok(store)
}
