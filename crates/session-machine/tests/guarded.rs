//! What is written where a project keeps what later runs go by: a person decides, whatever else would.

use expect_test::expect;
use proptest::prelude::*;

use trunkline_message_tree::Timestamp;
use trunkline_session_machine::acts::asked::Asked;
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::next::{Facts, Step, next};
use trunkline_session_machine::setup::LAYER_TOOLS;
use trunkline_session_machine::state::State;
use trunkline_session_store::Record;

use crate::play::{START, check, play};

#[test]
fn a_policy_that_approves_everything_leaves_it_to_a_person() {
    check(
        r#"
        approval always
        model: edit c1 {"path":"x"}
        propose c1 .trunkline/tools/x.json = {}
        > add a tool
        approve p1
        model: Done.
        resume
        show decisions
        "#,
        expect![[r#"
            > add a tool
                + n1 under n0 person: add a tool
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before a person approves it; you will be told.
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              apply p1
                + resolve/kept
                + resolve/event p1 applying
                + resolve/event p1 applied
                + n4 under n3 harness: A person approved p1, and it was applied. written
              request
                + n5 under n4 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 applied, decided by person:
        "#]],
    );
}

#[test]
fn no_rule_that_allows_outranks_it_and_one_that_forbids_does() {
    check(
        r#"
        approval always
        rule allow path .trunkline/**
        rule deny path .trunkline/secret/**
        model: edit c1 {"path":"x"}; edit c2 {"path":"y"}
        propose c1 .trunkline/tools/x.json = {}
        propose c2 .trunkline/secret/y.json = {}
        > add a tool
        show decisions
        show rules
        "#,
        expect![[r#"
            rule allow path .trunkline/**
                + resolve/rule
            rule deny path .trunkline/secret/**
                + resolve/rule
            > add a tool
                + n1 under n0 person: add a tool
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1 edit c2
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              run edit c2
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p2 pending
                + resolve/event p2 discarded
                + resolve/rule
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before a person approves it; you will be told.
                + n4 under n3 tool: c2: done / p2 (write .trunkline/secret/y.json) was discarded: forbidden by r2. Nothing is written.
              ask about p1
            show decisions
                p1 proposed
                p2 discarded, decided by harness r2: forbidden by r2
            show rules
                r1 allow used 0
                r2 deny used 1
        "#]],
    );
}

#[test]
fn the_model_cannot_approve_it() {
    check(
        r#"
        approval model
        model: edit c1 {"path":"x"}
        propose c1 sub/.Trunkline/tools/x.json = {}
        model: resolve c2 {"action":"apply","reason":"mine","id":"p1"}
        model: I wait.
        > add a tool
        show decisions
        "#,
        expect![[r#"
            > add a tool
                + n1 under n0 person: add a tool
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: edit c1
              run edit c1
                + runtime/call_started
                + runtime/call_finished
                + resolve/event p1 pending
              settle
                + n3 under n2 tool: c1: done / Staged as p1. Nothing is written before a person approves it; you will be told.
              ask about p1
            show decisions
                p1 proposed
        "#]],
    );
}

#[test]
fn a_command_that_names_the_folder_asks_a_person_under_every_policy() {
    check(
        r#"
        approval always
        rule allow command cat
        model: shell c1 {"command":"cat .trunkline/tools/x.json"}; shell c2 {"command":"cat other"}
        model: Done.
        > look
        approve p1
        resume
        show decisions
        "#,
        expect![[r#"
            rule allow command cat
                + resolve/rule
            > look
                + n1 under n0 person: look
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: shell c1 shell c2
              gate c1 run cat .trunkline/tools/x.json
                + resolve/event p1 pending
                + resolve/gated
              gate c2 run cat other
                + resolve/event p2 pending
                + resolve/gated
                + resolve/event p2 approved
                + resolve/rule
              ask about p1
            approve p1
                + resolve/event p1 approved
            resume
              run shell c1
                + runtime/call_started
                + resolve/event p1 applying
                + runtime/call_finished
                + resolve/event p1 applied
              run shell c2
                + runtime/call_started
                + resolve/event p2 applying
                + runtime/call_finished
                + resolve/event p2 applied
              settle
                + n3 under n2 tool: c1: done
                + n4 under n3 tool: c2: done
              request
                + n5 under n4 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
            show decisions
                p1 applied, decided by person:
                p2 applied, decided by policy r1: allowed by r1
        "#]],
    );
}

#[test]
fn it_is_asked_about_where_no_rule_counts_too() {
    for approval in ["always", "model"] {
        let call = r#"model: shell c1 {"command":"cat sub/.TRUNKLINE/x"}"#;
        let told = play(&format!("approval {approval}\n{call}\n> look")).told;
        assert!(told.contains("gate c1") && told.ends_with("ask about p1\n"), "{told}");
    }
}

#[test]
fn a_log_in_which_a_policy_may_approve_it_leaves_it_to_a_person_all_the_same() {
    for approval in ["always", "model"] {
        let script = "model: edit c1 {\"path\":\"x\"}\npropose c1 .trunkline/tools/x.json = {}\n> add a tool";
        let mut play = play(&format!("approval {approval}\n{script}"));
        let mut changed = 0;
        for record in &mut play.log {
            if let Record::Note(note) = record {
                changed += note.body.matches(r#""deciders":["person"]"#).count();
                // What versions before this rule have written.
                let deciders = r#""deciders":["person","model","policy"]"#;
                note.body = note.body.replace(r#""deciders":["person"]"#, deciders);
            }
        }
        assert_eq!(changed, 1);
        let mut state = State::begin(play.log.first()).unwrap();
        play.log.iter().skip(1).try_for_each(|record| state.record(record)).unwrap();
        let mut facts = Facts::default();
        facts.before.gone = true;
        let view = View::new(&state, &play.setup, Timestamp(START + 1_000));
        let step = next(&view, &mut Asked::of(&[]), &facts);
        assert!(matches!(step, Ok(Step::Ask(_))), "under {approval}");
    }
}

#[test]
fn a_tool_that_says_of_no_call_that_it_needs_a_decision_asks_a_person_as_well() {
    for approval in ["person", "model", "always"] {
        check(
            &format!(
                "approval {approval}\ntool own\nrule allow tool own\nhush\n{}\nmodel: Done.\ntell\n> do it\napprove p1\nresume\nshow results",
                r#"model: own c1 {"path":".trunkline/x"}; own c2 {"path":"x"}"#
            ),
            expect![[r#"
                rule allow tool own
                    + resolve/rule
                > do it
                    + n1 under n0 person: do it
                    + decision/opened
                    + decision/run
                  request
                    + n2 under n1 model: own c1 own c2
                  gate c1 call own
                    + resolve/event p1 pending
                    + resolve/gated
                  ask about p1
                approve p1
                    + resolve/event p1 approved
                resume
                  run own c1
                    + runtime/call_started
                    + resolve/event p1 applying
                    + runtime/call_finished
                    + resolve/event p1 applied
                  run own c2
                    + runtime/call_started
                    + runtime/call_finished
                  settle
                    + n3 under n2 tool: c1: done
                    + n4 under n3 tool: c2: done
                  request
                    + n5 under n4 model: Done.
                  conclude
                    + decision/decided other: answered
                    + decision/run
                show results
                    done
                    done
            "#]],
        );
    }
}

#[test]
fn the_folder_is_seen_wherever_a_call_names_it() {
    for arguments in [
        r#"{"files":{".trunkline/tools/x.json":"{}"}}"#,
        r#"{".trunkline/tools/x.json":"{}"}"#,
        r#"{"files":[{"a":{"b/.Trunkline":null}}]}"#,
        r#"{"files":["x",["\u002etrunkline"]]}"#,
    ] {
        for tool in ["shell", "own"] {
            let told = play(&format!("approval always\ntool own\nmodel: {tool} c1 {arguments}\n> look")).told;
            assert!(
                told.contains("gate c1") && told.ends_with("ask about p1\n"),
                "{tool} {arguments}: {told}"
            );
        }
    }
}

#[test]
fn what_only_looks_is_not_asked_about() {
    check(
        r#"
        approval always
        model: read c1 {"path":".trunkline/tools/x.json"}
        model: Done.
        > look
        "#,
        expect![[r#"
            > look
                + n1 under n0 person: look
                + decision/opened
                + decision/run
              request
                + n2 under n1 model: read c1
              run read c1
                + runtime/call_started
                + runtime/call_finished
              settle
                + n3 under n2 tool: c1: done
              request
                + n4 under n3 model: Done.
              conclude
                + decision/decided other: answered
                + decision/run
        "#]],
    );
}

#[test]
fn the_tools_of_layers_are_known_by_name_so_that_no_project_takes_one() {
    // Every layer that has a tool is on; the other three are the agent's own.
    let layers = "approval model\nreverts\nmay merge\nmay go\nmay prune\nplans\ncloses";
    let told = play(&format!("{layers}\nmodel: Done.\n> hello\nshow tools")).told;
    let mut offered: Vec<&str> = told.lines().last().unwrap().trim().split(", ").collect();
    offered.retain(|name| !["read", "edit", "shell"].contains(name));
    offered.sort_unstable();
    let mut known = LAYER_TOOLS.to_vec();
    known.sort_unstable();
    assert_eq!(offered, known);
}

proptest! {
    /// Under every policy and every rule that allows, nothing is written there that no person approved.
    #[test]
    fn nothing_is_written_there_without_a_person(
        approval in prop::sample::select(vec!["person", "model", "always"]),
        rule in prop::sample::select(vec!["", "rule allow path **", "rule allow path .trunkline/**", "rule allow tool edit", "rule allow path **/*.json"]),
        before in "[a-z./]{0,6}",
        after in "[a-z/]{0,6}",
        other in any::<bool>(),
    ) {
        let path = format!("{before}/.trunkline/{after}x").replace("//", "/");
        let path = path.trim_start_matches('/');
        let beside = if other { "propose c1 plain.txt = b" } else { "" };
        let script = format!(
            "approval {approval}\n{rule}\nmodel: edit c1 {{\"path\":\"x\"}}\npropose c1 {path} = a\n{beside}\n\
             model: resolve c2 {{\"action\":\"apply\",\"reason\":\"r\",\"id\":\"p1\"}}\nmodel: Done.\nmodel: Done.\n> do it\nshow files"
        );
        let told = play(&script).told;
        let files = told.rsplit("show files").next().unwrap();
        prop_assert!(!files.contains(".trunkline"), "{}", told);
    }
}
