//! Laws over made-up sessions. That a fold of the log goes the same way is tried before each step of every play.

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::Value;
use trunkline_session_store::Record;

use crate::play::{Play, play};

/// A line of a script. What it names may not be there: then it is refused, which is an outcome like any other.
pub(crate) fn line() -> impl Strategy<Value = String> {
    let call =
        (0_u32..6, prop::sample::select(vec!["read", "edit", "shell", "fly"])).prop_map(|(id, tool)| {
            match tool {
                "shell" => format!(r#"shell c{id} {{"command":"make"}}"#),
                tool => format!(r#"{tool} c{id} {{"path":"a"}}"#),
            }
        });
    let calls = prop::collection::vec(call, 1..4).prop_map(|calls| format!("model: {}", calls.join("; ")));
    let revert = (0_u32..9).prop_map(|node| {
        format!(r#"model: revert_to_state r1 {{"category":"failure","step":"n{node}","lesson":"no"}}"#)
    });
    prop_oneof![
        4 => calls,
        2 => Just("model: words".to_owned()),
        1 => Just("model:  ".to_owned()),
        1 => Just("cut: some wor".to_owned()),
        1 => revert,
        3 => Just("> go".to_owned()),
        3 => Just("resume".to_owned()),
        1 => Just("cancel".to_owned()),
        2 => (1_u32..5).prop_map(|id| format!("approve p{id}")),
        1 => (1_u32..5).prop_map(|id| format!("discard p{id} no")),
        1 => (0_u32..9).prop_map(|node| format!("go n{node}")),
        1 => (0_u32..9).prop_map(|node| format!("back n{node} no")),
        1 => Just("undo".to_owned()),
        1 => Just("file a = other".to_owned()),
        1 => Just("close abandon no".to_owned()),
        1 => Just("close retry again".to_owned()),
    ]
}

fn script() -> impl Strategy<Value = String> {
    let approval = prop::sample::select(vec!["approval person", "approval model", "approval always"]);
    let first = (approval, any::<bool>(), any::<bool>());
    (first, prop::collection::vec(line(), 1..24)).prop_map(|((approval, reverts, commits), lines)| {
        let mut script = vec![approval.to_owned()];
        script.extend(reverts.then(|| "reverts".to_owned()));
        script.extend(commits.then(|| "commits".to_owned()));
        script.extend((0..6).map(|id| format!("propose c{id} a = text {id}")));
        script.extend(lines);
        script.join("\n")
    })
}

/// Returns the calls that began, each by its place.
fn begun(play: &Play) -> Vec<(String, String)> {
    let notes = play.log.iter().filter_map(|record| match record {
        Record::Note(note) if note.kind == "call_started" => Some(serde_json::from_str::<Value>(&note.body)),
        _ => None,
    });
    let begun = notes.map(|body| {
        let body = body.unwrap();
        let place = format!("{} {}", body["call"]["node"], body["call"]["index"]);
        (place, body["tool"].as_str().unwrap_or_default().to_owned())
    });
    begun.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_call_begins_twice(script in script()) {
        let play = play(&script);
        let mut seen = HashSet::new();
        for one in begun(&play) {
            prop_assert!(seen.insert(one.clone()), "{one:?} began twice\n{}", play.told);
        }
    }

    #[test]
    fn what_is_cancelled_begins_nothing(script in script()) {
        let play = play(&script);
        let mut cancelled = false;
        for line in play.told.lines() {
            if !line.starts_with(' ') {
                cancelled = line == "cancel";
            }
            let begins = ["  run ", "  request", "  apply ", "  open a run"].iter().any(|step| line.starts_with(step));
            prop_assert!(!(cancelled && begins), "{line}\n{}", play.told);
        }
    }

    #[test]
    fn each_run_gets_one_verdict_at_most(script in script()) {
        let play = play(&script);
        let runs = play.log.iter().filter_map(|record| match record {
            Record::Note(note) if note.kind == "decided" => note.key.as_ref().map(|key| key.key.clone()),
            _ => None,
        });
        let mut seen = HashSet::new();
        for run in runs {
            prop_assert!(seen.insert(run.clone()), "{run} was decided twice\n{}", play.told);
        }
    }
}
