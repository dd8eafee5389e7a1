//! Records that the strict parser refuses: their bytes stay, and all that is wrong with them is listed.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use trunkline_decision_objects::{Object, ObjectKind, salvage};

use crate::given::any_decision;

const DECISION: &str = r#"{"type":"decision","version":1,"id":"00000000-0000-0000-0000-000000000009","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","decided_by":{"kind":"agent","id":"coder-1"},"verdict":{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"},"evidence":["00000000-0000-0000-0000-000000000003"],"considered":[{"named":"change the test","reason":"no"}]}"#;

/// Replaces texts in [`DECISION`] and lists what is wrong then.
fn check(changes: &[(&str, &str)], expected: Expect) {
    let mut json = String::from(DECISION);
    for (old, new) in changes {
        assert!(json.contains(old), "{old} is not in the text");
        json = json.replacen(old, new, 1);
    }
    let salvaged = salvage(json.as_bytes());
    assert_eq!(salvaged.original, json.as_bytes());
    assert_eq!(salvaged.faults.first(), Object::parse(json.as_bytes()).err().as_ref());
    assert_eq!(salvaged.object.is_some(), salvaged.faults.is_empty());
    let faults: String = salvaged.faults.iter().map(|fault| format!("{fault}\n")).collect();
    let name = (salvaged.kind.map(ObjectKind::as_str), salvaged.id.map(|id| id.as_u128()));
    expected.assert_eq(&format!("{name:?}\n{faults}"));
}

