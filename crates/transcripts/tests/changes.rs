//! A list that was changed is the text that it was, but for the change.

use expect_test::{Expect, expect};
use trunkline_message_tree::{Content, Message, Role};
use trunkline_transcripts::{Format, read, read_as};

use crate::show::main;

/// Reads a list, changes its messages, and shows what is written and what was lost.
fn check(file: &str, change: impl FnOnce(&mut Vec<Message>), expected: Expect) {
    let transcript = read(file.as_bytes()).expect("a list");
    let mut messages = main(&transcript).messages;
    change(&mut messages);
    let written = transcript.write(0, &messages, "").expect("it is there");
    let mut out = String::from_utf8(written.bytes).expect("text");
    for loss in &written.losses {
        out.push_str(&format!("\n-- {:?} {}", loss.node, loss.what));
    }
    expected.assert_eq(&out);
}

#[test]
fn unchanged_messages_give_the_bytes_back() {
    for file in [
        "{ \"model\": \"claude-x\",\n  \"messages\" : [\n {\"role\":\"user\", \"content\":\"hi\", \"x\":[1, 2]}\n ] }\n",
        "[{\"role\": \"user\",  \"content\": \"hi\"}]",
        "\u{feff}{\"role\": \"user\",  \"content\": \"hi\"}\r\n{\"role\": \"assistant\",  \"content\": \"hello\"}",
        "{\"system\": [], \"messages\": []}",
    ] {
        let transcript = read(file.as_bytes()).expect("a list");
        let written = transcript.write(0, &main(&transcript).messages, "").expect("it is there");
        // All but the mark that an editor put in front: no service takes it.
        assert_eq!(String::from_utf8_lossy(&written.bytes), file.trim_start_matches('\u{feff}'));
        assert_eq!(written.losses, []);
    }
}

const ANTHROPIC: &str = r#"{
  "max_tokens": 9, "system": "be brief",
  "messages": [
    {"role": "user", "content": "hi", "note": 1},
    {"role": "assistant", "content": [{"type": "text", "text": "\n"}, {"type":"tool_use", "id":"c1", "name":"Read", "input": {"b": 1},"cache_control":{"type":"ephemeral"}}]},
    {"role": "user", "content": "well?"}
  ]
}"#;

#[test]
fn a_block_that_is_taken_out_leaves_its_neighbours_as_they_were() {
    check(
        ANTHROPIC,
        |messages| _ = messages[2].content.remove(0),
        expect![[r#"
        {
          "max_tokens": 9, "system": "be brief",
          "messages": [
            {"role": "user", "content": "hi", "note": 1},
            {"role":"assistant","content":[{"type":"tool_use", "id":"c1", "name":"Read", "input": {"b": 1},"cache_control":{"type":"ephemeral"}}]},
            {"role": "user", "content": "well?"}
          ]
        }"#]],
    );
}

#[test]
fn a_result_that_is_put_in_joins_the_user_message_after_it() {
    check(
        ANTHROPIC,
        |messages| messages.insert(3, Message::tool_result("c1", "interrupted", true)),
        expect![[r#"
            {
              "max_tokens": 9, "system": "be brief",
              "messages": [
                {"role": "user", "content": "hi", "note": 1},
                {"role": "assistant", "content": [{"type": "text", "text": "\n"}, {"type":"tool_use", "id":"c1", "name":"Read", "input": {"b": 1},"cache_control":{"type":"ephemeral"}}]},
                {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"interrupted","is_error":true},{"type":"text","text":"well?"}]}
              ]
            }"#]],
    );
}

#[test]
fn a_result_that_is_put_in_after_others_joins_them() {
    check(
        r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n","input":{}}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a", "content":[]}]}]"#,
        |messages| messages.push(Message::tool_result("b", "interrupted", true)),
        expect![[r#"
            [{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}},{"type":"tool_use","id":"b","name":"n","input":{}}]},
                        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a", "content":[]},{"type":"tool_result","tool_use_id":"b","content":"interrupted","is_error":true}]}]"#]],
    );
}

