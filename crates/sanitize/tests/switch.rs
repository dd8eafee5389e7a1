//! A conversation that began at one provider goes on at any other.

use std::collections::HashMap;

use expect_test::{Expect, expect};
use trunkline_message_tree::{Content, Message, Origin, notation};
use trunkline_sanitize::{
    ForeignReasoning, RepairKind, RequestFacts, Sanitized, Thinking, WireRules, sanitize, violations,
};

const FROM_ANTHROPIC: &str = r#"system: be brief
    user: look at both
    assistant:
    + thinking sig1: both at once
    + redacted: xyz
    + text: I look and search
    + server-call srvtoolu_1 {"type":"server_tool_use","id":"srvtoolu_1"}
    + server-result srvtoolu_1 {"type":"web_search_tool_result"}
    + call toolu_01A screenshot {}
    + call toolu_01B read {"path":"a.rs"}
    + origin anthropic opus
    result toolu_01A: as of now
    ++ image image/png base64 AAAA
    result toolu_01B!: no such file
    assistant:
    + thinking sig2: one is there
    + text: only one is there
    + opaque anthropic {"type":"container_upload"}
    + origin anthropic opus
    user: thanks"#;

const FROM_OPENAI_CHAT: &str = r#"system: be brief
    user: look at both
    assistant:
    + thinking: both at once
    + call "functions.read:0" read {"path":"a"}
    + call call_0123456789abcdef0123456789abcdef0123456789abcdef0123456789a read {"path":"b"}
    + origin moonshot kimi
    result "functions.read:0": 1
    result call_0123456789abcdef0123456789abcdef0123456789abcdef0123456789a: 2
    assistant: they differ
    + origin moonshot kimi
    user: why?
    assistant: let me see
    + call "functions.read:0" read {"path":"c"}
    + origin moonshot kimi
    result "functions.read:0": 3"#;

const FROM_RESPONSES: &str = r#"system: be brief
    user: look at both
    assistant:
    + opaque openai-responses {"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"zzz"}
    + opaque openai-responses {"id":"ws_1","type":"web_search_call","status":"completed"}
    + text: I searched
    + call call_A read {"path":"a"}
    + call call_B list {}
    + origin openai gpt
    result call_A: 1
    result call_B: a b
    assistant:
    + opaque openai-responses {"id":"rs_2","type":"reasoning","summary":[]}
    + text: there are two
    + origin openai gpt
    user: thanks"#;

const FROM_GEMINI: &str = r#"system: be brief
    user: look at both
    assistant: I look
    + call call_0 read {"path":"a"}
    ++ signature Z2VtaW5p
    + call call_1 read {"path":"b"}
    + origin google gemini-3
    result call_0: 1
    result call_1: 2
    assistant: they differ
    + origin google gemini-3
    user: why?
    user: you there?"#;

/// One that has been everywhere.
fn journey() -> Vec<Message> {
    [FROM_ANTHROPIC, FROM_OPENAI_CHAT, FROM_RESPONSES, FROM_GEMINI]
        .iter()
        .flat_map(|text| parse(text))
        .collect()
}

fn parse(text: &str) -> Vec<Message> {
    notation::parse(text).expect("the input of a test is notation")
}

/// The facts of a request to somebody who has written nothing of the list.
fn elsewhere() -> RequestFacts {
    let mut facts = RequestFacts::default();
    facts.origin = Some(Origin::new("new", "one"));
    facts
}

fn every_switch(hold: impl Fn(&[Message], &WireRules)) {
    let begun = [FROM_ANTHROPIC, FROM_OPENAI_CHAT, FROM_RESPONSES, FROM_GEMINI].map(parse);
    for name in WireRules::NAMES {
        let rules = WireRules::named(name).expect("a known name");
        for list in &begun {
            hold(list, &rules);
        }
        hold(&journey(), &rules);
    }
}

/// Sanitizes for somebody new, and asserts what holds for every list.
fn switched<'a>(list: &'a [Message], rules: &WireRules, facts: &RequestFacts) -> Sanitized<'a> {
    let sanitized = sanitize(list, rules, facts);
    assert_eq!(violations(&sanitized.messages, rules, &sanitized.facts(facts)), [], "{}", rules.name);
    assert_eq!(
        sanitized,
        sanitize(list, rules, facts),
        "{}: another answer to the same question",
        rules.name
    );
    let again = sanitize(&*sanitized.messages, rules, &sanitized.facts(facts));
    assert_eq!(again.repairs, [], "{}: not idempotent", rules.name);
    sanitized
}

