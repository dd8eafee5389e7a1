//! Proposals that nobody decides in time.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Timestamp, ToolSpec};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{End, Entry, Outcome, ProposalId, State, Verdict};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{
    Access, AgentBuilder, Cancel, Decider, DiscardHook, Executor, Said, Session, Tool, ToolContext,
    ToolOutput,
};

use crate::fake_folder::{Act, FakeFolder};
use crate::many::{Disk, Lacks, Many};
use crate::recovering::{agent, soon, three};
use crate::story::{World, replies, stop_line};

/// Ten seconds for everything that is staged, and a clock that is moved by hand.
fn slow(turns: Vec<Turn>) -> (AgentBuilder, Disk, Arc<Mutex<u64>>) {
    let (world, disk) = (World::default(), Disk::default());
    let now = Arc::new(Mutex::new(1_000_u64));
    let clock = Arc::clone(&now);
    let agent = agent(&world, &disk, turns).clock(move || Timestamp(*clock.lock().unwrap()));
    (agent.proposals_expire_after(Duration::from_secs(10)), disk, now)
}

async fn start(agent: AgentBuilder) -> Session {
    agent.build().unwrap().start(Arc::new(MemoryStore::new()), "t", None).await.unwrap()
}

fn state(session: &Session) -> State {
    session.proposals().get(ProposalId(1)).unwrap().state
}

/// Somebody who is asked, and goes for lunch.
struct Away(Arc<Mutex<u32>>);

#[async_trait]
impl Decider for Away {
    async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
        *self.0.lock().unwrap() += 1;
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_question_ends_when_the_time_for_it_is_over() {
    for call in [three(), Turn::new().call("c1", "shell", &json!({ "path": "make" }))] {
        let asked = Arc::new(Mutex::new(0));
        let (agent, _, now) = slow(vec![call, Turn::say("done"), Turn::say("well")]);
        let mut session = start(agent.decider(Arc::new(Away(Arc::clone(&asked))))).await;
        let cancel = Cancel::new();
        let time = async {
            while *asked.lock().unwrap() == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            *now.lock().unwrap() = 11_000;
        };
        let (stop, ()) = soon(async { tokio::join!(session.prompt("go", &cancel), time) }).await;
        assert_eq!(stop_line(&stop), "decided other: answered");
        assert_eq!((state(&session), *asked.lock().unwrap()), (State::Expired, 1));
    }
}

/// A tool that takes three seconds to hear of a discard, and counts how often it does.
struct SlowToHear {
    inner: Many,
    now: Arc<Mutex<u64>>,
    heard: Arc<Mutex<u32>>,
}

#[async_trait]
impl Tool for SlowToHear {
    fn spec(&self) -> ToolSpec {
        self.inner.spec()
    }

    fn access(&self) -> Access {
        self.inner.access()
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        self.inner.run(arguments, context).await
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for SlowToHear {
    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        self.inner.apply(entry, context).await
    }

    fn as_discard_hook(&self) -> Option<&dyn DiscardHook> {
        Some(self)
    }
}

#[async_trait]
impl DiscardHook for SlowToHear {
    async fn discarded(&self, _: &Entry<Value>, _: &End, _: &ToolContext) -> Option<ToolOutput> {
        *self.now.lock().unwrap() += 3_000;
        *self.heard.lock().unwrap() += 1;
        None
    }
}

#[tokio::test]
async fn what_was_declined_in_time_is_declined_once_however_long_its_tool_takes_to_hear_of_it() {
    for together in [false, true] {
        let now = Arc::new(Mutex::new(1_000_u64));
        let heard = Arc::new(Mutex::new(0));
        let clock = Arc::clone(&now);
        let inner = Many { disk: Disk::default(), lacks: Lacks::Nothing };
        let edit = |id: &str, path: &str| Turn::new().call(id, "many", &json!({ "edits": { path: "new" } }));
        let turns = vec![edit("c1", "a"), edit("c2", "b"), Turn::say("done")];
        let agent = World::default()
            .agent(replies(turns))
            .tool(SlowToHear { inner, now: Arc::clone(&now), heard: Arc::clone(&heard) })
            .clock(move || Timestamp(*clock.lock().unwrap()))
            .proposals_expire_after(Duration::from_secs(10));
        let mut session = start(agent).await;
        session.prompt("go", &Cancel::new()).await.unwrap();
        *now.lock().unwrap() = 10_000;
        let count = if together {
            let decided = session.decide_all(None, &Said::new(Verdict::Discard, "no")).await.unwrap();
            assert!(decided.iter().all(|(_, result)| result.is_ok()), "{decided:?}");
            decided.len()
        } else {
            session.decide(ProposalId(1), Verdict::Discard, "no").await.unwrap();
            1
        };
        assert_eq!(*heard.lock().unwrap() as usize, count);
        assert_eq!(state(&session), State::Discarded);
    }
}

#[tokio::test]
async fn a_call_that_was_in_time_runs_however_long_the_files_are_looked_at_before() {
    let call = Turn::new().call("c1", "shell", &json!({ "path": "make" }));
    let (agent, _, now) = slow(vec![call, Turn::say("done")]);
    let clock = Arc::clone(&now);
    let slow_to_look = move |act| *clock.lock().unwrap() += if act == Act::Look { 3_000 } else { 0 };
    let folder = FakeFolder::counting().looks().on_call(slow_to_look);
    let mut session = start(agent.workspace(Arc::new(folder))).await;
    assert_eq!(stop_line(&session.prompt("go", &Cancel::new()).await), "waiting for p1");
    *now.lock().unwrap() += 8_000;
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let stop = stop_line(&session.resume(&Cancel::new()).await);
    assert!(stop.starts_with("decided other: answered"), "{stop}");
    assert_eq!(state(&session), State::Applied);
}
