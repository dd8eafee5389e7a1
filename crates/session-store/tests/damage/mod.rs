//! Databases that are not as they were left: what opening says of them, and what a doctor can still do.

mod cut;
mod doctor;
pub(crate) mod flips;
mod letters;
mod media;
mod numbers;
pub(crate) mod older;
mod opening;
mod snapshots;
mod unread;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};
use trunkline_message_tree::{Entry, HeadMove, Link, Message, MessageTree, MoveKind, NodeId, Timestamp};
use trunkline_session_store::{
    Amend, Batch, Blob, Lease, NewSession, Note, Position, Receipt, Record, SessionId, SessionStore,
    Snapshot, SqliteStore, StoreError, export,
};

pub(crate) fn session(number: u32) -> SessionId {
    SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}")).unwrap()
}

pub(crate) fn new_session(number: u32) -> NewSession {
    let tree = MessageTree::new(Message::system("be brief"), Timestamp(1));
    let title = format!("session {number}");
    NewSession { id: session(number), title, workspace: None, at: Timestamp(1), root: tree.root_entry() }
}

/// A user message at a node.
pub(crate) fn node(id: u32, parent: u32, text: &str) -> Record {
    let mut message = Message::user(text);
    let (id, parent) = (NodeId::new(id), Some(NodeId::new(parent)));
    message.node = Some(id);
    Record::Entry(Entry::Node { id, parent, at: Timestamp(10), link: Link::Next, message })
}

pub(crate) fn note(body: &str) -> Record {
    Record::Note(Note::new("weather", "rain", Timestamp(12), body))
}

/// Adds records where the session is.
pub(crate) async fn append(
    store: &SqliteStore,
    lease: &Lease,
    records: Vec<Record>,
) -> Result<Receipt, StoreError> {
    let info = store.info(lease.session()).await?;
    store.append(lease, Batch::new(Position { seq: info.records, head: info.head }, records)).await
}

/// An error with its causes, without the folder.
pub(crate) fn words(error: &StoreError, path: &Path) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text += &format!(": {cause}");
        source = cause.source();
    }
    plain(&text, path)
}

/// A text without the folder of a database.
pub(crate) fn plain(text: &str, path: &Path) -> String {
    let folder = path.parent().unwrap();
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    text.replace(&format!("{}/", folder.display()), "")
}

/// Five sessions with everything that a log can have: branches, moves, notes with keys, large bodies that are shared,
/// blobs, letters, snapshots; and one that was deleted.
pub(crate) async fn fill(store: &SqliteStore) -> Vec<Lease> {
    let mut leases = Vec::new();
    let page = "The rain in Spain stays mainly in the plain. ".repeat(150);
    for number in 1..=5 {
        store.create(new_session(number)).await.unwrap();
        let lease = store.lease(&session(number)).await.unwrap();
        let mut records = vec![
            node(1, 0, "hello"),
            node(2, 1, &page),
            Record::Note(Note::new("runtime", "run", Timestamp(13), "{\"run\":1}").once("run-1", "open")),
        ];
        let (from, to) = (NodeId::new(2), NodeId::new(1));
        let head_move = HeadMove { from, to, kind: MoveKind::PersonRevert, at: Timestamp(11) };
        records.push(Record::Entry(Entry::Move(head_move)));
        records.push(node(3, 1, "another way"));
        let bytes = vec![number as u8; 5000];
        records.push(Record::Blob(Blob {
            layer: "tools".into(),
            kind: "file".into(),
            at: Timestamp(14),
            bytes,
        }));
        append(store, &lease, records).await.unwrap();
        for id in 4..4 + 6 * number {
            let text = format!("message {id} of session {number}: {}", "x".repeat(id as usize * 37 % 900));
            append(store, &lease, vec![node(id, id - 1, &text)]).await.unwrap();
        }
        let decided = Note::new("runtime", "run", Timestamp(15), "{\"run\":1}").about("run-1", "decided");
        append(store, &lease, vec![Record::Note(decided)]).await.unwrap();
        store.post(&session(number), "prompt", "\"consumed\"", Timestamp(16)).await.unwrap();
        let letter = store.inbox(&session(number)).await.unwrap()[0].id;
        let info = store.info(&session(number)).await.unwrap();
        let at = Position { seq: info.records, head: info.head };
        store.append(&lease, Batch::new(at, vec![note("1")]).consuming([letter])).await.unwrap();
        store.post(&session(number), "prompt", "\"waiting\"", Timestamp(17)).await.unwrap();
        store.keep_snapshot(&lease, snapshot(store, number).await).await.unwrap();
        leases.push(lease);
    }
    store.amend(&session(2), Amend::tags(["rain", "sun"])).await.unwrap();
    store.amend(&session(3), Amend::archived(true)).await.unwrap();
    store.create(new_session(6)).await.unwrap();
    store.delete(&session(6)).await.unwrap();
    leases
}

