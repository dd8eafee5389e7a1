//! Where rules come from and where they go: by letter, with an agent, with an import; and who may give them.

use std::sync::Arc;

use expect_test::expect;
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::orders::{self, Order, Settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{Actor, ActorKind, Rule, RuleError, RuleId, RuleVerdict, Scope};
use trunkline_runtime::session_store::{MemoryStore, NewSession, Note, Record, SessionId, SessionStore};
use trunkline_runtime::{AgentBuilder, AgentError, Approval, RuntimeError, View, distrust};

use crate::rules::{begin, of_tool, on_command, on_path, once, rule, rules_of, run, with};
use crate::story::{Story, World, replies, stop_line};

#[tokio::test]
async fn rules_are_given_and_taken_back_by_letter_and_only_by_persons() {
    let mut story = begin(Approval::Person, vec![], vec![]).await;
    let by_model = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Model, ""));
    let by_policy = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Policy, "x"));
    let mut told = String::new();
    for request in [
        Order::GiveRule { rule: rule(RuleVerdict::Allow) },
        Order::GiveRule { rule: by_model.clone() },
        Order::GiveRule { rule: by_policy },
        Order::RevokeRule { rule: RuleId(7), reason: String::new() },
        Order::RevokeRule { rule: RuleId(1), reason: "enough".to_owned() },
        Order::RevokeRule { rule: RuleId(1), reason: "enough".to_owned() },
    ] {
        let (store, id) = (story.store(), story.id());
        let letter = orders::post(store.as_ref(), &id, &request, Timestamp(1)).await.unwrap();
        story.session.read_letters().await.unwrap();
        told += &match orders::settled(store.as_ref(), &id, letter).await.unwrap() {
            Settled::Refused { reason } => format!("refused: {reason}\n"),
            _ => "done\n".to_owned(),
        };
    }
    told += &rules_of(&story.session);
    expect![[r#"
        done
        refused: model may neither give rules nor take them back; a person may
        refused: policy x may neither give rules nor take them back; a person may
        refused: no rule r7; there is a rule up to r1
        done
        refused: r1 does not count any more
        r1 allow used 0, taken back by person: enough"#]]
    .assert_eq(&told);
    let fault = story.session.give_rule(by_model).await.unwrap_err();
    assert!(matches!(fault, RuntimeError::Rule(RuleError::NotPermitted { .. })), "{fault:?}");
    let fault = story.session.revoke_rule(RuleId(1), "").await.unwrap_err();
    assert!(matches!(fault, RuntimeError::Rule(RuleError::Over { .. })), "{fault:?}");
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    assert_eq!(view.rules(), story.session.rules());
}

async fn reopen(story: Story, build: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Story {
    let (store, id, world) = (story.store.clone(), story.id(), story.world.clone());
    drop(story);
    let agent = build(world.agent(replies(vec![]))).build().unwrap();
    let session = agent.open(store.clone(), &id).await.unwrap();
    Story { world, store, agent, session, cancel: trunkline_runtime::Cancel::new() }
}

#[tokio::test]
async fn an_agent_brings_its_rules_into_each_session_and_writes_nothing_if_they_are_there() {
    let policy = || vec![on_command(RuleVerdict::Allow, &["cargo"]), on_path(RuleVerdict::Deny, "gen/**")];
    let mut story = begin(Approval::Person, policy(), vec![]).await;
    assert_eq!(rules_of(&story.session), "r1 allow used 0; r2 deny used 0");
    assert!(story.session.rules().iter().all(|one| one.rule.scope == Scope::Always));
    let length = |story: &Story| {
        let (store, id) = (story.store(), story.id());
        async move { store.load(&id).await.unwrap().records.len() }
    };
    let before = length(&story).await;
    story = reopen(story, |agent| agent.rules(policy())).await;
    assert_eq!(length(&story).await, before);
    // Who was told nothing of rules changes none; who was told of fewer drops the others.
    story = reopen(story, |agent| agent).await;
    assert_eq!(
        (length(&story).await, rules_of(&story.session).as_str()),
        (before, "r1 allow used 0; r2 deny used 0")
    );
    story = reopen(story, |agent| agent.rules(policy().split_off(1))).await;
    assert_eq!(
        rules_of(&story.session),
        "r1 allow used 0, taken back by policy agent: no longer kept; r2 deny used 0"
    );
    // Of the session's own rules no agent knows.
    story.session.give_rule(rule(RuleVerdict::Ask)).await.unwrap();
    story = reopen(story, |agent| agent.rules(Vec::new())).await;
    expect!["r1 allow used 0, taken back by policy agent: no longer kept; r2 deny used 0, taken back by policy agent: no longer kept; r3 ask used 0"].assert_eq(&rules_of(&story.session));
}

#[tokio::test]
async fn what_a_person_takes_back_here_does_not_come_back_by_itself() {
    let policy = || vec![on_command(RuleVerdict::Allow, &["cargo"])];
    let mut story = begin(Approval::Person, policy(), vec![]).await;
    story.session.revoke_rule(RuleId(1), "not in this one").await.unwrap();
    story = reopen(story, |agent| agent.rules(policy())).await;
    assert_eq!(rules_of(&story.session), "r1 allow used 0, taken back by person: not in this one");
    // Given again it is a rule like any other, and kept.
    let again = with(policy().remove(0), |rule| rule.scope = Scope::Always);
    story.session.give_rule(again).await.unwrap();
    story = reopen(story, |agent| agent.rules(policy())).await;
    assert!(rules_of(&story.session).ends_with("; r2 allow used 0"), "{}", rules_of(&story.session));
}

#[tokio::test]
async fn an_agent_keeps_no_rule_that_counts_once_or_that_a_model_gave() {
    let by_once = once(RuleVerdict::Allow);
    let by_model = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Model, ""));
    let mut told = String::new();
    for bad in [by_once, by_model] {
        let world = World::default();
        let fault =
            world.agent(replies(vec![])).rules(vec![rule(RuleVerdict::Deny), bad]).build().err().unwrap();
        assert!(matches!(fault, AgentError::Rule { number: 2, .. }), "{fault:?}");
        told += &format!("{fault}\n");
    }
    expect![[r#"
        rule 2 of this agent cannot be kept: it counts once; give it to a session
        rule 2 of this agent cannot be kept: model may give no rules; a person may
    "#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn what_came_along_with_an_import_neither_allows_anything_nor_takes_anything_back() {
    let policy = || vec![on_path(RuleVerdict::Deny, "secret/**")];
    let mut story = begin(Approval::Person, policy(), vec![]).await;
    story.session.give_rule(rule(RuleVerdict::Allow)).await.unwrap();
    story.session.revoke_rule(RuleId(1), "never mind").await.unwrap();
    let letter = distrust(Timestamp(1));
    story.store().post(&story.id(), &letter.kind, &letter.body, letter.at).await.unwrap();
    story = reopen(story, |agent| agent.rules(policy())).await;
    expect!["r1 deny used 0, taken back by person: never mind; r2 allow used 0, taken back by policy an import: it was not given here; r3 deny used 0"].assert_eq(&rules_of(&story.session));
}

#[tokio::test]
async fn in_a_log_from_before_rules_no_rule_knows_the_command_that_waits() {
    let store = Arc::new(MemoryStore::new());
    let world = World::default();
    let agent = world.agent(replies(vec![run("c1", "make"), Turn::say("done")])).build().unwrap();
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    session.prompt("do it", &trunkline_runtime::Cancel::new()).await.unwrap();
    let log = store.load(session.id()).await.unwrap();
    drop(session);
    // As an earlier version wrote it: the command is not in the payload.
    let old = SessionId::parse("00000000-0000-7000-8000-000000000001").unwrap();
    let mut records = log.records.iter().map(|(_, record)| record.clone());
    let Some(Record::Entry(root)) = records.next() else { panic!("no root") };
    let new = NewSession { id: old.clone(), title: "t".to_owned(), workspace: None, at: Timestamp(1), root };
    store.create(new).await.unwrap();
    let lease = store.claim(&old, trunkline_runtime::session_store::Claim::IfFree).await.unwrap();
    let mut state = trunkline_runtime::session_store::Position {
        seq: 1,
        head: trunkline_runtime::message_tree::NodeId::ROOT,
    };
    for record in records {
        let record = match record {
            Record::Note(note) => {
                let body = note.body.replace(r#","command":"make""#, "");
                Record::Note(Note::new(&note.layer, &note.kind, note.at, body))
            }
            other => other,
        };
        if let Record::Entry(trunkline_runtime::message_tree::Entry::Node { id, .. }) = &record {
            let batch = trunkline_runtime::session_store::Batch::new(state, vec![record.clone()]);
            store.append(&lease, batch).await.unwrap();
            state = trunkline_runtime::session_store::Position { seq: state.seq + 1, head: *id };
            continue;
        }
        let batch = trunkline_runtime::session_store::Batch::new(state, vec![record]);
        store.append(&lease, batch).await.unwrap();
        state.seq += 1;
    }
    drop(lease);
    let mut session = agent.open(store.clone(), &old).await.unwrap();
    assert_eq!(session.rules().iter().count(), 0);
    session.give_rule(on_command(RuleVerdict::Allow, &["make"])).await.unwrap();
    let stop = session.resume(&trunkline_runtime::Cancel::new()).await;
    assert_eq!(stop_line(&stop), "waiting for p1", "nobody knows its command, so no rule allows it");
    session.give_rule(of_tool(RuleVerdict::Allow, "shell")).await.unwrap();
    let stop = session.resume(&trunkline_runtime::Cancel::new()).await;
    assert_eq!(
        (stop_line(&stop).as_str(), world.effects()),
        ("decided other: answered", vec!["ran make".to_owned()])
    );
}
