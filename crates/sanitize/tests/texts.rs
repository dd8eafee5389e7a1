//! What a provider says when it refuses is said before it is asked.

use expect_test::expect;
use trunkline_message_tree::{Origin, notation};
use trunkline_sanitize::{RequestFacts, Thinking, WireRules, violations};

/// The rule set, what is known, and the smallest list that shows one damage.
const REFUSED: &[(&str, Known, &str)] = &[
    ("bedrock", NOTHING, "user: hi\nassistant:\n+ call c1 read {}\nresult c1: 42\nuser: well?"),
    ("bedrock", NOTHING, "user: hi\nuser: well?"),
    ("bedrock", NOTHING, "user: hi\nassistant:\n+ call c1 read {}\nresult c1!:"),
    ("bedrock", NO_TOOLS, "user: hi\nassistant:\n+ call c1 read {}\nresult c1: 42"),
    ("bedrock-claude", NOTHING, "user: hi\nassistant:\n+ call c1 read {}\nresult c1: 42\nresult c0: 41"),
    ("openai-responses", NOTHING, "user: hi\nassistant:\n+ call c1 read {}"),
    ("openai-responses", NOTHING, "user: hi\nresult c1: 42"),
    (
        "openai-responses",
        NOTHING,
        "user: hi\nassistant: hi\n+ opaque openai-responses {\"type\":\"reasoning\",\"id\":\"rs_1\"}",
    ),
    ("gemini-2", NOTHING, "user: hi\nassistant:\n+ call c1 read {}\nuser: well?"),
    ("gemini-2", NOTHING, "user: hi\nresult c1: 42"),
    ("gemini-2", NOTHING, "assistant: hi\nuser: hi"),
    ("gemini-2", NOTHING, "user: hi\nassistant:\n+ call c1 read {}\n+ result c1: 42\nresult c1: 42"),
    ("gemini-2", NOTHING, "user:\nuser: hi"),
    ("gemini-2", NOTHING, ""),
    ("gemini-3", NOTHING, "user: hi\nassistant:\n+ call c1 read {}\nresult c1: 42"),
    ("mistral", NOTHING, "user: hi\nassistant:\n+ call aaaaaaaa1 read {}"),
    ("mistral", NOTHING, "user: hi\nresult aaaaaaaa1: 42"),
    ("mistral", NOTHING, "user: hi\nassistant:\n+ call c1 read {}\nresult c1: 42"),
    ("mistral", NOTHING, "user: hi\nassistant: hel"),
    (
        "mistral-strict",
        NOTHING,
        "user: hi\nassistant:\n+ call aaaaaaaa1 read {}\nresult aaaaaaaa1: 42\nuser: well?",
    ),
    ("strict-template", NOTHING, "system: be brief\nsystem: be polite\nuser: hi"),
    ("strict-template", NOTHING, "user: hi\nuser: well?"),
    ("deepseek", NOTHING, "user: hi\nassistant:\n+ call c1 read {}"),
    ("deepseek", NOTHING, "user: hi\n+ image image/png base64 AAAA"),
    ("deepseek", THINKING, "user: hi\nassistant:\n+ call c1 read {}\nresult c1: 42"),
    ("deepseek", FORCED, "user: hi"),
    ("anthropic", FORCED, "user: hi"),
    ("anthropic", THINKING, "user: hi\nassistant:\n+ call c1 read {}\nresult c1: 42"),
    ("anthropic-strict", NOTHING, "user: hi\nuser: well?"),
    (
        "openai-chat",
        NOTHING,
        "user: hi\nassistant:\n+ call c1 shot {}\nresult c1:\n++ image image/png base64 AAAA",
    ),
    (
        "openai-responses",
        ELSEWHERE,
        "user: hi\nassistant: hi\n+ opaque openai-responses {\"type\":\"web_search_call\"}
         + opaque openai-responses {\"type\":\"reasoning\",\"id\":\"rs_1\"}\n+ text: found\n+ origin openai gpt-a",
    ),
    ("anthropic", NOTHING, "user: hi\nassistant:\n+ server-result s1 {}\n+ text: found\nuser: well?"),
    ("anthropic", ELSEWHERE, "user: hi\nassistant:\n+ thinking sig1: hmm\n+ text: hello\nuser: well?"),
    ("mistral", NOTHING, "user: hi\nassistant:\n+ call aaaaaaaa1 f {}\nresult aaaaaaaa1: 1\nresult aaaaaaaa1: 2"),
    ("gemini-2", NOTHING, "user: hi\nassistant:\n+ call c1 f {}\nuser: well?\n+ result c1: 42"),
];

/// Of somebody who did not write the answer.
const ELSEWHERE: Known = || {
    let mut facts = RequestFacts::default();
    facts.origin = Some(Origin::new("openai", "gpt-b"));
    facts
};

type Known = fn() -> RequestFacts;

const NOTHING: Known = RequestFacts::default;
const NO_TOOLS: Known = || {
    let mut facts = RequestFacts::default();
    facts.tools_offered = Some(false);
    facts
};
const THINKING: Known = || {
    let mut facts = RequestFacts::default();
    facts.thinking = Thinking::On;
    facts
};
const FORCED: Known = || {
    let mut facts = THINKING();
    facts.choice_forced = true;
    facts
};

#[test]
fn a_violation_carries_the_text_that_the_provider_would_send() {
    let mut lines = String::new();
    for (name, known, input) in REFUSED {
        let rules = WireRules::named(name).expect("a known name");
        let list = notation::parse(input).expect("the input of a test is notation");
        for found in violations(&list, &rules, &known()) {
            let text = found.provider_text.unwrap_or("(not known)");
            lines.push_str(&format!("{name} {found}\n    {text}\n"));
        }
    }
    expect![[r#"
        bedrock message 3 block 0: the user speaks right after results
            messages.N.content: Conversation blocks and tool result blocks cannot be provided in the same turn.
        bedrock message 1: same role as the message before
            A conversation must alternate between user and assistant roles. Make sure …
        bedrock message 2 block 0: error result "c1" says nothing
            The content field at messages.N.content.M.toolResult cannot be empty when status value is error.
        bedrock message 1 block 0: call or result, but no tools are offered
            The toolConfig field must be defined when using toolUse and toolResult content blocks.
        bedrock message 2 block 0: call or result, but no tools are offered
            The toolConfig field must be defined when using toolUse and toolResult content blocks.
        bedrock-claude message 3 block 0: result "c0" has no call next to it
            The number of toolResult blocks at messages.N.content exceeds the number of toolUse blocks of previous turn.
        openai-responses message 1 block 0: call "c1" has no result next to it
            No tool output found for function call ….
        openai-responses message 1 block 0: result "c1" has no call next to it
            No tool call found for function call output with call_id ….
        openai-responses message 1 block 1: nothing follows this reasoning
            Item 'rs_…' of type 'reasoning' was provided without its required following item.
        gemini-2 message 1 block 0: call "c1" has no result next to it
            Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.
        gemini-2 message 1 block 0: result "c1" has no call next to it
            Please ensure that function response turn comes immediately after a function call turn.
        gemini-2 message 0: the list does not begin with a user message
            Please ensure that function call turn comes immediately after a user turn or after a function response turn.
        gemini-2 message 1 block 1: result may not stand here
            Please ensure that function call turn contains at least one function_call part which can not be mixed with function_response parts.
        gemini-2 message 0: message is empty
            GenerateContentRequest.contents[N].parts: contents.parts must not be empty
        gemini-2 message 0: there is no message
            contents is not specified
        gemini-3 message 1 block 0: call "c1" carries no signature
            Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly
        mistral message 1: the list ends with an assistant message
            Expected last role User or Tool (or Assistant with prefix) for serving but got assistant
        mistral message 1 block 0: call "aaaaaaaa1" has no result next to it
            Not the same number of function calls and responses
        mistral message 1 block 0: result "aaaaaaaa1" has no call next to it
            Unexpected role 'tool' after role 'user'
        mistral message 1 block 0: call id "c1" is not accepted
            Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9.
        mistral message 1: the list ends with an assistant message
            Expected last role User or Tool (or Assistant with prefix) for serving but got assistant
        mistral-strict message 3: the user speaks right after results
            Unexpected role 'user' after role 'tool'
        strict-template message 1: instructions stand in a second message
            After the optional system message, conversation roles must alternate user/assistant/user/assistant/...
        strict-template message 1: same role as the message before
            After the optional system message, conversation roles must alternate user/assistant/user/assistant/...
        deepseek message 1 block 0: call "c1" has no result next to it
            (insufficient tool messages following tool_calls message)
        deepseek message 0 block 1: pictures and documents are not taken
            Failed to deserialize the JSON body into the target type: messages[N]: unknown variant `image_url`, expected `text`
        deepseek message 1: calls have no reasoning beside them
            The `reasoning_content` in the thinking mode must be passed back to the API.
        deepseek message 1: a tool choice is forced while thinking is on
            Thinking mode does not support this tool_choice
        anthropic message 1: a tool choice is forced while thinking is on
            Thinking may not be enabled when tool_choice forces tool use.
        anthropic message 1: the tool loop does not begin with its thinking
            messages.N.content.M.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).
        anthropic-strict message 1: same role as the message before
            messages: roles must alternate between "user" and "assistant", but found multiple "user" roles in a row
        openai-chat message 2 block 0: image may not stand here
            Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image URL.
        openai-responses message 1 block 1: opaque block is foreign or incomplete
            Item '…' of type '…' was provided without its required 'reasoning' item: 'rs_…'
        openai-responses message 1 block 2: thinking may not go to this model
            (not known)
        anthropic message 1 block 0: server result is foreign or incomplete
            unexpected `tool_use_id` found in `…` blocks: …. Each `…` block must have a corresponding `server_tool_use` block before it.
        anthropic message 1 block 0: thinking may not go to this model
            Invalid `signature` in `thinking` block
        mistral message 3 block 0: call "aaaaaaaa1" has several results
            Not the same number of function calls and responses
        gemini-2 message 2 block 1: result "c1" comes after other content
            Please ensure that function response turn comes immediately after a function call turn.
    "#]].assert_eq(&lines);
}
