//! What the benches have in common: sessions that are long already, and times.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use trunkline_message_tree::{
    Author, Content, Message, MessageTree, Origin, Role, StopReason, Timestamp, ToolCall, Usage,
};
use trunkline_runtime::{Agent, Session};
use trunkline_session_store::{
    Batch, MemoryStore, NewSession, Position, Record, SessionId, SessionStore, SqliteStore,
};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The times of many turns.
#[derive(Default)]
pub(crate) struct Times(pub(crate) Vec<Duration>);

impl Times {
    pub(crate) fn mean(&self) -> Duration {
        self.0.iter().sum::<Duration>() / self.0.len().max(1) as u32
    }

    /// The median, which one slow write of the disk does not move.
    pub(crate) fn at(&self, part: f64) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        let last = sorted.len().saturating_sub(1);
        sorted.get((last as f64 * part).round() as usize).copied().unwrap_or_default()
    }

    pub(crate) fn ratio(&self, long: &Times) -> f64 {
        long.at(0.5).as_secs_f64() / self.at(0.5).as_secs_f64()
    }
}

impl std::fmt::Display for Times {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.0?} {:.0?} {:.0?}", self.mean(), self.at(0.5), self.at(0.99))
    }
}

/// Opens the database at a path, or a store in memory.
pub(crate) async fn store(path: Option<&Path>) -> Outcome<Arc<dyn SessionStore>> {
    Ok(match path {
        Some(path) => Arc::new(SqliteStore::open(path).await?),
        None => Arc::new(MemoryStore::new()),
    })
}

/// Opens a session that has so many messages already.
pub(crate) async fn open(agent: &Agent, store: &Arc<dyn SessionStore>, length: usize) -> Outcome<Session> {
    let id = SessionId::parse(&uuid::Uuid::now_v7().to_string())?;
    let mut tree = MessageTree::new(Message::system("You are careful. ".repeat(20)), Timestamp(1));
    let root = tree.entries().next().ok_or("a tree has its root")?;
    let new = NewSession { id: id.clone(), title: String::new(), workspace: None, at: Timestamp(1), root };
    store.create(new).await?;
    let lease = store.lease(&id).await?;
    let mut seq = 1;
    while tree.len() < length {
        let mut draft = tree.draft();
        for message in round(tree.len()) {
            draft.append(message, Timestamp(2))?;
        }
        let entries = draft.into_entries();
        let records = entries.iter().cloned().map(Record::Entry).collect();
        seq = store.append(&lease, Batch::new(Position { seq, head: tree.head() }, records)).await?.seq;
        for entry in entries {
            tree.record(entry)?;
        }
    }
    drop(lease);
    Ok(agent.open(Arc::clone(store), &id).await?)
}

/// A prompt, a call with its result, and an answer.
fn round(at: usize) -> Vec<Message> {
    let answer = |content, stop| Message {
        stop: Some(stop),
        origin: Some(Origin::new("scripted", "bench")),
        // As services report it: about what the messages before make.
        usage: Some(Usage { input_tokens: 80 * at as u64 + 200, output_tokens: 20, ..Usage::default() }),
        ..Message::new(Role::Assistant, Author::Model, content)
    };
    let id = format!("toolu_{at:08}");
    let arguments = r#"{"path":"crates/thing/src/lib.rs","first_line":120,"last_line":180}"#.to_owned();
    let call = ToolCall { id: id.clone(), name: "look".to_owned(), arguments, signature: None };
    vec![
        Message::user("please look into the failing test and mend it; do not touch the others"),
        answer(vec![Content::text("Let me look."), Content::ToolCall(call)], StopReason::ToolUse),
        Message::tool_result(
            id,
            "fn walk(messages: &[Message]) -> usize { messages.len() }\n".repeat(10),
            false,
        ),
        answer(vec![Content::text("It passes now; an index was off by one.")], StopReason::EndTurn),
    ]
}
