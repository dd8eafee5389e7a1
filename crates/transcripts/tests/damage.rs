//! What can be read of a damaged line is read, and the rest is told.

use expect_test::{Expect, expect};
use trunkline_transcripts::{FaultKind, Format, read, read_as};

use crate::show::{main, session, show, shown, text};

/// One, two, three, four: a conversation of four records.
fn four() -> Vec<String> {
    let file = session(
        r#"
        u1 < - user "one"
        a1 < u1 ai=m1 [{"type":"text","text":"two"}]
        u2 < a1 user "three"
        a2 < u2 ai=m2 [{"type":"text","text":"four"}]
        "#,
    );
    file.lines().map(str::to_owned).collect()
}

fn check(file: &str, expected: Expect) {
    expected.assert_eq(&shown(file));
}

#[test]
fn two_records_on_a_line_are_two() {
    let [u1, a1, u2, a2] = four().try_into().expect("four");
    check(
        &format!("{u1}\n{a1}{u2}\n{a2}\n"),
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
            user: three
            assistant: four
            + origin anthropic claude-x
            -- line 2: 2 records on one line; all were read, the client would read none of them
        "#]],
    );
}

#[test]
fn all_records_on_one_line_are_read() {
    let file = four().join(" ");
    let transcript = read(file.as_bytes()).expect("a session");
    assert_eq!(main(&transcript).messages.len(), 4);
    assert_eq!(transcript.faults.len(), 1);
    assert_eq!(transcript.faults[0].kind, FaultKind::SharedLine { count: 4 });
}

#[test]
fn a_whole_record_behind_half_of_one_is_read() {
    let [u1, a1, u2, a2] = four().try_into().expect("four");
    // Cut in words, in an escape, behind a key, behind an open block: wherever the writer died.
    let cuts = ["\"tw", "\"text\":\"two", "\"text\":", "\"content\":[{", "\"content\":", "{"];
    for cut in cuts {
        let at = a1.find(cut).expect("it is there") + cut.len();
        let file = format!("{u1}\n{}{u2}\n{a2}\n", &a1[..at]);
        let transcript = read(file.as_bytes()).expect("a session");
        let said: Vec<String> = main(&transcript).messages.iter().map(|message| message.text()).collect();
        assert_eq!(said, ["one", "three", "four"], "cut behind {cut}");
        let torn = |kind: &FaultKind| matches!(kind, FaultKind::TornLine { count: 1, .. });
        assert!(torn(&transcript.faults[0].kind) && transcript.faults[0].kind.is_damage(), "{cut}");
    }
}

#[test]
fn half_a_record_behind_a_whole_one_is_told() {
    let [u1, a1, u2, a2] = four().try_into().expect("four");
    check(
        &format!("{u1}\n{a1}{}\n{u2}\n{a2}\n", &u2[..u2.len() / 2]),
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
            user: three
            assistant: four
            + origin anthropic claude-x
            -- line 2: not JSON but in part: records read 1, the rest left out: trailing characters at column 276
        "#]],
    );
}

#[test]
fn parts_of_a_torn_record_are_no_records() {
    // The report of a sub-agent holds a record of its own, and a call holds objects.
    for ids in ["", r#""parentUuid":null,"sessionId":"s1","#] {
        let inner = format!(
            r#"{{{ids}"type":"user","message":{{"role":"user","content":"inner"}},"uuid":"x","timestamp":"2026-02-01T10:00:00.000Z"}}"#
        );
        let begins = r#"{"parentUuid":"u1","type":"progress","sessionId":"s1","data":{"message":"#;
        let [u1, a1, _, _] = four().try_into().expect("four");
        for ends in [r#","agentId":"g"},"uuid":"p1","#, "}", r#"},"other":"xx"#, ",", " ,\"a\":{\"b\":1}"] {
            for after in [format!("{a1}\n"), String::new()] {
                let torn = format!("{u1}\n{begins}{inner}{ends}\n{after}");
                let transcript = read(torn.as_bytes()).expect("a session");
                let said: Vec<String> = main(&transcript).messages.iter().map(|one| one.text()).collect();
                assert!(!said.concat().contains("inner"), "{ends}: {said:?}");
                assert!(
                    matches!(transcript.faults[0].kind, FaultKind::NotJson { .. }),
                    "{:?}",
                    transcript.faults
                );
            }
        }
    }
}

