//! What events say, how they are written, and what they refuse.

use expect_test::{Expect, expect};
use trunkline_decision_objects::{
    ContextFrame, ContextFrameContent, FrameKind, IntentEvent, IntentEventContent, IntentEventKind,
    IntentState, Invalid, Label, Object, ObjectKind, RunEvent, RunEventContent, RunState, StepEvent,
    StepEventContent, StepState, TaskEvent, TaskEventContent, TaskState, ToolInvocation, Usage, UsageContent,
};

use crate::given::{patch_set_id, run_id, sha1, words};
use crate::given_events::{
    call_content, event_id, frame_content, frame_id, header, intent_id, plan_id, step_id, task_id,
    usage_content,
};

/// The text without what every event says first.
fn body(object: impl Into<Object>) -> String {
    let text = object.into().print();
    let head = r#""by":{"kind":"agent","id":"coder-1","display_name":"Coder"},"#;
    let from = text.find(head).expect("every event says who made it") + head.len();
    format!("{}\n", &text[from..])
}

fn task_event(state: TaskState, reason: Option<&str>) -> Result<TaskEvent, Invalid> {
    let reason = reason.map(words);
    TaskEvent::new(header(9), TaskEventContent { task: task_id(2), state, reason, run: Some(run_id(1)) })
}

#[test]
fn every_event_has_one_text() {
    let intent = |kind| IntentEventContent { intent: intent_id(3), kind, reason: None, next_intent: None };
    let frame = |content| {
        ContextFrame::new(
            trunkline_decision_objects::Header { id: frame_id(5), at: header(1).at, by: header(1).by },
            content,
        )
        .unwrap()
    };
    let mut call = call_content(1);
    call.writes = ["src/b.rs", "src/a.rs"].map(|path| path.parse().unwrap()).into();
    let texts = [
        body(
            IntentEvent::new(
                header(9),
                IntentEventContent {
                    next_intent: Some(intent_id(4)),
                    ..intent(IntentEventKind::Completed { result_commit: Some(sha1()) })
                },
            )
            .unwrap(),
        ),
        body(
            IntentEvent::new(header(9), intent(IntentEventKind::Other(Label::new("reworded").unwrap())))
                .unwrap(),
        ),
        body(task_event(TaskState::Blocked, Some("waits for a key")).unwrap()),
        body(
            RunEvent::new(
                header(9),
                RunEventContent {
                    run: run_id(1),
                    state: RunState::Failed,
                    reason: None,
                    error: Some(words("out of tokens")),
                    metrics: None,
                    patch_set: Some(patch_set_id(2)),
                },
            )
            .unwrap(),
        ),
        body(
            StepEvent::new(
                header(9),
                StepEventContent {
                    plan: plan_id(6),
                    step: step_id(7),
                    run: run_id(1),
                    state: StepState::Completed,
                    reason: None,
                    consumed: vec![frame_id(5), frame_id(4)],
                    produced: Vec::new(),
                    spawned_task: None,
                    outputs: None,
                },
            )
            .unwrap(),
        ),
        body(Usage::new(header(9), usage_content(1)).unwrap()),
        body(ToolInvocation::new(header(9), call).unwrap()),
        body(frame(frame_content())),
    ];
    expect![[r#"
        "intent":"00000000-0000-0000-0000-000000000003","kind":"completed","result_commit":"da39a3ee5e6b4b0d3255bfef95601890afd80709","next_intent":"00000000-0000-0000-0000-000000000004"}
        "intent":"00000000-0000-0000-0000-000000000003","kind":"other","label":"reworded"}
        "task":"00000000-0000-0000-0000-000000000002","state":"blocked","reason":"waits for a key","run":"00000000-0000-0000-0000-000000000001"}
        "run":"00000000-0000-0000-0000-000000000001","state":"failed","error":"out of tokens","patch_set":"00000000-0000-0000-0000-000000000002"}
        "plan":"00000000-0000-0000-0000-000000000006","step":"00000000-0000-0000-0000-000000000007","run":"00000000-0000-0000-0000-000000000001","state":"completed","consumed":["00000000-0000-0000-0000-000000000005","00000000-0000-0000-0000-000000000004"],"produced":[]}
        "run":"00000000-0000-0000-0000-000000000001","input_tokens":10,"output_tokens":2,"cache_read_tokens":300,"cache_write_tokens":4,"microdollars":5}
        "run":"00000000-0000-0000-0000-000000000001","tool":"edit_file","reads":[],"writes":["src/a.rs","src/b.rs"],"args":"{}","status":"ok","artifacts":[]}
        "run":"00000000-0000-0000-0000-000000000001","kind":"step_summary","summary":"the lock was held twice"}
    "#]].assert_eq(&texts.concat());
}

