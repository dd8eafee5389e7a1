//! Tools that clean up behind what they have staged and was never applied: whatever is killed where, and whatever they do then.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{
    Content, Media, MediaSource, Message, Part, Role, Timestamp, ToolSpec,
};
use trunkline_runtime::orders::{Order, post};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::resolve_queue::{End, Entry, Fingerprint, Outcome, ProposalId, State, Verdict};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{
    Access, Agent, AgentBuilder, Approval, Cancel, DiscardHook, Executor, Said, Session, Stop, Tool,
    ToolContext, ToolOutput, View, distrust,
};

use crate::kills::{Death, Mortal};
use crate::story::{World, replies, stop_line, tools};

/// What a hook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Nothing,
    Says,
    Shows,
    Fails,
    Panics,
    Hangs,
}

/// The tool `edit` under another name, which holds a lock from a preview to its end.
struct Locking {
    edit: Box<dyn Tool>,
    world: World,
    does: Does,
}

impl Locking {
    fn new(world: &World, does: Does) -> Self {
        let edit = tools(world).into_iter().find(|tool| tool.spec().name == "edit").unwrap();
        Locking { edit, world: world.clone(), does }
    }
}

#[async_trait]
impl Tool for Locking {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "lock".to_owned(), ..self.edit.spec() }
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let mut output = self.edit.run(arguments, context).await;
        output.proposals.iter_mut().for_each(|proposal| proposal.source_tool = "lock".to_owned());
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Locking {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        self.edit.as_executor().unwrap().observe(subjects).await
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        let decision = entry.decision.as_ref().expect("somebody has approved it");
        assert_eq!(context.decision.as_deref(), Some(decision));
        if let Some(extra) = &decision.extra {
            self.world.did(format!("handed {}", json!(extra)));
        }
        self.edit.as_executor().unwrap().apply(entry, context).await
    }

    fn as_discard_hook(&self) -> Option<&dyn DiscardHook> {
        Some(self)
    }
}

#[async_trait]
impl DiscardHook for Locking {
    async fn discarded(&self, entry: &Entry<Value>, end: &End, context: &ToolContext) -> Option<ToolOutput> {
        assert!(context.session.is_some() && entry.end.as_ref() == Some(end));
        let extra = entry.decision.as_ref().and_then(|decision| decision.extra.as_ref());
        let extra = extra.map(|extra| format!(" with {}", json!(extra))).unwrap_or_default();
        self.world.did(format!("unlocked by {end}: {}{extra}", end.cause));
        match self.does {
            Does::Nothing => None,
            Does::Says => Some(ToolOutput::text("The lock is gone.")),
            Does::Shows => {
                let mut output = ToolOutput::text("See.");
                output.content.push(picture());
                Some(output)
            }
            Does::Fails => Some(ToolOutput::error("the lock belongs to somebody else")),
            Does::Panics => panic!("a hook that crashes"),
            Does::Hangs => std::future::pending().await,
        }
    }
}

fn picture() -> Part {
    Part::Image(Media { media_type: "image/gif".to_owned(), source: MediaSource::Base64("R0lG".to_owned()) })
}

fn lock(id: &str, path: &str, text: &str) -> Turn {
    Turn::new().call(id, "lock", &json!({ "path": path, "text": text }))
}

fn resolve(id: &str, action: &str, proposal: &str) -> Turn {
    Turn::new().call(id, "resolve", &json!({ "action": action, "reason": "because", "id": proposal }))
}

struct Scene {
    world: World,
    agent: Agent,
    store: Arc<MemoryStore>,
    session: Session,
}

