//! What is learned of a refusal, and what is not.

use serde_json::json;
use trunkline_message_tree::{Author, Content, Message, Origin, Role, ToolCall};
use trunkline_providers::{
    Anthropic, Bedrock, Cassette, Decode, Event, Exchange, Gemini, HttpRequest, Ollama, OpenAiChat,
    OpenAiResponses, Provider, ProviderError, Replay, Request, Thinking, Trait, Traits, Wire,
};

fn chat() -> Box<dyn Wire> {
    Box::new(OpenAiChat::default())
}

fn responses() -> Box<dyn Wire> {
    Box::new(OpenAiResponses::new())
}

fn anthropic() -> Box<dyn Wire> {
    Box::new(Anthropic::new())
}

fn gemini() -> Box<dyn Wire> {
    Box::new(Gemini::new())
}

fn bedrock() -> Box<dyn Wire> {
    Box::new(Bedrock::new())
}

fn ollama() -> Box<dyn Wire> {
    Box::new(Ollama::new())
}

fn said(message: &str) -> String {
    json!({ "error": { "message": message, "type": "invalid_request_error", "param": null, "code": null } })
        .to_string()
}

fn named(param: &str, code: &str, message: &str) -> String {
    json!({ "error": { "message": message, "type": "invalid_request_error", "param": param, "code": code } })
        .to_string()
}

fn forbidden(loc: &serde_json::Value, kind: &str) -> String {
    json!({ "detail": [{ "type": kind, "loc": loc, "msg": "…", "input": 1 }] }).to_string()
}

fn learned(wire: &dyn Wire, status: u16, body: &str) -> Option<Trait> {
    wire.learn(&Traits::default(), status, body.as_bytes())
}

const LIMIT: &str = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.";

