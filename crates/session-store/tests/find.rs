//! Finding sessions by words, titles and tags.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{Content, Message, MessageTree, NodeId, Timestamp, ToolCall};
use trunkline_session_store::{
    Amend, Batch, Find, MemoryStore, NewSession, Position, Record, SessionId, SessionStore, find,
};

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn id(number: u32) -> SessionId {
    SessionId::parse(&format!("00000000-0000-7000-8000-{number:012x}")).unwrap()
}

/// Keeps a session with that title in which these messages were said.
async fn keep(store: &MemoryStore, number: u32, title: &str, said: Vec<Message>) {
    let tree = MessageTree::new(Message::system("Speak of the weather."), Timestamp(0));
    let root = tree.root_entry();
    let new = NewSession {
        id: id(number),
        title: title.to_owned(),
        workspace: None,
        at: Timestamp(u64::from(number)),
        root,
    };
    store.create(new).await.unwrap();
    let mut draft = tree.draft();
    for message in said {
        draft.append(message, Timestamp(u64::from(number))).unwrap();
    }
    let records = draft.into_entries().into_iter().map(Record::Entry).collect();
    let lease = store.lease(&id(number)).await.unwrap();
    store.append(&lease, Batch::new(Position { seq: 1, head: NodeId::ROOT }, records)).await.unwrap();
}

fn called(arguments: &str) -> Message {
    let call = ToolCall { id: "c1".into(), name: "run".into(), arguments: arguments.into(), signature: None };
    let mut message = Message::assistant("");
    message.content = vec![
        Content::Thinking { text: "Better look twice.".into(), signature: None },
        Content::ToolCall(call),
    ];
    message
}

