//! What counts as a run's change where a look is missing, and where files are written otherwise than by commands.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_runtime::decision_objects::Verdict;
use trunkline_runtime::message_tree::{Role, Timestamp, ToolSpec};
use trunkline_runtime::orders::{Order, post};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::resolve_tool::Resolution;
use trunkline_runtime::resolve_queue::{ActorKind, Effect, Entry, Fingerprint, Outcome, StandingHandler};
use trunkline_runtime::session_store::{MemoryStore, SessionStore};
use trunkline_runtime::{
    Access, Approval, Cancel, CloseAs, Event, Executor, Proposal, Standing, Stop, Tool, ToolContext,
    ToolOutput, decided_runs,
};

use crate::fake_folder::READING;
use crate::kills::{Death, Mortal};
use crate::looking::{Command, Scene};
use crate::story::World;

/// Killed at every write of a run with one command: what a person writes until the session goes on may count, and is told then;
/// what they write later does not.
#[tokio::test]
async fn a_command_that_was_cut_off_takes_in_what_came_before_the_session_went_on_and_tells_it() {
    let mut taken_in = 0;
    for at in 0..14 {
        let scene = Scene::new();
        let (world, told) = (scene.world.clone(), Arc::new(Mutex::new(Vec::new())));
        let write =
            move |path: &str| world.files.lock().unwrap().insert(path.to_owned(), "by hand".to_owned());
        let (late, open) = (write.clone(), Arc::new(AtomicBool::new(false)));
        let goes_on = Arc::clone(&open);
        let script = move |request: &trunkline_runtime::providers::Request| {
            let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
            if goes_on.load(Ordering::SeqCst) {
                late("late");
            }
            match step {
                0 => Turn::new().call("c0", "run", &json!({ "path": "a" })),
                _ => Turn::say("done"),
            }
        };
        let command = Command { world: scene.world.clone(), seen: Arc::clone(&scene.seen) };
        let agent = scene.world.agent(script).tools(vec![Box::new(command) as Box<dyn Tool>]);
        let heard = Arc::clone(&told);
        let agent = agent.approval(Approval::Always).workspace(Arc::new(scene.folder.clone()));
        let agent = agent.on_event(move |event| {
            if let Event::TakenIn { files } = event {
                heard.lock().unwrap().extend(files.iter().cloned());
            }
        });
        let agent = agent.build().unwrap();
        let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let mortal = Arc::new(Mortal::new(Arc::clone(&inner), at, Death::Lost));
        let Ok(mut session) = agent.start(mortal, "t", None).await else { continue };
        let id = session.id().clone();
        if session.prompt("work", &Cancel::new()).await.is_ok() || session.tree().len() == 1 {
            continue;
        }
        drop(session);
        write("between");
        open.store(true, Ordering::SeqCst);
        let mut session = agent.open(Arc::clone(&inner), &id).await.unwrap();
        session.resume(&Cancel::new()).await.unwrap();
        let decision = session.decisions().iter().next().cloned().unwrap();
        let files = scene.files_of(inner.as_ref(), &id, &decision).await;
        assert!(!files.contains("late"), "killed at write {at}: {files:?}");
        let told = told.lock().unwrap();
        assert_eq!(files.contains("between"), told.iter().any(|path| path == "between"), "{at}");
        taken_in += usize::from(files.contains("between"));
    }
    assert!(taken_in > 0);
}

/// Somebody has asked to put the run down, and its writer was killed inside of a command.
#[tokio::test]
async fn a_letter_that_closes_a_run_after_a_kill_tells_what_it_takes_in_too() {
    let scene = Scene::new();
    let command = Command { world: scene.world.clone(), seen: Arc::clone(&scene.seen) };
    let call =
        |_: &trunkline_runtime::providers::Request| Turn::new().call("c0", "run", &json!({ "path": "a" }));
    let agent = scene.world.agent(call).tools(vec![Box::new(command) as Box<dyn Tool>]);
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let agent = agent.approval(Approval::Always).workspace(Arc::new(scene.folder.clone()));
    let agent = agent.on_event(move |event| {
        if let Event::TakenIn { files } = event {
            heard.lock().unwrap().extend(files.iter().cloned());
        }
    });
    let agent = agent.build().unwrap();
    let mut closed = 0;
    for at in 4..9 {
        told.lock().unwrap().clear();
        let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let mortal = Arc::new(Mortal::new(Arc::clone(&inner), at, Death::Lost));
        let Ok(mut session) = agent.start(mortal, "t", None).await else { continue };
        session.prompt("work", &Cancel::new()).await.unwrap_err();
        let (id, Some(run)) = (session.id().clone(), session.open_run()) else { continue };
        drop(session);
        let path = format!("mine {at}");
        scene.world.files.lock().unwrap().insert(path.clone(), "by hand".to_owned());
        let close = CloseAs::Checkpoint { words: "so far".to_owned() };
        post(inner.as_ref(), &id, &Order::CloseRun { run, close }, Timestamp(1)).await.unwrap();
        let mut session = agent.open(Arc::clone(&inner), &id).await.unwrap();
        session.read_letters().await.unwrap();
        let decision = session.decisions().iter().next().cloned().unwrap();
        assert!(matches!(decision.verdict(), Verdict::Checkpoint { .. }));
        let said = decided_runs(&inner.load(&id).await.unwrap()).runs;
        let has =
            said[0].patch_sets.iter().flat_map(|set| set.files()).any(|file| file.path.as_str() == path);
        assert_eq!(has, told.lock().unwrap().contains(&path), "killed at write {at}");
        closed += usize::from(has);
    }
    assert!(closed > 0, "some kill came inside of the command");
}