#[test]
fn a_refusal_tells_what_is_wanted() {
    let cases: Vec<(Box<dyn Wire>, String, Trait)> = vec![
        (chat(), named("max_tokens", "unsupported_parameter", LIMIT), Trait::MaxCompletionTokens),
        (chat(), said(LIMIT), Trait::MaxCompletionTokens),
        (chat(), said(&format!("litellm.BadRequestError: OpenAIException - {LIMIT}")), Trait::MaxCompletionTokens),
        (chat(), json!({ "detail": LIMIT }).to_string(), Trait::MaxCompletionTokens),
        (chat(), json!({ "error": LIMIT }).to_string(), Trait::MaxCompletionTokens),
        (
            chat(),
            json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": {
                "raw": named("max_tokens", "unsupported_parameter", LIMIT), "provider_name": "OpenAI" } } })
            .to_string(),
            Trait::MaxCompletionTokens,
        ),
        (chat(), said("Unrecognized request argument supplied: max_completion_tokens"), Trait::MaxTokens),
        (chat(), forbidden(&json!(["body", "max_completion_tokens"]), "extra_forbidden"), Trait::MaxTokens),
        (chat(), named("stream_options", "unknown_parameter", "Unknown parameter: 'stream_options'."), Trait::NoStreamOptions),
        (
            chat(),
            json!({ "object": "error", "message": { "detail": [
                { "type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted" }] } })
            .to_string(),
            Trait::NoStreamOptions,
        ),
        (
            chat(),
            named("temperature", "unsupported_value", "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."),
            Trait::NoTemperature,
        ),
        (chat(), said("Unsupported parameter: 'parallel_tool_calls' is not supported with this model."), Trait::NoParallelCalls),
        (chat(), said("Unrecognized request argument supplied: reasoning_effort"), Trait::NoThinkingSwitch),
        (
            chat(),
            named("messages[0].role", "unsupported_value", "Unsupported value: 'messages[0].role' does not support 'system' with this model."),
            Trait::InstructionsOfUser,
        ),
        (
            chat(),
            said("Unsupported value: 'messages[0].role' does not support 'system' with this model. Use 'developer' instead."),
            Trait::InstructionsOfDeveloper,
        ),
        (chat(), forbidden(&json!(["body", "messages", 3, "tool", "content"]), "list_type"), Trait::ResultsAsParts),
        (
            chat(),
            said("thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"),
            Trait::ReasoningBesideCalls,
        ),
        (chat(), said("The `reasoning_content` in the thinking mode must be passed back to the API."), Trait::ReasoningBesideCalls),
        (chat(), said("Missing `reasoning_content` field in the assistant message at message index 3."), Trait::ReasoningBesideCalls),
        (chat(), said("messages[2]: missing field `reasoning_content`"), Trait::ReasoningBesideCalls),
        (chat(), said("The message at position 3 with role 'assistant' must include reasoning_content."), Trait::ReasoningBesideCalls),
        (chat(), forbidden(&json!(["body", "messages", 2, "assistant", "reasoning_content"]), "extra_forbidden"), Trait::NoReasoningBack),
        (
            chat(),
            said("'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]"),
            Trait::NoReasoningBack,
        ),
        (
            chat(),
            said("messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported"),
            Trait::NoReasoningBack,
        ),
        (anthropic(), said("The `content[].thinking` in the thinking mode must be passed back to the API."), Trait::ReasoningBesideCalls),
        (anthropic(), said("`temperature` is deprecated for this model."), Trait::NoTemperature),
        (
            anthropic(),
            said("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."),
            Trait::AdaptiveThinking,
        ),
        (anthropic(), said("adaptive thinking is not supported on this model"), Trait::BudgetThinking),
        (anthropic(), said("thinking: Extra inputs are not permitted"), Trait::NoThinkingSwitch),
        (responses(), named("include", "invalid_value", "Encrypted content is not supported with this model."), Trait::NoEncryptedReasoning),
        (responses(), json!({ "detail": "Unsupported parameter: max_output_tokens" }).to_string(), Trait::NoTokenLimit),
        (
            responses(),
            named("reasoning.effort", "unsupported_parameter", "Unsupported parameter: 'reasoning.effort' is not supported with this model."),
            Trait::NoThinkingSwitch,
        ),
        (responses(), named("temperature", "unsupported_parameter", "Unsupported parameter: 'temperature' is not supported with this model."), Trait::NoTemperature),
        (
            gemini(),
            json!({ "error": { "code": 400, "message": "Thinking level is not supported for this model.", "status": "INVALID_ARGUMENT" } }).to_string(),
            Trait::NoThinkingSwitch,
        ),
        (bedrock(), json!({ "message": "thinking: Extra inputs are not permitted" }).to_string(), Trait::NoThinkingSwitch),
        (ollama(), json!({ "error": "\"llama3.2:1b\" does not support thinking" }).to_string(), Trait::NoThinkingSwitch),
    ];
    for (wire, body, wanted) in cases {
        assert_eq!(learned(wire.as_ref(), 400, &body), Some(wanted), "{} {body}", wire.name());
        // Only once: a service that was sent what it wants and refuses still wants something else.
        let mut sent = Traits::default();
        sent.insert(wanted);
        assert_ne!(wire.learn(&sent, 400, body.as_bytes()), Some(wanted), "{} {body}", wire.name());
    }
}

/// The words of services that refuse reasoning which was sent back, each in its own frame.
fn refusals_of_reasoning() -> Vec<(Box<dyn Wire>, String)> {
    let signature = "messages.1.content.0: Invalid `signature` in `thinking` block";
    let changed = "messages.5.content.28: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.";
    let corrupted = json!({ "error": { "code": 400, "message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT" } });
    let passed_on = |refusal: &serde_json::Value| json!({ "error": { "code": 400, "message": refusal.to_string(), "status": "INVALID_ARGUMENT" } });
    let encrypted = "The encrypted content gAAA...DQ== could not be verified. Reason: Encrypted content could not be decrypted or parsed.";
    vec![
        (anthropic(), json!({ "type": "error", "error": { "type": "invalid_request_error", "message": signature } }).to_string()),
        (anthropic(), said(changed)),
        (anthropic(), said("messages.3.content.0: Invalid `data` in `redacted_thinking` block")),
        (anthropic(), passed_on(&json!({ "type": "error", "error": { "type": "invalid_request_error", "message": signature } })).to_string()),
        (bedrock(), json!({ "message": signature }).to_string()),
        (bedrock(), json!({ "message": format!("The model returned the following errors: {changed}") }).to_string()),
        (gemini(), corrupted.to_string()),
        (gemini(), json!([corrupted]).to_string()),
        (gemini(), passed_on(&corrupted).to_string()),
        (gemini(), said("Unable to submit request because Thought signature is not valid.. Learn more: https://e.org")),
        (chat(), json!({ "error": { "message": "Provider returned error", "code": 400, "metadata": { "raw": corrupted.to_string() } } }).to_string()),
        (chat(), said(signature)),
        (responses(), json!({ "error": { "message": encrypted, "type": "invalid_request_error", "param": null, "code": "invalid_encrypted_content" } }).to_string()),
        (responses(), said(encrypted)),
    ]
}

