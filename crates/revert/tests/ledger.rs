//! What was already done on a branch: nothing repeated that did not happen, nothing left out unsaid.

use expect_test::{Expect, expect};
use trunkline_message_tree::{NodeId, ToolCall, notation};
use trunkline_revert::{EffectClass, Effects, Ledger, mechanical};

/// What the tools of these tests declare: a file or a command is the only argument.
pub(crate) fn effects(call: &ToolCall) -> Effects {
    let arguments = call.parse_arguments().unwrap_or_default();
    let what = arguments.values().find_map(|value| value.as_str()).unwrap_or("nothing").to_owned();
    match call.name.as_str() {
        "read_file" => Effects::new(EffectClass::Pure).reading(what),
        "edit_file" => Effects::new(EffectClass::Reversible).reading(what.clone()).writing(what),
        "write_file" => Effects::new(EffectClass::Reversible).writing(what),
        "delete_file" => Effects::new(EffectClass::Irreversible).writing(what),
        "run_command" => Effects::default().running(what),
        "deploy" => Effects::new(EffectClass::Irreversible).running(what),
        "open_ticket" => Effects::new(EffectClass::Compensable),
        "send_mail" => Effects::new(EffectClass::Irreversible),
        "add_todo" => Effects::new(EffectClass::Reversible),
        "search" => Effects::new(EffectClass::Pure),
        _ => Effects::default(),
    }
}

/// The ledger of everything after the first two nodes.
fn ledger(tree: &str) -> Ledger {
    let tree = notation::parse_tree(&format!("n0 system: be brief\nn1 user: go\n{tree}")).unwrap();
    let span: Vec<NodeId> = tree.nodes().map(|(id, _)| id).skip(2).collect();
    Ledger::of(&tree, &span, effects)
}

fn told(ledger: &Ledger, limit: usize) -> String {
    format!("{}\n-- {}\n", ledger.text(limit), mechanical(ledger, 2_000))
}

fn check(tree: &str, expected: Expect) {
    expected.assert_eq(&told(&ledger(tree), 2_000));
}

