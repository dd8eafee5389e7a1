//! What git-internal 0.10.4 takes and we do not: its leniencies one by one, said in our form.
//!
//! The rows are those that were found by trying the real crate (November 2026). Its own text and its own answers stand
//! in the package that has it as a dependency; here stands what our parser and our constructors say to the same thing.

use expect_test::{Expect, expect};
use trunkline_decision_objects::{
    Admission, Closing, Decision, Decisions, Digest, Evidence, Family, Label, Opening, PatchSet, Predecessor,
    Run, Verdict, Violation,
};

use crate::given::{
    abandon, closing, decided, decision_id, evidence, open_run, opening, patch_set, patch_set_id, run_id,
    sha1,
};

const COMMIT: &str = r#"{"type":"decision","version":1,"id":"00000000-0000-0000-0000-000000000009","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","decided_by":{"kind":"agent","id":"coder-1"},"verdict":{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"},"rationale":"done","evidence":[],"considered":[]}"#;
const VERDICT: &str = r#"{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}"#;

/// What is tried, what is replaced in the decision, and by what; one line for each.
fn check(rows: &[(&str, &str, &str)], expected: Expect) {
    assert_eq!(Decision::parse(COMMIT.as_bytes()).map(|decision| decision.print()).as_deref(), Ok(COMMIT));
    let line = |&(what, old, new): &(&str, &str, &str)| {
        assert!(COMMIT.contains(old), "{old} is not in the text");
        let answer = match Decision::parse(COMMIT.replacen(old, new, 1).as_bytes()) {
            Ok(_) => String::from("accepted"),
            Err(error) => error.to_string(),
        };
        row(what, &answer)
    };
    expected.assert_eq(&rows.iter().map(line).collect::<String>());
}

/// The values of [`COMMIT`] in their order, without their keys: some readers take a list for a record.
fn array_form() -> String {
    let entries: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(COMMIT).expect("it is JSON");
    let order = [
        "type",
        "version",
        "id",
        "run",
        "at",
        "decided_by",
        "verdict",
        "rationale",
        "evidence",
        "considered",
    ];
    serde_json::to_string(&order.map(|key| &entries[key])).expect("JSON prints")
}

fn row(what: &str, answer: &str) -> String {
    format!("{what:44} | {answer}\n")
}

