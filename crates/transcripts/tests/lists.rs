//! Message lists of both wires as they are read.

use expect_test::expect;
use trunkline_message_tree::Content;
use trunkline_transcripts::{Format, read};

use crate::show::{main, shown, transcript};

#[test]
fn every_block_of_anthropic_has_its_place() {
    expect![[r#"
        system: be brief
        user:
        + image image/png base64 "AA=="
        + image "image/*" url "https://e.org/a.png"
        + opaque anthropic {"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}
        assistant:
        + thinking "s==": hm
        + thinking: unsigned
        + redacted: zz
        + server-call sv1 {"type":"server_tool_use","id":"sv1","name":"web_search","input":{}}
        + server-result sv1 {"type":"web_search_tool_result","tool_use_id":"sv1","content":[]}
        + text: look
        + call c1 Read {"b": 1, "a": [ ]}
        + call "" Read "words"
        user:
        + result c1:
        + result c1!:
        + result c1:
        ++ text:
        ++ opaque anthropic {"type":"search_result","x":1}
        + text: go on
    "#]].assert_eq(&shown(
        r#"{"model":"claude-x","system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"messages":[
            {"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}},
                {"type":"image","source":{"type":"url","url":"https://e.org/a.png"}},
                {"type":"document","source":{"type":"text","media_type":"text/plain","data":"x"}}]},
            {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s=="},
                {"type":"thinking","thinking":"unsigned","signature":""},
                {"type":"redacted_thinking","data":"zz"},
                {"type":"server_tool_use","id":"sv1","name":"web_search","input":{}},
                {"type":"web_search_tool_result","tool_use_id":"sv1","content":[]},
                {"type":"text","text":"look","citations":[]},
                {"type":"tool_use","id":"c1","name":"Read","input":{"b": 1, "a": [ ]}},
                {"type":"tool_use","name":"Read","input":"words"}]},
            {"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"},
                {"type":"tool_result","tool_use_id":"c1","content":"","is_error":true},
                {"type":"tool_result","tool_use_id":"c1","content":[{"type":"text","text":""},{"type":"search_result","x":1}]},
                {"type":"text","text":"go on"}]}
        ]}"#,
    ));
}

