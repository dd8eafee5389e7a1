//! `trunkline sanitize`: a list goes through a pipe.

use std::io::Write;

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_sanitize::WireRules;

use crate::fake::{Said, Scene};
use crate::logs::{
    BROKEN_CHAT, BROKEN_LIST, LATE_RESULT, MIDDLE_SYSTEM, OLDER_CHAT, SOUND_LIST, broken_session,
};

pub(crate) fn pipe(arguments: &[&str], input: &[u8]) -> Said {
    pipe_in(&Scene::new(), arguments, input)
}

pub(crate) fn pipe_in(scene: &Scene, arguments: &[&str], input: &[u8]) -> Said {
    let mut command = scene.command(&["sanitize"]);
    command.args(arguments).stdin(std::process::Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || {
        // A command that refuses its arguments does not read.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("it was written");
    scene.said(output)
}

#[test]
fn a_legal_list_comes_out_byte_for_byte() {
    let said = pipe(&["--wire", "anthropic"], SOUND_LIST.as_bytes());
    assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), SOUND_LIST, ""));
    let chat = "[ {\"role\":\"user\",\"content\":\"h\\u0069\",\"x\":1.0} ]";
    for wire in ["openai-chat", "deepseek", "openrouter", "vllm", "ollama", "gemini-3"] {
        let said = pipe(&["--wire", wire], chat.as_bytes());
        assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), chat, ""), "{wire}");
    }
}

#[test]
fn a_list_of_plain_words_is_of_every_format() {
    let words = "[{\"role\": \"user\", \"content\": \"hi\"}]\n";
    for wire in WireRules::NAMES {
        let said = pipe(&["--wire", wire], words.as_bytes());
        assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), words, ""), "{wire}");
    }
}

#[test]
fn a_broken_list_comes_out_legal_and_accounted_for() {
    let said = pipe(&["--wire", "anthropic"], BROKEN_LIST.as_bytes());
    assert_eq!(said.exit, Some(0));
    expect![[r#"
        n1: answered call toolu_1: no result (A1)
        1 repair
    "#]]
    .assert_eq(&said.err);
    let body: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(body["model"], json!("claude-sonnet-5-5"));
    assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], json!("toolu_1"));
    let again = pipe(&["--wire", "anthropic"], said.out.as_bytes());
    assert_eq!((again.out, again.err), (said.out, String::new()), "once is enough");
    assert_eq!(pipe(&["--wire", "anthropic", "--quiet"], BROKEN_LIST.as_bytes()).err, "");
}

#[test]
fn what_came_out_needs_nothing_more_on_any_wire() {
    let scene = Scene::new();
    for wire in WireRules::NAMES {
        let session = broken_session();
        for (name, input) in [
            ("list", BROKEN_LIST),
            ("chat", BROKEN_CHAT),
            ("session", &session),
            ("instructions in the middle", MIDDLE_SYSTEM),
            ("a late result", LATE_RESULT),
            ("calls of the older form", OLDER_CHAT),
        ] {
            let said = pipe_in(&scene, &["--wire", wire], input.as_bytes());
            assert_eq!(said.exit, Some(0), "{name} for {wire}: {}", said.err);
            let again = pipe_in(&scene, &["--wire", wire], said.out.as_bytes());
            assert_eq!((again.out, again.err), (said.out, String::new()), "{name} for {wire}");
        }
    }
}

#[test]
fn a_call_of_the_older_form_and_its_result_stay_of_one_form() {
    let said = pipe(&["--wire", "openai-chat"], OLDER_CHAT.as_bytes());
    let list: Value = serde_json::from_str(&said.out).expect("JSON");
    // One has a name that the wire refuses, one has no result; the third needs nothing and stays as it was.
    for call in [1, 3] {
        let (called, result) = (&list[call]["tool_calls"][0], &list[call + 1]);
        assert!(called["id"].is_string() && called["id"] == result["tool_call_id"], "{}", said.out);
        assert_eq!(result["role"], json!("tool"), "{}", said.out);
    }
    assert_eq!(list[2]["name"], list[1]["tool_calls"][0]["function"]["name"]);
    assert_eq!((&list[5]["function_call"]["name"], &list[6]["role"]), (&json!("list"), &json!("function")));
}

