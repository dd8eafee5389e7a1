//! The arguments of the `resolve` tool, as models write them.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::Value;
use trunkline_resolve_queue::resolve_tool::{NAME, SCHEMA, parse_arguments};

#[test]
fn the_plain_forms() {
    check(r#"{"action":"apply","reason":"tests pass"}"#, expect![[r#"Apply, None, "tests pass", None"#]]);
    check(
        r#"{"action":"discard","reason":"wrong file","id":"p3","extra":{"files":["a"]}}"#,
        expect![[
            r#"Discard, Some(ProposalId(3)), "wrong file", Some(Object {"files": Array [String("a")]})"#
        ]],
    );
}

#[test]
fn what_cannot_be_misunderstood_is_understood() {
    check(
        r#"{"action":" Apply ","reason":" ok ","id":3,"extra":null}"#,
        expect![[r#"Apply, Some(ProposalId(3)), "ok", None"#]],
    );
    check(
        r#"{"action":"apply","reason":"ok","id":"[p3]"}"#,
        expect![[r#"Apply, Some(ProposalId(3)), "ok", None"#]],
    );
    check(r#"{"action":"apply","reason":"ok","id":""}"#, expect![[r#"Apply, None, "ok", None"#]]);
}

#[test]
fn what_is_refused_says_what_to_write() {
    check("", expect!["the arguments are not valid JSON (line 1, column 0)"]);
    check("[]", expect!["the arguments must be a JSON object, not a list"]);
    check(r#"{"reason":"ok"}"#, expect![[r#"`action` is missing: write "apply" or "discard""#]]);
    check(
        r#"{"action":"reject","reason":"ok"}"#,
        expect![[r#"`action` must be "apply" or "discard", not "reject""#]],
    );
    check(r#"{"action":true,"reason":"ok"}"#, expect!["`action` must be a text, not a boolean"]);
    check(r#"{"action":"discard","reason":"  "}"#, expect!["`reason` is missing: say in one sentence why"]);
    check(
        r#"{"action":"apply","reason":"ok","id":"the first"}"#,
        expect![[r#"`id` must be a proposal's id such as "p3", not "the first""#]],
    );
    check(
        r#"{"action":"apply","reason":"ok","id":1.5}"#,
        expect![[r#"`id` must be a proposal's id such as "p3", not "1.5""#]],
    );
    check(
        r#"{"action":"apply","reason":"ok","id":["p3"]}"#,
        expect![[r#"`id` must be a text such as "p3", not a list"#]],
    );
    check(
        r#"{"action":"apply","reason":"ok","extra":"x"}"#,
        expect!["`extra` must be an object, not a text"],
    );
}

#[test]
fn a_misspelt_id_does_not_resolve_the_oldest() {
    check(
        r#"{"action":"apply","reason":"ok","proposal_id":"p3"}"#,
        expect!["there is no argument `proposal_id`; known are `action`, `reason`, `id`, `extra`"],
    );
}

#[test]
fn the_schema_names_what_the_parser_knows() {
    let schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    let names: Vec<&String> =
        schema["properties"].as_object().expect("the schema has properties").keys().collect();
    assert_eq!(names, ["action", "extra", "id", "reason"]);
    assert_eq!(schema["required"], serde_json::json!(["action", "reason"]));
    assert_eq!(NAME, "resolve");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text: String, id: String, action: String) {
        let _ = parse_arguments(&text);
        let arguments = serde_json::json!({"action": action, "reason": text, "id": id}).to_string();
        let _ = parse_arguments(&arguments);
    }
}

#[track_caller]
fn check(text: &str, expected: Expect) {
    let answer = match parse_arguments(text) {
        Ok(read) => format!(
            "{:?}, {:?}, {:?}, {:?}",
            read.action,
            read.id,
            read.reason,
            read.extra.map(Value::Object)
        ),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&answer);
}