async fn begin(does: Does, turns: Vec<Turn>, with: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Scene {
    let world = World::default();
    let agent = with(world.agent(replies(turns)).tool(Locking::new(&world, does))).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let session = agent.start(store.clone(), "t", None).await.unwrap();
    Scene { world, agent, store, session }
}

impl Scene {
    async fn prompt(&mut self) -> String {
        stop_line(&self.session.prompt("go", &Cancel::new()).await)
    }

    async fn restart(mut self) -> Self {
        let id = self.session.id().clone();
        drop(self.session);
        self.session = self.agent.open(self.store.clone(), &id).await.unwrap();
        self
    }

    async fn view(&self) -> View {
        View::of(&self.store.load(self.session.id()).await.unwrap()).unwrap()
    }

    fn told(&self) -> String {
        let said = self.session.tree().trunk().messages().filter(|message| message.role != Role::Assistant);
        let texts = said.flat_map(|message| {
            let results = message.results().map(|result| {
                format!(
                    "{}: {}{}",
                    result.call_id,
                    if result.is_error { "failed: " } else { "" },
                    result.text()
                )
            });
            std::iter::once(message.text()).chain(results).collect::<Vec<_>>()
        });
        let texts: Vec<String> = texts.filter(|text| text.contains("p1") || text.starts_with("c2")).collect();
        texts.last().cloned().unwrap_or_default()
    }

    /// How the hook of a proposal ended, as who only looks sees it.
    async fn ended(&self, id: u32) -> String {
        let view = self.view().await;
        let ended = view.staged().hooks.of(ProposalId(id)).and_then(|hook| hook.ended.clone());
        assert_eq!(ended.is_none(), view.staged().hooks.open().any(|open| open == ProposalId(id)));
        ended.map_or("open".to_owned(), |ended| format!("{:?}, {:?}", ended.words, ended.failed))
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_a_hook_does_its_end_is_recorded_and_told_and_the_session_goes_on() {
    let mut told = String::new();
    for does in [Does::Nothing, Does::Says, Does::Fails, Does::Panics, Does::Hangs] {
        for by_model in [false, true] {
            let turns = match by_model {
                true => vec![lock("c1", "a", "new"), resolve("c2", "discard", "p1"), Turn::say("done")],
                false => vec![lock("c1", "a", "new"), Turn::say("done")],
            };
            let approval = if by_model { Approval::Model } else { Approval::Person };
            let mut scene = begin(does, turns, |agent| agent.approval(approval)).await;
            let mut stop = scene.prompt().await;
            if !by_model {
                scene.session.decide(ProposalId(1), Verdict::Discard, "no").await.unwrap();
                assert_eq!(
                    scene.world.effects(),
                    ["unlocked by p1-end-1: discarded"],
                    "it need not be driven"
                );
                stop = stop_line(&scene.session.resume(&Cancel::new()).await);
            }
            assert_eq!(stop, "decided other: answered");
            assert_eq!(scene.world.effects().len(), 1);
            told += &format!("{does:?}: {} -- {}\n", scene.told(), scene.ended(1).await);
        }
    }
    expect![[r#"
        Nothing: A person declined p1. Discarded: edit a. Reason: no -- None, None
        Nothing: c2: Discarded: edit a. Reason: because -- None, None
        Says: A person declined p1. The lock is gone. -- Some("The lock is gone."), None
        Says: c2: The lock is gone. -- Some("The lock is gone."), None
        Fails: A person declined p1. Its tool reports a failure: the lock belongs to somebody else -- None, Some("the lock belongs to somebody else")
        Fails: c2: failed: the lock belongs to somebody else -- None, Some("the lock belongs to somebody else")
        Panics: A person declined p1. Discarded: edit a. Reason: no. Its tool did not clean up: it crashed. -- None, Some("it crashed")
        Panics: c2: Discarded: edit a. Reason: because. Its tool did not clean up: it crashed. -- None, Some("it crashed")
        Hangs: A person declined p1. Discarded: edit a. Reason: no. Its tool did not clean up: it did not end within 35 seconds. -- None, Some("it did not end within 35 seconds")
        Hangs: c2: Discarded: edit a. Reason: because. Its tool did not clean up: it did not end within 35 seconds. -- None, Some("it did not end within 35 seconds")
    "#]].assert_eq(&told);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_wait_for_a_hook_and_the_next_drive_calls_it_again() {
    // The model discards it in a call, or a person did before the drive.
    for by_model in [true, false] {
        let turns = match by_model {
            true => vec![lock("c1", "a", "new"), resolve("c2", "discard", "p1"), Turn::say("done")],
            false => vec![lock("c1", "a", "new"), Turn::say("done")],
        };
        let approval = if by_model { Approval::Model } else { Approval::Person };
        let mut scene = begin(Does::Hangs, turns, |agent| agent.approval(approval)).await;
        if !by_model {
            scene.prompt().await;
            let said = Said::new(Verdict::Discard, "no");
            let letter = Order::Verdict { proposal: ProposalId(1), said, seen: None };
            post(scene.store.as_ref(), scene.session.id(), &letter, Timestamp(1)).await.unwrap();
        }
        let began = tokio::time::Instant::now();
        let cancel = Cancel::new().child_within(std::time::Duration::from_secs(2));
        let stop = match by_model {
            true => scene.session.prompt("go", &cancel).await,
            false => scene.session.resume(&cancel).await,
        };
        assert_eq!((stop_line(&stop).as_str(), began.elapsed().as_secs()), ("cancelled", 7), "{by_model}");
        assert_eq!((scene.ended(1).await.as_str(), scene.world.effects().len()), ("open", 1));

        // What is ordered then waits for none of it, and begins none of it in the place of the drive.
        let began = tokio::time::Instant::now();
        scene.session.order(Order::Prompt { text: "and".to_owned() }).await.unwrap();
        assert_eq!((began.elapsed().as_secs(), scene.world.effects().len()), (0, 1));

        let mut scene = scene.restart().await;
        let stop = stop_line(&scene.session.resume(&Cancel::new()).await);
        assert_eq!((stop.as_str(), scene.world.effects().len()), ("decided other: answered", 2));
        assert!(scene.ended(1).await.contains("35 seconds"));
    }
}

#[tokio::test(start_paused = true)]
async fn an_order_waits_for_the_hooks_of_what_it_has_ended_and_no_longer_than_one_may_take() {
    let locks = lock("c1", "a", "new").call("c2", "lock", &json!({ "path": "b", "text": "two" }));
    let mut scene = begin(Does::Hangs, vec![locks, Turn::say("done")], |agent| agent).await;
    scene.prompt().await;
    let began = tokio::time::Instant::now();
    let ids = [ProposalId(1), ProposalId(2)];
    let said = Said::new(Verdict::Discard, "no");
    let decided = scene.session.decide_all(Some(&ids), &said).await.unwrap();
    assert!(decided.iter().all(|(_, result)| result.is_ok()), "{decided:?}");
    assert_eq!(began.elapsed().as_secs(), 35);
    assert_eq!(scene.ended(2).await, "open");
    let stop = stop_line(&scene.session.resume(&Cancel::new()).await);
    assert_eq!((stop.as_str(), scene.world.effects().len()), ("decided other: answered", 2));
}

#[tokio::test]
async fn what_a_hook_shows_is_a_part_of_the_result_or_of_what_is_told() {
    let turns = vec![lock("c1", "a", "new"), resolve("c2", "discard", "p1"), Turn::say("done")];
    let mut scene = begin(Does::Shows, turns, |agent| agent.approval(Approval::Model)).await;
    scene.prompt().await;
    let results: Vec<_> = scene.session.tree().trunk().messages().flat_map(Message::results).collect();
    assert_eq!(results[1].content, [Part::text("See."), picture()]);

    // While a turn is open there is no place for it.
    let turn = lock("c1", "a", "new").call("c2", "shell", &json!({ "path": "make" }));
    let rest = vec![turn, Turn::say("done")];
    for open in [true, false] {
        let turns = if open { rest.clone() } else { vec![lock("c1", "a", "new"), Turn::say("done")] };
        let mut scene = begin(Does::Shows, turns, |agent| agent).await;
        scene.prompt().await;
        let id = scene.session.proposals().iter().find(|entry| entry.proposal.hears_end).unwrap().id;
        scene.session.decide(id, Verdict::Discard, "no").await.unwrap();
        let kept = scene.view().await;
        assert_eq!(
            kept.tree().len(),
            if open { 3 } else { 5 },
            "it is told at once where there is a place for it"
        );
        scene.session.resume(&Cancel::new()).await.unwrap();
        let shell = scene.session.proposals().pending().next().map(|entry| entry.id);
        if let Some(shell) = shell {
            scene.session.decide(shell, Verdict::Discard, "no").await.unwrap();
            scene.session.resume(&Cancel::new()).await.unwrap();
        }
        let shown = scene.session.tree().trunk().messages().find(|message| message.text().contains("See."));
        let content = &shown.unwrap().content;
        assert!(matches!(content.as_slice(), [Content::Text { .. }, Content::Image(_)]), "{content:?}");
    }
}

#[tokio::test]
async fn what_a_person_hands_over_reaches_apply_and_hook_also_by_a_letter() {
    for by_letter in [false, true] {
        let turns = vec![lock("c1", "a", "new"), lock("c2", "b", "new"), Turn::say("done")];
        let mut scene = begin(Does::Nothing, turns, |agent| agent).await;
        scene.prompt().await;
        let _ = scene.session.resume(&Cancel::new()).await;
        let extra: Map<String, Value> = json!({ "dry": true, "n": [1] }).as_object().cloned().unwrap();
        for (id, verdict) in [(1, Verdict::Approve), (1, Verdict::Discard)] {
            let Some(id) = scene.session.proposals().pending().next().map(|entry| entry.id) else {
                panic!("p{id} waits")
            };
            let said = Said::new(verdict, "").handing(extra.clone());
            if by_letter {
                let order = Order::Verdict { proposal: id, said, seen: Some(0) };
                post(scene.store.as_ref(), scene.session.id(), &order, Timestamp(1)).await.unwrap();
            } else {
                scene.session.decide_with(id, said).await.unwrap();
            }
            let _ = scene.session.resume(&Cancel::new()).await;
        }
        assert_eq!(
            scene.world.effects(),
            [
                r#"handed {"dry":true,"n":[1]}"#,
                "wrote a",
                r#"unlocked by p2-end-1: discarded with {"dry":true,"n":[1]}"#
            ],
            "by letter: {by_letter}"
        );
    }
}

#[tokio::test]
async fn a_letter_that_hands_over_what_cannot_be_stored_is_refused_and_stops_nothing() {
    let turns = vec![lock("c1", "a", "new"), Turn::say("done")];
    let mut scene = begin(Does::Nothing, turns, |agent| agent).await;
    scene.prompt().await;
    let deep = format!("{}1{}", "[".repeat(110), "]".repeat(110));
    let body = format!(r#"{{"proposal":"p1","verdict":"approve","extra":{{"deep":{deep}}}}}"#);
    scene.store.post(scene.session.id(), "verdict", &body, Timestamp(1)).await.unwrap();
    assert_eq!(stop_line(&scene.session.resume(&Cancel::new()).await), "waiting for p1");
    scene.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    assert_eq!(stop_line(&scene.session.resume(&Cancel::new()).await), "decided other: answered");
}

#[tokio::test]
async fn what_an_import_brings_is_cleaned_up_by_nobody_here() {
    let turns = vec![lock("c1", "a", "new"), Turn::say("done")];
    let mut scene = begin(Does::Nothing, turns, |agent| agent).await;
    scene.prompt().await;
    let letter = distrust(Timestamp(1));
    scene.store.post(scene.session.id(), &letter.kind, &letter.body, letter.at).await.unwrap();
    let mut scene = scene.restart().await;
    assert_eq!(
        scene.session.proposals().get(ProposalId(1)).map(|entry| entry.state),
        Some(State::Superseded)
    );
    scene.session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(scene.world.effects(), [""; 0]);
    assert!(scene.view().await.staged().hooks.open().next().is_none());
}

#[tokio::test]
async fn a_hook_is_called_by_who_takes_the_session_up_from_a_snapshot() {
    let world = World::default();
    let tool = Locking::new(&world, Does::Nothing);
    let turns = vec![lock("c1", "a", "new"), Turn::say("done")];
    let with = world.agent(replies(turns)).tool(tool).with_revert().snapshot_after(0).build().unwrap();
    // A process that has the same session and not the tool, such as one that only moves the head.
    let without = world.agent(replies(vec![])).with_revert().snapshot_after(0).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = with.start(store.clone(), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    let id = session.id().clone();
    drop(session);
    let mut session = without.open(store.clone(), &id).await.unwrap();
    session.revert(trunkline_runtime::message_tree::NodeId::new(1), Some("no")).await.unwrap();
    drop(session);
    // The branch that it stands on is bare by now.
    drop(without.open(store.clone(), &id).await.unwrap());
    let session = without.open(store.clone(), &id).await.unwrap();
    assert!(!session.is_whole(), "a snapshot was used");
    drop(session);
    assert_eq!(world.effects(), [""; 0]);
    let mut session = with.open(store.clone(), &id).await.unwrap();
    assert!(!session.is_whole(), "a snapshot was used");
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(world.effects(), ["unlocked by p1-end-1: branch left"]);
    drop(session);
    drop(with.open(store, &id).await.unwrap().resume(&Cancel::new()).await);
    assert_eq!(world.effects().len(), 1, "once it is recorded it is over");
}

/// A model that stages, discards, applies, goes back and stages anew, and tells from what it is sent where it is.
fn model(request: &Request) -> Turn {
    let left = request.messages.iter().any(|message| message.text().contains("[revert-lesson]"));
    let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let back = json!({ "category": "failure", "step": "n1", "summary": "it does not work" });
    match (left, step) {
        (false, 0) => lock("c0", "a", "one").call("c1", "lock", &json!({ "path": "b", "text": "two" })),
        (false, 1) => resolve("c2", "discard", "p1"),
        (false, 2) => resolve("c3", "apply", "p2"),
        (false, 3) => lock("c4", "c", "three"),
        (false, _) => Turn::new().call("c5", "revert_to_state", &back),
        (true, 0) => lock("c6", "d", "four"),
        (true, 1) => lock("c7", "d", "five"),
        (true, 2) => resolve("c8", "discard", "p5"),
        (true, _) => Turn::say("done"),
    }
}

/// Runs the story and kills it at the n-th write, until it ends. Returns whether it was killed.
async fn survive(deaths: &[usize], death: Death) -> bool {
    let world = World::default();
    let tool = Locking::new(&world, Does::Says);
    let agent = world.agent(model).tool(tool).approval(Approval::Model).with_revert().build().unwrap();
    let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    let mut id: Option<SessionId> = None;
    let (mut killed, mut deaths) = (false, deaths.iter().copied());
    loop {
        let life = deaths.next().unwrap_or(usize::MAX);
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(Arc::clone(&inner), life, death));
        let opened = match &id {
            None => agent.start(store, "t", None).await,
            Some(id) => agent.open(store, id).await,
        };
        let Ok(mut session) = opened else {
            killed = true;
            continue;
        };
        id = Some(session.id().clone());
        let cancel = Cancel::new();
        let begun = session.tree().len() > 1;
        let stop = if begun { session.resume(&cancel).await } else { session.prompt("go", &cancel).await };
        match stop {
            Ok(Stop::Decided(_)) => break,
            Ok(Stop::Idle) if session.open_run().is_none() => break,
            Ok(other) => panic!("the run stopped with {other:?}"),
            Err(_) => killed = true,
        }
    }
    let log = inner.load(&id.unwrap()).await.unwrap();
    let view = View::of(&log).unwrap();
    assert!(view.staged().hooks.open().next().is_none(), "{deaths:?} {death:?}");
    let ends: BTreeMap<String, usize> = world.effects().iter().fold(BTreeMap::new(), |mut ends, effect| {
        *ends.entry(effect.clone()).or_default() += 1;
        ends
    });
    let told: BTreeSet<String> = view
        .proposals()
        .iter()
        .filter(|entry| entry.state != State::Applied)
        .map(|entry| {
            let end = entry.end.as_ref().expect("it has ended");
            let hook = view.staged().hooks.of(entry.id).expect("its tool is told");
            assert_eq!(hook.ended.as_ref().and_then(|ended| ended.failed.clone()), None);
            format!("unlocked by {end}: {}", end.cause)
        })
        .collect();
    let called: BTreeSet<String> =
        ends.keys().filter(|effect| !effect.starts_with("wrote")).cloned().collect();
    assert_eq!(called, told, "each end is told under one name: {deaths:?} {death:?}");
    assert_eq!(ends.get("wrote b"), Some(&1), "{ends:?} {deaths:?} {death:?}");
    // What came of a hook is recorded once, together with what the model is told of it.
    for proposal in ["p1", "p3", "p4", "p5"] {
        let ended = log.records.iter().filter(|(_, record)| match record {
            Record::Note(note) => {
                note.kind == "discard_hook" && note.body.contains(proposal) && note.body.contains("ended")
            }
            _ => false,
        });
        assert_eq!(ended.count(), 1, "{proposal} {deaths:?} {death:?}");
    }
    killed
}

#[tokio::test]
async fn every_end_is_told_at_least_once_under_one_name_wherever_a_kill_comes() {
    for kind in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut tried = 0;
        while survive(&[tried], kind).await {
            // Two kills in a row are the harder case where one is survived.
            survive(&[tried, 1], kind).await;
            tried += 1;
        }
        assert!(tried > 25, "the story has more than 25 writes, {tried} were tried");
    }
}
