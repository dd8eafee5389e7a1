//! Objects that git-internal's own constructors and setters make, traps included.

use std::collections::HashMap;

use expect_test::{Expect, expect};
use git_internal::hash::{HashKind, ObjectHash};
use git_internal::internal::object::ObjectTrait;
use git_internal::internal::object::context::{
    ContextItem, ContextItemKind, ContextSnapshot, SelectionStrategy,
};
use git_internal::internal::object::context_frame::{ContextFrame, FrameKind};
use git_internal::internal::object::decision::{Decision, DecisionType};
use git_internal::internal::object::evidence::{Evidence, EvidenceKind};
use git_internal::internal::object::integrity::IntegrityHash;
use git_internal::internal::object::intent::Intent;
use git_internal::internal::object::intent_event::{IntentEvent, IntentEventKind};
use git_internal::internal::object::patchset::{ChangeType, PatchSet, TouchedFile};
use git_internal::internal::object::plan::{Plan, PlanStep};
use git_internal::internal::object::plan_step_event::{PlanStepEvent, PlanStepStatus};
use git_internal::internal::object::provenance::Provenance;
use git_internal::internal::object::run::{Environment, Run};
use git_internal::internal::object::run_event::{RunEvent, RunEventKind};
use git_internal::internal::object::run_usage::RunUsage;
use git_internal::internal::object::task::{GoalType, Task};
use git_internal::internal::object::task_event::{TaskEvent, TaskEventKind};
use git_internal::internal::object::tool::{IoFootprint, ToolInvocation, ToolStatus};
use git_internal::internal::object::types::{ActorKind, ActorRef, ArtifactRef};
use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_decision_objects::git_internal::{Kind, Violation, import, object_hash};
use trunkline_git_internal::respelled;
use uuid::Uuid;

const COMMIT: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

fn coder() -> ActorRef {
    ActorRef::new(ActorKind::Other("robot".into()), "coder-1").unwrap()
}

fn id(number: u128) -> Uuid {
    Uuid::from_u128(number)
}

fn artifact() -> ArtifactRef {
    ArtifactRef::new("s3", "logs/1").unwrap()
}

/// What it writes, as text, and what it says of it.
fn written(object: &impl ObjectTrait) -> (Kind, String, String) {
    let json = String::from_utf8(object.to_data().unwrap()).unwrap();
    let word: Value = serde_json::from_str(&json).unwrap();
    let kind = Kind::ALL.into_iter().find(|kind| word["object_type"] == kind.as_str()).unwrap();
    (kind, json, object.object_hash_for_kind(HashKind::Sha256).unwrap().to_string())
}