#[test]
fn what_was_given_up_says_why() {
    for &state in TaskState::ALL {
        let expected = if state.needs_reason() {
            Err(Invalid::ReasonMissing { state: state.as_str() })
        } else {
            Ok(task_id(2))
        };
        assert_eq!(task_event(state, None).map(|event| event.content().task), expected);
        assert!(task_event(state, Some("because")).is_ok());
    }
}

#[test]
fn more_tokens_than_can_be_counted_are_refused_and_not_wrapped() {
    let content = UsageContent { input_tokens: u64::MAX, output_tokens: 2, ..usage_content(1) };
    assert_eq!(Usage::new(header(9), content), Err(Invalid::TokenSum));
    let content = UsageContent { input_tokens: u64::MAX - 306, ..usage_content(1) };
    assert_eq!(Usage::new(header(9), content).unwrap().total_tokens(), u64::MAX);
}

#[test]
fn a_word_of_ones_own_is_not_a_misspelt_state() {
    for word in ["completed", "complete", "canceled", "analysed"] {
        let kind = IntentEventKind::Other(Label::new(word).unwrap());
        let content = IntentEventContent { intent: intent_id(1), kind, reason: None, next_intent: None };
        assert!(matches!(IntentEvent::new(header(9), content), Err(Invalid::ReservedLabel { .. })), "{word}");
    }
    let content =
        ContextFrameContent { kind: FrameKind::Other(Label::new("toolcall").unwrap()), ..frame_content() };
    let header = trunkline_decision_objects::Header { id: frame_id(5), at: header(1).at, by: header(1).by };
    assert!(matches!(ContextFrame::new(header, content), Err(Invalid::ReservedLabel { .. })));
}

/// Replaces one text by another, and says how it is refused.
fn check(event: impl Into<Object>, replace: &str, with: &str, expected: Expect) {
    let text = event.into().print();
    assert!(text.contains(replace), "{text}");
    let mutated = text.replacen(replace, with, 1);
    expected.assert_eq(&Object::parse(mutated.as_bytes()).expect_err(with).to_string());
}