#[test]
fn a_list_is_written_in_the_format_of_its_wire() {
    let said = pipe(&["--wire", "openai-chat"], SOUND_LIST.as_bytes());
    let list: Value = serde_json::from_str(&said.out).expect("JSON");
    let list = if list.is_array() { list } else { list["messages"].clone() };
    assert_eq!((said.exit, said.err.as_str()), (Some(0), ""));
    assert_eq!(list[1]["tool_calls"][0]["function"]["name"], json!("Bash"));
    assert_eq!((&list[2]["role"], &list[2]["content"]), (&json!("tool"), &json!("ok")));
    let kept = pipe(&["--wire", "openai-chat", "--format", "anthropic"], SOUND_LIST.as_bytes());
    assert_eq!(kept.out, SOUND_LIST);
    let session = pipe(&["--wire", "anthropic"], broken_session().as_bytes());
    assert_eq!(session.exit, Some(0), "{}", session.err);
    assert!(serde_json::from_str::<Value>(&session.out).is_ok(), "a session becomes a list: {}", session.out);
}

#[test]
fn fields_of_another_format_are_kept_or_told_and_the_exit_code_says_so() {
    let said = pipe(&["--wire", "openai-chat", "--json"], SOUND_LIST.as_bytes());
    let account: Value = serde_json::from_str(&said.err).expect("JSON");
    assert_eq!((said.exit, &account["no_place"]), (Some(0), &json!([])));
    let body: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!((&body["model"], &body["max_tokens"]), (&json!("claude-sonnet-5-5"), &json!(100)));
    let more = SOUND_LIST.replace("\"max_tokens\"", "\"top_k\": 3, \"max_tokens\"");
    let said = pipe(&["--wire", "openai-chat"], more.as_bytes());
    let left = "left out: top_k (fields of the other format)\n";
    assert_eq!((said.exit, said.err.as_str()), (Some(1), left));
    assert!(said.out.contains("\"messages\""), "{}", said.out);
    let said = pipe(&["--wire", "openai-chat", "--json"], more.as_bytes());
    let account: Value = serde_json::from_str(&said.err).expect("JSON");
    assert_eq!(account["no_place"], json!(["body: no place for the field top_k"]));
    let kept = pipe(&["--wire", "anthropic", "--json"], SOUND_LIST.as_bytes());
    let account: Value = serde_json::from_str(&kept.err).expect("JSON");
    assert_eq!(account["no_place"], json!([]));
    assert_eq!(pipe(&["--wire", "openai-chat", "--quiet"], SOUND_LIST.as_bytes()).err, "");
}

#[test]
fn instructions_and_empty_calls_of_the_other_wire_are_written_as_this_one_has_them() {
    let instructed = r#"[{"role":"system","content":"S"},{"role":"user","content":"hi"}]"#;
    let said = pipe(&["--wire", "anthropic"], instructed.as_bytes());
    assert_eq!((said.exit, said.err.as_str()), (Some(0), ""));
    let body: Value = serde_json::from_str(&said.out).expect("JSON");
    assert_eq!(body["system"], json!([{ "type": "text", "text": "S" }]));
    assert_eq!(body["messages"].as_array().map(Vec::len), Some(1), "{body}");
    let empty = r#"[{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_calls":[]},{"role":"user","content":"c"}]"#;
    let said = pipe(&["--wire", "anthropic"], empty.as_bytes());
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(!said.out.contains("tool_calls") && said.out.contains("\"b\""), "{}", said.out);
}

#[test]
fn the_account_can_be_json() {
    let said = pipe(&["--wire", "openai-chat", "--json"], BROKEN_CHAT.as_bytes());
    let account: Value = serde_json::from_str(&said.err).expect("JSON");
    assert_eq!((said.exit, &account["account"]["repairs"]), (Some(0), &json!(1)));
    assert_eq!(account["repairs"][0]["text"], json!("answered call call_2: no result"));
    let none = pipe(&["--wire", "anthropic", "--json"], SOUND_LIST.as_bytes());
    let account: Value = serde_json::from_str(&none.err).expect("JSON");
    assert_eq!(account["repairs"], json!([]));
}