/// One of each kind with every field that has a setter.
pub(crate) fn one_of_each() -> Vec<(Kind, String, String)> {
    let mut intent = Intent::new(coder(), "make it \"work\"\n\u{1}").unwrap();
    intent.set_parents(vec![id(1), id(1)]);
    intent.set_spec(Some(json!({"b": [1.0, 1e300, -0.0, u64::MAX], "a": {"": null}}).into_spec()));
    intent.set_analysis_context_frames(vec![id(2)]);
    let mut plan = Plan::new(coder(), id(1)).unwrap();
    plan.set_parents(vec![id(2)]);
    plan.set_context_frames(vec![id(3)]);
    let mut step = PlanStep::new("first");
    step.set_inputs(Some(json!([])));
    step.set_checks(Some(json!("test")));
    plan.add_step(step);
    let mut task = Task::new(coder(), "", Some(GoalType::Other("ci".into()))).unwrap();
    task.set_description(Some("é ✓".into()));
    task.add_constraint("no network");
    task.add_acceptance_criterion("tests pass");
    task.set_requester(Some(ActorRef::human("alice").unwrap()));
    task.set_parent(Some(id(1)));
    task.set_intent(Some(id(2)));
    task.set_origin_step_id(Some(id(3)));
    task.add_dependency(id(4));
    let mut run = Run::new(coder(), id(1), COMMIT).unwrap();
    run.set_plan(Some(id(2)));
    run.set_snapshot(Some(id(3)));
    let mut patch_set = PatchSet::new(coder(), id(1), COMMIT).unwrap();
    patch_set.set_sequence(u32::MAX);
    patch_set.set_artifact(Some(artifact()));
    patch_set.add_touched(TouchedFile::new("src/lib.rs", ChangeType::Copy, 1, 2).unwrap());
    patch_set.set_rationale(Some("why".into()));
    let mut snapshot = ContextSnapshot::new(coder(), SelectionStrategy::Heuristic).unwrap();
    for (kind, blob) in [
        (ContextItemKind::File, ObjectHash::Sha1([7; 20])),
        (ContextItemKind::Other("file".into()), ObjectHash::Blake3([255; 32])),
    ] {
        let mut item = ContextItem::new(kind, "src").unwrap();
        item.preview = Some("fn main".into());
        item.set_blob(Some(blob));
        snapshot.add_item(item);
    }
    snapshot.set_summary(Some("two".into()));
    let mut provenance = Provenance::new(coder(), id(1), "anthropic", "claude").unwrap();
    provenance.set_parameters(Some(json!({"top_p": 0.95})));
    provenance.set_temperature(Some(0.7));
    provenance.set_max_tokens(Some(u64::MAX));
    let mut intent_event =
        IntentEvent::new(coder(), id(1), IntentEventKind::Other("Completed".into())).unwrap();
    intent_event.set_reason(Some("done".into()));
    intent_event.set_result_commit(Some(COMMIT.parse::<IntegrityHash>().unwrap()));
    intent_event.set_next_intent_id(Some(id(2)));
    let mut task_event = TaskEvent::new(coder(), id(1), TaskEventKind::Blocked).unwrap();
    task_event.set_reason(Some("waits".into()));
    task_event.set_run_id(Some(id(2)));
    let mut run_event = RunEvent::new(coder(), id(1), RunEventKind::Checkpointed).unwrap();
    run_event.set_reason(Some("pause".into()));
    run_event.set_error(Some("none".into()));
    run_event.set_metrics(Some(json!({"seconds": 1.5})));
    run_event.set_patchset_id(Some(id(2)));
    let mut step_event = PlanStepEvent::new(coder(), id(1), id(2), id(3), PlanStepStatus::Skipped).unwrap();
    step_event.set_reason(Some("not needed".into()));
    step_event.set_consumed_frames(vec![id(4)]);
    step_event.set_produced_frames(vec![id(5), id(5)]);
    step_event.set_spawned_task_id(Some(id(6)));
    step_event.set_outputs(Some(json!(false)));
    let usage = RunUsage::new(coder(), id(1), 10, 20, Some(0.0125)).unwrap();
    let mut call = ToolInvocation::new(coder(), id(1), "run_command").unwrap();
    call.set_io_footprint(Some(IoFootprint {
        paths_read: vec!["a".into()],
        paths_written: vec!["../b".into()],
    }));
    call.set_args(json!({"command": "cargo test"}));
    call.set_status(ToolStatus::Error);
    call.set_result_summary(Some("1 failed".into()));
    call.add_artifact(artifact());
    let mut evidence =
        Evidence::new(coder(), id(1), EvidenceKind::Other("benchmark".into()), "cargo").unwrap();
    evidence.set_patchset_id(Some(id(2)));
    evidence.set_command(Some("cargo bench".into()));
    evidence.set_exit_code(Some(-1));
    evidence.set_summary(Some("slow".into()));
    evidence.add_report_artifact(artifact());
    let mut frame = ContextFrame::new(coder(), FrameKind::Other("checkpoint".into()), "it stands").unwrap();
    frame.set_intent_id(Some(id(1)));
    frame.set_run_id(Some(id(2)));
    frame.set_plan_id(Some(id(3)));
    frame.set_step_id(Some(id(4)));
    frame.set_data(Some(json!({"z": 1, "a": 2})));
    frame.set_token_estimate(Some(12));
    let mut decision = Decision::new(coder(), id(1), DecisionType::Commit).unwrap();
    decision.set_chosen_patchset_id(Some(id(2)));
    decision.set_result_commit_sha(Some(COMMIT.parse::<IntegrityHash>().unwrap()));
    decision.set_checkpoint_id(Some("n1".into()));
    decision.set_rationale(Some("tests passed".into()));
    vec![
        written(&intent),
        written(&plan),
        written(&task),
        written(&run),
        written(&patch_set),
        written(&snapshot),
        written(&provenance),
        written(&intent_event),
        written(&task_event),
        written(&run_event),
        written(&step_event),
        written(&usage),
        written(&call),
        written(&evidence),
        written(&frame),
        written(&decision),
    ]
}

trait IntoSpec {
    fn into_spec(self) -> git_internal::internal::object::intent::IntentSpec;
}

impl IntoSpec for Value {
    fn into_spec(self) -> git_internal::internal::object::intent::IntentSpec {
        git_internal::internal::object::intent::IntentSpec(self)
    }
}

#[test]
fn one_of_each_kind_is_read_and_written_byte_for_byte() {
    let all = one_of_each();
    assert_eq!(all.iter().map(|(kind, _, _)| *kind).collect::<Vec<_>>(), Kind::ALL);
    for (kind, json, hash) in all {
        let imported = import(json.as_bytes()).unwrap();
        assert_eq!((imported.kind, imported.print()), (kind, json.clone()));
        assert!(!imported.violations.contains(&Violation::Respelled), "{json}");
        assert_eq!(object_hash(kind, &json).to_string(), hash, "{kind}");
        assert_eq!(respelled(kind, json.as_bytes()).unwrap(), json);
    }
}

