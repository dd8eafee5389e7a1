//! Runs that get nowhere are noticed, and those that only look like it are not.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_message_tree::{Author, MessageTree, MoveId, NodeId, ToolCall, ToolResult, notation};
use trunkline_revert::{
    Answer, Digest, Mover, Observation, Proposal, ProposalError, ProposalEvent, ProposalId, Proposals, Seen,
    Stall, StallEvent, StallPolicy, Tests, Watch, Why, plan,
};

pub(crate) fn seen(tool: &str, arguments: &str, outcome: &str, failed: bool) -> Seen {
    let call = ToolCall {
        id: "c1".to_owned(),
        name: tool.to_owned(),
        arguments: arguments.to_owned(),
        signature: None,
    };
    let result = ToolResult {
        call_id: "c1".to_owned(),
        content: vec![trunkline_message_tree::Part::text(outcome)],
        is_error: failed,
    };
    Seen::of(&call, Some(&result))
}

pub(crate) fn policy(turns: u32, failing_turns: u32, repeated_lessons: u32) -> StallPolicy {
    let mut policy = StallPolicy::default();
    (policy.turns, policy.failing_turns, policy.repeated_lessons) = (turns, failing_turns, repeated_lessons);
    policy
}

/// Plays a script, one event a line, and tells what was noticed.
///
/// `tool arguments => outcome`, `tool arguments =>! failure`, several with ` & `; then `| files X`, `| tests 3/1`.
/// `revert n1 lesson`, `person n1`; `5x` in front repeats a line, and `#` in it is the number of the line.
pub(crate) fn events(script: &str) -> Vec<StallEvent> {
    let mut events = Vec::new();
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (times, line) = match line.split_once("x ").map(|(count, rest)| (count.parse(), rest)) {
            Some((Ok(times), rest)) => (times, rest),
            _ => (1_usize, line),
        };
        for _ in 0..times {
            let number = events.len() + 1;
            let line = line.replace('#', &number.to_string());
            let node = NodeId::new(number as u32);
            events.push(if let Some(rest) = line.strip_prefix("revert ") {
                let (to, lesson) = rest.split_once(' ').unwrap_or((rest, ""));
                let lesson = (!lesson.is_empty()).then(|| Digest::of_lesson(lesson));
                StallEvent::Reverted { to: to.parse().unwrap(), lesson }
            } else if let Some(node) = line.strip_prefix("person ") {
                StallEvent::Person { node: node.parse().unwrap() }
            } else {
                StallEvent::Turn(turn(node, &line))
            });
        }
    }
    events
}

fn turn(node: NodeId, line: &str) -> Observation {
    let mut pieces = line.split(" | ");
    let calls = pieces.next().unwrap().split(" & ").filter_map(|call| {
        let (asked, outcome) = call.split_once(" =>")?;
        let (tool, arguments) = asked.split_once(' ').unwrap_or((asked, ""));
        Some(seen(tool, arguments, outcome.trim_start_matches('!'), outcome.starts_with('!')))
    });
    let mut turn = Observation::new(node, calls);
    for piece in pieces {
        if let Some(files) = piece.strip_prefix("files ") {
            turn = turn.with_files(Digest::of(files));
        } else if let Some((passed, failed)) =
            piece.strip_prefix("tests ").and_then(|rest| rest.split_once('/'))
        {
            turn =
                turn.with_tests(Tests { passed: passed.parse().unwrap(), failed: failed.parse().unwrap() });
        }
    }
    turn
}

pub(crate) fn noticed(policy: StallPolicy, events: &[StallEvent]) -> Vec<(usize, Stall)> {
    let mut watch = Watch::new(policy);
    let mut noticed = Vec::new();
    for (index, event) in events.iter().enumerate() {
        noticed.extend(watch.observe(event).map(|stall| (index + 1, stall)));
    }
    noticed
}