#[tokio::test]
async fn where_a_look_failed_only_what_changed_until_the_next_one_counts() {
    let scene = Scene::new();
    let (folder, world) = (scene.folder.clone(), scene.world.clone());
    let write = move |path: &str| world.files.lock().unwrap().insert(path.to_owned(), "by hand".to_owned());
    let script = move |request: &trunkline_runtime::providers::Request| {
        let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        match step {
            0 | 1 => folder.fail(READING, usize::MAX, "it cannot be read"),
            _ => folder.mend(),
        }
        write(["early", "meanwhile", "after", "late"][step]);
        match step {
            3 => Turn::say("done"),
            _ => Turn::new().call(format!("c{step}"), "run", &json!({ "path": format!("by {step}") })),
        }
    };
    let command = Command { world: scene.world.clone(), seen: Arc::clone(&scene.seen) };
    let agent = scene.world.agent(script).tools(vec![Box::new(command) as Box<dyn Tool>]);
    let agent = agent.approval(Approval::Always).workspace(Arc::new(scene.folder.clone())).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    let Ok(Stop::Decided(decision)) = session.prompt("work", &Cancel::new()).await else {
        panic!("no verdict")
    };
    let files = scene.files_of(store.as_ref(), session.id(), &decision).await;
    // "after" came before the next look.
    let wanted = ["after", "by 0", "by 1", "by 2", "early", "meanwhile"].map(str::to_owned);
    assert_eq!(files, wanted.into());
}

/// Writes half of what it was to write, and does not know how far it came. What does not show in files writes others too.
struct Half {
    world: World,
    effect: Effect,
    /// Whether it breaks before it has written what it names.
    early: bool,
}

#[async_trait]
impl Tool for Half {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object" });
        ToolSpec {
            name: "half".to_owned(),
            description: "a test".to_owned(),
            input_schema: schema,
            strict: None,
        }
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let mut proposal = Proposal::new("write half", "half", json!({}));
        proposal.effect = self.effect;
        proposal.fingerprints = vec![Fingerprint::absent("half")];
        proposal.after = vec![Fingerprint::digest("half", "all of it")];
        let mut output = ToolOutput::text("a preview");
        output.proposals.push(proposal);
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Half {
    async fn observe(&self, _: &[String]) -> Vec<Fingerprint> {
        match self.world.files.lock().unwrap().get("half") {
            Some(text) => vec![Fingerprint::digest("half", text)],
            None => vec![Fingerprint::absent("half")],
        }
    }

    async fn apply(&self, _: &Entry<Value>, _: &ToolContext) -> (Outcome, ToolOutput) {
        let mut files = self.world.files.lock().unwrap();
        if !self.early {
            files.insert("half".to_owned(), "some of it".to_owned());
        }
        if !self.effect.shows_in_fingerprints() {
            files.insert("beside".to_owned(), "some of it".to_owned());
        }
        (Outcome::Unknown { reason: "it broke".to_owned() }, ToolOutput::error("it broke"))
    }
}

#[tokio::test]
async fn what_perhaps_was_applied_counts() {
    assert_eq!(half_done(Effect::Reversible, false).await, ["half"]);
    assert_eq!(half_done(Effect::Reversible, true).await, [""; 0]);
    // What a proposal names is all that it writes only if its effect shows there.
    assert_eq!(half_done(Effect::Irreversible, false).await, ["beside", "half", "mine"]);
    assert_eq!(half_done(Effect::Irreversible, true).await, ["beside", "mine"]);
}

async fn half_done(effect: Effect, early: bool) -> Vec<String> {
    let scene = Scene::new();
    let world = scene.world.clone();
    let script = move |request: &trunkline_runtime::providers::Request| {
        let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        world.files.lock().unwrap().insert("mine".to_owned(), "by hand".to_owned());
        match step {
            0 => Turn::new().call("c0", "half", &json!({})),
            _ => Turn::say("done"),
        }
    };
    let half = Half { world: scene.world.clone(), effect, early };
    let agent = scene.world.agent(script).tools(vec![Box::new(half) as Box<dyn Tool>]);
    let agent = agent.approval(Approval::Always).workspace(Arc::new(scene.folder.clone())).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    let Ok(Stop::Decided(decision)) = session.prompt("work", &Cancel::new()).await else {
        panic!("no verdict")
    };
    let files = scene.files_of(store.as_ref(), session.id(), &decision).await;
    files.into_iter().collect()
}

/// A handler of the application's own: writes a file when it is asked.
struct Plan(World);

#[async_trait]
impl Standing for Plan {
    async fn resolve(&self, _: &Resolution, _: &ToolContext) -> ToolOutput {
        self.0.files.lock().unwrap().insert("plan".to_owned(), "approved".to_owned());
        ToolOutput::text("Noted.")
    }
}

#[tokio::test]
async fn what_a_handler_of_the_application_writes_counts() {
    let scene = Scene::new();
    let world = scene.world.clone();
    let script = move |request: &trunkline_runtime::providers::Request| {
        let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
        world.files.lock().unwrap().insert("mine".to_owned(), format!("by hand {step}"));
        match step {
            0 => Turn::new().call("c0", "resolve", &json!({ "action": "apply", "reason": "fits" })),
            _ => Turn::say("done"),
        }
    };
    let mut handler = StandingHandler::new("plan", "approve the plan");
    handler.deciders = vec![ActorKind::Model];
    let agent = scene.world.agent(script).standing(handler, Arc::new(Plan(scene.world.clone())));
    let agent = agent.workspace(Arc::new(scene.folder.clone())).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    let Ok(Stop::Decided(decision)) = session.prompt("work", &Cancel::new()).await else {
        panic!("no verdict")
    };
    let files = scene.files_of(store.as_ref(), session.id(), &decision).await;
    assert_eq!(files.into_iter().collect::<Vec<_>>(), ["plan"]);
}
