//! Which changes are the run's, and which somebody else's, also through kills: by looks around calls.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_runtime::decision_objects::{Decision, PatchSet, Verdict};
use trunkline_runtime::message_tree::{Role, ToolSpec};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{Approval, Cancel, CloseAs, Event, Stop, Tool, ToolContext, ToolOutput};

use crate::fake_folder::{Act as Asked, FakeFolder, READING, differing};
use crate::kills::{Death, Mortal};
use crate::story::World;

/// A command: writes a file at once, as one that is approved or sandboxed does.
pub(crate) struct Command {
    pub(crate) world: World,
    pub(crate) seen: Arc<Mutex<Seen>>,
}

#[async_trait]
impl Tool for Command {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        ToolSpec {
            name: "run".to_owned(),
            description: "a test".to_owned(),
            input_schema: schema,
            strict: None,
        }
    }

    async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let path = arguments["path"].as_str().unwrap().to_owned();
        let mut seen = self.seen.lock().unwrap();
        // There was a look before it.
        seen.unsure = false;
        seen.ours.insert(path.clone());
        let mut files = self.world.files.lock().unwrap();
        if path == "gone" {
            files.remove(&path);
        } else {
            files.insert(path, "by a command".to_owned());
        }
        ToolOutput::text("ok")
    }
}

/// What has to come out.
#[derive(Default)]
pub(crate) struct Seen {
    /// Written by the run.
    ours: BTreeSet<String>,
    /// Written by somebody else while nobody could know that a killed command had ended.
    maybe: BTreeSet<String>,
    /// Nobody has looked since a process was killed.
    unsure: bool,
}

