//! Events for the other tests: strategies for any value, and small ones by number.

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use trunkline_decision_objects::{
    Actor, ActorKind, Artifact, Choice, ContextFrame, ContextFrameContent, Digest, EventId, FrameId,
    FrameKind, Header, IntentEvent, IntentEventContent, IntentEventKind, IntentId, NonBlank, Object,
    PatchSetId, PlanId, RelativePath, RunEvent, RunEventContent, RunId, RunState, Selection,
    SelectionContent, StepEvent, StepEventContent, StepId, StepState, TaskEvent, TaskEventContent, TaskId,
    TaskState, ToolInvocation, ToolInvocationContent, ToolStatus, Usage, UsageContent,
};
use uuid::Uuid;

use crate::given::{any_label, any_oid, any_time, at, coder};

pub(crate) fn event_id(number: u128) -> EventId {
    EventId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn frame_id(number: u128) -> FrameId {
    FrameId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn intent_id(number: u128) -> IntentId {
    IntentId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn task_id(number: u128) -> TaskId {
    TaskId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn plan_id(number: u128) -> PlanId {
    PlanId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn step_id(number: u128) -> StepId {
    StepId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn header(number: u128) -> Header<EventId> {
    Header { id: event_id(number), at: at(), by: coder() }
}

pub(crate) fn frame_content() -> ContextFrameContent {
    ContextFrameContent {
        intent: None,
        run: Some(crate::given::run_id(1)),
        plan: None,
        step: None,
        kind: FrameKind::StepSummary,
        summary: crate::given::words("the lock was held twice"),
        data: None,
        token_estimate: None,
    }
}

pub(crate) fn usage_content(run: u128) -> UsageContent {
    UsageContent {
        run: crate::given::run_id(run),
        input_tokens: 10,
        output_tokens: 2,
        cache_read_tokens: 300,
        cache_write_tokens: 4,
        microdollars: Some(5),
    }
}

pub(crate) fn call_content(run: u128) -> ToolInvocationContent {
    ToolInvocationContent {
        run: crate::given::run_id(run),
        tool: crate::given::words("edit_file"),
        call: None,
        reads: Default::default(),
        writes: Default::default(),
        args: "{}".into(),
        status: ToolStatus::Ok,
        summary: None,
        artifacts: Vec::new(),
        started: None,
        ended: None,
    }
}

// Strategies: any value that the constructors let through.

fn uuid() -> impl Strategy<Value = Uuid> {
    (1..u128::MAX).prop_map(Uuid::from_u128)
}

macro_rules! ids {
    ($($name:ident: $id:ident,)+) => {
        $(fn $name() -> impl Strategy<Value = $id> {
            uuid().prop_map(|uuid| $id::new(uuid).expect("a test id is not nil"))
        })+
    };
}

ids! {
    any_event_id: EventId,
    any_frame_id: FrameId,
    any_intent_id: IntentId,
    any_plan_id: PlanId,
    any_step_id: StepId,
    any_task_id: TaskId,
    any_run_id: RunId,
    any_patch_set_id: PatchSetId,
}

fn any_words() -> impl Strategy<Value = NonBlank> {
    any::<String>().prop_filter_map("blank", |text| NonBlank::new(text).ok())
}

fn any_path() -> impl Strategy<Value = RelativePath> {
    "[a-zé\"-]{1,8}(/[a-zA-Z0-9 ._:-]{1,8}){0,2}"
        .prop_filter_map("not a path", |text| RelativePath::new(text).ok())
}

fn any_header<Id: std::fmt::Debug>(id: impl Strategy<Value = Id>) -> impl Strategy<Value = Header<Id>> {
    let kind = prop_oneof![Just(ActorKind::Human), any_label().prop_map(ActorKind::Other)];
    let by = (kind, any_words(), option::of(any::<String>()));
    (id, any_time(), by).prop_map(|(id, at, (kind, by, display_name))| Header {
        id,
        at,
        by: Actor { kind, id: by, display_name },
    })
}

pub(crate) fn any_intent_event() -> impl Strategy<Value = IntentEvent> {
    let kind = prop_oneof![
        Just(IntentEventKind::Analyzed),
        option::of(any_oid()).prop_map(|result_commit| IntentEventKind::Completed { result_commit }),
        Just(IntentEventKind::Cancelled),
        any_label().prop_map(IntentEventKind::Other),
    ];
    let next = option::of(any_intent_id());
    (any_header(any_event_id()), any_intent_id(), kind, option::of(any_words()), next).prop_filter_map(
        "a label that reads like a state",
        |(header, intent, kind, reason, next_intent)| {
            IntentEvent::new(header, IntentEventContent { intent, kind, reason, next_intent }).ok()
        },
    )
}

pub(crate) fn any_task_event() -> impl Strategy<Value = TaskEvent> {
    let body = (any_task_id(), select(TaskState::ALL), any_words(), any::<bool>(), option::of(any_run_id()));
    (any_header(any_event_id()), body).prop_map(|(header, (task, state, reason, gives, run))| {
        let reason = (gives || state.needs_reason()).then_some(reason);
        TaskEvent::new(header, TaskEventContent { task, state, reason, run }).expect("it says why")
    })
}

pub(crate) fn any_run_event() -> impl Strategy<Value = RunEvent> {
    let words = (option::of(any_words()), option::of(any_words()), any::<Option<String>>());
    let body = (any_run_id(), select(RunState::ALL), words, option::of(any_patch_set_id()));
    (any_header(any_event_id()), body).prop_map(|(header, (run, state, words, patch_set))| {
        let (reason, error, metrics) = words;
        let error = error.filter(|_| state == RunState::Failed);
        let content = RunEventContent { run, state, reason, error, metrics, patch_set };
        RunEvent::new(header, content).expect("only what failed has an error")
    })
}

pub(crate) fn any_step_event() -> impl Strategy<Value = StepEvent> {
    let of = (any_plan_id(), any_step_id(), any_run_id(), select(StepState::ALL));
    let frames = (btree_set(any_frame_id(), 0..4), btree_set(any_frame_id(), 0..4));
    let rest = (option::of(any_words()), option::of(any_task_id()), any::<Option<String>>());
    (any_header(any_event_id()), of, frames, rest).prop_map(|(header, of, frames, rest)| {
        let (plan, step, run, state) = of;
        let (reason, spawned_task, outputs) = rest;
        let content = StepEventContent {
            plan,
            step,
            run,
            state,
            reason,
            consumed: frames.0.into_iter().rev().collect(),
            produced: frames.1.into_iter().collect(),
            spawned_task,
            outputs,
        };
        StepEvent::new(header, content).expect("no frame twice")
    })
}

pub(crate) fn any_usage() -> impl Strategy<Value = Usage> {
    let counts = any::<(u64, u64, u64, u64)>().prop_map(|(a, b, c, d)| (a / 4, b / 4, c / 4, d / 4));
    (any_header(any_event_id()), any_run_id(), counts, any::<Option<u64>>()).prop_map(
        |(
            header,
            run,
            (input_tokens, output_tokens, cache_read_tokens, cache_write_tokens),
            microdollars,
        )| {
            let content = UsageContent {
                run,
                input_tokens,
                output_tokens,
                cache_read_tokens,
                cache_write_tokens,
                microdollars,
            };
            Usage::new(header, content).expect("four quarters are at most a whole")
        },
    )
}

pub(crate) fn any_tool_invocation() -> impl Strategy<Value = ToolInvocation> {
    let artifact = (any_words(), any_words(), any::<Option<[u8; 32]>>())
        .prop_map(|(store, key, digest)| Artifact { store, key, digest: digest.map(Digest::from_bytes) });
    let call = (any_run_id(), any_words(), option::of(any_words()), any::<String>());
    let files = (btree_set(any_path(), 0..3), btree_set(any_path(), 0..3), vec(artifact, 0..3));
    let end =
        (select(ToolStatus::ALL), any::<Option<String>>(), option::of(any_time()), option::of(any_time()));
    (any_header(any_event_id()), call, files, end).prop_map(|(header, call, files, end)| {
        let (run, tool, call, args) = call;
        let (reads, writes, artifacts) = files;
        let (status, summary, started, ended) = end;
        ToolInvocation::new(
            header,
            ToolInvocationContent {
                run,
                tool,
                call,
                reads,
                writes,
                args,
                status,
                summary,
                artifacts,
                started,
                ended,
            },
        )
        .expect("nothing is refused of a call")
    })
}

const FRAMES: [FrameKind; 7] = [
    FrameKind::IntentAnalysis,
    FrameKind::StepSummary,
    FrameKind::CodeChange,
    FrameKind::SystemState,
    FrameKind::ErrorRecovery,
    FrameKind::Checkpoint,
    FrameKind::ToolCall,
];

pub(crate) fn any_context_frame() -> impl Strategy<Value = ContextFrame> {
    let kind = prop_oneof![select(&FRAMES), any_label().prop_map(FrameKind::Other),];
    let of = (
        option::of(any_intent_id()),
        option::of(any_run_id()),
        option::of(any_plan_id()),
        option::of(any_step_id()),
    );
    let says = (kind, any_words(), any::<Option<String>>(), any::<Option<u64>>());
    (any_header(any_frame_id()), of, says).prop_filter_map("an orphan", |(header, of, says)| {
        let (intent, run, plan, step) = of;
        let (kind, summary, data, token_estimate) = says;
        let content = ContextFrameContent { intent, run, plan, step, kind, summary, data, token_estimate };
        ContextFrame::new(header, content).ok()
    })
}

pub(crate) fn any_selection() -> impl Strategy<Value = Selection> {
    let choice = prop_oneof![
        (any_run_id(), any_patch_set_id()).prop_map(|(run, patch_set)| Choice::PatchSet { run, patch_set }),
        (any_intent_id(), any_plan_id()).prop_map(|(intent, plan)| Choice::Plan { intent, plan }),
    ];
    (any_header(any_event_id()), choice, option::of(any_words())).prop_map(|(header, choice, reason)| {
        Selection::new(header, SelectionContent { choice, reason }).expect("nothing is refused of a choice")
    })
}

/// Any event, as any object.
pub(crate) fn any_event() -> impl Strategy<Value = Object> {
    prop_oneof![
        any_intent_event().boxed().prop_map(Object::from).boxed(),
        any_task_event().boxed().prop_map(Object::from).boxed(),
        any_run_event().boxed().prop_map(Object::from).boxed(),
        any_step_event().boxed().prop_map(Object::from).boxed(),
        any_usage().boxed().prop_map(Object::from).boxed(),
        any_tool_invocation().boxed().prop_map(Object::from).boxed(),
        any_context_frame().boxed().prop_map(Object::from).boxed(),
        any_selection().boxed().prop_map(Object::from).boxed(),
    ]
}
