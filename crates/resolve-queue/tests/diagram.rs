//! The picture in the README is the table of moves.

use expect_test::expect_file;
use trunkline_resolve_queue::{MOVES, State};

const START: &str = "stateDiagram-v2\n";
const END: &str = "```";

#[test]
fn the_readme_shows_the_table_of_moves() {
    let readme = include_str!("../README.md");
    let (head, rest) = readme.split_once(START).expect("the README has a state diagram");
    let place = rest.find(END).expect("the diagram's fence is closed");
    let (_, tail) = rest.split_at(place);
    expect_file!["../README.md"].assert_eq(&format!("{head}{START}{}{tail}", diagram()));
}

#[test]
fn every_state_is_reached_and_only_three_are_final() {
    for state in State::ALL {
        let reached = MOVES.iter().any(|legal| legal.to == *state);
        let left = MOVES.iter().any(|legal| legal.from == *state);
        let is_final = matches!(state, State::Applied | State::Discarded | State::Expired);
        assert!(reached, "{state}");
        assert_eq!(left, !is_final, "{state}");
    }
}

#[test]
fn only_approved_leads_to_an_apply() {
    let sources: Vec<State> =
        MOVES.iter().filter(|legal| legal.to == State::Applying).map(|legal| legal.from).collect();
    // An attempt that gets more time is the same attempt, and one that is taken over is only tidied up.
    assert_eq!(sources, [State::Approved, State::Applying, State::Applying]);
}

fn diagram() -> String {
    let mut lines = String::from("    [*] --> proposed: stage\n");
    for legal in MOVES {
        lines.push_str(&format!("    {} --> {}: {}\n", legal.from, legal.to, legal.verb));
    }
    lines
}
