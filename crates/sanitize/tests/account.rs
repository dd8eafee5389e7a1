//! The account of what was done.

use expect_test::expect;
use trunkline_message_tree::{NodeId, notation};
use trunkline_sanitize::{Repair, RequestFacts, WireRules, sanitize, violations};

const DAMAGED: &str = "user: hi
    assistant:
    + thinking: hmm
    + call c1 read null
    user: well?
    assistant: patience
    result c1: 42";

#[test]
fn a_repair_names_its_place_its_row_and_whether_it_is_a_loss() {
    let mut list = notation::parse(DAMAGED).expect("the input of a test is notation");
    for (index, message) in list.iter_mut().enumerate() {
        message.node = Some(NodeId::new(index as u32));
    }
    let sanitized = sanitize(&list, &WireRules::anthropic(), &RequestFacts::default());
    let lines: Vec<String> = sanitized
        .repairs
        .iter()
        .map(|repair| {
            let loss = if repair.is_loss() { " (loss)" } else { "" };
            format!("{} {}: {repair}{loss}\n", repair.row(), repair.at)
        })
        .collect();
    expect![[r#"
        D2 n1: dropped thinking (1): not signed (loss)
        C10 n1: replaced arguments of call c1: not an object
        A1 n1: answered call c1: no result
        A5 n4 block 0: quoted result c1: later than the next answer
    "#]]
    .assert_eq(&lines.concat());
}

#[test]
fn repairs_survive_json() {
    let list = notation::parse(DAMAGED).expect("the input of a test is notation");
    let sanitized = sanitize(&list, &WireRules::anthropic(), &RequestFacts::default());
    let json = serde_json::to_string_pretty(&sanitized.repairs[..2]).expect("repairs are plain data");
    expect![[r#"
        [
          {
            "at": {
              "message": 1
            },
            "repair": "thinking_dropped",
            "blocks": 1,
            "why": "unsigned"
          },
          {
            "at": {
              "message": 1
            },
            "repair": "arguments_replaced",
            "call_id": "c1",
            "raw": "null"
          }
        ]"#]]
    .assert_eq(&json);
    let all = serde_json::to_string(&sanitized.repairs).expect("repairs are plain data");
    assert_eq!(serde_json::from_str::<Vec<Repair>>(&all).expect("own JSON is readable"), sanitized.repairs);
}

#[test]
fn violations_come_in_order_and_say_what_the_provider_would() {
    let list = notation::parse(DAMAGED).expect("the input of a test is notation");
    let found = violations(&list, &WireRules::anthropic(), &RequestFacts::default());
    let lines: Vec<String> = found
        .iter()
        .map(|violation| format!("{violation}\n    {}\n", violation.provider_text.unwrap_or("(not known)")))
        .collect();
    expect![[r#"
        message 1 block 0: thinking is not signed by this model
            Invalid `signature` in `thinking` block
        message 1 block 1: arguments of call "c1" are not an object
            messages.N.content.M.tool_use.input: Input should be a valid dictionary
        message 1 block 1: call "c1" has no result next to it
            messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: …. Each `tool_use` block must have a corresponding `tool_result` block in the next message.
        message 4 block 0: result "c1" has no call next to it
            messages.N.content.M: unexpected `tool_use_id` found in `tool_result` blocks: …. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.
    "#]].assert_eq(&lines.concat());
}
