//! What the strict parser refuses, and where it says the fault is.

use expect_test::{Expect, expect};
use trunkline_decision_objects::{
    ContextSnapshot, Decision, Evidence, Fault, Intent, ParseError, PatchSet, Plan, Provenance, RunRecord,
    Task,
};

const RUN: &str = r#"{"type":"run","version":1,"id":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","actor":{"kind":"agent","id":"coder-1"},"goal":"fix it"}"#;
const PATCH_SET: &str = r#"{"type":"patch_set","version":1,"id":"00000000-0000-0000-0000-000000000002","run":"00000000-0000-0000-0000-000000000001","files":[{"path":"a","change":"added"},{"path":"c","change":"renamed","from":"b","added_lines":0}],"diff_digest":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","diff":""}"#;
const EVIDENCE: &str = r#"{"type":"evidence","version":1,"id":"00000000-0000-0000-0000-000000000003","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","kind":"test","tool":"run_command","exit_code":101}"#;
const DECISION: &str = r#"{"type":"decision","version":1,"id":"00000000-0000-0000-0000-000000000009","run":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30Z","decided_by":{"kind":"agent","id":"coder-1"},"verdict":{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"},"evidence":["00000000-0000-0000-0000-000000000003"],"considered":[{"named":"change the test","reason":"no"}]}"#;

fn parse(json: &[u8]) -> Result<String, ParseError> {
    let text = String::from_utf8_lossy(json);
    match text.split("\"type\":\"").nth(1).and_then(|rest| rest.split('"').next()) {
        Some("run") => RunRecord::parse(json).map(|value| value.print()),
        Some("patch_set") => PatchSet::parse(json).map(|value| value.print()),
        Some("evidence") => Evidence::parse(json).map(|value| value.print()),
        Some("intent") => Intent::parse(json).map(|value| value.print()),
        Some("plan") => Plan::parse(json).map(|value| value.print()),
        Some("task") => Task::parse(json).map(|value| value.print()),
        Some("context_snapshot") => ContextSnapshot::parse(json).map(|value| value.print()),
        Some("provenance") => Provenance::parse(json).map(|value| value.print()),
        _ => Decision::parse(json).map(|value| value.print()),
    }
}

/// Replaces the first `old` in the text by `new`, and parses it; one line for each pair.
pub(crate) fn check(text: &str, changes: &[(&str, &str)], expected: Expect) {
    assert_eq!(parse(text.as_bytes()).as_deref(), Ok(text));
    let line = |&(old, new): &(&str, &str)| {
        assert!(text.contains(old), "{old} is not in the text");
        match parse(text.replacen(old, new, 1).as_bytes()) {
            Ok(_) => String::from("accepted\n"),
            Err(error) => format!("{error}\n"),
        }
    };
    expected.assert_eq(&changes.iter().map(line).collect::<String>());
}

