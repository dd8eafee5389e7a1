//! Runs whose model asks for their end, over processes: kills at every write, decisions from elsewhere, rules.

use std::sync::Arc;

use serde_json::{Value, json};
use trunkline_runtime::decision_objects::{ActorKind as Kind, Verdict as Ends};
use trunkline_runtime::message_tree::{Role, Timestamp};
use trunkline_runtime::orders::{Order, post};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::resolve_queue::{Actor, ActorKind, Rule, RuleVerdict, State, Verdict};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{AgentBuilder, AgentError, Approval, Cancel, Reverts, Said, Stop, View};

use crate::kills::{Death, Mortal};
use crate::story::{World, replies};

fn asks(turn: Turn, id: &str, decision: &str) -> Turn {
    turn.call(id, "request_decision", &json!({ "decision": decision, "words": format!("{decision} it") }))
}

/// A model that tells where it is from what it is sent alone: it asks to try again, and then to put its run down.
fn model(request: &Request) -> Turn {
    let has = |text: &str| request.messages.iter().any(|one| one.text().contains(text));
    let results: Vec<String> =
        request.messages.iter().flat_map(|one| one.results().map(|one| one.text())).collect();
    let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let behind = |turn: Turn| turn.call(format!("s{step}"), "shell", &json!({ "path": "test" }));
    match (has("Try again from here"), results.iter().any(|text| text.contains("put down here"))) {
        (_, true) => Turn::say("done"),
        (false, _) => behind(asks(Turn::new(), &format!("c{step}"), "retry")),
        (true, _) => behind(asks(Turn::new(), &format!("c{step}"), "checkpoint")),
    }
}

fn asking(world: &World) -> AgentBuilder {
    world.agent(model).approval(Approval::Always).with_reverts(Reverts::default().offer_decisions())
}

fn by_rule(world: &World) -> AgentBuilder {
    let mut rule = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Person, "anna"));
    rule.tool = Some("request_decision".to_owned());
    asking(world).rules(vec![rule])
}

/// Runs the story and kills it at the n-th write of each process in turn, until it ends. Returns how often it was killed.
async fn survive(
    agent: fn(&World) -> AgentBuilder,
    inner: &Arc<dyn SessionStore>,
    (deaths, death): (&[usize], Death),
) -> (World, SessionId, usize) {
    let world = World::default();
    let agent = agent(&world).build().unwrap();
    let mut deaths = deaths.iter().copied();
    let (mut session_id, mut killed) = (None, 0);
    for _ in 0..100 {
        let life = deaths.next().unwrap_or(usize::MAX);
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(Arc::clone(inner), life, death));
        let begun = match &session_id {
            Some(id) => inner.load(id).await.unwrap().info.nodes > 1,
            None => false,
        };
        let opened = match &session_id {
            None => agent.start(store, "t", None).await,
            Some(id) => agent.open(store, id).await,
        };
        let Ok(mut session) = opened else {
            killed += 1;
            continue;
        };
        let id = session.id().clone();
        session_id = Some(id.clone());
        let cancel = Cancel::new();
        let stop =
            if begun { session.resume(&cancel).await } else { session.prompt("mend a", &cancel).await };
        drop(session);
        match stop {
            Ok(Stop::Decided(decision)) => {
                // A retry goes on.
                assert!(!matches!(decision.verdict(), Ends::Retry { .. }));
                return (world, id, killed);
            }
            Ok(Stop::Waiting(ids)) => {
                let said = Said::new(Verdict::Approve, "").in_words("in other words");
                let order = Order::Verdict { proposal: ids[0], said, seen: Some(0) };
                post(inner.as_ref(), &id, &order, Timestamp(1)).await.unwrap();
            }
            Ok(other) => panic!("the run stopped with {other:?}"),
            Err(_) => killed += 1,
        }
    }
    panic!("the run never ended");
}