#[test]
fn a_rollback_without_a_target_keeps_its_bytes() {
    let verdict = r#"{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}"#;
    check(
        &[(verdict, r#"{"kind":"rollback"}"#)],
        expect![[r#"
        (Some("decision"), Some(9))
        $.verdict.of: missing key
    "#]],
    );
}

#[test]
fn a_misspelt_verdict_hides_no_other_fault() {
    check(
        &[
            (r#""kind":"commit""#, r#""kind":"comit""#),
            (r#""id":"coder-1""#, r#""id":" ","x":1"#),
            ("20:49:30Z", "20:49:30+00:00"),
            (r#""reason":"no""#, r#""reason":"","reason":"no""#),
            (r#""evidence":["#, r#""evidence":[5,"x","#),
            (r#""version":1"#, r#""surprise":[],"version":2"#),
        ],
        expect![[r#"
            (Some("decision"), Some(9))
            $.version: version 2 is not known; this release reads version 1
            $.at: "2026-11-21T20:49:30+00:00" must be spelled "2026-11-21T20:49:30Z"
            $.decided_by.id: the text is blank
            $.decided_by.x: unknown key
            $.verdict.kind: "comit" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
            $.evidence[0]: expected a string, found a number
            $.evidence[1]: "x" is not a UUID
            $.considered[0].reason: the text is blank
            $.considered[0].reason: duplicate key
            $.surprise: unknown key
        "#]],
    );
}

#[test]
fn what_rests_on_the_unreadable_is_not_judged() {
    // Which keys stand beside an unknown word, nobody knows; that the same evidence stands there twice is seen.
    check(
        &[(r#""kind":"agent","id":"coder-1""#, r#""kind":"robot","id":"coder-1","label":"x""#)],
        expect![[r#"
            (Some("decision"), Some(9))
            $.decided_by.kind: "robot" is not a word that can stand here; expected human, agent, system, mcp_client or other
        "#]],
    );
    check(
        &[
            (
                r#"["00000000-0000-0000-0000-000000000003"]"#,
                r#"["00000000-0000-0000-0000-000000000003","00000000-0000-0000-0000-000000000003"]"#,
            ),
            (r#""version":1"#, r#""version":1,"x":1"#),
        ],
        expect![[r#"
            (Some("decision"), Some(9))
            $: evidence 00000000-0000-0000-0000-000000000003 is listed twice
            $.x: unknown key
        "#]],
    );
}

#[test]
fn all_that_a_decision_breaks_is_listed() {
    let twice = r#"["00000000-0000-0000-0000-000000000003","00000000-0000-0000-0000-000000000003"]"#;
    let rejected = r#"{"patch_set":"00000000-0000-0000-0000-000000000002","reason":"slow"}"#;
    let cites =
        r#""cites":{"nodes":["n1","n1"],"proposals":["p1","p1","p1"],"files":[{"path":"a"},{"path":"a"}]}"#;
    let changes = [
        (r#"["00000000-0000-0000-0000-000000000003"]"#.to_owned(), twice.to_owned()),
        (
            r#"[{"named":"change the test","reason":"no"}]"#.to_owned(),
            format!("[{rejected},{rejected}],{cites}"),
        ),
    ];
    let all: Vec<(&str, &str)> = changes.iter().map(|(old, new)| (old.as_str(), new.as_str())).collect();
    check(
        &all,
        expect![[r#"
            (Some("decision"), Some(9))
            $.cites: "n1" is cited twice
            $.cites: "p1" is cited twice
            $.cites: "a" is cited twice
            $.cites: the file a is cited, and was there neither before nor after
            $: evidence 00000000-0000-0000-0000-000000000003 is listed twice
            $: rejected patch set 00000000-0000-0000-0000-000000000002 is listed twice
            $: patch set 00000000-0000-0000-0000-000000000002 is both chosen and rejected
        "#]],
    );
    // What the unreadable has nothing to do with is judged all the same.
    let blank = (r#""evidence":["#, r#""rationale":" ","evidence":["#);
    let oid = ("da39a3ee5e6b4b0d3255bfef95601890afd80709", "da39a3");
    check(
        &[all[0], all[1], blank, oid],
        expect![[r#"
            (Some("decision"), Some(9))
            $.verdict.commit: "da39a3" is not a git object id: expected 40 or 64 hexadecimal digits
            $.rationale: the text is blank
            $.cites: "n1" is cited twice
            $.cites: "p1" is cited twice
            $.cites: "a" is cited twice
            $.cites: the file a is cited, and was there neither before nor after
            $: evidence 00000000-0000-0000-0000-000000000003 is listed twice
            $: rejected patch set 00000000-0000-0000-0000-000000000002 is listed twice
        "#]],
    );
}

#[test]
fn a_path_that_is_listed_twice_is_told_with_its_places() {
    let call = r#"{"type":"tool_invocation","version":1,"id":"00000000-0000-0000-0000-000000000009","at":"2026-11-21T20:49:30Z","by":{"kind":"agent","id":"coder-1"},"run":"00000000-0000-0000-0000-000000000001","tool":"edit","reads":["a","b","a","b"],"writes":["c","c"],"args":"","status":"ok","artifacts":[]}"#;
    let plan = r#"{"type":"plan","version":1,"id":"00000000-0000-0000-0000-000000000009","at":"2026-11-21T20:49:30Z","by":{"kind":"agent","id":"coder-1"},"intent":"00000000-0000-0000-0000-000000000001","parents":["00000000-0000-0000-0000-000000000002","00000000-0000-0000-0000-000000000009","00000000-0000-0000-0000-000000000002"],"frames":[],"steps":[{"id":"00000000-0000-0000-0000-000000000001","description":"a"},{"id":"00000000-0000-0000-0000-000000000001","description":"b"}]}"#;
    let told = [call, plan].map(|json| {
        let salvaged = salvage(json.as_bytes());
        assert_eq!(salvaged.faults.first(), Object::parse(json.as_bytes()).err().as_ref());
        salvaged.faults.iter().map(|fault| format!("{fault}\n")).collect::<String>()
    });
    expect![[r#"
        $.reads[2]: path a is listed twice
        $.reads[3]: path b is listed twice
        $.writes[1]: path c is listed twice
        $.parents[2]: parent 00000000-0000-0000-0000-000000000002 is listed twice
        $: 00000000-0000-0000-0000-000000000009 cannot be its own parent
        $: step 00000000-0000-0000-0000-000000000001 is listed twice
    "#]]
    .assert_eq(&told.concat());
}

#[test]
fn shown_to_a_programmer_it_has_the_number_of_its_bytes() {
    expect![[r#"Salvaged { kind: None, id: None, object: None, original: 2 bytes, faults: [ParseError { steps: [Key("type")], fault: MissingKey }] }"#]].assert_eq(&format!("{:?}", salvage(b"{}")));
}

#[test]
fn missing_keys_are_all_listed() {
    let salvaged = salvage(br#"{"id":"{00000000-0000-0000-0000-000000000007}","type":"decision"}"#);
    let faults: String = salvaged.faults.iter().map(|fault| format!("{fault}\n")).collect();
    expect![[r#"
        $.version: missing key
        $.id: "{00000000-0000-0000-0000-000000000007}" must be spelled "00000000-0000-0000-0000-000000000007"
        $.run: missing key
        $.at: missing key
        $.decided_by: missing key
        $.verdict: missing key
        $.evidence: missing key
        $.considered: missing key
    "#]]
    .assert_eq(&faults);
    assert_eq!((salvaged.kind, salvaged.id.map(|id| id.as_u128())), (Some(ObjectKind::Decision), Some(7)));
}

#[test]
fn what_is_no_object_comes_back_with_one_fault() {
    for json in [&b""[..], b"[]", b"{", b"\xff", b"{\"type\":\"verdict\"}", b"{}"] {
        let salvaged = salvage(json);
        assert_eq!(salvaged.faults, [Object::parse(json).unwrap_err()]);
        assert_eq!((salvaged.object, salvaged.original), (None, json.to_vec()));
    }
}

proptest! {
    #[test]
    fn the_strict_parser_s_fault_is_the_first(
        decision in any_decision(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = decision.print().into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let salvaged = salvage(&bytes);
        match Object::parse(&bytes) {
            Ok(object) => prop_assert_eq!((salvaged.object, salvaged.faults), (Some(object), vec![])),
            Err(first) => {
                prop_assert_eq!(salvaged.object, None);
                prop_assert_eq!(salvaged.faults.first(), Some(&first));
            }
        }
        prop_assert_eq!(salvaged.original, bytes);
    }

    #[test]
    fn faults_of_different_keys_are_all_found(decision in any_decision(), wrong in prop::collection::btree_set(0..5_usize, 1..5)) {
        // Each of these stands once in every decision, at the top.
        const KEYS: [&str; 5] = ["id", "run", "at", "evidence", "considered"];
        let mut json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&decision.print()).unwrap();
        for place in &wrong {
            json.insert(String::from(KEYS[*place]), serde_json::Value::from(true));
        }
        let salvaged = salvage(serde_json::to_string(&json).unwrap().as_bytes());
        let found: Vec<String> = salvaged.faults.iter().map(|fault| fault.path()).collect();
        let expected: Vec<String> = wrong.iter().map(|place| format!("$.{}", KEYS[*place])).collect();
        prop_assert_eq!(found, expected);
    }
}
