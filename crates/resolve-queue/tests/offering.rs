//! What a tool previews: staged in place of what it makes obsolete, or not at all.

use expect_test::expect;
use trunkline_resolve_queue::{CUSTOM_TOOL, Fingerprint, Offer, Proposal, Queue};

use crate::script::check;

#[test]
fn a_preview_that_changes_nothing_uses_no_id() {
    check(
        "file a 1
         offer a=1
         pending
         offer a=2
         offer a=1 effect irreversible
         offer a=3 expires 90",
        expect![[r#"
            offer a=1
                nothing to do: edit a
            pending
                []
            offer a=2
                p1 is proposed
            offer a=1 effect irreversible
                p2 is proposed, p1 is superseded
            offer a=3 expires 90
                p3 is proposed, p2 is superseded
        "#]],
    );
}

#[test]
fn a_new_preview_takes_the_place_of_whatever_waits_and_writes_the_same() {
    check(
        "offer a=2
         offer b=2
         approve p1
         offer a=3 b=3
         approve p3
         begin p3
         offer b=4
         unsettled",
        expect![[r#"
            offer a=2
                p1 is proposed
            offer b=2
                p2 is proposed
            approve p1
                p1 is approved
            offer a=3 b=3
                p3 is proposed, p1 is superseded, p2 is superseded
            approve p3
                p3 is approved
            begin p3
                p3 is applying, key p3-1
            offer b=4
                p4 is proposed
            unsettled
                [p3 p4]
        "#]],
    );
}

#[test]
fn an_action_of_a_custom_tool_keeps_its_details() {
    let mut proposal = Proposal::new("rotate the key", CUSTOM_TOOL, serde_json::json!({"key": 7}));
    proposal.details = Some(serde_json::json!({"shown": "to people"}));
    proposal.after = vec![Fingerprint::digest("key", "7")];
    let mut queue = Queue::new();
    let Ok(Offer::Staged { id, events }) = queue.offer(proposal, 1) else {
        unreachable!("it changes something")
    };
    for event in events {
        queue.record(event).expect("it is legal");
    }
    let entry = queue.get(id).expect("it was staged");
    assert_eq!(entry.proposal.source_tool, "custom_tool");
    assert_eq!(entry.proposal.details, Some(serde_json::json!({"shown": "to people"})));
}