#[test]
fn instructions_that_change_are_changed_where_they_stand() {
    check(
        ANTHROPIC,
        |messages| messages[0] = Message::system("be long"),
        expect![[r#"
            {"max_tokens":9,"system":[{"type":"text","text":"be long"}],"messages":[
                {"role": "user", "content": "hi", "note": 1},
                {"role": "assistant", "content": [{"type": "text", "text": "\n"}, {"type":"tool_use", "id":"c1", "name":"Read", "input": {"b": 1},"cache_control":{"type":"ephemeral"}}]},
                {"role": "user", "content": "well?"}
              ]}"#]],
    );
    check(
        ANTHROPIC,
        |messages| _ = messages.remove(0),
        expect![[r#"
        {"max_tokens":9,"messages":[
            {"role": "user", "content": "hi", "note": 1},
            {"role": "assistant", "content": [{"type": "text", "text": "\n"}, {"type":"tool_use", "id":"c1", "name":"Read", "input": {"b": 1},"cache_control":{"type":"ephemeral"}}]},
            {"role": "user", "content": "well?"}
          ]}"#]],
    );
}

const OPENAI: &str = r#"[
  {"role": "developer", "content": "be brief"},
  {"role": "assistant", "content": "", "reasoning": "hm", "audio": null, "tool_calls": [{"id": "c1", "type": "function", "index": 0, "function": {"name": "n", "arguments": "{ }"}}, {"id": "c2", "type": "function", "function": {"name": "n", "arguments": "{"}}]},
  {"role": "tool", "tool_call_id": "c1", "name": "n", "content": [{"type": "text", "text": "ok"}]},
  {"role": "user", "content": "well?", "name": "Ann"}
]"#;

#[test]
fn a_call_that_is_taken_out_leaves_the_message_as_it_was() {
    check(
        OPENAI,
        |messages| _ = messages[1].content.pop(),
        expect![[r#"
        [
          {"role": "developer", "content": "be brief"},
          {"role":"assistant","content":"","reasoning":"hm","audio":null,"tool_calls":[{"id": "c1", "type": "function", "index": 0, "function": {"name": "n", "arguments": "{ }"}}]},
          {"role": "tool", "tool_call_id": "c1", "name": "n", "content": [{"type": "text", "text": "ok"}]},
          {"role": "user", "content": "well?", "name": "Ann"}
        ]"#]],
    );
}

#[test]
fn reasoning_that_is_taken_out_takes_its_field_along() {
    check(
        OPENAI,
        |messages| _ = messages[1].content.remove(0),
        expect![[r#"
        [
          {"role": "developer", "content": "be brief"},
          {"role":"assistant","content":"","audio":null,"tool_calls":[{"id": "c1", "type": "function", "index": 0, "function": {"name": "n", "arguments": "{ }"}},{"id": "c2", "type": "function", "function": {"name": "n", "arguments": "{"}}]},
          {"role": "tool", "tool_call_id": "c1", "name": "n", "content": [{"type": "text", "text": "ok"}]},
          {"role": "user", "content": "well?", "name": "Ann"}
        ]"#]],
    );
}

const OLDER: &str = r#"[
  {"role": "user", "content": "go"},
  {"role": "assistant", "content": null, "function_call": {"name": "read it", "arguments": "{}"}, "x": 1},
  {"role": "function", "name": "read it", "content": "one"},
  {"role": "assistant", "content": null, "function_call": {"name": "list", "arguments": "{\"id\": 1}"}},
  {"role": "function", "name": "list", "content": "two"}
]"#;

#[test]
fn a_call_of_the_older_form_that_changes_takes_its_result_along() {
    check(
        OLDER,
        |messages| {
            for block in &mut messages[1].content {
                if let Content::ToolCall(call) = block {
                    call.name = "read_it".to_owned();
                }
            }
        },
        expect![[r#"
            [
              {"role": "user", "content": "go"},
              {"role":"assistant","content":null,"x":1,"tool_calls":[{"id":"read it","type":"function","function":{"name":"read_it","arguments":"{}"}}]},
              {"role":"tool","name":"read_it","content":"one","tool_call_id":"read it"},
              {"role": "assistant", "content": null, "function_call": {"name": "list", "arguments": "{\"id\": 1}"}},
              {"role": "function", "name": "list", "content": "two"}
            ]"#]],
    );
}

#[test]
fn a_result_of_the_older_form_that_changes_takes_its_call_along() {
    check(
        OLDER,
        |messages| messages[4] = Message::tool_result("list", "interrupted", true),
        expect![[r#"
            [
              {"role": "user", "content": "go"},
              {"role": "assistant", "content": null, "function_call": {"name": "read it", "arguments": "{}"}, "x": 1},
              {"role": "function", "name": "read it", "content": "one"},
              {"role":"assistant","content":null,"tool_calls":[{"id":"list","type":"function","function":{"name":"list","arguments":"{\"id\": 1}"}}]},
              {"role":"tool","tool_call_id":"list","content":"interrupted"}
            ]"#]],
    );
}

#[test]
fn what_is_half_of_the_older_form_is_written_as_a_whole_of_the_newer_one() {
    // A call with an id answered by name, one whose result bears another name, one that is said in both forms, one that stands in
    // no list, another one beside a list, one of the older form with an id, and no call at all.
    check(
        r#"[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
{"role":"function","name":"f","content":"1"},
{"role":"assistant","content":null,"function_call":{"name":"f","arguments":{"id":1}}},
{"role":"function","name":"g","content":"2"},
{"role":"assistant","content":null,"function_call":{"name":"h","arguments":"{}"},"tool_calls":[{"id":"c3","type":"function","function":{"name":"h","arguments":"{}"}}]},
{"role":"function","name":"h","content":"3"},
{"role":"assistant","content":null,"tool_calls":{"id":"c4","type":"function","function":{"name":"f","arguments":"{}"}}},
{"role":"tool","tool_call_id":"c4","content":"4"},
{"role":"assistant","content":null,"tool_calls":[{"id":"c5","type":"function","function":{"name":"f","arguments":"{}"}}],"function_call":{"name":"g","arguments":"{}"}},
{"role":"function","name":"g","content":"5"},
{"role":"tool","tool_call_id":"c5","content":"6"},
{"role":"assistant","content":null,"function_call":{"id":"x","name":"f","arguments":"{}"}},
{"role":"function","name":"g","content":"7"},
{"role":"assistant","content":"hi","tool_calls":{}},
{"role":"assistant","content":"ho","function_call":{}},
{"role":"assistant","content":null,"tool_calls":[{"id":"c8","type":"function","function":{"name":"f","arguments":"{}"}}],"function_call":{"name":"","arguments":""}},
{"role":"tool","tool_call_id":"c8","content":"8"}]"#,
        |_| {},
        expect![[r#"
            [{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","name":"f","content":"1","tool_call_id":"c1"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"f","type":"function","function":{"name":"f","arguments":"{\"id\":1}"}}]},
            {"role":"tool","name":"f","content":"2","tool_call_id":"f"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c3","type":"function","function":{"name":"h","arguments":"{}"}}]},
            {"role":"tool","name":"h","content":"3","tool_call_id":"c3"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c4","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c4","content":"4"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c5","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"g","type":"function","function":{"name":"g","arguments":"{}"}}]},
            {"role":"tool","name":"g","content":"5","tool_call_id":"g"},
            {"role":"tool","tool_call_id":"c5","content":"6"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"f","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","name":"f","content":"7","tool_call_id":"f"},
            {"role":"assistant","content":"hi"},
            {"role":"assistant","content":"ho"},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c8","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"c8","content":"8"}]"#]],
    );
}

#[test]
fn what_a_custom_tool_was_given_stays_text_and_is_an_object_where_it_must_be_a_function() {
    const CUSTOM: &str = r#"[{"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"code","input":"print(\"1\")"}}]},
{"role":"tool","tool_call_id":"c1","content":"1"}]"#;
    check(
        CUSTOM,
        |messages| messages[0].content[0] = Content::text("y"),
        expect![[r#"
        [{"role":"assistant","content":"y","tool_calls":[{"id":"c1","type":"custom","custom":{"name":"code","input":"print(\"1\")"}}]},
        {"role":"tool","tool_call_id":"c1","content":"1"}]"#]],
    );
    check(
        CUSTOM,
        |messages| {
            if let Some(Content::ToolCall(call)) = messages[0].content.last_mut() {
                assert_eq!(call.arguments, r#"{"input":"print(\"1\")"}"#);
                call.name = "run".to_owned();
            }
        },
        expect![[r#"
            [{"role":"assistant","content":"x","tool_calls":[{"id":"c1","type":"function","function":{"name":"run","arguments":"{\"input\":\"print(\\\"1\\\")\"}"}}]},
            {"role":"tool","tool_call_id":"c1","content":"1"}]"#]],
    );
}

#[test]
fn a_row_of_the_other_wire_is_written_as_this_one_has_it() {
    check(
        r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},
            {"role":"tool","tool_call_id":"a","content":"x"}]"#,
        |_| {},
        expect![[r#"
            [{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},
                        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]}]"#]],
    );
}

#[test]
fn instructions_that_become_a_users_words_keep_them() {
    check(
        r#"[{"role":"user","content":"a"},{"role":"system","content":"b"}]"#,
        |messages| messages[1].role = Role::User,
        expect![[r#"[{"role":"user","content":"a"},{"role":"user","content":"b"}]"#]],
    );
}

#[test]
fn a_refusal_stays_said() {
    check(
        r#"[{"role":"assistant","content":null,"refusal":"no","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]},
            {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}},{"id":"d","type":"function","function":{"name":"n","arguments":"{}"}}]}]"#,
        |messages| {
            messages[0].content.pop();
            messages[1].content.pop();
        },
        expect![[r#"
            [{"role":"assistant","content":"no"},
                        {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{}"}}]}]"#]],
    );
}

#[test]
fn results_are_messages_of_their_own() {
    check(
        OPENAI,
        |messages| {
            messages.truncate(2);
            let result = Message::tool_result("c2", "late", true).content.remove(0);
            let mixed = vec![Content::text("see"), result];
            messages.push(Message::new(Role::User, trunkline_message_tree::Author::Person, mixed));
        },
        expect![[r#"
            [
              {"role": "developer", "content": "be brief"},
              {"role": "assistant", "content": "", "reasoning": "hm", "audio": null, "tool_calls": [{"id": "c1", "type": "function", "index": 0, "function": {"name": "n", "arguments": "{ }"}}, {"id": "c2", "type": "function", "function": {"name": "n", "arguments": "{"}}]},
              {"role":"tool","tool_call_id":"c2","content":"late"},
              {"role":"user","content":"see"}
            ]"#]],
    );
}

#[test]
fn a_string_that_changes_stays_a_string() {
    check(
        OPENAI,
        |messages| messages[3].content = vec![Content::text("well, well")],
        expect![[r#"
        [
          {"role": "developer", "content": "be brief"},
          {"role": "assistant", "content": "", "reasoning": "hm", "audio": null, "tool_calls": [{"id": "c1", "type": "function", "index": 0, "function": {"name": "n", "arguments": "{ }"}}, {"id": "c2", "type": "function", "function": {"name": "n", "arguments": "{"}}]},
          {"role": "tool", "tool_call_id": "c1", "name": "n", "content": [{"type": "text", "text": "ok"}]},
          {"role":"user","content":"well, well","name":"Ann"}
        ]"#]],
    );
}

#[test]
fn lines_stay_lines() {
    check(
        "{\"role\":\"user\",\"content\":\"hi\"}\nnot json\n{\"role\":\"assistant\",\"content\":\"hello\"}\n",
        |messages| messages.push(Message::user("more")),
        expect![[r#"
            {"role":"user","content":"hi"}
            {"role":"assistant","content":"hello"}
            {"role":"user","content":"more"}
        "#]],
    );
}

#[test]
fn what_was_mended_is_written_mended() {
    check(
        r#"[{"role":"user","content":"cut \ud83d"}, {"role":"narrator"}, {"role":"assistant","content":"hello"}]"#,
        |_| {},
        expect![[r#"[{"role":"user","content":"cut \ufffd"}, {"role":"assistant","content":"hello"}]"#]],
    );
}

#[test]
fn a_conversation_that_is_not_there_is_refused() {
    let transcript = read_as(b"[]", Format::OpenAiChat).expect("an empty list is a list");
    let refused = transcript.write(1, &[], "").expect_err("there is one");
    assert_eq!(refused.to_string(), "conversation 1 was asked for, the file holds 1");
}