pub(crate) fn check(script: &str, expected: Expect) {
    let mut told = String::new();
    for (number, stall) in noticed(StallPolicy::default(), &events(script)) {
        writeln!(told, "{number}: {}, since {}", stall.because, stall.since).unwrap();
    }
    expected.assert_eq(&told);
}

/// How one turn of a run gets on, for the laws.
#[derive(Clone, Debug)]
enum Gain {
    Outcome,
    NewArguments,
    Failure,
    Files,
    Tests,
}

fn gains() -> impl Strategy<Value = Vec<(Gain, Vec<u8>, bool)>> {
    let gain = prop_oneof![
        Just(Gain::Outcome),
        Just(Gain::NewArguments),
        Just(Gain::Failure),
        Just(Gain::Files),
        Just(Gain::Tests)
    ];
    proptest::collection::vec((gain, proptest::collection::vec(0..4_u8, 0..4), any::<bool>()), 1..60)
}

fn any_event() -> impl Strategy<Value = StallEvent> {
    let calls = proptest::collection::vec((0..2_u64, 0..2_u64, 0..3_u64, any::<bool>()), 0..3);
    let files = proptest::option::of(0..3_u64);
    let tests = proptest::option::of((0..3_u32, 0..3_u32));
    prop_oneof![
        8 => (0..9_u32, calls, files, tests).prop_map(|(node, calls, files, tests)| {
            let calls = calls.into_iter().map(|(tool, arguments, outcome, failed)| {
                Seen::new(&format!("t{tool}"), Digest(arguments), Digest(outcome), failed)
            });
            let mut turn = Observation::new(NodeId::new(node), calls);
            turn.files = files.map(Digest);
            turn.tests = tests.map(|(passed, failed)| Tests { passed, failed });
            StallEvent::Turn(turn)
        }),
        2 => (0..9_u32, proptest::option::of(0..3_u64)).prop_map(|(to, lesson)| StallEvent::Reverted {
            to: NodeId::new(to),
            lesson: lesson.map(Digest),
        }),
        1 => (0..9_u32).prop_map(|node| StallEvent::Person { node: NodeId::new(node) }),
    ]
}