#[test]
fn keys_are_known_single_and_complete() {
    check(
        DECISION,
        &[
            (r#""evidence":"#, r#""surprise":1,"evidence":"#),
            (r#""id":"coder-1""#, r#""id":"coder-1","x":1"#),
            (r#""kind":"commit""#, r#""kind":"commit","kind":"commit""#),
            (r#""version":1"#, r#""version":1,"version":1"#),
            (r#""considered":[{"#, r#""considered":[{"patch_set":"00000000-0000-0000-0000-000000000004","#),
            (r#","considered":[{"named":"change the test","reason":"no"}]"#, ""),
            (r#","reason":"no""#, ""),
            (r#""kind":"commit","#, ""),
            (r#""evidence":"#, "\"\\u001b[31m\":1,\"evidence\":"),
        ],
        expect![[r#"
            $.surprise: unknown key
            $.decided_by.x: unknown key
            $.verdict.kind: duplicate key
            $.version: duplicate key
            $.considered[0].named: unknown key
            $.considered: missing key
            $.considered[0].reason: missing key
            $.verdict.kind: missing key
            $["\u{1b}[31m"]: unknown key
        "#]],
    );
}

#[test]
fn a_verdict_carries_its_own_fields_only() {
    check(
        DECISION,
        &[
            (r#""kind":"commit""#, r#""kind":"checkpoint","checkpoint":"n1""#),
            (r#""kind":"commit""#, r#""kind":"commit","checkpoint":"n1""#),
            (r#""patch_set":"00000000-0000-0000-0000-000000000002","#, ""),
            (r#""kind":"commit""#, r#""kind":"Commit""#),
            (r#""kind":"commit""#, r#""kind":"answered""#),
            (r#""kind":"commit""#, r#""kind":"other","label":"commit""#),
            (r#""kind":"commit""#, r#""kind":{"commit":null}"#),
            (r#""kind":"commit""#, r#""kind":null"#),
        ],
        expect![[r#"
            $.verdict.patch_set: unknown key
            $.verdict.checkpoint: unknown key
            $.verdict.patch_set: missing key
            $.verdict.kind: "Commit" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
            $.verdict.kind: "answered" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
            $.verdict.label: "commit" is not a label: it reads like the reserved word `commit`
            $.verdict.kind: expected a string, found an object
            $.verdict.kind: expected a string, found null
        "#]],
    );
}

#[test]
fn the_state_of_a_checkpoint_says_where_the_files_are_or_that_they_are_nowhere() {
    const KEPT: &str = r#""kept":{"tree":"da39a3ee5e6b4b0d3255bfef95601890afd80709","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709","ref":"refs/kept/1"}"#;
    let verdict = format!(r#"{{"kind":"checkpoint","checkpoint":"n1","state":{{"node":"n1",{KEPT}}}}}"#);
    let commit = r#"{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}"#;
    let zeros = r#""tree":"0000000000000000000000000000000000000000""#;
    check(
        &DECISION.replace(commit, &verdict),
        &[
            (r#""node":"n1","#, ""),
            (r#""node":"n1""#, r#""node":" ""#),
            (KEPT, r#""not_kept":"""#),
            (KEPT, r#""not_kept":"no git","why":"no""#),
            (r#""kept":{"#, r#""not_kept":"no git","kept":{"#),
            (&format!(",{KEPT}"), ""),
            (r#""tree":"da39a3ee5e6b4b0d3255bfef95601890afd80709","#, ""),
            (r#""tree":"da39a3ee"#, r#""tree":"DA39A3EE"#),
            (r#""tree":"da39a3ee5e6b4b0d3255bfef95601890afd80709""#, zeros),
            (r#""ref":"refs/kept/1""#, r#""ref":1"#),
            (r#""ref":"refs/kept/1""#, r#""ref":"refs/kept/1","branch":"main""#),
            (r#""state":{"#, r#""state":null,"state":{"#),
        ],
        expect![[r#"
            $.verdict.state.node: missing key
            $.verdict.state.node: the text is blank
            $.verdict.state.not_kept: the text is blank
            $.verdict.state.why: unknown key
            $.verdict.state.not_kept: unknown key
            $.verdict.state.not_kept: missing key
            $.verdict.state.kept.tree: missing key
            $.verdict.state.kept.tree: "DA39A3EE5e6b4b0d3255bfef95601890afd80709" must be spelled "da39a3ee5e6b4b0d3255bfef95601890afd80709"
            $.verdict.state.kept.tree: the name of the git object is all zeros, which is git's word for none
            $.verdict.state.kept.ref: expected a string, found a number
            $.verdict.state.kept.branch: unknown key
            $.verdict.state: expected an object, found null
        "#]],
    );
}

#[test]
fn values_are_spelled_in_one_way() {
    check(
        DECISION,
        &[
            ("00000000-0000-0000-0000-000000000009", "00000000000000000000000000000009"),
            ("da39a3ee", "DA39A3EE"),
            ("da39a3ee5e6b4b0d3255bfef95601890afd80709", "da39a3e"),
            ("20:49:30Z", "20:49:30.000Z"),
            ("20:49:30Z", "20:49:30+00:00"),
            (r#""version":1"#, r#""version":2"#),
            (r#""version":1"#, r#""version":1.0"#),
            (r#""version":1"#, r#""version":"1""#),
            (r#""type":"decision""#, r#""type":"verdict""#),
            (r#""evidence":["#, r#""rationale":null,"evidence":["#),
            (r#""evidence":["#, r#""rationale":" ","evidence":["#),
            ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000000"),
        ],
        expect![[r#"
            $.id: "00000000000000000000000000000009" must be spelled "00000000-0000-0000-0000-000000000009"
            $.verdict.commit: "DA39A3EE5e6b4b0d3255bfef95601890afd80709" must be spelled "da39a3ee5e6b4b0d3255bfef95601890afd80709"
            $.verdict.commit: "da39a3e" is not a git object id: expected 40 or 64 hexadecimal digits
            $.at: "2026-11-21T20:49:30.000Z" must be spelled "2026-11-21T20:49:30Z"
            $.at: "2026-11-21T20:49:30+00:00" must be spelled "2026-11-21T20:49:30Z"
            $.version: version 2 is not known; this release reads version 1
            $.version: 1.0 is not a whole number from 0 to 4294967295
            $.version: expected a number, found a string
            $.type: "verdict" is not a word that can stand here; expected decision
            $.rationale: expected a string, found null
            $.rationale: the text is blank
            $.run: the id is nil (all zeros)
        "#]],
    );
}

#[test]
fn lists_say_which_item() {
    check(
        DECISION,
        &[
            (r#"["00000000-0000-0000-0000-000000000003"]"#, r#"["00000000-0000-0000-0000-000000000003",5]"#),
            (
                r#"["00000000-0000-0000-0000-000000000003"]"#,
                r#"["00000000-0000-0000-0000-000000000003","00000000-0000-0000-0000-000000000003"]"#,
            ),
            (r#""reason":"no""#, r#""reason":"""#),
            (r#"[{"named""#, r#"[[],{"named""#),
            (r#""considered":[{"named":"change the test","reason":"no"}]"#, r#""considered":{}"#),
        ],
        expect![[r#"
            $.evidence[1]: expected a string, found a number
            $: evidence 00000000-0000-0000-0000-000000000003 is listed twice
            $.considered[0].reason: the text is blank
            $.considered[0]: expected an object, found an array
            $.considered: expected an array, found an object
        "#]],
    );
}

#[test]
fn files_stay_inside_and_their_diff_is_theirs() {
    check(
        PATCH_SET,
        &[
            (r#""path":"a""#, r#""path":"../a""#),
            (r#""path":"a""#, r#""path":"c""#),
            (r#""from":"b""#, r#""from":"c""#),
            (r#""from":"b","#, ""),
            (r#""change":"added""#, r#""change":"added","from":"b""#),
            (r#""change":"added""#, r#""change":"created""#),
            (r#""added_lines":0"#, r#""added_lines":4294967296"#),
            (r#""added_lines":0"#, r#""added_lines":-1"#),
            (r#""diff":"""#, r#""diff":"+x\n""#),
            (r#""diff":"""#, r#""diff":null"#),
        ],
        expect![[r#"
            $.files[0].path: "../a" is not a path inside the workspace: it has an empty, `.` or `..` part
            $: the path c is touched twice
            $: the path c is renamed to itself
            $.files[1].from: missing key
            $.files[0].from: unknown key
            $.files[0].change: "created" is not a word that can stand here; expected added, modified, deleted or renamed
            $.files[1].added_lines: 4294967296 is not a whole number from 0 to 4294967295
            $.files[1].added_lines: -1 is not a whole number from 0 to 4294967295
            $: the diff has the digest 3dc6a6b0c2093bf9ee77c97d7702eefc19255c6186659c14d69a594d62c3df33, the record says e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
            $.diff: expected a string, found null
        "#]],
    );
}

#[test]
fn evidence_and_runs_are_strict_as_well() {
    check(
        EVIDENCE,
        &[
            ("101", "1e2"),
            ("101", "2147483648"),
            (r#""kind":"test""#, r#""kind":"benchmark""#),
            (r#""kind":"test""#, r#""kind":"other""#),
            (r#""kind":"test""#, r#""kind":"test","label":"benchmark""#),
            (r#""tool":"run_command""#, r#""tool":"""#),
        ],
        expect![[r#"
            $.exit_code: 1e2 is not a whole number from -2147483648 to 2147483647
            $.exit_code: 2147483648 is not a whole number from -2147483648 to 2147483647
            $.kind: "benchmark" is not a word that can stand here; expected test, lint, build or other
            $.label: missing key
            $.label: unknown key
            $.tool: the text is blank
        "#]],
    );
    check(
        RUN,
        &[
            (r#""id":"coder-1""#, r#""id":"  ""#),
            (r#""kind":"agent""#, r#""kind":"Agent""#),
            (r#""kind":"agent""#, r#""kind":"other","label":"robot""#),
            (r#""goal":"fix it""#, r#""goal":"fix it","retry_of":"00000000-0000-0000-0000-000000000001""#),
            (
                r#""goal":"fix it""#,
                r#""goal":"","retry_of":"00000000-0000-0000-0000-000000000004","continues":"00000000-0000-0000-0000-000000000005""#,
            ),
            (r#""goal":"fix it""#, r#""goal":"\ud800""#),
        ],
        expect![[r#"
            $.actor.id: the text is blank
            $.actor.kind: "Agent" is not a word that can stand here; expected human, agent, system, mcp_client or other
            accepted
            $: run 00000000-0000-0000-0000-000000000001 cannot retry or continue itself
            $.continues: unknown key
            $.goal: not valid JSON: unexpected end of hex escape at line 1 column 8
        "#]],
    );
}

#[test]
fn what_is_no_json_object_is_refused() {
    let line = |json: &[u8]| format!("{}\n", Decision::parse(json).unwrap_err());
    let texts: [&[u8]; 8] = [b"", b"[]", b"null", b"12", b"{", b"{} x", b"\xff{}", b"{\"a\":\"\xff\"}"];
    expect![[r#"
        $: not valid JSON: EOF while parsing a value at line 1 column 0
        $: expected an object, found an array
        $: expected an object, found null
        $: expected an object, found a number
        $: not valid JSON: EOF while parsing an object at line 1 column 1
        $: not valid JSON: trailing characters at line 1 column 4
        $: not valid JSON: invalid utf-8 sequence of 1 bytes from index 0
        $: not valid JSON: invalid utf-8 sequence of 1 bytes from index 6
    "#]]
    .assert_eq(&texts.into_iter().map(line).collect::<String>());
}

#[test]
fn an_object_ends_at_its_brace() {
    assert!(RunRecord::parse(RUN.as_bytes()).is_ok());
    for (place, _) in RUN.match_indices(',') {
        let mut cut = RUN.to_owned();
        cut.replace_range(place..=place, "}");
        assert!(RunRecord::parse(cut.as_bytes()).is_err(), "{cut}");
    }
    assert!(RunRecord::parse(RUN.replacen('{', "{}", 1).as_bytes()).is_err());
}

#[test]
fn a_hostile_depth_is_not_followed() {
    let deep = format!("{{\"type\":{}", "[".repeat(100_000));
    assert!(matches!(Decision::parse(deep.as_bytes()).unwrap_err().fault(), Fault::Syntax { .. }));
    let closed = format!("{{\"x\":{}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(Decision::parse(closed.as_bytes()).unwrap_err().path(), "$.type");
}
