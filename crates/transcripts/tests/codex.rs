//! Sessions of Codex: every shape of its files, what goes on, what was left, and the way back.

mod back;
mod damage;

use expect_test::{Expect, expect};
use trunkline_transcripts::{Format, Transcript, read_as, sniff};

use crate::show::{main, show, transcript};

/// As 0.171 writes it, cut to what matters: ordinals, a usage record for each response, no events that repeat words.
const NEWEST: &str = r##"
{"timestamp":"2026-11-29T16:00:00.100Z","ordinal":0,"type":"session_meta","payload":{"session_id":"s1","id":"s1","timestamp":"2026-11-29T16:00:00.000Z","cwd":"/p","originator":"codex_exec","cli_version":"0.171.0","source":"exec","thread_source":"user","model_provider":"mock","history_mode":"paginated","context_window":{"window_id":"w1"}}}
{"timestamp":"2026-11-29T16:00:01.000Z","ordinal":1,"type":"event_msg","payload":{"type":"task_started","turn_id":"t1"}}
{"timestamp":"2026-11-29T16:00:02.000Z","ordinal":2,"type":"response_item","payload":{"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"<permissions instructions>ask</permissions instructions>"}]}}
{"timestamp":"2026-11-29T16:00:03.000Z","ordinal":3,"type":"response_item","payload":{"type":"message","id":"msg_2","role":"user","content":[{"type":"input_text","text":"<environment_context>here</environment_context>"}],"internal_chat_message_metadata_passthrough":{"turn_id":"t1","content_item_kinds":["environments.environment_context"],"content_item_metadata":[{"provenance":{"type":"harness","hook":false}}]}}}
{"timestamp":"2026-11-29T16:00:04.000Z","ordinal":4,"type":"world_state","payload":{"full":true,"state":{}}}
{"timestamp":"2026-11-29T16:00:05.000Z","ordinal":5,"type":"turn_context","payload":{"turn_id":"t1","cwd":"/p","approval_policy":"never","model":"gpt-x","summary":"none","sandbox_policy":{"type":"read-only"}}}
{"timestamp":"2026-11-29T16:00:06.000Z","ordinal":6,"type":"response_item","payload":{"type":"message","id":"msg_3","role":"user","content":[{"type":"input_text","text":"look around"}],"internal_chat_message_metadata_passthrough":{"turn_id":"t1","content_item_kinds":["user.text"]}},"metadata":{"history_sequence":3}}
{"timestamp":"2026-11-29T16:00:07.000Z","ordinal":7,"type":"event_msg","payload":{"type":"item_completed","item":{"type":"UserMessage","content":[]}}}
{"timestamp":"2026-11-29T16:00:08.000Z","ordinal":8,"type":"response_item","payload":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Look**"},{"type":"summary_text","text":"twice"}],"content":null,"encrypted_content":"ENC"}}
{"timestamp":"2026-11-29T16:00:09.000Z","ordinal":9,"type":"response_item","payload":{"type":"message","id":"msg_4","role":"assistant","phase":"commentary","content":[{"type":"output_text","text":"I look","annotations":[]}]}}
{"timestamp":"2026-11-29T16:00:10.000Z","ordinal":10,"type":"response_item","payload":{"type":"function_call","id":"fc_1","name":"exec_command","arguments":"{\"cmd\": \"ls\"}","call_id":"c1"}}
{"timestamp":"2026-11-29T16:00:11.000Z","ordinal":11,"type":"response_item","payload":{"type":"custom_tool_call","id":"ct_1","name":"apply_patch","input":"*** Begin Patch","call_id":"c2","status":"completed"}}
{"timestamp":"2026-11-29T16:00:12.000Z","ordinal":12,"type":"token_usage_record","payload":{"thread_id":"s1","turn_id":"t1","session_id":"s1","root_turn_id":"t1","response_id":"resp_0","usage":{"input_tokens":100,"cached_input_tokens":10,"cache_write_input_tokens":3,"output_tokens":20,"reasoning_output_tokens":5,"total_tokens":120},"turn_token_usage":{},"thread_token_usage":{}}}
{"timestamp":"2026-11-29T16:00:13.000Z","ordinal":13,"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":[{"type":"input_text","text":"done"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]}}
{"timestamp":"2026-11-29T16:00:14.000Z","ordinal":14,"type":"response_item","payload":{"type":"function_call_output","id":"fco_1","call_id":"c1","output":"a.rs"}}
{"timestamp":"2026-11-29T16:00:15.000Z","ordinal":15,"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":100,"total_tokens":120},"last_token_usage":{"input_tokens":100,"output_tokens":20}},"rate_limits":null}}
{"timestamp":"2026-11-29T16:00:16.000Z","ordinal":16,"type":"response_item","payload":{"type":"message","id":"msg_5","role":"assistant","content":[{"type":"output_text","text":"one file"}]}}
{"timestamp":"2026-11-29T16:00:17.000Z","ordinal":17,"type":"token_usage_record","payload":{"thread_id":"s1","response_id":"resp_1","usage":{"input_tokens":130,"output_tokens":4}}}
{"timestamp":"2026-11-29T16:00:18.000Z","ordinal":18,"type":"event_msg","payload":{"type":"thread_name_updated","thread_id":"s1","thread_name":"Files"}}
{"timestamp":"2026-11-29T16:00:19.000Z","ordinal":19,"type":"event_msg","payload":{"type":"task_complete","turn_id":"t1","last_agent_message":"one file"}}
"##;