proptest! {
    #[test]
    fn a_run_in_which_every_turn_makes_progress_is_never_flagged(run in gains(), turns in 0..4_u32) {
        let mut events = Vec::new();
        for (index, (gain, repeated, revert)) in run.iter().enumerate() {
            let new = index as u64 + 1_000;
            let again = |number: &u8| {
                Seen::new("again", Digest(u64::from(*number)), Digest(u64::from(*number)), number % 2 == 1)
            };
            let mut calls: Vec<Seen> = repeated.iter().map(again).collect();
            match gain {
                Gain::Outcome => calls.push(Seen::new("poll", Digest(1), Digest(new), false)),
                Gain::NewArguments => calls.push(Seen::new("edit", Digest(new), Digest(1), false)),
                Gain::Failure => calls.push(Seen::new("test", Digest(new), Digest(new), true)),
                Gain::Files | Gain::Tests => {}
            }
            let mut turn = Observation::new(NodeId::new(index as u32), calls);
            match gain {
                Gain::Files => turn = turn.with_files(Digest(new)),
                Gain::Tests => turn = turn.with_tests(Tests { passed: new as u32, failed: 5_000 - new as u32 }),
                _ => {}
            }
            events.push(StallEvent::Turn(turn));
            if *revert {
                events.push(StallEvent::Reverted { to: NodeId::new(0), lesson: Some(Digest(new)) });
            }
        }
        prop_assert_eq!(noticed(policy(turns, turns, turns), &events), vec![]);
    }

    #[test]
    fn a_run_that_repeats_a_cycle_is_flagged_within_the_cycle_and_the_limit(
        cycle in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<bool>(), proptest::option::of(any::<u64>())), 1..=4),
        turns in 1..6_u32,
    ) {
        let turn_of = |(arguments, outcome, failed, files): &(u64, u64, bool, Option<u64>)| {
            let call = Seen::new("a", Digest(*arguments), Digest(*outcome), *failed);
            let mut turn = Observation::new(NodeId::new(1), [call]);
            turn.files = files.map(Digest);
            StallEvent::Turn(turn)
        };
        let within = cycle.len() + turns as usize;
        let events: Vec<StallEvent> = cycle.iter().map(turn_of).cycle().take(within).collect();
        let noticed = noticed(policy(turns, 100, 100), &events);
        prop_assert_eq!(noticed.len(), 1);
        let named = matches!(noticed[0].1.because, Why::SameTurn { .. } | Why::Cycle { .. });
        prop_assert!(named, "{:?}", noticed);
    }

    #[test]
    fn folding_stored_events_again_gives_the_same_answers(
        events in proptest::collection::vec(any_event(), 0..60),
        killed in 0..60_usize,
    ) {
        let stored = serde_json::to_string(&events).unwrap();
        let read: Vec<StallEvent> = serde_json::from_str(&stored).unwrap();
        prop_assert_eq!(&read, &events);
        let killed = killed.min(events.len());
        let mut before = Watch::new(policy(2, 3, 2));
        for event in &events[..killed] {
            before.observe(event);
        }
        let mut after = Watch::replay(policy(2, 3, 2), &read[..killed]);
        for event in &events[killed..] {
            prop_assert_eq!(before.observe(event), after.observe(event));
            prop_assert_eq!(before.turns_without_progress(), after.turns_without_progress());
        }
    }

    #[test]
    fn a_stall_of_any_length_is_told_a_logarithm_of_times(length in 1..300_usize, turns in 1..6_u32) {
        let turn = StallEvent::Turn(Observation::new(NodeId::new(1), [seen("a", "", "b", false)]));
        let told = noticed(policy(turns, 1_000, 2), &vec![turn; length + 1]).len();
        let most = (length / turns as usize).checked_ilog2().map_or(0, |doublings| doublings as usize + 1);
        prop_assert_eq!(told, most);
    }

    #[test]
    fn what_changes_by_itself_does_not_count_and_numbers_do(
        a in (10..24_u32, 10..60_u32, 0..1_000_u32, any::<u64>()),
        b in (10..24_u32, 10..60_u32, 0..1_000_u32, any::<u64>()),
        done in (0..50_u32, 50..100_u32),
    ) {
        let text = |(hour, second, millis, random): (u32, u32, u32, u64), done: u32| format!(
            "[2026-11-22T{hour}:{second}:{second}.{millis:03}Z] pid {random} at 0x{random:016x} in \
             /tmp/build.{random:x}/out.txt and \"/private/var/folders/zz/{random:x}/T/tmp{random}/x\": {done} of 300 \
             ({done}%) in {millis}.{second}s, {second}m {second}s; =={random}== C:\\Temp\\{random}\\a"
        );
        prop_assert_eq!(Digest::of_outcome(&text(a, done.0)), Digest::of_outcome(&text(b, done.0)));
        prop_assert_ne!(Digest::of_outcome(&text(a, done.0)), Digest::of_outcome(&text(b, done.1)));
    }

    #[test]
    fn any_text_has_a_digest(text in any::<String>(), near in "[0-9a-fx:./= Tmspid\\\\µ-]{0,40}") {
        prop_assert_eq!(Digest::of_outcome(&text), Digest::of_outcome(&text));
        prop_assert_eq!(Digest::of_outcome(&near), Digest::of_outcome(&near));
        let json = serde_json::to_string(&Digest::of(&text)).unwrap();
        prop_assert_eq!(serde_json::from_str::<Digest>(&json).unwrap(), Digest::of(&text));
    }

    #[test]
    fn a_proposed_step_can_be_taken(since in 0..12_u32, nodes in 3..12_usize, prompts in any::<u16>(), steps_back in any::<bool>()) {
        let mut script = "n0 system: s\nn1 user: go\n".to_owned();
        for index in 2..nodes {
            let role = if prompts >> index & 1 == 1 { "user" } else { "assistant" };
            writeln!(script, "n{index} {role}: words").unwrap();
        }
        let tree = notation::parse_tree(&script).unwrap();
        let stall = stall_since(since, steps_back);
        let proposal = stall.propose(&tree, Mover::MODEL, ProposalId(0));
        if let Some(request) = &proposal.request {
            prop_assert!(plan(&tree, request, Mover::MODEL).is_ok());
            prop_assert!(proposal.stands(&tree));
        }
    }
}

