//! Signed reasoning on the wire after each kind of change, at a service that takes it back only behind what it was written
//! behind. It reads the bytes that it is sent and refuses whatever else comes.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::orders::{Order as Letter, post};
use trunkline_runtime::providers::{Effort, Thinking};
use trunkline_runtime::revert::{CompactPolicy, Decay, PrunePolicy, RenderPolicy};
use trunkline_runtime::session_store::{MemoryStore, SessionId, SessionStore};
use trunkline_runtime::{Agent, AgentBuilder, Approval, Cancel, Compaction, Event, Reverts, Session};

use crate::story::{World, tools};
use crate::strict_service::{BOTH, Block, FREE, Speaks, Strict, plain};

/// A model that is known to bind its reasoning, or is said to.
pub(crate) const BINDS: &str = "claude-opus-5-5";

/// Thinks before each of `answers`, reads a file for each `None`, and says `well` when there are none left.
pub(crate) fn plan(answers: &[Option<&str>]) -> impl Fn(&Value) -> Vec<Block> + Send + Sync + 'static {
    let answers: Vec<Option<String>> = answers.iter().map(|one| one.map(str::to_owned)).collect();
    let answers = Mutex::new(answers.into_iter());
    move |_| {
        let next = answers.lock().unwrap().next();
        let block = match next.unwrap_or_else(|| Some("well".to_owned())) {
            Some(text) => Block::Say(text),
            None => Block::Call("read", json!({ "path": "a" })),
        };
        vec![Block::Think, block]
    }
}

fn says(body: &Value) -> Vec<Block> {
    plan(&[])(body)
}

/// A session at the service, and what was told of it.
struct Told {
    service: Strict,
    store: Arc<MemoryStore>,
    session: Option<Session>,
    id: SessionId,
    lines: Arc<Mutex<Vec<String>>>,
    world: World,
}

impl Told {
    async fn begin(speaks: Speaks, script: impl Fn(&Value) -> Vec<Block> + Send + Sync + 'static) -> Told {
        Told::begin_as(speaks, script, |agent| agent).await
    }

    async fn begin_as(
        speaks: Speaks,
        script: impl Fn(&Value) -> Vec<Block> + Send + Sync + 'static,
        more: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) -> Told {
        let service = Strict::new(speaks);
        let (store, lines) = (Arc::new(MemoryStore::new()), Arc::default());
        let world = World::default();
        world.files.lock().unwrap().insert("a".to_owned(), "a line of the file\n".repeat(20));
        let agent = more(agent(&world, &service, BINDS, script, &lines)).build().unwrap();
        let session = agent.start(store.clone(), "bound", None).await.unwrap();
        let id = session.id().clone();
        Told { service, store, session: Some(session), id, lines, world }
    }

    /// Leaves the session and takes it up again as another process, with another agent.
    async fn again(
        &mut self,
        model: &str,
        script: impl Fn(&Value) -> Vec<Block> + Send + Sync + 'static,
        more: impl FnOnce(AgentBuilder) -> AgentBuilder,
    ) {
        self.session = None;
        let agent = more(agent(&self.world, &self.service, model, script, &self.lines)).build().unwrap();
        self.session = Some(agent.open(self.store.clone(), &self.id).await.unwrap());
    }

    fn session(&mut self) -> &mut Session {
        self.session.as_mut().unwrap()
    }

    async fn prompt(&mut self, text: &str) -> Vec<String> {
        self.session().prompt(text, &Cancel::new()).await.unwrap();
        self.service.back()
    }

    /// Nothing was refused, and whatever could go back did.
    fn holds(&self) {
        assert_eq!(self.service.refused(), [""; 0]);
        for seen in self.service.seen() {
            assert_eq!(seen.missed, [""; 0], "{}", seen.body);
        }
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.lines.lock().unwrap())
    }
}

/// Whether each request offered the same tools.
fn offers_the_same(service: &Strict) -> bool {
    let seen = service.seen();
    let tools: Vec<String> = seen.iter().map(|seen| plain(&seen.body["tools"]).to_string()).collect();
    tools.windows(2).all(|pair| pair[0] == pair[1])
}

