//! Our wires against recorded exchanges, where they are there; and the comparison itself, on exchanges made up here.

use expect_test::{Expect, expect};
use serde_json::json;
use trunkline_tests::corpora::{self, compare, rules};
use trunkline_tests::recorded::{self, Protocol, Recordings};

use crate::recordings;

// The program does more; a test must be quick.
const SPLITS: u32 = 4;

#[test]
fn recorded_exchanges_decode_at_any_split_and_are_written_as_they_were() {
    let Some(folder) = recordings::folder() else { return };
    let recordings = recorded::read_folder(&folder).expect("recordings");
    let report = corpora::run(&recordings, SPLITS);
    eprintln!("{report}");
    assert!(report.exchanges > 100, "only {} exchanges below {}", report.exchanges, folder.display());
    assert_eq!(report.failures(), 0, "{report}");
}

fn check(file: &str, yaml: &str, expected: Expect) {
    let mut recordings = Recordings { files: 1, ..Recordings::default() };
    recorded::read_text(file, yaml, &mut recordings);
    expected.assert_eq(&corpora::run(&recordings, SPLITS).to_string());
}

#[test]
fn one_layout_holds_an_exchange_in_each_document() {
    check(
        "rig__openai__made_up__two.yaml",
        r#"
when:
  path: /v1/chat/completions
  method: POST
  query_param: []
  body: '{"messages":[{"role":"user","content":"hi"}],"model":"m","max_tokens":5,"stream":true,"logprobs":true}'
then:
  status: 200
  header:
  - name: content-type
    value: text/event-stream
  body: |+
    data: {"model":"m","choices":[{"index":0,"delta":{"content":"hel"}}]}

    data: {"model":"m","choices":[{"index":0,"delta":{"content":"lo"},"finish_reason":"stop"}],"gist":1}

    data: [DONE]

---
when:
  path: /v1/models
  method: GET
then:
  status: 200
  body: '{}'
---
when:
  path: /v1/chat/completions
  method: POST
  body: '{"messages":[{"role":"user","content":"hi"}],"model":"m"}'
then:
  status: 401
  body: '{"error":{"message":"no key"}}'
"#,
        expect![[r#"
            1 files, 3 exchanges

            openai-chat: 2 exchanges, 1 accepted; 1 equal
              answers: 1 streams and 0 whole ones decoded, the same under every split
              folded to: text 1
              fields of answers not looked at: gist (1)
              requests: 1 written and compared: 0 are the same, 1 mean the same, 0 differ
              carried as extra: logprobs (1)
              our choice    1  the limit of output tokens goes into the field that the service documents; it takes either  (rig__openai__made_up__two.yaml)
              our choice    1  usage is asked for with a stream, where the service does not send it unasked  (rig__openai__made_up__two.yaml)


            not a conversation of these wires: 1 exchanges
                 1  GET /v1/models  (rig__openai__made_up__two.yaml#2)

            refused              status  wire               count
            authentication          401  openai-chat            1
        "#]],
    );
}

#[test]
fn the_other_layout_may_hold_parsed_and_packed_bodies_and_what_is_cut_is_told_apart() {
    // The second body is `{"type":"message","id":"msg_1","model":"m","content":[{"type":"text","text":"packed"}],"stop_reason":"end_turn"}`.
    check(
        "made_up.yaml",
        r#"
interactions:
- request:
    method: POST
    uri: https://api.anthropic.com/v1/messages
    parsed_body: {model: m, max_tokens: 9, messages: [{role: user, content: hi, mood: good}]}
  response:
    status: {code: 200, message: OK}
    parsed_body: {type: message, id: msg_1, model: m, content: [{type: text, text: hi}], stop_reason: end_turn}
- request:
    method: POST
    uri: https://api.anthropic.com/v1/messages
    body: '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}'
  response:
    status: {code: 200, message: OK}
    headers: {content-encoding: [gzip]}
    body:
      string: !!binary |
        H4sIAAAAAAACAzWLQQqAMBAD/5JzL177FZFSbBBRt6W7giL+3Sp4ygxDLthZCI+NqnEiHOb0qk6h
        a7LlxPX1xmMWoxh8f/0v42GtfONR4rgw4R4c1HIJlVGztEBJwfYquB+ZcwHEcAAAAA==
- request:
    method: POST
    uri: https://api.anthropic.com/v1/messages
    body: '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"stream":true}'
  response:
    status: {code: 200, message: OK}
    body:
      string: |+
        event: message_start
        data: {"type":"message_start","message":{"id":"msg_1","model":"m","content":[]}}

- request:
    method: POST
    uri: https://api.anthropic.com/v1/messages
    body: '{"model":"m","max_tokens":9,"messages":[{"role":"narrator","content":"hi"}]}'
  response:
    status: {code: 200, message: OK}
    body: {string: '<html></html>'}
"#,
        expect![[r#"
            1 files, 4 exchanges

            anthropic: 4 exchanges, 4 accepted; 2 equal
              answers: 0 streams and 2 whole ones decoded, the same under every split
              folded to: text 2
              not decoded: no answer of an API (a web page): 1 (made_up.yaml#4)
              not decoded: the recording ends before the answer does: 1 (made_up.yaml#3)
              requests: 3 written and compared: 0 are the same, 2 mean the same, 1 differ
              FAILED to read: a message of role "narrator": 1 (made_up.yaml#4)
              the same      3  content that is a string is one part of text  (made_up.yaml)
              DIFFERS       1  messages[user].mood  not written: "good"  (made_up.yaml)

        "#]],
    );
}

#[test]
fn what_was_lost_added_or_changed_is_told_with_its_place() {
    let theirs = json!({"model": "m", "max_tokens": 1, "top_k": 3, "messages": [
        {"role": "user", "content": [{"type": "text", "text": "one", "mood": "good"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1.0}}]},
    ]});
    let ours = json!({"model": "m", "max_tokens": 1.0, "top_p": 0.5, "messages": [
        {"role": "user", "content": "two"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"x": 2}}]},
    ]});
    let found = compare::compare(&theirs, &ours, &rules::of(Protocol::Anthropic), "");
    let lines: Vec<String> = found
        .differences
        .iter()
        .map(|one| format!("{:?} {}: {} / {}\n", one.how, one.path, one.sides.0, one.sides.1))
        .collect();
    expect![[r#"
        Lost messages[user].content[text].mood: "good" / null
        Changed messages[user].content[text].text: "one" / "two"
        Changed messages[assistant].content[tool_use].input.x: 1.0 / 2
        Lost top_k: 3 / null
        Added top_p: null / 0.5
    "#]]
    .assert_eq(&lines.concat());
}
