//! Lines of JSON: what they look like, and what is refused.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{Message, MessageTree, NodeId, Timestamp};
use trunkline_session_store::{
    Amend, Batch, Blob, Digest, Import, ImportError, Log, MemoryStore, NewSession, Note, ParseSessionIdError,
    Record, Restoring, SessionId, SessionInfo, SessionStore, StoreError, export, import,
};

use crate::material::{batch, filed, head_move, loaded, new_session, node, note, root, session, show, words};

/// A session with a record of every kind.
pub(crate) async fn sample() -> MemoryStore {
    let store = MemoryStore::new();
    store.create(NewSession { title: "rain".to_owned(), workspace: None, ..new_session(1) }).await.unwrap();
    store.amend(&session(1), Amend::tags(["wet", "late"])).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let seen = Note::new("weather", "rain", Timestamp(12), "null").once("today", "seen");
    let (layer, kind) = ("files".to_owned(), "before".to_owned());
    let records = vec![
        node(1, 0, "zwei\nZeilen"),
        note("{\"mm\": 1.50}"),
        Record::Note(seen),
        Record::Blob(Blob { layer, kind, at: Timestamp(9), bytes: b"wet".to_vec() }),
        head_move(1, 0),
        filed(2, 1, "late"),
    ];
    store.append(&lease, batch(1, 0, records)).await.unwrap();
    store
}

pub(crate) async fn exported(store: &MemoryStore) -> String {
    let mut bytes = Vec::new();
    export(store, &session(1), &mut bytes).await.unwrap();
    String::from_utf8(bytes).unwrap()
}