fn agent(
    world: &World,
    service: &Strict,
    model: &str,
    script: impl Fn(&Value) -> Vec<Block> + Send + Sync + 'static,
    lines: &Arc<Mutex<Vec<String>>>,
) -> AgentBuilder {
    let lines = Arc::clone(lines);
    let responses = service.speaks == Speaks::Responses;
    let agent = Agent::builder(service.model(model, script))
        .system("You work on files.")
        .tools(tools(world).into_iter().filter(|tool| tool.spec().name == "read"))
        .thinking(Thinking::Effort(Effort::Medium))
        .on_event(move |event| {
            let line = match event {
                Event::CacheBroken(lost) => format!("broken by {:?}", lost.cause),
                Event::DecayDelayed { notes, .. } => format!("delayed {notes}"),
                Event::Learned { wants, .. } => format!("learned {}", wants.name()),
                Event::Asking { repairs, .. } if !repairs.is_empty() => {
                    let mut lines: Vec<String> = repairs.iter().map(ToString::to_string).collect();
                    lines.dedup();
                    format!("{} times {}", repairs.len(), lines.join(", "))
                }
                _ => return,
            };
            lines.lock().unwrap().push(line);
        });
    // OpenAI names no model, so it is said.
    if responses && model == BINDS { agent.bound_reasoning(true) } else { agent }
}

#[tokio::test]
async fn what_is_only_added_to_goes_back_whole() {
    for speaks in BOTH {
        let mut told =
            Told::begin(speaks, plan(&[None, None, Some("one"), Some("two"), None, Some("three")])).await;
        told.prompt("first").await;
        told.prompt("second").await;
        let back = told.prompt("third").await;
        assert_eq!(back.len(), 5, "{speaks:?} {back:?}");
        told.again(BINDS, says, |agent| agent).await;
        assert_eq!(told.prompt("in another process").await.len(), 6);
        told.holds();
        assert_eq!(told.told(), [""; 0]);
    }
}

#[tokio::test]
async fn after_a_step_back_what_stands_before_it_goes_back_and_after_an_undo_all() {
    for speaks in BOTH {
        let mut told = Told::begin_as(speaks, says, AgentBuilder::with_revert).await;
        for text in ["first", "second", "third"] {
            told.prompt(text).await;
        }
        let all = told.service.back();
        assert_eq!(all.len(), 2);
        told.session().revert(NodeId::new(2), Some("not so")).await.unwrap();
        let back = told.prompt("otherwise").await;
        assert_eq!(back, all[..1]);
        assert_eq!(
            told.prompt("and on").await.len(),
            2,
            "what was written behind the note goes back with it"
        );
        told.session().undo().await.unwrap();
        let back = told.prompt("as it was").await;
        assert_eq!(back[..2], all[..]);
        assert_eq!(back.len(), 3);
        told.holds();
    }
}

fn short_lived() -> Reverts {
    let mut policy = RenderPolicy::default();
    (policy.lesson_window_turns, policy.lesson_window_count) = (1, 0);
    Reverts::default().render(policy)
}

#[tokio::test]
async fn a_note_that_has_had_its_time_waits_while_reasoning_stands_behind_it() {
    for speaks in BOTH {
        let mut told = Told::begin_as(speaks, says, |agent| agent.with_reverts(short_lived())).await;
        told.prompt("first").await;
        told.prompt("second").await;
        told.session().revert(NodeId::new(2), Some("not so")).await.unwrap();
        told.told();
        for count in [1, 2, 3, 4] {
            assert_eq!(told.prompt("on").await.len(), count);
        }
        assert!(told.service.seen().pop().unwrap().body.to_string().contains("not so"));
        assert_eq!(told.told(), ["broken by HeadMove", "delayed 1", "delayed 1"]);
        // The next thing that loses the prefix behind it takes it along.
        told.session().revert(NodeId::new(2), Some("not this way either")).await.unwrap();
        assert_eq!(told.prompt("on").await.len(), 1);
        assert!(!told.service.seen().pop().unwrap().body.to_string().contains("not so"));
        told.holds();
    }
}

#[tokio::test]
async fn a_note_that_decays_exactly_takes_the_reasoning_behind_it_and_is_told() {
    for speaks in BOTH {
        let reverts = short_lived().bound_decay(Decay::Exact);
        let mut told = Told::begin_as(speaks, says, |agent| agent.with_reverts(reverts)).await;
        told.prompt("first").await;
        told.prompt("second").await;
        let first = told.service.back();
        told.session().revert(NodeId::new(2), Some("not so")).await.unwrap();
        told.prompt("on").await;
        told.prompt("on").await;
        told.told();
        assert_eq!(told.prompt("on").await, first, "two answers stood behind the note");
        let lost = "2 times dropped thinking (1): what stands before it has changed";
        assert_eq!(told.told(), ["broken by Decay", lost]);
        // What was written behind the list without them goes back; they stay out.
        assert_eq!(told.prompt("on").await.len(), 2);
        assert_eq!(told.prompt("on").await.len(), 3);
        assert_eq!(told.told(), [lost, lost]);
        told.holds();
    }
}