#[test]
fn a_refusal_of_reasoning_is_known() {
    for (wire, body) in refusals_of_reasoning() {
        let wire = wire.as_ref();
        assert_eq!(learned(wire, 400, &body), Some(Trait::NoEarlierReasoning), "{} {body}", wire.name());
        // Nothing but a request at fault says so.
        for status in [401, 403, 422, 429, 500, 529] {
            assert_eq!(learned(wire, status, &body), None, "{} {status} {body}", wire.name());
        }
        // What is quoted says nothing.
        let message = serde_json::from_str::<serde_json::Value>(&body).expect("JSON");
        let quoted = [
            said(&format!("messages.1.content.0: text is too long: {body}")),
            json!({ "error": { "message": "bad request" }, "request": message }).to_string(),
            said("messages.1.content.0.text: the user said: Invalid `signature` in `thinking` block"),
            said("Could not parse: Corrupted thought signature."),
        ];
        for body in quoted {
            assert_eq!(learned(wire, 400, &body), None, "{} {body}", wire.name());
        }
    }
}

#[test]
fn a_refusal_that_says_that_reasoning_is_bound_is_known() {
    let words = "Invalid `signature` in `thinking` block. The block is bound to a different conversation.";
    let more =
        "Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";
    let redacted = words.replace("`thinking`", "`redacted_thinking`");
    for (wire, words) in [
        (anthropic(), format!("messages.1.content.0: {words} {more}")),
        (anthropic(), words.to_owned()),
        (anthropic(), redacted),
        (chat(), format!("messages.3.content.0: {words}")),
    ] {
        let body = said(&words);
        assert_eq!(learned(wire.as_ref(), 400, &body), Some(Trait::BoundReasoning), "{body}");
        // Who knows that is told what goes.
        let known = Traits::from_iter([Trait::BoundReasoning]);
        assert_eq!(wire.learn(&known, 400, body.as_bytes()), Some(Trait::NoEarlierReasoning), "{body}");
    }
    let behind = json!({ "message": format!("The model returned the following errors: messages.1.content.0: {words}") });
    assert_eq!(learned(bedrock().as_ref(), 400, &behind.to_string()), Some(Trait::BoundReasoning));
    // What else is said of the place, and quoted, chooses nothing.
    let said = said(
        "Invalid `signature` in `thinking` block: the text was The block is bound to a different conversation.",
    );
    assert_eq!(learned(anthropic().as_ref(), 400, &said), Some(Trait::NoEarlierReasoning));
}

#[test]
fn models_that_bind_reasoning_are_known_by_their_names() {
    let bound = |wire: &str, model: &str| Traits::of_model(wire, model).has(Trait::BoundReasoning);
    for (wire, model) in [
        ("anthropic", "claude-fable-5-1"),
        ("anthropic", "claude-fable-5-2"),
        ("anthropic", "claude-opus-5-5"),
        ("anthropic", "claude-opus-5.5"),
        ("anthropic", "anthropic/claude-haiku-5-5"),
        ("anthropic", "claude-sonnet-6"),
        ("anthropic", "claude-opus-5-5@20260901"),
        ("bedrock", "eu.anthropic.claude-fable-5-1-20260831-v1:0"),
    ] {
        assert!(bound(wire, model), "{wire} {model}");
    }
    for (wire, model) in [
        ("anthropic", "claude-fable-5"),
        ("anthropic", "claude-fable-5-20260609"),
        ("anthropic", "claude-mythos-5-1"),
        ("anthropic", "claude-opus-5"),
        ("anthropic", "claude-opus-4-8"),
        ("anthropic", "claude-sonnet-5"),
        ("anthropic", "claude-3-5-haiku-20241022"),
        ("anthropic", "script"),
        ("bedrock", "amazon.nova-pro-v1:0"),
        ("openai-chat", "claude-opus-5-5"),
        ("openai-responses", "gpt-5.6-sol"),
    ] {
        assert!(!bound(wire, model), "{wire} {model}");
    }
}