#[test]
fn facts_come_from_a_file_from_the_body_and_from_flags() {
    let scene = Scene::new();
    let facts = json!({ "calls": [{ "call_id": "call_2", "fate": { "fate": "not_started" } }] });
    std::fs::write(scene.work().join("facts.json"), facts.to_string()).expect("written");
    let said = pipe_in(&scene, &["--wire", "openai-chat", "--facts", "facts.json"], BROKEN_CHAT.as_bytes());
    assert!(said.out.contains("tool call was never started"), "{}{}", said.out, said.err);
    std::fs::write(scene.work().join("facts.json"), "[").expect("written");
    let said = pipe_in(&scene, &["--wire", "openai-chat", "--facts", "facts.json"], BROKEN_CHAT.as_bytes());
    assert_eq!((said.exit, said.out.as_str()), (Some(2), ""));
    assert!(said.err.starts_with("error: cannot use facts.json: "), "{}", said.err);

    let forced = SOUND_LIST.replace(
        "\"max_tokens\"",
        r#""thinking": {"type": "enabled", "budget_tokens": 1024}, "tool_choice": {"type": "any"}, "max_tokens""#,
    );
    let said = pipe(&["--wire", "anthropic"], forced.as_bytes());
    assert!(said.err.contains("thinking off for this request: a tool choice is forced"), "{}", said.err);
    let said = pipe(&["--wire", "anthropic", "--thinking", "off"], forced.as_bytes());
    assert_eq!((said.out, said.err), (forced, String::new()), "what is typed weighs more");
    let bare = pipe(&["--wire", "bedrock", "--no-tools"], SOUND_LIST.as_bytes());
    assert!(bare.err.contains("C14"), "no tool is offered: {}", bare.err);
    assert_eq!(pipe(&["--wire", "anthropic", "--model", "claude"], SOUND_LIST.as_bytes()).exit, Some(2));
}

#[test]
fn what_is_no_list_is_one_line_and_no_output() {
    let not_utf8: &[u8] = &[0xff, 0xfe, 0x00, 0x5b];
    for input in [&b""[..], b"milk, bread", b"{\"messages\":", b"42", b"[[[[", not_utf8] {
        let said = pipe(&["--wire", "anthropic"], input);
        assert_eq!((said.exit, said.out.as_str()), (Some(1), ""), "{input:?}");
        assert!(
            said.err.starts_with("error: cannot read stdin: ") && said.err.lines().count() <= 2,
            "{}",
            said.err
        );
    }
    assert_eq!(pipe(&["--wire", "fortran"], b"[]").exit, Some(2));
    assert_eq!(pipe(&[], b"[]").exit, Some(2));
}

#[test]
fn bytes_that_are_not_text_do_not_stop_it() {
    let mut input = SOUND_LIST.replace("run the tests", "run X the tests").into_bytes();
    let place = input.iter().position(|byte| *byte == b'X').expect("it is there");
    input[place] = 0xff;
    let said = pipe(&["--wire", "anthropic"], &input);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("run \u{fffd} the tests"), "{}", said.out);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scene = Scene::new();
    let mut command = scene.command(&["sanitize", "--wire", "anthropic"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("it starts");
    drop(child.stdout.take());
    child.stdin.take().expect("piped").write_all(SOUND_LIST.as_bytes()).expect("it reads");
    let said = scene.said(child.wait_with_output().expect("it ends"));
    assert_eq!((said.exit, said.err.as_str()), (Some(0), ""));
}

#[test]
fn the_mark_of_an_editor_is_passed_over_and_not_passed_on() {
    let mark = "\u{feff}";
    let said = pipe(&["--wire", "anthropic"], format!("{mark}{SOUND_LIST}").as_bytes());
    assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), SOUND_LIST, ""));
    for (wire, list) in [("anthropic", BROKEN_LIST), ("openai-chat", BROKEN_CHAT)] {
        let plain = pipe(&["--wire", wire], list.as_bytes());
        let marked = pipe(&["--wire", wire], format!("{mark}{list}").as_bytes());
        assert_eq!((marked.exit, marked.out, marked.err), (plain.exit, plain.out, plain.err), "{wire}");
    }
    // A body behind a mark still says what it is.
    let body = format!(
        "{mark}{{\"thinking\":{{\"type\":\"enabled\",\"budget_tokens\":1024}},\"messages\":{SOUND_LIST}}}"
    );
    let plain = pipe(&["--wire", "anthropic"], body.trim_start_matches(mark).as_bytes());
    let marked = pipe(&["--wire", "anthropic"], body.as_bytes());
    assert_eq!((marked.out, marked.err), (plain.out, plain.err));
}

