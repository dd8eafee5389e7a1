//! A model that goes to and fro between branches gets nowhere, whatever it finds on the way.

use trunkline_message_tree::NodeId;
use trunkline_revert::{Digest, Observation, Seen, StallEvent, StallPolicy, Watch, Why};

fn go(left: u32, back: u32, lesson: u64) -> StallEvent {
    let [left, back] = [left, back].map(NodeId::new);
    StallEvent::Returned { to: back, lesson: Some(Digest(lesson)), between: (left, back) }
}

/// A turn in which something is found that nobody has seen.
fn find(node: u32) -> StallEvent {
    let seen = Seen::new("read", Digest(u64::from(node)), Digest(u64::from(node) + 1_000), false);
    StallEvent::Turn(Observation::new(NodeId::new(node), [seen]))
}

/// Plays events and returns what was noticed at each of them.
fn noticed(events: &[StallEvent]) -> Vec<Option<Why>> {
    let mut watch = Watch::new(StallPolicy::default());
    events.iter().map(|event| watch.observe(event).map(|stall| stall.because)).collect()
}

#[test]
fn to_and_fro_between_two_branches_is_noticed_at_the_second_move_and_then_less_often() {
    let mut events = vec![find(1)];
    for round in 0..8 {
        // Each time something new is found and learned.
        events.push(if round % 2 == 0 { go(10, 20, round) } else { go(20, 10, round) });
        events.push(find(100 + round as u32));
    }
    let told: Vec<(usize, Why)> =
        noticed(&events).into_iter().enumerate().filter_map(|(at, why)| Some((at, why?))).collect();
    let moves = |moves| Why::SameMoves { moves };
    assert_eq!(told, [(3, moves(2)), (7, moves(4)), (15, moves(8))]);
    assert_eq!(moves(4).to_string(), "4 moves went to and fro between the same branches");
}

#[test]
fn a_ring_of_branches_is_noticed_when_it_is_gone_through_again() {
    let ring = [(10, 20), (20, 30), (30, 10)];
    let mut events = vec![find(1)];
    for (round, (left, back)) in ring.iter().chain(&ring).enumerate() {
        events.extend([go(*left, *back, round as u64), find(100 + round as u32)]);
    }
    let told: Vec<bool> = noticed(&events).iter().map(Option::is_some).collect();
    assert_eq!(told.iter().position(|told| *told), Some(7), "{told:?}");
}

#[test]
fn a_word_of_a_person_begins_anew_and_one_return_is_none() {
    let person = StallEvent::Person { node: NodeId::new(5) };
    let events = [find(1), go(10, 20, 1), find(2), person, go(20, 10, 2), find(3)];
    assert!(noticed(&events).iter().all(Option::is_none));
}

#[test]
fn a_return_from_a_branch_that_held_nothing_teaches_nothing_either() {
    let events = [find(1), go(10, 20, 1), go(20, 10, 2)];
    assert_eq!(noticed(&events)[2], Some(Why::SameMoves { moves: 2 }));
    // Between ever other branches it is the lessons that tell.
    let events = [find(1), go(10, 20, 1), go(20, 30, 2), go(30, 40, 3)];
    let told = noticed(&events);
    assert_eq!(told[1..], [None, None, Some(Why::SameLessons { reverts: 2 })]);
}
