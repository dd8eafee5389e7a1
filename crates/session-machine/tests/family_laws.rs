//! Laws over made-up sessions: what follows from a log fits together, is the same each time, and grows with the log.

use std::collections::HashSet;

use proptest::prelude::*;
use trunkline_decision_objects::{IntentState, Object, TaskState};
use trunkline_session_machine::reading::family::{candidates, family_of, projected_objects};

use crate::families::log_of;
use crate::laws::line_with_plans;
use crate::play::play;

fn any_line() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => line_with_plans(),
        2 => (1_u32..4).prop_map(|number| format!("select {number}")),
        1 => Just("task write it // it is there".to_owned()),
        1 => Just("done it is there".to_owned()),
        1 => Just("drop not wanted".to_owned()),
        1 => Just("bound retries 1".to_owned()),
        1 => Just("close checkpoint half".to_owned()),
        1 => (0_u32..9).prop_map(|node| format!("merge n{node}")),
        2 => prop::sample::select(vec!["checkpoint", "retry", "abandon"]).prop_map(|word| {
            format!(r#"model: request_decision c5 {{"decision":"{word}","words":"w"}}; read c4 {{"path":"a"}}"#)
        }),
    ]
}

/// A run that ends with its changes, one that goes on with them, and one that has left them, where a person chose them.
const BEGUN: [&str; 3] = [
    r#"
    approval always
    task write it // it is there
    model: edit c1 {"path":"a"}
    model: I wrote it.
    > write it
    "#,
    r#"
    approval always
    model: edit c1 {"path":"a"}
    > write it
    "#,
    r#"
    approval always
    model: edit c1 {"path":"a"}
    > write it
    back n1 not so
    select 1 that one
    "#,
];

pub(crate) fn script() -> impl Strategy<Value = String> {
    let approval = prop::sample::select(vec!["approval person", "approval model", "approval always"]);
    let first = (approval, any::<bool>(), any::<bool>(), prop::bool::weighted(0.8), 0_usize..6);
    (first, prop::collection::vec(any_line(), 1..24)).prop_map(
        |((approval, reverts, commits, intents, begun), lines)| {
            let mut script = vec![approval.to_owned()];
            script.extend(reverts.then(|| "reverts".to_owned()));
            script.extend(commits.then(|| "commits".to_owned()));
            script.extend(intents.then(|| "intents\ncloses\ngive allow tool request_decision".to_owned()));
            script.extend((0..6).map(|id| format!("propose c{id} a = text {id}")));
            // What is made at random seldom comes to changes, and to a verdict on them.
            script.extend(BEGUN.get(begun).map(|begun| (*begun).to_owned()));
            script.extend(lines);
            script.join("\n")
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_family_of_any_session_fits_together(script in script()) {
        let play = play(&script);
        let log = log_of(&play.log);
        let family = family_of(&log);
        let violations: Vec<String> = family.violations().iter().map(ToString::to_string).collect();
        prop_assert!(violations.is_empty(), "{violations:#?}\n{}", play.told);
        prop_assert_eq!(family.clashes().count(), 0);
        prop_assert!(projected_objects(&log).is_sorted_by_key(|(seq, _)| *seq));
        let again: Vec<_> = projected_objects(&log).into_iter().map(|(_, object)| object.print()).collect();
        let first: Vec<_> = projected_objects(&log).into_iter().map(|(_, object)| object.print()).collect();
        prop_assert_eq!(again, first);
    }

    #[test]
    fn the_family_of_a_longer_log_has_all_of_a_shorter_one(script in script(), cut in 0.0..1.0) {
        let play = play(&script);
        let whole: HashSet<String> =
            projected_objects(&log_of(&play.log)).iter().map(|(_, object)| object.print()).collect();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
        let kept = (play.log.len() as f64 * cut) as usize;
        for (_, object) in projected_objects(&log_of(&play.log[..kept])) {
            let text = object.print();
            prop_assert!(whole.contains(&text), "{text}\n{}", play.told);
        }
    }

    #[test]
    fn no_task_is_done_but_by_a_persons_word(script in script()) {
        let play = play(&script);
        let said = play.told.lines().any(|line| line.starts_with("done "));
        for (_, object) in projected_objects(&log_of(&play.log)) {
            if let Object::TaskEvent(event) = object {
                prop_assert!(said || event.content().state != TaskState::Done, "{}", play.told);
            }
        }
    }

    /// What follows from the log stands as the session itself holds it: it is open there as long as it is open here.
    #[test]
    fn tasks_and_intents_stand_as_the_session_holds_them(script in script()) {
        let play = play(&script);
        let standing = family_of(&log_of(&play.log)).standing();
        let tasks = standing.tasks.iter().filter(|(_, task)| !task.state.is_terminal()).map(|(id, _)| *id);
        let held = play.state.tasks.open_task().map(|task| task.id);
        prop_assert_eq!(tasks.collect::<Vec<_>>(), Vec::from_iter(held), "{}", play.told);
        let is_open = |state: Option<IntentState>| state.is_none_or(|state| !state.is_terminal());
        let intents = standing.intents.iter().filter(|(_, intent)| is_open(intent.state)).map(|(id, _)| *id);
        let held = play.state.tasks.open_intent();
        prop_assert_eq!(intents.collect::<Vec<_>>(), Vec::from_iter(held), "{}", play.told);
    }

    #[test]
    fn the_candidates_of_a_run_are_counted_from_one(script in script()) {
        let play = play(&script);
        let mut last = std::collections::HashMap::new();
        for candidate in candidates(&log_of(&play.log)) {
            let before = last.insert(candidate.patch_set.run(), candidate.sequence).unwrap_or(0);
            prop_assert_eq!(candidate.sequence, before + 1);
        }
    }
}