async fn check(agent: fn(&World) -> AgentBuilder, deaths: &[usize], death: Death) -> usize {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let (world, id, killed) = survive(agent, &store, (deaths, death)).await;
    store.verify(&id).await.unwrap();
    let log = store.load(&id).await.unwrap();
    let view = View::of(&log).unwrap();
    let told = || {
        let shown = trunkline_runtime::message_tree::notation::print_tree(view.tree());
        format!("{deaths:?} {death:?}\n{shown}")
    };
    let verdicts: Vec<String> =
        view.verdicts().iter().map(|(_, decision)| decision.verdict().kind().to_string()).collect();
    // Where nobody heard of the checkpoint the next process continues it.
    assert!(["retry", "checkpoint"] == verdicts[..2] && verdicts.len() <= 3, "{verdicts:?}\n{}", told());
    for (_, decision) in &view.verdicts()[..2] {
        assert_eq!(decision.decided_by().kind, Kind::Agent, "{}", told());
        assert!(decision.approved_by().is_some(), "{}", told());
    }
    // Each request is approved once, and nothing that was called behind it began.
    let approvals = log.records.iter().filter(|(_, record)| match record {
        Record::Note(note) => note.kind == "close_approved",
        _ => false,
    });
    assert_eq!(approvals.count(), 2, "{}", told());
    assert!(world.effects().is_empty(), "{:?}\n{}", world.effects(), told());
    let requests = view.proposals().iter().filter(|entry| view.staged().close_request(entry.id).is_some());
    let states: Vec<State> = requests.map(|entry| entry.state).collect();
    assert_eq!(states, [State::Applied, State::Applied], "{}", told());
    killed
}

#[tokio::test]
async fn a_kill_at_every_write_leaves_one_verdict_of_each_run() {
    for agent in [asking as fn(&World) -> AgentBuilder, by_rule] {
        for kind in [Death::Lost, Death::Kept, Death::Fenced] {
            let mut tried = 0;
            while check(agent, &[tried], kind).await > 0 {
                tried += 1;
            }
            assert!(tried > 2, "the first process has more than two writes, {tried} were tried");
            // The processes after it, too.
            for second in 0..10 {
                check(agent, &[usize::MAX, second, 0, 1], kind).await;
                check(agent, &[usize::MAX, usize::MAX, second, 0], kind).await;
                check(agent, &[second, 1, second], kind).await;
            }
        }
    }
}

#[tokio::test]
async fn limits_of_the_drive_hold_across_the_runs_of_a_retry() {
    let world = World::default();
    let mut limits = trunkline_runtime::Limits::default();
    limits.turns = 3;
    let again = |request: &Request| {
        let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        asks(Turn::new(), &format!("c{step}"), "retry")
    };
    let mut rule = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Person, "anna"));
    rule.tool = Some("request_decision".to_owned());
    let agent = world.agent(again).with_reverts(Reverts::default().offer_decisions()).rules(vec![rule]);
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut session =
        agent.limits(limits).build().unwrap().start(Arc::clone(&store), "t", None).await.unwrap();
    let stop = session.prompt("mend a", &Cancel::new()).await.unwrap();
    assert_eq!(stop.to_string(), "at the limit of turns");
    let id = session.id().clone();
    drop(session);
    let view = View::of(&store.load(&id).await.unwrap()).unwrap();
    assert_eq!(view.verdicts().len(), 3);
    assert!(view.has_open_run());
}

#[test]
fn no_tool_of_an_agent_is_called_so_where_it_is_offered() {
    struct Own;
    #[async_trait::async_trait]
    impl trunkline_runtime::Tool for Own {
        fn spec(&self) -> trunkline_runtime::message_tree::ToolSpec {
            let schema = json!({ "type": "object" });
            trunkline_runtime::message_tree::ToolSpec::new("request_decision", "Mine.", schema)
        }
        async fn run(
            &self,
            _: serde_json::Map<String, Value>,
            _: &trunkline_runtime::ToolContext,
        ) -> trunkline_runtime::ToolOutput {
            trunkline_runtime::ToolOutput::text("mine")
        }
    }
    let world = World::default();
    let agent = world.agent(replies(Vec::new())).tool(Own);
    let built = agent.with_reverts(Reverts::default().offer_decisions()).build();
    assert!(matches!(built.err(), Some(AgentError::ReservedName { tool }) if tool == "request_decision"));
}
