//! What `docs/format.md` shows is what is written, and its digests are the ones.

use trunkline_session_store::{Digest, Kept, MemoryStore, SessionId, SessionStore, export, import};

use crate::read;

/// Returns the blocks of a page in one language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("\n```{language}\n");
    page.split(opening.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

/// Takes in the session of the page; returns it with its lines.
async fn session_of(page: &str) -> (MemoryStore, SessionId, &str) {
    let mut found = blocks(page, "json").into_iter().filter(|block| block.starts_with("{\"trunkline\""));
    let lines = found.next().expect("the page has a session");
    let store = MemoryStore::new();
    let sessions = import(&store, lines.as_bytes()).await.expect("it can be taken in");
    let [info] = sessions.as_slice() else { panic!("{sessions:?}") };
    (store, info.id.clone(), lines)
}

#[tokio::test]
async fn the_session_of_the_page_is_an_export() {
    let page = read("docs/format.md");
    let (store, session, lines) = session_of(&page).await;
    let mut again = Vec::new();
    export(&store, &session, &mut again).await.expect("it can be written");
    assert_eq!(String::from_utf8_lossy(&again), lines);
}

#[tokio::test]
async fn the_digests_of_the_page_are_those_of_its_session() {
    let page = read("docs/format.md");
    let (store, session, _) = session_of(&page).await;
    let kept = store.read(&session, 1, 2).await.expect("it has three records");
    let [before, third] = kept.as_slice() else { panic!("{kept:?}") };
    let body = Digest::of(third.body.as_bytes());
    let canonical = Kept::canonical(third.seq, &third.spine, body, before.digest);
    let genesis = Digest::genesis(&session);
    let shell = [
        "digest() { printf %s \"$1\" | sha256sum; }".to_owned(),
        format!("digest 'trunkline session {session}'\n# {genesis}, before record 1"),
        format!("digest '{}'\n# {body}, its body", third.body),
        format!("digest '{canonical}'\n# {}, record 3\n", third.digest),
    ];
    assert_eq!(blocks(&page, "sh"), [shell.join("\n")]);
}