/// Three sessions: the newest is archived.
async fn three() -> MemoryStore {
    let store = MemoryStore::new();
    let rain = vec![Message::user("Will it rain in Łódź?"), called(r#"{"command":"curl wttr.in"}"#)];
    keep(&store, 1, "umbrella", rain).await;
    let said =
        vec![Message::user("Fix\nthe NULL pointer"), Message::tool_result("c1", "two tests FAILED", true)];
    keep(&store, 2, "a crash", said).await;
    keep(&store, 3, "Old rain", vec![Message::user("nothing")]).await;
    store.amend(&id(2), Amend::tags(["urgent", "work"])).await.unwrap();
    store.amend(&id(3), Amend::archived(true)).await.unwrap();
    store
}

fn check(search: &Find, expected: &Expect) {
    let shown = run(async {
        let found = find(&three().await, search).await.unwrap();
        let lines = found.iter().map(|found| {
            let hit = found.hit.as_ref();
            let hit = hit.map(|hit| format!("{} {}<{}>{}", hit.node, hit.before, hit.found, hit.after));
            format!("{}: {}\n", found.info.title, hit.unwrap_or_else(|| "(title or tags)".to_owned()))
        });
        lines.collect::<String>()
    });
    expected.assert_eq(&shown);
}

#[test]
fn a_search_for_nothing_finds_everything_and_the_newest_first() {
    check(
        &Find::default(),
        &expect![[r#"
            Old rain: (title or tags)
            a crash: (title or tags)
            umbrella: (title or tags)
        "#]],
    );
}

#[test]
fn a_word_is_found_in_titles_and_in_what_was_said_but_not_in_the_instructions() {
    check(
        &Find::words(["RAIN"]),
        &expect![[r#"
            Old rain: (title or tags)
            umbrella: n1 Will it <rain> in Łódź?
        "#]],
    );
    check(&Find::words(["weather"]), &expect![""]);
}

#[test]
fn all_words_have_to_occur_wherever_they_stand() {
    check(
        &Find::words(["failed", "null pointer", "urgent"]),
        &expect![[r#"
        a crash: n1 Fix the <NULL pointer>
    "#]],
    );
    check(&Find::words(["failed", "umbrella"]), &expect![""]);
}

#[test]
fn thinking_arguments_and_results_are_searched() {
    check(
        &Find::words(["look twice"]),
        &expect![[r#"
        umbrella: n2 Better <look twice>.
    "#]],
    );
    check(
        &Find::words(["wttr"]),
        &expect![[r#"
        umbrella: n2 {"command":"curl <wttr>.in"}
    "#]],
    );
    check(
        &Find::words(["tests failed"]),
        &expect![[r#"
        a crash: n2 two <tests FAILED>
    "#]],
    );
}

#[test]
fn arguments_are_found_as_they_are_written_and_as_they_are_meant() {
    let found = |word: &str| {
        run(async {
            let store = MemoryStore::new();
            let arguments = r#"{"edits":[{"text":"say \"hello\"\nto Gr\u00f6\u00dfe"}]}"#;
            keep(&store, 1, "", vec![called(arguments)]).await;
            let found = find(&store, &Find::words([word])).await.unwrap();
            found.into_iter().next().and_then(|found| found.hit).map(|hit| hit.found)
        })
    };
    assert_eq!(found("\"hello\""), Some("\"hello\"".to_owned()));
    assert_eq!(found("\"\nto"), Some("\" to".to_owned()));
    assert_eq!(found("GRÖßE"), Some("Größe".to_owned()));
    assert_eq!(found(r#"\"hello\""#), Some(r#"\"hello\""#.to_owned()));
    assert_eq!(found("edits"), Some("edits".to_owned()));
    assert_eq!(found("nto"), Some("nto".to_owned()));
    assert_eq!(found("hello to"), None);
}

#[test]
fn a_sigma_is_found_wherever_it_stands_in_a_word() {
    let found = |said: &str, word: &str| {
        run(async {
            let store = MemoryStore::new();
            keep(&store, 1, "", vec![Message::user(said)]).await;
            let found = find(&store, &Find::words([word])).await.unwrap();
            found.into_iter().next().and_then(|found| found.hit).map(|hit| hit.found)
        })
    };
    assert_eq!(found("ο δρόμος είναι", "ΔΡΌΜΟΣ"), Some("δρόμος".to_owned()));
    assert_eq!(found("Ο ΔΡΌΜΟΣ", "δρόμος"), Some("ΔΡΌΜΟΣ".to_owned()));
}

#[test]
fn letters_of_all_scripts_have_two_cases() {
    check(
        &Find::words(["łÓDŹ"]),
        &expect![[r#"
        umbrella: n1 Will it rain in <Łódź>?
    "#]],
    );
}

#[test]
fn tags_and_the_archive_narrow_it_down() {
    let mut search = Find::default();
    search.tags = ["work".to_owned(), "urgent".to_owned()].into();
    check(
        &search,
        &expect![[r#"
        a crash: (title or tags)
    "#]],
    );
    search.tags = ["wor".to_owned()].into();
    check(&search, &expect![""]);
    let mut search = Find::words(["rain"]);
    search.archived = Some(false);
    check(
        &search,
        &expect![[r#"
        umbrella: n1 Will it <rain> in Łódź?
    "#]],
    );
    search.archived = Some(true);
    check(
        &search,
        &expect![[r#"
        Old rain: (title or tags)
    "#]],
    );
}

#[test]
fn titles_alone_are_found_without_reading_a_log() {
    let mut search = Find::words(["rain"]);
    search.titles = true;
    check(
        &search,
        &expect![[r#"
        Old rain: (title or tags)
    "#]],
    );
}

#[test]
fn a_hit_shows_a_little_of_what_stands_around_it() {
    let said = format!("{} needle {}", "hay ".repeat(100), "straw ".repeat(100));
    let found = run(async {
        let store = MemoryStore::new();
        keep(&store, 1, "", vec![Message::user(said)]).await;
        find(&store, &Find::words(["Needle"])).await.unwrap()
    });
    let hit = found.first().and_then(|found| found.hit.clone()).unwrap();
    expect!["…ay hay hay hay hay hay hay hay hay hay  |needle| straw straw straw straw straw straw straw straw straw straw straw straw straw s…"]
        .assert_eq(&format!("{}|{}|{}", hit.before, hit.found, hit.after));
}

proptest! {
    /// Whatever stands in a text is found, and the hit is that very piece of it.
    #[test]
    fn every_piece_of_a_text_is_found_in_it(text in "\\PC{0,60}", from in 0_usize..60, length in 1_usize..10) {
        let piece: String = text.chars().skip(from).take(length).collect();
        prop_assume!(!piece.is_empty());
        let found = run(async {
            let store = MemoryStore::new();
            keep(&store, 1, "", vec![Message::user(text.as_str())]).await;
            find(&store, &Find::words([piece.as_str()])).await.unwrap()
        });
        let hit = found.first().and_then(|found| found.hit.clone()).unwrap();
        let fold = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<String>().replace('ς', "σ");
        prop_assert!(fold(&hit.found).contains(&fold(&piece)), "{:?} for {piece:?}", hit.found);
        let around = format!("{}{}{}", hit.before.trim_start_matches('…'), hit.found, hit.after.trim_end_matches('…'));
        prop_assert!(text.contains(&around), "{around:?} in {text:?}");
    }
}
