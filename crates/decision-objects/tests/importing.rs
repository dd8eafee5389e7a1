//! What git-internal's form says that ours says otherwise, or not at all: one object, what is said of it, what comes back.

use expect_test::{Expect, expect};
use trunkline_decision_objects::git_internal::{import, project};
use trunkline_decision_objects::{Actor, ActorKind, Timestamp};

const ID: &str = "00000000-0000-0000-0000-000000000002";

fn text(kind: &str, body: &str) -> String {
    format!(
        r#"{{"object_id":"01a1ffdf-0c36-7662-806b-85dcbc1f1c35","object_type":"{kind}","version":1,"created_at":"2026-11-21T20:49:30Z","created_by":{{"kind":"agent","id":"coder-1"}},{body}}}"#
    )
}

/// Lists the violations, and whether the object comes back as it was.
fn told(json: &str) -> String {
    let imported = match import(json.as_bytes()) {
        Ok(imported) => imported,
        Err(refused) => return format!("refused: {refused}\n"),
    };
    let mut lines: Vec<String> = imported.violations.iter().map(ToString::to_string).collect();
    lines.push(match &imported.object {
        None => String::from("= no object"),
        Some(object) => {
            let at: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a test time");
            let by = Actor::new(ActorKind::Agent, "export").expect("a test actor");
            let back = project(object, at, &by).expect("it has a form there");
            String::from(if back == imported.print() { "= comes back" } else { "= comes back otherwise" })
        }
    });
    lines.join("\n") + "\n"
}

fn check<'a>(texts: impl IntoIterator<Item = (&'a str, String)>, expected: Expect) {
    let told = texts.into_iter().map(|(about, json)| format!("{about}\n{}", told(&json)));
    expected.assert_eq(&told.collect::<String>());
}

