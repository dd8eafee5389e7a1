//! Calls of `resolve`: what they mean, what they may, and what a custom tool and a standing handler have of them.

use std::sync::Arc;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{NodeId, ToolSpec};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::resolve_tool::Resolution;
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, End, Entry, Fingerprint, Outcome, ProposalId, Rule, RuleVerdict, Scope,
    StandingHandler, State,
};
use trunkline_runtime::session_store::SessionStore;
use trunkline_runtime::{
    Access, AgentBuilder, Approval, CallPlace, Cancel, DiscardHook, Event, Executor, PendingAction, Standing,
    Tool, ToolContext, ToolOutput, View,
};

use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line};

fn edit(id: &str, path: &str, text: &str) -> Turn {
    Turn::new().call(id, "edit", &json!({ "path": path, "text": text }))
}

fn resolve(id: &str, action: &str) -> Turn {
    Turn::new().call(id, "resolve", &json!({ "action": action, "reason": "because" }))
}

async fn begin(turns: Vec<Turn>, with: impl FnOnce(AgentBuilder, &World) -> AgentBuilder) -> Story {
    let world = World::default();
    let told = Arc::clone(&world.told);
    let agent = world.agent(replies(turns)).approval(Approval::Model).on_event(move |event| {
        if let Event::Resolved { call, details } = event {
            let details = serde_json::to_string(details).unwrap();
            told.lock().unwrap().push(format!("{}: {details}", call.id));
        }
    });
    let agent = with(agent, &world);
    Story::begin(world, agent).await
}

