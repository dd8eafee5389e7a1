//! Rules: what may be done unasked, what must be asked, what never, whatever the approval says.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Timestamp, ToolSpec};
use trunkline_runtime::orders::{self, Order};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, CommandPattern, Effect, PathPattern, Rule, RuleTarget, RuleVerdict, Scope, Verdict,
};
use trunkline_runtime::session_store::{MemoryStore, SessionId, SessionStore};
use trunkline_runtime::{Access, Approval, Said, Session, Tool, ToolContext, ToolOutput};

use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line};

pub(crate) fn edit(id: &str, path: &str) -> Turn {
    Turn::new().call(id, "edit", &json!({ "path": path, "text": "new" }))
}

pub(crate) fn run(id: &str, command: &str) -> Turn {
    Turn::new().call(id, "shell", &json!({ "path": command }))
}

pub(crate) fn rule(verdict: RuleVerdict) -> Rule {
    Rule::new(verdict, Actor::new(ActorKind::Person, "anna"))
}

pub(crate) fn on_path(verdict: RuleVerdict, pattern: &str) -> Rule {
    let mut rule = rule(verdict);
    rule.target = Some(RuleTarget::Path(pattern.parse::<PathPattern>().unwrap()));
    rule
}

pub(crate) fn on_command(verdict: RuleVerdict, words: &[&str]) -> Rule {
    let mut rule = rule(verdict);
    rule.target = Some(RuleTarget::Command(CommandPattern::beginning(words.iter().copied()).unwrap()));
    rule
}

/// Narrows or changes a rule.
pub(crate) fn with(mut rule: Rule, change: impl FnOnce(&mut Rule)) -> Rule {
    change(&mut rule);
    rule
}

pub(crate) fn of_tool(verdict: RuleVerdict, tool: &str) -> Rule {
    with(rule(verdict), |rule| rule.tool = Some(tool.to_owned()))
}

pub(crate) fn once(verdict: RuleVerdict) -> Rule {
    with(rule(verdict), |rule| rule.scope = Scope::Once)
}

pub(crate) fn because(mut rule: Rule, reason: &str) -> Rule {
    rule.reason = reason.to_owned();
    rule
}

pub(crate) async fn begin(approval: Approval, rules: Vec<Rule>, turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(approval).rules(rules);
    Story::begin(world, agent).await
}

pub(crate) fn rules_of(session: &Session) -> String {
    let lines = session.rules().iter().map(|one| {
        let revoked = one.revoked.as_ref().map(|(by, why)| format!(", taken back by {by}: {why}"));
        format!("{} {:?} used {}{}", one.id, one.rule.verdict, one.used, revoked.unwrap_or_default())
            .to_lowercase()
    });
    lines.collect::<Vec<_>>().join("; ")
}

pub(crate) fn check(story: &Story, stop: &str, expected: Expect) {
    let tree = story.tree();
    let words: Vec<&str> = tree
        .lines()
        .filter(|line| ["result", "harness:", "Staged", "discarded"].iter().any(|word| line.contains(word)))
        .collect();
    let done = story.world.effects().join(", ");
    let told = story.world.told.lock().unwrap().join(", ");
    let rules = rules_of(&story.session);
    expected.assert_eq(&format!(
        "{}\n-- did: {done}\n-- queue: {told}\n-- rules: {rules}\n-- {stop}\n",
        words.join("\n")
    ));
}

#[tokio::test]
async fn what_is_forbidden_takes_the_place_of_nothing_and_what_was_approved_before_stays_approved() {
    let world = World::default();
    let place = Arc::new(OnceLock::new());
    let deny = with(of_tool(RuleVerdict::Deny, "edit"), |rule| rule.effects = [Effect::Reversible].into());
    let posted = vec![
        Order::Verdict { proposal: 1.into_id(), said: Said::new(Verdict::Approve, ""), seen: Some(0) },
        Order::GiveRule { rule: deny },
    ];
    let turn = edit("c1", "a").call("c2", "post", &json!({})).call(
        "c3",
        "edit",
        &json!({ "path": "a", "text": "other" }),
    );
    let agent = world.agent(replies(vec![turn, Turn::say("done")])).approval(Approval::Always);
    let mut story = Story::begin(world, agent.tool(Posts(place.clone(), posted))).await;
    place.set((story.store(), story.id())).ok().unwrap();
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        ++ text: Staged as p1. Nothing is written before it is approved; you will be told.
        n4 result c2: posted
        n5 result c3: a preview
        ++ text: p2 (edit a) was discarded: forbidden by r1. Nothing is written.
        n6 harness: A person approved p1, and it was applied. Written.
        -- did: wrote a
        -- queue: p1 staged, p1 decided, p2 staged, p2 decided, p1 began, p1 finished
        -- rules: r1 deny used 1
        -- decided other: answered
    "#]],
    );
}