#[test]
fn arguments_of_a_torn_call_are_no_message_of_a_list() {
    let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"send","input":{"role":"user","content":"inner"}"#;
    let whole = r#"{"role":"user","content":"three"}"#;
    for ends in ["", "}", "}]", ",\"x\":"] {
        let list = format!("{{\"role\":\"user\",\"content\":\"one\"}}\n{call}{ends}\n{whole}\n");
        let transcript = read(list.as_bytes()).expect("a list");
        let said: Vec<String> = main(&transcript).messages.iter().map(|one| one.text()).collect();
        assert_eq!(said, ["one", "three"], "{ends}");
    }
}

#[test]
fn nuls_of_a_power_cut_cost_no_record() {
    let [u1, a1, u2, a2] = four().try_into().expect("four");
    let nuls = "\0".repeat(40);
    check(
        &format!("{u1}\n{nuls}{a1}\n{}\n{a2}{nuls}", u2.replace("three", &format!("th{nuls}ree"))),
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
            user: th�ree
            assistant: four
            + origin anthropic claude-x
            -- line 2: control characters, which JSON cannot hold, replaced: 40
            -- line 3: control characters, which JSON cannot hold, replaced: 40
            -- line 4: control characters, which JSON cannot hold, replaced: 40
        "#]],
    );
}

