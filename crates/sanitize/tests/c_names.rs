//! Rows C17 and C18: names of tools that nobody has, and fields that a service does not know.

use expect_test::expect;
use trunkline_message_tree::{Message, NodeId, notation};
use trunkline_sanitize::{
    FieldFact, FieldHolder, NameRule, Repair, RepairKind, RequestFacts, WireRules, sanitize, violations,
};

use crate::check::{check, check_legal, check_legal_with, check_with};

const NO_SUCH_TOOL: &str = r#"user: a
    assistant:
    + call aaaaaaaa1 functions.list_files {}
    result aaaaaaaa1: there is no such tool
    user: b"#;

/// The rule sets under which `functions.list_files` is a name like any other.
const TAKES_DOTS: [&str; 3] = ["gemini-2", "gemini-3", "ollama"];

#[test]
fn c17_a_call_of_no_tool_gets_a_name_that_the_wire_takes() {
    check(
        &WireRules::openai_chat(),
        NO_SUCH_TOOL,
        expect![[r#"
            ?? message 1 block 0: the name "functions.list_files" of call "aaaaaaaa1" is not accepted
            user: a
            assistant:
            + call aaaaaaaa1 functions_list_files_k4f47ask {}
            result aaaaaaaa1: there is no such tool
            user: b
            -- replaced the name "functions.list_files" of call aaaaaaaa1 by functions_list_files_k4f47ask: name not accepted
        "#]],
    );
}

#[test]
fn c17_every_wire_with_a_rule_sees_it_and_gets_its_own() {
    for name in WireRules::NAMES {
        let mut rules = WireRules::named(name).expect("a known name");
        rules.call_signatures = trunkline_sanitize::CallSignatures::Ignored;
        rules.words_after_results = true;
        if TAKES_DOTS.contains(name) {
            check_legal(&rules, NO_SUCH_TOOL);
            continue;
        }
        let list = notation::parse(NO_SUCH_TOOL).expect("the input of a test is notation");
        let facts = RequestFacts::default();
        let found = violations(&list, &rules, &facts);
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        let sanitized = sanitize(&list, &rules, &facts);
        assert_eq!(violations(&sanitized.messages, &rules, &facts), [], "{name}");
        let [Repair { kind: RepairKind::NameReplaced { from, to, .. }, .. }] = &sanitized.repairs[..] else {
            panic!("{name}: {:?}", sanitized.repairs)
        };
        assert_eq!(
            (from.as_str(), to.as_str()),
            ("functions.list_files", "functions_list_files_k4f47ask"),
            "{name}"
        );
        assert_eq!(sanitize(&*sanitized.messages, &rules, &facts).repairs, [], "{name}");
    }
}

#[test]
fn c17_names_of_all_looks_are_mended_where_the_wire_minds() {
    let long = "a".repeat(129);
    let names = ["", "list files", "1st", "lire_là", "数える", "a/b", "a\nb", "$", long.as_str()];
    for set in WireRules::NAMES {
        let rules = WireRules::named(set).expect("a known name");
        let list: Vec<Message> = names
            .iter()
            .enumerate()
            .flat_map(|(index, name)| {
                let mut list =
                    notation::parse(&NO_SUCH_TOOL.replace("aaaaaaaa1", &format!("aaaaaaaa{index}")))
                        .expect("the input of a test is notation");
                for content in list.iter_mut().flat_map(|message| &mut message.content) {
                    if let trunkline_message_tree::Content::ToolCall(call) = content {
                        call.name = (*name).to_owned();
                    }
                }
                list
            })
            .collect();
        let facts = RequestFacts::default();
        let sanitized = sanitize(&list, &rules, &facts);
        assert_eq!(violations(&sanitized.messages, &rules, &facts), [], "{set}");
        let sent: Vec<&str> =
            sanitized.messages.iter().flat_map(Message::calls).map(|call| call.name.as_str()).collect();
        assert_eq!(sent.len(), names.len(), "{set}");
        for (index, name) in sent.iter().enumerate() {
            assert!(!name.is_empty() && !sent[..index].contains(name), "{set}: {sent:?}");
            assert!(*set == "ollama" || (name.is_ascii() && name.len() <= 64), "{set}: {name:?}");
        }
    }
}

#[test]
fn c17_gemini_wants_a_letter_in_front() {
    check(
        &WireRules::gemini_2(),
        "user: a
         assistant:
         + call c1 1st {}
         result c1: there is no such tool",
        expect![[r#"
            ?? message 1 block 0: the name "1st" of call "c1" is not accepted
            user: a
            assistant:
            + call c1 t1st_6ix8m99a {}
            result c1: there is no such tool
            -- replaced the name "1st" of call c1 by t1st_6ix8m99a: name not accepted
        "#]],
    );
}

#[test]
fn c17_the_name_of_an_offered_tool_is_never_made_up() {
    let rules = WireRules::openai_chat();
    let mut facts = RequestFacts::default();
    let made = |facts: &RequestFacts| {
        let list = notation::parse(NO_SUCH_TOOL).expect("the input of a test is notation");
        sanitize(&list, &rules, facts)
            .messages
            .iter()
            .flat_map(Message::calls)
            .map(|call| call.name.clone())
            .next()
    };
    let first = made(&facts).expect("there is a call");
    facts.tools = vec!["functions_list_files".to_owned(), first.clone()];
    let second = made(&facts).expect("there is a call");
    assert!(!facts.tools.contains(&second), "{second}");
    assert_ne!(first, second);
}

#[test]
fn c17_a_tool_that_is_offered_under_such_a_name_may_be_called() {
    let mut facts = RequestFacts::default();
    facts.tools = vec!["functions.list_files".to_owned()];
    check_legal_with(&WireRules::openai_chat(), &facts, NO_SUCH_TOOL);
}

#[test]
fn c17_what_becomes_words_keeps_its_name() {
    let mut facts = RequestFacts::default();
    facts.tools_offered = Some(false);
    check_with(
        &WireRules::bedrock_claude(),
        &facts,
        NO_SUCH_TOOL,
        expect![[r#"
        ?? message 1 block 0: call or result, but no tools are offered
        ?? message 1 block 0: the name "functions.list_files" of call "aaaaaaaa1" is not accepted
        ?? message 2 block 0: call or result, but no tools are offered
        user: a
        assistant: [called functions.list_files with {}]
        harness: [functions.list_files returned]\nthere is no such tool
        + text: b
        -- turned call aaaaaaaa1 and its result into text: no tools are offered
        -- joined user message to the one before
    "#]],
    );
}

#[test]
fn c17_the_name_does_not_depend_on_what_comes_later() {
    let rules = WireRules::anthropic();
    let facts = RequestFacts::default();
    let list = |text: String| notation::parse(&text).expect("the input of a test is notation");
    let sent = list(NO_SUCH_TOOL.to_owned());
    // Later the model calls what it believes to have called before, and another tool that looks alike.
    let later = list(format!(
        "{NO_SUCH_TOOL}
         assistant:
         + call c2 functions_list_files_k4f47ask {{}}
         + call c3 functions:list_files {{}}
         result c2: there is no such tool
         result c3: there is no such tool"
    ));
    let (sent, later) = (sanitize(&sent, &rules, &facts), sanitize(&later, &rules, &facts));
    assert_eq!(sent.messages[..], later.messages[..sent.messages.len()]);
    let names: Vec<&str> =
        later.messages.iter().flat_map(Message::calls).map(|call| call.name.as_str()).collect();
    assert_eq!(names[0], names[1], "the model's own word for it is a legal name, and stays");
    assert_ne!(names[1], names[2]);
}

#[test]
fn c17_a_rule_of_ones_own() {
    let mut rules = WireRules::open("mine");
    rules.names = NameRule::word(20);
    check(
        &rules,
        "user: a
         assistant:
         + call c1 a_name_that_is_rather_long {}
         result c1: there is no such tool",
        expect![[r#"
            ?? message 1 block 0: the name "a_name_that_is_rather_long" of call "c1" is not accepted
            user: a
            assistant:
            + call c1 a_name_that_9r7r7q7z {}
            result c1: there is no such tool
            -- replaced the name "a_name_that_is_rather_long" of call c1 by a_name_that_9r7r7q7z: name not accepted
        "#]],
    );
}

fn with_fields(input: &str, fields: &[(u32, FieldHolder, &str, bool)]) -> (Vec<Message>, RequestFacts) {
    let mut list = notation::parse(input).expect("the input of a test is notation");
    for (index, message) in list.iter_mut().enumerate() {
        message.node = Some(NodeId::new(index as u32));
    }
    let mut facts = RequestFacts::default();
    let facts_of = fields.iter().map(|(node, holder, name, says_something)| {
        FieldFact::new(NodeId::new(*node), holder.clone(), *name, *says_something)
    });
    facts.fields = facts_of.collect();
    (list, facts)
}

#[test]
fn c18_a_field_that_the_service_does_not_know_is_left_out() {
    let text = || FieldHolder::Part("text".to_owned());
    let (list, facts) = with_fields(
        NO_SUCH_TOOL.replace("functions.", "").as_str(),
        &[
            (0, FieldHolder::Message, "name", true),
            (0, text(), "cache_control", true),
            (1, FieldHolder::Message, "refusal", false),
            (1, FieldHolder::Message, "reasoning_details", true),
            (1, FieldHolder::Message, "annotations", true),
            (1, FieldHolder::Message, "reasoning", true),
            (1, FieldHolder::Call, "index", true),
            (1, FieldHolder::Function, "parsed_arguments", true),
            (2, FieldHolder::Message, "name", true),
        ],
    );
    let mut lines = String::new();
    for name in ["mistral", "groq", "cerebras", "anthropic", "openai-chat", "openrouter", "vllm"] {
        let rules = WireRules::named(name).expect("a known name");
        let sanitized = sanitize(&list, &rules, &facts);
        assert_eq!(*sanitized.messages, list, "{name}: the messages are as they were");
        assert_eq!(violations(&list, &rules, &facts).len(), sanitized.repairs.len(), "{name}");
        let after = sanitized.facts(&facts);
        assert_eq!(violations(&list, &rules, &after), [], "{name}");
        assert_eq!(sanitize(&list, &rules, &after).repairs, [], "{name}");
        for repair in &sanitized.repairs {
            assert!(repair.is_conversion() && repair.row() == "C18");
            let loss = if repair.is_loss() { ", a loss" } else { "" };
            lines.push_str(&format!("{name} {}: {repair}{loss}\n", repair.at));
        }
    }
    expect![[r#"
        mistral n0: left out the field name of the message: not known to this service
        mistral n0: left out the field cache_control of a part of type "text": not known to this service
        mistral n1: left out the field refusal of the message: not known to this service
        mistral n1: left out the field reasoning_details of the message: not known to this service
        mistral n1: left out the field annotations of the message: not known to this service, a loss
        mistral n1: left out the field reasoning of the message: not known to this service
        mistral n1: left out the field index of a call: not known to this service
        mistral n1: left out the field parsed_arguments of the function of a call: not known to this service, a loss
        groq n0: left out the field cache_control of a part of type "text": not known to this service
        groq n1: left out the field refusal of the message: not known to this service
        groq n1: left out the field reasoning_details of the message: not known to this service
        groq n1: left out the field annotations of the message: not known to this service, a loss
        groq n1: left out the field index of a call: not known to this service
        groq n1: left out the field parsed_arguments of the function of a call: not known to this service, a loss
        cerebras n0: left out the field cache_control of a part of type "text": not known to this service
        cerebras n1: left out the field refusal of the message: not known to this service
        cerebras n1: left out the field reasoning_details of the message: not known to this service
        cerebras n1: left out the field annotations of the message: not known to this service, a loss
        cerebras n1: left out the field parsed_arguments of the function of a call: not known to this service, a loss
        anthropic n0: left out the field name of the message: not known to this service
        anthropic n1: left out the field refusal of the message: not known to this service
        anthropic n1: left out the field reasoning_details of the message: not known to this service
        anthropic n1: left out the field annotations of the message: not known to this service, a loss
        anthropic n1: left out the field reasoning of the message: not known to this service
        anthropic n2: left out the field name of the message: not known to this service
    "#]].assert_eq(&lines);
}

#[test]
fn c18_a_part_of_a_type_that_the_service_has_not_is_left_out() {
    let input = r#"user: look
         + opaque openai-chat {"type":"video_url","video_url":{"url":"https://example.org/a"}}
         + opaque openai-chat {"type":"file","file":{"file_id":"file-1"}}
         assistant:
         + opaque openai-chat {"type":"reasoning","reasoning_details":[]}
         + text: well
         user: and?"#;
    check(
        &WireRules::mistral(),
        input,
        expect![[r#"
        ?? message 0 block 1: opaque block is foreign or incomplete
        ?? message 0 block 2: opaque block is foreign or incomplete
        ?? message 1 block 0: opaque block is foreign or incomplete
        user: look
        assistant: well
        user: and?
        -- dropped opaque block: belongs to another provider or model
        -- dropped opaque block: belongs to another provider or model
        -- dropped thinking (1): not on this wire
    "#]],
    );
    check(
        &WireRules::groq(),
        input,
        expect![[r#"
        ?? message 0 block 1: opaque block is foreign or incomplete
        ?? message 0 block 2: opaque block is foreign or incomplete
        ?? message 1 block 0: opaque block is foreign or incomplete
        user: look
        assistant: well
        user: and?
        -- dropped opaque block: belongs to another provider or model
        -- dropped opaque block: belongs to another provider or model
        -- dropped thinking (1): not on this wire
    "#]],
    );
    check_legal(&WireRules::vllm(), input);
}

#[test]
fn c18_what_the_service_itself_wrote_stays() {
    check_legal(
        &WireRules::mistral(),
        r#"user: look
         + opaque openai-chat {"type":"document_url","document_url":"https://example.org/a.pdf"}
         + opaque openai-chat {"type":"file","file_id":"1"}
         assistant:
         + opaque openai-chat {"type":"thinking","thinking":[{"type":"text","text":"hm"}]}
         + opaque openai-chat {"type":"reference","reference_ids":[0]}
         + text: well
         user: and?"#,
    );
}

#[test]
fn c17_a_reference_to_a_tool_that_is_not_offered_becomes_words() {
    let input = r#"user: find
         assistant:
         + call c1 search {}
         result c1:
         ++ opaque anthropic {"type":"tool_reference","tool_name":"here"}
         ++ opaque anthropic {"type":"tool_reference","tool_name":"gone"}"#;
    check_legal(&WireRules::anthropic(), input);
    let mut facts = RequestFacts::default();
    facts.tools = vec!["search".to_owned(), "here".to_owned()];
    check_with(
        &WireRules::anthropic(),
        &facts,
        input,
        expect![[r#"
        ?? message 2 block 0: opaque block is foreign or incomplete
        user: find
        assistant:
        + call c1 search {}
        result c1:
        ++ opaque anthropic {"type":"tool_reference","tool_name":"here"}
        ++ text: (a part of the anthropic wire) {"type":"tool_reference","tool_name":"gone"}
        -- replaced media (1) by words: not taken on this wire
    "#]],
    );
}

#[test]
fn c15_a_picture_of_a_type_that_the_service_has_not_becomes_words() {
    let input = "user: look
         + image image/png base64 AAAA
         + image image/svg+xml base64 AAAA
         + image image/svg+xml url https://example.org/a.svg
         + document text/x-rust base64 AAAA
         + document application/zip base64 AAAA";
    check(
        &WireRules::anthropic(),
        input,
        expect![[r#"
        ?? message 0 block 2: pictures and documents are not taken
        ?? message 0 block 5: pictures and documents are not taken
        user: look
        + image image/png base64 AAAA
        + text: (image/svg+xml left out: not taken here)
        + image "image/svg+xml" url "https://example.org/a.svg"
        + document text/x-rust base64 AAAA
        + text: (application/zip left out: not taken here)
        -- replaced media (1) by words: not taken on this wire
        -- replaced media (1) by words: not taken on this wire
    "#]],
    );
    check_legal(&WireRules::openrouter(), input);
    let input = "user: look\n+ image image/tiff base64 AAAA\n+ document application/zip base64 AAAA";
    check(
        &WireRules::openai_responses(),
        input,
        expect![[r#"
        ?? message 0 block 1: pictures and documents are not taken
        user: look
        + text: (image/tiff left out: not taken here)
        + document application/zip base64 AAAA
        -- replaced media (1) by words: not taken on this wire
    "#]],
    );
    check(
        &WireRules::openai_chat(),
        input,
        expect![[r#"
        ?? message 0 block 1: pictures and documents are not taken
        user: look
        + text: (image/tiff left out: not taken here)
        + document application/zip base64 AAAA
        -- replaced media (1) by words: not taken on this wire
    "#]],
    );
}