/// Before 0.147: events repeat what was said, and the costs are said after each response.
const ORDINARY: &str = r##"
{"timestamp":"2026-02-23T12:40:23.000Z","type":"session_meta","payload":{"id":"s2","timestamp":"2026-02-23T12:40:23.000Z","cwd":"/p","originator":"codex_cli_rs","cli_version":"0.90.0","source":"cli","git":{"branch":"main"}}}
{"timestamp":"2026-02-23T12:40:24.000Z","type":"turn_context","payload":{"cwd":"/p","approval_policy":"never","sandbox_policy":{"type":"read-only"},"model":"gpt-5","summary":"auto"}}
{"timestamp":"2026-02-23T12:40:24.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"# AGENTS.md instructions for /p"}]}}
{"timestamp":"2026-02-23T12:40:25.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"first"},{"type":"input_image","image_url":"https://example.com/a.png"}]}}
{"timestamp":"2026-02-23T12:40:25.000Z","type":"event_msg","payload":{"type":"user_message","message":"first","images":[]}}
{"timestamp":"2026-02-23T12:40:26.000Z","type":"event_msg","payload":{"type":"token_count","info":null,"rate_limits":{}}}
{"timestamp":"2026-02-23T12:40:26.000Z","type":"event_msg","payload":{"type":"agent_reasoning","text":"hm"}}
{"timestamp":"2026-02-23T12:40:27.000Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"content":null,"encrypted_content":null}}
{"timestamp":"2026-02-23T12:40:28.000Z","type":"response_item","payload":{"type":"local_shell_call","call_id":"c1","status":"completed","action":{"type":"exec","command":["ls"]}}}
{"timestamp":"2026-02-23T12:40:28.000Z","type":"response_item","payload":{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}}
{"timestamp":"2026-02-23T12:40:29.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":""}}
{"timestamp":"2026-02-23T12:40:30.000Z","type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":12},"last_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}}}
{"timestamp":"2026-02-23T12:40:31.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"empty"}]}}
{"timestamp":"2026-02-23T12:40:31.000Z","type":"event_msg","payload":{"type":"agent_message","message":"empty"}}
{"timestamp":"2026-02-23T12:40:32.000Z","type":"event_msg","payload":{"type":"turn_aborted","reason":"interrupted"}}
{"timestamp":"2026-02-23T12:40:33.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<turn_aborted>it was</turn_aborted>"}]}}
{"timestamp":"2026-02-23T12:40:34.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"second"}]}}
"##;

/// Before 0.32: a header and bare items.
const OLDEST: &str = r#"
{"id":"s3","timestamp":"2025-08-01T10:00:00.000Z","instructions":null,"git":{"branch":"main"}}
{"record_type":"state"}
{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"list"}]}
{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}
{"record_type":"state"}
{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"a.rs\\n\",\"metadata\":{\"exit_code\":0}}"}
{"type":"function_call","name":"shell","arguments":"{","call_id":"c2"}
{"type":"function_call_output","call_id":"c2","output":{"content":"failed to parse","success":false}}
{"type":"message","id":null,"role":"assistant","content":[{"type":"output_text","text":"a.rs"}]}
"#;

fn line(second: usize, kind: &str, payload: &str) -> String {
    format!(
        r#"{{"timestamp":"2026-03-01T10:00:{:02}.000Z","type":"{kind}","payload":{payload}}}"#,
        second % 60
    )
}

