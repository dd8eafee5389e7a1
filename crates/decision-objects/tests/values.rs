//! What the small values take and what they refuse.

use expect_test::{Expect, expect};
use trunkline_decision_objects::{
    Actor, ActorKind, Change, Diff, EvidenceKind, GitOid, Invalid, ItemKind, Label, NonBlank, PatchSet,
    RelativePath, Run, RunId, SelectionStrategy, TaskGoal, Timestamp, TouchedFile, Verdict, VerdictKind,
};

use crate::given::{closing, open_run, opening, patch_set_id, run_id};

/// One line per text: what it is read as, or why it is refused.
fn check<T: std::str::FromStr<Err = Invalid> + ToString>(texts: &[&str], expected: Expect) {
    let line = |text: &&str| match text.parse::<T>() {
        Ok(value) => format!("{}\n", value.to_string()),
        Err(invalid) => format!("! {invalid}\n"),
    };
    expected.assert_eq(&texts.iter().map(line).collect::<String>());
}

#[test]
fn a_label_is_lower_snake_case() {
    check::<Label>(
        &[
            "answered",
            "applied",
            "needs_2_reviews",
            "",
            "Answered",
            "needs-review",
            "a__b",
            "_a",
            "a_",
            "2_fast",
            "é",
            "a b",
        ],
        expect![[r#"
            answered
            applied
            needs_2_reviews
            ! "" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "Answered" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "needs-review" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "a__b" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "_a" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "a_" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "2_fast" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "é" is not a label: write lower snake case of at most 64 characters, such as `answered`
            ! "a b" is not a label: write lower snake case of at most 64 characters, such as `answered`
        "#]],
    );
}

#[test]
fn a_label_of_65_characters_is_too_long() {
    assert!(Label::new("a".repeat(64)).is_ok());
    assert!(Label::new("a".repeat(65)).is_err());
}

#[test]
fn a_label_is_not_a_misspelt_verdict() {
    check::<Label>(
        &[
            "commit",
            "Commit",
            " COMMIT\n",
            "roll-back",
            "comit",
            "ocmmit",
            "commits",
            "committed",
            "commited",
            "comitt",
            "comited",
            "chheckpoiint",
            "roll_back",
            "rolled_back",
            "check_point",
            "retyr",
            "abandonned",
            "other",
            "oth_er",
            "mcp_client",
            "test",
        ],
        expect![[r#"
            ! "commit" is not a label: it reads like the reserved word `commit`
            ! "Commit" is not a label: it reads like the reserved word `commit`
            ! " COMMIT\n" is not a label: it reads like the reserved word `commit`
            ! "roll-back" is not a label: it reads like the reserved word `rollback`
            ! "comit" is not a label: it reads like the reserved word `commit`
            ! "ocmmit" is not a label: it reads like the reserved word `commit`
            ! "commits" is not a label: it reads like the reserved word `commit`
            ! "committed" is not a label: it reads like the reserved word `committed`
            ! "commited" is not a label: it reads like the reserved word `committed`
            ! "comitt" is not a label: it reads like the reserved word `commit`
            ! "comited" is not a label: it reads like the reserved word `committed`
            ! "chheckpoiint" is not a label: it reads like the reserved word `checkpoint`
            ! "roll_back" is not a label: it reads like the reserved word `rollback`
            ! "rolled_back" is not a label: it reads like the reserved word `rolled_back`
            ! "check_point" is not a label: it reads like the reserved word `checkpoint`
            ! "retyr" is not a label: it reads like the reserved word `retry`
            ! "abandonned" is not a label: it reads like the reserved word `abandoned`
            ! "other" is not a label: it reads like the reserved word `other`
            ! "oth_er" is not a label: it reads like the reserved word `other`
            ! "mcp_client" is not a label: it reads like the reserved word `mcp_client`
            ! "test" is not a label: it reads like the reserved word `test`
        "#]],
    );
}

#[test]
fn a_label_may_speak_of_a_verdict_and_be_near_a_kind() {
    check::<Label>(
        &["fallback", "commit_refused", "omitted", "uncommitted", "text", "tests", "rtxry", "rxery"],
        expect![[r#"
            fallback
            commit_refused
            omitted
            uncommitted
            text
            tests
            rtxry
            rxery
        "#]],
    );
}

#[test]
fn a_path_stays_inside() {
    check::<RelativePath>(
        &[
            "src/lib.rs",
            ".gitignore",
            " spaced name ",
            "a\\b",
            "...",
            "",
            " ",
            "/etc/passwd",
            "\\\\host\\share",
            "C:\\x",
            "c:x",
            "../x",
            "a/../../x",
            "a\\..\\x",
            "a//b",
            "a/",
            "./a",
            "a\0b",
        ],
        expect![[r#"
            src/lib.rs
            .gitignore
             spaced name 
            a\b
            ...
            ! "" is not a path inside the workspace: it is blank
            ! " " is not a path inside the workspace: it is blank
            ! "/etc/passwd" is not a path inside the workspace: it is absolute
            ! "\\\\host\\share" is not a path inside the workspace: it is absolute
            ! "C:\\x" is not a path inside the workspace: it is absolute
            ! "c:x" is not a path inside the workspace: it is absolute
            ! "../x" is not a path inside the workspace: it has an empty, `.` or `..` part
            ! "a/../../x" is not a path inside the workspace: it has an empty, `.` or `..` part
            ! "a\\..\\x" is not a path inside the workspace: it has an empty, `.` or `..` part
            ! "a//b" is not a path inside the workspace: it has an empty, `.` or `..` part
            ! "a/" is not a path inside the workspace: it has an empty, `.` or `..` part
            ! "./a" is not a path inside the workspace: it has an empty, `.` or `..` part
            ! "a\0b" is not a path inside the workspace: it contains NUL
        "#]],
    );
}

#[test]
fn a_git_name_has_40_or_64_digits() {
    check::<GitOid>(
        &[
            "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709",
            "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881",
            "da39a3e",
            "za39a3ee5e6b4b0d3255bfef95601890afd80709",
            "+a39a3ee5e6b4b0d3255bfef95601890afd80709",
            "éa39a3ee5e6b4b0d3255bfef95601890afd8070",
        ],
        expect![[r#"
            da39a3ee5e6b4b0d3255bfef95601890afd80709
            2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881
            ! "da39a3e" is not a git object id: expected 40 or 64 hexadecimal digits
            ! "za39a3ee5e6b4b0d3255bfef95601890afd80709" is not a git object id: expected 40 or 64 hexadecimal digits
            ! "+a39a3ee5e6b4b0d3255bfef95601890afd80709" is not a git object id: expected 40 or 64 hexadecimal digits
            ! "éa39a3ee5e6b4b0d3255bfef95601890afd8070" is not a git object id: expected 40 or 64 hexadecimal digits
        "#]],
    );
}

#[test]
fn a_time_has_the_fewest_digits_that_lose_nothing() {
    check::<Timestamp>(
        &[
            "2026-11-21T20:49:30Z",
            "2026-11-21T20:49:30.000Z",
            "2026-11-21T20:49:30.1Z",
            "2026-11-21T20:49:30.1234Z",
            "2026-11-21T20:49:30.166608121Z",
            "2026-11-22T04:49:30+08:00",
            "2026-11-21 20:49:30z",
        ],
        expect![[r#"
            2026-11-21T20:49:30Z
            2026-11-21T20:49:30Z
            2026-11-21T20:49:30.100Z
            2026-11-21T20:49:30.123400Z
            2026-11-21T20:49:30.166608121Z
            2026-11-21T20:49:30Z
            2026-11-21T20:49:30Z
        "#]],
    );
}

#[test]
fn a_time_is_rfc_3339_from_1970_to_9999() {
    check::<Timestamp>(
        &[
            "yesterday",
            "2026-11-21",
            "2026-11-21T20:49Z",
            "2026-11-21T20:49:30",
            "2026-11-21T20:49:30.Z",
            "2026-11-21T20:49:30.1234567890Z",
            "2026-11-21T20:49:30Z[UTC]",
            "20261121T204930Z",
            "2026-13-21T20:49:30Z",
            "1969-12-31T23:59:59Z",
            "+12026-11-21T20:49:30Z",
            "+12026-11-21T20:49:30.Z",
            "9999-12-30T22:00:00.999999999Z",
            "9999-12-30T22:00:01Z",
            "9999-12-31T12:00:00+01:00",
            "9999-12-32T12:00:00Z",
            "2016-12-31T23:59:60Z",
            "2016-12-31t23:59:60.5+00:00",
            "2016-12-31T23:59:61Z",
            "2026-11-21T20:4é:30Z",
        ],
        expect![[r#"
            ! "yesterday" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-11-21" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-11-21T20:49Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-11-21T20:49:30" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-11-21T20:49:30.Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-11-21T20:49:30.1234567890Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-11-21T20:49:30Z[UTC]" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "20261121T204930Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-13-21T20:49:30Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "1969-12-31T23:59:59Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
            ! "+12026-11-21T20:49:30Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
            ! "+12026-11-21T20:49:30.Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            9999-12-30T22:00:00.999999999Z
            ! "9999-12-30T22:00:01Z" is outside the times from 1970 to 9999-12-30T22:00:00Z
            ! "9999-12-31T12:00:00+01:00" is outside the times from 1970 to 9999-12-30T22:00:00Z
            ! "9999-12-32T12:00:00Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2016-12-31T23:59:60Z" is a leap second, which no time here is
            ! "2016-12-31t23:59:60.5+00:00" is a leap second, which no time here is
            ! "2016-12-31T23:59:61Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
            ! "2026-11-21T20:4é:30Z" is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z
        "#]],
    );
}

#[test]
fn a_time_comes_from_milliseconds() {
    let time = Timestamp::from_milliseconds(1_795_294_170_166).unwrap();
    assert_eq!(time.milliseconds(), 1_795_294_170_166);
    expect!["2026-11-21T20:49:30.166Z"].assert_eq(&time.to_string());
    assert!(Timestamp::from_milliseconds(-1).is_err());
    assert!(Timestamp::from_milliseconds(i64::MAX).is_err());
    // Whatever has a text has its milliseconds too.
    let last: Timestamp = "9999-12-30T22:00:00.999999999Z".parse().unwrap();
    assert_eq!(
        Timestamp::from_milliseconds(last.milliseconds()).unwrap().milliseconds(),
        253_402_207_200_999
    );
    assert!(Timestamp::from_milliseconds(253_402_207_201_000).is_err());
    for offset in ["+24:00", "+25:59", "+99:99", "+00:60"] {
        let text = format!("2026-01-01T00:00:00{offset}");
        assert!(matches!(text.parse::<Timestamp>(), Err(Invalid::Timestamp { .. })), "{text}");
    }
}

#[test]
fn an_id_is_a_uuid_and_not_nil() {
    check::<RunId>(
        &[
            "01900000-0000-7000-8000-000000000001",
            "{01900000-0000-7000-8000-000000000001}",
            "",
            "00000000-0000-0000-0000-000000000000",
        ],
        expect![[r#"
            01900000-0000-7000-8000-000000000001
            01900000-0000-7000-8000-000000000001
            ! "" is not a UUID
            ! the id is nil (all zeros)
        "#]],
    );
}

#[test]
fn an_actor_without_an_id_is_told_so() {
    expect!["the id of the actor is blank"]
        .assert_eq(&Actor::new(ActorKind::Agent, " ").unwrap_err().to_string());
}

#[test]
fn the_name_of_no_object_is_none() {
    let zeros = ["0".repeat(40), "0".repeat(64), format!("{}1", "0".repeat(39))];
    check::<GitOid>(
        &zeros.each_ref().map(String::as_str),
        expect![[r#"
        ! the name of the git object is all zeros, which is git's word for none
        ! the name of the git object is all zeros, which is git's word for none
        0000000000000000000000000000000000000001
    "#]],
    );
    // A constructor that was given one refuses it as well.
    let none = GitOid::Sha1([0; 20]);
    let base = PatchSet::new(patch_set_id(5), run_id(1), Some(none), Vec::new(), Diff::kept(""));
    let mut opening = opening(1);
    opening.base.commit = Some(none);
    let verdict = Verdict::Commit { patch_set: patch_set_id(5), commit: none };
    let decided = open_run(1).decide(verdict, closing(9)).unwrap_err().cause;
    let run = Run::open(opening).unwrap_err();
    expect![[r#"
        the name of the git object is all zeros, which is git's word for none
        the name of the git object is all zeros, which is git's word for none
        the name of the git object is all zeros, which is git's word for none
    "#]]
    .assert_eq(&format!("{}\n{run}\n{decided}\n", base.unwrap_err()));
}

#[test]
fn blank_text_says_nothing() {
    check::<NonBlank>(
        &["x", "", " \n\t", "\u{a0}"],
        expect![[r#"
            x
            ! the text is blank
            ! the text is blank
            ! the text is blank
        "#]],
    );
}

/// Files as `path` or `old > new`.
fn check_files(files: &[&str], expected: Expect) {
    let path = |text: &str| RelativePath::new(text).expect("a test path is legal");
    let file = |text: &&str| {
        let (path, change) = match text.split_once(" > ") {
            Some((from, to)) => (path(to), Change::Renamed { from: path(from) }),
            None => (path(text), Change::Added),
        };
        TouchedFile { path, change, added_lines: None, deleted_lines: None }
    };
    let files = files.iter().map(file).collect();
    let text = match PatchSet::new(patch_set_id(1), run_id(1), None, files, Diff::kept("")) {
        Ok(patch_set) => patch_set.files().iter().map(|file| format!("{}\n", file.path)).collect(),
        Err(invalid) => format!("! {invalid}\n"),
    };
    expected.assert_eq(&text);
}

#[test]
fn a_patch_set_keeps_its_files_in_order() {
    check_files(
        &["b", "a/c", "x > a"],
        expect![[r#"
            a
            a/c
            b
        "#]],
    );
}

#[test]
fn a_patch_set_touches_a_path_once() {
    check_files(
        &["b", "a", "x > b"],
        expect![[r#"
        ! the path b is touched twice
    "#]],
    );
    check_files(
        &["b > b"],
        expect![[r#"
        ! the path b is renamed to itself
    "#]],
    );
}

#[test]
fn the_words_of_verdicts_are_the_six() {
    check::<VerdictKind>(
        &["commit", "rollback", "other", "Commit", "comit", "answered", ""],
        expect![[r#"
        commit
        rollback
        other
        ! "Commit" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
        ! "comit" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
        ! "answered" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
        ! "" is not a word that can stand here; expected commit, checkpoint, abandon, retry, rollback or other
    "#]],
    );
    assert!(VerdictKind::ALL.iter().all(|kind| VerdictKind::try_from(kind.as_str()) == Ok(*kind)));
    assert!(VerdictKind::ALL.iter().all(|kind| VerdictKind::try_from(kind.to_string()) == Ok(*kind)));
}

#[test]
fn a_word_that_is_nearly_one_of_the_list_is_no_other() {
    check::<ActorKind>(
        &["human", "agent", "mcp_client", "mcp-client", "agnet", "Agent", "robot", "other", ""],
        expect![[r#"
            human
            agent
            mcp_client
            ! "mcp-client" is not a label: it reads like the reserved word `mcp_client`
            ! "agnet" is not a label: it reads like the reserved word `agent`
            ! "Agent" is not a label: it reads like the reserved word `agent`
            robot
            ! "other" is not a label: it reads like the reserved word `other`
            ! "" is not a label: write lower snake case of at most 64 characters, such as `answered`
        "#]],
    );
    check::<EvidenceKind>(
        &["test", "lint", "build", "tests", "biuld", "benchmark", "comit"],
        expect![[r#"
        test
        lint
        build
        ! "tests" is not a label: it reads like the reserved word `test`
        ! "biuld" is not a label: it reads like the reserved word `build`
        benchmark
        ! "comit" is not a label: it reads like the reserved word `commit`
    "#]],
    );
    check::<TaskGoal>(
        &["bugfix", "bug_fix", "feture", "security"],
        expect![[r#"
        bugfix
        ! "bug_fix" is not a label: it reads like the reserved word `bugfix`
        ! "feture" is not a label: it reads like the reserved word `feature`
        security
    "#]],
    );
    check::<ItemKind>(
        &["url", "files", "symbol"],
        expect![[r#"
        url
        ! "files" is not a label: it reads like the reserved word `file`
        symbol
    "#]],
    );
    check::<SelectionStrategy>(
        &["explicit", "heuristics"],
        expect![[r#"
        explicit
        ! "heuristics" is not a word that can stand here; expected explicit or heuristic
    "#]],
    );
}
