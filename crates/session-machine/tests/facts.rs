//! What of a drive is not in the log, and what follows from it.

use std::time::Duration;

use expect_test::expect;
use trunkline_message_tree::{Message, MessageTree, Origin, Timestamp};
use trunkline_providers::Support;
use trunkline_session_machine::acts::asked::find_out;
use trunkline_session_machine::acts::bind::Settled;
use trunkline_session_machine::acts::closing::Closing;
use trunkline_session_machine::acts::open::prompt;
use trunkline_session_machine::acts::question::{Answer, Question};
use trunkline_session_machine::acts::view::View;
use trunkline_session_machine::next::{Facts, Step, next};
use trunkline_session_machine::setup::{AskedModel, Setup};
use trunkline_session_machine::state::State;
use trunkline_session_machine::{Prepared, RuntimeError};
use trunkline_session_store::Record;

/// A session that has just been given words.
fn prompted() -> (Setup, State) {
    let setup = Setup::new(AskedModel::new(Origin::new("made-up", "parrot"), "none", |_| Support::None));
    let tree = MessageTree::new(Message::system("Be short."), Timestamp(0));
    let mut state = State::begin(Some(&Record::Entry(tree.root_entry()))).unwrap();
    let view = View::new(&state, &setup, Timestamp(1));
    let plan = find_out(&view, |view, asked| prompt(view, asked, "hello"), answer).unwrap();
    plan.records.iter().for_each(|record| state.record(record).unwrap());
    (setup, state)
}

fn answer(question: &Question) -> Result<Answer, RuntimeError> {
    Ok(match question {
        Question::Ids(_) => Answer::Ids(vec!["0192f0c1-2345-7000-8000-000000000001".parse().unwrap()]),
        Question::Start => Answer::Start(Ok(Default::default())),
        other => return Err(RuntimeError::Refused { reason: format!("not answered here: {other:?}") }),
    })
}

fn step(setup: &Setup, state: &State, facts: &Facts) -> Step {
    let view = View::new(state, setup, Timestamp(2));
    find_out(&view, |view, asked| next(view, asked, facts), answer).unwrap()
}

fn told(step: &Step) -> String {
    match step {
        Step::Stop(stop) => format!("stop: {stop}"),
        Step::Request => "request".to_owned(),
        Step::ReadInbox { closing: true } => "read what closes the run".to_owned(),
        Step::ReadInbox { closing: false } => "read the inbox".to_owned(),
        Step::AskGit => "ask git".to_owned(),
        _ => "something else".to_owned(),
    }
}

#[test]
fn the_same_log_goes_another_way_only_for_a_fact() {
    let (setup, state) = prompted();
    let mut lines = String::new();
    let mut line = |name: &str, change: &dyn Fn(&mut Facts)| {
        let mut facts = Facts::default();
        change(&mut facts);
        let first = told(&step(&setup, &state, &facts));
        assert_eq!(first, told(&step(&setup, &state, &facts)), "{name}");
        lines += &format!("{name}: {first}\n");
    };
    line("no facts", &|_| {});
    line("something came", &|facts| facts.unread = true);
    line("something came, and it was cancelled", &|facts| (facts.unread, facts.cancelled) = (true, true));
    line("cancelled", &|facts| facts.cancelled = true);
    line("git has not answered", &|facts| facts.unsure = true);
    line("something came, and git has not answered", &|facts| (facts.unread, facts.unsure) = (true, true));
    line("50 turns", &|facts| facts.spent.turns = 50);
    line("a million tokens", &|facts| facts.spent.tokens = 1_000_000);
    line("an hour", &|facts| facts.spent.time = Duration::from_secs(3600));
    line("an hour, and something came", &|facts| {
        (facts.spent.time, facts.unread) = (Duration::from_secs(3600), true);
    });
    expect![[r#"
        no facts: request
        something came: read the inbox
        something came, and it was cancelled: read what closes the run
        cancelled: stop: cancelled
        git has not answered: ask git
        something came, and git has not answered: read the inbox
        50 turns: stop: at the limit of turns
        a million tokens: stop: at the limit of tokens
        an hour: stop: at the limit of time
        an hour, and something came: stop: at the limit of time
    "#]]
    .assert_eq(&lines);
}

#[test]
fn a_request_counts_as_a_turn_unless_the_service_wanted_it_otherwise() {
    let (setup, state) = prompted();
    let mut facts = Facts::default();
    let asked = step(&setup, &state, &facts);
    facts.begun(&asked, &state);
    assert_eq!(
        (facts.spent.turns, facts.unread),
        (1, true),
        "what came meanwhile is read before the next step"
    );
    facts.unasked();
    assert_eq!(facts.spent.turns, 0);
    facts.unasked();
    assert_eq!(facts.spent.turns, 0, "it is taken back once");
    facts.cost(7);
    facts.cost(u64::MAX);
    assert_eq!(facts.spent.tokens, u64::MAX);
    (facts.nudged, facts.made_room) = (2, true);
    facts.begun(&Step::Settle, &state);
    assert_eq!((facts.nudged, facts.made_room), (0, false));
    facts.begun(&Step::ReadInbox { closing: false }, &state);
    assert!(!facts.unread);
    (facts.unsure, facts.cuts, facts.unbindable) = (true, 1, true);
    facts.begin(false);
    assert_eq!((facts.unsure, facts.cuts, facts.unbindable, facts.spent.tokens), (true, 1, false, 0));
}

#[test]
fn a_commit_is_prepared_five_times_and_then_the_last_reason_is_told() {
    let (mut setup, state) = prompted();
    setup.files.commits = true;
    let view = View::new(&state, &setup, Timestamp(2));
    let mut closing = Closing::of(&view).unwrap();
    assert!(closing.heard(Settled::Open(None), None).is_none());
    for number in 1..=5 {
        closing.begin_try(&view).unwrap();
        let prepared = Prepared { commit: format!("{number}"), branch: None, from: None };
        assert!(closing.heard(Settled::Open(Some(format!("no {number}"))), Some(prepared)).is_none());
    }
    let Err(RuntimeError::Workspace(fault)) = closing.begin_try(&view) else { panic!("there were five") };
    let message = fault.message;
    assert!(message.contains("somebody else keeps moving the branch: no 5"), "{message}");
}
