//! Runs that need a plan, over processes: kills at every write, letters from elsewhere, imports, snapshots.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use trunkline_runtime::message_tree::{Message, Role, Timestamp};
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, Entry, ProposalId, Rule, RuleVerdict, State, Verdict,
};
use trunkline_runtime::session_store::{
    MemoryStore, Record, SessionId, SessionStore, SqliteStore, export, import,
};
use trunkline_runtime::{
    Agent, AgentBuilder, AgentError, Approval, Cancel, Decider, PlanRecord, PlanText, Said, Stop, View,
};

use crate::kills::{Death, Mortal};
use crate::story::{Story, World, replies, stop_line};

fn plan() -> Value {
    json!({ "title": "Mend a", "steps": [{ "text": "write a", "done_when": "it is right" }, "look at it"] })
}

fn edited() -> PlanText {
    PlanText::parse("Mend a\n1. write a\n   done when: it is right\n2. run the test").unwrap()
}

/// A model that tells where it is from what it is sent alone, and wants to change things before it may.
fn model(request: &Request) -> Turn {
    let said: Vec<String> =
        request.messages.iter().flat_map(|one| one.results().map(|one| one.text())).collect();
    let has = |text: &str| said.iter().any(|one| one.contains(text));
    let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let id = format!("c{step}");
    let edit = |turn: Turn| turn.call(format!("e{step}"), "edit", &json!({ "path": "a", "text": "right" }));
    let shell = |turn: Turn| turn.call(&id, "shell", &json!({ "path": "test" }));
    if !has("approved the plan") {
        return match (step, has("does not want this plan")) {
            (0, _) => edit(shell(Turn::new().call("r0", "read", &json!({ "path": "a" })))),
            (1, _) | (_, true) => shell(Turn::new().call(format!("p{step}"), "propose_plan", &plan())),
            _ => Turn::new().call(format!("p{step}"), "propose_plan", &plan()),
        };
    }
    match said.last().is_some_and(|last| last.contains("approved the plan") || last.starts_with("not run")) {
        true => edit(Turn::new()),
        false if !has("ok") && !has("outcome unknown") => shell(Turn::new()),
        false => Turn::say("done"),
    }
}

fn demanding(world: &World) -> AgentBuilder {
    world.agent(model).approval(Approval::Always).plan_mode(true)
}

/// As whoever goes on with it: nobody said anything of a plan, and a rule allows whatever is done.
fn careless(world: &World) -> AgentBuilder {
    let mut rule = Rule::new(RuleVerdict::Allow, Actor::new(ActorKind::Person, "anna"));
    rule.tool = Some("*".to_owned());
    world.agent(model).approval(Approval::Always).rules(vec![rule])
}

async fn verdict(store: &dyn SessionStore, session: &SessionId, id: ProposalId, said: Said) {
    let order = Order::Verdict { proposal: id, said, seen: Some(0) };
    post(store, session, &order, Timestamp(1)).await.unwrap();
}

/// Runs the story and kills it at the n-th write of each process in turn, until it ends. The person is in another process.
async fn survive(inner: &Arc<dyn SessionStore>, deaths: &[usize], death: Death) -> (World, SessionId, usize) {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "wrong".to_owned());
    let (first, later) = (demanding(&world).build().unwrap(), careless(&world).build().unwrap());
    let mut deaths = deaths.iter().copied();
    let (mut session_id, mut killed) = (None, 0);
    for _ in 0..100 {
        let life = deaths.next().unwrap_or(usize::MAX);
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(Arc::clone(inner), life, death));
        let begun = match &session_id {
            Some(id) => inner.load(id).await.unwrap().info.nodes > 1,
            None => false,
        };
        let agent = if begun { &later } else { &first };
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
            Ok(Stop::Decided(_) | Stop::Idle) => return (world, id, killed),
            Ok(Stop::Waiting(ids)) => {
                assert_eq!(ids.len(), 1, "a plan waits alone");
                let said = match ids[0] {
                    ProposalId(1) => Said::new(Verdict::Discard, "say more"),
                    _ => Said::new(Verdict::Approve, "").as_edited(edited()),
                };
                verdict(inner.as_ref(), &id, ids[0], said).await;
            }
            Ok(other) => panic!("the run stopped with {other:?}"),
            Err(_) => killed += 1,
        }
    }
    panic!("the run never ended");
}