#[tokio::test]
async fn behind_a_summary_only_what_was_written_after_it_goes_back() {
    for speaks in BOTH {
        let script = plan(&[None, None, None, Some("one"), None, None, Some("two")]);
        let compaction = Compaction::new(CompactPolicy::new(3_000).keep(20, 1));
        let mut told =
            Told::begin_as(speaks, script, |agent| agent.with_compaction(compaction).with_revert()).await;
        told.prompt("first").await;
        assert_eq!(told.prompt("second").await.len(), 6);
        told.session().compact(&Cancel::new()).await.unwrap();
        let kept = told.prompt("third").await;
        let later = told.prompt("fourth").await;
        assert_eq!(later.len(), kept.len() + 1, "{speaks:?} {kept:?} {later:?}");
        assert_eq!(told.prompt("fifth").await.len(), kept.len() + 2);
        told.holds();
    }
}

#[tokio::test]
async fn results_that_are_left_out_take_the_reasoning_behind_them() {
    for speaks in BOTH {
        let mut policy = RenderPolicy::default();
        policy.prune = Some(PrunePolicy::new(2, 2, 50));
        let reverts = Reverts::default().render(policy);
        let script = plan(&[None; 8]);
        let mut told = Told::begin_as(speaks, script, |agent| agent.with_reverts(reverts)).await;
        told.prompt("first").await;
        told.prompt("second").await;
        assert!(told.told().iter().any(|line| line == "broken by Pruning"));
        assert!(!told.service.back().is_empty());
        told.holds();
    }
}

#[tokio::test]
async fn other_instructions_and_other_tools_take_all_reasoning_until_they_are_back() {
    for speaks in BOTH {
        let mut told = Told::begin(speaks, says).await;
        told.prompt("first").await;
        let all = told.prompt("second").await;
        assert_eq!(all.len(), 1);
        let world = told.world.clone();
        let more = move |agent: AgentBuilder| {
            agent.tools(tools(&world).into_iter().filter(|tool| tool.spec().name == "edit"))
        };
        told.again(BINDS, says, more).await;
        assert_eq!(told.prompt("third").await, [""; 0]);
        assert_eq!(told.prompt("fourth").await.len(), 1);
        told.again(BINDS, says, |agent| agent).await;
        assert_eq!(told.prompt("fifth").await.len(), 2, "the first two answers stand where they stood");
        let field = if speaks == Speaks::Messages { "system" } else { "instructions" };
        let fields: Map<String, Value> = [(field.to_owned(), json!("Be brief."))].into_iter().collect();
        told.again(BINDS, says, |agent| agent.extra(fields)).await;
        assert_eq!(told.prompt("sixth").await, [""; 0]);
        assert_eq!(told.prompt("seventh").await.len(), 1);
        told.holds();
    }
}

#[tokio::test]
async fn another_model_in_between_changes_nothing_of_what_stood_before_it() {
    for speaks in BOTH {
        let mut told = Told::begin(speaks, plan(&[None, Some("one")])).await;
        told.prompt("first").await;
        let all = told.prompt("second").await;
        told.again(FREE, plan(&[None, Some("here")]), |agent| agent).await;
        assert_eq!(told.prompt("third").await.len(), 1, "its own, in its loop");
        told.again(BINDS, says, |agent| agent).await;
        let back = told.prompt("fourth").await;
        assert_eq!(back[..2], all[..2]);
        assert_eq!(told.prompt("fifth").await.len(), back.len() + 1);
        told.holds();
    }
}

