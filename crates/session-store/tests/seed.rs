//! Faults of a journal that other agents have had, by the numbers of a catalogue of them.
//!
//! What is kept here is the history itself: nothing that a model or a tool said is projected on the way in, and no torn
//! end makes the rest unreadable.

use std::fs;
use std::path::Path;

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{Connection, SqliteConnection};
use trunkline_message_tree::{
    Author, Content, Entry, Link, Media, MediaSource, Message, NodeId, Origin, Part, Role, StopReason,
    Timestamp, ToolCall, ToolResult, Usage,
};
use trunkline_session_store::{MemoryStore, Record, SessionStore, SqliteStore, StoreError, export, import};

use crate::material::{batch, loaded, new_session, node, note, session};

fn picture(source: MediaSource) -> Media {
    Media { media_type: "image/png".to_owned(), source }
}

/// A user message with a picture, a reply with every kind of block, a result with a picture.
fn rich() -> Vec<Record> {
    let text = |text: &str| text.to_owned();
    let base64 = || MediaSource::Base64(text("iVBORw0KGgo="));
    let mut prompt = Message::user("what is it?");
    prompt.content.push(Content::Image(picture(base64())));
    prompt.content.push(Content::Document(picture(MediaSource::Url(text("https://example.org/a.pdf")))));
    let thinking = |words: &str, signature: Option<&str>| Content::Thinking {
        text: text(words),
        signature: signature.map(text),
    };
    let call = ToolCall {
        id: text(""),
        name: text("look"),
        // Cut by an output limit: no JSON, and kept all the same.
        arguments: text("{\"path\": \"a\u{0} \r\n"),
        signature: Some(text("Y2FsbA==")),
    };
    let mut reply = Message::assistant("");
    reply.content = vec![
        thinking("first", Some("c2lnMQ==")),
        thinking("", Some("c2lnMg==")),
        Content::RedactedThinking { data: text("c2VjcmV0") },
        Content::text(""),
        Content::text("two\nlines and a trailing space "),
        Content::ServerCall { id: text("s1"), json: text("{\"b\": 1.50, \"a\":1}") },
        Content::ServerResult { call_id: text("s1"), json: text("[ ]") },
        Content::Opaque { wire: text("anthropic"), json: text("{\"type\":\"new\"}") },
        Content::ToolCall(call),
    ];
    reply.origin = Some(Origin::new(text("anthropic"), text("m")));
    reply.stop = Some(StopReason::MaxTokens);
    reply.usage = Some(Usage { input_tokens: u64::MAX, output_tokens: 1, ..Usage::default() });
    let content = vec![Part::text("a picture"), Part::Image(picture(base64()))];
    let result = ToolResult { call_id: String::new(), content, is_error: true };
    let result = Message::new(Role::Tool, Author::Tool, vec![Content::ToolResult(result)]);
    let messages = [prompt, reply, result].into_iter().zip(1_u32..);
    let records = messages.map(|(mut message, number)| {
        let id = NodeId::new(number);
        message.node = Some(id);
        let parent = Some(NodeId::new(number - 1));
        Record::Entry(Entry::Node { id, parent, at: Timestamp(1), link: Link::Next, message })
    });
    records.collect()
}

#[tokio::test]
async fn s26_signatures_pictures_and_broken_arguments_come_back_as_they_went_in() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let sqlite = SqliteStore::open(&path).await.unwrap();
    let memory = MemoryStore::new();
    for store in [&sqlite as &dyn SessionStore, &memory] {
        store.create(new_session(1)).await.unwrap();
        let lease = store.lease(&session(1)).await.unwrap();
        store.append(&lease, batch(1, 0, rich())).await.unwrap();
    }
    sqlite.close().await;
    let sqlite = SqliteStore::open(&path).await.unwrap();
    for store in [&sqlite as &dyn SessionStore, &memory] {
        let log = store.load(&session(1)).await.unwrap();
        let records: Vec<Record> = log.records.iter().skip(1).map(|(_, record)| record.clone()).collect();
        assert_eq!(records, rich());
        let mut lines = Vec::new();
        export(store, &session(1), &mut lines).await.unwrap();
        let elsewhere = MemoryStore::new();
        import(&elsewhere, lines.as_slice()).await.unwrap();
        assert_eq!(elsewhere.load(&session(1)).await.unwrap(), log);
    }
}

/// Copies a store as a loss of power leaves it: the write-ahead log ends after `kept` bytes, and `torn` follow.
pub(crate) async fn after_power_loss(path: &Path, kept: u64, torn: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("sessions.db");
    fs::copy(path, &copy).unwrap();
    let mut log = fs::read(path.with_file_name("sessions.db-wal")).unwrap();
    log.truncate(kept as usize);
    log.extend_from_slice(torn);
    fs::write(folder.path().join("sessions.db-wal"), log).unwrap();
    let store = SqliteStore::open(&copy).await.unwrap();
    let shown = loaded(&store, 1).await;
    // Not only readable: the next batch goes where the torn one would have been.
    let records = store.info(&session(1)).await.unwrap().records;
    let lease = store.lease(&session(1)).await.unwrap();
    store.append(&lease, batch(records, 1, vec![note("9")])).await.unwrap();
    shown
}

#[tokio::test]
async fn s33_a_torn_end_costs_the_batch_that_was_being_written_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    store.append(&lease, batch(1, 0, vec![node(1, 0, "hello")])).await.unwrap();
    let length = || fs::metadata(path.with_file_name("sessions.db-wal")).unwrap().len();
    let before = (length(), loaded(&store, 1).await);
    store.append(&lease, batch(2, 1, vec![note("7"), note("8")])).await.unwrap();
    let after = (length(), loaded(&store, 1).await);
    assert!(before.0 < after.0, "the batch is in the write-ahead log, and only there");
    let step = usize::try_from((after.0 - before.0) / 16).unwrap();
    for kept in (before.0..after.0).step_by(step) {
        assert_eq!(after_power_loss(&path, kept, b"").await, before.1, "{kept}");
        assert_eq!(after_power_loss(&path, kept, &[0; 5000]).await, before.1, "{kept}");
    }
    assert_eq!(after_power_loss(&path, after.0, b"torn").await, after.1);
}

#[tokio::test]
async fn s33_a_record_that_cannot_be_read_is_named_and_the_other_sessions_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store = SqliteStore::open(&path).await.unwrap();
    for number in [1, 2] {
        store.create(new_session(number)).await.unwrap();
        let lease = store.lease(&session(number)).await.unwrap();
        store.append(&lease, batch(1, 0, vec![node(1, 0, "hello"), note("7")])).await.unwrap();
    }
    let whole = loaded(&store, 2).await;
    store.close().await;
    let options = SqliteConnectOptions::new().filename(&path);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql("UPDATE bodies SET json = '{\"role\":\"us' WHERE body = 2")
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();
    let store = SqliteStore::open(&path).await.unwrap();
    assert!(matches!(store.load(&session(1)).await, Err(StoreError::BadRecord { seq: 2, .. })));
    assert_eq!(loaded(&store, 2).await, whole);
    assert_eq!(store.sessions().await.unwrap().len(), 2);
}