async fn check(store: &Arc<dyn SessionStore>, deaths: &[usize], death: Death) -> usize {
    let (world, id, killed) = survive(store, deaths, death).await;
    store.verify(&id).await.unwrap();
    let log = store.load(&id).await.unwrap();
    let view = View::of(&log).unwrap();
    let told = || {
        let shown = trunkline_runtime::message_tree::notation::print_tree(view.tree());
        format!("{deaths:?} {death:?}\n{shown}")
    };
    assert_eq!(world.files.lock().unwrap()["a"], "right", "{}", told());
    assert_eq!(world.effects()[0], "wrote a", "{}", told());
    // Nothing had begun before the approval was in the log.
    let mut approvals = 0;
    for (_, record) in &log.records {
        let Record::Note(note) = record else { continue };
        let body: Value = serde_json::from_str(&note.body).unwrap_or_default();
        approvals += usize::from(note.kind == "plan_approved");
        let begins = note.kind == "call_started" && body["tool"] != "read";
        assert!(!begins || approvals > 0, "{} began before a plan was approved\n{}", body["tool"], told());
    }
    assert_eq!(approvals, 1, "{}", told());
    // Both texts are kept, and the model was told the one that counts, once.
    let plans: Vec<_> =
        view.proposals().iter().filter(|entry| view.staged().plan(entry.id).is_some()).collect();
    let approved: Vec<_> = plans.iter().filter(|entry| entry.state == State::Applied).collect();
    assert_eq!((plans[0].state, approved.len()), (State::Discarded, 1), "{}", told());
    let proposed = view.staged().plan(approved[0].id).unwrap();
    let changed = view.staged().plans.edited(approved[0].id).unwrap();
    assert_eq!(changed.text(), edited());
    assert_eq!((proposed.steps[0].id, changed.revises), (changed.steps[0].id, Some(proposed.id)));
    let results: Vec<String> =
        view.tree().trunk().messages().flat_map(Message::results).map(|one| one.text()).collect();
    assert_eq!(results.iter().filter(|text| text.contains(&edited().to_string())).count(), 1, "{}", told());
    assert_eq!(results.iter().filter(|text| text.contains("say more")).count(), 1, "{}", told());
    killed
}

#[tokio::test]
async fn a_plan_survives_a_kill_at_every_write() {
    for kind in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut tried = 0;
        loop {
            let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
            if check(&store, &[tried], kind).await == 0 {
                break;
            }
            tried += 1;
        }
        assert!(tried > 8, "the first process has more than eight writes, {tried} were tried");
        // The processes after it, too.
        for second in 0..16 {
            let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
            check(&store, &[usize::MAX, second, 0, 1], kind).await;
            let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
            check(&store, &[usize::MAX, usize::MAX, second, 0], kind).await;
        }
    }
}

#[tokio::test]
async fn a_plan_on_disk_survives_a_kill_at_every_third_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    let store: Arc<dyn SessionStore> = Arc::new(SqliteStore::open(path).await.unwrap());
    for death in (0..24).step_by(3) {
        check(&store, &[death, death, 1], Death::Kept).await;
    }
}

/// Somebody at a terminal who has gone for lunch.
struct Away;

#[async_trait]
impl Decider for Away {
    async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_plan_is_approved_from_another_process_while_somebody_is_asked_here() {
    let world = World::default();
    let turns = vec![
        Turn::new().call("c1", "propose_plan", &plan()),
        Turn::new().call("c2", "shell", &json!({ "path": "test" })),
        Turn::say("done"),
    ];
    let agent =
        world.agent(replies(turns)).approval(Approval::Always).plan_mode(true).decider(Arc::new(Away));
    let mut story = Story::begin(world, agent).await;
    let (store, id) = (story.store(), story.id());
    let elsewhere = async {
        while View::of(&store.load(&id).await.unwrap()).unwrap().proposals().iter().next().is_none() {
            tokio::task::yield_now().await;
        }
        let order = |said| Order::Verdict { proposal: ProposalId(1), said, seen: Some(0) };
        let too_long = PlanText::new("Mend a").step("a".repeat(5000));
        let long = order(Said::new(Verdict::Approve, "").as_edited(too_long));
        let long = post(store.as_ref(), &id, &long, Timestamp(1)).await.unwrap();
        let right = order(Said::new(Verdict::Approve, "be quick").as_edited(edited()));
        let right = post(store.as_ref(), &id, &right, Timestamp(1)).await.unwrap();
        (
            settled(store.as_ref(), &id, long).await.unwrap(),
            settled(store.as_ref(), &id, right).await.unwrap(),
        )
    };
    let (stop, (long, right)) = tokio::join!(story.session.prompt("mend a", &story.cancel), elsewhere);
    assert_eq!(stop_line(&stop), "decided other: answered");
    let reason = "step 1 has 5000 characters; at most 4000 are allowed".to_owned();
    assert_eq!(long, Settled::Refused { reason });
    assert!(matches!(right, Settled::Done { .. }));
    assert_eq!(story.world.effects(), ["ran test"]);
    let tree = story.tree();
    assert!(tree.contains("They say: be quick") && tree.contains("2. run the test"), "{tree}");
}

#[tokio::test]
async fn words_that_come_while_a_plan_waits_are_read_once_it_is_decided() {
    let world = World::default();
    let turns = vec![Turn::new().call("c1", "propose_plan", &plan()), Turn::say("done")];
    let mut story = Story::begin(world.clone(), world.agent(replies(turns)).plan_mode(true)).await;
    assert_eq!(stop_line(&story.prompt("mend a").await), "waiting for p1");
    assert_eq!(stop_line(&story.prompt("and b").await), "waiting for p1");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "waiting for p1");
    story.session.decide(ProposalId(1), Verdict::Discard, "look again").await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    let told = story.world.last_request();
    assert!(told.find("look again").unwrap() < told.find("and b").unwrap(), "{told}");
}