#[test]
fn a_text_is_refused_at_its_place() {
    let task = || task_event(TaskState::Failed, Some("no")).unwrap();
    check(task(), r#""reason":"no","#, "", expect!["$: an event into the state `failed` needs a reason"]);
    check(task(), r#""reason":"no""#, r#""reason":" ""#, expect!["$.reason: the text is blank"]);
    check(
        task(),
        r#""failed""#,
        r#""Failed""#,
        expect![[
            r#"$.state: "Failed" is not a word that can stand here; expected created, running, blocked, done, failed or cancelled"#
        ]],
    );
    check(
        task(),
        r#""task_event""#,
        r#""taskevent""#,
        expect![[
            r#"$.type: "taskevent" is not a word that can stand here; expected intent, plan, task, run, patch_set, context_snapshot, provenance, intent_event, task_event, run_event, step_event, usage, tool_invocation, context_frame, selection, evidence or decision"#
        ]],
    );
    check(task(), r#""run":"#, r#""run_id":"#, expect!["$.run_id: unknown key"]);
    let completed = || {
        let kind = IntentEventKind::Completed { result_commit: Some(sha1()) };
        let content = IntentEventContent { intent: intent_id(3), kind, reason: None, next_intent: None };
        IntentEvent::new(header(9), content).unwrap()
    };
    check(completed(), r#""completed""#, r#""cancelled""#, expect!["$.result_commit: unknown key"]);
    check(
        completed(),
        r#""completed""#,
        r#""other","label":"Completed""#,
        expect![[
            r#"$.label: "Completed" is not a label: write lower snake case of at most 64 characters, such as `answered`"#
        ]],
    );
    let usage = || Usage::new(header(9), usage_content(1)).unwrap();
    check(
        usage(),
        ":10,",
        ":-1,",
        expect!["$.input_tokens: -1 is not a whole number from 0 to 18446744073709551615"],
    );
    check(
        usage(),
        ":10,",
        ":18446744073709551615,",
        expect!["$: the sum of the tokens is more than 18446744073709551615"],
    );
    let mut call = call_content(1);
    call.reads = ["a".parse().unwrap()].into();
    let call = || ToolInvocation::new(header(9), call.clone()).unwrap();
    check(call(), r#"["a"]"#, r#"["a","a"]"#, expect!["$.reads[1]: path a is listed twice"]);
    check(
        call(),
        r#"["a"]"#,
        r#"["../a"]"#,
        expect![[
            r#"$.reads[0]: "../a" is not a path inside the workspace: it has an empty, `.` or `..` part"#
        ]],
    );
}

/// The table of one sort of event as rows; a state after which nothing comes has none.
fn drawn<S: Copy + std::fmt::Display>(of: &str, moves: &[(Option<S>, &[S])]) -> String {
    let row = |(from, to): &(Option<S>, &[S])| {
        let words: Vec<String> = to.iter().map(|state| format!("`{state}`")).collect();
        let from = from.map_or_else(|| "nothing".to_owned(), |from| format!("`{from}`"));
        format!("| {of} | {from} | {} |\n", words.join(", "))
    };
    moves.iter().filter(|(_, to)| !to.is_empty()).map(row).collect()
}

#[test]
fn the_table_in_the_readme_is_that_of_the_code() {
    let head = "| of | after | may come |\n|---|---|---|\n";
    let expected = [
        head.to_owned(),
        drawn("intent", IntentState::MOVES),
        drawn("task", TaskState::MOVES),
        drawn("run", RunState::MOVES),
        drawn("step", StepState::MOVES),
    ]
    .concat();
    let readme = include_str!("../README.md");
    let from = readme.find(head).expect("the README has the table");
    let found = readme[from..].split("\n\n").next().unwrap_or_default();
    assert_eq!(format!("{found}\n"), expected);
}

#[test]
fn each_state_is_in_its_table_once() {
    fn check<S: Copy + Ord + std::fmt::Debug>(all: &[S], moves: &[(Option<S>, &[S])]) {
        let mut rows: Vec<Option<S>> = moves.iter().map(|(from, _)| *from).collect();
        let count = rows.len();
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len(), count, "{moves:?}");
        assert_eq!(count, all.len() + 1, "{moves:?}");
        let reached = |state: &S| moves.iter().any(|(_, to)| to.contains(state));
        assert!(all.iter().all(reached), "{moves:?}");
    }
    check(IntentState::ALL, IntentState::MOVES);
    check(TaskState::ALL, TaskState::MOVES);
    check(RunState::ALL, RunState::MOVES);
    check(StepState::ALL, StepState::MOVES);
}

#[test]
fn a_kind_is_named_by_the_word_under_type() {
    for &kind in ObjectKind::ALL {
        assert_eq!(kind.to_string().parse(), Ok(kind));
    }
    assert_eq!(Usage::new(header(9), usage_content(1)).unwrap().id(), event_id(9));
    let refused = "PatchSet".parse::<ObjectKind>().unwrap_err();
    expect![[r#""PatchSet" is not a word that can stand here; expected intent, plan, task, run, patch_set, context_snapshot, provenance, intent_event, task_event, run_event, step_event, usage, tool_invocation, context_frame, selection, evidence or decision"#]].assert_eq(&refused.to_string());
}