#[test]
fn what_a_refusal_quotes_chooses_nothing() {
    let quoted = [
        said(&format!("Invalid content in messages[1]: \"{LIMIT}\"")),
        said(&format!("The prompt was flagged. It says: {LIMIT}")),
        named("messages[1].content", "invalid_value", LIMIT),
        named("messages[1].content", "unsupported_parameter", LIMIT),
        json!({ "error": { "message": "bad request", "input": LIMIT } }).to_string(),
        json!({ "error": { "message": "bad request" }, "request": { "error": { "message": LIMIT, "param": "max_tokens" } } }).to_string(),
        said("Could not parse: thinking is enabled but reasoning_content is missing in assistant tool call message"),
        forbidden(&json!(["body", "messages", 0, "content"]), "extra_forbidden"),
        LIMIT.to_owned(),
        "[]".to_owned(),
        "{}".to_owned(),
        "null".to_owned(),
    ];
    for body in quoted {
        for wire in [chat(), responses(), anthropic(), gemini(), bedrock(), ollama()] {
            assert_eq!(learned(wire.as_ref(), 400, &body), None, "{} {body}", wire.name());
        }
    }
}

#[test]
fn only_a_request_at_fault_teaches() {
    for status in [200, 401, 403, 404, 413, 429, 500, 529] {
        assert_eq!(learned(chat().as_ref(), status, &said(LIMIT)), None, "{status}");
    }
    assert_eq!(learned(chat().as_ref(), 422, &said(LIMIT)), Some(Trait::MaxCompletionTokens));
    // Another value of the same field may do, and which one nobody can choose for a person.
    let value = "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.";
    assert_eq!(learned(chat().as_ref(), 400, &named("reasoning_effort", "unsupported_value", value)), None);
    let large = "max_tokens is too large: 99999. This model supports at most 16384 completion tokens.";
    assert_eq!(learned(chat().as_ref(), 400, &named("max_tokens", "invalid_value", large)), None);
}

#[test]
fn where_both_names_are_refused_there_is_no_limit() {
    let wire = chat();
    let sent: Traits = [Trait::MaxCompletionTokens].into_iter().collect();
    let refusal = said("Unrecognized request argument supplied: max_completion_tokens");
    assert_eq!(wire.learn(&sent, 400, refusal.as_bytes()), Some(Trait::NoTokenLimit));
    // A service that names the other one means it.
    let refusal = said("Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.");
    assert_eq!(wire.learn(&sent, 400, refusal.as_bytes()), Some(Trait::MaxTokens));
}

fn body(wire: &dyn Wire, request: &Request) -> serde_json::Value {
    let HttpRequest { body, .. } = wire.encode(request).expect("legal");
    serde_json::from_slice(&body.to_vec()).expect("JSON")
}

fn with(traits: &[Trait]) -> Request {
    let mut request = Request::new("m", [Message::system("be brief"), Message::user("hi")]);
    request.traits = traits.iter().copied().collect();
    request
}

