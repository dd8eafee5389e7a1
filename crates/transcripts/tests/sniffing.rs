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
    check(r#"{"type":"session_meta","payload":{"id":"x"}}"#, None);
    check(r#"{"type":"message","id":"1","message":{"role":"user","content":"hi"}}"#, None);
    check(r#"{"sessionId":"s","projectHash":"h","messages":[{"type":"user","content":"hi"}]}"#, None);
    check(r#"{"info":{},"messages":[{"info":{"role":"user"},"parts":[]}]}"#, None);
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
fn agents_that_are_known_by_name_are_named() {
    for (file, agent) in [
        (
            r#"{"timestamp":"2026-02-23T12:40:23.000Z","type":"session_meta","payload":{"id":"x","cwd":"/p"}}"#,
            "Codex",
        ),
        (
            r#"{"type":"session","version":3,"id":"x","timestamp":"2026-02-23T12:40:23.000Z","cwd":"/p"}"#,
            "pi",
        ),
        (
            r#"{"sessionId":"s","projectHash":"h","messages":[{"id":"1","type":"user","content":"hi"}]}"#,
            "Gemini CLI",
        ),
        (
            r#"{"info":{"id":"ses_1"},"messages":[{"info":{"id":"msg_1","role":"user"},"parts":[]}]}"#,
            "opencode",
        ),
        (r#"{"title":"t","mapping":{},"current_node":"x"}"#, "ChatGPT"),
    ] {
        let told = format!(
            "a session of {agent}, which is not read; known are claude-code, anthropic and openai-chat"
        );
        for file in [file.to_owned(), format!("\u{feff}{file}\r\n{{\"type\":\"more\"}}\r\n")] {
            let error = read(file.as_bytes()).map(|_| ()).expect_err("not ours").to_string();
            assert_eq!(error, told, "{file}");
        }
    }
}
