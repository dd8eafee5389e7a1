//! Hand-written logs of other agents, the smallest that show something.

use serde_json::{Value, json};

/// The id of the sessions here.
pub(crate) const SESSION: &str = "5f0c1a52-7d3e-4b8a-9c21-0a1b2c3d4e5f";

/// Chains records into a session file of Claude Code.
pub(crate) fn session(records: Vec<Value>) -> String {
    let mut lines = String::new();
    for (place, mut record) in records.into_iter().enumerate() {
        let uuid = |place: usize| format!("00000000-0000-4000-8000-{place:012}");
        record["uuid"] = json!(uuid(place));
        record["parentUuid"] = if place == 0 { Value::Null } else { json!(uuid(place - 1)) };
        record["sessionId"] = json!(SESSION);
        record["timestamp"] = json!(format!("2026-11-02T10:00:{place:02}.000Z"));
        record["cwd"] = json!("/project/my app");
        record["version"] = json!("2.1.42");
        record["isSidechain"] = json!(false);
        record["userType"] = json!("external");
        lines.push_str(&format!("{record}\n"));
    }
    lines
}

/// What a person typed.
pub(crate) fn typed(text: &str) -> Value {
    json!({ "type": "user", "message": { "role": "user", "content": text } })
}

/// One block of an answer; lines of one answer share its id.
pub(crate) fn answered(id: &str, block: Value) -> Value {
    let message = json!({
        "id": id, "type": "message", "role": "assistant", "model": "claude-sonnet-5-5", "content": [block],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 10, "output_tokens": 2 },
    });
    json!({ "type": "assistant", "message": message, "requestId": "req_1" })
}

pub(crate) fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

pub(crate) fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": "cargo test" } })
}

/// A session that can be resumed.
pub(crate) fn sound_session() -> String {
    let result = json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "toolu_1", "content": "ok" }] });
    session(vec![
        typed("run the tests"),
        answered("msg_1", text("I run them.")),
        answered("msg_1", call("toolu_1")),
        json!({ "type": "user", "message": result, "toolUseResult": { "stdout": "ok" } }),
        answered("msg_2", text("They pass.")),
    ])
}

/// A session whose process died while a tool ran, and which went on.
pub(crate) fn broken_session() -> String {
    session(vec![
        typed("run the tests"),
        answered("msg_1", text("I run them.")),
        answered("msg_1", call("toolu_1")),
        typed("are you there?"),
        answered("msg_2", text("Yes.")),
    ])
}

/// A request that Anthropic takes, with what we don't know of, and white space of its own.
pub(crate) const SOUND_LIST: &str = r#"{
  "model": "claude-sonnet-5-5",   "max_tokens": 100,
  "messages": [
    {"role": "user", "content": [{"type": "text", "text": "run the tests", "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command":  "cargo test"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok"}]}
  ]
}
"#;

/// The same without the result.
pub(crate) const BROKEN_LIST: &str = r#"{
  "model": "claude-sonnet-5-5",   "max_tokens": 100,
  "messages": [
    {"role": "user", "content": [{"type": "text", "text": "run the tests", "cache_control": {"type": "ephemeral"}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command":  "cargo test"}}]},
    {"role": "user", "content": "are you there?"}
  ]
}
"#;

/// A list of OpenAI Chat that ends in two calls, one of them answered.
pub(crate) const BROKEN_CHAT: &str = r#"[
  {"role": "system", "content": "be brief"},
  {"role": "user", "content": "look at both"},
  {"role": "assistant", "content": "", "tool_calls": [
    {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"a\"}"}},
    {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": "{\"path\":\"b\"}"}}
  ]},
  {"role": "tool", "tool_call_id": "call_1", "content": "42"}
]
"#;

/// Instructions come when the talk has begun.
pub(crate) const MIDDLE_SYSTEM: &str = r#"[
  {"role": "user", "content": "hi"},
  {"role": "assistant", "content": "hello"},
  {"role": "system", "content": "be brief"},
  {"role": "assistant", "content": "yes"},
  {"role": "user", "content": "go on"}
]
"#;

/// Calls of the form before ids: one with a name that is refused, one without a result, and one as it should be.
pub(crate) const OLDER_CHAT: &str = r#"[{"role":"user","content":"go"},
{"role":"assistant","content":null,"function_call":{"name":"read it","arguments":"{}"}},
{"role":"function","name":"read it","content":"one"},
{"role":"assistant","content":null,"function_call":{"name":"look","arguments":"{}"}},
{"role":"assistant","content":null,"function_call":{"name":"list","arguments":"{}"}},
{"role":"function","name":"list","content":"two"},
{"role":"user","content":"well?"}]"#;

/// A result comes after the next answer, and another one of a call that nobody made.
pub(crate) const LATE_RESULT: &str = r#"{"messages": [
  {"role": "user", "content": "run both"},
  {"role": "assistant", "content": [
    {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {}},
    {"type": "tool_use", "id": "toolu_2", "name": "Bash", "input": {}}
  ]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_0", "content": "lost"}]},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "ok"}]},
  {"role": "assistant", "content": "one is done"},
  {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "late"}]}
]}
"#;