#[test]
fn a_body_with_marks_for_a_cache_comes_out_byte_for_byte() {
    let marked = r#"[ {"type":"text","text":"Hello","cache_control":{"type":"ephemeral"}} ]"#;
    let chat = [
        format!(
            r#"{{"model":"m","max_completion_tokens":64, "messages":[{{"role":"system","content":{marked}}},{{"role":"user","content":{marked}}}]}}"#
        ),
        format!(
            r#"{{"model":"m","stream_options":{{}}, "messages":[{{"role":"user","content":{marked}}}]}}"#
        ),
        format!(r#"[{{"role":"user","content":{marked}}}]"#),
    ];
    // Groq refuses the marks, and loses them: that is a repair of its own.
    for wire in ["openai-chat", "openrouter", "deepseek"] {
        for body in &chat {
            let said = pipe(&["--wire", wire], body.as_bytes());
            assert_eq!(
                (said.exit, said.out.as_str(), said.err.as_str()),
                (Some(0), body.as_str(), ""),
                "{wire}"
            );
        }
    }
    let anthropic = format!(
        r#"{{"model":"m","max_tokens":9,"system":{marked},"messages":[{{"role":"user","content":{marked}}}]}}"#
    );
    for body in [anthropic, format!(r#"[{{"role":"user","content":{marked}}}]"#)] {
        let said = pipe(&["--wire", "anthropic"], body.as_bytes());
        assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), body.as_str(), ""));
    }
}

#[test]
fn what_a_list_is_can_be_said() {
    let either =
        r#"[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]"#;
    let kept = pipe(&["--wire", "openai-chat", "--from", "openai-chat"], either.as_bytes());
    assert_eq!((kept.exit, kept.out.as_str()), (Some(0), either));
    let written = pipe(&["--wire", "openai-chat", "--from", "anthropic"], either.as_bytes());
    assert_eq!((written.exit, written.err.as_str()), (Some(0), ""));
    assert_eq!(written.out.trim(), r#"{"messages":[{"role":"user","content":"hi"}]}"#);
    assert_eq!(pipe(&["--wire", "openai-chat", "--from", "claude-code"], either.as_bytes()).exit, Some(1));
    assert_eq!(pipe(&["--wire", "openai-chat", "--from", "gemini"], either.as_bytes()).exit, Some(2));
}

#[test]
fn a_request_of_a_wire_that_is_not_read_is_named_and_nothing_of_it_is_lost() {
    for (body, name) in [
        (r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#, "Gemini"),
        (r#"{"model":"m","input":[{"role":"user","content":"hi"}]}"#, "Responses"),
        (
            r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}],"inferenceConfig":{"maxTokens":1}}"#,
            "Bedrock",
        ),
        (r#"{"messages":[{"role":"user","content":"hi","images":["AAAA"]}]}"#, "Ollama"),
    ] {
        for wire in ["anthropic", "openai-chat", "gemini-3", "bedrock", "ollama", "openai-responses"] {
            let said = pipe(&["--wire", wire], body.as_bytes());
            assert_eq!((said.exit, said.out.as_str()), (Some(1), ""), "{name} for {wire}");
            assert!(said.err.contains(name), "{}", said.err);
        }
    }
}
