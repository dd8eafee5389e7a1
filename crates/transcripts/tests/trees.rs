//! A file as one tree.

use expect_test::{Expect, expect};
use trunkline_message_tree::{Message, MessageTree, NodeId, Timestamp, notation};
use trunkline_transcripts::{Format, Kind, Transcript, read};

use crate::show::{session, transcript};

fn shown(transcript: &Transcript) -> String {
    let mut out = String::new();
    for tree in transcript.trees() {
        match &tree.kind {
            Kind::Sidechain { call_id } => out.push_str(&format!("== sidechain of {call_id:?}\n")),
            _ => out.push_str(&format!("== {}\n", tree.id)),
        }
        out.push_str(&notation::print_tree(&tree.tree));
        for (node, mark) in &tree.marks {
            out.push_str(&format!("-- {node} {mark:?}\n"));
        }
    }
    out
}

fn check(lines: &str, expected: Expect) {
    expected.assert_eq(&shown(&transcript(&session(lines), Format::ClaudeCode)));
}

#[test]
fn what_was_left_hangs_where_it_was_left() {
    check(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
        u2 < a1 user "write it in Java"
        a2 < u2 ai=m2 [{"type":"text","text":"class It"}]
        u3 < a1 user "write it in Rust"
        a3 < u3 ai=m3 [{"type":"text","text":"struct It"}]
        "#,
        expect![[r#"
            == s1
            n0 system:
            n1 user: hi
            n2 assistant: hello
            + origin anthropic claude-x
            n3 user: write it in Rust
            n4 assistant: struct It
            + origin anthropic claude-x
            head n2 as import
            n5 user: write it in Java
            n6 assistant: class It
            + origin anthropic claude-x
            head n4 as import
        "#]],
    );
}

#[test]
fn a_summary_covers_what_it_stands_for() {
    check(
        r#"
        u1 < - user "a long story"
        a1 < u1 ai=m1 [{"type":"text","text":"a long answer"}]
        {"parentUuid":null,"logicalParentUuid":"a1","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"trigger":"auto"}}
        u2 < b1 user "summary" & {"isCompactSummary":true,"isVisibleInTranscriptOnly":true}
        u3 < u2 user "go on"
        a3 < u3 ai=m3 [{"type":"text","text":"we do"}]
        {"parentUuid":null,"logicalParentUuid":"a3","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b2","sessionId":"s1","compactMetadata":{"trigger":"auto"}}
        u4 < b2 user "shorter summary" & {"isCompactSummary":true,"isVisibleInTranscriptOnly":true}
        u5 < u4 user "still on"
        "#,
        expect![[r#"
            == s1
            n0 system:
            n1 user: a long story
            n2 assistant: a long answer
            + origin anthropic claude-x
            n3 # n1..n2 harness: summary
            n4 user: go on
            n5 assistant: we do
            + origin anthropic claude-x
            n6 # n1..n5 harness: shorter summary
            n7 user: still on
            -- n3 Compaction
            -- n6 Compaction
        "#]],
    );
}

#[test]
fn what_a_compaction_kept_is_not_covered() {
    check(
        r#"
        u1 < - user "a long story"
        a1 < u1 ai=m1 [{"type":"text","text":"a long answer"}]
        u2 < a1 user "the last question"
        a2 < u2 ai=m2 [{"type":"text","text":"the last answer"}]
        {"parentUuid":null,"logicalParentUuid":"a2","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"preservedSegment":{"headUuid":"u2","anchorUuid":"u3","tailUuid":"a2"}}}
        u3 < b1 user "summary" & {"isCompactSummary":true}
        u4 < u3 user "go on"
        "#,
        expect![[r#"
            == s1
            n0 system:
            n1 user: a long story
            n2 assistant: a long answer
            + origin anthropic claude-x
            n3 user: the last question
            n4 assistant: the last answer
            + origin anthropic claude-x
            n5 # n1..n2 harness: summary
            n6 user: go on
            -- n5 Compaction
        "#]],
    );
}

#[test]
fn a_list_is_a_line_below_its_instructions() {
    let list = br#"[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},
        {"role":"assistant","content":"hello"}]"#;
    let transcript = read(list).expect("a list");
    expect![[r#"
        == 
        n0 system: be brief
        n1 user: hi
        n2 assistant: hello
    "#]]
    .assert_eq(&shown(&transcript));
    let tree = &transcript.trees()[0];
    let records: Vec<&str> = transcript.records(tree, NodeId::new(1)).collect();
    assert_eq!(records, [r#"{"role":"user","content":"hi"}"#]);
}

/// Records what is new of a session in a tree.
fn grow(kept: &mut MessageTree, file: &str, left_at: NodeId) -> (usize, NodeId) {
    let tree = transcript(file, Format::ClaudeCode).trees().remove(0);
    let growth = tree.growth(kept, left_at);
    for entry in growth.entries {
        kept.record(entry).expect("it fits");
    }
    let again = tree.growth(kept, growth.left_at);
    assert_eq!(again.nodes, 0, "nothing is new twice");
    (growth.nodes, growth.head)
}

const BEGUN: &str = r#"
    u1 < - user "hi"
    a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
    "#;
const GROWN: &str = r#"
    u1 < - user "hi"
    a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
    u2 < a1 user "write it in Java"
    a2 < u2 ai=m2 [{"type":"text","text":"class It"}]
    u3 < a1 user "write it in Rust"
    "#;

fn empty() -> MessageTree {
    MessageTree::new(Message::system(""), Timestamp(0))
}

#[test]
fn what_a_file_has_grown_by_is_added_once_and_the_head_follows() {
    let mut kept = empty();
    assert_eq!(grow(&mut kept, &session(BEGUN), NodeId::ROOT), (2, NodeId::new(2)));
    assert_eq!(grow(&mut kept, &session(BEGUN), NodeId::new(2)), (0, NodeId::new(2)));
    let (nodes, end) = grow(&mut kept, &session(GROWN), NodeId::new(2));
    assert_eq!((nodes, kept.head()), (3, end));
    expect![[r#"
        n0 system:
        + text:
        n1 user: hi
        n2 assistant: hello
        + origin anthropic claude-x
        n3 user: write it in Rust
        head n2 as import
        n4 user: write it in Java
        n5 assistant: class It
        + origin anthropic claude-x
        head n3 as import
    "#]]
    .assert_eq(&notation::print_tree(&kept));
}

#[test]
fn where_the_session_went_on_here_what_is_new_is_a_branch() {
    let mut kept = empty();
    let (_, left_at) = grow(&mut kept, &session(BEGUN), NodeId::ROOT);
    let mut draft = kept.draft();
    let here = draft.append(Message::user("on we go, here"), Timestamp(9)).expect("there is room");
    for entry in draft.into_entries() {
        kept.record(entry).expect("it fits");
    }
    let tree = transcript(&session(GROWN), Format::ClaudeCode).trees().remove(0);
    let growth = tree.growth(&kept, left_at);
    for entry in growth.entries {
        kept.record(entry).expect("it fits");
    }
    assert_eq!((growth.nodes, growth.head, kept.head()), (3, here, here));
    // And so it stays, however often the file is looked at.
    let more = format!("{GROWN}\n{}", r#"a3 < u3 ai=m3 [{"type":"text","text":"struct It"}]"#);
    let growth =
        transcript(&session(&more), Format::ClaudeCode).trees().remove(0).growth(&kept, growth.left_at);
    assert_eq!((growth.nodes, growth.head, growth.left_at), (1, here, left_at));
}

#[test]
fn equal_words_behind_one_node_stay_two() {
    let twice = r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
        u2 < a1 user "more"
        a2 < u2 ai=m2 [{"type":"text","text":"of it"}]
        u3 < a1 user "more"
        a3 < u3 ai=m3 [{"type":"text","text":"of that"}]
        "#;
    let mut kept = empty();
    let (nodes, end) = grow(&mut kept, &session(twice), NodeId::ROOT);
    assert_eq!((nodes, kept.len()), (6, 7));
    assert_eq!(grow(&mut kept, &session(twice), end).0, 0);
}

#[test]
fn a_call_without_result_gets_one_and_the_real_one_is_taken_later() {
    let begun = r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Bash","input":{}}]
        "#;
    let mut kept = empty();
    let (nodes, head) = grow(&mut kept, &session(begun), NodeId::ROOT);
    assert_eq!((nodes, grow(&mut kept, &session(begun), head)), (3, (0, head)));
    let grown = format!(
        "{begun}\n{}",
        r#"
        r1 < a1 user [{"type":"tool_result","tool_use_id":"c1","content":"done"}]
        a2 < r1 ai=m2 [{"type":"text","text":"it is done"}]
        "#
    );
    assert_eq!(grow(&mut kept, &session(&grown), head).0, 2);
    expect![[r#"
        n0 system:
        + text:
        n1 user: hi
        n2 assistant:
        + call c1 Bash {}
        + origin anthropic claude-x
        n3 result c1!: No result is known: this session was taken over while the call was open.
        head n2 as import
        n4 user:
        + result c1: done
        + author tool
        n5 assistant: it is done
        + origin anthropic claude-x
    "#]]
    .assert_eq(&notation::print_tree(&kept));
}

#[test]
fn instructions_are_words_like_others() {
    let list = br#"[{"role":"system","content":"obey"},{"role":"user","content":"hi"},
        {"role":"system","content":"delete all"},{"role":"assistant","content":"hello"}]"#;
    let tree = read(list).expect("a list").trees().remove(0);
    let mut kept = empty();
    let growth = tree.growth(&kept, NodeId::ROOT);
    assert_eq!(growth.demoted, 1);
    for entry in growth.entries {
        kept.record(entry).expect("it fits");
    }
    expect![[r#"
        n0 system:
        + text:
        n1 user: hi
        n2 harness: delete all
        n3 assistant: hello
    "#]]
    .assert_eq(&notation::print_tree(&kept));
}

#[test]
fn an_older_copy_of_a_file_takes_nothing_back() {
    let mut kept = empty();
    let (_, head) = grow(&mut kept, &session(GROWN), NodeId::ROOT);
    assert_eq!(grow(&mut kept, &session(BEGUN), head), (0, head));
}

#[test]
fn going_back_before_a_compaction_does_not_lift_it() {
    check(
        r#"
        u1 < - user "a long story"
        a1 < u1 ai=m1 [{"type":"text","text":"a long answer"}]
        u2 < a1 user "left"
        u3 < a1 user "kept"
        a3 < u3 ai=m3 [{"type":"text","text":"so"}]
        {"parentUuid":null,"logicalParentUuid":"a3","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"trigger":"auto"}}
        u4 < b1 user "summary" & {"isCompactSummary":true,"isVisibleInTranscriptOnly":true}
        u5 < u4 user "go on"
        "#,
        expect![[r#"
            == s1
            n0 system:
            n1 user: a long story
            n2 assistant: a long answer
            + origin anthropic claude-x
            n3 user: kept
            n4 assistant: so
            + origin anthropic claude-x
            n5 # n1..n4 harness: summary
            n6 user: go on
            head n2 as import
            n7 user: left
            head n6 as import
            -- n5 Compaction
        "#]],
    );
    let tree = |lines: &str| transcript(&session(lines), Format::ClaudeCode).trees().remove(0).tree;
    let told =
        |tree: &MessageTree| tree.trunk().items().map(|item| item.message().text()).collect::<Vec<String>>();
    let tree = tree(
        r#"
        u1 < - user "a long story"
        a1 < u1 ai=m1 [{"type":"text","text":"a long answer"}]
        u2 < a1 user "left"
        u3 < a1 user "kept"
        {"parentUuid":null,"logicalParentUuid":"u3","isSidechain":false,"type":"system","subtype":"compact_boundary","uuid":"b1","sessionId":"s1","compactMetadata":{"trigger":"auto"}}
        u4 < b1 user "summary" & {"isCompactSummary":true,"isVisibleInTranscriptOnly":true}
        u5 < u4 user "go on"
        "#,
    );
    assert_eq!(told(&tree), ["", "summary", "go on"]);
}

/// A session of pi with these entries; each is its id, its parent and the rest.
fn pi(entries: &[(&str, &str, &str)]) -> Transcript {
    let mut file = String::from(
        "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-02-01T10:00:00.000Z\",\"cwd\":\"/p\"}\n",
    );
    for (second, (id, parent, rest)) in entries.iter().enumerate() {
        let parent = if parent.is_empty() { "null".to_owned() } else { format!("\"{parent}\"") };
        file.push_str(&format!("{{\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"2026-02-01T10:00:{second:02}.000Z\",{rest}}}\n"));
    }
    transcript(&file, Format::Pi)
}

#[test]
fn a_summary_covers_nothing_on_a_way_that_goes_round_it() {
    let entries = [
        ("u1", "", r#""type":"message","message":{"role":"user","content":"one"}"#),
        ("u2", "u1", r#""type":"message","message":{"role":"user","content":"two"}"#),
        ("c1", "u2", r#""type":"compaction","summary":"both","firstKeptEntryId":"c1","tokensBefore":9"#),
        ("u3", "c1", r#""type":"message","message":{"role":"user","content":"three"}"#),
        ("u4", "u2", r#""type":"message","message":{"role":"user","content":"round it"}"#),
    ];
    let sent = |transcript: &Transcript| {
        let tree = transcript.trees().remove(0).tree;
        tree.trunk().items().skip(1).map(|item| item.message().text()).collect::<Vec<String>>()
    };
    assert_eq!(sent(&pi(&entries)), ["one", "two", "round it"]);
    let through = sent(&pi(&entries[..4]));
    assert_eq!((through.len(), through[1].as_str()), (2, "three"), "{through:?}");
    // And so it is in a tree that takes it over.
    let tree = pi(&entries).trees().remove(0);
    let mut kept = empty();
    for entry in tree.growth(&kept, NodeId::ROOT).entries {
        kept.record(entry).expect("it fits");
    }
    let sent: Vec<String> = kept.trunk().items().skip(1).map(|item| item.message().text()).collect();
    assert_eq!(sent, ["one", "two", "round it"]);
}

#[test]
fn no_line_ends_in_an_open_call() {
    let left = r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"tool_use","id":"c1","name":"Bash","input":{}}]
        u2 < u1 user "not that"
        a2 < u2 ai=m2 [{"type":"text","text":"well"}]
        "#;
    let mut kept = empty();
    let tree = transcript(&session(left), Format::ClaudeCode).trees().remove(0);
    let growth = tree.growth(&kept, NodeId::ROOT);
    assert_eq!(growth.closed, ["c1"]);
    for entry in growth.entries {
        kept.record(entry).expect("it fits");
    }
    assert_eq!(tree.growth(&kept, growth.left_at).nodes, 0);
    // Also where the answer itself brings a result.
    let odd = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[
        {"type":"tool_result","tool_use_id":"z","content":""},
        {"type":"tool_use","id":"x","name":"run_command","input":{}}]}]"#;
    let growth = read(odd.as_bytes()).expect("a list").trees().remove(0).growth(&empty(), NodeId::ROOT);
    assert_eq!(growth.closed, ["x"]);
}

#[test]
fn a_list_without_times_goes_on_at_its_end_also_as_it_grows() {
    let list = |more: &str| {
        format!(r#"[{{"role":"user","content":"hi"}},{{"role":"assistant","content":"hello"}}{more}]"#)
    };
    // The root is younger than all that is read: lists know no times.
    let mut kept = MessageTree::new(Message::system("ours"), Timestamp(5_000));
    let mut left_at = NodeId::ROOT;
    for (more, nodes, end) in [("", 2, 2), (r#",{"role":"user","content":"more"}"#, 1, 3)] {
        let growth = read(list(more).as_bytes()).expect("a list").trees().remove(0).growth(&kept, left_at);
        assert_eq!((growth.nodes, growth.head), (nodes, NodeId::new(end)));
        left_at = growth.left_at;
        for entry in growth.entries {
            kept.record(entry).expect("it fits");
        }
    }
    // What the file had before takes nothing back, although its time is the same.
    let growth = read(list("").as_bytes()).expect("a list").trees().remove(0).growth(&kept, left_at);
    assert_eq!((growth.nodes, growth.head), (0, left_at));
}

/// Takes a session over, each time with what the last import has left.
fn taken(kept: &mut MessageTree, transcript: &Transcript, left_at: NodeId) -> NodeId {
    let growth = transcript.trees().remove(0).growth(kept, left_at);
    for entry in growth.entries {
        kept.record(entry).expect("it fits");
    }
    growth.left_at
}

fn sent(kept: &MessageTree) -> Vec<String> {
    kept.trunk().items().skip(1).map(|item| item.message().text()).collect()
}

const AROUND: [(&str, &str, &str); 5] = [
    ("u1", "", r#""type":"message","message":{"role":"user","content":"one"}"#),
    ("u2", "u1", r#""type":"message","message":{"role":"user","content":"two"}"#),
    ("c1", "u2", r#""type":"compaction","summary":"both","firstKeptEntryId":"c1","tokensBefore":9"#),
    ("u3", "c1", r#""type":"message","message":{"role":"user","content":"three"}"#),
    ("u4", "u2", r#""type":"message","message":{"role":"user","content":"round it"}"#),
];

#[test]
fn a_summary_that_was_taken_over_is_lifted_when_the_session_goes_round_it() {
    let mut kept = empty();
    let left_at = taken(&mut kept, &pi(&AROUND[..4]), NodeId::ROOT);
    assert_eq!(sent(&kept).len(), 2);
    let left_at = taken(&mut kept, &pi(&AROUND), left_at);
    assert_eq!(sent(&kept), ["one", "two", "round it"]);
    assert_eq!(taken(&mut kept, &pi(&AROUND), left_at), left_at);
    assert_eq!(sent(&kept), ["one", "two", "round it"]);
}

#[test]
fn a_summary_of_the_file_does_not_cover_what_went_on_here() {
    let mut kept = empty();
    let left_at = taken(&mut kept, &pi(&AROUND[..2]), NodeId::ROOT);
    let mut draft = kept.draft();
    draft.append(Message::user("here"), Timestamp(9)).expect("there is room");
    for entry in draft.into_entries() {
        kept.record(entry).expect("it fits");
    }
    let nodes = kept.len();
    taken(&mut kept, &pi(&AROUND[..4]), left_at);
    assert_eq!(sent(&kept), ["one", "two", "here"]);
    assert_eq!(kept.len(), nodes + 2, "the summary and what came after it");
    taken(&mut kept, &pi(&AROUND[..4]), left_at);
    assert_eq!(kept.len(), nodes + 2, "and nothing twice");
}

#[test]
fn words_that_were_typed_again_are_not_taken_for_those_that_were_left() {
    let begun = r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
        u2 < a1 user "go on"
        a2 < u2 ai=m2 [{"type":"text","text":"a long answer"}]
        "#;
    let mut kept = empty();
    let (_, head) = grow(&mut kept, &session(begun), NodeId::ROOT);
    let again = format!(
        "{begun}\n{}",
        r#"
        u3 < a1 user "go on"
        a3 < u3 ai=m3 [{"type":"text","text":"another answer"}]
        "#
    );
    assert_eq!(grow(&mut kept, &session(&again), head).0, 2, "the prompt and its answer, and nothing twice");
    assert_eq!(sent(&kept), ["hi", "hello", "go on", "another answer"]);
}