#[tokio::test]
async fn a_loop_that_loses_its_reasoning_goes_on() {
    for speaks in BOTH {
        let cancel = Cancel::new();
        let stop = cancel.clone();
        let script = move |_: &Value| {
            // The process ends behind the call.
            stop.cancel();
            vec![Block::Think, Block::Call("read", json!({ "path": "a" }))]
        };
        let mut told = Told::begin(speaks, script).await;
        told.session().prompt("first", &cancel).await.unwrap();
        told.again(BINDS, says, |agent| agent).await;
        told.session().resume(&Cancel::new()).await.unwrap();
        assert_eq!(told.service.back().len(), 1, "as the first process would have sent it");
        let world = told.world.clone();
        let more = move |agent: AgentBuilder| {
            agent.tools(tools(&world).into_iter().filter(|tool| tool.spec().name == "edit"))
        };
        told.again(BINDS, plan(&[None, Some("so")]), more).await;
        assert_eq!(told.prompt("second").await.len(), 1, "what the loop itself has thought");
        told.holds();
    }
}

#[tokio::test]
async fn a_service_that_says_so_once_is_never_asked_wrong_again() {
    // Of this model nothing is known.
    let mystery = "claude-next";
    let mut told = Told::begin_as(Speaks::Messages, says, AgentBuilder::with_revert).await;
    told.again(mystery, says, AgentBuilder::with_revert).await;
    told.prompt("first").await;
    told.prompt("second").await;
    let world = told.world.clone();
    let more = move |agent: AgentBuilder| {
        agent.tools(tools(&world).into_iter().filter(|tool| tool.spec().name == "edit")).with_revert()
    };
    told.again(mystery, says, more).await;
    assert_eq!(told.prompt("third").await, [""; 0]);
    assert_eq!(told.service.refused().len(), 1);
    let said = told.told();
    assert_eq!(said[..2], ["learned bound_reasoning", "learned no_earlier_reasoning"]);
    assert_eq!(told.prompt("fourth").await.len(), 1, "what came since goes back");
    // And without these tools it does not, in yet another process.
    told.again(mystery, says, AgentBuilder::with_revert).await;
    assert_eq!(told.prompt("fifth").await, [""; 0]);
    assert_eq!(told.prompt("sixth").await.len(), 1);
    assert_eq!(told.service.refused().len(), 1);
}

#[tokio::test]
async fn an_agent_that_is_told_that_nothing_binds_sends_it_as_it_is() {
    let mut told = Told::begin_as(Speaks::Messages, says, |agent| agent.bound_reasoning(false)).await;
    told.prompt("first").await;
    let world = told.world.clone();
    let more = move |agent: AgentBuilder| {
        let edit = tools(&world).into_iter().filter(|tool| tool.spec().name == "edit");
        agent.tools(edit).bound_reasoning(false)
    };
    told.again(BINDS, says, more).await;
    // This service does, and what it refuses is learned in the old way.
    assert_eq!(told.prompt("second").await, [""; 0]);
    assert_eq!(told.service.refused().len(), 1);
}

#[tokio::test]
async fn what_came_with_an_import_is_not_believed_and_the_service_says_what_it_takes() {
    let mut told = Told::begin(Speaks::Messages, says).await;
    told.prompt("first").await;
    told.prompt("second").await;
    let store: Arc<dyn SessionStore> = told.store.clone();
    post(store.as_ref(), &told.id, &Letter::Distrust, Timestamp(1)).await.unwrap();
    told.again(BINDS, says, |agent| agent).await;
    assert_eq!(told.prompt("third").await.len(), 2);
    told.holds();
}

#[tokio::test]
async fn a_model_that_binds_is_held_by_words_and_offered_the_same_tools_each_time() {
    for (model, same) in [(BINDS, true), (FREE, false)] {
        // It stages an edit and reads instead of deciding.
        let asked = AtomicUsize::new(0);
        let script = move |_: &Value| match asked.fetch_add(1, Ordering::SeqCst) {
            0 => vec![Block::Think, Block::Call("edit", json!({ "path": "a", "text": "new" }))],
            number if number < 5 => vec![Block::Think, Block::Call("read", json!({ "path": "a" }))],
            _ => says(&Value::Null),
        };
        let mut told = Told::begin(Speaks::Messages, says).await;
        let world = told.world.clone();
        let more = move |agent: AgentBuilder| {
            let edit = tools(&world).into_iter().filter(|tool| tool.spec().name == "edit");
            agent.tools(edit).approval(Approval::Model)
        };
        told.again(model, script, more).await;
        told.prompt("edit it").await;
        assert_eq!(offers_the_same(&told.service), same, "{model}");
        assert!(told.service.seen().iter().any(|seen| seen.body.to_string().contains("waits for you")
            || seen.body.to_string().contains("resolve")));
        told.holds();
    }
}
