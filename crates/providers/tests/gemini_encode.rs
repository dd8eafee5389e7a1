//! The Gemini wire, text in.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use trunkline_message_tree::{ToolChoice, ToolSpec};
use trunkline_providers::{Effort, Gemini, OutputSchema, Secret, Thinking, Wire};

use crate::replies::{body, request};

/// The turns alone, one a line, then what is beside them.
fn check_turns(conversation: &str, expected: Expect) {
    expected.assert_eq(&turns(&Gemini::new(), conversation));
}

fn turns(wire: &Gemini, conversation: &str) -> String {
    let encoded = match wire.encode(&request(conversation)) {
        Ok(encoded) => encoded,
        Err(error) => return format!("refused: {error}"),
    };
    let body: Value = serde_json::from_slice(&encoded.body.to_vec()).expect("the body is JSON");
    let instructions = body.get("systemInstruction").map(|said| format!("{said}\n")).unwrap_or_default();
    let contents = body["contents"].as_array().expect("a list");
    let turns: String = contents.iter().map(|turn| format!("{turn}\n")).collect();
    instructions + &turns
}

fn as_text(wire: &Gemini, request: &trunkline_providers::Request) -> String {
    match wire.encode(request) {
        Ok(http) => String::from_utf8(http.body.to_vec()).expect("JSON is UTF-8"),
        Err(error) => format!("refused: {error}"),
    }
}

