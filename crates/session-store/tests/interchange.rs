//! Lines of JSON: what they look like, and what is refused.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{Message, MessageTree, NodeId, Timestamp};
use trunkline_session_store::{
    ImportError, Log, Note, ParseSessionIdError, Record, SessionId, SessionInfo, export, import,
};

use crate::material::{head_move, node, note, root, session, show};

fn sample() -> Log {
    let root = root("be brief", Timestamp(1));
    let records = [Record::Entry(root), node(1, 0, "zwei\nZeilen"), note("{\"mm\": 1.50}"), head_move(1, 0)];
    let info = SessionInfo {
        id: session(1),
        title: "rain".to_owned(),
        workspace: None,
        created_at: Timestamp(1),
        updated_at: Timestamp(12),
        head: NodeId::ROOT,
        records: 4,
        nodes: 2,
    };
    Log { info, records: (1..).zip(records).collect() }
}

fn exported(log: &Log) -> String {
    let mut bytes = Vec::new();
    export(log, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

/// Imports text and shows the session or the refusal.
fn check(text: &str, expected: Expect) {
    let shown = match import(text.as_bytes()) {
        Ok(log) => show(&log),
        Err(error) => {
            let mut line = error.to_string();
            let mut source = std::error::Error::source(&error);
            while let Some(cause) = source {
                line += &format!(": {cause}");
                source = cause.source();
            }
            line
        }
    };
    expected.assert_eq(&shown);
}

#[test]
fn a_session_is_a_header_and_a_record_a_line() {
    expect![[r#"
        {"trunkline":"session","version":1,"session":{"id":"00000000-0000-7000-8000-000000000001","title":"rain","workspace":null,"created_at":1,"updated_at":12,"head":"n0","records":4,"nodes":2}}
        {"seq":1,"entry":"node","id":"n0","parent":null,"at":1,"message":{"node":"n0","role":"system","author":"harness","content":[{"type":"text","text":"be brief"}]}}
        {"seq":2,"entry":"node","id":"n1","parent":"n0","at":10,"message":{"node":"n1","role":"user","author":"person","content":[{"type":"text","text":"zwei\nZeilen"}]}}
        {"seq":3,"entry":"note","layer":"weather","kind":"rain","at":12,"body":{"mm": 1.50}}
        {"seq":4,"entry":"move","from":"n1","to":"n0","kind":"person_revert","at":11}
    "#]].assert_eq(&exported(&sample()));
}

#[test]
fn what_is_unknown_within_a_version_is_passed_over() {
    let text = exported(&sample());
    let text = text
        .replace("\"seq\":2,", "\"seq\":2,\"digest\":\"00\",")
        .replace("\"title\"", "\"tags\":[],\"title\"");
    check(
        &text,
        expect![[r#"
        1 "rain": 4 records, 2 nodes, head n0, 1 ms to 12 ms
        1 n0 after nothing: be brief
        2 n1 after n0: zwei
        Zeilen
        3 weather/rain {"mm": 1.50}
        4 head n1 -> n0
    "#]],
    );
}

#[test]
fn blank_lines_and_foreign_line_ends_do_no_harm() {
    let text = exported(&sample()).replace('\n', "\r\n\r\n");
    assert_eq!(import(text.as_bytes()).unwrap(), sample());
}

#[test]
fn a_newer_version_is_refused_even_if_its_session_looks_different() {
    check(
        "{\"trunkline\":\"session\",\"version\":2,\"session\":[]}\n",
        expect!["written in version 2 of the form, this program reads up to 1"],
    );
}

#[test]
fn something_else_is_not_a_session() {
    check("", expect![[r#"not an exported session: line 1 should start with {"trunkline":"session""#]]);
    check(
        "{\"type\":\"session\",\"version\":3,\"id\":\"x\"}\n",
        expect![[r#"not an exported session: line 1 should start with {"trunkline":"session""#]],
    );
    check(
        "{\"trunkline\":\"session\",\"version\":0,\"session\":{}}\n",
        expect![[r#"not an exported session: line 1 should start with {"trunkline":"session""#]],
    );
}

#[test]
fn a_file_that_was_cut_between_lines_is_noticed() {
    let text = exported(&sample());
    let lines: Vec<&str> = text.lines().collect();
    check(&lines[..3].join("\n"), expect!["the file was cut off: 2 of 4 records"]);
}

#[test]
fn a_file_that_was_cut_inside_a_line_names_it() {
    let text = exported(&sample());
    check(&text[..text.len() - 10], expect!["line 5, column 68: EOF while parsing an object"]);
}

#[test]
fn a_line_that_is_no_record_is_named() {
    let text = exported(&sample()).replace("\"note\"", "\"blob\"");
    check(&text, expect![[r#"line 4 is neither a node nor a move nor a note, but "blob""#]]);
}

#[test]
fn lines_in_another_order_are_no_session() {
    let text = exported(&sample());
    let mut lines: Vec<&str> = text.lines().collect();
    lines.swap(2, 3);
    check(
        &lines.join("\n"),
        expect![
            "the records do not fit each other: record 2 of session 00000000-0000-7000-8000-000000000001 is damaged: record 3 stands in its place"
        ],
    );
}

#[test]
fn bytes_that_are_no_text_are_named() {
    let mut bytes = exported(&sample()).into_bytes();
    let place = bytes.iter().rposition(|byte| *byte == b'm').unwrap();
    bytes[place] = 0xff;
    let error = import(bytes.as_slice()).unwrap_err();
    assert!(matches!(error, ImportError::Io { line: 5, .. }), "{error:?}");
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

/// Any record that can come after `nodes` nodes with the head at `head`.
#[derive(Clone, Debug)]
enum Step {
    Node(String),
    Filed(u32, String),
    Move(u32),
    Note(String, String, u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<String>().prop_map(Step::Node),
        (any::<u32>(), any::<String>()).prop_map(|(parent, text)| Step::Filed(parent, text)),
        any::<u32>().prop_map(Step::Move),
        (any::<String>(), any::<String>(), any::<u64>())
            .prop_map(|(kind, text, at)| Step::Note(kind, text, at)),
    ]
}

fn log_of(title: String, at: u64, steps: Vec<Step>) -> Log {
    let at = Timestamp(at);
    let mut tree = MessageTree::new(Message::system(title.as_str()), at);
    let mut records = vec![Record::Entry(root(&title, at))];
    for step in steps {
        let any = |number: u32| NodeId::new(number % tree.len() as u32);
        let mut draft = tree.draft();
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
                records.push(Record::Note(Note { layer: title.clone(), kind, at: Timestamp(at), body }));
            }
        }
        for entry in draft.into_entries() {
            records.push(Record::Entry(entry.clone()));
            tree.record(entry).unwrap();
        }
    }
    let info = SessionInfo {
        id: session(1),
        title: title.clone(),
        workspace: Some(title),
        created_at: at,
        updated_at: Timestamp(u64::MAX),
        head: tree.head(),
        records: records.len() as u64,
        nodes: tree.len() as u64,
    };
    Log { info, records: (1..).zip(records).collect() }
}

proptest! {
    #[test]
    fn import_of_an_export_is_the_identity(
        title in any::<String>(),
        at in any::<u64>(),
        steps in proptest::collection::vec(step(), 0..20),
    ) {
        let log = log_of(title, at, steps);
        let text = exported(&log);
        prop_assert_eq!(text.lines().count(), log.records.len() + 1);
        let again = import(text.as_bytes()).unwrap();
        prop_assert_eq!(&again, &log);
        prop_assert_eq!(exported(&again), text);
    }

    #[test]
    fn no_text_makes_the_import_panic(text in any::<String>(), place in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let _ = import(text.as_bytes());
        let mut bytes = exported(&sample()).into_bytes();
        let place = place.index(bytes.len());
        bytes[place] = byte;
        let _ = import(bytes.as_slice());
    }
}