#[test]
fn a_json_value_that_is_null_stays() {
    let event = |metrics: &str| text("run_event", &format!(r#""run_id":"{ID}","kind":"created"{metrics}"#));
    let step = format!(r#"{{"step_id":"{ID}","description":"look","inputs":null}}"#);
    let plan = text("plan", &format!(r#""intent":"{ID}","steps":[{step}]"#));
    for json in [event(r#","metrics":null"#), plan.clone(), event("")] {
        assert_eq!(import(json.as_bytes()).expect("it is read").print(), json);
    }
    check(
        [
            ("null", event(r#","metrics":null"#)),
            ("absent", event("")),
            ("the text null", event(r#","metrics":"null""#)),
            ("null in a step", plan),
        ],
        expect![[r#"
            null
            metrics: the JSON value null stands here; git-internal writes that, and reads it as absent
            = comes back
            absent
            = comes back
            the text null
            = comes back
            null in a step
            steps[0].inputs: the JSON value null stands here; git-internal writes that, and reads it as absent
            = comes back
        "#]],
    );
}

#[test]
fn the_kind_is_read_in_every_way_in_which_it_may_be_written() {
    let frame = text("intent", r#""prompt":"fix it""#);
    let written =
        |word: &str| frame.replace(r#""object_type":"intent""#, &format!(r#""object_type":{word}"#));
    check(
        [
            ("null", written(r#"{"intent":null}"#)),
            ("an object", written(r#"{"intent":{}}"#)),
            ("not empty", written(r#"{"intent":{"a":1}}"#)),
            ("two words", written(r#"{"intent":null,"plan":null}"#)),
            ("no kind of these", written(r#"{"blob":null}"#)),
        ],
        expect![[r#"
            null
            the spelling is not the one that git-internal writes
            = comes back
            an object
            the spelling is not the one that git-internal writes
            = comes back
            not empty
            refused: $.object_type: expected a string, found an object
            two words
            refused: $.object_type: expected a string, found an object
            no kind of these
            refused: $.object_type: "blob" is not a word that can stand here; expected the type of one of git-internal's AI objects
        "#]],
    );
}

#[test]
fn the_name_of_no_commit_is_none() {
    let zeros = "0".repeat(64);
    let decision = format!(
        r#""run_id":"{ID}","decision_type":"commit","chosen_patchset_id":"{ID}","result_commit_sha":"{zeros}""#
    );
    let blob = format!(r#"{{"kind":"file","path":"a","blob":{{"Sha1":[{}]}}}}"#, ["0"; 20].join(","));
    check(
        [
            ("decision", text("decision", &decision)),
            ("run", text("run", &format!(r#""task":"{ID}","commit":"{zeros}""#))),
            (
                "intent event",
                text(
                    "intent_event",
                    &format!(r#""intent_id":"{ID}","kind":"completed","result_commit":"{zeros}""#),
                ),
            ),
            (
                "snapshot",
                text("context_snapshot", &format!(r#""selection_strategy":"explicit","items":[{blob}]"#)),
            ),
        ],
        expect![[r#"
            decision
            result_commit_sha: the name of the git object is all zeros, which is git's word for none
            = no object
            run
            commit: the name of the git object is all zeros, which is git's word for none
            = no object
            intent event
            result_commit: the name of the git object is all zeros, which is git's word for none
            = no object
            snapshot
            the object: the name of the git object is all zeros, which is git's word for none
            = no object
        "#]],
    );
}

#[test]
fn a_word_that_is_not_known_is_a_label_where_labels_are_written_as_words_are() {
    let evidence =
        |word: &str| text("evidence", &format!(r#""run_id":"{ID}","kind":"{word}","tool":"cargo""#));
    let event = |word: &str| text("intent_event", &format!(r#""intent_id":"{ID}","kind":"{word}""#));
    let of =
        |word: &str| text("intent", r#""prompt":"fix it""#).replace(r#""agent""#, &format!("\"{word}\""));
    check(
        [
            ("evidence tset", evidence("tset")),
            ("evidence benchmark", evidence("benchmark")),
            ("event canceled", event("canceled")),
            ("event paused", event("paused")),
            ("actor agnet", of("agnet")),
            ("actor robot", of("robot")),
            // Here a label has a key of its own, and means what it says.
            ("goal bugfx", text("task", r#""title":"t","goal":{"other":"bugfx"}"#)),
        ],
        expect![[r#"
            evidence tset
            created_by: our form has no place for it
            = comes back otherwise
            evidence benchmark
            created_by: our form has no place for it
            = comes back otherwise
            event canceled
            the object: "canceled" is not a label: it reads like the reserved word `cancelled`
            = no object
            event paused
            = comes back
            actor agnet
            = comes back
            actor robot
            = comes back
            goal bugfx
            = comes back
        "#]],
    );
}

#[test]
fn what_ours_has_no_place_for_is_listed() {
    let call = |footprint: &str| {
        let rest = r#""args":{},"status":"ok""#;
        text(
            "tool_invocation",
            &format!(r#""run_id":"{ID}","tool_name":"t","io_footprint":{footprint},{rest}"#),
        )
    };
    let counts = format!(r#""run_id":"{ID}","input_tokens":1,"output_tokens":2,"total_tokens":3"#);
    let event = |metrics: &str| {
        text("run_event", &format!(r#""run_id":"{ID}","kind":"created","metrics":{metrics}"#))
    };
    let model = format!(r#""run_id":"{ID}","provider":"p","model":"m","temperature":-0.0"#);
    check(
        [
            ("an empty footprint", call("{}")),
            ("paths out of order", call(r#"{"paths_read":["b","a"],"paths_written":["a","b"]}"#)),
            ("paths in order", call(r#"{"paths_read":["a","b"]}"#)),
            ("less than nothing", text("run_usage", &format!(r#"{counts},"cost_usd":-0.0"#))),
            ("no less", text("run_usage", &format!(r#"{counts},"cost_usd":0.0"#))),
            ("a cold model", text("provenance", &model)),
            ("a text that is JSON", event(r#""[1,2]""#)),
            ("a text that is none", event(r#""fine""#)),
            ("JSON", event("[1,2]")),
        ],
        expect![[r#"
            an empty footprint
            io_footprint: our form has no place for it
            = comes back otherwise
            paths out of order
            the order of io_footprint.paths_read: our form has no place for it
            = comes back otherwise
            paths in order
            = comes back
            less than nothing
            the sign of cost_usd: our form has no place for it
            = comes back otherwise
            no less
            = comes back
            a cold model
            the sign of temperature: our form has no place for it
            = comes back otherwise
            a text that is JSON
            = comes back
            a text that is none
            = comes back
            JSON
            = comes back
        "#]],
    );
}

#[test]
fn all_that_one_object_breaks_is_listed() {
    let own = "01a1ffdf-0c36-7662-806b-85dcbc1f1c35";
    let twice = format!(r#"["{ID}","{ID}","{own}","{own}"]"#);
    let frames = format!(r#"["{ID}","{ID}"]"#);
    let task = format!(r#""title":"t","parent":"{own}","dependencies":{twice}"#);
    let touched = r#"{"path":"a","change_type":"add","lines_added":1,"lines_deleted":0}"#;
    let commit = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
    let patch_set = format!(
        r#""run":"{ID}","sequence":0,"commit":"{commit}","format":"git_diff","touched":[{touched},{touched}]"#
    );
    let long = "x".repeat(501);
    let items = format!(r#"{{"kind":"file","path":"a","preview":"{long}"}}"#);
    check(
        [
            (
                "plan",
                text(
                    "plan",
                    &format!(r#""intent":"{ID}","parents":{twice},"context_frames":{frames},"steps":[]"#),
                ),
            ),
            ("task", text("task", &task)),
            ("patch set", text("patch_set", &patch_set)),
            (
                "snapshot",
                text(
                    "context_snapshot",
                    &format!(r#""selection_strategy":"explicit","items":[{items},{items}]"#),
                ),
            ),
        ],
        expect![[r#"
            plan
            the object: 01a1ffdf-0c36-7662-806b-85dcbc1f1c35 cannot be its own parent
            the object: parent 00000000-0000-0000-0000-000000000002 is listed twice
            the object: parent 01a1ffdf-0c36-7662-806b-85dcbc1f1c35 is listed twice
            the object: frame 00000000-0000-0000-0000-000000000002 is listed twice
            = no object
            task
            the object: 01a1ffdf-0c36-7662-806b-85dcbc1f1c35 cannot be its own parent
            the object: 01a1ffdf-0c36-7662-806b-85dcbc1f1c35 cannot be its own dependency
            the object: dependency 00000000-0000-0000-0000-000000000002 is listed twice
            the object: dependency 01a1ffdf-0c36-7662-806b-85dcbc1f1c35 is listed twice
            = no object
            patch set
            created_at: our form has no place for it
            created_by: our form has no place for it
            artifact: the digest of a diff is missing, by which ours names it
            format: our form has no place for it
            touched: the path a is touched twice
            = no object
            snapshot
            the object: a preview of 501 characters is too long: at most 500
            = no object
        "#]],
    );
}
