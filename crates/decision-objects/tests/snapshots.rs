//! Intents, plans, tasks, snapshots of context, provenance: how each is written, and what each refuses.

use expect_test::{Expect, expect};
use trunkline_decision_objects::{
    ContextItem, ContextSnapshot, FrameId, Intent, IntentContent, IntentId, Invalid, ItemKind, JsonText,
    Label, Plan, PlanContent, PlanId, PlanStep, Provenance, ProvenanceContent, ProvenanceId,
    SelectionStrategy, SnapshotContent, SnapshotId, StepId, Task, TaskContent, TaskGoal, TaskId,
};

use crate::given::{coder, run_id, sha1, words};
use crate::given_snapshots::{head, json, named};
use crate::strict_parsing::check;

/// One line for each value that is refused.
fn refused<T: std::fmt::Debug>(values: impl IntoIterator<Item = Result<T, Invalid>>, expected: Expect) {
    let line = |value: Result<T, Invalid>| format!("{}\n", value.expect_err("it should be refused"));
    expected.assert_eq(&values.into_iter().map(line).collect::<String>());
}

fn intent() -> Intent {
    let content = IntentContent {
        parents: vec![named(IntentId::new, 2), named(IntentId::new, 3)],
        spec: Some(json(r#"{"max": 1.50}"#)),
        analysis_frames: vec![named(FrameId::new, 4)],
        ..IntentContent::new(words("make it faster"))
    };
    Intent::new(head(IntentId::new, 1), content).expect("a test object is legal")
}

fn plan() -> Plan {
    let step = PlanStep {
        id: named(StepId::new, 5),
        description: words("measure"),
        inputs: None,
        checks: Some(json("[1]")),
    };
    let content = PlanContent {
        parents: vec![named(PlanId::new, 2)],
        frames: vec![named(FrameId::new, 4)],
        steps: vec![step],
        ..PlanContent::new(named(IntentId::new, 1))
    };
    Plan::new(head(PlanId::new, 6), content).expect("a test object is legal")
}

fn task() -> Task {
    let content = TaskContent {
        description: Some(words("the parser first")),
        goal: Some(TaskGoal::Perf),
        constraints: vec![words("no new dependency")],
        acceptance_criteria: vec![words("twice as fast")],
        requester: Some(coder()),
        parent: Some(named(TaskId::new, 8)),
        intent: Some(named(IntentId::new, 1)),
        origin_step: Some(named(StepId::new, 5)),
        dependencies: vec![named(TaskId::new, 9)],
        ..TaskContent::new(words("speed"))
    };
    Task::new(head(TaskId::new, 7), content).expect("a test object is legal")
}

fn item(kind: ItemKind) -> ContextItem {
    ContextItem { kind, path: words("src/lib.rs"), preview: Some("//! A".into()), blob: Some(sha1()) }
}

fn snapshot() -> ContextSnapshot {
    let content = SnapshotContent {
        items: vec![
            item(ItemKind::File),
            item(ItemKind::Other(Label::new("symbol").expect("a test label is legal"))),
        ],
        summary: Some(words("the parser")),
        ..SnapshotContent::new(SelectionStrategy::Heuristic)
    };
    ContextSnapshot::new(head(SnapshotId::new, 10), content).expect("a test object is legal")
}

fn provenance() -> Provenance {
    let content = ProvenanceContent {
        parameters: Some(json(r#"{"top_p":0.9}"#)),
        temperature_milli: Some(700),
        max_tokens: Some(u64::MAX),
        ..ProvenanceContent::new(run_id(1), words("anthropic"), words("claude"))
    };
    Provenance::new(head(ProvenanceId::new, 11), content).expect("a test object is legal")
}

#[test]
fn each_is_written_in_one_way() {
    expect![[r#"{"type":"intent","version":1,"id":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30.166608121Z","by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"parents":["00000000-0000-0000-0000-000000000002","00000000-0000-0000-0000-000000000003"],"prompt":"make it faster","spec":"{\"max\": 1.50}","analysis_frames":["00000000-0000-0000-0000-000000000004"]}"#]].assert_eq(&intent().print());
    expect![[r#"{"type":"plan","version":1,"id":"00000000-0000-0000-0000-000000000006","at":"2026-11-21T20:49:30.166608121Z","by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"intent":"00000000-0000-0000-0000-000000000001","parents":["00000000-0000-0000-0000-000000000002"],"frames":["00000000-0000-0000-0000-000000000004"],"steps":[{"id":"00000000-0000-0000-0000-000000000005","description":"measure","checks":"[1]"}]}"#]].assert_eq(&plan().print());
    expect![[r#"{"type":"task","version":1,"id":"00000000-0000-0000-0000-000000000007","at":"2026-11-21T20:49:30.166608121Z","by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"title":"speed","description":"the parser first","goal":"perf","constraints":["no new dependency"],"acceptance_criteria":["twice as fast"],"requester":{"kind":"agent","id":"coder-1","display_name":"Coder"},"parent":"00000000-0000-0000-0000-000000000008","intent":"00000000-0000-0000-0000-000000000001","origin_step":"00000000-0000-0000-0000-000000000005","dependencies":["00000000-0000-0000-0000-000000000009"]}"#]].assert_eq(&task().print());
    expect![[r#"{"type":"context_snapshot","version":1,"id":"00000000-0000-0000-0000-00000000000a","at":"2026-11-21T20:49:30.166608121Z","by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"selection":"heuristic","items":[{"kind":"file","path":"src/lib.rs","preview":"//! A","blob":"da39a3ee5e6b4b0d3255bfef95601890afd80709"},{"kind":"other","label":"symbol","path":"src/lib.rs","preview":"//! A","blob":"da39a3ee5e6b4b0d3255bfef95601890afd80709"}],"summary":"the parser"}"#]].assert_eq(&snapshot().print());
    expect![[r#"{"type":"provenance","version":1,"id":"00000000-0000-0000-0000-00000000000b","at":"2026-11-21T20:49:30.166608121Z","by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"run":"00000000-0000-0000-0000-000000000001","provider":"anthropic","model":"claude","parameters":"{\"top_p\":0.9}","temperature_milli":700,"max_tokens":18446744073709551615}"#]].assert_eq(&provenance().print());
}

#[test]
fn what_is_left_open_is_left_out() {
    let intent = Intent::new(head(IntentId::new, 1), IntentContent::new(words("x"))).unwrap();
    let task = Task::new(head(TaskId::new, 7), TaskContent::new(words("x"))).unwrap();
    expect![[r#"{"type":"intent","version":1,"id":"00000000-0000-0000-0000-000000000001","at":"2026-11-21T20:49:30.166608121Z","by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"parents":[],"prompt":"x","analysis_frames":[]}"#]].assert_eq(&intent.print());
    expect![[r#"{"type":"task","version":1,"id":"00000000-0000-0000-0000-000000000007","at":"2026-11-21T20:49:30.166608121Z","by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"title":"x","constraints":[],"acceptance_criteria":[],"dependencies":[]}"#]].assert_eq(&task.print());
}

#[test]
fn nothing_is_of_itself_and_nothing_is_listed_twice() {
    let with_parents = |parents: &[u128]| {
        let parents = parents.iter().map(|&number| named(IntentId::new, number)).collect();
        Intent::new(head(IntentId::new, 1), IntentContent { parents, ..IntentContent::new(words("x")) })
    };
    refused(
        [with_parents(&[2, 1]), with_parents(&[2, 3, 2])],
        expect![[r#"
        00000000-0000-0000-0000-000000000001 cannot be its own parent
        parent 00000000-0000-0000-0000-000000000002 is listed twice
    "#]],
    );
    let with_step = |id: u128| PlanStep {
        id: named(StepId::new, id),
        description: words("x"),
        inputs: None,
        checks: None,
    };
    let plan = |parents: &[u128], steps: &[u128]| {
        let content = PlanContent {
            parents: parents.iter().map(|&number| named(PlanId::new, number)).collect(),
            steps: steps.iter().map(|&number| with_step(number)).collect(),
            ..PlanContent::new(named(IntentId::new, 1))
        };
        Plan::new(head(PlanId::new, 6), content)
    };
    refused(
        [plan(&[6], &[]), plan(&[7, 7], &[]), plan(&[], &[5, 4, 5])],
        expect![[r#"
        00000000-0000-0000-0000-000000000006 cannot be its own parent
        parent 00000000-0000-0000-0000-000000000007 is listed twice
        step 00000000-0000-0000-0000-000000000005 is listed twice
    "#]],
    );
    let task = |parent: Option<u128>, dependencies: &[u128]| {
        let content = TaskContent {
            parent: parent.map(|number| named(TaskId::new, number)),
            dependencies: dependencies.iter().map(|&number| named(TaskId::new, number)).collect(),
            ..TaskContent::new(words("x"))
        };
        Task::new(head(TaskId::new, 7), content)
    };
    refused(
        [task(Some(7), &[]), task(None, &[8, 7]), task(None, &[8, 8])],
        expect![[r#"
        00000000-0000-0000-0000-000000000007 cannot be its own parent
        00000000-0000-0000-0000-000000000007 cannot be its own dependency
        dependency 00000000-0000-0000-0000-000000000008 is listed twice
    "#]],
    );
}

#[test]
fn a_label_is_not_a_word_of_the_list_in_other_dress() {
    let goal = |label: &str| {
        let goal = Some(TaskGoal::Other(Label::new(label)?));
        Task::new(head(TaskId::new, 7), TaskContent { goal, ..TaskContent::new(words("x")) })
    };
    refused(
        [goal("bugfix"), goal("bug_fix"), goal("test")],
        expect![[r#"
        "bugfix" is not a label: it reads like the reserved word `bugfix`
        "bug_fix" is not a label: it reads like the reserved word `bugfix`
        "test" is not a label: it reads like the reserved word `test`
    "#]],
    );
    assert!(goal("security").is_ok());
    let of_kind = |label: &str| {
        let items = vec![item(ItemKind::Other(Label::new(label)?))];
        let content = SnapshotContent { items, ..SnapshotContent::new(SelectionStrategy::Explicit) };
        ContextSnapshot::new(head(SnapshotId::new, 10), content)
    };
    refused(
        [of_kind("file")],
        expect![[r#"
        "file" is not a label: it reads like the reserved word `file`
    "#]],
    );
}

#[test]
fn a_preview_has_at_most_500_characters() {
    let with_preview = |preview: String| {
        let items = vec![ContextItem { preview: Some(preview), ..item(ItemKind::File) }];
        let content = SnapshotContent { items, ..SnapshotContent::new(SelectionStrategy::Explicit) };
        ContextSnapshot::new(head(SnapshotId::new, 10), content)
    };
    assert!(with_preview("é".repeat(500)).is_ok());
    refused(
        [with_preview("é".repeat(501))],
        expect![[r#"
        a preview of 501 characters is too long: at most 500
    "#]],
    );
}

#[test]
fn json_is_kept_as_it_came() {
    let text = " {\"a\": 1.50e0,\n\"a\":1}";
    assert_eq!(json(text).as_str(), text);
    let deep = |open: usize| JsonText::new(format!("{}{}", "[".repeat(open), "]".repeat(open)));
    assert!(deep(100).is_ok());
    // Brackets in a text are none, also behind a quote or a backslash that is escaped.
    for sign in ["", "\\\"", "\\\\", "\\\\\\\""] {
        assert!(JsonText::new(format!("\"{sign}{}\"", "[".repeat(101))).is_ok(), "{sign}");
    }
    refused(
        [JsonText::new(""), JsonText::new("{} {}"), JsonText::new("NaN"), deep(101)],
        expect![[r#"
        the text is not one JSON value: EOF while parsing a value at line 1 column 0
        the text is not one JSON value: trailing characters at line 1 column 4
        the text is not one JSON value: expected value at line 1 column 1
        the JSON is nested too deeply: at most 100 brackets may be open
    "#]],
    );
}

#[test]
fn a_parsed_intent_is_strict() {
    check(
        &intent().print(),
        &[
            (r#""type":"intent""#, r#""type":"plan""#),
            (r#""prompt":"make it faster""#, r#""prompt":" ""#),
            ("000000000003\"],\"prompt", "000000000002\"],\"prompt"),
            ("000000000003\"],\"prompt", "000000000001\"],\"prompt"),
            (r#""parents":["#, r#""parents":[null,"#),
            (r#"{\"max\": 1.50}"#, r#"{\"max\": 1.5"#),
            (r#","analysis_frames":["00000000-0000-0000-0000-000000000004"]"#, ""),
            (r#""by":{"kind":"agent""#, r#""by":{"kind":"robot""#),
            (r#""prompt""#, r#""decided":true,"prompt""#),
        ],
        expect![[r#"
            $.intent: missing key
            $.prompt: the text is blank
            $.parents[1]: parent 00000000-0000-0000-0000-000000000002 is listed twice
            $: 00000000-0000-0000-0000-000000000001 cannot be its own parent
            $.parents[0]: expected a string, found null
            $.spec: the text is not one JSON value: EOF while parsing an object at line 1 column 11
            $.analysis_frames: missing key
            $.by.kind: "robot" is not a word that can stand here; expected human, agent, system, mcp_client or other
            $.decided: unknown key
        "#]],
    );
}

#[test]
fn a_parsed_plan_is_strict() {
    check(
        &plan().print(),
        &[
            (r#""steps":[{"id":"00000000-0000-0000-0000-000000000005","#, r#""steps":[{"id":"","#),
            (
                r#""steps":["#,
                r#""steps":[{"id":"00000000-0000-0000-0000-000000000005","description":"again"},"#,
            ),
            (r#""description":"measure""#, r#""description":"""#),
            (r#""checks":"[1]""#, r#""checks":[1]"#),
            (r#""checks":"[1]""#, r#""checks":"[1]","done":true"#),
            (r#""intent":"00000000-0000-0000-0000-000000000001","#, ""),
            ("000000000002\"],\"frames", "000000000006\"],\"frames"),
        ],
        expect![[r#"
            $.steps[0].id: "" is not a UUID
            $: step 00000000-0000-0000-0000-000000000005 is listed twice
            $.steps[0].description: the text is blank
            $.steps[0].checks: expected a string, found an array
            $.steps[0].done: unknown key
            $.intent: missing key
            $: 00000000-0000-0000-0000-000000000006 cannot be its own parent
        "#]],
    );
}

#[test]
fn a_parsed_task_is_strict() {
    check(
        &task().print(),
        &[
            (r#""goal":"perf""#, r#""goal":"speed""#),
            (r#""goal":"perf""#, r#""goal":"other""#),
            (r#""goal":"perf""#, r#""goal":"other","goal_label":"perf""#),
            (r#""goal":"perf""#, r#""goal":"perf","goal_label":"speed""#),
            (r#""goal":"perf""#, r#""goal":{"other":"speed"}"#),
            (r#""constraints":["no new dependency"]"#, r#""constraints":["a",""]"#),
            (
                r#""parent":"00000000-0000-0000-0000-000000000008""#,
                r#""parent":"00000000-0000-0000-0000-000000000007""#,
            ),
            (r#""requester":{"#, r#""requester":{"name":"x","#),
            (r#""title":"speed""#, r#""title":"""#),
        ],
        expect![[r#"
            $.goal: "speed" is not a word that can stand here; expected feature, bugfix, refactor, docs, perf, test, chore, build, ci, style or other
            $.goal_label: missing key
            $.goal_label: "perf" is not a label: it reads like the reserved word `perf`
            $.goal_label: unknown key
            $.goal: expected a string, found an object
            $.constraints[1]: the text is blank
            $: 00000000-0000-0000-0000-000000000007 cannot be its own parent
            $.requester.name: unknown key
            $.title: the text is blank
        "#]],
    );
}

#[test]
fn a_parsed_snapshot_and_provenance_are_strict() {
    check(
        &snapshot().print(),
        &[
            (r#""selection":"heuristic""#, r#""selection":"guess""#),
            (r#""kind":"file""#, r#""kind":"File""#),
            (r#""label":"symbol""#, r#""label":"url""#),
            (r#""path":"src/lib.rs""#, r#""path":"""#),
            (r#""blob":"da39"#, r#""blob":"da3"#),
            (r#""summary":"the parser""#, r#""summary":"\t""#),
        ],
        expect![[r#"
            $.selection: "guess" is not a word that can stand here; expected explicit or heuristic
            $.items[0].kind: "File" is not a word that can stand here; expected file, url, snippet, command, image or other
            $.items[1].label: "url" is not a label: it reads like the reserved word `url`
            $.items[0].path: the text is blank
            $.items[0].blob: "da3a3ee5e6b4b0d3255bfef95601890afd80709" is not a git object id: expected 40 or 64 hexadecimal digits
            $.summary: the text is blank
        "#]],
    );
    check(
        &provenance().print(),
        &[
            (r#""temperature_milli":700"#, r#""temperature_milli":0.7"#),
            (r#""temperature_milli":700"#, r#""temperature":0.7"#),
            (r#""max_tokens":18446744073709551615"#, r#""max_tokens":18446744073709551616"#),
            (r#""model":"claude""#, r#""model":"""#),
            (r#""parameters":"{\"top_p\":0.9}""#, r#""parameters":"{'top_p':0.9}""#),
        ],
        expect![[r#"
            $.temperature_milli: 0.7 is not a whole number from 0 to 4294967295
            $.temperature: unknown key
            $.max_tokens: 18446744073709551616 is not a whole number from 0 to 18446744073709551615
            $.model: the text is blank
            $.parameters: the text is not one JSON value: key must be a string at line 1 column 2
        "#]],
    );
}