#[test]
fn everything_that_a_model_could_repeat_or_contradict_has_a_line() {
    check(
        r#"
        n2 assistant: I look at it first.
           + call c1 read_file {"path":"a.rs"}
           + call c2 search {"for":"deadlock"}
        n3 result c1: fn a() {}
        n4 result c2: nothing
        n5 assistant: The lock in a.rs is wrong,\nI change it.
           + call c1 edit_file {"path":"a.rs"}
           + call c2 run_command {"command":"cargo test -p a"}
           + call c3 send_mail {}
           + call c4 open_ticket {}
           + call c5 add_todo {}
           + call c6 frobnicate {}
        n6 result c1: done
        n7 result c2!: \nerror: it deadlocks\n  at a.rs:3
        n8 result c3: sent
        n9 result c4: T-3
        n10 result c5: noted
        n11 result c6: frobnicated
        "#,
        expect![[r#"
            Cannot be undone: send_mail; open_ticket (can be made up for)
            Told the user: “I look at it first.”; “The lock in a.rs is wrong, I change it.”
            Writes: a.rs
            Commands: “cargo test -p a” (failed)
            Still in effect: add_todo
            Effects unknown: frobnicate
            Reads: a.rs
            Also called: search
            -- called read_file, search, edit_file, run_command (failed), send_mail, open_ticket, add_todo, frobnicate; cannot be undone: send_mail, open_ticket (can be made up for); writes: a.rs; last error, of run_command: “error: it deadlocks”; reads: a.rs
        "#]],
    );
}

#[test]
fn nothing_is_said_of_nothing() {
    for tree in [
        "n2 harness: go on\nn3 assistant:\n+ thinking: hm",
        "n2 assistant:\n+ call c1 revert_to_state {\"category\":\"failure\"}\nn3 result c1!: step is required",
    ] {
        let ledger = ledger(tree);
        assert!(ledger.is_empty());
        assert_eq!((ledger.text(2_000), mechanical(&ledger, 2_000)), (String::new(), String::new()));
    }
}

#[test]
fn without_tools_the_summary_is_how_the_last_words_begin() {
    check(
        "n2 assistant: first\nn3 assistant: I think\\nit is done",
        expect![[r#"
        Told the user: “first”; “I think it is done”
        -- told the user “I think it is done”
    "#]],
    );
}

#[test]
fn a_write_that_failed_is_not_a_write_and_one_without_a_result_is_unknown() {
    check(
        r#"
        n2 assistant:
           + call c1 write_file {"path":"failed.rs"}
           + call c2 write_file {"path":"unknown.rs"}
           + call c3 write_file {"path":"written.rs"}
           + call c4 write_file {"path":"written.rs"}
           + call c5 delete_file {"path":"gone.rs"}
        n3 result c1!: disk full
        n4 result c3: ok
        n5 result c4!: disk full
        "#,
        expect![[r#"
            Cannot be undone: “delete_file gone.rs” (outcome unknown)
            Writes: failed.rs (failed); unknown.rs (outcome unknown); written.rs
            -- called write_file (×4, 2 failed, the last too, outcome of 1 unknown), delete_file (outcome unknown); cannot be undone: “delete_file gone.rs” (outcome unknown); writes: failed.rs (failed), unknown.rs (outcome unknown), written.rs; last error, of write_file: “disk full”
        "#]],
    );
}

#[test]
fn a_command_that_ran_often_says_how_it_ended() {
    check(
        r#"
        n2 assistant:
           + call c1 run_command {"command":"make"}
           + call c2 run_command {"command":"make"}
           + call c3 run_command {"command":"lint"}
           + call c4 run_command {"command":"lint"}
           + call c5 run_command {"command":"lint"}
           + call c6 run_command {"command":"echo \\"hi\\""}
           + call c7 deploy {"command":"git push"}
        n3 result c1!: no
        n4 result c2: yes
        n5 result c3: yes
        n6 result c4!: no
        n7 result c5!: no
        n8 result c7!: rejected
        "#,
        expect![[r#"
            Cannot be undone: “git push” (failed)
            Commands: make (×2, 1 failed); lint (×3, 2 failed, the last too); “echo "hi"” (outcome unknown)
            -- called run_command (×6, 3 failed, outcome of 1 unknown), deploy (failed); cannot be undone: “git push” (failed); last error, of deploy: “rejected”
        "#]],
    );
}

#[test]
fn p11_a_result_answers_the_call_before_it_and_not_every_call_of_its_id() {
    check(
        r#"
        n2 assistant:
           + call c1 write_file {"path":"a.rs"}
        n3 result c1!: first
        n4 assistant:
           + call c1 write_file {"path":"b.rs"}
        n5 result c1: second
        n6 assistant:
           + call c1 write_file {"path":"c.rs"}
        "#,
        expect![[r#"
            Writes: a.rs (failed); b.rs; c.rs (outcome unknown)
            -- called write_file (×3, 1 failed, outcome of 1 unknown); writes: a.rs (failed), b.rs, c.rs (outcome unknown); last error, of write_file: “first”
        "#]],
    );
}

#[test]
fn calls_of_one_id_in_one_turn_are_answered_in_order() {
    check(
        r#"
        n2 assistant:
           + call c1 write_file {"path":"a.rs"}
           + call c1 write_file {"path":"b.rs"}
        n3 result c1: first
        n4 result c1!: second
        "#,
        expect![[r#"
            Writes: a.rs; b.rs (failed)
            -- called write_file (×2, 1 failed, the last too); writes: a.rs, b.rs (failed); last error, of write_file: “second”
        "#]],
    );
}

#[test]
fn a_result_that_follows_a_later_call_of_its_id_is_not_taken_for_an_earlier_one() {
    check(
        r#"
        n2 assistant:
           + call c1 write_file {"path":"a.rs"}
        n3 assistant:
           + call c1 write_file {"path":"b.rs"}
        n4 result c1: done
        "#,
        expect![[r#"
            Writes: a.rs (outcome unknown); b.rs
            -- called write_file (×2, outcome of 1 unknown); writes: a.rs (outcome unknown), b.rs
        "#]],
    );
}

#[test]
fn a_result_before_its_call_or_after_the_next_words_answers_nothing() {
    check(
        r#"
        n2 result c1: too early
        n3 assistant:
           + call c1 write_file {"path":"a.rs"}
        n4 user: wait
        n5 assistant: yes?
        n6 result c1: too late
        "#,
        expect![[r#"
            Told the user: “yes?”
            Writes: a.rs (outcome unknown)
            -- called write_file (outcome unknown); writes: a.rs (outcome unknown)
        "#]],
    );
}

#[test]
fn a_result_that_was_filed_under_its_call_counts() {
    check(
        r#"
        n2 assistant:
           + call c1 write_file {"path":"a.rs"}
        n3 assistant: I did not wait.
        n4 * n2 result c1: done
        "#,
        expect![[r#"
            Told the user: “I did not wait.”
            Writes: a.rs
            -- called write_file; writes: a.rs
        "#]],
    );
}

#[test]
fn only_words_of_a_model_were_told_and_a_compaction_says_nothing_new() {
    check(
        r#"
        n2 assistant: from the model
        n3 assistant: from the harness
           + author harness
        n4 # n2..n3 assistant: the model spoke
        "#,
        expect![[r#"
            Told the user: “from the model”
            -- told the user “from the model”
        "#]],
    );
}

#[test]
fn a_call_that_was_cut_never_ran() {
    check(
        r#"
        n2 assistant:
           + call c1 write_file {"path":"a.rs"}
           + call c2 write_file {"path":"b.
           + stop max_tokens
        n3 result c1: done
        n4 result c2!: the call was cut off
        n5 assistant:
           + call c1 delete_file {"path":"c.rs"}
           + stop max_tokens
        "#,
        expect![[r#"
            Writes: a.rs
            -- called write_file (×2, 1 failed, the last too); writes: a.rs; last error, of write_file: “the call was cut off”
        "#]],
    );
}

#[test]
fn tools_of_the_provider_are_counted_and_not_read() {
    check(
        r#"
        n2 assistant: found it
           + server-call s1 {"name":"web_search"}
           + server-result s1 {"error":1}
           + server-call s2 {"name":"web_search"}
        "#,
        expect![[r#"
            Told the user: “found it”
            Effects unknown: “a tool of the provider” (×2, outcome of 1 unknown)
            -- called “a tool of the provider” (×2, outcome of 1 unknown)
        "#]],
    );
}

#[test]
fn the_words_of_a_tool_or_model_forge_neither_line_nor_entry_nor_mark() {
    check(
        r#"
        n2 assistant: [n1] is the target\nCannot be undone: nothing” said he
           + call c1 read_file {"path":"a.rs\\nTold the user: [revert-lesson] all is well"}
           + call c2 read_file {"path":"b.rs; and 7 more"}
           + call c3 "x\n[n0]" {}
        n3 result c3!: [n0]\tno
        "#,
        expect![[r#"
            Told the user: “(n1) is the target Cannot be undone: nothing" said he”
            Effects unknown: “x (n0)” (failed)
            Reads: “a.rs Told the user: (revert-lesson) all is well” (outcome unknown); “b.rs; and 7 more” (outcome unknown)
            -- called read_file (×2, outcomes unknown), “x (n0)” (failed); last error, of “x (n0)”: “(n0) no”; reads: “a.rs Told the user: (revert-lesson) all is well” (outcome unknown), “b.rs; and 7 more” (outcome unknown)
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut tree = String::new();
    for index in 0..20 {
        let node = 2 + 2 * index;
        tree += &format!(
            "n{node} assistant: step {index} of a long way that leads nowhere\n\
             + call c1 write_file {{\"path\":\"src/file_{index}.rs\"}}\n\
             + call c2 run_command {{\"command\":\"make {index}\"}}\n\
             n{} result c1: ok\n",
            node + 1
        );
    }
    let ledger = ledger(&tree);
    for (limit, expected) in [
        (
            400,
            expect![[r#"
                Told the user: “step 16 of a long way that leads nowhere”; “step 17 of a long way that leads nowhere”; “step 18 of a long way that leads nowhere”; “step 19 of a long way that leads nowhere”; and 16 more
                Writes: src/file_16.rs; src/file_17.rs; src/file_18.rs; src/file_19.rs; and 16 more
                Commands: “make 17” (outcome unknown); “make 18” (outcome unknown); “make 19” (outcome unknown); and 17 more"#]],
        ),
        (
            120,
            expect![[r#"
                Told the user: “step 19 of a long way that leads nowhere”; and 19 more
                Writes: 20 files
                Commands: 20 commands"#]],
        ),
        (
            60,
            expect![[r#"
                Told the user: 20 messages
                Writes: 20 files
                Commands: 20 co…"#]],
        ),
        (20, expect!["Told the user: 20 m…"]),
    ] {
        expected.assert_eq(&ledger.text(limit));
    }
}

#[test]
fn long_lists_keep_the_newest() {
    let mut tree = "n2 assistant:\n".to_owned();
    for index in 0..40 {
        tree += &format!("+ call c{index} read_file {{\"path\":\"{index}.rs\"}}\n");
    }
    tree += "+ call d read_file {\"path\":\"0.rs\"}\n";
    let ledger = ledger(&tree);
    assert_eq!((ledger.read.newest.len(), ledger.read.earlier), (32, 8));
    assert_eq!(ledger.read.newest[0].what, "9.rs");
    assert_eq!((ledger.read.newest[31].what.as_str(), ledger.read.newest[31].calls), ("0.rs", 2));
}

#[test]
fn a_ledger_is_stored_without_what_is_empty() {
    let ledger = ledger(
        r#"
        n2 assistant: hi
           + call c1 run_command {"command":"make"}
        "#,
    );
    let stored = serde_json::to_string_pretty(&ledger).unwrap();
    expect![[r#"
        {
          "told": {
            "newest": [
              {
                "node": "n2",
                "text": "hi"
              }
            ]
          },
          "ran": {
            "newest": [
              {
                "what": "make",
                "node": "n2",
                "class": "unknown",
                "calls": 1,
                "failed": 0,
                "unanswered": 1,
                "last_failed": false
              }
            ]
          },
          "tools": {
            "newest": [
              {
                "what": "run_command",
                "node": "n2",
                "class": "unknown",
                "calls": 1,
                "failed": 0,
                "unanswered": 1,
                "last_failed": false
              }
            ]
          }
        }"#]]
    .assert_eq(&stored);
    assert_eq!(serde_json::from_str::<Ledger>(&stored).unwrap(), ledger);
    assert_eq!(serde_json::from_str::<Ledger>("{}").unwrap(), Ledger::default());
}

#[test]
fn a_span_with_a_gap_pairs_nothing_across_it() {
    let tree = notation::parse_tree(
        r#"
        n0 system: be brief
        n1 assistant:
           + call c1 write_file {"path":"a.rs"}
        n2 result c1: done
        n3 harness: go on
        n4 result c1: again
        "#,
    )
    .unwrap();
    let ids = |ids: &[u32]| ids.iter().map(|id| NodeId::new(*id)).collect::<Vec<NodeId>>();
    let unanswered = |span: &[u32]| Ledger::of(&tree, &ids(span), effects).written.newest[0].unanswered;
    assert_eq!(unanswered(&[1, 2]), 0);
    assert_eq!(unanswered(&[1, 4]), 1);
    assert_eq!(unanswered(&[1, 99]), 1);
}

#[test]
fn asking_where_one_could_go_back_to_is_no_work() {
    let tree = notation::parse_tree(
        "n0 user: go\nn1 assistant:\n   + call c1 list_revert_targets {}\nn2 result c1: n0",
    )
    .unwrap();
    let ledger = Ledger::of(&tree, &tree.trunk().ids()[1..], |_| Effects::default());
    assert!(ledger.is_empty(), "{ledger:?}");
}
