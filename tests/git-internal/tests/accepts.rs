//! What git-internal takes and refuses, what our importer makes of it, and what our strict parser says to the same in our
//! own form: one table.

use expect_test::expect;
use trunkline_decision_objects::Decision;
use trunkline_decision_objects::git_internal::{Kind, Violation, import_as};
use trunkline_git_internal::respelled;

const THEIRS: &str = r#"{"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","object_type":"decision","version":1,"created_at":"2026-11-21T20:49:30Z","created_by":{"kind":"agent","id":"coder-1"},"run_id":"01900000-0000-7000-8000-000000000001","decision_type":"commit","chosen_patchset_id":"00000000-0000-0000-0000-000000000002","result_commit_sha":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}"#;

const OURS: &str = r#"{"type":"decision","version":1,"id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","run":"01900000-0000-7000-8000-000000000001","at":"2026-11-21T20:49:30Z","decided_by":{"kind":"agent","id":"coder-1"},"verdict":{"kind":"commit","patch_set":"00000000-0000-0000-0000-000000000002","commit":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},"evidence":[],"considered":[]}"#;

/// What is said of a text, the old text and the new one there, and the same in our own form.
type Row = (&'static str, (&'static str, &'static str), (&'static str, &'static str));

const ID: &str = "01a1ffdf-0c36-7662-806b-85dcbc1f1c35";
const NIL: &str = "00000000-0000-0000-0000-000000000000";
const HASH: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
const TIME: &str = "2026-11-21T20:49:30Z";
const ZEROS: &str = "0000000000000000000000000000000000000000000000000000000000000000";
const HUGE: &str = r#""version":1000000000000000000000000000000000000000"#;
const NESTED: &str = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";
const END: &str = "4881\"}";
const RUN: &str = r#""run_id":"01900000-0000-7000-8000-000000000001""#;
const OUR_RUN: &str = r#""run":"01900000-0000-7000-8000-000000000001""#;
const COMMIT: &str = r#""decision_type":"commit""#;
const OUR_COMMIT: &str = r#""kind":"commit""#;

const ROWS: &[Row] = &[
    ("a legal commit", ("", ""), ("", "")),
    (
        "no patch set, no commit",
        (
            r#","chosen_patchset_id":"00000000-0000-0000-0000-000000000002","result_commit_sha":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881""#,
            "",
        ),
        (
            r#","patch_set":"00000000-0000-0000-0000-000000000002","commit":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881""#,
            "",
        ),
    ),
    (
        "abandon with patch set, commit, checkpoint",
        (COMMIT, r#""checkpoint_id":"c","decision_type":"abandon""#),
        (OUR_COMMIT, r#""kind":"abandon","reason":"x","checkpoint":"c""#),
    ),
    ("nil object_id", (ID, NIL), (ID, NIL)),
    (
        "nil run_id",
        ("01900000-0000-7000-8000-000000000001", NIL),
        ("01900000-0000-7000-8000-000000000001", NIL),
    ),
    (
        "object_type intent",
        (r#""object_type":"decision""#, r#""object_type":"intent""#),
        (r#""type":"decision""#, r#""type":"intent""#),
    ),
    (
        "object_type blob",
        (r#""object_type":"decision""#, r#""object_type":"blob""#),
        (r#""type":"decision""#, r#""type":"blob""#),
    ),
    (
        "object_type offset_zstdelta",
        (r#""object_type":"decision""#, r#""object_type":"offset_zstdelta""#),
        (r#""type":"decision""#, r#""type":"offset_zstdelta""#),
    ),
    ("version 0", (r#""version":1"#, r#""version":0"#), (r#""version":1"#, r#""version":0"#)),
    ("version 255", (r#""version":1"#, r#""version":255"#), (r#""version":1"#, r#""version":255"#)),
    ("year 9999", ("2026-11", "9999-11"), ("2026-11", "9999-11")),
    ("year 12026", ("2026-11", "+12026-11"), ("2026-11", "+12026-11")),
    ("an offset", (TIME, "2026-11-21T20:49:30+08:00"), (TIME, "2026-11-21T20:49:30+08:00")),
    ("a space for T", ("21T20", "21 20"), ("21T20", "21 20")),
    ("actor without a name", ("coder-1", ""), ("coder-1", "")),
    ("actor of no kind", (r#""kind":"agent""#, r#""kind":"""#), (r#""kind":"agent""#, r#""kind":"""#)),
    (
        "actor as an array",
        (r#"{"kind":"agent","id":"coder-1"}"#, r#"["agent","coder-1"]"#),
        (r#"{"kind":"agent","id":"coder-1"}"#, r#"["agent","coder-1"]"#),
    ),
    ("verdict of no word", (COMMIT, r#""decision_type":"""#), (OUR_COMMIT, r#""kind":"""#)),
    ("verdict \"Commit\"", (COMMIT, r#""decision_type":"Commit""#), (OUR_COMMIT, r#""kind":"Commit""#)),
    (
        "verdict {\"commit\":null}",
        (COMMIT, r#""decision_type":{"commit":null}"#),
        (OUR_COMMIT, r#""kind":{"commit":null}"#),
    ),
    ("rollback of nothing", (COMMIT, r#""decision_type":"rollback""#), (OUR_COMMIT, r#""kind":"rollback""#)),
    (
        "empty rationale",
        (END, r#"4881","rationale":""}"#),
        (r#","evidence""#, r#","rationale":"","evidence""#),
    ),
    (
        "explicit null",
        (END, r#"4881","rationale":null}"#),
        (r#","evidence""#, r#","rationale":null,"evidence""#),
    ),
    ("upper-case hash", ("2d7116", "2D7116"), ("2d7116", "2D7116")),
    (
        "a sha-1 name filled up",
        (HASH, "da39a3ee5e6b4b0d3255bfef95601890afd80709000000000000000000000000"),
        (HASH, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ),
    ("simple UUID", (ID, "01a1ffdf0c367662806b85dcbc1f1c35"), (ID, "01a1ffdf0c367662806b85dcbc1f1c35")),
    (
        "braced UUID",
        (ID, "{01a1ffdf-0c36-7662-806b-85dcbc1f1c35}"),
        (ID, "{01a1ffdf-0c36-7662-806b-85dcbc1f1c35}"),
    ),
    ("white space around", ("{\"object_id\"", "\n {\"object_id\""), ("{\"type\"", "\n {\"type\"")),
    (
        "unknown key",
        (RUN, r#""foo":1,"run_id":"01900000-0000-7000-8000-000000000001""#),
        (OUR_RUN, r#""foo":1,"run":"01900000-0000-7000-8000-000000000001""#),
    ),
    (
        "unknown key of the actor",
        (r#""id":"coder-1""#, r#""id":"coder-1","x":1"#),
        (r#""id":"coder-1""#, r#""id":"coder-1","x":1"#),
    ),
    (
        "run twice",
        (
            RUN,
            r#""run_id":"01900000-0000-7000-8000-000000000001","run_id":"01900000-0000-7000-8000-000000000001""#,
        ),
        (
            OUR_RUN,
            r#""run":"01900000-0000-7000-8000-000000000001","run":"01900000-0000-7000-8000-000000000001""#,
        ),
    ),
    (
        "version twice",
        (r#""version":1"#, r#""version":1,"version":1"#),
        (r#""version":1"#, r#""version":1,"version":1"#),
    ),
    ("no verdict", (r#""decision_type":"commit","#, ""), (r#""kind":"commit","#, "")),
    ("no version", (r#""version":1,"#, ""), (r#""version":1,"#, "")),
    (
        "empty run_id",
        ("01900000-0000-7000-8000-000000000001", ""),
        ("01900000-0000-7000-8000-000000000001", ""),
    ),
    (
        "no UUID",
        ("01900000-0000-7000-8000-000000000001", "run1"),
        ("01900000-0000-7000-8000-000000000001", "run1"),
    ),
    (
        "40 digits",
        (HASH, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
        (HASH, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ),
    ("no digits", ("2d7116", "zd7116"), ("2d7116", "zd7116")),
    ("verdict 5", (COMMIT, r#""decision_type":5"#), (OUR_COMMIT, r#""kind":5"#)),
    (
        "verdict {\"other\":\"x\"}",
        (COMMIT, r#""decision_type":{"other":"x"}"#),
        (OUR_COMMIT, r#""kind":{"other":"x"}"#),
    ),
    ("version 256", (r#""version":1"#, r#""version":256"#), (r#""version":1"#, r#""version":256"#)),
    ("trailing garbage", (END, "4881\"} x"), ("[]}", "[]} x")),
    ("a NUL after", (END, "4881\"}\0"), ("[]}", "[]}\0")),
    ("a byte order mark", ("{\"object_id\"", "\u{feff}{\"object_id\""), ("{\"type\"", "\u{feff}{\"type\"")),
    ("another object after", (END, "4881\"}{}"), ("[]}", "[]}{}")),
    ("a comma at the end", (END, "4881\",}"), ("[]}", "[],}")),
    ("version 1.0", (r#""version":1"#, r#""version":1.0"#), (r#""version":1"#, r#""version":1.0"#)),
    ("version 1e0", (r#""version":1"#, r#""version":1e0"#), (r#""version":1"#, r#""version":1e0"#)),
    ("version -0", (r#""version":1"#, r#""version":-0"#), (r#""version":1"#, r#""version":-0"#)),
    ("version 01", (r#""version":1"#, r#""version":01"#), (r#""version":1"#, r#""version":01"#)),
    ("version of 40 digits", (r#""version":1"#, HUGE), (r#""version":1"#, HUGE)),
    ("version null", (r#""version":1"#, r#""version":null"#), (r#""version":1"#, r#""version":null"#)),
    ("version as text", (r#""version":1"#, r#""version":"1""#), (r#""version":1"#, r#""version":"1""#)),
    ("a key by numbers", (r#""run_id""#, r#""\u0072un_id""#), (r#""run""#, r#""\u0072un""#)),
    (
        "run twice, once by numbers",
        (RUN, r#""run_id":"01900000-0000-7000-8000-000000000001","\u0072un_id":null"#),
        (OUR_RUN, r#""run":"01900000-0000-7000-8000-000000000001","\u0072un":null"#),
    ),
    (
        "a word by numbers",
        (COMMIT, r#""decision_type":"\u0063ommit""#),
        (OUR_COMMIT, r#""kind":"\u0063ommit""#),
    ),
    (
        "an id by numbers",
        (ID, r"\u00301a1ffdf-0c36-7662-806b-85dcbc1f1c35"),
        (ID, r"\u00301a1ffdf-0c36-7662-806b-85dcbc1f1c35"),
    ),
    ("half a surrogate", ("coder-1", r"\ud800"), ("coder-1", r"\ud800")),
    ("a control sign as it is", ("coder-1", "coder\u{1}"), ("coder-1", "coder\u{1}")),
    ("a control sign by its number", ("coder-1", r"coder\u0001"), ("coder-1", r"coder\u0001")),
    (
        "upper-case UUID",
        (ID, "01A1FFDF-0C36-7662-806B-85DCBC1F1C35"),
        (ID, "01A1FFDF-0C36-7662-806B-85DCBC1F1C35"),
    ),
    (
        "URN of a UUID",
        (ID, "urn:uuid:01a1ffdf-0c36-7662-806b-85dcbc1f1c35"),
        (ID, "urn:uuid:01a1ffdf-0c36-7662-806b-85dcbc1f1c35"),
    ),
    (
        "run null",
        (r#""01900000-0000-7000-8000-000000000001""#, "null"),
        (r#""01900000-0000-7000-8000-000000000001""#, "null"),
    ),
    (
        "patch set null",
        (r#""00000000-0000-0000-0000-000000000002""#, "null"),
        (r#""00000000-0000-0000-0000-000000000002""#, "null"),
    ),
    ("hash of zeros", (HASH, ZEROS), (HASH, ZEROS)),
    (
        "actor null",
        (r#"{"kind":"agent","id":"coder-1"}"#, "null"),
        (r#"{"kind":"agent","id":"coder-1"}"#, "null"),
    ),
    (
        "actor of two kinds",
        (r#""kind":"agent""#, r#""kind":"agent","kind":"human""#),
        (r#""kind":"agent""#, r#""kind":"agent","kind":"human""#),
    ),
    (
        "actor in 200 arrays",
        (r#"{"kind":"agent","id":"coder-1"}"#, NESTED),
        (r#"{"kind":"agent","id":"coder-1"}"#, NESTED),
    ),
    ("a leap second", (TIME, "2016-12-31T23:59:60Z"), (TIME, "2016-12-31T23:59:60Z")),
    ("before 1970", (TIME, "1969-12-31T23:59:59Z"), (TIME, "1969-12-31T23:59:59Z")),
    (
        "ten digits of a second",
        (TIME, "2026-11-21T20:49:30.0123456789Z"),
        (TIME, "2026-11-21T20:49:30.0123456789Z"),
    ),
    ("an array for all", ("{\"object_id\"", "[{\"object_id\""), ("{\"type\"", "[{\"type\"")),
];

fn changed(text: &str, (old, new): (&str, &str)) -> String {
    assert!(text.contains(old), "{old} is not in the text");
    text.replacen(old, new, 1)
}

#[test]
fn row_by_row() {
    let mut table = String::new();
    for (name, there, here) in ROWS {
        let json = changed(THEIRS, *there);
        let theirs = respelled(Kind::Decision, json.as_bytes());
        let imported = import_as(Kind::Decision, json.as_bytes());
        assert_eq!(theirs.is_ok(), imported.is_ok(), "{name}");
        let takes = match theirs {
            Ok(_) => String::from("takes it"),
            Err(error) => {
                let error = error.to_string();
                let error = error.strip_prefix("Error decode in the Object ,info:").unwrap_or(&error);
                format!("refuses: {}", error.split(" at line").next().unwrap_or_default())
            }
        };
        let lists = match imported {
            Ok(imported) => {
                let all: Vec<String> = imported.violations.iter().map(Violation::to_string).collect();
                let verdict = if imported.object.is_some() { "a decision" } else { "no decision" };
                [vec![String::from(verdict)], all].concat().join("; ")
            }
            Err(error) => format!("refuses: {error}"),
        };
        let strict = match Decision::parse(changed(OURS, *here).as_bytes()) {
            Ok(_) => String::from("takes it"),
            Err(error) => format!("refuses: {error}"),
        };
        table.push_str(&format!(
            "{name}\n  git-internal  {takes}\n  import        {lists}\n  strict        {strict}\n"
        ));
    }
    expect![[r#"
        a legal commit
          git-internal  takes it
          import        a decision
          strict        takes it
        no patch set, no commit
          git-internal  takes it
          import        no decision; chosen_patchset_id: missing, the verdict `commit` needs it; result_commit_sha: missing, the verdict `commit` needs it
          strict        refuses: $.verdict.patch_set: missing key
        abandon with patch set, commit, checkpoint
          git-internal  takes it
          import        no decision; chosen_patchset_id: the verdict `abandon` has no use for it; result_commit_sha: the verdict `abandon` has no use for it; checkpoint_id: the verdict `abandon` has no use for it; rationale: missing, the verdict `abandon` needs it; the spelling is not the one that git-internal writes
          strict        refuses: $.verdict.checkpoint: unknown key
        nil object_id
          git-internal  takes it
          import        no decision; object_id: the id is nil (all zeros)
          strict        refuses: $.id: the id is nil (all zeros)
        nil run_id
          git-internal  takes it
          import        no decision; run_id: the id is nil (all zeros)
          strict        refuses: $.run: the id is nil (all zeros)
        object_type intent
          git-internal  takes it
          import        no decision; object_type: "intent" stands in a decision
          strict        refuses: $.type: "intent" is not a word that can stand here; expected decision
        object_type blob
          git-internal  takes it
          import        no decision; object_type: "blob" stands in a decision
          strict        refuses: $.type: "blob" is not a word that can stand here; expected decision
        object_type offset_zstdelta
          git-internal  takes it
          import        no decision; object_type: "offset_zstdelta" stands in a decision
          strict        refuses: $.type: "offset_zstdelta" is not a word that can stand here; expected decision
        version 0
          git-internal  takes it
          import        no decision; version: 0 is not known
          strict        refuses: $.version: version 0 is not known; this release reads version 1
        version 255
          git-internal  takes it
          import        no decision; version: 255 is not known
          strict        refuses: $.version: version 255 is not known; this release reads version 1
        year 9999
          git-internal  takes it
          import        a decision
          strict        takes it
        year 12026
          git-internal  takes it
          import        no decision; created_at: "+12026-11-21T20:49:30Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
          strict        refuses: $.at: "+12026-11-21T20:49:30Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
        an offset
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.at: "2026-11-21T20:49:30+08:00" must be spelled "2026-11-21T12:49:30Z"
        a space for T
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.at: "2026-11-21 20:49:30Z" must be spelled "2026-11-21T20:49:30Z"
        actor without a name
          git-internal  takes it
          import        no decision; created_by.id: the text is blank
          strict        refuses: $.decided_by.id: the text is blank
        actor of no kind
          git-internal  takes it
          import        no decision; created_by.kind: "" is not a label: write lower snake case of at most 64 characters, such as `answered`
          strict        refuses: $.decided_by.kind: "" is not a word that can stand here; expected human, agent, system, mcp_client or other
        actor as an array
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.decided_by: expected an object, found an array
        verdict of no word
          git-internal  takes it
          import        no decision; decision_type: "" is not a label: write lower snake case of at most 64 characters, such as `answered`
          strict        refuses: $.verdict.kind: "" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
        verdict "Commit"
          git-internal  takes it
          import        no decision; decision_type: "Commit" is not a label: it reads like the reserved word `commit`
          strict        refuses: $.verdict.kind: "Commit" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
        verdict {"commit":null}
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.verdict.kind: expected a string, found an object
        rollback of nothing
          git-internal  takes it
          import        no decision; result_commit_sha: the verdict `rollback` has no use for it; decision_type: a rollback does not say which decision it undoes
          strict        refuses: $.verdict.of: missing key
        empty rationale
          git-internal  takes it
          import        a decision; rationale: the text is blank
          strict        refuses: $.rationale: the text is blank
        explicit null
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.rationale: expected a string, found null
        upper-case hash
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.verdict.commit: "2D711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" must be spelled "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
        a sha-1 name filled up
          git-internal  takes it
          import        a decision; result_commit_sha: taken for the sha-1 name da39a3ee5e6b4b0d3255bfef95601890afd80709, filled up with zeros
          strict        takes it
        simple UUID
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.id: "01a1ffdf0c367662806b85dcbc1f1c35" must be spelled "01a1ffdf-0c36-7662-806b-85dcbc1f1c35"
        braced UUID
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.id: "{01a1ffdf-0c36-7662-806b-85dcbc1f1c35}" must be spelled "01a1ffdf-0c36-7662-806b-85dcbc1f1c35"
        white space around
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        takes it
        unknown key
          git-internal  refuses: unknown field `foo`
          import        refuses: $.foo: unknown key
          strict        refuses: $.foo: unknown key
        unknown key of the actor
          git-internal  refuses: unknown field `x`, expected one of `kind`, `id`, `display_name`
          import        refuses: $.created_by.x: unknown key
          strict        refuses: $.decided_by.x: unknown key
        run twice
          git-internal  refuses: duplicate field `run_id`
          import        refuses: $.run_id: duplicate key
          strict        refuses: $.run: duplicate key
        version twice
          git-internal  refuses: duplicate field `version`
          import        refuses: $.version: duplicate key
          strict        refuses: $.version: duplicate key
        no verdict
          git-internal  refuses: missing field `decision_type`
          import        refuses: $.decision_type: missing key
          strict        refuses: $.verdict.kind: missing key
        no version
          git-internal  refuses: missing field `version`
          import        refuses: $.version: missing key
          strict        refuses: $.version: missing key
        empty run_id
          git-internal  refuses: UUID parsing failed: invalid length: found 0
          import        refuses: $.run_id: "" is not a UUID
          strict        refuses: $.run: "" is not a UUID
        no UUID
          git-internal  refuses: UUID parsing failed: invalid character: found `r` at 0
          import        refuses: $.run_id: "run1" is not a UUID
          strict        refuses: $.run: "run1" is not a UUID
        40 digits
          git-internal  refuses: Invalid hash length: expected 64, got 40
          import        refuses: $.result_commit_sha: "da39a3ee5e6b4b0d3255bfef95601890afd80709" is not a sha-256: expected 64 hexadecimal digits
          strict        takes it
        no digits
          git-internal  refuses: Invalid character 'z' at position 0
          import        refuses: $.result_commit_sha: "zd711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" is not a sha-256: expected 64 hexadecimal digits
          strict        refuses: $.verdict.commit: "zd711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881" is not a git object id: expected 40 or 64 hexadecimal digits
        verdict 5
          git-internal  refuses: data did not match any variant of untagged enum DecisionType
          import        refuses: $.decision_type: expected a string, found a number
          strict        refuses: $.verdict.kind: expected a string, found a number
        verdict {"other":"x"}
          git-internal  refuses: data did not match any variant of untagged enum DecisionType
          import        refuses: $.decision_type.other: unknown key
          strict        refuses: $.verdict.kind: expected a string, found an object
        version 256
          git-internal  refuses: invalid value: integer `256`, expected u8
          import        refuses: $.version: 256 is not a whole number from 0 to 255
          strict        refuses: $.version: version 256 is not known; this release reads version 1
        trailing garbage
          git-internal  refuses: trailing characters
          import        refuses: $: not valid JSON: trailing characters at line 1 column 392
          strict        refuses: $: not valid JSON: trailing characters at line 1 column 380
        a NUL after
          git-internal  refuses: trailing characters
          import        refuses: $: not valid JSON: trailing characters at line 1 column 391
          strict        refuses: $: not valid JSON: trailing characters at line 1 column 379
        a byte order mark
          git-internal  refuses: expected value
          import        refuses: $: not valid JSON: expected value at line 1 column 1
          strict        refuses: $: not valid JSON: expected value at line 1 column 1
        another object after
          git-internal  refuses: trailing characters
          import        refuses: $: not valid JSON: trailing characters at line 1 column 391
          strict        refuses: $: not valid JSON: trailing characters at line 1 column 379
        a comma at the end
          git-internal  refuses: trailing comma
          import        refuses: $: not valid JSON: key must be a string at line 1 column 391
          strict        refuses: $: not valid JSON: key must be a string at line 1 column 379
        version 1.0
          git-internal  refuses: invalid type: floating point `1.0`, expected u8
          import        refuses: $.version: 1.0 is not a whole number from 0 to 255
          strict        refuses: $.version: 1.0 is not a whole number from 0 to 4294967295
        version 1e0
          git-internal  refuses: invalid type: floating point `1.0`, expected u8
          import        refuses: $.version: 1e0 is not a whole number from 0 to 255
          strict        refuses: $.version: 1e0 is not a whole number from 0 to 4294967295
        version -0
          git-internal  refuses: invalid type: floating point `-0.0`, expected u8
          import        refuses: $.version: -0 is not a whole number from 0 to 255
          strict        refuses: $.version: -0 is not a whole number from 0 to 4294967295
        version 01
          git-internal  refuses: invalid number
          import        refuses: $: not valid JSON: invalid number at line 1 column 89
          strict        refuses: $: not valid JSON: invalid number at line 1 column 31
        version of 40 digits
          git-internal  refuses: invalid type: floating point `1e+39`, expected u8
          import        refuses: $.version: 1000000000000000000000000000000000000000 is not a whole number from 0 to 255
          strict        refuses: $.version: 1000000000000000000000000000000000000000 is not a whole number from 0 to 4294967295
        version null
          git-internal  refuses: invalid type: null, expected u8
          import        refuses: $.version: expected a number, found null
          strict        refuses: $.version: expected a number, found null
        version as text
          git-internal  refuses: invalid type: string "1", expected u8
          import        refuses: $.version: expected a number, found a string
          strict        refuses: $.version: expected a number, found a string
        a key by numbers
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        takes it
        run twice, once by numbers
          git-internal  refuses: duplicate field `run_id`
          import        refuses: $.run_id: duplicate key
          strict        refuses: $.run: duplicate key
        a word by numbers
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        takes it
        an id by numbers
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        takes it
        half a surrogate
          git-internal  refuses: unexpected end of hex escape
          import        refuses: $.created_by.id: not valid JSON: unexpected end of hex escape at line 1 column 8
          strict        refuses: $.decided_by.id: not valid JSON: unexpected end of hex escape at line 1 column 8
        a control sign as it is
          git-internal  refuses: control character (\u0000-\u001F) found while parsing a string
          import        refuses: $: not valid JSON: control character (\u0000-\u001F) found while parsing a string at line 1 column 165
          strict        refuses: $: not valid JSON: control character (\u0000-\u001F) found while parsing a string at line 1 column 188
        a control sign by its number
          git-internal  takes it
          import        a decision
          strict        takes it
        upper-case UUID
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.id: "01A1FFDF-0C36-7662-806B-85DCBC1F1C35" must be spelled "01a1ffdf-0c36-7662-806b-85dcbc1f1c35"
        URN of a UUID
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.id: "urn:uuid:01a1ffdf-0c36-7662-806b-85dcbc1f1c35" must be spelled "01a1ffdf-0c36-7662-806b-85dcbc1f1c35"
        run null
          git-internal  refuses: invalid type: null, expected a formatted UUID string
          import        refuses: $.run_id: expected a string, found null
          strict        refuses: $.run: expected a string, found null
        patch set null
          git-internal  takes it
          import        no decision; chosen_patchset_id: missing, the verdict `commit` needs it; the spelling is not the one that git-internal writes
          strict        refuses: $.verdict.patch_set: expected a string, found null
        hash of zeros
          git-internal  takes it
          import        no decision; result_commit_sha: the name of the git object is all zeros, which is git's word for none
          strict        refuses: $.verdict.commit: the name of the git object is all zeros, which is git's word for none
        actor null
          git-internal  refuses: invalid type: null, expected struct ActorRef
          import        refuses: $.created_by: expected an object, found null
          strict        refuses: $.decided_by: expected an object, found null
        actor of two kinds
          git-internal  refuses: duplicate field `kind`
          import        refuses: $.created_by.kind: duplicate key
          strict        refuses: $.decided_by.kind: duplicate key
        actor in 200 arrays
          git-internal  refuses: recursion limit exceeded
          import        refuses: $.created_by[0]: expected a string, found an array
          strict        refuses: $.decided_by: expected an object, found an array
        a leap second
          git-internal  takes it
          import        no decision; created_at: 2016-12-31T23:59:60Z is a leap second, which no time of ours is
          strict        refuses: $.at: "2016-12-31T23:59:60Z" is a leap second, which no time here is
        before 1970
          git-internal  takes it
          import        no decision; created_at: "1969-12-31T23:59:59Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
          strict        refuses: $.at: "1969-12-31T23:59:59Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
        ten digits of a second
          git-internal  takes it
          import        a decision; the spelling is not the one that git-internal writes
          strict        refuses: $.at: "2026-11-21T20:49:30.0123456789Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
        an array for all
          git-internal  refuses: invalid type: sequence, expected struct Decision
          import        refuses: $: not valid JSON: EOF while parsing a list at line 1 column 391
          strict        refuses: $: not valid JSON: EOF while parsing a list at line 1 column 379
    "#]].assert_eq(&table);
}