fn check(story: &Story, expected: Expect) {
    let tree = story.tree();
    let words = tree.lines().filter(|line| line.contains("result") || line.contains("harness:"));
    let told = story.world.told.lock().unwrap();
    let lines: Vec<String> =
        words.map(str::to_owned).chain(told.iter().map(|one| format!("-- {one}"))).collect();
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// A tool of somebody else's, which stages what it does.
struct Rename {
    world: World,
    source: Option<&'static str>,
}

#[async_trait]
impl Tool for Rename {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("rename", "Renames.", json!({ "type": "object" }))
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, _: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let mut action = PendingAction::new("rename a", json!({ "to": "b" }));
        action.source_tool = self.source.map(str::to_owned);
        action.details = Some(json!({ "files": 3 }));
        action.fingerprints = vec![Fingerprint::absent("b")];
        context.push_pending_action(action).unwrap();
        ToolOutput::text("a preview")
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Rename {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        subjects.iter().map(Fingerprint::absent).collect()
    }

    async fn apply(&self, entry: &Entry<Value>, _: &ToolContext) -> (Outcome, ToolOutput) {
        self.world.did(format!("renamed to {}", entry.proposal.payload["to"]));
        (Outcome::Applied, ToolOutput::text("Renamed."))
    }

    fn as_discard_hook(&self) -> Option<&dyn DiscardHook> {
        Some(self)
    }
}

#[async_trait]
impl DiscardHook for Rename {
    async fn discarded(&self, entry: &Entry<Value>, _: &End, _: &ToolContext) -> Option<ToolOutput> {
        let reason = entry.decision.as_ref().map(|decision| decision.reason.clone());
        Some(ToolOutput::text(format!("Not renamed: {}.", reason.unwrap_or_default())))
    }
}

/// A plan that somebody approves.
struct Plan(World);

#[async_trait]
impl Standing for Plan {
    async fn resolve(&self, resolution: &Resolution, _: &ToolContext) -> ToolOutput {
        if resolution.reason == "crash" {
            panic!("an approval that crashes");
        }
        self.0.did(format!("plan: {:?} {}", resolution.action, resolution.reason));
        ToolOutput::text("Noted.")
    }
}

#[tokio::test]
async fn r23_what_the_model_decided_is_told_with_the_result_and_kept() {
    let extra = json!({ "action": "apply", "reason": "fits", "id": "p1", "extra": { "note": "x" } });
    let turns = vec![
        Turn::new().call("c1", "rename", &json!({})),
        Turn::new().call("c2", "resolve", &extra),
        Turn::say("done"),
    ];
    let mut story =
        begin(turns, |agent, world| agent.tool(Rename { world: world.clone(), source: None })).await;
    story.prompt("do it").await.unwrap();
    check(
        &story,
        expect![[r#"
        n3 result c1: a preview
        n5 result c2: Applied p1. Renamed.
        -- c2: {"action":"apply","reason":"fits","extra":{"note":"x"},"proposal":"p1","source_tool":"custom_tool","label":"rename a","details":{"files":3}}
    "#]],
    );
    let story = story.restart().await;
    let log = story.store().load(&story.id()).await.unwrap();
    let view = View::of(&log).unwrap();
    let (call, details) = view.resolutions().next().unwrap();
    assert_eq!((call.id.as_str(), details.proposal), ("c2", Some(ProposalId(1))));
    assert_eq!(details.details, Some(json!({ "files": 3 })));
    assert_eq!(story.session.resolutions().count(), 1);
}

#[tokio::test]
async fn an_action_of_a_custom_tool_is_applied_by_the_tool_whose_call_staged_it_also_after_a_restart() {
    for source in [None, Some("gone"), Some("rename")] {
        let turns = vec![
            Turn::new().call("c1", "rename", &json!({})),
            Turn::say("shall I?"),
            Turn::say("shall I?"),
            Turn::say("shall I?"),
            resolve("c2", "apply"),
            Turn::say("done"),
        ];
        let mut story =
            begin(turns, |agent, world| agent.tool(Rename { world: world.clone(), source })).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
        let mut story = story.restart().await;
        let stop = story.prompt("yes").await;
        assert_eq!(stop_line(&stop), "decided other: answered", "{}", story.tree());
        assert_eq!(story.world.effects(), ["renamed to \"b\""]);
        let entry = story.session.proposals().get(ProposalId(1)).unwrap();
        assert_eq!(entry.proposal.source_tool, source.unwrap_or("custom_tool"));
    }
}

#[tokio::test]
async fn a_discard_is_answered_in_the_words_of_its_tool() {
    let turns =
        vec![Turn::new().call("c1", "rename", &json!({})), resolve("c2", "discard"), Turn::say("done")];
    let mut story =
        begin(turns, |agent, world| agent.tool(Rename { world: world.clone(), source: None })).await;
    story.prompt("do it").await.unwrap();
    check(
        &story,
        expect![[r#"
        n3 result c1: a preview
        n5 result c2: Not renamed: because.
        -- c2: {"action":"discard","reason":"because","proposal":"p1","source_tool":"custom_tool","label":"rename a","details":{"files":3}}
    "#]],
    );
}

#[tokio::test]
async fn r17_without_a_store_a_custom_tool_is_told_so() {
    let call = CallPlace { node: NodeId::ROOT, index: 0, id: "c1".to_owned() };
    let context = ToolContext::new(Cancel::new(), call);
    let refused = context.push_pending_action(PendingAction::new("x", Value::Null)).unwrap_err();
    let words = "Pending action store unavailable for custom tools in this runtime.";
    assert_eq!(refused.to_string(), words);
    assert_eq!(words, trunkline_runtime::resolve_queue::STORE_UNAVAILABLE);
}

/// A tool that stages something and crashes, or stages after its call is over.
struct Unsteady(Arc<std::sync::Mutex<Option<ToolContext>>>);

#[async_trait]
impl Tool for Unsteady {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("unsteady", "Crashes.", json!({ "type": "object" }))
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        context.push_pending_action(PendingAction::new("x", Value::Null)).unwrap();
        *self.0.lock().unwrap() = Some(context.clone());
        assert!(!arguments.contains_key("crash"), "a tool that crashes");
        ToolOutput::text("ok")
    }
}

#[tokio::test]
async fn nothing_is_staged_by_a_call_that_crashes_or_is_over() {
    let turns = vec![
        Turn::new().call("c1", "unsteady", &json!({ "crash": true })),
        Turn::new().call("c2", "unsteady", &json!({})),
        resolve("c3", "discard"),
        Turn::say("done"),
    ];
    let kept = Arc::default();
    let tool = Unsteady(Arc::clone(&kept));
    let mut story = begin(turns, |agent, _| agent.tool(tool)).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.session.proposals().iter().count(), 1, "{}", story.tree());
    let late = kept.lock().unwrap().take().unwrap();
    let refused = late.push_pending_action(PendingAction::new("late", Value::Null)).unwrap_err();
    assert_eq!(refused, trunkline_runtime::PendingActionError::CallOver);
}

#[tokio::test]
async fn a_call_that_names_nothing_means_what_the_turn_was_held_to_and_then_the_oldest() {
    // The apply of p1 fails; asked again, it is what is meant, although p2 waits for its first decision.
    let turns = vec![
        edit("c1", "a", "unwritable").call("c2", "edit", &json!({ "path": "b", "text": "new" })),
        resolve("c3", "apply"),
        resolve("c4", "discard").call("c5", "resolve", &json!({ "action": "apply", "reason": "r" })),
        resolve("c6", "discard").call("c7", "resolve", &json!({ "action": "apply", "reason": "r" })),
        Turn::say("done"),
    ];
    let mut story = begin(turns, |agent, _| agent).await;
    story.prompt("do it").await.unwrap();
    check(
        &story,
        expect![[r#"
        n3 result c1: a preview
        n4 result c2: a preview
        n6 result c3!: p1 could not be applied: the disk is full. It is kept: apply it again or discard it.
        n7 harness: Not done yet, and waiting for you: p1 (its apply failed), p2. Call `resolve` with action apply or discard, a reason, and the id.
        n9 result c4: Discarded: edit a. Reason: because
        n10 result c5: Applied p2. Written.
        n12 result c6: Nothing to discard; no pending action remains.
        n13 result c7!: No pending action to resolve. Nothing to apply or discard.
        -- c3: {"action":"apply","reason":"because","proposal":"p1","source_tool":"edit","label":"edit a"}
        -- c4: {"action":"discard","reason":"because","proposal":"p1","source_tool":"edit","label":"edit a"}
        -- c5: {"action":"apply","reason":"r","proposal":"p2","source_tool":"edit","label":"edit b"}
    "#]],
    );
}

#[tokio::test]
async fn r3_the_same_call_again_changes_nothing_and_a_contrary_one_is_refused() {
    let by_id = |id: &str, action: &str| {
        Turn::new().call(id, "resolve", &json!({ "action": action, "reason": "r", "id": "p1" }))
    };
    let turns = vec![
        edit("c1", "a", "new"),
        by_id("c2", "apply"),
        by_id("c3", "apply"),
        by_id("c4", "discard"),
        Turn::say("done"),
    ];
    let mut story = begin(turns, |agent, _| agent).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.world.effects(), ["wrote a"]);
    check(
        &story,
        expect![[r#"
        n3 result c1: a preview
        n5 result c2: Applied p1. Written.
        n7 result c3: p1 is applied: edit a
        n9 result c4!: p1 was already approved by model (r); it is applied
        -- c2: {"action":"apply","reason":"r","proposal":"p1","source_tool":"edit","label":"edit a"}
        -- c3: {"action":"apply","reason":"r","proposal":"p1","source_tool":"edit","label":"edit a"}
    "#]],
    );
}

#[tokio::test]
async fn r8_the_model_decides_only_what_it_may_and_is_told_who_may() {
    let by_id = json!({ "action": "apply", "reason": "r", "id": "p1" });
    let both = edit("c1", "a", "new").call("c2", "resolve", &by_id);
    let mut ask = Rule::new(RuleVerdict::Ask, Actor::new(ActorKind::Person, ""));
    ask.scope = Scope::Always;
    let mut story = begin(vec![both, Turn::say("done")], |agent, _| agent.rules(vec![ask])).await;
    let stop = story.prompt("do it").await;
    let tree = story.tree();
    assert!(tree.contains("result c2!: model may not approve p1; may: person"), "{tree}");
    assert!(story.world.effects().is_empty());
    assert_eq!(stop_line(&stop), "waiting for p1");
}

#[tokio::test]
async fn a_standing_handler_gets_what_no_proposal_waits_for() {
    let mut plan = StandingHandler::new("plan", "approve the plan");
    plan.deciders = vec![ActorKind::Person, ActorKind::Model];
    plan.details = Some(json!({ "plan": 1 }));
    let turns = vec![
        edit("c1", "a", "new"),
        resolve("c2", "apply"),
        resolve("c3", "apply"),
        Turn::new().call("c4", "resolve", &json!({ "action": "apply", "reason": "crash" })),
        Turn::say("done"),
    ];
    let mut story = begin(turns, |agent, world| agent.standing(plan, Arc::new(Plan(world.clone())))).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.world.effects(), ["wrote a", "plan: Apply because"]);
    check(
        &story,
        expect![[r#"
        n3 result c1: a preview
        n5 result c2: Applied p1. Written.
        n7 result c3: Noted.
        n9 result c4!: the approval crashed; what it had done by then is unknown
        -- c2: {"action":"apply","reason":"because","proposal":"p1","source_tool":"edit","label":"edit a"}
        -- c3: {"action":"apply","reason":"because","source_tool":"plan","label":"approve the plan","details":{"plan":1}}
        -- c4: {"action":"apply","reason":"crash","source_tool":"plan","label":"approve the plan","details":{"plan":1}}
    "#]],
    );
}

#[tokio::test]
async fn a_standing_handler_for_a_person_is_not_applied_by_the_model_but_declined() {
    let plan = StandingHandler::new("plan", "approve the plan");
    let turns = vec![resolve("c1", "apply"), resolve("c2", "discard"), Turn::say("done")];
    let mut story = begin(turns, |agent, world| {
        agent.approval(Approval::Person).standing(plan, Arc::new(Plan(world.clone())))
    })
    .await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.world.effects(), ["plan: Discard because"]);
    check(
        &story,
        expect![[r#"
        n3 result c1!: model may not approve "approve the plan"; may: person
        n5 result c2: Noted.
        -- c2: {"action":"discard","reason":"because","source_tool":"plan","label":"approve the plan"}
    "#]],
    );
}

#[tokio::test]
async fn with_nothing_to_resolve_an_apply_fails_and_a_discard_does_not() {
    let mut story =
        begin(vec![resolve("c1", "apply"), resolve("c2", "discard"), Turn::say("done")], |agent, _| agent)
            .await;
    story.prompt("do it").await.unwrap();
    check(
        &story,
        expect![[r#"
        n3 result c1!: No pending action to resolve. Nothing to apply or discard.
        n5 result c2: Nothing to discard; no pending action remains.
    "#]],
    );
}

/// Killed at any write, a call that names nothing resolves what it meant first, once.
#[tokio::test]
async fn r2_a_call_that_is_carried_on_after_a_kill_resolves_no_other_proposal() {
    for left in 0..24 {
        for death in [Death::Lost, Death::Kept, Death::Fenced] {
            let world = World::default();
            let script = |request: &trunkline_runtime::providers::Request| {
                // Where the talk stands says what comes: a killed process is asked again.
                let calls = request.messages.iter().flat_map(|message| message.calls()).count();
                match calls {
                    0 => edit("c1", "a", "new").call("c2", "edit", &json!({ "path": "b", "text": "new" })),
                    2 => resolve("c3", "apply"),
                    _ => Turn::say("done"),
                }
            };
            let agent = world.agent(script).approval(Approval::Model).build().unwrap();
            let inner = Arc::new(trunkline_runtime::session_store::MemoryStore::new());
            let session = agent.start(inner.clone(), "t", None).await.unwrap();
            let id = session.id().clone();
            drop(session);
            let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(inner.clone(), left, death));
            if let Ok(mut session) = agent.open(store, &id).await {
                let _ = session.prompt("do it", &Cancel::new()).await;
            }
            let mut session = agent.open(inner.clone(), &id).await.unwrap();
            for _ in 0..3 {
                let _ = session.prompt("go on", &Cancel::new()).await;
            }
            let state = |id| session.proposals().get(ProposalId(id)).map(|entry| entry.state);
            assert_eq!(state(1), Some(State::Applied), "{left} {death:?}");
            assert_eq!(state(2), Some(State::Proposed), "{left} {death:?}");
            assert_eq!(world.effects(), ["wrote a"], "{left} {death:?}");
        }
    }
}
