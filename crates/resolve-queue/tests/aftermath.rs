//! What an attempt has left behind, and whether it can be put back.

use expect_test::expect;
use proptest::prelude::*;
use trunkline_resolve_queue::{
    Actor, ActorKind, Aftermath, Answer, Effect, Entry, Fingerprint, Observation, Proposal, Queue, Start,
    Step, Verdict,
};

use crate::script::check;

#[test]
fn an_attempt_that_was_cut_off_between_two_files_can_be_put_back() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2
         approve p1
         begin p1 keeping a b
         aftermath p1
         file a 2
         aftermath p1
         file b 2
         aftermath p1
         file b 1
         file a 1
         aftermath p1",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping a b
                p1 is applying, key p1-1
            aftermath p1
                Before: a before, b before; gone, as before, restorable
            aftermath p1
                Unclear: a after, b before; half done, restorable
            aftermath p1
                After: a after, b after; restorable
            aftermath p1
                Before: a before, b before; gone, as before, restorable
        "#]],
    );
}

#[test]
fn without_a_pre_image_of_what_is_as_after_nothing_can_be_put_back() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2
         approve p1
         begin p1 keeping a
         file b 2
         aftermath p1
         file b 1
         file a 2
         aftermath p1",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping a
                p1 is applying, key p1-1
            aftermath p1
                Unclear: a before, b after; half done
            aftermath p1
                Unclear: a after, b before; half done, restorable
        "#]],
    );
}

#[test]
fn what_somebody_else_has_written_means_that_it_can_never_be_whole() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2
         approve p1
         begin p1 keeping a
         file a 9
         aftermath p1
         file b 2
         aftermath p1",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping a
                p1 is applying, key p1-1
            aftermath p1
                Unclear: a foreign, b before; gone, disturbed, half done, restorable
            aftermath p1
                Unclear: a foreign, b after; disturbed, half done, restorable
        "#]],
    );
}

#[test]
fn a_file_at_which_nobody_looked_may_be_anybodys() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2
         approve p1
         begin p1 keeping a b
         file a 2
         aftermath p1 a
         aftermath p1 b
         aftermath p1 c",
        expect![[r#"
            stage a=2 b=2
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping a b
                p1 is applying, key p1-1
            aftermath p1 a
                Unclear: a after, b unseen; half done
            aftermath p1 b
                Unclear: a unseen, b before
            aftermath p1 c
                Unclear: a unseen, b unseen
        "#]],
    );
}

#[test]
fn what_does_not_show_in_files_is_not_undone_by_putting_files_back() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2 effect irreversible
         approve p1
         begin p1 keeping a b
         file a 2
         aftermath p1",
        expect![[r#"
            stage a=2 b=2 effect irreversible
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping a b
                p1 is applying, key p1-1
            aftermath p1
                Unclear: a after, b before; half done
        "#]],
    );
}

