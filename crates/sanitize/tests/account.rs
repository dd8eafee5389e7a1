//! The account of what was done.

use std::collections::BTreeSet;

use expect_test::expect;
use trunkline_message_tree::{NodeId, Role, notation};
use trunkline_sanitize::{
    Account, BlockKind, Fate, FieldHolder, QuoteCause, Repair, RepairKind, RequestFacts, ThinkingLoss,
    ThinkingOffCause, WireRules, sanitize, violations,
};

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
        message 1 block 0: thinking may not go to this model
            Invalid `signature` in `thinking` block
        message 1 block 1: arguments of call "c1" are not an object
            messages.N.content.M.tool_use.input: Input should be a valid dictionary
        message 1 block 1: call "c1" has no result next to it
            messages.N: `tool_use` ids were found without `tool_result` blocks immediately after: …. Each `tool_use` block must have a corresponding `tool_result` block in the next message.
        message 4 block 0: result "c1" has no call next to it
            messages.N.content.M: unexpected `tool_use_id` found in `tool_result` blocks: …. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.
    "#]].assert_eq(&lines.concat());
}

#[test]
fn an_account_counts_by_kind_and_says_what_was_lost() {
    let list = notation::parse(DAMAGED).expect("the input of a test is notation");
    let sanitized = sanitize(&list, &WireRules::anthropic(), &RequestFacts::default());
    let account = Account::of(&sanitized.repairs);
    assert_eq!(account.to_string(), "4 repairs, 1 loss");
    let json = serde_json::to_string_pretty(&account).expect("an account is plain data");
    expect![[r#"
        {
          "repairs": 4,
          "losses": 1,
          "by_kind": {
            "answered": 1,
            "arguments_replaced": 1,
            "quoted": 1,
            "thinking_dropped": 1
          }
        }"#]]
    .assert_eq(&json);
    assert_eq!(serde_json::from_str::<Account>(&json).expect("own JSON is readable"), account);
}

#[test]
fn an_account_of_nothing_says_so() {
    assert_eq!(Account::of(&[]), Account::default());
    assert_eq!(Account::default().to_string(), "0 repairs");
    let list =
        notation::parse("user: hi\nassistant:\n+ redacted: xyz\n+ text: a\nuser: b").expect("notation");
    let sanitized = sanitize(&list, &WireRules::openai_chat(), &RequestFacts::default());
    assert_eq!(Account::of(&sanitized.repairs).to_string(), "1 repair");
}

#[test]
fn every_kind_goes_through_json_under_its_own_name() {
    let kinds = one_of_each();
    for kind in &kinds {
        let json = serde_json::to_value(kind).expect("kinds are plain data");
        assert_eq!(json["repair"], kind.name());
        assert_eq!(serde_json::from_value::<RepairKind>(json).expect("own JSON is readable"), *kind);
    }
    // A name that nobody has is refused with all that there are.
    let refusal = serde_json::from_str::<RepairKind>(r#"{"repair":"?"}"#).expect_err("no such kind");
    let refusal = refusal.to_string();
    let known: BTreeSet<&str> = refusal.split('`').skip(3).step_by(2).collect();
    assert_eq!(kinds.iter().map(RepairKind::name).collect::<BTreeSet<_>>(), known);
}

#[test]
fn every_row_that_a_repair_names_is_in_the_table() {
    let at = serde_json::json!({ "message": 0 });
    for kind in one_of_each() {
        let mut json = serde_json::to_value(&kind).expect("kinds are plain data");
        json["at"] = at.clone();
        let repair: Repair = serde_json::from_value(json).expect("own JSON is readable");
        assert!(crate::catalogue::ids().contains(repair.row()), "{repair}: {}", repair.row());
        assert!(!repair.to_string().contains('\n'), "a repair is one line");
    }
}

/// One repair of each kind.
fn one_of_each() -> Vec<RepairKind> {
    let call_id = || "c1".to_owned();
    vec![
        RepairKind::Rehomed { block: BlockKind::Call, from: Role::User, to: Role::Assistant },
        RepairKind::SystemToUser,
        RepairKind::ThinkingDropped { blocks: 1, why: ThinkingLoss::Foreign },
        RepairKind::ThinkingQuoted { blocks: 1 },
        RepairKind::ThinkingAdded,
        RepairKind::SignatureDropped { call_id: call_id() },
        RepairKind::SignatureAdded { call_id: call_id() },
        RepairKind::ForeignDropped { block: BlockKind::Opaque },
        RepairKind::BrokenDropped { block: BlockKind::ServerResult },
        RepairKind::FieldDropped {
            holder: FieldHolder::Part("text".to_owned()),
            field: "cache_control".to_owned(),
            says_something: true,
        },
        RepairKind::BlankDropped,
        RepairKind::BlankPartsDropped { call_id: call_id() },
        RepairKind::ReplayDropped { call_id: call_id() },
        RepairKind::Renamed { from: call_id(), to: "c1_2".to_owned(), taken: true },
        RepairKind::NameReplaced { call_id: call_id(), from: "a b".to_owned(), to: "a_b_1".to_owned() },
        RepairKind::ArgumentsReplaced { call_id: call_id(), raw: "{\"a".to_owned() },
        RepairKind::Answered { call_id: call_id(), fate: Fate::NotStarted, said: "never".to_owned() },
        RepairKind::Moved { call_id: call_id() },
        RepairKind::Split { results: 2 },
        RepairKind::Merged { call_id: call_id() },
        RepairKind::DuplicateDropped { call_id: call_id() },
        RepairKind::Quoted { call_id: call_id(), why: QuoteCause::Late },
        RepairKind::ResultDropped { call_id: call_id(), why: QuoteCause::NoCall },
        RepairKind::CallsMovedBack { calls: 2 },
        RepairKind::Reordered { results: 2 },
        RepairKind::ResultFilled { call_id: call_id() },
        RepairKind::ResultCut { call_id: call_id(), bytes: 7 },
        RepairKind::Flattened { call_id: call_id() },
        RepairKind::Bridged,
        RepairKind::MediaReplaced { parts: 1 },
        RepairKind::MediaMoved { call_id: call_id(), parts: 1 },
        RepairKind::EmptyDropped { role: Role::User },
        RepairKind::EmptyStubbed,
        RepairKind::Joined { role: Role::System },
        RepairKind::HeadAdded,
        RepairKind::TailAdded,
        RepairKind::Trimmed,
        RepairKind::ThinkingOff { why: ThinkingOffCause::Lost },
    ]
}