#[test]
fn what_the_original_accepts_silently() {
    check(
        &[
            ("a commit without patch set and commit", VERDICT, r#"{"kind":"commit"}"#),
            ("a commit without its commit", r#","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709""#, ""),
            (
                "an abandon with patch set and commit",
                r#""kind":"commit","#,
                r#""kind":"abandon","reason":"no","#,
            ),
            ("an abandon with a checkpoint", VERDICT, r#"{"kind":"abandon","reason":"no","checkpoint":"c"}"#),
            ("a nil run", "000000000001", "000000000000"),
            ("a nil id", "000000000009", "000000000000"),
            ("an intent in a decision", r#""type":"decision""#, r#""type":"intent""#),
            ("a blob in a decision", r#""type":"decision""#, r#""type":"blob""#),
            ("a delta in a decision", r#""type":"decision""#, r#""type":"offset_zstdelta""#),
            ("version 0", r#""version":1"#, r#""version":0"#),
            ("version 255", r#""version":1"#, r#""version":255"#),
            ("the year 12026", "2026-11-21", "+12026-11-21"),
            ("the year 1", "2026-11-21", "0001-11-21"),
            ("a time with an offset", "20:49:30Z", "20:49:30+08:00"),
            ("an actor without a name", r#""id":"coder-1""#, r#""id":"""#),
            ("an actor whose name is blank", r#""id":"coder-1""#, r#""id":"   ""#),
            ("an actor of no kind", r#""kind":"agent""#, r#""kind":"""#),
            ("an actor of a misspelt kind", r#""kind":"agent""#, r#""kind":"Agent""#),
            ("a verdict without a word", r#""kind":"commit""#, r#""kind":"""#),
            ("a verdict in another case", r#""kind":"commit""#, r#""kind":"Commit""#),
            ("a verdict with one letter less", r#""kind":"commit""#, r#""kind":"comit""#),
            ("a verdict that is an object", r#""kind":"commit""#, r#""kind":{"commit":null}"#),
            ("an empty rationale", r#""rationale":"done""#, r#""rationale":"""#),
            ("an explicit null", r#""rationale":"done""#, r#""rationale":null"#),
            ("a commit in upper case", "da39a3ee", "DA39A3EE"),
            (
                "an id without hyphens",
                "00000000-0000-0000-0000-000000000009",
                "00000000000000000000000000000009",
            ),
            (
                "an id in braces",
                "00000000-0000-0000-0000-000000000009",
                "{00000000-0000-0000-0000-000000000009}",
            ),
            (
                "an id in capitals",
                "00000000-0000-0000-0000-000000000009",
                "0000000A-0000-0000-0000-000000000009",
            ),
        ],
        expect![[r#"
            a commit without patch set and commit        | $.verdict.patch_set: missing key
            a commit without its commit                  | $.verdict.commit: missing key
            an abandon with patch set and commit         | $.verdict.patch_set: unknown key
            an abandon with a checkpoint                 | $.verdict.checkpoint: unknown key
            a nil run                                    | $.run: the id is nil (all zeros)
            a nil id                                     | $.id: the id is nil (all zeros)
            an intent in a decision                      | $.type: "intent" is not a word that can stand here; expected decision
            a blob in a decision                         | $.type: "blob" is not a word that can stand here; expected decision
            a delta in a decision                        | $.type: "offset_zstdelta" is not a word that can stand here; expected decision
            version 0                                    | $.version: version 0 is not known; this release reads version 1
            version 255                                  | $.version: version 255 is not known; this release reads version 1
            the year 12026                               | $.at: "+12026-11-21T20:49:30Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
            the year 1                                   | $.at: "0001-11-21T20:49:30Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
            a time with an offset                        | $.at: "2026-11-21T20:49:30+08:00" must be spelled "2026-11-21T12:49:30Z"
            an actor without a name                      | $.decided_by.id: the text is blank
            an actor whose name is blank                 | $.decided_by.id: the text is blank
            an actor of no kind                          | $.decided_by.kind: "" is not a word that can stand here; expected human, agent, system, mcp_client or other
            an actor of a misspelt kind                  | $.decided_by.kind: "Agent" is not a word that can stand here; expected human, agent, system, mcp_client or other
            a verdict without a word                     | $.verdict.kind: "" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
            a verdict in another case                    | $.verdict.kind: "Commit" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
            a verdict with one letter less               | $.verdict.kind: "comit" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
            a verdict that is an object                  | $.verdict.kind: expected a string, found an object
            an empty rationale                           | $.rationale: the text is blank
            an explicit null                             | $.rationale: expected a string, found null
            a commit in upper case                       | $.verdict.commit: "DA39A3EE5e6b4b0d3255bfef95601890afd80709" must be spelled "da39a3ee5e6b4b0d3255bfef95601890afd80709"
            an id without hyphens                        | $.id: "00000000000000000000000000000009" must be spelled "00000000-0000-0000-0000-000000000009"
            an id in braces                              | $.id: "{00000000-0000-0000-0000-000000000009}" must be spelled "00000000-0000-0000-0000-000000000009"
            an id in capitals                            | $.id: "0000000A-0000-0000-0000-000000000009" must be spelled "0000000a-0000-0000-0000-000000000009"
        "#]],
    );
}

/// What shows only beside something else: another decision, the digest, the text as it was before.
#[test]
fn what_the_original_lets_pass_because_it_looks_at_one_text() {
    let first = Decision::parse(COMMIT.as_bytes()).unwrap();
    let edit = |old: &str, new: &str| COMMIT.replacen(old, new, 1);
    let second = Decision::parse(edit("000000000009", "000000000010").as_bytes()).unwrap();
    let mut stored = Decisions::new();
    assert_eq!(stored.admit(first.clone()), Ok(Admission::New));
    assert_eq!(stored.admit(first.clone()), Ok(Admission::Known));
    let family: Family = [first.clone(), second.clone()].into_iter().collect();
    let wrong: Vec<Violation> = family.violations().into_iter().filter(|one| !one.is_dangling()).collect();
    let verified = |json: &str| match Decision::parse_verified(json.as_bytes(), first.digest()) {
        Ok(decision) => format!("accepted: {decision}"),
        Err(error) => error.to_string(),
    };
    let rows = [
        ("two decisions for one run, in a store", stored.admit(second).unwrap_err().to_string()),
        ("two decisions for one run, in a set", wrong.iter().map(ToString::to_string).collect()),
        ("its digest", verified(COMMIT)),
        ("a wrong content hash", verified(&edit("da39a3ee", "ea39a3ee"))),
        ("an edit after parsing", verified(&edit("done", "well done"))),
        (
            "another order of keys",
            verified(&edit(r#""evidence":[],"considered":[]"#, r#""considered":[],"evidence":[]"#)),
        ),
    ];
    expect![[r#"
        two decisions for one run, in a store        | run 00000000-0000-0000-0000-000000000001 was already decided, by 00000000-0000-0000-0000-000000000009
        two decisions for one run, in a set          | decision 00000000-0000-0000-0000-000000000010: run 00000000-0000-0000-0000-000000000001 was already decided, by 00000000-0000-0000-0000-000000000009
        its digest                                   | accepted: Decision: 00000000-0000-0000-0000-000000000009
        a wrong content hash                         | $: the digest is e440e0fd4a46a6016cea3ca56d5e50a832fa7139ad9e39c5d941796784a3988c, expected 31bc861576cb945a3491474d5a136d5c8d754dd28c488d5281f05130e7640b04
        an edit after parsing                        | $: the digest is 279b89e21f8f614810e7dd3aaf8aac94e9bd5b87fa7f0ef9c3112583b25108a3, expected 31bc861576cb945a3491474d5a136d5c8d754dd28c488d5281f05130e7640b04
        another order of keys                        | accepted: Decision: 00000000-0000-0000-0000-000000000009
    "#]].assert_eq(&rows.map(|(what, answer)| row(what, &answer)).concat());
}

/// Nothing in one decision shows that they are wrong: git knows which commits there are, the run when it was opened.
#[test]
fn what_one_decision_alone_cannot_show() {
    let sha256 = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    check(
        &[
            ("64 digits that name no commit", "da39a3ee5e6b4b0d3255bfef95601890afd80709", sha256),
            ("the year 9999", "2026-11-21", "9999-11-21"),
            ("white space before and after", COMMIT, &format!("\n {COMMIT}\t ")),
        ],
        expect![[r#"
            64 digits that name no commit                | accepted
            the year 9999                                | accepted
            white space before and after                 | accepted
        "#]],
    );
}

#[test]
fn what_the_original_rejects_too() {
    check(
        &[
            ("an unknown key", r#""run":"#, r#""foo":1,"run":"#),
            ("an unknown key of an actor", r#""id":"coder-1""#, r#""id":"coder-1","x":1"#),
            ("a key twice", r#""version":1"#, r#""version":1,"version":1"#),
            ("no verdict", &format!(r#""verdict":{VERDICT},"#), ""),
            ("no version", r#""version":1,"#, ""),
            ("an empty run", "00000000-0000-0000-0000-000000000001", ""),
            ("a malformed run", "00000000-0000-0000-0000-000000000001", "00000000-0000"),
            ("a commit of 41 digits", "da39a3ee", "0da39a3ee"),
            ("a commit with another letter", "da39a3ee", "za39a3ee"),
            ("a verdict that is a number", r#""kind":"commit""#, r#""kind":1"#),
            ("a verdict in the other form of other", r#""kind":"commit""#, r#""kind":{"other":"x"}"#),
            ("version 4294967296", r#""version":1"#, r#""version":4294967296"#),
            ("an array", COMMIT, "[]"),
            ("the array form", COMMIT, &array_form()),
            ("something behind it", COMMIT, &format!("{COMMIT}x")),
        ],
        expect![[r#"
            an unknown key                               | $.foo: unknown key
            an unknown key of an actor                   | $.decided_by.x: unknown key
            a key twice                                  | $.version: duplicate key
            no verdict                                   | $.verdict: missing key
            no version                                   | $.version: missing key
            an empty run                                 | $.run: "" is not a UUID
            a malformed run                              | $.run: "00000000-0000" is not a UUID
            a commit of 41 digits                        | $.verdict.commit: "0da39a3ee5e6b4b0d3255bfef95601890afd80709" is not a git object id: expected 40 or 64 hexadecimal digits
            a commit with another letter                 | $.verdict.commit: "za39a3ee5e6b4b0d3255bfef95601890afd80709" is not a git object id: expected 40 or 64 hexadecimal digits
            a verdict that is a number                   | $.verdict.kind: expected a string, found a number
            a verdict in the other form of other         | $.verdict.kind: expected a string, found an object
            version 4294967296                           | $.version: 4294967296 is not a whole number from 0 to 4294967295
            an array                                     | $: expected an object, found an array
            the array form                               | $: expected an object, found an array
            something behind it                          | $: not valid JSON: trailing characters at line 1 column 374
        "#]],
    );
}

/// The rules that git-internal documents and does not enforce, E1 to E15, at the smallest place that can enforce them.
///
/// E12 in full and E13 need more than one object; the rules of a whole family hold them.
#[test]
fn what_the_original_only_documents() {
    let commit = || Verdict::Commit { patch_set: patch_set_id(2), commit: sha1() };
    let decide = |verdict, patch_sets: &[PatchSet], evidence: &[Evidence]| {
        let decided = open_run(1).decide(verdict, Closing { patch_sets, evidence, ..closing(9) });
        decided.map(|(_, decision)| decision).map_err(|undecided| undecided.cause.to_string())
    };
    let mut stored = Decisions::new();
    for decision in [decided(1, 21, commit()), decided(2, 22, abandon())] {
        stored.admit(decision).unwrap();
    }
    let rollback = |of| Verdict::Rollback { of: decision_id(of), reverted_to: Some(sha1()), patch_set: None };
    let retry = Opening { predecessor: Some(Predecessor::RetryOf(run_id(2))), ..opening(5) };
    let retry = Run::open(retry).unwrap();
    let parsed = |old: &str, new: &str| Decision::parse(COMMIT.replacen(old, new, 1).as_bytes());
    let shown = |answer: Result<Decision, String>| match answer {
        Ok(_) => String::from("accepted"),
        Err(why) => why,
    };
    let strict = |old: &str, new: &str| shown(parsed(old, new).map_err(|error| error.to_string()));
    let no_target = r#"{"kind":"rollback","reverted_to":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}"#;
    let misspelt = r#"{"kind":"other","label":"rolback","reason":"x"}"#;
    let verified = |digest| {
        let parsed = Decision::parse_verified(COMMIT.as_bytes(), digest);
        shown(parsed.map_err(|error| error.to_string()))
    };
    let read = parsed("", "").unwrap();
    let rows = [
        ("E1  another decision of a run", stored.admit(decided(1, 23, abandon())).unwrap_err().to_string()),
        ("E2  a patch set of another run", shown(decide(commit(), &[patch_set(2, 7)], &[]))),
        ("E3  a commit without its patch set", strict(VERDICT, r#"{"kind":"commit","commit":"da39"}"#)),
        (
            "E4  a checkpoint id on a commit",
            strict(r#""kind":"commit""#, r#""kind":"commit","checkpoint":"c""#),
        ),
        ("E5  a rollback of nothing", strict(VERDICT, no_target)),
        ("E5  a rollback of an abandon", stored.admit(decided(3, 24, rollback(22))).unwrap_err().to_string()),
        (
            "E6  a retry of what was abandoned",
            stored.check_predecessor(retry.record()).unwrap_err().to_string(),
        ),
        ("E7  evidence of another run", shown(decide(abandon(), &[], &[evidence(3, 7)]))),
        ("E8  the same id again, changed", stored.admit(decided(8, 21, abandon())).unwrap_err().to_string()),
        ("E9  another type", strict(r#""type":"decision""#, r#""type":"run""#)),
        ("E10 an actor without a name", strict(r#""id":"coder-1""#, r#""id":"""#)),
        ("E11 an abbreviated commit", strict("da39a3ee5e6b4b0d3255bfef95601890afd80709", "da39a3e")),
        ("E11 a sha-1 commit", strict("", "")),
        ("E12 before 1970", strict("2026-11-21", "1969-11-21")),
        ("E14 another digest", verified(Digest::of(b""))),
        ("E14 its digest", verified(read.digest())),
        ("E15 a misspelt verdict as a label", strict(VERDICT, misspelt)),
        ("E15 a label in capitals", Label::new("Applied").unwrap_err().to_string()),
    ];
    expect![[r#"
        E1  another decision of a run                | run 00000000-0000-0000-0000-000000000001 was already decided, by 00000000-0000-0000-0000-000000000015
        E2  a patch set of another run               | patch set 00000000-0000-0000-0000-000000000002 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001
        E3  a commit without its patch set           | $.verdict.patch_set: missing key
        E4  a checkpoint id on a commit              | $.verdict.checkpoint: unknown key
        E5  a rollback of nothing                    | $.verdict.of: missing key
        E5  a rollback of an abandon                 | decision 00000000-0000-0000-0000-000000000016 cannot be rolled back: it ended its run as abandon, without changes
        E6  a retry of what was abandoned            | run 00000000-0000-0000-0000-000000000002 ended as abandon; only retry can be followed so
        E7  evidence of another run                  | evidence 00000000-0000-0000-0000-000000000003 belongs to run 00000000-0000-0000-0000-000000000007, not to run 00000000-0000-0000-0000-000000000001
        E8  the same id again, changed               | the decision id 00000000-0000-0000-0000-000000000015 is already used, for run 00000000-0000-0000-0000-000000000001
        E9  another type                             | $.type: "run" is not a word that can stand here; expected decision
        E10 an actor without a name                  | $.decided_by.id: the text is blank
        E11 an abbreviated commit                    | $.verdict.commit: "da39a3e" is not a git object id: expected 40 or 64 hexadecimal digits
        E11 a sha-1 commit                           | accepted
        E12 before 1970                              | $.at: "1969-11-21T20:49:30Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
        E14 another digest                           | $: the digest is 31bc861576cb945a3491474d5a136d5c8d754dd28c488d5281f05130e7640b04, expected e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
        E14 its digest                               | accepted
        E15 a misspelt verdict as a label            | $.verdict.label: "rolback" is not a label: it reads like the reserved word `rollback`
        E15 a label in capitals                      | "Applied" is not a label: write lower snake case of at most 64 characters, such as `answered`
    "#]].assert_eq(&rows.map(|(what, answer)| row(what, &answer)).concat());
}