#[test]
fn every_part_of_openai_has_its_place() {
    expect![[r#"
        system: be brief
        user: see
        + image image/png base64 "AA=="
        + image "image/*" url "https://e.org/a.png"
        + opaque openai-chat {"type":"input_audio","input_audio":{"data":"","format":"wav"}}
        assistant:
        + thinking: hm
        + call c1 read {"a": 1
        + call c2 read {"a": 1}
        result c1: 42
        result c2: a
        ++ text: b
        assistant: no
        + stop refusal
        assistant:
        + call old old {}
        result old: ok
    "#]].assert_eq(&shown(
        r#"[{"role":"developer","content":"be brief"},
            {"role":"user","content":[{"type":"text","text":"see"},
                {"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}},
                {"type":"image_url","image_url":{"url":"https://e.org/a.png"}},
                {"type":"input_audio","input_audio":{"data":"","format":"wav"}}]},
            {"role":"assistant","content":"","reasoning_content":"hm","tool_calls":[
                {"id":"c1","type":"function","function":{"name":"read","arguments":"{\"a\": 1"}},
                {"id":"c2","type":"function","function":{"name":"read","arguments":{"a": 1}}}]},
            {"role":"tool","tool_call_id":"c1","name":"read","content":"42"},
            {"role":"tool","tool_call_id":"c2","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
            {"role":"assistant","content":null,"refusal":"no"},
            {"role":"assistant","content":null,"function_call":{"name":"old","arguments":"{}"}},
            {"role":"function","name":"old","content":"ok"}]"#,
    ));
}

#[test]
fn a_list_may_stand_one_message_a_line() {
    expect![[r#"
        user: hi
        assistant: hello
        -- line 3: not JSON, left out: expected ident at column 2
    "#]].assert_eq(&shown(
        "{\"role\":\"user\",\"content\":\"hi\"}\n\nnot json\n{\"role\":\"assistant\",\"content\":\"hello\"}\n",
    ));
}

#[test]
fn the_fields_around_a_list_are_named_unless_they_are_messages_or_null() {
    let check = |text: &str, expected: &[&str]| {
        let transcript = read(text.as_bytes()).expect("a list");
        assert_eq!(transcript.other_fields(), expected, "{text}");
        assert_eq!(transcript.left_out(0), Default::default(), "{text}");
    };
    let list = r#"[{"role":"user","content":"hi"}]"#;
    check(list, &[]);
    check(
        &format!(r#"{{"system":"s","tools":[],"stop":null,"messages":{list},"max_tokens":1,"tools":[]}}"#),
        &["tools", "max_tokens"],
    );
    check(&format!(r#"{{"model":"gpt-x","messages":{list}}}"#), &["model"]);
}

#[test]
fn fields_that_both_formats_have_are_kept_in_the_words_of_the_other() {
    let fields = |text: &str, to: Format| {
        let fields = read(text.as_bytes()).expect("a list").fields_for(to);
        let kept: Vec<String> = fields.kept.iter().map(|(name, value)| format!("{name} {value}")).collect();
        (kept.join("\n"), fields.lost.join(" "))
    };
    let chat = r#"{"model":"m","max_completion_tokens":9,"stream":true,"stream_options":{"include_usage":true},"stop":"x",
        "seed":1,"tool_choice":{"type":"function","function":{"name":"f"}},
        "tools":[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"object"}}}],
        "messages":[{"role":"user","content":"hi"}]}"#;
    let (kept, lost) = fields(chat, Format::Anthropic);
    expect![[r#"
        model "m"
        max_tokens 9
        stream true
        stop_sequences ["x"]
        tool_choice {"type":"tool","name":"f"}
        tools [{"name":"f","description":"d","input_schema":{"type":"object"}}]"#]]
    .assert_eq(&kept);
    assert_eq!(lost, "seed");
    let anthropic = r#"{"model":"m","max_tokens":9,"system":"s","stop_sequences":["x"],"thinking":{"type":"enabled","budget_tokens":1},
        "tool_choice":{"type":"any"},"tools":[{"name":"f","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],
        "messages":[{"role":"user","content":"hi"}]}"#;
    let (kept, lost) = fields(anthropic, Format::OpenAiChat);
    expect![[r#"
        model "m"
        max_tokens 9
        stop ["x"]
        tool_choice "required"
        tools [{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]"#]]
    .assert_eq(&kept);
    assert_eq!(lost, "thinking");
    // A tool that the service runs itself is nobody else's, and a part of a list is not the list.
    let served = r#"{"system":"s","tools":[{"type":"web_search_20250305","name":"web_search"}],"messages":[{"role":"user","content":"hi"}]}"#;
    assert_eq!(fields(served, Format::OpenAiChat), (String::new(), "tools".to_owned()));
    assert_eq!(fields(chat, Format::OpenAiChat), (String::new(), String::new()));
}

/// Puts white space before and after every sign that stands outside of a string.
fn spaced(json: &str) -> String {
    let (mut out, mut inside, mut escaped) = (String::new(), false, false);
    for sign in json.chars() {
        let separates = !inside && "{}[],:".contains(sign);
        out.push_str(if separates { " \t" } else { "" });
        out.push(sign);
        out.push_str(if separates { "\r " } else { "" });
        inside ^= sign == '"' && !escaped;
        escaped = inside && sign == '\\' && !escaped;
    }
    out
}

#[test]
fn white_space_escaped_names_and_empty_values_move_no_block() {
    // What is nested is found along the way; each block must keep its own bytes wherever it stands.
    let message = r#"{"role":"assistant","content":[{},{"type":"text","text":"a \"[{\" \\"},[[1]],"loose \n",7,{"type":"tool_use","id":"c","name":"n","input":{"a":[{"b":[]}]}},{"type":"tool_result","tool_use_id":"c","content":[{"type":"text","text":"one"},{"type":"new","x":{}}]}],"usage":{"input_tokens":1,"output_tokens":2}}"#;
    let messages = |file: &str| main(&transcript(file, Format::Anthropic)).messages;
    let plain = messages(&format!("[{message}]"));
    assert_eq!(plain[0].usage.map(|usage| usage.output_tokens), Some(2));
    let escaped =
        message.replace("\"content\":[{}", "\"con\\u0074ent\":[{}").replacen("role", "\\u0072ole", 1);
    for file in [
        format!("{{\"messages\":[{message}]}}"),
        format!("{message}\n"),
        format!("[{escaped}]"),
        format!("{{\"messages\":null,\"messages\":[{message}]}}"),
    ] {
        assert_eq!(messages(&file), plain, "{file}");
    }
    for file in [format!("[{message}]"), format!("[{escaped}]"), format!("{{\"messages\":[{message}]}}")] {
        let file = spaced(&file);
        let spaced_out = transcript(&file, Format::Anthropic);
        let mut changed = main(&spaced_out).messages;
        changed[0].content.push(Content::text("more"));
        let written = spaced_out.write(0, &changed, "").expect("it is there").bytes;
        let written = String::from_utf8(written).expect("text");
        for block in
            [r#"{"type":"text","text":"a \"[{\" \\"}"#, r#"{"a":[{"b":[]}]}"#, r#"{"type":"new","x":{}}"#]
        {
            assert!(written.contains(spaced(block).trim()), "{block} in {written}");
        }
    }
}
