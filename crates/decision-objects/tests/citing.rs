//! What a decision points at, and what evidence points back.

use expect_test::{Expect, expect};
use trunkline_decision_objects::{
    Citations, Closing, Cost, Decision, Digest, Evidence, FileState, Finding, NonBlank, RelativePath,
};

use crate::given::{abandon, at, closing, decision_id, evidence, evidence_id, open_run, run_id, words};
use crate::strict_parsing::check;

fn names(texts: &[&str]) -> Vec<NonBlank> {
    texts.iter().map(|text| words(text)).collect()
}

/// A file by its content before and after; `-` where there is none.
fn file(path: &str, before: &str, after: &str) -> FileState {
    let state = |text: &str| (text != "-").then(|| Digest::of(text.as_bytes()));
    let path = RelativePath::new(path).expect("a test path is legal");
    FileState { path, before: state(before), after: state(after) }
}

fn cost() -> Cost {
    Cost {
        input_tokens: 1200,
        output_tokens: 300,
        cache_read_tokens: 40_000,
        cache_write_tokens: 800,
        microdollars: Some(21_500),
    }
}

fn citing(cites: Citations) -> Result<Decision, String> {
    let decided = open_run(1).decide(abandon(), Closing { cites, ..closing(9) });
    decided.map(|(_, decision)| decision).map_err(|undecided| undecided.cause.to_string())
}

fn everything() -> Decision {
    citing(Citations {
        nodes: names(&["n12", "n3"]),
        proposals: names(&["p2", "p1"]),
        files: vec![file("src/new.rs", "-", "new"), file("src/lib.rs", "old", "-"), file("a", "1", "2")],
        cost: Some(cost()),
    })
    .expect("nothing is cited twice")
}

