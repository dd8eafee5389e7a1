use trunkline_transcripts::{Format, read, sniff, sniff_only};

fn check(text: &str, expected: Option<Format>) {
    assert_eq!(sniff(text.as_bytes()), expected, "{text}");
}

#[test]
fn a_session_is_told_by_its_first_record_that_says_something() {
    check(
        r#"{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}"#,
        Some(Format::ClaudeCode),
    );
    check("garbage\n{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"u\"}\n", Some(Format::ClaudeCode));
    check(
        "{\"type\":\"queue-operation\",\"sessionId\":\"s\"}\n{\"type\":\"progress\",\"sessionId\":\"s\",\"uuid\":\"p\",\"parentUuid\":null}\n",
        Some(Format::ClaudeCode),
    );
}

#[test]
fn agents_with_the_same_envelope_are_not_taken_for_it() {
    check(
        r#"{"type":"user","sessionId":"s","uuid":"u","parentUuid":null,"message":{"role":"user","parts":[]}}"#,
        None,
    );
    check(r#"{"type":"message","id":"1","message":{"role":"user","content":"hi"}}"#, None);
    check(r#"{"conversations":[{"from":"human","value":"hi"}]}"#, None);
}

#[test]
fn lists_are_told_by_what_only_one_wire_has() {
    let anthropic = Some(Format::Anthropic);
    let openai = Some(Format::OpenAiChat);
    check(r#"{"system":"be brief","messages":[{"role":"user","content":"hi"}]}"#, anthropic);
    check(r#"{"model":"claude-x","messages":[{"role":"user","content":"hi"}]}"#, anthropic);
    check(r#"[{"role":"assistant","content":[{"type":"thinking","thinking":""}]}]"#, anthropic);
    check(r#"[{"role":"system","content":"be brief"},{"role":"user","content":"hi"}]"#, openai);
    check(r#"[{"role":"assistant","content":null,"tool_calls":[]}]"#, openai);
    check(r#"[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]"#, openai);
    check(
        "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"\"}",
        openai,
    );
    // One row of the other wire does not make it the other wire.
    check(
        r#"[{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"n","input":{}}]},
            {"role":"tool","tool_call_id":"a","content":"x"},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]"#,
        anthropic,
    );
    check("[1,2,3]", None);
    check("[]", None);
    check("{}", None);
    check("\u{feff}  [{\"role\":\"user\",\"content\":\"hi\"}]", openai);
}

#[test]
fn what_only_one_wire_has_is_of_that_wire_alone() {
    let only =
        |text: &str, expected: Option<Format>| assert_eq!(sniff_only(text.as_bytes()), expected, "{text}");
    let (anthropic, openai) = (Some(Format::Anthropic), Some(Format::OpenAiChat));
    only(r#"[{"role":"user","content":"hi"}]"#, None);
    only(r#"{"model":"claude-x","messages":[{"role":"user","content":"hi"}]}"#, None);
    only(r#"[{"role":"system","content":"s"},{"role":"user","content":"hi"}]"#, openai);
    only(r#"{"model":"claude-x","messages":[{"role":"system","content":"s"}]}"#, openai);
    only(r#"{"system":"t","messages":[{"role":"system","content":"s"}]}"#, anthropic);
    only(r#"[{"role":"developer","content":"s"}]"#, openai);
    only(r#"[{"role":"assistant","content":"b","tool_calls":[]}]"#, openai);
    only(r#"[{"role":"user","content":"b","tool_call_id":"c"}]"#, openai);
    // Blocks say more than a role, and than a field that holds nothing.
    let call = r#"{"role":"assistant","tool_calls":[],"content":[{"type":"tool_use","id":"a","name":"n","input":{}}]}"#;
    only(&format!("[{call}]"), anthropic);
    only(
        &format!(r#"[{{"role":"system","content":"s"}},{{"role":"system","content":"t"}},{call}]"#),
        anthropic,
    );
}

#[test]
fn a_body_is_judged_by_all_of_it() {
    let (anthropic, openai) = (Some(Format::Anthropic), Some(Format::OpenAiChat));
    let only =
        |text: &str, expected: Option<Format>| assert_eq!(sniff_only(text.as_bytes()), expected, "{text}");
    let marked = r#"[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]"#;
    // Marks for a cache are part of several dialects of Chat.
    for chat in [
        format!(
            r#"{{"messages":[{{"role":"system","content":{marked}}},{{"role":"user","content":"hi"}}]}}"#
        ),
        format!(r#"{{"max_completion_tokens":1,"messages":[{{"role":"user","content":{marked}}}]}}"#),
        format!(r#"{{"stream_options":{{}},"messages":[{{"role":"user","content":{marked}}}]}}"#),
        format!(r#"{{"tool_choice":"auto","messages":[{{"role":"user","content":{marked}}}]}}"#),
        format!(
            r#"{{"tools":[{{"type":"function","function":{{"name":"f"}}}}],"messages":[{{"role":"user","content":{marked}}}]}}"#
        ),
        format!(
            r#"[{{"role":"user","content":{marked}}},{{"role":"tool","tool_call_id":"a","content":"x"}}]"#
        ),
        format!(
            r#"[{{"role":"user","content":{marked}}},{{"role":"assistant","content":"x","reasoning":"y"}}]"#
        ),
    ] {
        check(&chat, openai);
        only(&chat, openai);
    }
    // And several fields of Chat are known to gateways of the other wire.
    for list in [
        format!(r#"{{"system":"s","messages":[{{"role":"user","content":{marked}}}]}}"#),
        format!(r#"{{"stop_sequences":["x"],"messages":[{{"role":"user","content":{marked}}}]}}"#),
        format!(r#"{{"tools":[{{"name":"f","input_schema":{{}}}}],"messages":[{{"role":"user","content":{marked}}}]}}"#),
        r#"{"system":"s","stop_sequences":["x"],"user":"u","messages":[{"role":"user","content":"hi"}]}"#.to_owned(),
        r#"[{"role":"user","content":"hi"},{"role":"system","content":[{"type":"tool_addition","tool":{}}]}]"#.to_owned(),
    ] {
        check(&list, anthropic);
        only(&list, anthropic);
    }
    // Where that leaves two, it is of neither alone.
    let either = format!(r#"[{{"role":"user","content":{marked}}}]"#);
    check(&either, anthropic);
    only(&either, None);
    only(r#"{"system":"s","n":1,"messages":[{"role":"user","content":"hi"}]}"#, None);
}

#[test]
fn requests_of_other_wires_are_taken_for_nothing_else_and_named() {
    for (text, name) in [
        (r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#, "Gemini"),
        (r#"[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"ho"}]}]"#, "Gemini"),
        (r#"{"model":"m","input":"hi"}"#, "Responses"),
        (r#"{"model":"m","input":[{"role":"user","content":"hi"}]}"#, "Responses"),
        (r#"[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]"#, "Responses"),
        (
            r#"[{"role":"user","content":"hi"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]"#,
            "Responses",
        ),
        (r#"{"messages":[{"role":"user","content":[{"text":"hi"}]}]}"#, "Bedrock"),
        (r#"{"inferenceConfig":{},"messages":[{"role":"user","content":"hi"}]}"#, "Bedrock"),
        (
            r#"[{"role":"assistant","content":[{"toolUse":{"toolUseId":"a","name":"f","input":{}}}]}]"#,
            "Bedrock",
        ),
        (r#"{"messages":[{"role":"user","content":"look","images":["AAAA"]}]}"#, "Ollama"),
        (r#"{"options":{"num_ctx":1},"messages":[{"role":"tool","tool_name":"f","content":"x"}]}"#, "Ollama"),
    ] {
        check(text, None);
        let error = read(text.as_bytes()).expect_err("it is not read").to_string();
        assert!(error.contains(name), "{text}: {error}");
    }
}

#[test]
fn sessions_of_agents_are_recognised_by_how_they_begin() {
    for (file, format) in [
        (
            r#"{"timestamp":"2026-02-23T12:40:23.000Z","type":"session_meta","payload":{"id":"x","cwd":"/p"}}"#,
            Format::Codex,
        ),
        (
            r#"{"type":"session","version":3,"id":"x","timestamp":"2026-02-23T12:40:23.000Z","cwd":"/p"}"#,
            Format::Pi,
        ),
        (
            r#"{"sessionId":"s","projectHash":"h","messages":[{"id":"1","type":"user","content":"hi"}]}"#,
            Format::GeminiCli,
        ),
        (
            r#"{"info":{"id":"ses_1"},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[]}]}"#,
            Format::Opencode,
        ),
    ] {
        check(file, Some(format));
        check(&format!("\u{feff}{file}\r\n{{\"type\":\"more\"}}\r\n"), Some(format));
    }
}

#[test]
fn agents_that_are_known_by_name_are_named() {
    let chatgpt = r#"{"title":"t","mapping":{},"current_node":"x"}"#.as_bytes().to_vec();
    let database = |words: &str| [b"SQLite format 3\0".as_slice(), words.as_bytes()].concat();
    for (file, agent) in [
        (chatgpt, "ChatGPT"),
        (database("CREATE TABLE messages (content_json TEXT)"), "goose"),
        (database("CREATE TABLE session (time_compacting integer)"), "opencode"),
    ] {
        let error = read(&file).map(|_| ()).expect_err("it is not read").to_string();
        assert!(
            error.starts_with(&format!("a session of {agent}, which is not read; known are claude-code, ")),
            "{error}"
        );
    }
}
