//! What a snapshot keeps of a task: a session that is taken up from one has spent on it what the whole log says.

use proptest::prelude::*;
use trunkline_message_tree::{Entry, Usage};
use trunkline_session_machine::reading::spine::{Spine, Step, decode, encode};
use trunkline_session_machine::reading::trimming::{Seen, trim};
use trunkline_session_machine::state::State;
use trunkline_session_store::{Log, Record};

use crate::families::log_of;
use crate::family_laws::script;
use crate::play::play;

/// A log whose messages have all cost something.
fn costly(records: &[Record]) -> Log {
    let mut log = log_of(records);
    for (seq, record) in &mut log.records {
        if let Record::Entry(Entry::Node { message, .. }) = record {
            message.usage = Some(Usage { input_tokens: *seq * 7, output_tokens: 1, ..Usage::default() });
        }
    }
    log
}

fn seen(record: &Record) -> Seen {
    match record {
        Record::Entry(Entry::Node { id, .. }) => Seen::Node(*id),
        Record::Entry(Entry::Move(_)) => Seen::Move,
        Record::Note(note) => Seen::Note(Box::new(note.clone())),
        Record::Blob(_) => Seen::Blob,
    }
}

/// Folds what a spine keeps of a log, and the records behind it up to some place. Returns what was folded of it, too.
fn fold(log: &Log, spine: Option<(&Spine, usize)>, until: usize) -> (State, Vec<(u64, Seen)>) {
    let record = |seq: u64| &log.records[usize::try_from(seq).unwrap() - 1].1;
    let mut state = State::begin(Some(record(1))).unwrap();
    let mut folded = Vec::new();
    let (steps, from) = spine.map_or((&[][..], 1), |(spine, from)| (&spine.steps[..], from));
    for (seq, step) in steps {
        state.seq = seq - 1;
        match step {
            Step::Bare(bare) => state.record_bare(bare.clone()).unwrap(),
            Step::Read => state.record(record(*seq)).unwrap(),
        }
        folded.push((*seq, seen(record(*seq))));
    }
    if let Some((spine, _)) = spine {
        state.take_up(spine.tally.as_ref()).unwrap();
    }
    state.seq = from as u64;
    for (seq, record) in &log.records[from..until] {
        state.record(record).unwrap();
        folded.push((*seq, seen(record)));
    }
    (state, folded)
}

fn told(state: &State) -> String {
    format!("{:?} {:?}", state.tasks.task(), state.tasks.open_intent())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_was_spent_on_a_task_is_the_same_from_a_snapshot_and_from_the_whole_log(
        script in script(),
        cuts in prop::collection::vec(0.0..1.0, 1..4),
    ) {
        let log = costly(&play(&script).log);
        let all = log.records.len();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| 1 + (all as f64 * cut) as usize).collect();
        cuts.retain(|cut| *cut <= all);
        cuts.sort_unstable();
        let mut kept: Option<(Spine, usize)> = None;
        // Each snapshot but the first is made of the one before it.
        for cut in cuts {
            let (state, folded) = fold(&log, kept.as_ref().map(|(spine, from)| (spine, *from)), cut);
            let (whole, all) = fold(&log, None, cut);
            prop_assert_eq!(told(&state), told(&whole));
            let (Some(spine), Some(of_whole)) = (trim(&state, &folded), trim(&whole, &all)) else { continue };
            prop_assert_eq!(&spine.tally, &of_whole.tally);
            prop_assert_eq!(spine.tally.is_some(), whole.tasks.task().is_some());
            prop_assert_eq!(decode(&encode(&spine), cut as u64), Some(spine.clone()));
            kept = Some((spine, cut));
        }
        let (state, _) = fold(&log, kept.as_ref().map(|(spine, from)| (spine, *from)), all);
        prop_assert_eq!(told(&state), told(&State::replay(&log).unwrap()));
    }
}

#[test]
fn a_tally_that_cannot_be_read_or_is_about_another_task_is_no_snapshot() {
    let log = costly(&play("task write a\nmodel: Yes.\n> go").log);
    let other = costly(&play("> go\ntask write b\nmodel: Yes.").log);
    let all = log.records.len();
    let (state, folded) = fold(&log, None, all);
    let bytes = encode(&trim(&state, &folded).unwrap());
    for end in 0..bytes.len() {
        // Nothing is made up of what is cut: not another count, and not none.
        let cut = decode(&bytes[..end], all as u64);
        assert!(cut.is_none_or(|spine| spine.tally.is_none()));
    }
    let tally = decode(&bytes, all as u64).unwrap().tally.unwrap();
    assert!(State::replay(&log).unwrap().take_up(Some(&tally)).is_ok());
    assert!(State::replay(&log).unwrap().take_up(None).is_err());
    let mut without = State::replay(&costly(&play("model: Yes.\n> go").log)).unwrap();
    assert!(without.take_up(Some(&tally)).is_err());
    // The names of the two are made of their places, and differ.
    assert!(State::replay(&other).unwrap().take_up(Some(&tally)).is_err());
}