/// Writes a session from short lines: `user TEXT`, `ai TEXT`, `dev TEXT`, `back N`, or a type and a payload.
fn session(lines: &str) -> String {
    let mut file = line(0, "session_meta", r#"{"id":"s","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}"#);
    for (number, short) in lines.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let (kind, rest) = short.split_once(' ').expect("two words");
        let said = |role: &str, part: &str| {
            format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":"{rest}"}}]}}"#)
        };
        let (kind, payload) = match kind {
            "user" => ("response_item", said("user", "input_text")),
            "ai" => ("response_item", said("assistant", "output_text")),
            "dev" => ("response_item", said("developer", "input_text")),
            "back" => ("event_msg", format!(r#"{{"type":"thread_rolled_back","num_turns":{rest}}}"#)),
            kind => (kind, rest.to_owned()),
        };
        file.push('\n');
        file.push_str(&line(number + 1, kind, &payload));
    }
    file + "\n"
}

fn check(file: &str, expected: Expect) -> Transcript {
    let transcript = transcript(file, Format::Codex);
    assert_eq!(sniff(file.as_bytes()), Some(Format::Codex));
    expected.assert_eq(&show(&transcript));
    round_trip(&transcript);
    transcript
}

/// Writes each conversation as it is and reads it again.
fn round_trip(transcript: &Transcript) {
    for (index, conversation) in transcript.conversations().enumerate() {
        let written = transcript.write(index, &conversation.messages, "new").expect("it is there");
        assert_eq!(written.losses, [], "{index}");
        let again = transcript_of(&written.bytes);
        let text = String::from_utf8(written.bytes).expect("text");
        assert_eq!(main(&again).messages, conversation.messages, "{index}: {text}");
        assert_eq!((again.faults.as_slice(), again.listed().len()), (&[][..], 1), "{index}: {text}");
        assert_eq!(main(&again).id, "new");
    }
}

fn transcript_of(bytes: &[u8]) -> Transcript {
    read_as(bytes, Format::Codex).expect("it was just written")
}

#[test]
fn a_response_is_one_message_and_its_results_are_one_each() {
    let read = check(
        NEWEST,
        expect![[r#"
        system: <permissions instructions>ask</permissions instructions>
        harness: <environment_context>here</environment_context>
        user: look around
        assistant:
        + thinking: **Look**\n\ntwice
        + opaque openai-responses {"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Look**"},{"type":"summary_text","text":"twice"}],"content":null,"encrypted_content":"ENC"}
        + text: I look
        + call c1 exec_command {"cmd": "ls"}
        + call c2 apply_patch {"input":"*** Begin Patch"}
        + origin openai-responses gpt-x
        result c2: done
        ++ image image/png base64 "AA=="
        result c1: a.rs
        assistant: one file
        + origin openai-responses gpt-x
    "#]],
    );
    let main = main(&read);
    assert_eq!(
        (main.id.as_str(), main.title.as_deref(), main.cwd.as_deref(), main.model.as_deref()),
        ("s1", Some("Files"), Some("/p"), Some("gpt-x"))
    );
    let usages: Vec<_> = main.messages.iter().filter_map(|message| message.usage).collect();
    expect![[r#"
        [
            Usage {
                input_tokens: 100,
                output_tokens: 20,
                cache_read_tokens: 10,
                cache_write_tokens: 3,
                reasoning_tokens: 5,
            },
            Usage {
                input_tokens: 130,
                output_tokens: 4,
                cache_read_tokens: 0,
                cache_write_tokens: 0,
                reasoning_tokens: 0,
            },
        ]
    "#]]
    .assert_debug_eq(&usages);
}

#[test]
fn events_that_repeat_what_was_said_are_not_read() {
    let read = check(
        ORDINARY,
        expect![[r#"
        harness: # AGENTS.md instructions for /p
        user: first
        + image "image/*" url "https://example.com/a.png"
        assistant:
        + thinking: hm
        + call c1 local_shell {"type":"exec","command":["ls"]}
        + opaque openai-responses {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x"}}
        + origin openai-responses gpt-5
        result c1:
        assistant: empty
        + origin openai-responses gpt-5
        + stop cancelled
        harness: <turn_aborted>it was</turn_aborted>
        user: second
    "#]],
    );
    let usages: Vec<_> = main(&read).messages.iter().filter_map(|message| message.usage).collect();
    assert_eq!(usages.len(), 1);
}

#[test]
fn bare_items_after_an_old_header_are_read() {
    let transcript = transcript(OLDEST, Format::Codex);
    expect![[r#"
        user: list
        assistant:
        + call c1 shell {"command":["ls"]}
        result c1: {"output":"a.rs\\n","metadata":{"exit_code":0}}
        assistant:
        + call c2 shell {
        result c2!: failed to parse
        assistant: a.rs
    "#]]
    .assert_eq(&show(&transcript));
    let written = transcript.write(0, &main(&transcript).messages, "new").expect("there");
    expect![[r#"
        {"timestamp":"2025-08-01T10:00:00.000Z","type":"session_meta","payload":{"id":"new","timestamp":"2025-08-01T10:00:00.000Z","cwd":"","originator":"codex_cli_rs","cli_version":"0.171.0","source":"cli","git":{"branch":"main"}}}
        {"timestamp":"2025-08-01T10:00:00.001Z","type":"response_item","payload":{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"list"}]}}
        {"timestamp":"2025-08-01T10:00:00.002Z","type":"event_msg","payload":{"type":"user_message","message":"list","images":[],"local_images":[],"text_elements":[]}}
        {"timestamp":"2025-08-01T10:00:00.003Z","type":"response_item","payload":{"type":"function_call","id":"fc_1","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}}
        {"timestamp":"2025-08-01T10:00:00.004Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"a.rs\\n\",\"metadata\":{\"exit_code\":0}}"}}
        {"timestamp":"2025-08-01T10:00:00.005Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{","call_id":"c2"}}
        {"timestamp":"2025-08-01T10:00:00.006Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"failed to parse"}}
        {"timestamp":"2025-08-01T10:00:00.007Z","type":"response_item","payload":{"type":"message","id":null,"role":"assistant","content":[{"type":"output_text","text":"a.rs"}]}}
        {"timestamp":"2025-08-01T10:00:00.008Z","type":"event_msg","payload":{"type":"agent_message","message":"a.rs"}}
    "#]].assert_eq(&String::from_utf8(written.bytes).expect("text"));
    let losses: Vec<_> = written.losses.into_iter().map(|loss| loss.what).collect();
    assert_eq!(losses, ["that the result of call \"c2\" is a failure"]);
}

#[test]
fn a_summary_with_what_stays_takes_the_place_of_what_was_before() {
    let kept = r#"{"message":"sum","replacement_history":[
        {"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"Another language model started to solve this problem and produced a summary: sum"}]},
        {"type":"compaction","encrypted_content":"ENC"}],"window_number":1}"#
        .replace('\n', "");
    let file = session(&format!("user one\nai two\nuser three\ncompacted {kept}\nai four\nuser five"));
    let read = check(
        &file,
        expect![[r#"
        user: one
        harness: Another language model started to solve this problem and produced a summary: sum
        harness:
        + opaque openai-responses {"type":"compaction","encrypted_content":"ENC"}
        assistant: four
        user: five
        == covered s
        user: one
        assistant: two
        user: three
    "#]],
    );
    assert_eq!(read.left_out(0).covered, 3, "the lines before; the summary's own is of another kind");
}

#[test]
fn a_summary_alone_stands_behind_the_last_words_of_a_person() {
    let long = "x".repeat(90_000);
    let file = session(
        "user one\nai two\nuser <environment_context>\nuser three\ncompacted {\"message\":\"sum\"}\nuser four\n\
         compacted {\"message\":\"\"}\nai five",
    );
    check(
        &file,
        expect![[r#"
        user: one
        user: three
        user: four
        harness: (no summary available)
        assistant: five
        == covered s
        user: one
        user: three
        harness: sum
        user: four
        == covered s
        user: one
        assistant: two
        harness: <environment_context>
        user: three
    "#]],
    );
    let file = session(&format!("user one\nuser {long}\nuser two\ncompacted {{\"message\":\"sum\"}}\n"));
    let read = transcript(&file, Format::Codex);
    let sizes: Vec<_> = main(&read).messages.iter().map(|message| message.text().len()).collect();
    assert_eq!(sizes, [90_000, 3, 3], "the last that begins within the limit is whole");
}

#[test]
fn going_back_leaves_a_branch() {
    check(
        &session(
            "dev rules\nuser <environment_context>\nuser one\nai two\ndev more\nuser <environment_context>\nuser three\nai four\nback 1\n\
             user five\nai six\nback 9\nuser seven",
        ),
        expect![[r#"
            system: rules
            harness: <environment_context>
            user: seven
            == branch s
            system: rules
            harness: <environment_context>
            user: one
            assistant: two
            system: more
            harness: <environment_context>
            user: three
            assistant: four
            == branch s
            system: rules
            harness: <environment_context>
            user: one
            assistant: two
            user: five
            assistant: six
        "#]],
    );
}

#[test]
fn going_back_behind_a_summary_takes_it_along() {
    let kept = r#"{"message":"","replacement_history":[{"type":"message","role":"user","content":[{"type":"input_text","text":"one"}]}]}"#;
    check(
        &session(&format!("user one\nai two\nuser three\ncompacted {kept}\nai four\nback 1\nuser five")),
        expect![[r#"
            user: one
            assistant: two
            user: five
            == branch s
            user: one
            assistant: four
        "#]],
    );
}

#[test]
fn a_fork_and_a_sub_agent_have_a_parent_and_copies_of_its_header() {
    for (fields, second) in [
        (r#""forked_from_id":"up""#, "up"),
        (
            r#""parent_thread_id":"up","source":{"subagent":{"thread_spawn":{"parent_thread_id":"up","depth":1}}}"#,
            "up",
        ),
        (r#""source":{"subagent":{"thread_spawn":{"parent_thread_id":"up"}}}"#, "s"),
        (r#""source":"cli""#, "up"),
    ] {
        let file = line(1, "session_meta", &format!(r#"{{"id":"s","cwd":"/here",{fields}}}"#))
            + "\n"
            + &line(2, "session_meta", &format!(r#"{{"id":"{second}","cwd":"/there"}}"#))
            + "\n"
            + &line(
                3,
                "response_item",
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}"#,
            );
        let read = transcript(&file, Format::Codex);
        let main = main(&read);
        assert_eq!((main.id.as_str(), main.cwd.as_deref(), main.messages.len()), ("s", Some("/here"), 1));
        let written = read.write(0, &main.messages, "new").expect("there");
        let text = String::from_utf8(written.bytes).expect("text");
        assert!(!text.contains("\"up\"") && text.contains(r#""cwd":"/here""#), "{text}");
    }
}

#[test]
fn what_agents_say_to_each_other_is_no_prompt() {
    check(
        &session(
            r#"user go
            response_item {"type":"agent_message","author":"/first","recipient":"/first/a","content":[{"type":"input_text","text":"do it"}]}
            ai done
            inter_agent_communication {"author":"/first","recipient":"/first/a","content":"more","trigger_turn":true}
            ai done again
            response_item {"type":"agent_message","author":"/first","recipient":"/first/a","content":[{"type":"encrypted_content","encrypted_content":"E"}]}
            back 1"#,
        ),
        expect![[r#"
            user: go
            harness: do it
            assistant: done
            harness: more
            assistant: done again
            == branch s
            user: go
            harness: do it
            assistant: done
            harness: more
            assistant: done again
            harness:
            + opaque openai-responses {"type":"agent_message","author":"/first","recipient":"/first/a","content":[{"type":"encrypted_content","encrypted_content":"E"}]}
        "#]],
    );
}

#[test]
fn where_items_are_gone_events_are_read() {
    let file = session(
        r#"turn_context {"model":"gpt-x"}
        event_msg {"type":"user_message","message":"hi","images":["data:image/png;base64,AA=="]}
        event_msg {"type":"agent_reasoning","text":"hm"}
        event_msg {"type":"agent_message","message":"hello"}
        event_msg {"type":"token_count","info":{"total_token_usage":{"total_tokens":3},"last_token_usage":{"input_tokens":2,"output_tokens":1}}}
        event_msg {"type":"agent_message","message":"and bye"}"#,
    );
    let read = transcript(&file, Format::Codex);
    expect![[r#"
        user: hi
        + image image/png base64 "AA=="
        assistant:
        + thinking: hm
        + text: hello
        + origin openai-responses gpt-x
        assistant: and bye
        + origin openai-responses gpt-x
    "#]]
    .assert_eq(&show(&read));
    let written = read.write(0, &main(&read).messages, "new").expect("there");
    let losses: Vec<_> = written.losses.iter().map(|loss| loss.what.as_str()).collect();
    assert_eq!(losses, ["reasoning: only what its service has encrypted goes back to a model"]);
}

#[test]
fn a_fork_whose_beginning_is_in_another_file_says_so() {
    let head = r#"{"timestamp":"2026-02-01T10:00:00.000Z","type":"session_meta","payload":{"id":"s","forked_from_id":"t","history_base":{"thread_id":"t","end_ordinal_exclusive":14}}}"#;
    let faults: Vec<String> =
        transcript(&format!("{head}\n"), Format::Codex).faults.iter().map(ToString::to_string).collect();
    assert_eq!(faults, [r#"line 1: parent "t" is not in this file"#]);
}