/// What git-internal writes, what its own reader says to it, and what stays here.
fn check(object: &impl ObjectTrait, expected: Expect) {
    let (kind, json, _) = written(object);
    let theirs = match respelled(kind, json.as_bytes()) {
        Ok(again) if again == json => String::from("the same"),
        Ok(_) => String::from("another object"),
        Err(error) => error.to_string().split(" at line").next().unwrap_or_default().to_owned(),
    };
    let imported = import(json.as_bytes()).unwrap();
    assert_eq!(imported.print(), json);
    let ours: Vec<String> = imported
        .violations
        .iter()
        .filter(|one| {
            use Violation::{NotANumber, NullValue, Unreadable};
            matches!(one, NotANumber { .. } | NullValue { .. } | Unreadable { .. })
        })
        .map(ToString::to_string)
        .collect();
    expected.assert_eq(&format!("its reader: {theirs}\nours: {}\n", ours.join("; ")));
}

#[test]
fn a_json_value_that_is_null_is_kept_here() {
    let mut event = RunEvent::new(coder(), id(1), RunEventKind::Created).unwrap();
    event.set_metrics(Some(Value::Null));
    check(
        &event,
        expect![[r#"
        its reader: another object
        ours: metrics: the JSON value null stands here; git-internal writes that, and reads it as absent
    "#]],
    );
    let mut step = PlanStep::new("first");
    step.set_checks(Some(Value::Null));
    let mut plan = Plan::new(coder(), id(1)).unwrap();
    plan.add_step(step);
    check(
        &plan,
        expect![[r#"
        its reader: another object
        ours: steps[0].checks: the JSON value null stands here; git-internal writes that, and reads it as absent
    "#]],
    );
}

#[test]
fn what_it_cannot_read_back_is_kept_here() {
    let mut provenance = Provenance::new(coder(), id(1), "x", "y").unwrap();
    provenance.set_temperature(Some(f64::NAN));
    check(
        &provenance,
        expect![[r#"
        its reader: another object
        ours: temperature: null stands where a number was none; git-internal reads it as absent
    "#]],
    );
    for (key, expected) in [
        (
            "rustc",
            expect![[r#"
        its reader: Error decode in the Object ,info:unknown field `rustc`
        ours: environment.rustc: git-internal writes this key and its own reader refuses it
    "#]],
        ),
        (
            "os",
            expect![[r#"
        its reader: Error decode in the Object ,info:duplicate field `os`
        ours: environment.os: git-internal writes this key and its own reader refuses it
    "#]],
        ),
    ] {
        let extra = HashMap::from([(String::from(key), json!("1.95"))]);
        let environment = Environment { os: "linux".into(), arch: "x86_64".into(), cwd: "/".into(), extra };
        // There is no setter for it, so its own JSON is put into a run's.
        let run = Run::new(coder(), id(1), COMMIT).unwrap();
        let (kind, json, _) = written(&run);
        let (head, _) = json.split_once("\"environment\":").unwrap();
        let json = format!("{head}\"environment\":{}}}", serde_json::to_string(&environment).unwrap());
        let refused = respelled(kind, json.as_bytes()).unwrap_err().to_string();
        let imported = import(json.as_bytes()).unwrap();
        assert_eq!(imported.print(), json);
        let unreadable: Vec<String> = imported
            .violations
            .iter()
            .filter(|one| matches!(one, Violation::Unreadable { .. }))
            .map(ToString::to_string)
            .collect();
        let refused = refused.split(" at line").next().unwrap_or_default();
        expected.assert_eq(&format!("its reader: {refused}\nours: {}\n", unreadable.join("; ")));
    }
}

#[test]
fn a_number_of_many_digits_changes_at_each_reading_there_and_stays_here() {
    let usage = RunUsage::new(coder(), id(1), 1, 1, Some(7.221405673217934e-186)).unwrap();
    check(
        &usage,
        expect![[r#"
        its reader: another object
        ours: 
    "#]],
    );
    let usage = RunUsage::new(coder(), id(1), 1, 1, Some(0.1)).unwrap();
    check(
        &usage,
        expect![[r#"
        its reader: the same
        ours: 
    "#]],
    );
}

proptest! {
    #[test]
    fn every_number_that_it_writes_stays_here(number in any::<f64>()) {
        let usage = RunUsage::new(coder(), id(1), 1, 1, Some(number)).unwrap();
        let (_, json, _) = written(&usage);
        prop_assert_eq!(import(json.as_bytes()).unwrap().print(), json);
    }
}
