//! One message, walked through the house from prompt to store and back.

use std::sync::{Arc, Mutex};

use expect_test::expect;
use trunkline_message_tree::notation;
use trunkline_providers::{Anthropic, Request, Scripted, Turn, Wire};
use trunkline_runtime::{Agent, Cancel};
use trunkline_session_store::{MemoryStore, Record, SessionStore, SqliteStore, export, import};

#[tokio::test]
async fn a_message_is_the_same_in_the_request_the_log_the_export_and_after_a_restart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("sessions.db");
    let asked: Arc<Mutex<Vec<Request>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let model = Scripted::new("test", "script", move |request| {
        seen.lock().expect("one thread").push(request.clone());
        Turn::say("Grüße — 你好")
    });
    let agent = Agent::builder(model).system("Greet.").build().expect("an agent");
    let store = Arc::new(SqliteStore::open(&path).await.expect("a store"));
    let mut session = agent.start(store.clone(), "greetings", None).await.expect("a session");
    session.prompt("say \"hello\" \u{1f44b}", &Cancel::new()).await.expect("an answer");
    let (id, tree) = (session.id().clone(), notation::print_tree(session.tree()));
    drop(session);

    // On the wire: the words of the person, byte for byte, and nothing that the harness keeps for itself.
    let request = asked.lock().expect("one thread").pop().expect("one request");
    let body = String::from_utf8(Anthropic::new().encode(&request).expect("it is legal").body.to_vec())
        .expect("JSON is UTF-8");
    assert!(body.contains(r#"say \"hello\" 👋"#), "{body}");

    // In the log: in the order in which it happened.
    let log = store.load(&id).await.expect("a log");
    let kinds = log.records.iter().map(|(seq, record)| match record {
        Record::Entry(_) => format!("{seq} entry"),
        Record::Note(note) => format!("{seq} {}/{}", note.layer, note.kind),
        Record::Blob(blob) => format!("{seq} blob {}/{}", blob.layer, blob.kind),
    });
    expect![[r#"
        [
            "1 entry",
            "2 entry",
            "3 decision/opened",
            "4 decision/run",
            "5 entry",
            "6 decision/decided",
            "7 decision/run",
        ]
    "#]]
    .assert_debug_eq(&kinds.collect::<Vec<_>>());

    // Out and in again, in another kind of store: the identity, digests included.
    let mut lines = Vec::new();
    export(store.as_ref(), &id, &mut lines).await.expect("memory takes everything");
    let elsewhere = MemoryStore::new();
    import(&elsewhere, lines.as_slice()).await.expect("our own export");
    assert_eq!(elsewhere.load(&id).await.expect("the same log"), log);
    let mut again = Vec::new();
    export(&elsewhere, &id, &mut again).await.expect("memory takes everything");
    assert_eq!(String::from_utf8(again).expect("text"), String::from_utf8(lines).expect("text"));

    // And after a restart.
    drop(store);
    let store = Arc::new(SqliteStore::open(&path).await.expect("the same store"));
    let session = agent.open(store, &id).await.expect("the same session");
    assert_eq!(notation::print_tree(session.tree()), tree);
}