#[test]
fn a_character_that_was_torn_costs_no_record() {
    let [u1, a1, u2, a2] = four().try_into().expect("four");
    let mut file = format!("{u1}\n").into_bytes();
    // The first byte of an emoji, and then the next writer's line.
    file.extend_from_slice(&a1.as_bytes()[..a1.find("two").expect("it is there")]);
    file.push(0xf0);
    file.extend_from_slice(format!("{u2}\n{a2}\n").as_bytes());
    let transcript = read(&file).expect("a session");
    assert_eq!(main(&transcript).messages.len(), 3);
    expect![[r#"
        user: one
        user: three
        assistant: four
        + origin anthropic claude-x
        -- line 2: not UTF-8; the bytes were replaced by U+FFFD
        -- line 2: not JSON but in part: records read 1, the rest left out: expected `,` or `}` at column 222
        -- line 2: parent "a1" is not in this file
    "#]]
    .assert_eq(&show(&transcript));
}

#[test]
fn marks_in_front_and_between_are_passed_over() {
    let lines = four();
    let (one, other) = lines.split_at(2);
    let file = format!("\u{feff}\u{feff}{}\r\n\u{feff}{}\r\n", one.join("\r\n"), other.join("\r\n"));
    let transcript = read(file.as_bytes()).expect("a session");
    assert_eq!((main(&transcript).messages.len(), transcript.faults), (4, vec![]));
}

#[test]
fn a_file_that_was_appended_to_itself_says_it_once() {
    let file = four().join("\n") + "\n";
    let transcript = read(format!("{file}{file}").as_bytes()).expect("a session");
    assert_eq!((main(&transcript).messages.len(), transcript.listed().len()), (4, 1));
    let repeated = |kind: &FaultKind| matches!(kind, FaultKind::RepeatedRecord { .. });
    assert!(transcript.faults.iter().all(|fault| repeated(&fault.kind) && !fault.kind.is_damage()));
    assert_eq!(transcript.faults.len(), 4);
}

#[test]
fn an_id_that_stands_for_two_records_means_the_nearest_above() {
    check(
        &session(
            r#"
            u1 < - user "one"
            a1 < u1 ai=m1 [{"type":"text","text":"two"}]
            X < a1 hook {}
            u2 < X user "three"
            a2 < u2 ai=m2 [{"type":"text","text":"four"}]
            X < a2 hook {}
            u3 < X user "five"
            "#,
        ),
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
            user: three
            assistant: four
            + origin anthropic claude-x
            user: five
            -- line 3: records of unknown type "hook": 2
            -- line 6: record "X" has the id of another one above it; each is read where it stands
        "#]],
    );
}

#[test]
fn messages_of_one_id_are_all_read() {
    check(
        &session(
            r#"
            x < - user "one"
            x < x ai=m1 [{"type":"text","text":"two"}]
            x < x user "three"
            x < x ai=m2 [{"type":"text","text":"four"}]
            "#,
        ),
        expect![[r#"
            user: one
            assistant: two
            + origin anthropic claude-x
            user: three
            assistant: four
            + origin anthropic claude-x
            -- line 2: record "x" has the id of another one above it; each is read where it stands
            -- line 3: record "x" has the id of another one above it; each is read where it stands
            -- line 4: record "x" has the id of another one above it; each is read where it stands
        "#]],
    );
}

#[test]
fn a_line_that_was_written_once_more_with_other_words_counts_as_the_last() {
    check(
        &session(
            r#"
            u1 < - user "hi"
            a1 < u1 ai=m1 [{"type":"text","text":"hel"}]
            a1 < u1 ai=m1 [{"type":"text","text":"hello"}]
            u2 < a1 user "and?"
            "#,
        ),
        expect![[r#"
            user: hi
            assistant: hello
            + origin anthropic claude-x
            user: and?
            -- line 3: record "a1" has the id of another one above it; each is read where it stands
        "#]],
    );
}

#[test]
fn an_answer_that_was_asked_for_again_is_a_branch() {
    let file = session(
        r#"
        u1 < - user "hi"
        a1 < u1 ai=m1 [{"type":"text","text":"one answer"}]
        a2 < u1 ai=m2 [{"type":"text","text":"another answer"}]
        u2 < a2 user "go on"
        "#,
    );
    check(
        &file,
        expect![[r#"
            user: hi
            assistant: another answer
            + origin anthropic claude-x
            user: go on
            == branch s1
            user: hi
            assistant: one answer
            + origin anthropic claude-x
        "#]],
    );
}

#[test]
fn messages_of_a_list_that_share_a_line_are_read() {
    let one = r#"{"role":"user","content":"one"}"#;
    let two = r#"{"role":"assistant","content":"two"}"#;
    let three = r#"{"role":"user","content":"three"}"#;
    for format in [Format::OpenAiChat, Format::Anthropic] {
        let shared = format!("\u{feff}{one}{two}\n{three}\n");
        let transcript = read_as(shared.as_bytes(), format).expect("a list");
        assert_eq!(main(&transcript).messages.len(), 3, "{format}");
        assert_eq!(transcript.faults[0].kind, FaultKind::SharedLine { count: 2 });
        let written = transcript.write(0, &main(&transcript).messages, "").expect("it is there");
        let written = String::from_utf8(written.bytes).expect("text");
        assert_eq!(written, format!("{one}\n{two}\n{three}\n"), "{format}");
    }
    let torn = format!("{}{two}\n{three}{}\n", &one[..20], &one[..9]);
    let transcript = read(torn.as_bytes()).expect("a list");
    expect![[r#"
        assistant: two
        user: three
    "#]]
    .assert_eq(&text(&main(&transcript).messages));
    assert!(transcript.faults.iter().all(|fault| matches!(fault.kind, FaultKind::TornLine { .. })));
    let written = transcript.write(0, &main(&transcript).messages, "").expect("it is there");
    assert_eq!(String::from_utf8_lossy(&written.bytes), format!("{two}\n{three}\n"));
}

#[test]
fn a_torn_list_is_no_list_of_lines() {
    let torn =
        "[{\"role\":\"user\",\"content\":\"one\"},\n{\"role\":\"assistant\",\"content\":\"two\"},\n{\"ro";
    assert!(read(torn.as_bytes()).is_err());
    let torn = r#"{"model":"x","messages":[{"role":"user","content":"one"},{"ro"#;
    assert!(read(torn.as_bytes()).is_err());
}

#[test]
fn a_line_that_was_made_to_be_slow_is_given_up() {
    let [u1, a1, _, _] = four().try_into().expect("four");
    let slow = "{\"a\":".repeat(200_000);
    let transcript = read(format!("{u1}\n{slow}{a1}\n{a1}\n").as_bytes()).expect("a session");
    assert_eq!(main(&transcript).messages.len(), 2);
    assert!(matches!(transcript.faults[0].kind, FaultKind::NotJson { .. }));
}