/// The same as version 2 had it: nothing closes it, and nothing says what its header was.
pub(crate) fn unsealed(text: &str) -> String {
    let header = |line: &str| {
        let session = &line[line.find("\"session\":{").unwrap()..line.rfind(",\"seal\"").unwrap()];
        format!("{{\"trunkline\":\"session\",\"version\":2,{session}}}")
    };
    let lines = text.lines().filter(|line| !line.starts_with("{\"trunkline\":\"end\""));
    let lines = lines.map(|line| match line.starts_with("{\"trunkline\"") {
        true => header(line),
        false => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

/// Imports text and shows the sessions or the refusal.
pub(crate) async fn check(text: &str, expected: Expect) {
    let store = MemoryStore::new();
    let shown = match import(&store, text.as_bytes()).await {
        Ok(sessions) => {
            let mut shown = String::new();
            for info in sessions {
                shown += &show(&store.load(&info.id).await.unwrap());
            }
            shown
        }
        Err(error) => words(&error),
    };
    expected.assert_eq(&shown);
}

#[tokio::test]
async fn a_session_is_a_header_and_a_record_a_line() {
    expect![[r#"
        {"trunkline":"session","version":3,"of":1,"session":{"id":"00000000-0000-7000-8000-000000000001","title":"rain","tags":["late","wet"],"workspace":null,"created_at":1,"head":"n0","records":7,"nodes":3,"digest":"5880f7a50c4e4d2f3f14d402ef1f447719f4b1b959c852205b14c0d64cb6fa18"},"seal":"2fbc39ff1d2974bd81d6c733268324e64ff8905c8b643e87d08d36e6cc341cf4"}
        {"seq":1,"entry":"node","id":"n0","parent":null,"at":1,"message":{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]},"digest":"4df9529792059d23b2108e4fb6abeefa4fa025deb13c07b9339c271d9301b0e8"}
        {"seq":2,"entry":"node","id":"n1","parent":"n0","at":10,"message":{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"zwei\nZeilen"}]},"digest":"964292ffe5eb40c8910531b3d4b608e64755e33db764c80763db756227c3a36b"}
        {"seq":3,"entry":"note","layer":"weather","kind":"rain","at":12,"body":{"mm": 1.50},"digest":"dc1bec918ce4de5fd0714e6a7e9e4f6ae0f71505811749f06709062e5da747a1"}
        {"seq":4,"entry":"note","layer":"weather","kind":"rain","at":12,"key":"today","state":"seen","once":true,"body":null,"digest":"d60f0c75910e9206e8b24cd674116209359df0670c1fe48aadcb1b6000199ff1"}
        {"seq":5,"entry":"blob","layer":"files","kind":"before","at":9,"content":"534c51e17770c9b7a5aa186bec09fd9470653e25f39651277bcc2fb1f620acd0","base64":"d2V0","digest":"7042c9377b9a151c9e9e7deb56079babd1d1e0fbf5fc4b8a1000bd2bcac381fa"}
        {"seq":6,"entry":"move","from":"n1","to":"n0","at":11,"kind":"person_revert","digest":"cc7777641a630aa08b99c3a28b031658628fb20589665cd9c92ca4664361d19a"}
        {"seq":7,"entry":"node","id":"n2","parent":"n1","at":10,"filed":true,"message":{"node":"n2","role":"user","author":"person","content":[{"type":"text","text":"late"}]},"digest":"5880f7a50c4e4d2f3f14d402ef1f447719f4b1b959c852205b14c0d64cb6fa18"}
        {"trunkline":"end","version":3,"sessions":1,"records":7,"digest":"8828eb266ee3639b2b7354f2fc34965d23f6f9746803cd80d9dc80ff4cb5b2b6"}
    "#]].assert_eq(&exported(&sample().await).await);
}

#[tokio::test]
async fn what_was_written_without_digests_is_chained_when_it_is_read() {
    let text = concat!(
        r#"{"trunkline":"session","version":1,"session":{"id":"00000000-0000-7000-8000-000000000001","title":"rain","workspace":null,"created_at":1,"updated_at":12,"head":"n0","records":4,"nodes":2}}"#,
        "\n",
        r#"{"seq":1,"entry":"node","id":"n0","parent":null,"at":1,"message":{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]}}"#,
        "\n",
        r#"{"seq":2,"entry":"node","id":"n1","parent":"n0","at":10,"message":{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"zwei\nZeilen"}]}}"#,
        "\n",
        r#"{"seq":3,"entry":"note","layer":"weather","kind":"rain","at":12,"body":{"mm": 1.50}}"#,
        "\n",
        r#"{"seq":4,"entry":"move","from":"n1","to":"n0","kind":"person_revert","at":11}"#,
        "\n",
    );
    check(
        text,
        expect![[r#"
        1 "rain": 4 records, 2 nodes, head n0, 1 ms to 12 ms
        1 n0 after nothing: be brief
        2 n1 after n0: zwei
        Zeilen
        3 weather/rain {"mm": 1.50}
        4 head n1 -> n0
    "#]],
    )
    .await;
    let store = MemoryStore::new();
    import(&store, text.as_bytes()).await.unwrap();
    assert_eq!(store.verify(&session(1)).await.unwrap().records, 4);
}

#[tokio::test]
async fn what_is_unknown_within_a_version_is_passed_over() {
    let text = unsealed(&exported(&sample().await).await);
    let text = text.replace("\"seq\":2,", "\"seq\":2,\"colour\":\"blue\",");
    let text = text.replace("\"title\"", "\"mood\":[],\"title\"");
    check(
        &text,
        expect![[r#"
            1 "rain": 7 records, 3 nodes, head n0, 1 ms to 12 ms
            1 n0 after nothing: be brief
            2 n1 after n0: zwei
            Zeilen
            3 weather/rain {"mm": 1.50}
            4 weather/rain about "today" null
            5 files/before 3 bytes
            6 head n1 -> n0
            7 n2 filed under n1: late
        "#]],
    )
    .await;
}

#[tokio::test]
async fn blank_lines_and_foreign_line_ends_do_no_harm() {
    let text = exported(&sample().await).await;
    let store = MemoryStore::new();
    import(&store, text.replace('\n', "\r\n\r\n").as_bytes()).await.unwrap();
    assert_eq!(exported(&store).await, text);
}

#[tokio::test]
async fn several_sessions_stand_one_after_the_other() {
    let store = sample().await;
    store.create(new_session(2)).await.unwrap();
    let mut bytes = Vec::new();
    for number in [2, 1] {
        export(&store, &session(number), &mut bytes).await.unwrap();
    }
    let text = String::from_utf8(bytes).unwrap();
    let other = MemoryStore::new();
    let sessions = import(&other, text.as_bytes()).await.unwrap();
    let titles: Vec<String> = sessions.into_iter().map(|info: SessionInfo| info.title).collect();
    assert_eq!(titles, ["session 2", "rain"]);
    assert_eq!(loaded(&other, 2).await, loaded(&store, 2).await);
    // The first of them stays although the second is refused.
    let third = MemoryStore::new();
    let end = text.trim_end().rfind('\n').unwrap();
    import(&third, &text.as_bytes()[..end - 10]).await.unwrap_err();
    assert_eq!(third.sessions().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_newer_version_is_refused_even_if_its_session_looks_different() {
    check(
        "{\"trunkline\":\"session\",\"version\":4,\"session\":[]}\n",
        expect!["written in version 4 of the form, this program reads up to 3"],
    )
    .await;
}

#[tokio::test]
async fn something_else_is_not_a_session() {
    let refusal = || expect![[r#"not an exported session: line 1 should start with {"trunkline":"session""#]];
    check("", refusal()).await;
    check("{\"type\":\"session\",\"version\":3,\"id\":\"x\"}\n", refusal()).await;
    check("{\"trunkline\":\"session\",\"version\":0,\"session\":{}}\n", refusal()).await;
}

#[tokio::test]
async fn a_file_that_was_cut_between_lines_is_noticed() {
    let text = exported(&sample().await).await;
    let lines: Vec<&str> = text.lines().collect();
    check(&lines[..3].join("\n"), expect!["the file was cut off: 2 of 7 records"]).await;
}

/// Two sessions in one file, and where the second begins.
async fn library() -> (String, usize) {
    let store = sample().await;
    store.create(new_session(2)).await.unwrap();
    let first = exported(&store).await;
    let mut bytes = Vec::new();
    export(&store, &session(2), &mut bytes).await.unwrap();
    let second = first.len();
    (first + std::str::from_utf8(&bytes).unwrap(), second)
}

#[test]
fn a_session_that_is_passed_over_and_was_cut_off_is_told_and_passed_over() {
    let (text, second) = block_on(library());
    let (header, _) = text.split_once('\n').unwrap();
    for rest in ["", "\n", &text[second..]] {
        let file = format!("{header}\n{rest}");
        let mut import = Import::new(file.as_bytes());
        import.next_session().unwrap().unwrap();
        let cut = import.next_session().unwrap_err();
        assert!(matches!(cut, ImportError::CutOff { found: 0, expected: 7 }), "{cut:?}");
        let next = import.next_session();
        if rest.len() > 1 {
            assert_eq!(next.unwrap().map(|header| header.id), Some(session(2)));
            continue;
        }
        assert!(matches!(next, Err(ImportError::NotClosed { found: 1, expected: 1 })), "{next:?}");
        assert!(import.next_session().unwrap().is_none());
    }
}

#[test]
fn whatever_is_left_of_a_file_its_sessions_come_to_an_end() {
    let (text, _) = block_on(library());
    for end in 0..=text.len() {
        // With none, some or all of its records read before the next one is asked for.
        for read in [0, 3, usize::MAX] {
            let mut import = Import::new(&text.as_bytes()[..end]);
            let mut steps = 0;
            // A file without a session says so as often as it is asked.
            let mut empty = false;
            while !empty {
                steps += 1;
                assert!(steps < 20, "{end} bytes do not end");
                match import.next_session() {
                    Ok(None) => break,
                    Ok(Some(_)) => drop(import.rows().take(read).take_while(Result::is_ok).count()),
                    Err(error) => empty = matches!(error, ImportError::NotOurs { line: 1 }),
                }
            }
        }
    }
}

#[tokio::test]
async fn a_session_is_whole_whatever_stands_behind_it() {
    let (text, second) = library().await;
    let header = second + text[second..].find('\n').unwrap();
    let mut files: Vec<Vec<u8>> = (second + 1..=header).map(|end| text.as_bytes()[..end].to_vec()).collect();
    let rest = &text[header + 1..];
    for garbage in [
        "garbage\n",
        "{}\n",
        "{\"seq\":8}\n",
        "\0\n",
        rest,
        &text[..second].replace("\"seq\":7", "\"seq\":9"),
    ] {
        files.push(format!("{}{garbage}{rest}", &text[..second]).into_bytes());
    }
    let mut bytes = text.as_bytes()[..second].to_vec();
    bytes.extend(b"\xff\xfe\n");
    files.push(bytes);
    for file in files {
        let store = MemoryStore::new();
        let shown = String::from_utf8_lossy(&file[second..]).into_owned();
        import(&store, file.as_slice()).await.expect_err(&shown);
        assert_eq!(store.sessions().await.unwrap().len(), 1, "{shown}");
        assert_eq!(exported(&store).await, text[..second]);
    }
}

#[tokio::test]
async fn a_record_more_than_promised_refuses_its_session() {
    let text = unsealed(&exported(&sample().await).await);
    let more = r#"{"seq":8,"entry":"note","layer":"l","kind":"k","at":1,"body":1,"digest":"5880f7a50c4e4d2f3f14d402ef1f447719f4b1b959c852205b14c0d64cb6fa18"}"#;
    let text = format!("{text}{more}\n{text}");
    check(&text, expect![[r#"the session cannot be taken in: record 8 of session 00000000-0000-7000-8000-000000000001 is damaged: the header promises 7 records"#]]).await;
}

#[tokio::test]
async fn a_digest_in_a_file_of_a_version_without_digests_is_refused() {
    let text = unsealed(&exported(&sample().await).await).replace("\"version\":2", "\"version\":1");
    check(&text, expect!["line 1, column 1: version 1 has no digests, and here is one"]).await;
    let (header, rest) = text.split_once('\n').unwrap();
    let (header, _) = header.split_once(",\"digest\"").unwrap();
    let text = format!("{header}}}}}\n{rest}");
    check(&text, expect!["line 2, column 1: version 1 has no digests, and here is one"]).await;
}

#[tokio::test]
async fn a_file_that_was_cut_inside_a_line_names_it() {
    let text = unsealed(&exported(&sample().await).await);
    check(&text[..text.len() - 10], expect!["line 8, column 234: EOF while parsing a string"]).await;
}

#[tokio::test]
async fn a_line_that_is_no_record_is_named() {
    let text = exported(&sample().await).await.replace("\"note\"", "\"dream\"");
    check(&text, expect![[r#"line 4 is none of node, move, note, blob, but "dream""#]]).await;
}

#[tokio::test]
async fn lines_in_another_order_are_no_session() {
    let text = exported(&sample().await).await;
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(2, 3);
    check(&lines.join("\n"), expect!["the session cannot be taken in: record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: record 3 stands in its place"]).await;
}

#[tokio::test]
async fn a_changed_body_breaks_the_chain_where_it_stands() {
    let text = exported(&sample().await).await.replace("1.50", "1.51");
    check(&text, expect!["the session cannot be taken in: the chain of session 00000000-0000-7000-8000-000000000001 breaks at record 3: its digest is dc1bec918ce4de5fd0714e6a7e9e4f6ae0f71505811749f06709062e5da747a1, db8518fb4d71875bf5f763f9618398b461095c3d46d265effd0092a1786ea8b4 would follow"]).await;
}

#[tokio::test]
async fn a_changed_name_breaks_the_chain_at_the_first_record() {
    let text = unsealed(&exported(&sample().await).await).replace("000000000001", "000000000002");
    check(&text, expect!["the session cannot be taken in: the chain of session 00000000-0000-7000-8000-000000000002 breaks at record 1: its digest is 4df9529792059d23b2108e4fb6abeefa4fa025deb13c07b9339c271d9301b0e8, 08c3a452117518b25d1b297b0807e45ec780cac6a5e220b4d15ce3aacbe22fc2 would follow"]).await;
}

#[tokio::test]
async fn a_key_that_may_be_noted_once_and_is_there_twice_is_refused() {
    let store = MemoryStore::new();
    store.create(new_session(1)).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let about = || Note::new("weather", "rain", Timestamp(1), "1").about("k", "");
    let records = vec![Record::Note(about()), Record::Note(about().once("other", ""))];
    store.append(&lease, batch(1, 0, records)).await.unwrap();
    let log = store.read(&session(1), 0, 10).await.unwrap();
    let info = store.info(&session(1)).await.unwrap();
    let mut header = trunkline_session_store::Header::of(&info);
    let mut spine = log[1].spine.clone();
    if let trunkline_session_store::Spine::Note { key: Some(key), .. } = &mut spine {
        key.once = true;
    }
    let again = trunkline_session_store::Kept::chained(4, spine, "1".to_owned(), info.digest);
    (header.records, header.digest) = (4, Some(again.digest));
    let mut rows = log.into_iter().chain([again]).map(Ok);
    let refused = MemoryStore::new().restore(Restoring::new(header, &mut rows)).await.unwrap_err();
    let ImportError::Store { source } = refused else { panic!("{refused}") };
    assert!(matches!(*source, StoreError::KeyTaken { seq: 2, .. }), "{source}");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_named() {
    let mut bytes = exported(&sample().await).await.into_bytes();
    let place = bytes.windows(2).rposition(|two| two == b"mm").unwrap();
    bytes[place] = 0xff;
    let error = import(&MemoryStore::new(), bytes.as_slice()).await.unwrap_err();
    assert!(matches!(error, ImportError::Io { line: 4, .. }), "{error:?}");
}

#[test]
fn a_session_id_is_a_uuid_in_lower_case() {
    let id = "0198c3f0-6d5e-7cc3-98c6-5fa3a2b1c0de";
    assert_eq!(SessionId::parse(id).map(|id| id.to_string()), Ok(id.to_owned()));
    for text in [
        "",
        "0198c3f0",
        &id.to_uppercase(),
        &id.replace('-', "0"),
        &format!("{id} "),
        "../../../../../../../../../etc/passwd",
    ] {
        assert_eq!(SessionId::parse(text), Err(ParseSessionIdError { text: text.to_owned() }));
    }
}

#[test]
fn a_digest_is_sixty_four_digits_in_lower_case() {
    let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(Digest::of(b"abc").to_string(), text);
    assert_eq!(Digest::parse(text).unwrap(), Digest::of(b"abc"));
    for text in ["", &text[1..], &format!("{text}0"), &text.to_uppercase(), &text.replace('b', "g")] {
        assert!(Digest::parse(text).is_err(), "{text:?}");
    }
}

/// Any record that can come after what is there.
#[derive(Clone, Debug)]
enum Step {
    Node(String),
    Filed(u32, String),
    Move(u32),
    Note(String, String, u64),
    Blob(Vec<u8>),
}

fn step() -> impl Strategy<Value = Step> {
    // A name without the one character that no store keeps.
    let name = any::<String>().prop_map(|name| name.replace('\0', ""));
    prop_oneof![
        any::<String>().prop_map(Step::Node),
        (any::<u32>(), any::<String>()).prop_map(|(parent, text)| Step::Filed(parent, text)),
        any::<u32>().prop_map(Step::Move),
        (name, any::<String>(), any::<u64>()).prop_map(|(kind, text, at)| Step::Note(kind, text, at)),
        any::<Vec<u8>>().prop_map(Step::Blob),
    ]
}

async fn log_of(title: String, at: u64, steps: Vec<Step>) -> MemoryStore {
    let at = Timestamp(at);
    let mut tree = MessageTree::new(Message::system(title.as_str()), at);
    let mut records = Vec::new();
    for step in steps {
        let any = |number: u32| NodeId::new(number % tree.len() as u32);
        let mut draft = tree.draft();
        let (layer, blob) = (title.clone(), "blob".to_owned());
        match step {
            Step::Node(text) => drop(draft.append(Message::user(text), at).unwrap()),
            Step::Filed(parent, text) => drop(draft.file(any(parent), Message::harness(text), at).unwrap()),
            Step::Move(to) => {
                let kind = trunkline_message_tree::MoveKind::ModelRevert;
                let (from, to) = (tree.head(), any(to));
                draft.move_head(trunkline_message_tree::HeadMove { from, to, kind, at }).unwrap();
            }
            Step::Note(kind, text, at) => {
                let body = serde_json::to_string(&text).unwrap();
                let note = Note::new(layer, kind, Timestamp(at), body);
                let key = text.replace('\0', "");
                records.push(Record::Note(if text.len() % 2 == 0 {
                    note
                } else {
                    note.about(key, title.clone())
                }));
            }
            Step::Blob(bytes) => records.push(Record::Blob(Blob { layer, kind: blob, at, bytes })),
        }
        for entry in draft.into_entries() {
            records.push(Record::Entry(entry.clone()));
            tree.record(entry).unwrap();
        }
    }
    let store = MemoryStore::new();
    let root = root(&title, at);
    let new = NewSession { id: session(1), title: title.clone(), workspace: Some(title), at, root };
    store.create(new).await.unwrap();
    let lease = store.lease(&session(1)).await.unwrap();
    let position = store.load(&session(1)).await.unwrap().position();
    store.append(&lease, Batch::new(position, records)).await.unwrap();
    store
}

fn block_on<T>(what: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(what)
}

/// Reads the first session of a file without a store.
fn read(text: &[u8]) -> Result<Log, ImportError> {
    let mut import = Import::new(text);
    let header = import.next_session()?.ok_or(ImportError::NotOurs { line: 1 })?;
    Restoring::new(header, &mut import.rows()).into_log()
}

proptest! {
    #[test]
    fn import_of_an_export_is_the_identity(
        title in any::<String>(),
        at in any::<u64>(),
        steps in proptest::collection::vec(step(), 0..20),
    ) {
        let title = title.replace('\0', "");
        block_on(async {
            let store = log_of(title, at, steps).await;
            let text = exported(&store).await;
            let log = store.load(&session(1)).await.unwrap();
            prop_assert_eq!(text.lines().count(), log.records.len() + 2);
            let again = MemoryStore::new();
            import(&again, text.as_bytes()).await.unwrap();
            prop_assert_eq!(again.load(&session(1)).await.unwrap(), log.clone());
            prop_assert_eq!(exported(&again).await, text.clone());
            prop_assert_eq!(read(text.as_bytes()).unwrap(), log);
            prop_assert_eq!(again.verify(&session(1)).await.unwrap(), store.verify(&session(1)).await.unwrap());
            Ok(())
        })?;
    }

    #[test]
    fn no_text_makes_the_import_panic(
        text in any::<String>(),
        place in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let _ = read(text.as_bytes());
        let mut bytes = block_on(async { exported(&sample().await).await }).into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = read(&bytes);
    }
}