#[test]
fn what_is_wanted_is_written() {
    let limit = |traits: &[Trait]| {
        let body = body(chat().as_ref(), &with(traits));
        ["max_tokens", "max_completion_tokens"].map(|field| body.get(field).is_some())
    };
    assert_eq!(limit(&[]), [true, false]);
    assert_eq!(limit(&[Trait::MaxCompletionTokens]), [false, true]);
    assert_eq!(limit(&[Trait::NoTokenLimit]), [false, false]);

    let asked = |wire: &dyn Wire, one: Trait, path: &str| {
        let mut request = with(&[]);
        request.temperature = Some(0.2);
        request.parallel_calls = Some(false);
        request.tools = vec![trunkline_message_tree::ToolSpec::new("f", "does", json!({ "type": "object" }))];
        request.thinking = Thinking::Effort(trunkline_providers::Effort::Low);
        if matches!(wire.name(), "anthropic" | "bedrock" | "ollama" | "gemini") {
            request.parallel_calls = None;
        }
        if wire.name() == "anthropic" {
            request.thinking = Thinking::Unsaid;
        }
        let before = body(wire, &request).pointer(path).cloned();
        request.traits.insert(one);
        (before.is_some(), body(wire, &request).pointer(path).is_some())
    };
    assert_eq!(asked(chat().as_ref(), Trait::NoTemperature, "/temperature"), (true, false));
    assert_eq!(asked(responses().as_ref(), Trait::NoTemperature, "/temperature"), (true, false));
    assert_eq!(asked(anthropic().as_ref(), Trait::NoTemperature, "/temperature"), (true, false));
    assert_eq!(asked(chat().as_ref(), Trait::NoParallelCalls, "/parallel_tool_calls"), (true, false));
    assert_eq!(asked(chat().as_ref(), Trait::NoThinkingSwitch, "/reasoning_effort"), (true, false));
    assert_eq!(asked(ollama().as_ref(), Trait::NoThinkingSwitch, "/think"), (true, false));
    assert_eq!(
        asked(gemini().as_ref(), Trait::NoThinkingSwitch, "/generationConfig/thinkingConfig"),
        (true, false)
    );
    assert_eq!(asked(chat().as_ref(), Trait::NoStreamOptions, "/stream_options"), (true, false));
    assert_eq!(asked(responses().as_ref(), Trait::NoEncryptedReasoning, "/include"), (true, false));
    assert_eq!(asked(responses().as_ref(), Trait::NoTokenLimit, "/max_output_tokens"), (true, false));

    let role = |traits: &[Trait]| body(chat().as_ref(), &with(traits))["messages"][0]["role"].clone();
    assert_eq!(role(&[]), "system");
    assert_eq!(role(&[Trait::InstructionsOfDeveloper]), "developer");
    assert_eq!(role(&[Trait::InstructionsOfUser]), "user");
}

/// A list in which a call with reasoning was answered.
fn reasoned(traits: &[Trait]) -> Request {
    let call = ToolCall { id: "c1".into(), name: "f".into(), arguments: "{}".into(), signature: None };
    let thought = Content::Thinking { text: "I look.".into(), signature: None };
    let mut request = Request::new(
        "m",
        [
            Message::user("go"),
            Message::new(Role::Assistant, Author::Model, vec![thought, Content::ToolCall(call)]),
            Message::tool_result("c1", "42", false),
        ],
    );
    request.traits = traits.iter().copied().collect();
    request
}

#[test]
fn reasoning_goes_back_in_the_field_that_it_came_in() {
    let message = |traits: &[Trait]| body(chat().as_ref(), &reasoned(traits))["messages"][1].clone();
    assert_eq!(message(&[])["reasoning_content"], "I look.");
    let beside = message(&[Trait::ReasoningInReasoning]);
    assert_eq!((&beside["reasoning"], beside.get("reasoning_content")), (&json!("I look."), None));
    let details = message(&[Trait::ReasoningInDetails]);
    assert_eq!(details["reasoning_details"], json!([{ "type": "reasoning.text", "text": "I look." }]));
    let none = message(&[Trait::NoReasoningBack]);
    assert!(
        none.as_object().is_some_and(|fields| fields.keys().all(|name| !name.starts_with("reasoning"))),
        "{none}"
    );
    // Results in a list, where a service wants that.
    let results =
        |traits: &[Trait]| body(chat().as_ref(), &reasoned(traits))["messages"][2]["content"].clone();
    assert_eq!(results(&[]), "42");
    assert_eq!(results(&[Trait::ResultsAsParts]), json!([{ "type": "text", "text": "42" }]));
}

#[test]
fn unsigned_reasoning_goes_on_the_wire_of_anthropic_only_where_it_was_given_so() {
    let wire = anthropic();
    assert!(wire.encode(&reasoned(&[])).is_err());
    let block =
        body(wire.as_ref(), &reasoned(&[Trait::UnsignedReasoning]))["messages"][1]["content"][0].clone();
    assert_eq!(block, json!({ "type": "thinking", "thinking": "I look.", "signature": "" }));
}

fn events(wire: &dyn Wire, stream: &str) -> Vec<Event> {
    let mut decoder: Box<dyn Decode> = wire.decoder(&with(&[]));
    let mut events = Vec::new();
    decoder.push(stream.as_bytes(), &mut events).expect("readable");
    decoder.finish(&mut events).expect("whole");
    events
}

fn wants(wire: &dyn Wire, stream: &str) -> Vec<Trait> {
    let wants = |event: Event| match event {
        Event::Wants(one) => Some(one),
        _ => None,
    };
    events(wire, stream).into_iter().filter_map(wants).collect()
}