#[test]
fn every_wire_takes_what_began_on_another() {
    every_switch(|list, rules| {
        for thinking in [Thinking::Off, Thinking::On, Thinking::Adaptive] {
            for choice_forced in [false, true] {
                let mut facts = elsewhere();
                facts.thinking = thinking;
                facts.choice_forced = choice_forced;
                switched(list, rules, &facts);
            }
        }
    });
}

#[test]
fn every_call_keeps_its_tool_its_arguments_and_its_own_result() {
    // Ids may change; what is read at both ends may not. Positions tell who belongs to whom.
    let pairs = |list: &[Message]| {
        let mut open: HashMap<String, (String, String)> = HashMap::new();
        let mut pairs = Vec::new();
        for message in list {
            for call in message.calls() {
                let before = open.insert(call.id.clone(), (call.name.clone(), call.arguments.clone()));
                assert_eq!(before, None, "two open calls of one id");
            }
            for result in message.results() {
                let (name, arguments) =
                    open.remove(&result.call_id).expect("a result has its call before it");
                let said = result.text().replace("(see the user message after the results)", "");
                let said = said.replace("(image/png left out: not taken here)", "");
                pairs.push(format!("{name} {arguments} -> {} {}", result.is_error, said.trim_end()));
            }
        }
        assert_eq!(open, HashMap::new(), "a call has no result");
        pairs
    };
    every_switch(|list, rules| {
        let sanitized = switched(list, rules, &elsewhere());
        assert_eq!(pairs(&sanitized.messages), pairs(list), "{}", rules.name);
    });
}

#[test]
fn every_word_is_kept() {
    every_switch(|list, rules| {
        let sanitized = switched(list, rules, &elsewhere());
        let kept: Vec<String> = sanitized.messages.iter().map(Message::text).collect();
        let kept = kept.join("\n");
        for message in list {
            for block in &message.content {
                if let Content::Text { text } = block {
                    assert!(kept.contains(text.as_str()), "{}: {text:?} is lost", rules.name);
                }
            }
        }
    });
}

#[test]
fn what_was_sealed_by_one_provider_does_not_reach_another() {
    every_switch(|list, rules| {
        let sanitized = switched(list, rules, &elsewhere());
        for block in sanitized.messages.iter().flat_map(|message| &message.content) {
            match block {
                // Empty reasoning is nobody's.
                Content::Thinking { text, signature } => assert_eq!((text.as_str(), signature), ("", &None)),
                Content::RedactedThinking { data } => panic!("{}: {data} is left", rules.name),
                Content::Opaque { wire, json } => {
                    assert_eq!(*wire, *rules.wire, "{json} is left");
                    assert!(!json.contains("rs_") && !json.contains("ws_"), "{json} is left");
                }
                Content::ToolCall(call) if rules.name.starts_with("gemini") => {
                    assert_ne!(call.signature.as_deref(), Some("Z2VtaW5p"), "a foreign signature is left");
                }
                _ => {}
            }
        }
        let count = |is: fn(&Content) -> bool| {
            sanitized.messages.iter().flat_map(|message| &message.content).filter(|block| is(block)).count()
        };
        let calls = count(|block| matches!(block, Content::ServerCall { .. }));
        let results = count(|block| matches!(block, Content::ServerResult { .. }));
        assert_eq!((calls, results), (0, 0), "{}: half a pair is left", rules.name);
    });
}

#[test]
fn what_was_sealed_goes_back_whole_to_who_sealed_it() {
    let cases = [
        (FROM_ANTHROPIC, "anthropic", "anthropic", "opus"),
        (FROM_RESPONSES, "openai-responses", "openai", "gpt"),
        (FROM_GEMINI, "gemini-3", "google", "gemini-3"),
    ];
    for (text, wire, provider, model) in cases {
        let (list, rules) = (parse(text), WireRules::named(wire).expect("a known name"));
        let mut facts = elsewhere();
        facts.origin = Some(Origin::new(provider, model));
        let sanitized = switched(&list, &rules, &facts);
        assert_eq!(sanitized.repairs, [], "{wire} wants its own back");
        assert_eq!(sanitized.messages, list);
    }
}

#[test]
fn what_can_be_read_of_foreign_reasoning_becomes_text_by_policy() {
    let mut facts = elsewhere();
    facts.foreign_reasoning = ForeignReasoning::AsText;
    every_switch(|list, rules| {
        let sanitized = switched(list, rules, &facts);
        let kept: Vec<String> = sanitized.messages.iter().map(Message::text).collect();
        let kept = kept.join("\n");
        let mut read = 0;
        for block in list.iter().flat_map(|message| &message.content) {
            if let Content::Thinking { text, .. } = block {
                assert!(kept.contains(text.as_str()), "{}: {text:?} is lost", rules.name);
                read += 1;
            }
        }
        let quoted = |repair: &RepairKind| match repair {
            RepairKind::ThinkingQuoted { blocks } => *blocks,
            _ => 0,
        };
        assert_eq!(sanitized.repairs.iter().map(|repair| quoted(&repair.kind)).sum::<usize>(), read);
    });
}