/// What is kept beside a session of [`fill`]: it goes up to record 5, and has pages of its own.
pub(crate) async fn snapshot(store: &SqliteStore, number: u32) -> Snapshot {
    let [last] = &store.records(&session(number), &[5]).await.unwrap()[..] else {
        panic!("one was asked for")
    };
    Snapshot::new(5, last.digest, number, format!("spine {number} ").repeat(1_200).into_bytes())
}

/// A closed database with those sessions.
pub(crate) async fn closed(folder: &Path) -> PathBuf {
    let store = SqliteStore::open(folder.join("sessions.db")).await.unwrap();
    drop(fill(&store).await);
    let path = store.path().to_owned();
    store.close().await;
    path
}

/// The same as it is left by a process that dies: with its write-ahead log and the locks of a dead owner.
pub(crate) async fn killed(folder: &Path) -> PathBuf {
    let alive = folder.join("alive");
    let store = SqliteStore::open(alive.join("sessions.db")).await.unwrap();
    let leases = fill(&store).await;
    let path = folder.join("sessions.db");
    copy(&alive.join("sessions.db"), &path);
    drop(leases);
    store.close().await;
    fs::remove_dir_all(alive).unwrap();
    path.canonicalize().unwrap()
}

/// Copies a database with its log and the files of its owners.
pub(crate) fn copy(from: &Path, to: &Path) {
    for ending in ["", "-wal"] {
        let of = |path: &Path| PathBuf::from(format!("{}{ending}", path.display()));
        if of(from).exists() {
            fs::copy(of(from), of(to)).unwrap();
        }
    }
    let locks = |path: &Path| PathBuf::from(format!("{}.locks", path.display()));
    if locks(from).exists() {
        fs::create_dir_all(locks(to)).unwrap();
        for entry in fs::read_dir(locks(from)).unwrap().flatten() {
            fs::copy(entry.path(), locks(to).join(entry.file_name())).unwrap();
        }
    }
}

pub(crate) fn log_of(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}-wal", path.display()))
}

/// Runs statements that the store would never run.
pub(crate) async fn sql(path: &Path, statements: &str) {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).foreign_keys(false);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(statements)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

/// The names of the files beside a database, without those that every open database has.
pub(crate) fn beside(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path.parent().unwrap()).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.retain(|name| {
        !["sessions.db", "sessions.db-wal", "sessions.db-shm", "sessions.db.locks"].contains(&name.as_str())
    });
    names.sort();
    names
}

/// What each session is, line by line as it is exported; an error if it cannot be read or does not verify.
pub(crate) async fn sessions(store: &SqliteStore) -> Result<BTreeMap<SessionId, String>, StoreError> {
    let mut sessions = BTreeMap::new();
    for info in store.sessions().await? {
        if let Some(lines) = lines(store, &info.id).await {
            sessions.insert(info.id, lines);
        }
    }
    Ok(sessions)
}

/// What a session is, if it can be read and verifies.
pub(crate) async fn lines(store: &SqliteStore, session: &SessionId) -> Option<String> {
    store.verify(session).await.ok()?;
    let mut lines = Vec::new();
    export(store, session, &mut lines).await.ok()?;
    Some(String::from_utf8(lines).unwrap())
}

/// The records among such lines, without the header and what closes them.
pub(crate) fn records(lines: &str) -> &str {
    let records = lines.split_once('\n').map_or("", |(_, records)| records);
    records.rfind("{\"trunkline\":\"end\"").map_or(records, |end| &records[..end])
}
