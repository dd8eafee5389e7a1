//! Getting into the queue, and what the queue answers about its content.

use expect_test::expect;
use trunkline_resolve_queue::{Fingerprint, Proposal, ProposalId, Queue, QueueError};

use crate::script::check;

#[test]
fn ids_count_up_and_the_oldest_is_meant_when_none_is_named() {
    check(
        "target
         stage a=2
         stage b=2
         target
         discard p1 person: no
         target
         pending
         unsettled",
        expect![[r#"
            target
                refused: No pending action to resolve. Nothing to apply or discard.
            stage a=2
                p1 is proposed
            stage b=2
                p2 is proposed
            target
                p1
            discard p1 person: no
                p1 is discarded
            target
                p2
            pending
                [p2]
            unsettled
                [p2]
        "#]],
    );
}

#[test]
fn everything_that_may_still_be_applied_is_unsettled() {
    check(
        "stage a=2
         stage b=2
         stage c=2
         approve p1
         begin p1
         interrupted
         finish p1-1 failed: disk full
         approve p2
         file b 9
         begin p2
         unsettled
         discard p1
         discard p2
         supersede p3 left
         unsettled",
        expect![[r#"
            stage a=2
                p1 is proposed
            stage b=2
                p2 is proposed
            stage c=2
                p3 is proposed
            approve p1
                p1 is approved
            begin p1
                p1 is applying, key p1-1
            interrupted
                [p1]
            finish p1-1 failed: disk full
                p1 is failed
            approve p2
                p2 is approved
            begin p2
                p2 is stale; b: expected absent, found 9
            unsettled
                [p1 p2 p3]
            discard p1
                p1 is discarded
            discard p2
                p2 is discarded
            supersede p3 left
                p3 is superseded
            unsettled
                []
        "#]],
    );
}

#[test]
fn two_proposals_overlap_if_they_write_the_same_file() {
    check(
        "file a 1
         stage a=2
         stage b=2 reads a
         stage a=3 b=3
         overlapping a=4
         overlapping c=4 reads a
         discard p1
         approve p3
         begin p3
         overlapping a=4
         overlapping b=4",
        expect![[r#"
            stage a=2
                p1 is proposed
            stage b=2 reads a
                p2 is proposed
            stage a=3 b=3
                p3 is proposed
            overlapping a=4
                [p1 p3]
            overlapping c=4 reads a
                []
            discard p1
                p1 is discarded
            approve p3
                p3 is approved
            begin p3
                p3 is applying, key p3-1
            overlapping a=4
                []
            overlapping b=4
                [p2]
        "#]],
    );
}

#[test]
fn a_newer_preview_of_the_same_file_takes_the_place_of_the_older() {
    check(
        "stage a=2
         stage a=3 supersedes p1
         supersede p1 by p2
         approve p1
         approve p2
         begin p2
         supersede p1 by p1
         supersede p2 left",
        expect![[r#"
            stage a=2
                p1 is proposed
            stage a=3 supersedes p1
                p2 is proposed
            supersede p1 by p2
                p1 is superseded
            approve p1
                refused: cannot approve p1: it is superseded; possible now: restore
            approve p2
                p2 is approved
            begin p2
                p2 is applying, key p2-1
            supersede p1 by p1
                refused: cannot supersede p1: it is superseded; possible now: restore
            supersede p2 left
                refused: cannot supersede p2: it is applying; possible now: finish, recover
        "#]],
    );
}

#[test]
fn a_proposal_that_makes_no_sense_is_not_staged() {
    check(
        "stage a=2 for harness
         stage a=2 supersedes p1
         stage a=2
         supersede p1 by p1",
        expect![[r#"
            stage a=2 for harness
                refused: nobody may approve the proposal; name at least one of model, person, policy
            stage a=2 supersedes p1
                refused: p1 cannot supersede itself
            stage a=2
                p1 is proposed
            supersede p1 by p1
                refused: p1 cannot supersede itself
        "#]],
    );
    let mut torn = Proposal::new("edit a", "edit", ());
    torn.fingerprints = vec![Fingerprint::absent("a"), Fingerprint::digest("a", "1")];
    assert_eq!(
        Queue::new().stage(torn, 1).map_err(|error| error.to_string()),
        Err("the proposal gives a two different fingerprints".to_owned()),
    );
}

#[test]
fn the_defaults_are_the_cautious_ones() {
    expect![[r#"
        Proposal {
            label: "send the mail",
            source_tool: "mail",
            staged_by: None,
            payload: (),
            preview: Preview {
                text: "",
                diff: None,
            },
            fingerprints: [],
            after: [],
            call: None,
            effect: Irreversible,
            proposed_by: Actor {
                kind: Model,
                name: "",
            },
            deciders: {
                Person,
            },
            supersedes: [],
            expires_at: None,
            divisible: false,
            undo_of: None,
            details: None,
            hears_end: false,
        }
    "#]]
    .assert_debug_eq(&Proposal::new("send the mail", "mail", ()));
}

#[test]
fn an_id_that_was_given_is_never_given_again() {
    let mut queue = Queue::new();
    let mut late = queue.stage(Proposal::new("one", "t", ()), 1).expect("it makes sense");
    late.proposal = ProposalId(u32::MAX);
    queue.record(late.clone()).expect("a greater id is new");
    assert_eq!(
        queue.record(late),
        Err(QueueError::NotNew { id: ProposalId(u32::MAX), last: ProposalId(u32::MAX) })
    );
    assert_eq!(queue.stage(Proposal::new("two", "t", ()), 1), Err(QueueError::NumbersExhausted));
}