#[tokio::test]
async fn what_was_approved_elsewhere_does_not_hold_where_a_session_is_brought() {
    let world = World::default();
    let turns = vec![Turn::new().call("c1", "propose_plan", &plan()), Turn::say("done")];
    let mut story = Story::begin(world.clone(), world.agent(replies(turns)).plan_mode(true)).await;
    story.prompt("mend a").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    story.resume().await.unwrap();
    let mut lines = Vec::new();
    export(story.store().as_ref(), &story.id(), &mut lines).await.unwrap();
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let info = import(store.as_ref(), lines.as_slice()).await.unwrap().remove(0);
    post(store.as_ref(), &info.id, &Order::Distrust, Timestamp(1)).await.unwrap();

    let world = World::default();
    let turns = vec![Turn::new().call("c2", "shell", &json!({ "path": "test" })), Turn::say("done")];
    let agent = world.agent(replies(turns)).approval(Approval::Always).build().unwrap();
    let mut session = agent.open(Arc::clone(&store), &info.id).await.unwrap();
    session.prompt("go on", &Cancel::new()).await.unwrap();
    assert!(world.effects().is_empty(), "{:?}", world.effects());
    assert!(View::of(&store.load(&info.id).await.unwrap()).unwrap().staged().plans.is_on());
}

#[tokio::test]
async fn a_snapshot_and_an_outline_know_that_a_plan_is_needed() {
    let world = World::default();
    let mut turns = vec![Turn::new().call("c1", "propose_plan", &plan())];
    turns.extend((0..12).map(|_| Turn::say("words")));
    turns.push(Turn::new().call("c2", "shell", &json!({ "path": "test" })));
    turns.push(Turn::say("done"));
    let agent = world.agent(replies(turns)).approval(Approval::Always).plan_mode(true).snapshot_after(0);
    let mut story = Story::begin(world, agent).await;
    story.prompt("mend a").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    story.resume().await.unwrap();
    let agent = story.world.agent(|_| Turn::say("words")).approval(Approval::Always).snapshot_after(0);
    let first = story.session.tree().trunk().ids()[1];
    story.session.revert(first, Some("another way")).await.unwrap();
    let (store, id) = (story.store(), story.id());
    drop(story);
    let agent: Agent = agent.build().unwrap();
    // So that what was left is more than the trunk, and is kept bare.
    for _ in 0..2 {
        let session = agent.open(Arc::clone(&store), &id).await.unwrap();
        drop(session);
    }
    let info = store.info(&id).await.unwrap();
    assert!(View::outline(store.as_ref(), &info).await.unwrap().staged().plans.is_on());
    let world = World::default();
    let turns = vec![Turn::new().call("c9", "shell", &json!({ "path": "test" })), Turn::say("done")];
    let agent = world.agent(replies(turns)).approval(Approval::Always).snapshot_after(0).build().unwrap();
    let mut session = agent.open(Arc::clone(&store), &id).await.unwrap();
    assert!(!session.is_whole(), "a snapshot was used");
    session.resume(&Cancel::new()).await.unwrap();
    assert!(world.effects().is_empty(), "{:?}", world.effects());
}

#[tokio::test]
async fn a_tool_of_that_name_is_refused_where_plans_are_asked_for() {
    struct Named;
    #[async_trait]
    impl trunkline_runtime::Tool for Named {
        fn spec(&self) -> trunkline_runtime::message_tree::ToolSpec {
            trunkline_runtime::message_tree::ToolSpec::new(
                "propose_plan",
                "mine",
                json!({ "type": "object" }),
            )
        }
        async fn run(
            &self,
            _: serde_json::Map<String, Value>,
            _: &trunkline_runtime::ToolContext,
        ) -> trunkline_runtime::ToolOutput {
            trunkline_runtime::ToolOutput::text("mine")
        }
    }
    let built = World::default().agent(model).tool(Named).plan_mode(true).build();
    assert!(matches!(built.err(), Some(AgentError::ReservedName { tool }) if tool == "propose_plan"));
    assert!(World::default().agent(model).tool(Named).build().is_ok());
}

#[tokio::test]
async fn a_proposal_that_only_looks_like_a_plan_is_none() {
    let world = World::default();
    let turns = vec![Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "x" })), Turn::say("done")];
    let mut story = Story::begin(world.clone(), world.agent(replies(turns))).await;
    story.prompt("mend a").await.unwrap();
    let said = Said::new(Verdict::Approve, "").as_edited(edited());
    let refused = story.session.decide_with(ProposalId(1), said).await;
    assert_eq!(
        refused.unwrap_err().to_string(),
        "a changed text can only be given when approving a plan; p1 was not changed"
    );
    let view = View::of(&story.store().load(&story.id()).await.unwrap()).unwrap();
    assert_eq!(view.staged().plan(ProposalId(1)).map(|plan: PlanRecord| plan.title), None);
}
