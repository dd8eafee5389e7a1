//! Snapshots for the other tests: small ones by number, and strategies for any.

use proptest::collection::{hash_map, hash_set, vec};
use proptest::option;
use proptest::prelude::*;
use trunkline_decision_objects::{
    ContextItem, ContextSnapshot, FrameId, Header, Intent, IntentContent, IntentId, Invalid, ItemKind,
    JsonText, Plan, PlanContent, PlanId, PlanStep, Provenance, ProvenanceContent, ProvenanceId, RunId,
    SelectionStrategy, SnapshotContent, SnapshotId, StepId, Task, TaskContent, TaskGoal, TaskId,
};
use uuid::Uuid;

use crate::given::{any_actor, any_id, any_label, any_oid, any_time, any_words, at, coder};

/// A header with a name by number: `head(IntentId::new, 1)`.
pub(crate) fn head<Id>(new: impl Fn(Uuid) -> Result<Id, Invalid>, number: u128) -> Header<Id> {
    Header { id: named(new, number), at: at(), by: coder() }
}

/// A name by number: `named(StepId::new, 1)`.
pub(crate) fn named<Id>(new: impl Fn(Uuid) -> Result<Id, Invalid>, number: u128) -> Id {
    new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn json(text: &str) -> JsonText {
    JsonText::new(text).expect("a test text is JSON")
}

fn any_head<Id: std::fmt::Debug>(
    new: impl Fn(Uuid) -> Result<Id, Invalid>,
) -> impl Strategy<Value = Header<Id>> {
    (any_id(new), any_time(), any_actor()).prop_map(|(id, at, by)| Header { id, at, by })
}

fn ids<Id: std::fmt::Debug + std::hash::Hash + Eq>(
    new: impl Fn(Uuid) -> Result<Id, Invalid>,
) -> impl Strategy<Value = Vec<Id>> {
    hash_set(any_id(new), 0..3).prop_map(Vec::from_iter)
}

pub(crate) fn any_json() -> impl Strategy<Value = JsonText> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        Just("1e400".to_owned()),
        Just("null".to_owned()),
        any::<String>().prop_map(|text| serde_json::to_string(&text).expect("a text prints")),
    ];
    let nested = leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(", "))),
            // Equal keys are somebody else's affair, and kept.
            inner.prop_map(|item| format!("{{ \"a\":{item},\"a\" : 1}}")),
        ]
    });
    nested.prop_map(|text| json(&text))
}

pub(crate) fn any_intent() -> impl Strategy<Value = Intent> {
    (any_head(IntentId::new), ids(IntentId::new), any_words(), option::of(any_json()), ids(FrameId::new))
        .prop_filter_map("its own parent", |(header, parents, prompt, spec, analysis_frames)| {
            Intent::new(header, IntentContent { parents, prompt, spec, analysis_frames }).ok()
        })
}

pub(crate) fn any_plan() -> impl Strategy<Value = Plan> {
    let step = (any_words(), option::of(any_json()), option::of(any_json()));
    let steps = hash_map(any_id(StepId::new), step, 0..4).prop_map(|steps| {
        let step = |(id, (description, inputs, checks))| PlanStep { id, description, inputs, checks };
        steps.into_iter().map(step).collect()
    });
    (any_head(PlanId::new), any_id(IntentId::new), ids(PlanId::new), ids(FrameId::new), steps)
        .prop_filter_map("its own parent", |(header, intent, parents, frames, steps)| {
            Plan::new(header, PlanContent { intent, parents, frames, steps }).ok()
        })
}

fn any_goal() -> impl Strategy<Value = TaskGoal> {
    prop_oneof![
        prop::sample::select(&[
            "feature", "bugfix", "refactor", "docs", "perf", "test", "chore", "build", "ci", "style"
        ])
        .prop_map(|word| word.parse().expect("a word of the list")),
        any_label().prop_map(TaskGoal::Other),
    ]
}

pub(crate) fn any_task() -> impl Strategy<Value = Task> {
    let said = (any_words(), option::of(any_words()), option::of(any_goal()));
    let measure = (vec(any_words(), 0..3), vec(any_words(), 0..3));
    let place = (
        option::of(any_actor()),
        option::of(any_id(TaskId::new)),
        option::of(any_id(IntentId::new)),
        option::of(any_id(StepId::new)),
    );
    (any_head(TaskId::new), said, measure, place, ids(TaskId::new)).prop_filter_map(
        "of itself, or a goal in other dress",
        |(header, said, (constraints, acceptance_criteria), place, dependencies)| {
            let (title, description, goal) = said;
            let (requester, parent, intent, origin_step) = place;
            let content = TaskContent {
                title,
                description,
                goal,
                constraints,
                acceptance_criteria,
                requester,
                parent,
                intent,
                origin_step,
                dependencies,
            };
            Task::new(header, content).ok()
        },
    )
}

fn any_item() -> impl Strategy<Value = ContextItem> {
    let kind = prop_oneof![
        prop::sample::select(&["file", "url", "snippet", "command", "image"])
            .prop_map(|word| word.parse().expect("a word of the list")),
        any_label().prop_map(ItemKind::Other),
    ];
    let preview = option::of(prop_oneof![any::<String>(), Just("é".repeat(500))]);
    (kind, any_words(), preview, option::of(any_oid())).prop_map(|(kind, path, preview, blob)| ContextItem {
        kind,
        path,
        preview,
        blob,
    })
}

pub(crate) fn any_snapshot() -> impl Strategy<Value = ContextSnapshot> {
    let selection = prop::sample::select(SelectionStrategy::ALL);
    (any_head(SnapshotId::new), selection, vec(any_item(), 0..3), option::of(any_words())).prop_filter_map(
        "a kind in other dress",
        |(header, selection, items, summary)| {
            ContextSnapshot::new(header, SnapshotContent { selection, items, summary }).ok()
        },
    )
}

pub(crate) fn any_provenance() -> impl Strategy<Value = Provenance> {
    let model = (any_words(), any_words(), option::of(any_json()));
    let limits = (any::<Option<u32>>(), any::<Option<u64>>());
    (any_head(ProvenanceId::new), any_id(RunId::new), model, limits).prop_map(
        |(header, run, (provider, model, parameters), (temperature_milli, max_tokens))| {
            let content =
                ProvenanceContent { run, provider, model, parameters, temperature_milli, max_tokens };
            Provenance::new(header, content).expect("nothing can be wrong with it")
        },
    )
}
