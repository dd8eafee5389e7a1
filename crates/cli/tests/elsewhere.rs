//! A list goes to another service: names, fields and orders that only the first one takes.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use trunkline_sanitize::WireRules;

use crate::fake::{Scene, calls, says};
use crate::logs::{answered, session, text, typed};
use crate::piping::{pipe, pipe_in};

/// Shows what comes out, and what was told.
fn check(wire: &str, input: &str, expected: Expect) {
    let said = pipe(&["--wire", wire], input.as_bytes());
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let again = pipe(&["--wire", wire], said.out.as_bytes());
    assert_eq!((&again.out, again.err.as_str()), (&said.out, ""), "once is enough");
    expected.assert_eq(&format!("{}{}\n", said.err, said.out));
}

const NO_SUCH_TOOL: &str = r#"[{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"functions.list_files","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","name":"functions.list_files","content":"no such tool"},{"role":"user","content":"b"}]"#;

#[test]
fn a_call_of_no_tool_gets_a_name_and_its_result_the_same() {
    check(
        "openai-chat",
        NO_SUCH_TOOL,
        expect![[r#"
        n1: replaced the name "functions.list_files" of call c1 by functions_list_files_k4f47ask: name not accepted (C17)
        1 repair
        [{"role":"user","content":"a"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"functions_list_files_k4f47ask","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","name":"functions_list_files_k4f47ask","content":"no such tool"},{"role":"user","content":"b"}]
    "#]],
    );
}

#[test]
fn no_wire_with_a_rule_for_names_gets_one_that_it_refuses() {
    let scene = Scene::new();
    for wire in WireRules::NAMES {
        let said = pipe_in(&scene, &["--wire", wire], NO_SUCH_TOOL.as_bytes());
        assert_eq!(said.exit, Some(0), "{wire}: {}", said.err);
        let takes_dots = matches!(*wire, "gemini-2" | "gemini-3" | "ollama");
        assert_eq!(said.out.contains("functions.list_files"), takes_dots, "{wire}: {}", said.out);
        assert_eq!(said.err.contains("replaced the name \"functions.list_files\""), !takes_dots, "{wire}");
    }
}

#[test]
fn a_name_under_which_the_body_offers_a_tool_is_taken() {
    let tool =
        json!({ "type": "function", "function": { "name": "functions.list_files", "parameters": {} } });
    let messages: Value = serde_json::from_str(NO_SUCH_TOOL).expect("JSON");
    let body = json!({ "messages": messages, "tools": [tool] }).to_string();
    let said = pipe(&["--wire", "openai-chat"], body.as_bytes());
    assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), body.as_str(), ""));
}