/// Returns what a watch says of a stall that began after this node.
fn stall_since(since: u32, steps_back: bool) -> Stall {
    let node = NodeId::new(since);
    let revert = StallEvent::Reverted { to: node, lesson: None };
    let turn = StallEvent::Turn(Observation::new(NodeId::new(99), []));
    let then = if steps_back { revert } else { turn };
    let events = [StallEvent::Person { node }, then.clone(), then];
    noticed(policy(2, 100, 2), &events).remove(0).1
}

#[test]
fn polling_a_build_whose_output_changes_is_work() {
    check("30x run_command {\"command\":\"make status\"} => compiled # of 300 (0.3s)", expect![""]);
}

#[test]
fn polling_what_only_says_how_long_it_has_run_is_not() {
    check(
        "6x run_command {\"command\":\"make status\"} => waiting for # s",
        expect![[r#"
            5: 5 turns in a row did the same with the same outcome (run_command), since n1
        "#]],
    );
}

#[test]
fn tests_with_fewer_failures_each_time_are_work() {
    let runs: String =
        (1..10).map(|left| format!("t => FAILED | tests {}/{}\n", 20 + left, 10 - left)).collect();
    check(&runs, expect![""]);
}

#[test]
fn file_after_file_and_page_after_page_are_work() {
    check("20x edit_file {\"path\":\"#.rs\"} => ok", expect![""]);
    check("20x fetch {\"page\":#} => page #", expect![""]);
}

#[test]
fn p64_what_only_says_its_arguments_again_is_not_progress_for_ever() {
    check(
        "20x run_command {\"command\":\"echo #\"} => #",
        expect![[r#"
            9: 8 turns in a row brought only what was known (run_command), since n1
            17: 16 turns in a row brought only what was known (run_command), since n1
        "#]],
    );
    // What says nothing may have done its work, and what says more has found something.
    check("20x run_command {\"command\":\"mkdir d#\"} => ", expect![""]);
    check("20x run_command {\"command\":\"wc d#\"} => 1# d#", expect![""]);
}

#[test]
fn what_echoes_beside_the_same_words_each_time_is_known() {
    let echo = |n: u32| {
        let (arguments, outcome) =
            (format!(r#"{{"command":"echo {n}"}}"#), format!("exit code 0 after 0.{n} s\n{n}\n"));
        StallEvent::Turn(Observation::new(NodeId::new(n), [seen("run_command", &arguments, &outcome, false)]))
    };
    let events: Vec<StallEvent> = (1..10).map(echo).collect();
    let told = noticed(StallPolicy::default(), &events);
    assert_eq!(told.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [9]);
}

#[test]
fn the_numbers_of_tests_are_read_from_the_line_that_sums_them_up() {
    let read = |line| Tests::read(line).map(|tests| (tests.passed, tests.failed));
    assert_eq!(read("test result: FAILED. 12 passed; 3 failed; 0 ignored"), Some((12, 3)));
    assert_eq!(read("exit code 1 after 2.0 s: ==== 2 failed, 7 passed in 0.31s ===="), Some((7, 2)));
    assert_eq!(read("7 passed in 0.31s"), Some((7, 0)));
    assert_eq!(read("1,234 passed, 12,345,678 failed"), Some((1_234, 12_345_678)));
    assert_eq!(read("3 failed,234 passed"), Some((234, 3)));
    assert_eq!(read("99999999999 passed"), None);
    assert_eq!(read("all tests passed"), None);
}

#[test]
fn a_retry_that_succeeds_is_work() {
    check(
        "fetch x =>!refused\n3x fetch x =>!refused\nfetch x => it is there\n4x fetch x => it is there",
        expect![[r#"
            9: 5 turns in a row did the same with the same outcome (fetch), since n5
        "#]],
    );
}

#[test]
fn an_edit_and_its_undoing_are_a_cycle() {
    check(
        "edit a => ok | files A
         edit b => ok | files B
         edit a => ok | files A
         edit b => ok | files B
         edit a => ok | files A
         edit b => ok | files B",
        expect![[r#"
            6: the same 2 turns came 3 times with the same outcome (edit), since n2
        "#]],
    );
}

#[test]
fn tests_that_go_up_and_down_are_not_progress() {
    check(
        "t a => x | tests 3/2
         t a => x | tests 4/1
         t a => x | tests 3/2
         t a => x | tests 4/1
         t a => x | tests 2/3
         t a => x | tests 4/1",
        expect![[r#"
            6: 4 turns in a row brought only what was known (t), since n2
        "#]],
    );
}

#[test]
fn the_same_failure_counts_later_if_the_arguments_are_new() {
    check(
        "9x edit_file {\"old\":\"#\"} =>!not found in the file",
        expect![[r#"
            9: 8 turns in a row met only failures that were known (edit_file), since n1
        "#]],
    );
}

#[test]
fn after_a_proposal_it_is_quiet_twice_as_long_each_time() {
    check(
        "40x a {} => b",
        expect![[r#"
            5: 5 turns in a row did the same with the same outcome (a), since n1
            9: 9 turns in a row did the same with the same outcome (a), since n1
            17: 17 turns in a row did the same with the same outcome (a), since n1
            33: 33 turns in a row did the same with the same outcome (a), since n1
        "#]],
    );
}

/// phi-core's P64: no branch budget and no limit to reverts; its authors saw loops on the first node.
#[test]
fn p64_a_model_that_leaves_the_same_dead_end_again_and_again_is_noticed() {
    check(
        "run a =>!deadlock
         revert n0 A mutex deadlocks.
         run b =>!deadlock in b
         revert n0 a mutex deadlocks
         run c => something else
         revert n0 a mutex: deadlocks!",
        expect![[r#"
            6: 2 steps back in a row taught only what was known, since n0
        "#]],
    );
    // Other words for it do not help where nothing else was tried.
    check(
        "run a =>!deadlock\nrevert n0 one\nrun a =>!deadlock\nrevert n0 two\nrun a =>!deadlock\nrevert n0 three",
        expect![[r#"
            6: 2 steps back in a row taught only what was known, since n0
        "#]],
    );
}

#[test]
fn steps_that_are_summed_up_in_the_same_words_are_work() {
    check(&"run # => did #\nrevert n0\n".repeat(9), expect![""]);
}

#[test]
fn a_person_starts_the_watch_over() {
    check("4x a {} => b\nperson n4\n4x a {} => b", expect![""]);
}

#[test]
fn the_order_of_calls_and_of_names_in_arguments_says_nothing() {
    check(
        "a {\"x\":1,\"y\":2} => 1 & b {} => 2
         b {} => 2 & a {\"y\": 2, \"x\": 1} => 1
         a {\"x\":1,\"y\":2} => 1 & b {} => 2
         b {} => 2 & a {\"y\": 2, \"x\": 1} => 1
         b {} => 2 & a {\"y\": 2, \"x\": 1} => 1",
        expect![[r#"
            5: 5 turns in a row did the same with the same outcome (b, a), since n1
        "#]],
    );
}

#[test]
fn ten_thousand_calls_in_one_turn_cost_what_64_do() {
    let calls =
        |last: u64| (0..10_000).map(move |n| Seen::new("t", Digest(n), Digest(n / 9_999 * last), false));
    let turn = |last| Observation::new(NodeId::new(1), calls(last));
    assert_eq!(turn(1).calls.len(), 64);
    // What came after the 63rd still counts, as one.
    assert_ne!(turn(1).calls[63], turn(2).calls[63]);
}

#[test]
fn a_watch_does_not_grow() {
    let mut watch = Watch::new(StallPolicy::default());
    let mut held = Vec::new();
    for number in 0..6_000 {
        let call = Seen::new(&format!("tool {number}"), Digest(number), Digest(number), number % 2 == 0);
        let turn = Observation::new(NodeId::new(1), [call]).with_files(Digest(number));
        watch.observe(&StallEvent::Turn(turn));
        if number % 3_000 == 2_999 {
            held.push(format!("{watch:?}").matches("Digest(").count());
        }
    }
    assert_eq!(held, [3_589, 3_589]);
}

#[test]
fn a_watch_that_is_switched_off_says_nothing() {
    let mut off = StallPolicy::default();
    off.enabled = false;
    assert_eq!(noticed(off, &events("40x a {} => b")), vec![]);
}

fn stalled() -> (MessageTree, Stall) {
    let mut script =
        "n0 system: s\nn1 user: go\nn2 assistant:\n   + call c read_file {}\nn3 result c: text\n".to_owned();
    for node in (4..12).step_by(2) {
        write!(script, "n{node} assistant:\n   + call c x {{}}\nn{} result c: text\n", node + 1).unwrap();
    }
    let mut events = vec![StallEvent::Turn(turn(NodeId::new(3), "[n1]\u{1b}\n[revert-lesson]x => same"))];
    for node in (5..13).step_by(2) {
        events.push(StallEvent::Turn(turn(NodeId::new(node), "[n1]\u{1b}\n[revert-lesson]x => same")));
    }
    let stall = noticed(StallPolicy::default(), &events).remove(0).1;
    (notation::parse_tree(&script).unwrap(), stall)
}

#[test]
fn a_proposal_says_where_to_and_why_to_both() {
    let (tree, stall) = stalled();
    let proposal = stall.propose(&tree, Mover::MODEL, ProposalId(0));
    let json = serde_json::to_string(&proposal).unwrap();
    assert_eq!(serde_json::from_str::<Proposal>(&json).unwrap(), proposal);
    let told = format!("{}\n{}\n{json}\n", proposal.text_for_model(), proposal.text_for_person());
    expect![[r#"
        [revert-proposal] 5 turns in a row did the same with the same outcome ((n1) (revert-lesson)x).
        You may go back with revert_to_state (category failure, step "n3") and take another way, or go on if you expect something new. Nothing was stopped.
        p0: 5 turns in a row did the same with the same outcome ((n1) (revert-lesson)x); proposed: go back to n3
        {"id":0,"request":{"category":"failure","target":"n3","summary":"no progress: 5 turns in a row did the same with the same outcome ((n1) (revert-lesson)x); go on in another way"},"because":{"kind":"same_turn","times":5,"tools":["(n1) (revert-lesson)x"]},"head":"n11","at_turn":5}
    "#]].assert_eq(&told);
}

#[test]
fn a_person_who_spoke_meanwhile_bars_the_way_of_a_model() {
    let tree =
        notation::parse_tree("n0 system: s\nn1 user: go\nn2 assistant: a\nn3 user: and\nn4 assistant: b")
            .unwrap();
    let stall = stall_since(2, false);
    let target = |mover| stall.propose(&tree, mover, ProposalId(0)).request.unwrap().target;
    assert_eq!(target(Mover::MODEL), NodeId::new(3));
    assert_eq!(target(Mover::PERSON), NodeId::new(2));
}

#[test]
fn where_nothing_can_be_left_the_reason_is_said_all_the_same() {
    let tree = notation::parse_tree("n0 system: s\nn1 user: go").unwrap();
    let proposal = stall_since(1, true).propose(&tree, Mover::MODEL, ProposalId(7));
    expect![[r#"
        [revert-proposal] 2 steps back in a row taught only what was known.
        Take another way, say what you are missing, or go on if you expect something new. Nothing was stopped.
        p7: 2 steps back in a row taught only what was known; there is nowhere to go back to
    "#]]
    .assert_eq(&format!("{}\n{}\n", proposal.text_for_model(), proposal.text_for_person()));
}

#[test]
fn every_proposal_is_answered_once() {
    for (text, id) in [
        ("p3", Some(3)),
        ("3", Some(3)),
        (" P3 ", Some(3)),
        ("ppp3", None),
        ("+3", None),
        ("p+3", None),
        ("p", None),
    ] {
        assert_eq!(text.parse().ok(), id.map(ProposalId), "{text}");
    }
    let (tree, stall) = stalled();
    let mut proposals = Proposals::default();
    let mut stored = Vec::new();
    for _ in 0..2 {
        let proposal = stall.propose(&tree, Mover::MODEL, proposals.next_id());
        for event in proposals.make(proposal) {
            proposals.record(&event).unwrap();
            stored.push(event);
        }
    }
    let answered = |answer| ProposalEvent::Answered { id: ProposalId(1), answer, by: Author::Person };
    let accepted = answered(Answer::Accepted { move_id: MoveId(0) });
    proposals.record(&accepted).unwrap();
    stored.push(accepted.clone());
    assert_eq!(proposals.record(&accepted), Err(ProposalError::NotOpen { id: ProposalId(1) }));
    let no = answered(Answer::declined(Some("it\nis a [slow] server")));
    assert_eq!(proposals.record(&no), Err(ProposalError::NotOpen { id: ProposalId(1) }));
    assert_eq!(proposals.open().count(), 0);

    let mut told = String::new();
    let mut again = Proposals::default();
    for event in &stored {
        let json = serde_json::to_string(event).unwrap();
        let read: ProposalEvent = serde_json::from_str(&json).unwrap();
        again.record(&read).unwrap();
        if !matches!(event, ProposalEvent::Made(_)) {
            writeln!(told, "{json}").unwrap();
        }
    }
    assert_eq!(again, proposals);
    writeln!(told, "{}", serde_json::to_string(&no).unwrap()).unwrap();
    expect![[r#"
        {"answered":{"id":0,"answer":{"became":"overtaken"},"by":"harness"}}
        {"answered":{"id":1,"answer":{"became":"accepted","move_id":0},"by":"person"}}
        {"answered":{"id":1,"answer":{"became":"declined","reason":"it is a [slow] server"},"by":"person"}}
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_proposal_without_a_step_cannot_be_accepted() {
    let tree = notation::parse_tree("n0 system: s\nn1 user: go").unwrap();
    let mut proposals = Proposals::default();
    let proposal = stall_since(1, true).propose(&tree, Mover::MODEL, ProposalId(0));
    proposals.record(&ProposalEvent::Made(proposal.clone())).unwrap();
    let next = ProposalError::NotNext { given: ProposalId(0), next: ProposalId(1) };
    assert_eq!(proposals.record(&ProposalEvent::Made(proposal)), Err(next));
    let accepted = ProposalEvent::Answered {
        id: ProposalId(0),
        answer: Answer::Accepted { move_id: MoveId(0) },
        by: Author::Person,
    };
    let error = proposals.record(&accepted).unwrap_err();
    assert_eq!(error.to_string(), "p0 proposes no step that could be accepted");
    assert_eq!(proposals.open().count(), 1);
}
