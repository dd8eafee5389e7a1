//! git-internal's JSON, byte for byte.

use expect_test::{Expect, expect};
use serde_json::Value;
use trunkline_decision_objects::git_internal::{Kind, Violation, import, import_as, object_hash, print};
use trunkline_decision_objects::{Closing, Verdict};

use crate::given::{abandon, closing, decided, decision_id, open_run, patch_set_id, sha1, words};

/// Seven decisions written by the real crate, with what it says of them.
const VECTORS: &str = include_str!("decision-vectors.jsonl");

fn vectors() -> Vec<Value> {
    let vectors: Vec<Value> =
        VECTORS.lines().map(|line| serde_json::from_str(line).expect("a vector is JSON")).collect();
    assert_eq!(vectors.len(), 7);
    vectors
}

fn bytes(vector: &Value) -> &str {
    vector["bytes"].as_str().expect("a vector has its bytes")
}

#[test]
fn every_vector_is_printed_from_its_fields_byte_for_byte() {
    for vector in vectors() {
        let imported = import(bytes(&vector).as_bytes()).unwrap();
        assert_eq!(imported.print(), bytes(&vector));
        assert_eq!(imported.original, bytes(&vector).as_bytes());
        assert!(!imported.violations.contains(&Violation::Respelled));
    }
}