#[test]
fn audit_and_repair_tell_of_a_name() {
    let scene = Scene::new();
    std::fs::write(scene.work().join("list.json"), NO_SUCH_TOOL).expect("written");
    let said = scene.run(&["audit", "list.json", "--verbose"]);
    assert!(
        said.out.contains(r#"the name "functions.list_files" of call "c1" is not accepted"#),
        "{}",
        said.out
    );
    let said = scene.run(&["repair", "list.json"]);
    assert!(said.out.contains("replaced the name"), "{}", said.out);
    let said = scene.run(&["repair", "list.json", "--apply"]);
    assert_eq!(said.exit, Some(0), "{}{}", said.out, said.err);
    let mended = std::fs::read_to_string(scene.work().join("list.repaired.json")).expect("it was written");
    assert!(!mended.contains("functions.list_files"), "{mended}");
}

#[test]
fn a_model_that_calls_a_tool_that_nobody_has_does_not_end_its_session() {
    let (scene, endpoint) =
        Scene::with(vec![calls("functions.list files", "{}"), says("fine"), says("well")]);
    let said = scene.run(&["run", "go", "--yes"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(
        said.err.contains("functions.list files"),
        "a person sees the name as it was written: {}",
        said.err
    );
    scene.ok(&["resume", "--yes", "--prompt", "again"]);
    let requests = endpoint.requests();
    assert_eq!(requests.len(), 3);
    for request in &requests[1..] {
        let body = request.split("\r\n\r\n").last().unwrap_or_default();
        let body: Value = serde_json::from_str(body).expect("a body of JSON");
        let calls =
            body["messages"].as_array().into_iter().flatten().filter_map(|one| one["tool_calls"].as_array());
        let names: Vec<&str> = calls.flatten().filter_map(|call| call["function"]["name"].as_str()).collect();
        let [name] = names[..] else { panic!("{body}") };
        assert!(name.starts_with("functions_list_files_"), "{name}");
        assert_eq!(requests[1].contains(name), requests[2].contains(name), "it is always the same");
    }
    let stored = scene.ok(&["show", "--json", "--node", "n2"]);
    assert!(stored.contains("functions.list files"), "what is stored is what the model wrote: {stored}");
}

const REASONED: &str = r#"[{"role":"user","content":"look"},{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"s"}],"tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","content":"a b"}]"#;

#[test]
fn what_a_gateway_wrote_stays_there_and_goes_nowhere_else() {
    for wire in ["openai-chat", "openrouter", "vllm", "llama-cpp", "deepseek"] {
        let said = pipe(&["--wire", wire], REASONED.as_bytes());
        assert_eq!((said.exit, said.out.as_str(), said.err.as_str()), (Some(0), REASONED, ""), "{wire}");
    }
    for wire in ["mistral", "mistral-strict", "groq", "cerebras"] {
        let said = pipe(&["--wire", wire], REASONED.as_bytes());
        assert!(!said.out.contains("reasoning"), "{wire}: {}", said.out);
        assert!(said.err.starts_with("n1: left out the field reasoning_details"), "{wire}: {}", said.err);
    }
}

#[test]
fn a_document_a_refusal_and_empty_fields_of_another_service() {
    let list = r#"[{"role":"user","content":[{"type":"text","text":"read"},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQK"}}]},{"role":"assistant","content":"ok","refusal":null,"audio":null,"annotations":[],"function_call":null},{"role":"user","content":"and?"},{"role":"assistant","content":null,"refusal":"no"},{"role":"user","content":"well?"}]"#;
    check(
        "mistral",
        list,
        expect![[r#"
        n0 block 1: replaced media (1) by words: not taken on this wire (C15, a loss)
        n1: left out the field refusal of the message: not known to this service (C18)
        n1: left out the field audio of the message: not known to this service (C18)
        n1: left out the field annotations of the message: not known to this service (C18)
        n1: left out the field function_call of the message: not known to this service (C18)
        n3: left out the field refusal of the message: not known to this service (C18)
        6 repairs, 1 loss
        [{"role":"user","content":"read\n(application/pdf left out: not taken here)"},{"role":"assistant","content":"ok"},{"role":"user","content":"and?"},{"role":"assistant","content":"no"},{"role":"user","content":"well?"}]
    "#]],
    );
    check(
        "groq",
        list,
        expect![[r#"
        n0 block 1: replaced media (1) by words: not taken on this wire (C15, a loss)
        n1: left out the field refusal of the message: not known to this service (C18)
        n1: left out the field audio of the message: not known to this service (C18)
        n1: left out the field annotations of the message: not known to this service (C18)
        n1: left out the field function_call of the message: not known to this service (C18)
        n3: left out the field refusal of the message: not known to this service (C18)
        6 repairs, 1 loss
        [{"role":"user","content":"read\n(application/pdf left out: not taken here)"},{"role":"assistant","content":"ok"},{"role":"user","content":"and?"},{"role":"assistant","content":"no"},{"role":"user","content":"well?"}]
    "#]],
    );
    let said = pipe(&["--wire", "openai-chat"], list.as_bytes());
    assert_eq!((said.out.as_str(), said.err.as_str()), (list, ""), "it stays where it came from");
}

#[test]
fn fields_of_parts_and_calls_and_roles_of_another_service() {
    let list = r#"[{"role":"developer","content":"be brief"},{"role":"user","name":"Ann","content":[{"type":"text","text":"go","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":"","tool_calls":[{"id":"abcdefghi","index":0,"type":"function","function":{"name":"ls","arguments":"{}","parsed_arguments":null},"extra_content":{"google":{"thought_signature":"x"}}}]},{"role":"tool","tool_call_id":"abcdefghi","name":"ls","content":"a"}]"#;
    check(
        "mistral",
        list,
        expect![[r#"
        n0: left out the field "role developer" of the message: not known to this service (C18)
        n1: left out the field name of the message: not known to this service (C18)
        n1: left out the field cache_control of a part of type "text": not known to this service (C18)
        n2: left out the field index of a call: not known to this service (C18)
        n2: left out the field extra_content of a call: not known to this service (C18, a loss)
        n2: left out the field parsed_arguments of the function of a call: not known to this service (C18)
        6 repairs, 1 loss
        [{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":"","tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","name":"ls","content":"a"}]
    "#]],
    );
    check(
        "groq",
        list,
        expect![[r#"
        n1: left out the field cache_control of a part of type "text": not known to this service (C18)
        n2: left out the field index of a call: not known to this service (C18)
        n2: left out the field extra_content of a call: not known to this service (C18, a loss)
        n2: left out the field parsed_arguments of the function of a call: not known to this service (C18)
        4 repairs, 1 loss
        [{"role":"developer","content":"be brief"},{"role":"user","name":"Ann","content":[{"type":"text","text":"go"}]},{"role":"assistant","content":"","tool_calls":[{"id":"abcdefghi","type":"function","function":{"name":"ls","arguments":"{}"}}]},{"role":"tool","tool_call_id":"abcdefghi","name":"ls","content":"a"}]
    "#]],
    );
}

#[test]
fn what_an_answer_of_anthropic_brings_along_is_no_field_of_a_request() {
    let list = r#"{"messages":[{"role":"user","content":"a"},{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":"b"}],"stop_reason":"end_turn"},{"role":"user","content":"c"}]}"#;
    check(
        "anthropic",
        list,
        expect![[r#"
        n1: left out the field id of the message: not known to this service (C18)
        n1: left out the field type of the message: not known to this service (C18)
        n1: left out the field stop_reason of the message: not known to this service (C18)
        3 repairs
        {"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}
    "#]],
    );
}

#[test]
fn words_go_before_the_calls_of_messages_that_are_joined() {
    check(
        "anthropic",
        r#"[{"role":"user","content":"look"},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]},{"role":"assistant","content":"one moment"},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a b"}]}]"#,
        expect![[r#"
        n2: joined assistant message to the one before (B1)
        1 repair
        [{"role":"user","content":"look"},{"role":"assistant","content":[{"type":"text","text":"one moment"},{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a b"}]}]
    "#]],
    );
}

#[test]
fn what_a_client_joins_before_it_sends_it_is_joined_on_every_wire() {
    let scene = Scene::new();
    let words = session(vec![
        typed("<command-name>/clear</command-name>"),
        typed("hello"),
        answered("msg_1", text("hi")),
    ]);
    for wire in WireRules::NAMES {
        let said = pipe_in(&scene, &["--wire", wire], words.as_bytes());
        assert_eq!(said.exit, Some(0), "{wire}: {}", said.err);
        let body: Value = serde_json::from_str(&said.out).expect("JSON");
        let roles: Vec<&str> = body["messages"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|one| one["role"].as_str())
            .collect();
        assert_eq!(roles[..2], ["user", "assistant"], "{wire}: {}", said.out);
    }
}

/// A line of a session, by what it says.
fn line() -> impl Strategy<Value = Value> {
    let words =
        select(vec!["hi", "", " ", "<command-name>/clear</command-name>", "[Request interrupted by user]"]);
    let id = || select(vec!["toolu_1", "toolu_2", "call 1"]);
    let name = select(vec!["Bash", "functions.ls", ""]);
    let message = select(vec!["msg_1", "msg_2", "msg_3"]);
    prop_oneof![
        3 => words.prop_map(typed),
        2 => message.clone().prop_map(|message| answered(message, text("let me look"))),
        3 => (message, id(), name).prop_map(|(message, id, name)| {
            answered(message, json!({ "type": "tool_use", "id": id, "name": name, "input": {} }))
        }),
        3 => (id(), any::<bool>()).prop_map(|(id, words)| {
            let result = json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" });
            let content = if words { json!([result, text("and this")]) } else { json!([result]) };
            json!({ "type": "user", "message": { "role": "user", "content": content } })
        }),
    ]
}

proptest! {
    // Each case starts as many processes as there are wires.
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_session_holds_is_legal_when_it_is_written(lines in prop::collection::vec(line(), 1..9)) {
        let scene = Scene::new();
        let session = session(lines);
        for wire in WireRules::NAMES {
            let said = pipe_in(&scene, &["--wire", wire], session.as_bytes());
            prop_assert!(!said.err.contains("please report this"), "{}: {}", wire, said.err);
        }
    }
}