#[test]
fn results_are_one_turn_in_the_order_of_their_calls() {
    check_turns(
        "system: be brief
         system: and kind
         user: hello
         assistant: let me look
           + call c1 read_file {\"path\":  \"a.rs\"}
             ++ signature c2ln
           + call c2 run
         result c2!: no such command
         result c1: 42
           ++ text: more
         user: and?
         harness: hurry",
        expect![[r#"
            {"parts":[{"text":"be brief"},{"text":"and kind"}]}
            {"parts":[{"text":"hello"}],"role":"user"}
            {"parts":[{"text":"let me look"},{"functionCall":{"args":{"path":"a.rs"},"id":"c1","name":"read_file"},"thoughtSignature":"c2ln"},{"functionCall":{"args":{},"id":"c2","name":"run"}}],"role":"model"}
            {"parts":[{"functionResponse":{"id":"c1","name":"read_file","response":{"output":"42\nmore"}}},{"functionResponse":{"id":"c2","name":"run","response":{"error":"no such command"}}}],"role":"user"}
            {"parts":[{"text":"and?"}],"role":"user"}
            {"parts":[{"text":"hurry"}],"role":"user"}
        "#]],
    );
}

#[test]
fn without_ids_order_is_all_that_pairs() {
    expect![[r#"
        {"parts":[{"text":"hello"}],"role":"user"}
        {"parts":[{"functionCall":{"args":{},"name":"f"}},{"functionCall":{"args":{},"name":"f"}}],"role":"model"}
        {"parts":[{"functionResponse":{"name":"f","response":{"output":"one"}}},{"functionResponse":{"name":"f","response":{"output":"two"}}}],"role":"user"}
        {"parts":[{"text":"go on"}],"role":"user"}
    "#]].assert_eq(&turns(
        &Gemini::vertex(),
        "user: hello
         assistant:
           + call c1 f {}
           + call c2 f {}
         user:
           + result c2: two
           + result c1: one
           + text: go on",
    ));
}

#[test]
fn what_the_assistant_says_in_a_row_is_one_turn() {
    check_turns(
        "user: hello
         assistant: let me look
         assistant:
           + call c1 f {}
         result c1: 42",
        expect![[r#"
            {"parts":[{"text":"hello"}],"role":"user"}
            {"parts":[{"text":"let me look"},{"functionCall":{"args":{},"id":"c1","name":"f"}}],"role":"model"}
            {"parts":[{"functionResponse":{"id":"c1","name":"f","response":{"output":"42"}}}],"role":"user"}
        "#]],
    );
}

#[test]
fn answers_that_are_data_stay_data_and_files_stay_text() {
    check_turns(
        r#"
        user: hello
        assistant:
          + call c1 f {}
          + call c2 f {}
          + call c3 f {}
          + call c4 f {}
          + call c5 f {}
          + call c6 f {}
          + call c7 f {}
        result c1: {"rows":[1,2.5,"a b"]}
        result c2: {"rows": [1]}
        result c3: {"id":12345678901234567890}
        result c4: [1]
        result c5!: {"rows":[]}
        result c6:
        result c7: {"rows":
        "#,
        expect![[r#"
            {"parts":[{"text":"hello"}],"role":"user"}
            {"parts":[{"functionCall":{"args":{},"id":"c1","name":"f"}},{"functionCall":{"args":{},"id":"c2","name":"f"}},{"functionCall":{"args":{},"id":"c3","name":"f"}},{"functionCall":{"args":{},"id":"c4","name":"f"}},{"functionCall":{"args":{},"id":"c5","name":"f"}},{"functionCall":{"args":{},"id":"c6","name":"f"}},{"functionCall":{"args":{},"id":"c7","name":"f"}}],"role":"model"}
            {"parts":[{"functionResponse":{"id":"c1","name":"f","response":{"rows":[1,2.5,"a b"]}}},{"functionResponse":{"id":"c2","name":"f","response":{"output":"{\"rows\": [1]}"}}},{"functionResponse":{"id":"c3","name":"f","response":{"output":"{\"id\":12345678901234567890}"}}},{"functionResponse":{"id":"c4","name":"f","response":{"output":"[1]"}}},{"functionResponse":{"id":"c5","name":"f","response":{"error":"{\"rows\":[]}"}}},{"functionResponse":{"id":"c6","name":"f","response":{"output":""}}},{"functionResponse":{"id":"c7","name":"f","response":{"output":"{\"rows\":"}}}],"role":"user"}
        "#]],
    );
}

#[test]
fn pictures_and_documents_travel_in_turns_and_in_results() {
    check_turns(
        "user: look
           + image image/png base64 AAAA
           + image image/png url \"https://example.com/a.png\"
           + document application/pdf base64 BBBB
         assistant:
           + call c1 shot {}
         result c1: here
           ++ image image/png base64 CCCC
           ++ document application/pdf url \"https://example.com/a.pdf\"",
        expect![[r#"
            {"parts":[{"text":"look"},{"inlineData":{"data":"AAAA","mimeType":"image/png"}},{"fileData":{"fileUri":"https://example.com/a.png","mimeType":"image/png"}},{"inlineData":{"data":"BBBB","mimeType":"application/pdf"}}],"role":"user"}
            {"parts":[{"functionCall":{"args":{},"id":"c1","name":"shot"}}],"role":"model"}
            {"parts":[{"functionResponse":{"id":"c1","name":"shot","parts":[{"inlineData":{"data":"CCCC","mimeType":"image/png"}},{"fileData":{"fileUri":"https://example.com/a.pdf","mimeType":"application/pdf"}}],"response":{"output":"here"}}}],"role":"user"}
        "#]],
    );
}

#[test]
fn reasoning_goes_back_whether_or_not_it_is_signed() {
    check_turns(
        "user: hi
         assistant:
           + thinking: hmm
           + thinking c2ln: signed
           + text: hello
         user: go on
         assistant:
           + thinking: only this
         user: well?",
        expect![[r#"
            {"parts":[{"text":"hi"}],"role":"user"}
            {"parts":[{"text":"hmm","thought":true},{"text":"signed","thought":true,"thoughtSignature":"c2ln"},{"text":"hello"}],"role":"model"}
            {"parts":[{"text":"go on"}],"role":"user"}
            {"parts":[{"text":"only this","thought":true}],"role":"model"}
            {"parts":[{"text":"well?"}],"role":"user"}
        "#]],
    );
}

#[test]
fn raw_parts_go_back_as_they_came_and_signatures_to_their_words() {
    check_turns(
        r#"
        user: hi
          + opaque gemini {"videoMetadata":{"fps":1},"fileData":{"fileUri":"https://example.com/v"}}
        assistant: grüße dich
          + opaque gemini {"textBytes":[0,7],"part":{"thoughtSignature":"c2ln"}}
          + opaque gemini {"text":"","thoughtSignature":"YWdu"}
          + opaque gemini {"executableCode":{"code":"1"}}
        user: go on
        assistant: changed
          + opaque gemini {"textBytes":[0,90],"part":{"thoughtSignature":"c2ln"}}
        user: go on
        assistant:
          + opaque gemini {"textBytes":[3,5],"part":{"thoughtSignature":"c2ln"}}
        user: go on
        "#,
        expect![[r#"
            {"parts":[{"text":"hi"},{"fileData":{"fileUri":"https://example.com/v"},"videoMetadata":{"fps":1}}],"role":"user"}
            {"parts":[{"text":"grüße","thoughtSignature":"c2ln"},{"text":" dich"},{"text":"","thoughtSignature":"YWdu"},{"executableCode":{"code":"1"}}],"role":"model"}
            {"parts":[{"text":"go on"}],"role":"user"}
            {"parts":[{"text":"changed"},{"text":"","thoughtSignature":"c2ln"}],"role":"model"}
            {"parts":[{"text":"go on"}],"role":"user"}
            {"parts":[{"text":"","thoughtSignature":"c2ln"}],"role":"model"}
            {"parts":[{"text":"go on"}],"role":"user"}
        "#]],
    );
}

#[test]
fn what_the_service_refuses_is_refused_here() {
    let mut text = String::new();
    for conversation in [
        "system: be brief",
        "assistant:\n+ call c1 f {}\nresult c1: 1",
        "user: hi\nassistant: hello",
        "user: hi\nsystem: later",
        "user: hi\nassistant:\n+ call c1 f {}\nuser: and?",
        "user: hi\nassistant:\n+ call c1 f []\nresult c1: 1",
        "user: hi\nassistant:\n+ redacted: ZZ\nuser: and?",
        "user: hi\nassistant:\n+ server-call s1 {}\nuser: and?",
        "user: hi\n+ opaque anthropic {\"type\":\"new\"}",
        "user: hi\n+ opaque gemini 7",
    ] {
        text.push_str(&turns(&Gemini::new(), conversation));
        text.push('\n');
    }
    expect![[r#"
        refused: the request has no message besides instructions
        refused: message 0: the conversation does not begin with a user message
        refused: message 1: the conversation ends with an assistant message, there is nothing to answer
        refused: message 1: a system message does not lead the conversation
        refused: message 1: call c1 has no result directly after it
        refused: message 1: the arguments of call c1 are not a JSON object
        refused: message 1: the gemini wire has no place for encrypted reasoning here
        refused: message 1: the gemini wire has no place for a call of the provider's own tool here
        refused: message 0: a raw block is not one of the gemini wire
        refused: message 0: a raw block is not one of the gemini wire
    "#]]
    .assert_eq(&text);
}

#[test]
fn what_is_asked_for_has_its_fields() {
    let mut request = request("user: hi");
    request.max_output_tokens = Some(100);
    request.temperature = Some(0.1);
    request.top_p = Some(0.9);
    request.top_k = Some(5);
    request.frequency_penalty = Some(0.2);
    request.presence_penalty = Some(0.3);
    request.seed = Some(7);
    request.stop = vec!["END".into()];
    request.output =
        Some(OutputSchema::new("city", json!({"type": "object", "additionalProperties": false})));
    request.metadata.insert("team".into(), "tools".into());
    request.service_tier = Some("flex".into());
    request.tools = vec![ToolSpec::new("f", "does it", json!({"type": "object", "$defs": {}}))];
    request.provider_tools = vec![json!({"codeExecution": {}})];
    request.tool_choice = ToolChoice::Named("f".into());
    expect![[r#"
        {
          "contents": [
            {
              "parts": [
                {
                  "text": "hi"
                }
              ],
              "role": "user"
            }
          ],
          "generationConfig": {
            "frequencyPenalty": 0.2,
            "maxOutputTokens": 100,
            "presencePenalty": 0.3,
            "responseJsonSchema": {
              "additionalProperties": false,
              "type": "object"
            },
            "responseMimeType": "application/json",
            "seed": 7,
            "stopSequences": [
              "END"
            ],
            "temperature": 0.1,
            "topK": 5,
            "topP": 0.9
          },
          "labels": {
            "team": "tools"
          },
          "serviceTier": "flex",
          "toolConfig": {
            "functionCallingConfig": {
              "allowedFunctionNames": [
                "f"
              ],
              "mode": "ANY"
            }
          },
          "tools": [
            {
              "functionDeclarations": [
                {
                  "description": "does it",
                  "name": "f",
                  "parametersJsonSchema": {
                    "$defs": {},
                    "type": "object"
                  }
                }
              ]
            },
            {
              "codeExecution": {}
            }
          ]
        }"#]]
    .assert_eq(&body(&Gemini::new(), &request));
}

#[test]
fn settings_of_the_callers_own_win_one_by_one() {
    let mut request = request("system: be brief\nuser: hi");
    request.temperature = Some(0.5);
    request.seed = Some(7);
    let config = json!({"temperature": 1, "responseModalities": ["TEXT"]});
    request.extra.insert("generationConfig".into(), config);
    request.extra.insert("cachedContent".into(), json!("cachedContents/x"));
    request.extra.insert("systemInstruction".into(), Value::Null);
    let mut text = as_text(&Gemini::new(), &request);
    request.extra.insert("generationConfig".into(), Value::Null);
    text.push('\n');
    text.push_str(&as_text(&Gemini::new(), &request));
    expect![[r#"
        {"cachedContent":"cachedContents/x","generationConfig":{"maxOutputTokens":8192,"responseModalities":["TEXT"],"seed":7,"temperature":1},"systemInstruction":null,"contents":[{"role":"user","parts":[{"text":"hi"}]}]}
        {"cachedContent":"cachedContents/x","generationConfig":null,"systemInstruction":null,"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#]].assert_eq(&text);
}

#[test]
fn choices_of_tools() {
    let mut request = request("user: hi");
    request.tools = vec![ToolSpec::new("f", "", json!({"type": "object"}))];
    let mut text = String::new();
    for choice in [ToolChoice::Auto, ToolChoice::None, ToolChoice::Any, ToolChoice::Named("f".into())] {
        request.tool_choice = choice;
        let body: Value = serde_json::from_str(&as_text(&Gemini::new(), &request)).expect("JSON");
        text.push_str(&format!("{:?}: {}\n", request.tool_choice, body["toolConfig"]));
    }
    expect![[r#"
        Auto: null
        None: {"functionCallingConfig":{"mode":"NONE"}}
        Any: {"functionCallingConfig":{"mode":"ANY"}}
        Named("f"): {"functionCallingConfig":{"allowedFunctionNames":["f"],"mode":"ANY"}}
    "#]]
    .assert_eq(&text);
}

#[test]
fn reasoning_is_asked_for_as_the_model_takes_it() {
    let mut text = String::new();
    for model in ["gemini-2.5-flash", "models/gemini-3-flash-preview", "gemini-flash-latest"] {
        for thinking in [
            Thinking::Unsaid,
            Thinking::Off,
            Thinking::Budget(3000),
            Thinking::Effort(Effort::Minimal),
            Thinking::Effort(Effort::Max),
        ] {
            let mut request = request("user: hi");
            request.model = model.into();
            request.thinking = thinking;
            let body: Value = serde_json::from_str(&as_text(&Gemini::new(), &request)).expect("JSON");
            text.push_str(&format!("{model} {thinking:?}: {}\n", body["generationConfig"]["thinkingConfig"]));
        }
    }
    expect![[r#"
        gemini-2.5-flash Unsaid: null
        gemini-2.5-flash Off: {"thinkingBudget":0}
        gemini-2.5-flash Budget(3000): {"includeThoughts":true,"thinkingBudget":3000}
        gemini-2.5-flash Effort(Minimal): {"includeThoughts":true,"thinkingBudget":1024}
        gemini-2.5-flash Effort(Max): {"includeThoughts":true,"thinkingBudget":24576}
        models/gemini-3-flash-preview Unsaid: null
        models/gemini-3-flash-preview Off: {"thinkingLevel":"MINIMAL"}
        models/gemini-3-flash-preview Budget(3000): {"includeThoughts":true,"thinkingLevel":"MEDIUM"}
        models/gemini-3-flash-preview Effort(Minimal): {"includeThoughts":true,"thinkingLevel":"MINIMAL"}
        models/gemini-3-flash-preview Effort(Max): {"includeThoughts":true,"thinkingLevel":"HIGH"}
        gemini-flash-latest Unsaid: null
        gemini-flash-latest Off: {"thinkingLevel":"MINIMAL"}
        gemini-flash-latest Budget(3000): {"includeThoughts":true,"thinkingLevel":"MEDIUM"}
        gemini-flash-latest Effort(Minimal): {"includeThoughts":true,"thinkingLevel":"MINIMAL"}
        gemini-flash-latest Effort(Max): {"includeThoughts":true,"thinkingLevel":"HIGH"}
    "#]]
    .assert_eq(&text);
}

#[test]
fn the_model_stands_in_the_path() {
    let mut text = String::new();
    for (model, stream) in [
        ("gemini-2.5-flash", true),
        ("models/gemini-2.5-flash", false),
        ("tunedModels/mine", false),
        ("../a b?c/ü", true),
    ] {
        let mut request = request("user: hi");
        request.model = model.into();
        request.stream = stream;
        let http = Gemini::new().encode(&request).expect("legal");
        text.push_str(&format!("{} {}\n", http.method, http.path));
    }
    let key = Secret::new("k");
    text.push_str(&format!("{:?}\n", Gemini::new().key_header(&key)));
    text.push_str(&format!("{:?}\n", Gemini::vertex().key_header(&key)));
    expect![[r#"
        POST /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse
        POST /v1beta/models/gemini-2.5-flash:generateContent
        POST /v1beta/tunedModels/mine:generateContent
        POST /v1beta/models/..%2Fa%20b%3Fc%2F%C3%BC:streamGenerateContent?alt=sse
        ("x-goog-api-key", "k")
        ("authorization", "Bearer k")
    "#]]
    .assert_eq(&text);
}

#[test]
fn limits_of_settings() {
    let mut asked = request("user: hi");
    asked.stop = vec!["x".into(); 6];
    let mut text = as_text(&Gemini::new(), &asked);
    asked.stop.pop();
    asked.seed = Some(1 << 31);
    text.push('\n');
    text.push_str(&as_text(&Gemini::new(), &asked));
    expect![[r#"
        refused: the gemini wire does not do more than five stop sequences
        refused: the gemini wire does not do a seed above 2147483647"#]]
    .assert_eq(&text);
}
