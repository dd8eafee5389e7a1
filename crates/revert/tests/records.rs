//! What is kept of a request, applied or refused.

use expect_test::{Expect, expect};
use trunkline_revert::{Note, Record};

use crate::story::Story;

fn check(script: &str, expected: Expect) {
    let mut story = Story::new("n0 system: s\nn1 user: go");
    story.play(script);
    let mut told = String::new();
    for record in &story.records {
        let json = serde_json::to_string(record).unwrap();
        assert_eq!(&serde_json::from_str::<Record>(&json).unwrap(), record);
        told += &format!("record {json}\n");
    }
    for note in &story.notes {
        let json = serde_json::to_string(note).unwrap();
        assert_eq!(&serde_json::from_str::<Note>(&json).unwrap(), note);
        told += &format!("note {json}\n");
    }
    expected.assert_eq(&told);
}

#[test]
fn an_applied_request_is_recorded_with_everything_that_left() {
    check(
        "tools read_file\nrevert failure n1 wrong file",
        expect![[r#"
        record {"category":"failure","target":"n1","landed":"n1","abandoned":["n2","n3","n4","n5"],"summary":"wrong file","applied":true,"author":"model","call":{"node":"n4","index":0,"call_id":"c102"},"move_id":0}
        note {"kind":"lesson","summary":"wrong file","anchor":"n1","made_by":0,"abandoned":["n2","n3","n4","n5"],"tools":["read_file"],"turn":2}
    "#]],
    );
}

#[test]
fn a_refused_request_is_recorded_with_the_target_that_was_named() {
    check(
        "revert completion n77 done",
        expect![[r#"
        record {"category":"completion","target":"n77","summary":"done","applied":false,"reason":"revert target n77 not found; targets that would work: n1 (newest last)","author":"model","call":{"node":"n2","index":0,"call_id":"c101"}}
    "#]],
    );
}

#[test]
fn a_persons_revert_is_recorded_as_theirs() {
    check(
        "assistant hm\nperson tangent n1",
        expect![[r#"
            record {"category":"tangent","target":"n1","landed":"n1","abandoned":["n2"],"applied":true,"author":"person","move_id":0}
            note {"kind":"finding","author":"person","anchor":"n1","made_by":0,"abandoned":["n2"],"turn":1}
        "#]],
    );
}

#[test]
fn an_undo_leaves_a_note_of_its_own() {
    check(
        "tools a\nperson failure n1\ntools b\nundo",
        expect![[r#"
            record {"category":"failure","target":"n1","landed":"n1","abandoned":["n2","n3"],"applied":true,"author":"person","move_id":0}
            note {"kind":"lesson","author":"person","anchor":"n1","made_by":0,"abandoned":["n2","n3"],"tools":["a"],"turn":1}
            note {"kind":"undone","summary":"the step back to n1 was undone by the user: the messages from n2 on stand again","author":"person","anchor":"n3","made_by":1,"abandoned":["n4","n5"],"tools":["b"],"turn":2}
        "#]],
    );
}
