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

pub(crate) fn resolve(id: &str, action: &str) -> Turn {
    Turn::new().call(id, "resolve", &json!({ "action": action, "reason": "because" }))
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

pub(crate) fn model_may(mut rule: Rule) -> Rule {
    rule.deciders.insert(ActorKind::Model);
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
async fn what_a_rule_allows_is_approved_by_it_in_the_batch_that_stages_it() {
    let rules = vec![on_path(RuleVerdict::Allow, "src/**")];
    let mut story = begin(Approval::Person, rules, vec![edit("c1", "src/a.rs"), Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        ++ text: Staged as p1 and approved: allowed by r1. Nothing more is needed; you will be told when it is written.
        n4 harness: Applied p1. Written.
        -- did: wrote src/a.rs
        -- queue: p1 staged, p1 decided, p1 began, p1 finished
        -- rules: r1 allow used 1
        -- decided other: answered
    "#]],
    );
    let decision = story.session.proposals().iter().next().unwrap().decision.clone().unwrap();
    assert_eq!(
        (decision.by, decision.reason.as_str()),
        (Actor::new(ActorKind::Policy, "r1"), "allowed by r1")
    );
}

#[tokio::test]
async fn what_a_rule_forbids_is_discarded_and_the_model_is_told_which() {
    let rules = vec![because(on_path(RuleVerdict::Deny, "gen/**"), "it is \x1b[31mmade\nby a script")];
    let mut story = begin(Approval::Always, rules, vec![edit("c1", "gen/a.rs"), Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
            n3 result c1: a preview
            ++ text: p1 (edit gen/a.rs) was discarded: forbidden by r1 (it is [31mmade by a script). Nothing is written.
            -- did: 
            -- queue: p1 staged, p1 decided
            -- rules: r1 deny used 1
            -- decided other: answered
        "#]],
    );
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

#[tokio::test]
async fn a_preview_that_changes_nothing_is_neither_forbidden_nor_staged() {
    let rules = vec![on_path(RuleVerdict::Deny, "**")];
    let mut story = begin(Approval::Person, rules, vec![edit("c1", "a"), Turn::say("done")]).await;
    story.world.files.lock().unwrap().insert("a".to_owned(), "new".to_owned());
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        -- did: 
        -- queue: 
        -- rules: r1 deny used 0
        -- decided other: answered
    "#]],
    );
}

#[tokio::test]
async fn commands_are_allowed_asked_about_and_forbidden_by_their_words() {
    let rules = || {
        vec![
            on_command(RuleVerdict::Allow, &["cargo", "test"]),
            because(on_command(RuleVerdict::Deny, &["git", "push"]), "ask Anna"),
        ]
    };
    let turn = run("c1", "cargo test --all").call("c2", "shell", &json!({ "path": "git push" })).call(
        "c3",
        "shell",
        &json!({ "path": "make" }),
    );
    // What no rule speaks of goes as it did before there were rules.
    for (approval, expected) in [
        (
            Approval::Person,
            expect![[r#"

            -- did: ran cargo test --all
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p2 staged, p2 decided, p3 staged
            -- rules: r1 allow used 1; r2 deny used 1
            -- waiting for p3
        "#]],
        ),
        (
            Approval::Model,
            expect![[r#"
            n3 result c1: ok
            n4 result c2!: not run: forbidden by r2 (ask Anna)
            n5 result c3: ok
            -- did: ran cargo test --all, ran make
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p2 staged, p2 decided
            -- rules: r1 allow used 1; r2 deny used 1
            -- decided other: answered
        "#]],
        ),
        (
            Approval::Always,
            expect![[r#"
            n3 result c1: ok
            n4 result c2!: not run: forbidden by r2 (ask Anna)
            n5 result c3: ok
            -- did: ran cargo test --all, ran make
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p2 staged, p2 decided
            -- rules: r1 allow used 1; r2 deny used 1
            -- decided other: answered
        "#]],
        ),
    ] {
        let mut story = begin(approval, rules(), vec![turn.clone(), Turn::say("done")]).await;
        let stop = stop_line(&story.prompt("do it").await);
        check(&story, &stop, expected);
    }
}

#[tokio::test]
async fn a_rule_that_asks_holds_under_every_approval() {
    for approval in [Approval::Model, Approval::Always] {
        let rules = vec![on_path(RuleVerdict::Ask, "src/**"), on_command(RuleVerdict::Ask, &["make"])];
        let turn = edit("c1", "src/a").call("c2", "shell", &json!({ "path": "make all" }));
        let mut story = begin(approval, rules, vec![turn, Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1", "{approval:?}");
        let decide = Verdict::Approve;
        story.session.decide(1.into_id(), decide, "").await.unwrap();
        assert_eq!(stop_line(&story.resume().await), "waiting for p2", "{approval:?}");
        story.session.decide(2.into_id(), decide, "").await.unwrap();
        assert_eq!(stop_line(&story.resume().await), "decided other: answered", "{approval:?}");
        assert_eq!(story.world.effects(), ["wrote src/a", "ran make all"]);
        assert_eq!(rules_of(&story.session), "r1 ask used 1; r2 ask used 1");
    }
}

#[tokio::test]
async fn a_rule_lets_the_model_decide_where_a_person_would() {
    let rules = vec![model_may(on_path(RuleVerdict::Ask, "src/**"))];
    let turns = vec![edit("c1", "src/a").call("c2", "edit", &json!({ "path": "b", "text": "new" }))];
    let turns = turns.into_iter().chain([resolve("c3", "apply"), Turn::say("done")]).collect();
    let mut story = begin(Approval::Person, rules, turns).await;
    // Nobody but a person may decide on `b`.
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p2");
    let approve = Verdict::Approve;
    story.session.decide(2.into_id(), approve, "").await.unwrap();
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        ++ text: Staged as p1. Nothing is written yet: call `resolve` with action apply or discard and id "p1".
        n4 result c2: a preview
        ++ text: Staged as p2. Nothing is written before it is approved; you will be told.
        n5 harness: A person approved p2, and it was applied. Written.
        n7 result c3: Applied p1. Written.
        -- did: wrote b, wrote src/a
        -- queue: p1 staged, p2 staged, p2 decided, p2 began, p2 finished, p1 decided, p1 began, p1 finished
        -- rules: r1 ask used 1
        -- decided other: answered
    "#]],
    );
}

#[tokio::test]
async fn a_session_in_which_the_model_has_no_tool_to_decide_with_asks_a_person_instead() {
    let mut story = begin(Approval::Person, vec![], vec![edit("c1", "src/a"), Turn::say("done")]).await;
    story.session.give_rule(model_may(rule(RuleVerdict::Ask))).await.unwrap();
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    let requests = story.world.requests.lock().unwrap();
    assert!(requests.iter().all(|request| request.tools.iter().all(|tool| tool.name != "resolve")));
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
async fn a_rule_that_counts_once_counts_once_and_keeps_for_when_nothing_else_allows() {
    let by_once = once(RuleVerdict::Allow);
    let turns = vec![edit("c1", "src/a"), edit("c2", "b"), edit("c3", "c"), Turn::say("done")];
    let mut story = begin(Approval::Person, vec![on_path(RuleVerdict::Allow, "src/**")], turns).await;
    story.session.give_rule(by_once).await.unwrap();
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        ++ text: Staged as p1 and approved: allowed by r1. Nothing more is needed; you will be told when it is written.
        n4 harness: Applied p1. Written.
        n6 result c2: a preview
        ++ text: Staged as p2 and approved: allowed by r2. Nothing more is needed; you will be told when it is written.
        n7 harness: Applied p2. Written.
        n9 result c3: a preview
        ++ text: Staged as p3. Nothing is written before it is approved; you will be told.
        -- did: wrote src/a, wrote b
        -- queue: p1 staged, p1 decided, p1 began, p1 finished, p2 staged, p2 decided, p2 began, p2 finished, p3 staged
        -- rules: r1 allow used 1; r2 allow used 1
        -- waiting for p3
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
async fn a_rule_that_comes_later_decides_what_waits() {
    let turn = edit("c1", "src/a").call("c2", "edit", &json!({ "path": "gen/b", "text": "new" }));
    let mut story = begin(Approval::Person, vec![], vec![turn, Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1, p2");
    story.session.give_rule(on_path(RuleVerdict::Allow, "src/**")).await.unwrap();
    story.session.give_rule(because(on_path(RuleVerdict::Deny, "gen/**"), "made by a script")).await.unwrap();
    let stop = story.resume().await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        ++ text: Staged as p1. Nothing is written before it is approved; you will be told.
        n4 result c2: a preview
        ++ text: Staged as p2. Nothing is written before it is approved; you will be told.
        n5 harness: Applied p1. Written.
        n6 harness: p2 (edit gen/b) was discarded: forbidden by r2 (made by a script).
        -- did: wrote src/a
        -- queue: p1 staged, p2 staged, p1 decided, p1 began, p1 finished, p2 decided
        -- rules: r1 allow used 1; r2 deny used 1
        -- decided other: answered
    "#]],
    );
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

#[tokio::test]
async fn what_is_forbidden_is_forbidden_without_a_gate_too() {
    let deny = because(of_tool(RuleVerdict::Deny, "own"), "not here");
    let ask = of_tool(RuleVerdict::Ask, "own");
    struct Own(World);
    #[async_trait]
    impl Tool for Own {
        fn spec(&self) -> ToolSpec {
            let input_schema = json!({ "type": "object" });
            ToolSpec { name: "own".to_owned(), description: "x".to_owned(), input_schema, strict: None }
        }
        async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
            self.0.did("called own");
            ToolOutput::text("ok")
        }
    }
    let turn = || Turn::new().call("c1", "own", &json!({})).call("c2", "read", &json!({ "path": "a" }));
    for (rule, expected) in [
        (
            deny,
            expect![[r#"
        n3 result c1!: not run: forbidden by r1 (not here)
        n4 result c2!: no file a
        -- did: 
        -- queue: p1 staged, p1 decided
        -- rules: r1 deny used 1
        -- decided other: answered
    "#]],
        ),
        (
            ask,
            expect![[r#"
        n3 result c1: ok
        n4 result c2!: no file a
        -- did: called own
        -- queue: 
        -- rules: r1 ask used 0
        -- decided other: answered
    "#]],
        ),
    ] {
        let world = World::default();
        let agent = world.agent(replies(vec![turn(), Turn::say("done")])).approval(Approval::Always);
        let agent = agent.rules(vec![rule]).tool(Own(world.clone()));
        let mut story = Story::begin(world, agent).await;
        let stop = story.prompt("do it").await;
        check(&story, &stop_line(&stop), expected);
    }
}

#[tokio::test]
async fn a_rule_ends_at_its_time() {
    let brief = with(rule(RuleVerdict::Allow), |rule| rule.expires_at = Some(1));
    let mut story = begin(Approval::Person, vec![brief], vec![edit("c1", "a"), Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    assert_eq!(rules_of(&story.session), "r1 allow used 0");
}

#[tokio::test]
async fn after_a_failed_apply_a_rule_that_allows_does_not_try_again() {
    let fails = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "unwritable" }));
    let mut story =
        begin(Approval::Person, vec![rule(RuleVerdict::Allow)], vec![fails, Turn::say("done")]).await;
    let stop = story.prompt("do it").await;
    check(
        &story,
        &stop_line(&stop),
        expect![[r#"
        n3 result c1: a preview
        ++ text: Staged as p1 and approved: allowed by r1. Nothing more is needed; you will be told when it is written.
        n4 harness: p1 could not be applied: the disk is full. It is kept: apply it again or discard it.
        -- did: 
        -- queue: p1 staged, p1 decided, p1 began, p1 finished
        -- rules: r1 allow used 1
        -- waiting for p1
    "#]],
    );
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