#[test]
fn names_stay_in_their_order_and_files_stand_in_that_of_their_paths() {
    let text = everything().print();
    expect![[r#""cites":{"nodes":["n12","n3"],"proposals":["p2","p1"],"files":[{"path":"a","before":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b","after":"d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35"},{"path":"src/lib.rs","before":"cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"},{"path":"src/new.rs","after":"11507a0e2f5e69d5dfa40a62a1bd7b6ee57e6bcd85c67c9b8431b36fff21c437"}],"cost":{"input_tokens":1200,"output_tokens":300,"cache_read_tokens":40000,"cache_write_tokens":800,"microdollars":21500}}}"#]].assert_eq(text.split_at(text.find("\"cites\"").unwrap()).1);
    assert_eq!(everything().cites().files[0].path.as_str(), "a");
}

#[test]
fn who_cites_nothing_says_nothing() {
    let decision = citing(Citations::default()).unwrap();
    assert!(decision.cites().is_empty() && !decision.print().contains("cites"));
}

#[test]
fn nothing_is_cited_twice() {
    let refused = |cites: Citations, expected: Expect| expected.assert_eq(&citing(cites).unwrap_err());
    let nothing = Citations::default;
    refused(
        Citations { nodes: names(&["n1", "n2", "n1"]), ..nothing() },
        expect![[r#""n1" is cited twice"#]],
    );
    refused(Citations { proposals: names(&["p1", "p1"]), ..nothing() }, expect![[r#""p1" is cited twice"#]]);
    let twice = vec![file("a", "1", "2"), file("b", "1", "2"), file("a", "-", "2")];
    refused(Citations { files: twice, ..nothing() }, expect![[r#""a" is cited twice"#]]);
    let never = vec![file("a", "-", "-")];
    refused(
        Citations { files: never, ..nothing() },
        expect!["the file a is cited, and was there neither before nor after"],
    );
    // A node and a proposal may have the same name: they are names of two kinds.
    assert!(citing(Citations { nodes: names(&["1"]), proposals: names(&["1"]), ..nothing() }).is_ok());
}

#[test]
fn tokens_are_added_without_going_round() {
    assert_eq!(cost().total_tokens(), Some(42_300));
    let full = Cost { input_tokens: u64::MAX, output_tokens: 0, ..Cost::default() };
    assert_eq!(full.total_tokens(), Some(u64::MAX));
    assert_eq!(Cost { cache_write_tokens: 1, ..full }.total_tokens(), None);
}

#[test]
fn cited_things_are_read_strictly() {
    let bare = r#""cites":{"nodes":[],"proposals":[],"files":[]}"#;
    let text = everything().print();
    let cites = text.get(text.find("\"cites\"").unwrap()..text.len() - 1).unwrap().to_owned();
    check(
        &text,
        &[
            (&cites, bare),
            (&cites, r#""cites":null"#),
            (&cites, r#""cites":{}"#),
            (r#""n3""#, r#""n12""#),
            (r#""p2""#, r#""""#),
            (r#""path":"src/lib.rs""#, r#""path":"a""#),
            (r#""path":"src/lib.rs""#, r#""path":"/lib.rs""#),
            (
                r#""before":"6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b""#,
                r#""before":null"#,
            ),
            (r#""output_tokens":300"#, r#""output_tokens":-1"#),
            (r#""output_tokens":300,"#, ""),
            (r#""microdollars":21500"#, r#""microdollars":0.0215"#),
            (r#""microdollars":21500"#, r#""microdollars":21500,"total":1"#),
        ],
        expect![[r#"
            $.cites: nothing is cited: leave `cites` out
            $.cites: expected an object, found null
            $.cites.nodes: missing key
            $.cites: "n12" is cited twice
            $.cites.proposals[0]: the text is blank
            $.cites: "a" is cited twice
            $.cites.files[1].path: "/lib.rs" is not a path inside the workspace: it is absolute
            $.cites.files[0].before: expected a string, found null
            $.cites.cost.output_tokens: -1 is not a whole number from 0 to 18446744073709551615
            $.cites.cost.output_tokens: missing key
            $.cites.cost.microdollars: 0.0215 is not a whole number from 0 to 18446744073709551615
            $.cites.cost.total: unknown key
        "#]],
    );
}

fn evidence_for(number: u128, decision: u128) -> Evidence {
    let finding = Finding { output: Some(Digest::of(b"1 failed")), ..evidence(3, 1).finding().clone() };
    Evidence::new(evidence_id(number), run_id(1), at(), None, Some(decision_id(decision)), finding)
}

#[test]
fn evidence_may_name_its_decision_and_what_was_printed() {
    expect![[r#"{"type":"evidence","version":1,"id":"00000000-0000-0000-0000-000000000003","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30.166608121Z","decision":"00000000-0000-0000-0000-000000000009","kind":"test","tool":"run_command","command":"cargo test","exit_code":101,"output":"91bd58c83335b24dadd9f8ebb7aa193b272dd033949486fca9499c4e0bb7d1ab"}"#]].assert_eq(&evidence_for(3, 9).print());
}

#[test]
fn evidence_and_decision_name_each_other() {
    let decide = |evidence: &[Evidence]| {
        let decided = open_run(1).decide(abandon(), Closing { evidence, ..closing(9) });
        decided.map(|(_, decision)| decision).map_err(|undecided| undecided.cause.to_string())
    };
    // Evidence from before decisions were named by it still counts.
    let decision = decide(&[evidence_for(3, 9), evidence(4, 1)]).unwrap();
    expect!["evidence 00000000-0000-0000-0000-000000000003 is named by decision 00000000-0000-0000-0000-000000000009, and itself names decision 00000000-0000-0000-0000-000000000008"].assert_eq(&decide(&[evidence_for(3, 8)]).unwrap_err());

    let stored = [evidence_for(3, 9), evidence(4, 1)];
    assert_eq!(decision.check_grounds(&[], &stored), Ok(()));
    let beside = |one: Evidence| {
        let handed = [stored.as_slice(), &[one]].concat();
        decision.check_grounds(&[], &handed).map_err(|error| error.to_string())
    };
    assert_eq!(beside(evidence_for(5, 8)), Ok(()));
    expect!["evidence 00000000-0000-0000-0000-000000000005 names decision 00000000-0000-0000-0000-000000000009, which does not rest on it"].assert_eq(&beside(evidence_for(5, 9)).unwrap_err());
}