#[test]
fn an_answer_shows_how_reasoning_goes_back() {
    let delta = |fields: &str| {
        format!(
            "data: {{\"id\":\"x\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{{fields}}}}}]}}\n\n\
             data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"hi\"}},\"finish_reason\":\"stop\"}}]}}\n\ndata: [DONE]\n\n"
        )
    };
    let chat = chat();
    assert_eq!(wants(chat.as_ref(), &delta("\"reasoning_content\":\"hm\"")), []);
    assert_eq!(wants(chat.as_ref(), &delta("\"reasoning_content\":\"hm\",\"reasoning\":\"hm\"")), []);
    assert_eq!(wants(chat.as_ref(), &delta("\"reasoning\":\"hm\"")), [Trait::ReasoningInReasoning]);
    let details = "\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"hm\"}]";
    assert_eq!(wants(chat.as_ref(), &delta(details)), [Trait::ReasoningInDetails]);

    let block = |signature: &str, stop: &str| {
        format!(
            "data: {{\"type\":\"message_start\",\"message\":{{\"id\":\"a\",\"model\":\"m\",\"content\":[]}}}}\n\n\
             data: {{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"{signature}\"}}}}\n\n\
             data: {{\"type\":\"content_block_stop\",\"index\":0}}\n\n\
             data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{stop}\"}}}}\n\n\
             data: {{\"type\":\"message_stop\"}}\n\n"
        )
    };
    let anthropic = anthropic();
    assert_eq!(wants(anthropic.as_ref(), &block("", "end_turn")), [Trait::UnsignedReasoning]);
    assert_eq!(wants(anthropic.as_ref(), &block("sig", "end_turn")), []);
    // What was cut off may have lost its signature by that.
    assert_eq!(wants(anthropic.as_ref(), &block("", "max_tokens")), []);
}

#[tokio::test]
async fn a_recorded_refusal_teaches_as_the_service_did() {
    let request = with(&[]);
    let wire = chat();
    let mut exchange = Exchange::new("openai-chat", &wire.encode(&request).expect("legal"));
    exchange.status = Some(400);
    exchange.body = Cassette::parse(&format!(
        "{}{}",
        Cassette::head(),
        json!({ "wire": "openai-chat", "method": "POST", "path": "/", "digest": exchange.digest, "status": 400,
            "body": [[0, said(LIMIT)]], "ending": "complete", "ended": 1 })
    ))
    .expect("a cassette")
    .exchanges
    .remove(0)
    .body;
    let mut cassette = Cassette::default();
    cassette.exchanges.push(exchange);
    let replay = Replay::new(cassette, wire, Origin::new("openai-chat", "m"));
    let mut reply = replay.send(request).await.expect("it is there");
    let fault: ProviderError = reply.next().await.expect_err("refused");
    assert_eq!(fault.wants(), Some(Trait::MaxCompletionTokens));
}

#[test]
fn the_signature_of_a_call_goes_back_where_it_stood() {
    let chat = chat();
    let call = "\"tool_calls\":[{\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"extra_content\":{\"google\":{\"thought_signature\":\"c2ln\"}},\
                \"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]";
    let stream = format!(
        "data: {{\"id\":\"x\",\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{{call}}},\"finish_reason\":\"tool_calls\"}}]}}\n\ndata: [DONE]\n\n"
    );
    let mut fold = trunkline_providers::Fold::new(Origin::new("openai-chat", "m"));
    events(chat.as_ref(), &stream).iter().for_each(|event| fold.push(event));
    let answer = fold.finish();
    assert_eq!(answer.calls().next().and_then(|call| call.signature.as_deref()), Some("c2ln"));
    let request = Request::new("m", [Message::user("go"), answer, Message::tool_result("c1", "42", false)]);
    let back = body(chat.as_ref(), &request)["messages"][1]["tool_calls"][0].clone();
    assert_eq!(back["extra_content"], json!({ "google": { "thought_signature": "c2ln" } }));
    // OpenAI refuses fields that it does not know.
    let openai = OpenAiChat::new(trunkline_providers::Dialect::openai());
    assert_eq!(body(&openai, &request)["messages"][1]["tool_calls"][0].get("extra_content"), None);
}