#[derive(Copy, Clone, Debug)]
enum Act {
    Edit(&'static str),
    Run(&'static str),
    Read,
}

fn an_act() -> impl Strategy<Value = Act> {
    let path = || prop::sample::select(vec!["a", "b", "gone", "shared"]);
    prop_oneof![path().prop_map(Act::Edit), path().prop_map(Act::Run), Just(Act::Read)]
}

/// What somebody else does to the files before a request, and whenever a process has died.
type Foreign = Vec<Option<(&'static str, bool)>>;

fn some_foreign() -> impl Strategy<Value = Foreign> {
    let path = prop::sample::select(vec!["mine", "shared", "kept", "a", "other"]);
    prop::collection::vec(prop::option::of((path, any::<bool>())), 8)
}

pub(crate) struct Scene {
    pub(crate) world: World,
    pub(crate) folder: FakeFolder,
    pub(crate) seen: Arc<Mutex<Seen>>,
    told: Arc<Mutex<Vec<String>>>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        let world = World::default();
        for path in ["gone", "kept"] {
            world.files.lock().unwrap().insert(path.to_owned(), "before".to_owned());
        }
        let folder = FakeFolder::of(&world.files).looks();
        Scene { world, folder, seen: Arc::default(), told: Arc::default() }
    }

    /// Somebody else writes a file, or removes it.
    fn disturb(&self, foreign: Option<(&'static str, bool)>, number: usize) {
        Scene::write(&self.world, &self.seen, foreign, number);
    }

    fn write(world: &World, seen: &Mutex<Seen>, foreign: Option<(&'static str, bool)>, number: usize) {
        let Some((path, writes)) = foreign else { return };
        let mut seen = seen.lock().unwrap();
        let mut files = world.files.lock().unwrap();
        match writes {
            true => files.insert(path.to_owned(), format!("by hand {number}")),
            false => files.remove(path),
        };
        if seen.unsure {
            seen.maybe.insert(path.to_owned());
        }
    }

    fn agent(&self, acts: Vec<Act>, foreign: Foreign) -> trunkline_runtime::AgentBuilder {
        let (world, seen) = (self.world.clone(), Arc::clone(&self.seen));
        let script = move |request: &trunkline_runtime::providers::Request| {
            let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
            // Whoever goes on after a kill looks first.
            seen.lock().unwrap().unsure = false;
            Scene::write(&world, &seen, foreign.get(step).copied().flatten(), step);
            let id = format!("c{step}");
            match acts.get(step) {
                Some(Act::Edit(path)) => {
                    Turn::new().call(&id, "edit", &json!({ "path": path, "text": format!("applied {step}") }))
                }
                Some(Act::Run(path)) => Turn::new().call(&id, "run", &json!({ "path": path })),
                Some(Act::Read) => Turn::new().call(&id, "read", &json!({ "path": "a" })),
                None => Turn::say("done"),
            }
        };
        let told = Arc::clone(&self.told);
        let command = Command { world: self.world.clone(), seen: Arc::clone(&self.seen) };
        let agent = self.world.agent(script).tools(vec![Box::new(command) as Box<dyn Tool>]);
        let agent = agent.approval(Approval::Always).workspace(Arc::new(self.folder.clone()));
        agent.on_event(move |event| {
            if let Event::LeftAlone { files } = event {
                told.lock().unwrap().extend(files.iter().cloned());
            }
        })
    }

    /// Runs a story to its end, with a process that dies at its n-th write, and somebody else who writes before each request.
    async fn survive(
        &self,
        acts: &[Act],
        foreign: &Foreign,
        deaths: &[usize],
        death: Death,
    ) -> (Decision, BTreeSet<String>) {
        let agent = self.agent(acts.to_vec(), foreign.clone()).commits(true).build().unwrap();
        let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let mut id = None;
        for life in 0..60 {
            let left = deaths.get(life).copied().unwrap_or(usize::MAX);
            let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(Arc::clone(&inner), left, death));
            let opened = match &id {
                None => agent.start(store, "t", None).await,
                Some(id) => agent.open(store, id).await,
            };
            if let Ok(mut session) = opened {
                id = Some(session.id().clone());
                let stop = match session.tree().len() > 1 {
                    true => session.resume(&Cancel::new()).await,
                    false => session.prompt("work", &Cancel::new()).await,
                };
                if let Ok(Stop::Decided(_) | Stop::Idle) = stop
                    && let Some(decision) = session.decisions().iter().next().cloned()
                {
                    return (decision.clone(), self.files_of(inner.as_ref(), session.id(), &decision).await);
                }
                assert!(stop.is_err(), "{stop:?}");
            }
            // Nobody knows any more what was under way.
            self.seen.lock().unwrap().unsure = true;
            self.disturb(foreign.get(life).copied().flatten(), 100 + life);
        }
        panic!("the run never ended");
    }

    /// Returns the files that a decision says its run has changed.
    pub(crate) async fn files_of(
        &self,
        store: &dyn SessionStore,
        id: &SessionId,
        decision: &Decision,
    ) -> BTreeSet<String> {
        let log = store.load(id).await.unwrap();
        let Some(named) = decision.verdict().patch_set() else { return BTreeSet::new() };
        let mut sets = log.records.iter().filter_map(|(_, record)| match record {
            Record::Note(note) if note.kind == "patch_set" => PatchSet::parse(note.body.as_bytes()).ok(),
            _ => None,
        });
        let set = sets.rfind(|set| set.id() == named).expect("it is in the log");
        set.files().iter().map(|file| file.path.as_str().to_owned()).collect()
    }
}

fn check(acts: &[Act], foreign: &Foreign, deaths: &[usize], death: Death) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let scene = Scene::new();
        let before = scene.folder.now();
        let (decision, has) = scene.survive(acts, foreign, deaths, death).await;
        let changed = differing(&before, &scene.folder.now());
        let mut seen = scene.seen.lock().unwrap();
        let applied = scene.world.effects();
        seen.ours.extend(applied.iter().filter_map(|done| done.strip_prefix("wrote ")).map(str::to_owned));
        // Somebody may have written since the commit was made.
        let late = |path: &String| !deaths.is_empty() && seen.maybe.contains(path);
        let missing = seen.ours.intersection(&changed).find(|path| !has.contains(*path) && !late(path));
        assert_eq!(missing, None, "what the run wrote is in it: {has:?}");
        let foreign = has.iter().find(|path| !seen.ours.contains(*path) && !seen.maybe.contains(*path));
        assert_eq!(foreign, None, "what somebody else wrote is not: {has:?}");
        // What is committed is what the patch set says, once.
        let commits = scene.folder.kept.lock().unwrap().commits.clone();
        match decision.verdict() {
            Verdict::Commit { .. } => {
                assert_eq!(commits.len(), 1);
                let base = scene.folder.tree(commits[0].base.tree.as_ref().unwrap());
                assert_eq!(differing(&base, &scene.folder.tree(&commits[0].tree)), has);
            }
            _ => assert_eq!((commits.len(), has.len()), (0, 0)),
        }
        // Who wrote it is told where it is left alone.
        let told: BTreeSet<String> = scene.told.lock().unwrap().iter().cloned().collect();
        assert_eq!(told.intersection(&has).next(), None);
        if deaths.is_empty() {
            assert_eq!(told, changed.difference(&has).cloned().collect::<BTreeSet<_>>());
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whoever writes when, and wherever processes are killed: the run has what its proposals and commands wrote, and of what
    /// somebody else wrote only what came after a kill and before the next look.
    #[test]
    fn a_run_has_its_own_changes_through_kills(
        acts in prop::collection::vec(an_act(), 0..6),
        foreign in some_foreign(),
        deaths in prop::collection::vec(0..24_usize, 0..4),
        death in prop::sample::select(vec![Death::Lost, Death::Kept]),
    ) {
        check(&acts, &foreign, &deaths, death);
    }
}

/// The end of a run, killed at every write, while somebody else writes to its files and beside them.
#[test]
fn what_was_announced_is_computed_anew_after_a_kill() {
    let acts = [Act::Run("a"), Act::Edit("b")];
    for path in ["a", "mine"] {
        for writes in [true, false] {
            for death in [Death::Lost, Death::Kept] {
                for at in 0..24 {
                    check(&acts, &vec![Some((path, writes)); 8], &[at], death);
                }
            }
        }
    }
}

/// A run of one command, and of a person who writes `mine` meanwhile. Returns the patch set, and how often it was looked.
async fn one_command(
    before_it: impl Fn(&FakeFolder),
    after_opening: impl Fn(&FakeFolder) + Send + Sync + 'static,
) -> (Vec<String>, usize) {
    let scene = Scene::new();
    before_it(&scene.folder);
    let (folder, world) = (scene.folder.clone(), scene.world.clone());
    let script = move |request: &trunkline_runtime::providers::Request| match request
        .messages
        .iter()
        .filter(|message| message.role == Role::Assistant)
        .count()
    {
        0 => {
            after_opening(&folder);
            world.files.lock().unwrap().insert("mine".to_owned(), "by hand".to_owned());
            Turn::new().call("c0", "run", &json!({ "path": "a" }))
        }
        1 => {
            folder.mend();
            Turn::new().call("c1", "read", &json!({ "path": "a" })).call(
                "c2",
                "edit",
                &json!({ "path": "b", "text": "b" }),
            )
        }
        _ => Turn::say("done"),
    };
    let command = Command { world: scene.world.clone(), seen: Arc::clone(&scene.seen) };
    let agent = scene.world.agent(script).tools(vec![Box::new(command) as Box<dyn Tool>]);
    let agent = agent.approval(Approval::Always).workspace(Arc::new(scene.folder.clone())).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    let Ok(Stop::Decided(decision)) = session.prompt("work", &Cancel::new()).await else {
        panic!("no verdict")
    };
    let set = scene.files_of(store.as_ref(), session.id(), &decision).await;
    (set.into_iter().collect(), scene.folder.count(Asked::Look))
}

#[tokio::test]
async fn a_look_is_taken_around_what_may_change_something_and_nowhere_else() {
    let (files, looks) = one_command(|_| {}, |_| {}).await;
    assert_eq!((files.as_slice(), looks), (["a", "b"].map(str::to_owned).as_slice(), 3));
}

#[tokio::test]
async fn where_nobody_could_look_everything_counts() {
    let all = ["a", "b", "mine"].map(str::to_owned);
    let blind = |folder: &FakeFolder| folder.kept.lock().unwrap().blind = true;
    let sees = |folder: &FakeFolder| folder.kept.lock().unwrap().blind = false;
    // As a run that an older version has begun.
    assert_eq!(one_command(blind, sees).await.0, all);
    assert_eq!(one_command(|_| {}, blind).await.0, all);
    // A fault keeps no call from running.
    let broken = |folder: &FakeFolder| folder.fail(READING, usize::MAX, "it cannot be read");
    assert_eq!(one_command(|_| {}, broken).await.0, all);
}

#[tokio::test]
async fn a_run_is_abandoned_also_if_nobody_can_tell_what_it_changed() {
    let scene = Scene::new();
    let mut limits = trunkline_runtime::Limits::default();
    limits.turns = 1;
    let agent = scene.agent(vec![Act::Run("a")], Vec::new()).limits(limits).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("work", &Cancel::new()).await.unwrap();
    scene.folder.fail(READING, usize::MAX, "it cannot be read");
    let put_down = session.close_run(CloseAs::Checkpoint { words: "here".to_owned() }).await;
    assert!(put_down.is_err(), "what is gone on from has to be known");
    let decision = session.close_run(CloseAs::Abandon { reason: "no".to_owned() }).await.unwrap();
    let why = decision.rationale().unwrap().to_string();
    assert_eq!(why, "what the run has changed is not known: it cannot be read");
}

/// A name that no verdict can hold is written otherwise there; what is needed to take the run back has the real one.
#[tokio::test]
async fn files_keep_their_names_through_a_kill_behind_the_commit() {
    let name = "back\\slash";
    let (mut decided, mut committed) = (0, 0);
    for at in 0..14 {
        let scene = Scene::new();
        let agent = scene.agent(vec![Act::Run(name)], Vec::new()).commits(true).build().unwrap();
        let inner: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
        let mortal = Arc::new(Mortal::new(Arc::clone(&inner), at, Death::Lost));
        let Ok(mut session) = agent.start(mortal, "t", None).await else { continue };
        let id = session.id().clone();
        let _ = session.prompt("work", &Cancel::new()).await;
        drop(session);
        committed += usize::from(!scene.folder.kept.lock().unwrap().commits.is_empty());
        let mut session = agent.open(Arc::clone(&inner), &id).await.unwrap();
        let _ = session.resume(&Cancel::new()).await;
        let log = inner.load(&id).await.unwrap();
        let left = log.records.iter().find_map(|(_, record)| match record {
            Record::Note(note) if note.kind == "left" => serde_json::from_str::<Value>(&note.body).ok(),
            _ => None,
        });
        if let Some(left) = left {
            decided += 1;
            assert_eq!(left["unknown"], json!([name]), "killed at write {at}");
        }
    }
    assert!(decided > 5 && committed > 0, "{decided} {committed}");
}