#[test]
fn every_vector_that_keeps_our_rules_is_printed_from_our_decision() {
    let decisions: Vec<_> = vectors()
        .iter()
        .filter_map(|vector| {
            let decision = import(bytes(vector).as_bytes()).unwrap();
            let decision = decision.decision()?;
            assert_eq!(print(decision), bytes(vector));
            Some(decision.verdict().to_string())
        })
        .collect();
    expect![[r#"
        commit: 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881
        commit: da39a3ee5e6b4b0d3255bfef95601890afd80709
        checkpoint: ckpt-7
        abandon: goal impossible"#]]
    .assert_eq(&decisions.join("\n"));
}

#[test]
fn every_vector_has_the_object_hash_that_the_real_crate_gives() {
    for vector in vectors() {
        assert_eq!(bytes(&vector).len() as u64, vector["len"].as_u64().unwrap());
        assert_eq!(object_hash(Kind::Decision, bytes(&vector)).to_string(), vector["object_hash_sha256"]);
    }
}

#[test]
fn every_vector_lists_what_we_would_have_refused() {
    let lines: String = vectors()
        .iter()
        .map(|vector| {
            let imported = import(bytes(vector).as_bytes()).unwrap();
            let violations: Vec<String> = imported.violations.iter().map(ToString::to_string).collect();
            format!("{}: {violations:?}\n", vector["decision_type_debug"])
        })
        .collect();
    expect![[r#"
        "Commit": []
        "Commit": ["result_commit_sha: taken for the sha-1 name da39a3ee5e6b4b0d3255bfef95601890afd80709, filled up with zeros"]
        "Checkpoint": []
        "Abandon": []
        "Retry": ["rationale: missing, the verdict `retry` needs it"]
        "Rollback": ["decision_type: a rollback does not say which decision it undoes"]
        "Other(\"x\")": ["rationale: missing, the verdict `other` needs it"]
    "#]].assert_eq(&lines);
}

const COMMIT: &str = r#"{"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","object_type":"decision","version":1,"created_at":"2026-11-21T20:49:30.166608121Z","created_by":{"kind":"agent","id":"coder-1"},"run_id":"01900000-0000-7000-8000-000000000001","decision_type":"commit","chosen_patchset_id":"00000000-0000-0000-0000-000000000002","result_commit_sha":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}"#;

/// The commit that it names.
const HASH: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

/// Replaces texts in [`COMMIT`] and imports the result: violations, and what is printed again if it is not the same.
fn check(changes: &[(&str, &str)], expected: Expect) {
    let mut json = String::from(COMMIT);
    for (old, new) in changes {
        assert!(json.contains(old), "{old} is not in the text");
        json = json.replacen(old, new, 1);
    }
    let text = match import_as(Kind::Decision, json.as_bytes()) {
        Ok(imported) => {
            assert_eq!(imported.object.is_some(), imported.violations.iter().all(Violation::is_harmless));
            assert_eq!(imported.print() != json, imported.violations.contains(&Violation::Respelled));
            assert_eq!(imported.original, json.as_bytes());
            let mut text: String =
                imported.violations.iter().map(|violation| format!("{violation}\n")).collect();
            if imported.print() == COMMIT {
                text.push_str("printed: the legal commit\n");
            } else if imported.print() != json {
                text.push_str(&format!("printed: {}\n", imported.print()));
            }
            text
        }
        Err(error) => format!("! {error}\n"),
    };
    expected.assert_eq(&text);
}

#[test]
fn a_legal_commit_has_no_violations() {
    check(
        &[],
        expect![[r#"
        printed: the legal commit
    "#]],
    );
}

#[test]
fn all_violations_are_listed_at_once() {
    check(
        &[
            ("01a1ffdf-0c36-7662-806b-85dcbc1f1c35", "00000000-0000-0000-0000-000000000000"),
            (r#""object_type":"decision""#, r#""object_type":"blob""#),
            (r#""version":1"#, r#""version":255"#),
            ("2026-11-21T", "+12026-11-21T"),
            (r#""kind":"agent""#, r#""kind":"Agent""#),
            ("coder-1", "  "),
            ("01900000-0000-7000-8000-000000000001", "00000000-0000-0000-0000-000000000000"),
            (r#""decision_type":"commit""#, r#""decision_type":"abandon""#),
            (r#"4881""#, r#"4881","checkpoint_id":"","rationale":"""#),
        ],
        expect![[r#"
            object_id: the id is nil (all zeros)
            object_type: "blob" stands in a decision
            version: 255 is not known
            created_at: "+12026-11-21T20:49:30.166608121Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
            created_by.kind: "Agent" is not a label: it reads like the reserved word `agent`
            created_by.id: the text is blank
            run_id: the id is nil (all zeros)
            checkpoint_id: the text is blank
            rationale: the text is blank
            chosen_patchset_id: the verdict `abandon` has no use for it
            result_commit_sha: the verdict `abandon` has no use for it
            checkpoint_id: the verdict `abandon` has no use for it
            rationale: missing, the verdict `abandon` needs it
        "#]],
    );
}

#[test]
fn a_commit_without_patch_set_and_result_is_no_decision() {
    check(
        &[(
            r#","chosen_patchset_id":"00000000-0000-0000-0000-000000000002","result_commit_sha":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881""#,
            "",
        )],
        expect![[r#"
            chosen_patchset_id: missing, the verdict `commit` needs it
            result_commit_sha: missing, the verdict `commit` needs it
        "#]],
    );
}

#[test]
fn other_words_are_kept_and_judged() {
    let other = |word| (r#""decision_type":"commit""#, word);
    check(
        &[other(r#""decision_type":"Commit""#)],
        expect![[r#"
            decision_type: "Commit" is not a label: it reads like the reserved word `commit`
        "#]],
    );
    check(
        &[other(r#""decision_type":"""#)],
        expect![[r#"
            decision_type: "" is not a label: write lower snake case of at most 64 characters, such as `answered`
        "#]],
    );
    check(
        &[other(r#""decision_type":"comit""#)],
        expect![[r#"
            decision_type: "comit" is not a label: it reads like the reserved word `commit`
        "#]],
    );
    check(
        &[other(r#""decision_type":"other""#)],
        expect![[r#"
            decision_type: "other" is not a label: it reads like the reserved word `other`
        "#]],
    );
}

#[test]
fn other_spellings_are_read_and_printed_as_git_internal_does() {
    check(
        &[(r#"{"object_id""#, r#" {"object_id""#)],
        expect![[r#"
            the spelling is not the one that git-internal writes
            printed: the legal commit
        "#]],
    );
    check(
        &[("01a1ffdf-0c36-7662-806b-85dcbc1f1c35", "{01A1FFDF-0C36-7662-806B-85DCBC1F1C35}")],
        expect![[r#"
            the spelling is not the one that git-internal writes
            printed: the legal commit
        "#]],
    );
    check(
        &[("20:49:30.166608121Z", "20:49:30.1+08:00")],
        expect![[r#"
        the spelling is not the one that git-internal writes
        printed: {"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","object_type":"decision","version":1,"created_at":"2026-11-21T12:49:30.100Z","created_by":{"kind":"agent","id":"coder-1"},"run_id":"01900000-0000-7000-8000-000000000001","decision_type":"commit","chosen_patchset_id":"00000000-0000-0000-0000-000000000002","result_commit_sha":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}
    "#]],
    );
    check(
        &[("2d711642", "2D711642")],
        expect![[r#"
            the spelling is not the one that git-internal writes
            printed: the legal commit
        "#]],
    );
    check(
        &[(r#"4881""#, r#"4881","checkpoint_id":null"#)],
        expect![[r#"
            the spelling is not the one that git-internal writes
            printed: the legal commit
        "#]],
    );
    check(
        &[(r#""decision_type":"commit""#, r#""decision_type":{"commit":null}"#)],
        expect![[r#"
            the spelling is not the one that git-internal writes
            printed: the legal commit
        "#]],
    );
}

#[test]
fn what_git_internal_refuses_is_refused_with_its_place() {
    let refused = [
        (r#""version":1"#, r#""version":256"#),
        (r#""version":1"#, r#""version":1,"version":1"#),
        (r#""id":"coder-1""#, r#""id":"coder-1","x":1"#),
        (r#""run_id":"01900000-0000-7000-8000-000000000001","#, ""),
        ("01900000-0000-7000-8000-000000000001", ""),
        (r#""decision_type":"commit""#, r#""decision_type":{"other":"x"}"#),
        (r#""decision_type":"commit""#, r#""decision_type":5"#),
        (
            "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
        ),
        ("2026-11-21T", "yesterday T"),
        ("166608121Z", "166608121+24:00"),
        ("\"run_id\"", "\"a-b\":1,\"run_id\""),
    ];
    let line = |(old, new)| format!("{}\n", import(COMMIT.replacen(old, new, 1).as_bytes()).unwrap_err());
    expect![[r#"
        $.version: 256 is not a whole number from 0 to 255
        $.version: duplicate key
        $.created_by.x: unknown key
        $.run_id: missing key
        $.run_id: "" is not a UUID
        $.decision_type.other: unknown key
        $.decision_type: expected a string, found a number
        $.result_commit_sha: "da39a3ee5e6b4b0d3255bfef95601890afd80709" is not a sha-256: expected 64 hexadecimal digits
        $.created_at: "yesterday T20:49:30.166608121Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
        $.created_at: "2026-11-21T20:49:30.166608121+24:00" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
        $["a-b"]: unknown key
    "#]].assert_eq(&refused.into_iter().map(line).collect::<String>());
}

#[test]
fn a_sha1_commit_is_filled_up_in_the_export_and_nowhere_else() {
    let decision = decided(1, 9, Verdict::Commit { patch_set: patch_set_id(2), commit: sha1() });
    assert!(
        print(&decision).contains("\"da39a3ee5e6b4b0d3255bfef95601890afd80709000000000000000000000000\"")
    );
    assert!(decision.print().contains("\"da39a3ee5e6b4b0d3255bfef95601890afd80709\""));
    let imported = import(print(&decision).as_bytes()).unwrap();
    assert_eq!(
        imported.violations,
        [Violation::PaddedSha1 { field: String::from("result_commit_sha"), commit: sha1() }]
    );
    assert_eq!(imported.decision(), Some(&decision));
}

/// A name that only ends in zeros was not filled up.
#[test]
fn a_sha256_name_may_end_in_zeros() {
    for end in ["00", "000000000000000000000001", "100000000000000000000000"] {
        check(&[(&HASH[HASH.len() - end.len()..], end)], expect![""]);
    }
}

#[test]
fn no_version_but_the_first_is_known() {
    check(
        &[(r#""version":1"#, r#""version":0"#)],
        expect![[r#"
            version: 0 is not known
        "#]],
    );
}

#[test]
fn a_zero_with_a_sign_is_a_fraction_as_git_internal_writes_it() {
    let (header, _) = COMMIT.split_once("\"run_id\"").unwrap();
    let json = format!("{}\"prompt\":\"x\",\"spec\":[-0,0]}}", header.replace("\"decision\"", "\"intent\""));
    let imported = import(json.as_bytes()).unwrap();
    assert_eq!(imported.print(), json.replace("-0,", "-0.0,"));
}

#[test]
fn every_four_hundredth_year_has_a_leap_day() {
    let at = |year: u32| {
        let json = COMMIT.replace("2026-11-21T20:49:30.166608121Z", &format!("{year}-02-29T20:49:30+00:00"));
        import(json.as_bytes()).ok().filter(|imported| imported.print().contains("-02-29T20:49:30Z"))
    };
    assert!(at(2000).is_some() && at(2400).is_some());
    assert!(at(2100).is_none() && at(2026).is_none());
}

#[test]
fn reason_and_rationale_share_a_field() {
    let rationale = Some(words("three ways were tried"));
    let (_, decision) = open_run(1).decide(abandon(), Closing { rationale, ..closing(9) }).unwrap();
    assert!(print(&decision).ends_with(r#""rationale":"goal impossible\n\nthree ways were tried"}"#));
}

#[test]
fn a_rollback_loses_what_it_undoes() {
    let decision =
        decided(1, 9, Verdict::Rollback { of: decision_id(8), reverted_to: Some(sha1()), patch_set: None });
    let imported = import(print(&decision).as_bytes()).unwrap();
    assert_eq!((imported.object, imported.violations), (None, vec![Violation::RollbackOfNothing]));
}
