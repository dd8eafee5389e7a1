//! What encoders refuse, on all wires.

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_message_tree::{MessageTree, NodeId, ToolChoice, ToolSpec, notation};
use trunkline_providers::{Anthropic, OpenAiChat, OpenAiResponses, Request, Thinking, Wire};

use crate::replies::request;

fn answers(request: &Request) -> String {
    let wires: [&dyn Wire; 3] = [&Anthropic::new(), &OpenAiChat::default(), &OpenAiResponses::new()];
    let mut text = String::new();
    for wire in wires {
        let answer = match wire.encode(request) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
        text.push_str(&format!("{}: {answer}\n", wire.name()));
    }
    text
}

fn check(conversation: &str, expected: Expect) {
    expected.assert_eq(&answers(&request(conversation)));
}

#[test]
fn a_call_needs_its_result() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
           + call c2 f {}
         result c1: ok
         user: and?",
        expect![[r#"
            anthropic: message 1: call c2 has no result directly after it
            openai-chat: message 1: call c2 has no result directly after it
            openai-responses: message 1: call c2 has no result directly after it
        "#]],
    );
}

#[test]
fn a_call_at_the_end_needs_its_result() {
    check(
        "user: hi
         assistant:
           + call c1 f {}",
        expect![[r#"
            anthropic: message 1: call c1 has no result directly after it
            openai-chat: message 1: call c1 has no result directly after it
            openai-responses: message 1: call c1 has no result directly after it
        "#]],
    );
}

#[test]
fn the_place_is_named_by_its_node() {
    let tree = notation::parse_tree(
        "n0 system: be brief
         n1 user: hi
         n2 assistant:
            + call c1 f {}
         n3 user: never mind",
    )
    .expect("the test's own notation");
    let messages = [0, 1, 2, 3].map(|index| message(&tree, NodeId::new(index)));
    expect![[r#"
        anthropic: n2: call c1 has no result directly after it
        openai-chat: n2: call c1 has no result directly after it
        openai-responses: n2: call c1 has no result directly after it
    "#]]
    .assert_eq(&answers(&Request::new("m", messages.to_vec())));
}

fn message(tree: &MessageTree, id: NodeId) -> trunkline_message_tree::Message {
    tree.node(id).expect("the node is there").message().clone()
}

#[test]
fn a_result_needs_its_call() {
    check(
        "user: hi\nresult c1: 42",
        expect![[r#"
            anthropic: message 1: result c1 answers no call of the message before it
            openai-chat: message 1: result c1 answers no call of the message before it
            openai-responses: message 1: result c1 answers no call of the message before it
        "#]],
    );
}

#[test]
fn a_result_that_comes_late_answers_nothing() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         result c1: 42
         user: go on
         assistant: hm
         result c1: 43",
        expect![[r#"
            anthropic: message 5: result c1 answers no call of the message before it
            openai-chat: message 5: result c1 answers no call of the message before it
            openai-responses: message 5: call c1 is answered a second time
        "#]],
    );
}

#[test]
fn a_result_may_come_late_on_one_wire() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         user: wait
         assistant: hm
         result c1: 42",
        expect![[r#"
            anthropic: message 1: call c1 has no result directly after it
            openai-chat: message 1: call c1 has no result directly after it
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn instructions_between_calls_and_results_part_nobody_on_one_wire() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         system: be brief
         result c1: 42",
        expect![[r#"
            anthropic: accepted
            openai-chat: message 1: call c1 has no result directly after it
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn a_call_is_answered_once() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         result c1: 42
         result c1: 43",
        expect![[r#"
            anthropic: message 3: call c1 is answered a second time
            openai-chat: message 3: call c1 is answered a second time
            openai-responses: message 3: call c1 is answered a second time
        "#]],
    );
}

#[test]
fn ids_may_come_again_in_a_later_turn() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         result c1: 42
         assistant:
           + call c1 f {}
         result c1: 43",
        expect![[r#"
            anthropic: accepted
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn ids_of_other_wires_are_refused_where_they_do_not_fit() {
    check(
        "user: hi
         assistant:
           + call \"Bash:12\" f {}
         result \"Bash:12\": 42",
        expect![[r#"
            anthropic: message 1: the wire refuses "Bash:12" as the id of a call
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn arguments_must_be_an_object() {
    for arguments in ["{\"path\": \"a.r", "[]", "\"null\"", "nonsense"] {
        let mut request = request("user: hi\nassistant:\n+ call c1 f {}\nresult c1: ok");
        if let Some(trunkline_message_tree::Content::ToolCall(call)) = request
            .messages
            .get_mut(1)
            .and_then(|message| std::sync::Arc::make_mut(message).content.first_mut())
        {
            call.arguments = arguments.to_owned();
        }
        expect![[r#"
            anthropic: message 1: the arguments of call c1 are not a JSON object
            openai-chat: message 1: the arguments of call c1 are not a JSON object
            openai-responses: message 1: the arguments of call c1 are not a JSON object
        "#]]
        .assert_eq(&answers(&request));
    }
}

#[test]
fn blank_text_is_refused_where_the_wire_refuses_it() {
    check(
        "user: \\n",
        expect![[r#"
            anthropic: message 0: a text block is blank
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn blank_text_beside_a_call_is_taken() {
    check(
        "user: hi\nassistant: \\n\n+ call c1 f {}\nresult c1: ok",
        expect![[r#"
            anthropic: accepted
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
    check(
        "user: hi\nassistant:\n+ text:\n+ call c1 f {}\nresult c1: ok",
        expect![[r#"
            anthropic: message 1: a text block is blank
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn instructions_that_say_nothing_are_left_out() {
    check(
        "system:\n+ text:\nuser: hi",
        expect![[r#"
            anthropic: accepted
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn results_are_in_one_user_message() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
           + call c2 f {}
         user:
           + result c1: ok
         user:
           + result c2: ok",
        expect![[r#"
            anthropic: message 1: call c2 has no result directly after it
            openai-chat: message 1: call c2 has no result directly after it
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn a_turn_that_its_provider_paused_goes_on() {
    check(
        "user: hi\nassistant: let me\n+ stop pause",
        expect![[r#"
            anthropic: accepted
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn a_message_has_a_block() {
    check(
        "user: hi\nassistant:\nuser: hello?",
        expect![[r#"
            anthropic: message 1: the message is empty
            openai-chat: message 1: the message is empty
            openai-responses: message 1: the message is empty
        "#]],
    );
}

#[test]
fn somebody_must_have_asked_something() {
    check(
        "system: be brief",
        expect![[r#"
            anthropic: the request has no message besides instructions
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn the_model_neither_begins_nor_ends() {
    check(
        "assistant: hi\nuser: hello",
        expect![[r#"
            anthropic: message 0: the conversation does not begin with a user message
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
    check(
        "user: hello\nassistant: hi",
        expect![[r#"
            anthropic: message 1: the conversation ends with an assistant message, there is nothing to answer
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn instructions_lead() {
    check(
        "user: hello\nsystem: be brief",
        expect![[r#"
            anthropic: accepted
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn results_stand_first_in_a_user_message() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         user: here
           + result c1: 42",
        expect![[r#"
            anthropic: message 2: a result stands after other blocks
            openai-chat: message 2: a result stands after other blocks
            openai-responses: message 2: a result stands after other blocks
        "#]],
    );
}

#[test]
fn a_user_message_may_hold_results_on_one_wire_only() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         user:
           + result c1: 42
           + text: here",
        expect![[r#"
            anthropic: accepted
            openai-chat: message 2: the openai-chat wire has no place for a result here
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn blocks_have_their_roles() {
    check(
        "user: hi\n+ call c1 f {}",
        expect![[r#"
            anthropic: message 0: a call cannot be in this message
            openai-chat: message 0: a call cannot be in this message
            openai-responses: message 0: a call cannot be in this message
        "#]],
    );
    check(
        "system: hi\n+ thinking: hm\nuser: hi",
        expect![[r#"
            anthropic: message 0: reasoning cannot be in this message
            openai-chat: message 0: reasoning cannot be in this message
            openai-responses: message 0: reasoning cannot be in this message
        "#]],
    );
}

#[test]
fn reasoning_without_its_signature_goes_nowhere() {
    check(
        "user: hi\nassistant: a\n+ thinking: hm\nuser: go on",
        expect![[r#"
            anthropic: message 1: a reasoning block has no signature
            openai-chat: accepted
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn raw_blocks_stay_on_their_wire() {
    check(
        "user: hi\nassistant: a\n+ opaque gemini {}\nuser: go on",
        expect![[r#"
            anthropic: message 1: a raw block is not one of the anthropic wire
            openai-chat: message 1: the openai-chat wire has no place for a raw block here
            openai-responses: message 1: the openai-responses wire has no place for a raw block here
        "#]],
    );
    check(
        "user: hi\nassistant: a\n+ opaque anthropic {}\nuser: go on",
        expect![[r#"
            anthropic: accepted
            openai-chat: message 1: the openai-chat wire has no place for a raw block here
            openai-responses: message 1: the openai-responses wire has no place for a raw block here
        "#]],
    );
}

#[test]
fn a_picture_in_a_result_has_no_place_in_chat() {
    check(
        "user: hi
         assistant:
           + call c1 f {}
         result c1: here
           ++ image image/png base64 AAAA",
        expect![[r#"
            anthropic: accepted
            openai-chat: message 2: the openai-chat wire has no place for an image in a result here
            openai-responses: accepted
        "#]],
    );
}

#[test]
fn what_is_demanded_must_be_possible() {
    let tool = ToolSpec {
        name: "f".into(),
        description: String::new(),
        input_schema: json!({"type": "object"}),
        strict: None,
    };

    let mut forced = request("user: hi");
    forced.tool_choice = ToolChoice::Any;
    expect![[r#"
        anthropic: the anthropic wire does not do a forced tool choice without tools
        openai-chat: the openai-chat wire does not do a forced tool choice without tools
        openai-responses: the openai-responses wire does not do a forced tool choice without tools
    "#]]
    .assert_eq(&answers(&forced));

    forced.tools = vec![tool.clone()];
    forced.tool_choice = ToolChoice::Named("g".into());
    expect![[r#"
        anthropic: tool g must be used but is not on offer
        openai-chat: tool g must be used but is not on offer
        openai-responses: tool g must be used but is not on offer
    "#]]
    .assert_eq(&answers(&forced));

    forced.tool_choice = ToolChoice::Any;
    forced.thinking = Thinking::Budget(1024);
    forced.soft_choice = false;
    expect![[r#"
        anthropic: the anthropic wire does not do reasoning together with a forced tool choice
        openai-chat: accepted
        openai-responses: accepted
    "#]]
    .assert_eq(&answers(&forced));

    let mut greedy = request("user: hi");
    greedy.thinking = Thinking::Budget(8192);
    expect![[r#"
        anthropic: a reasoning budget of 8192 leaves nothing of 8192 output tokens
        openai-chat: accepted
        openai-responses: accepted
    "#]]
    .assert_eq(&answers(&greedy));

    let mut shapeless = request("user: hi");
    shapeless.tools = vec![ToolSpec { input_schema: json!({"type": "string"}), ..tool }];
    expect![[r#"
        anthropic: the schema of tool f does not describe an object
        openai-chat: the schema of tool f does not describe an object
        openai-responses: the schema of tool f does not describe an object
    "#]]
    .assert_eq(&answers(&shapeless));
}