/// A tool that posts letters to its own session, as another process would in the middle of a turn.
pub(crate) struct Posts(pub(crate) Arc<OnceLock<(Arc<dyn SessionStore>, SessionId)>>, pub(crate) Vec<Order>);

#[async_trait]
impl Tool for Posts {
    fn spec(&self) -> ToolSpec {
        let input_schema = json!({ "type": "object" });
        ToolSpec { name: "post".to_owned(), description: "posts".to_owned(), input_schema, strict: None }
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let (store, id) = self.0.get().unwrap();
        for request in &self.1 {
            orders::post(store.as_ref(), id, request, Timestamp(1)).await.unwrap();
        }
        ToolOutput::text("posted")
    }
}

#[tokio::test]
async fn what_a_rule_has_taken_from_the_model_meanwhile_it_cannot_approve() {
    let world = World::default();
    let place = Arc::new(OnceLock::new());
    let given = vec![Order::GiveRule { rule: because(on_path(RuleVerdict::Ask, "src/**"), "mine") }];
    let turn = edit("c1", "src/a").call("c2", "post", &json!({})).call(
        "c3",
        "resolve",
        &json!({ "action": "apply", "reason": "quick" }),
    );
    let agent = world.agent(replies(vec![turn, Turn::say("done")])).approval(Approval::Model);
    let mut story = Story::begin(world, agent.tool(Posts(place.clone(), given))).await;
    place.set((story.store(), story.id())).ok().unwrap();
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        ++ text: Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
        n4 result c2: posted
        n5 result c3!: model may not approve p1; may: person
        -- did: 
        -- queue: p1 staged
        -- rules: r1 ask used 0
        -- waiting for p1
    "#]],
    );
}

#[tokio::test]
async fn a_rule_that_counts_once_counts_once_across_a_kill_at_every_write() {
    for death in [Death::Lost, Death::Kept] {
        for life in 0..12 {
            let world = World::default();
            let turns = |_: &_| edit("c1", "a").call("c2", "edit", &json!({ "path": "b", "text": "new" }));
            let agent = world.agent(turns).build().unwrap();
            let inner = Arc::new(MemoryStore::new());
            let mut session = agent.start(inner.clone(), "t", None).await.unwrap();
            let by_once = once(RuleVerdict::Allow);
            session.give_rule(by_once).await.unwrap();
            let id = session.id().clone();
            drop(session);
            let cancel = trunkline_runtime::Cancel::new();
            let mortal: Arc<dyn SessionStore> = Arc::new(Mortal::new(inner.clone(), life, death));
            if let Ok(mut session) = agent.open(mortal, &id).await {
                let _ = session.prompt("do it", &cancel).await;
            }
            let mut session = agent.open(inner.clone(), &id).await.unwrap();
            let stop = if session.tree().len() > 1 {
                session.resume(&cancel).await
            } else {
                session.prompt("do it", &cancel).await
            };
            assert!(stop_line(&stop).starts_with("waiting for p"), "{death:?} {life}: {}", stop_line(&stop));
            assert_eq!(rules_of(&session), "r1 allow used 1", "{death:?} {life}");
            assert_eq!(world.effects(), ["wrote a"], "{death:?} {life}");
            let approved = session.proposals().iter().filter(|entry| entry.decision.is_some()).count();
            assert_eq!(approved, 1, "{death:?} {life}");
        }
    }
}

#[tokio::test]
async fn a_command_that_waits_is_decided_by_a_rule_that_another_process_gives() {
    for (verdict, expected) in [
        (
            RuleVerdict::Allow,
            expect![[r#"
        n3 result c1: ok
        -- did: ran make all
        -- queue: p1 staged, p1 decided, p1 began, p1 finished
        -- rules: r1 allow used 1
        -- decided other: answered
    "#]],
        ),
        (
            RuleVerdict::Deny,
            expect![[r#"
        n3 result c1!: not run: forbidden by r1
        -- did: 
        -- queue: p1 staged, p1 decided
        -- rules: r1 deny used 1
        -- decided other: answered
    "#]],
        ),
    ] {
        let mut story = begin(Approval::Person, vec![], vec![run("c1", "make all"), Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
        let request = Order::GiveRule { rule: on_command(verdict, &["make"]) };
        orders::post(story.store().as_ref(), &story.id(), &request, Timestamp(1)).await.unwrap();
        let stop = story.resume().await;
        check(&story, &stop_line(&stop), expected);
    }
}

/// `p1` for 1.
pub(crate) trait IntoId {
    fn into_id(self) -> trunkline_runtime::resolve_queue::ProposalId;
}

impl IntoId for u32 {
    fn into_id(self) -> trunkline_runtime::resolve_queue::ProposalId {
        trunkline_runtime::resolve_queue::ProposalId(self)
    }
}
