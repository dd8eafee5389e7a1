//! Stalls that hide behind counters, random names and news that change nothing, and work that looks like them.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_message_tree::NodeId;
use trunkline_revert::{Digest, Observation, StallEvent, StallPolicy, Why};

use crate::stall::{check, events, noticed, seen};

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

/// A program that gets its numbers from another place than its counter.
fn figures(number: u64) -> u64 {
    (number * 7919) % 90_000 + 10_000
}

#[test]
fn p64_files_that_differ_in_figures_alone_are_read_one_after_the_other() {
    let all = |line: fn(u64, u64) -> String| -> String { (1..=12).map(|n| line(n, figures(n))).collect() };
    check(
        &all(|n, f| {
            format!(
                "run {{\"command\":\"cat res/run-{n}.json\"}} => {{\"run\": {n}, \"seconds\": {f}}} | files A\n"
            )
        }),
        expect![""],
    );
    check(
        &all(|n, _| format!("run {{\"command\":\"cat d{n}/f{n}.txt\"}} => content {n} | files A\n")),
        expect![""],
    );
    check(
        &all(|n, f| format!("run {{\"command\":\"pytest tests/test_{n}.py\"}} => {f} passed it | files A\n")),
        expect![""],
    );
    // What was read before is no news, and neither are paths under which always the same stands.
    check(
        &all(|n, _| {
            let n = n % 2;
            format!("run {{\"command\":\"cat d{n}/f{n}.txt\"}} => content {n} | files A\n")
        }),
        expect![[r#"
            6: the same 2 turns came 3 times with the same outcome (run), since n2
            10: the same 2 turns came 5 times with the same outcome (run), since n2
        "#]],
    );
    check(
        &all(|n, _| format!("run {{\"command\":\"./ask out/{n}.txt\"}} => pending | files A\n")),
        expect![[r#"
            9: 8 turns in a row asked the same again without a new state of the files (run), since n1
        "#]],
    );
    // No path: an address, a date, a number.
    let words = ["http://h/q/#", "http://h:80#0/a", "2026/11/#", "--try=#", "step #."];
    for word in words {
        let line = format!("12x run {{\"command\":\"./ask {word}\"}} => went to w#x | files A");
        let told = noticed(StallPolicy::default(), &events(&line));
        assert_eq!(told.len(), 1, "{word}: {told:?}");
    }
}

#[test]
fn p64_what_a_tool_that_only_looks_is_given_names_what_it_looks_at() {
    let told = |line: &dyn Fn(u64) -> (String, String)| {
        let turns = (1..=12).map(|n| {
            let (asked, said) = line(n);
            let looked = seen("search_text", &asked, &said, false).only_looks();
            StallEvent::Turn(Observation::new(NodeId::new(n as u32), [looked]).with_files(Digest(7)))
        });
        noticed(StallPolicy::default(), &turns.collect::<Vec<_>>())
    };
    let pattern = |n: u64| format!("{{\"pattern\":\"content {n}\"}}");
    assert_eq!(told(&|n| (pattern(n), format!("line {}: content {n}", figures(n)))), vec![]);
    // Nothing is found each time: a counter may stand in the pattern.
    assert!(!told(&|n| (pattern(n), "[no matches]".to_owned())).is_empty());
    // The same question, and another number each time.
    assert!(!told(&|n| (pattern(3), format!("line {}: content 3", figures(n)))).is_empty());
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
    fn whatever_figures_it_holds_each_path_is_read_once_as_work_and_again_as_none(
        figures in proptest::collection::vec(any::<u64>(), 24),
        folder in "[a-z]{1,6}",
    ) {
        let said = |at: usize| format!("{} and {at}", figures[at]);
        let read = |at: usize, said: &str| {
            let call = seen("run", &format!("{{\"command\":\"cat {folder}/f{at}\"}}"), said, false);
            let turn = Observation::new(NodeId::new(1), [call]).with_files(Digest(7));
            StallEvent::Turn(turn)
        };
        let mut turns: Vec<StallEvent> = (0..24).map(|at| read(at, &said(at))).collect();
        prop_assert_eq!(noticed(StallPolicy::default(), &turns), vec![]);
        // However the figures differ then.
        turns.extend((0..24).map(|at| read(at, &said(23 - at))));
        prop_assert!(!noticed(StallPolicy::default(), &turns).is_empty());
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
