//! Stalls that hide behind counters, random names and news that change nothing, and work that looks like them.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::NodeId;
use trunkline_revert::{Digest, Observation, StallEvent, StallPolicy, Why};

use crate::stall::{check, noticed, seen};

#[test]
fn a_counter_in_each_outcome_hides_no_stall() {
    check(
        "20x run {\"command\":\"./try\"} => attempt # of many went to worker w#x",
        expect![[r#"
            9: 8 turns in a row asked the same again without a new state of the files (run), since n1
            17: 16 turns in a row asked the same again without a new state of the files (run), since n1
        "#]],
    );
}

#[test]
fn neither_does_a_counter_in_the_question_where_no_file_changes() {
    check(
        "12x run {\"command\":\"./try #\"} => went to w#x | files A",
        expect![[r#"
            9: 8 turns in a row asked the same again without a new state of the files (run), since n1
        "#]],
    );
    // Where nobody knows what became of the files, one file after the other is work.
    check("20x run {\"command\":\"./convert #.png\"} => wrote #.jpg", expect![""]);
}

#[test]
fn what_says_something_new_each_time_and_changes_no_file_is_no_progress() {
    let words = ["red", "blue", "green", "grey", "black", "white", "pink", "teal", "lime", "gold", "rust"];
    let poll = |files: &str| -> String {
        words
            .iter()
            .map(|word| format!("run {{\"command\":\"tail log\"}} => it was {word}{files}\n"))
            .collect()
    };
    check(
        &poll(" | files A"),
        expect![[r#"
            9: 8 turns in a row asked the same again without a new state of the files (run), since n1
        "#]],
    );
    check(&poll(""), expect![""]);
}

#[test]
fn what_says_the_same_and_changes_files_is_progress() {
    check("30x run {\"command\":\"make\"} => done | files #", expect![""]);
}

#[test]
fn a_build_that_tells_how_far_it_is_is_work_although_no_file_changes() {
    check("30x run {\"command\":\"tail log\"} => compiled # of 300 | files A", expect![""]);
    check("30x run {\"command\":\"tail log\"} => compiled #/300 | files A", expect![""]);
    check("30x run {\"command\":\"tail log\"} => #.5 % done | files A", expect![""]);
    // A date and a path measure nothing.
    check(
        "10x run {\"command\":\"tail log\"} => on 2026/11/# in a/#/b | files A",
        expect![[r#"
            5: 4 turns in a row asked the same again without a new state of the files (run), since n1
            9: 8 turns in a row asked the same again without a new state of the files (run), since n1
        "#]],
    );
}

#[test]
fn to_read_on_is_work_although_no_file_changes() {
    let words = ["red", "blue", "green", "grey", "black", "white", "pink", "teal", "lime", "gold", "rust"];
    let pages = words.iter().zip(0..).map(|(word, page)| {
        format!("read {{\"path\":\"log\",\"from\":{page}}} => {page}: {word} apples | files A\n")
    });
    check(&pages.collect::<String>(), expect![""]);
    let names = words.iter().map(|word| format!("read {{\"path\":\"{word}\"}} => nothing here | files A\n"));
    check(&names.collect::<String>(), expect![""]);
}

#[test]
fn a_failure_that_counts_is_the_same_failure() {
    check(
        "9x fetch {\"try\":#} =>!refused, request r#q",
        expect![[r#"
            9: 8 turns in a row met only failures that were known (fetch), since n1
        "#]],
    );
}

#[test]
fn a_branch_begins_with_the_files_as_they_are() {
    let same = "run a => b | files A\n";
    let then = format!("{}revert n0 one\n{}", same.repeat(4), same.repeat(6));
    check(
        &then,
        expect![[r#"
            10: 5 turns in a row did the same with the same outcome (run), since n6
        "#]],
    );
}

fn turn(asked: u64, said: &str, files: Option<u64>) -> StallEvent {
    let call = seen("run", &format!("{{\"command\":\"{}\"}}", "x".repeat(asked as usize + 1)), said, false);
    let mut turn = Observation::new(NodeId::new(1), [call]);
    turn.files = files.map(Digest);
    StallEvent::Turn(turn)
}

proptest! {
    #[test]
    fn whatever_is_said_a_few_questions_on_the_same_files_are_a_stall(
        questions in 1..4_u64,
        said in proptest::collection::vec("[a-z0-9 ]{0,12}", 30),
    ) {
        let turns = (0_u64..).zip(&said).map(|(at, said)| turn(at % questions, said, Some(7)));
        let told = noticed(StallPolicy::default(), &turns.collect::<Vec<_>>());
        prop_assert!(!told.is_empty());
        prop_assert!(told[0].0 as u64 <= questions + 1 + 8 + 4, "{:?}", told[0]);
    }

    #[test]
    fn whatever_is_said_a_new_state_of_the_files_each_time_is_none(
        said in proptest::collection::vec("[a-z0-9 ]{0,3}", 1..30),
    ) {
        let turns = (0_u64..).zip(&said).map(|(at, said)| turn(0, said, Some(at)));
        prop_assert_eq!(noticed(StallPolicy::default(), &turns.collect::<Vec<_>>()), vec![]);
    }

    #[test]
    fn a_reason_is_read_back(turns in any::<u32>(), tool in "[a-z]{1,5}") {
        let why = Why::AskedAgain { turns, tools: vec![tool] };
        let stored = serde_json::to_string(&why).unwrap();
        prop_assert_eq!(serde_json::from_str::<Why>(&stored).unwrap(), why);
    }

    #[test]
    fn a_turn_with_any_text_is_read_back(said in "\\PC{0,40}", asked in "\\PC{0,40}") {
        let turn = Observation::new(NodeId::new(1), [seen("run", &asked, &said, false)]);
        let stored = serde_json::to_string(&turn).unwrap();
        prop_assert_eq!(serde_json::from_str::<Observation>(&stored).unwrap(), turn);
    }
}