#[test]
fn an_id_that_must_change_changes_the_same_way_wherever_it_stands() {
    let (rules, facts) = (WireRules::mistral(), elsewhere());
    let id = |list: &[Message]| {
        let sanitized = switched(list, &rules, &facts).messages.into_owned();
        let first = sanitized.iter().find_map(|message| message.calls().next().map(|call| call.id.clone()));
        first.expect("there is a call")
    };
    let list = parse(FROM_OPENAI_CHAT);
    assert_eq!(id(&list), id(&list[1..]), "what came before does not matter");
    assert_eq!(id(&list), id(&list[..5]), "what comes later does not matter");
}

fn check(list: &[Message], rules: &WireRules, expected: Expect) {
    let sanitized = switched(list, rules, &elsewhere());
    let mut text = notation::print(&sanitized.messages);
    for repair in &sanitized.repairs {
        let loss = if repair.is_loss() { " (loss)" } else { "" };
        text.push_str(&format!("-- {repair}{loss}\n"));
    }
    expected.assert_eq(&text);
}

#[test]
fn from_anthropic_to_openai_chat() {
    check(
        &parse(FROM_ANTHROPIC),
        &WireRules::openai_chat(),
        expect![[r#"
            system: be brief
            user: look at both
            assistant: I look and search
            + call toolu_01A screenshot {}
            + call toolu_01B read {"path":"a.rs"}
            + origin anthropic opus
            result toolu_01A: as of now
            ++ text: (see the user message after the results)
            result toolu_01B!: no such file
            harness: from the result of call toolu_01A:
            + image image/png base64 AAAA
            assistant: only one is there
            + origin anthropic opus
            user: thanks
            -- dropped server call: belongs to another provider or model (loss)
            -- dropped server result: belongs to another provider or model (loss)
            -- dropped thinking (2): not on this wire
            -- moved media (1) of result toolu_01A: only allowed in a user message
            -- dropped opaque block: belongs to another provider or model (loss)
            -- dropped thinking (1): not on this wire
        "#]],
    );
}

#[test]
fn from_kimi_to_mistral() {
    check(
        &parse(FROM_OPENAI_CHAT),
        &WireRules::mistral(),
        expect![[r#"
        system: be brief
        user: look at both
        assistant:
        + call hbtwtmacp read {"path":"a"}
        + call jlbz62rcw read {"path":"b"}
        + origin moonshot kimi
        result hbtwtmacp: 1
        result jlbz62rcw: 2
        assistant: they differ
        + origin moonshot kimi
        user: why?
        assistant: let me see
        + call hbtwtmacp read {"path":"c"}
        + origin moonshot kimi
        result hbtwtmacp: 3
        -- dropped thinking (1): not on this wire
        -- renamed call functions.read:0 to hbtwtmacp: id not accepted
        -- renamed call call_0123456789abcdef0123456789abcdef0123456789abcdef0123456789a to jlbz62rcw: id not accepted
        -- renamed call functions.read:0 to hbtwtmacp: id not accepted
    "#]],
    );
}

#[test]
fn from_responses_to_gemini() {
    check(
        &parse(FROM_RESPONSES),
        &WireRules::gemini_3(),
        expect![[r#"
        system: be brief
        user: look at both
        assistant: I searched
        + call call_A read {"path":"a"}
        ++ signature skip_thought_signature_validator
        + call call_B list {}
        + origin openai gpt
        result call_A: 1
        result call_B: a b
        assistant: there are two
        + origin openai gpt
        user: thanks
        -- dropped opaque block: belongs to another provider or model (loss)
        -- dropped opaque block: belongs to another provider or model (loss)
        -- added signature stub to call call_A: none of this model
        -- dropped opaque block: belongs to another provider or model (loss)
    "#]],
    );
}

#[test]
fn from_gemini_to_anthropic() {
    check(
        &parse(FROM_GEMINI),
        &WireRules::anthropic(),
        expect![[r#"
        system: be brief
        user: look at both
        assistant: I look
        + call call_0 read {"path":"a"}
        ++ signature Z2VtaW5p
        + call call_1 read {"path":"b"}
        + origin google gemini-3
        result call_0: 1
        result call_1: 2
        assistant: they differ
        + origin google gemini-3
        user: why?
        user: you there?
    "#]],
    );
}