#[test]
fn a_part_that_was_left_out_leaves_nothing_behind() {
    check(
        "file a 1
         file b 1
         stage a=2 b=2 divisible
         approve p1 person anna only b
         begin p1 keeping b
         file a 2
         aftermath p1
         file b 2
         aftermath p1",
        expect![[r#"
            stage a=2 b=2 divisible
                p1 is proposed
            approve p1 person anna only b
                p1 is approved
            begin p1 keeping b
                p1 is applying, key p1-1
            aftermath p1
                Before: b before; gone, as before, restorable
            aftermath p1
                After: b after; restorable
        "#]],
    );
}

#[test]
fn it_is_half_done_if_a_file_that_it_was_to_leave_alone_is_another_one() {
    // `b` is written as it was: it cannot tell, and still it has to be so afterwards.
    check(
        "file a 1
         file b 1
         stage a=2 b=1
         approve p1
         begin p1 keeping a b
         file a 2
         aftermath p1
         file b 9
         aftermath p1",
        expect![[r#"
            stage a=2 b=1
                p1 is proposed
            approve p1
                p1 is approved
            begin p1 keeping a b
                p1 is applying, key p1-1
            aftermath p1
                After: a after; restorable
            aftermath p1
                Unclear: a after; half done, restorable
        "#]],
    );
}

/// One file of a proposal, and how it is found.
#[derive(Clone, Debug)]
struct File {
    changes: bool,
    kept: bool,
    /// 0 as before, 1 as after, 2 as neither, 3 not looked at.
    found: u8,
}

fn files() -> impl Strategy<Value = (Vec<File>, bool)> {
    let file = (prop::bool::weighted(0.8), prop::bool::weighted(0.8), 0..4_u8)
        .prop_map(|(changes, kept, found)| File { changes, kept, found });
    (prop::collection::vec(file, 1..5), prop::bool::weighted(0.8))
}

fn print(number: usize, state: &str) -> Fingerprint {
    Fingerprint::digest(format!("f{number}"), state)
}

/// An entry whose attempt has begun, and what is found of its files.
fn begun(files: &[File], reversible: bool) -> (Entry<()>, Vec<Fingerprint>) {
    let after = |file: &File| if file.changes { "after" } else { "before" };
    let named = || files.iter().enumerate();
    let before: Vec<Fingerprint> = named().map(|(number, _)| print(number, "before")).collect();
    let mut proposal = Proposal::new("edit", "edit", ());
    proposal.fingerprints.clone_from(&before);
    proposal.after = named().map(|(number, file)| print(number, after(file))).collect();
    proposal.effect = if reversible { Effect::Reversible } else { Effect::Compensable };
    let kept = named().filter(|(_, file)| file.kept).map(|(number, _)| print(number, "before")).collect();

    let mut queue = Queue::new();
    let staged = queue.stage(proposal, 1).expect("it makes sense");
    let id = staged.proposal;
    queue.record(staged).expect("it is legal");
    let Ok(Answer::New(event)) = queue.decide(id, Verdict::Approve, Actor::new(ActorKind::Person, ""), "", 2)
    else {
        unreachable!("it waits")
    };
    queue.record(event).expect("it is legal");
    let Ok(Step::Apply { event, .. }) = queue.begin_with(id, &before, Start::default().keeping(kept), 3)
    else {
        unreachable!("nothing has changed")
    };
    queue.record(event).expect("it is legal");
    let found = named().filter_map(|(number, file)| match file.found {
        0 => Some(print(number, "before")),
        1 => Some(print(number, after(file))),
        2 => Some(print(number, "foreign")),
        _ => None,
    });
    (queue.get(id).expect("it was staged").clone(), found.collect())
}

fn telling(found: &Aftermath) -> Vec<&String> {
    let lists = [&found.before, &found.after, &found.foreign, &found.unseen];
    let mut all: Vec<&String> = lists.into_iter().flatten().collect();
    all.sort();
    all
}

proptest! {
    #[test]
    fn each_subject_that_can_tell_is_in_one_list((files, reversible) in files()) {
        let (entry, observed) = begun(&files, reversible);
        let found = entry.aftermath(&observed);
        let traces = entry.traces(&observed);
        let mut subjects: Vec<&String> = traces.iter().map(|trace| &trace.subject).collect();
        subjects.sort();
        prop_assert_eq!(telling(&found), subjects);
    }

    #[test]
    fn what_is_half_done_is_neither_before_nor_after((files, reversible) in files()) {
        let (entry, observed) = begun(&files, reversible);
        let found = entry.aftermath(&observed);
        prop_assert!(!found.is_half_done() || found.observation == Observation::Unclear);
        prop_assert!(found.observation != Observation::After || found.before.is_empty());
        prop_assert_eq!(found.observation == Observation::Before, found.is_as_before());
    }

    #[test]
    fn what_is_restorable_and_put_back_is_gone((files, reversible) in files()) {
        let (entry, mut observed) = begun(&files, reversible);
        let found = entry.aftermath(&observed);
        prop_assume!(found.restorable);
        for kept in &entry.preimages {
            let back = observed.iter_mut().filter(|one| one.subject == kept.subject);
            for one in back.filter(|one| found.after.contains(&one.subject)) {
                one.state.clone_from(&kept.state);
            }
        }
        let then = entry.aftermath(&observed);
        prop_assert_eq!(&then.foreign, &found.foreign);
        prop_assert!(found.is_disturbed() || then.is_gone());
        prop_assert!(found.is_disturbed() || telling(&then).is_empty() || then.is_as_before());
    }
}
