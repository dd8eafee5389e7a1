//! Histories of shapes that providers were seen to accept come back as they went in.

use trunkline_sanitize::WireRules;

use crate::check::check_legal;

#[test]
fn a_parallel_batch_with_words_before_it() {
    let input = r#"system: be brief
         user: compare
         assistant: let me look at both
         + call c1 read {"path":"a"}
         + call c2 read {"path":"b"}
         + call c3 read {}
         result c1: 1
         result c2: 2
         result c3: 3
         assistant: they differ
         user: why?"#;
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn a_search_that_the_provider_ran() {
    check_legal(
        &WireRules::anthropic(),
        r#"user: search
         assistant:
         + server-call s1 {"type":"server_tool_use","id":"s1"}
         + server-result s1 {"type":"web_search_tool_result"}
         + text: found
         user: well?"#,
    );
}

#[test]
fn a_picture_and_a_block_of_the_wires_own() {
    check_legal(
        &WireRules::anthropic(),
        r#"user: look
         + image image/png base64 AAAA
         + document application/pdf url https://example.org/a.pdf
         + opaque anthropic {"type":"container_upload"}"#,
    );
}

#[test]
fn arguments_in_every_writing_of_an_object() {
    let input = r#"user: hi
         assistant:
         + call c1 read
         + call c2 read { }
         + call c3 read {"a":[1,2.5e3,-0],"b":{"c":null,"d":true},"e":"\\ud83d\\ude00"}
         result c1: 1
         result c2: 2
         result c3: 3"#;
    check_legal(&WireRules::anthropic(), input);
    check_legal(&WireRules::openai_chat(), input);
}

#[test]
fn tools_that_come_with_late_instructions() {
    let input = r#"user: hi
         assistant:
         + call c1 load {}
         result c1: loaded
         system: more tools
         + opaque anthropic {"type":"tool_addition","tool":{"type":"tool_reference","name":"f"}}
         user: go on"#;
    check_legal(&WireRules::anthropic_mid_system(), input);
}

#[test]
fn a_list_of_bedrock_that_begins_with_the_assistant_and_has_a_blank_block_beside_a_call() {
    let input = "assistant: hello
         user: hi
         assistant: \\n
         + call c1 f {}
         result c1: 42
         assistant: done
         user: thanks";
    check_legal(&WireRules::bedrock_claude(), input);
    check_legal(&WireRules::bedrock(), input);
}

#[test]
fn what_stands_beside_words_and_calls() {
    check_legal(
        &WireRules::openai_responses(),
        r#"user: hi
         assistant: see
         + opaque openai-responses {"besideText":{"phase":"commentary"}}
         + call c1 f {}
         + opaque openai-responses {"besideCall":{"namespace":"crm"}}
         result c1: 42
         user: go on"#,
    );
    check_legal(
        &WireRules::bedrock_claude(),
        r#"user: hi
         assistant: see
         + opaque bedrock {"besideText":{"citations":[]}}
         user: go on"#,
    );
}
