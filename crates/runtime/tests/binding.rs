//! Decisions that are bound to a repository, with kills at every write of the store and at every call of git.
//!
//! The repository is a model: commits, one branch, and for each run the decision that git holds. What a real one does is
//! tried in `tools`, `git-binding` and the command.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_runtime::decision_objects::{Decision, Digest, Verdict};
use trunkline_runtime::message_tree::{Author, Role, Timestamp};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{
    Agent, Approval, Base, Binding, BindingState, Bound, Cancel, ChangedFile, Changes, CloseAs, Deciding,
    FileChange, Prepared, RuntimeError, Session, Stop, Touched, Workspace, WorkspaceFault,
};

use crate::kills::{Death, Mortal};
use crate::story::World;

/// How a call of git goes wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Fault {
    Before,
    After,
    /// Killed between two refs.
    RefOnly,
    BranchOnly,
}

#[derive(Default)]
struct Git {
    /// By name: the parent, and the patch set; none in commits of a person.
    commits: BTreeMap<String, (Option<String>, Option<String>)>,
    branch: Option<String>,
    /// The decision of each run.
    refs: BTreeMap<String, String>,
    /// How many calls until one fails.
    fault: Option<(usize, Fault)>,
    calls: usize,
    /// Runs whose branch a person moved while only their ref was written.
    torn: Vec<String>,
}

impl Git {
    fn commit(&mut self, text: &str, parent: Option<String>, patch_set: Option<String>) -> String {
        let name = Digest::of(format!("{text} {parent:?}").as_bytes()).to_string()[..40].to_owned();
        self.commits.insert(name.clone(), (parent, patch_set));
        name
    }

    /// The branch, newest first.
    fn line(&self) -> Vec<String> {
        let next = |at: &String| self.commits.get(at).and_then(|(parent, _)| parent.clone());
        std::iter::successors(self.branch.clone(), next).collect()
    }

    fn state(&self, binding: &Binding) -> BindingState {
        let held = self.refs.get(&run_of(binding));
        if held.is_some_and(|held| *held != binding.decision) {
            return BindingState::OtherDecision { first: "another".to_owned() };
        }
        let Some(prepared) = &binding.prepared else {
            return if held.is_some() { BindingState::Both } else { BindingState::Neither };
        };
        let moved = self.line().contains(&prepared.commit);
        match (held.is_some(), moved, self.branch == prepared.from) {
            (true, true, _) => BindingState::Both,
            (false, true, _) => BindingState::BranchOnly,
            (true, false, true) => BindingState::RefOnly,
            (false, false, true) => BindingState::Neither,
            (true, false, false) => BindingState::BoundElsewhere { reference: "a ref".to_owned() },
            (false, false, false) => BindingState::Elsewhere,
        }
    }

    /// Counts a call, and says how it goes wrong.
    fn called(&mut self) -> Option<Fault> {
        self.calls += 1;
        match &mut self.fault {
            Some((0, fault)) => {
                let fault = *fault;
                self.fault = None;
                Some(fault)
            }
            Some((left, _)) => {
                *left -= 1;
                None
            }
            None => None,
        }
    }

    /// A person commits something of their own.
    fn disturb(&mut self) {
        let torn = |run: &String| !self.torn.contains(run);
        let half: Vec<String> =
            self.refs.iter().filter(|(_, text)| !self.holds(text)).map(|(run, _)| run.clone()).collect();
        let torn: Vec<String> = half.into_iter().filter(torn).collect();
        self.torn.extend(torn);
        let text = format!("by hand {}", self.commits.len());
        let made = self.commit(&text, self.branch.clone(), None);
        self.branch = Some(made);
    }

    /// Whether the commit of a decision is on the branch, if it names one.
    fn holds(&self, decision: &str) -> bool {
        match Decision::parse(decision.as_bytes()).unwrap().verdict() {
            Verdict::Commit { commit, .. } => self.line().contains(&commit.to_string()),
            _ => true,
        }
    }
}

fn run_of(binding: &Binding) -> String {
    let run: Value = serde_json::from_str(&binding.run).unwrap();
    run["id"].as_str().unwrap().to_owned()
}

#[derive(Clone, Default)]
struct Repository(Arc<Mutex<Git>>);

fn power() -> WorkspaceFault {
    WorkspaceFault { message: "the power went out".to_owned() }
}

#[async_trait]
impl Workspace for Repository {
    async fn base(&self) -> Result<Base, WorkspaceFault> {
        let commit = self.0.lock().unwrap().branch.clone();
        Ok(Base { commit, tree: Some("d".repeat(40)) })
    }

    async fn changes(&self, _: &Base, touched: &[Touched]) -> Result<Changes, WorkspaceFault> {
        let files = touched.iter().map(|file| ChangedFile {
            path: file.path.clone(),
            change: FileChange::Added,
            added: Some(1),
            deleted: Some(0),
        });
        Ok(Changes { files: files.collect(), diff: "+new\n".to_owned(), tree: Some("a".repeat(40)) })
    }

    async fn commit(&self, _: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        panic!("what is bound is only prepared")
    }

    async fn find_commit(&self, _: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        Ok(None) // no commit that is bound names its patch set
    }

    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        let mut git = self.0.lock().unwrap();
        let fault = git.called();
        if fault == Some(Fault::Before) {
            return Err(power());
        }
        let from = git.branch.clone();
        let text = format!("{} {} {:?}", deciding.patch_set, deciding.at, deciding.decision);
        let commit = git.commit(&text, from.clone(), Some(deciding.patch_set.clone()));
        let prepared = Prepared { commit, branch: Some("refs/heads/main".to_owned()), from };
        if fault.is_some() { Err(power()) } else { Ok(Some(prepared)) }
    }

    async fn bind(&self, binding: &Binding) -> Result<Bound, WorkspaceFault> {
        let mut git = self.0.lock().unwrap();
        let fault = git.called();
        if fault == Some(Fault::Before) {
            return Err(power());
        }
        let done = Ok(Bound::Done { reference: "a ref".to_owned() });
        match git.state(binding) {
            BindingState::OtherDecision { first } => return Ok(Bound::OtherDecision { first }),
            BindingState::Elsewhere => return Ok(Bound::Overtaken { why: "it was moved".to_owned() }),
            BindingState::BoundElsewhere { .. } => return done,
            _ => {}
        }
        if fault != Some(Fault::BranchOnly) {
            git.refs.insert(run_of(binding), binding.decision.clone());
        }
        if let (Some(prepared), true) = (&binding.prepared, fault != Some(Fault::RefOnly))
            && !git.line().contains(&prepared.commit)
        {
            git.branch = Some(prepared.commit.clone());
        }
        if fault.is_some() { Err(power()) } else { done }
    }

    async fn bound(&self, binding: &Binding) -> Result<BindingState, WorkspaceFault> {
        let mut git = self.0.lock().unwrap();
        match git.called() {
            None => Ok(git.state(binding)),
            Some(_) => Err(power()),
        }
    }
}

/// Edits a file when a person asks, and is done when that is done.
fn model(request: &Request) -> Turn {
    let messages = &request.messages;
    let asked = messages.iter().filter(|message| message.author == Author::Person).count();
    let since = messages.iter().rev().take_while(|message| message.author != Author::Person);
    match since.filter(|message| message.role == Role::Assistant).count() {
        0 => Turn::new().call(
            format!("c{asked}"),
            "edit",
            &json!({ "path": format!("f{asked}"), "text": "new" }),
        ),
        _ => Turn::say("done"),
    }
}

/// One life of a process.
#[derive(Clone, Debug)]
struct Life {
    /// At which write the store goes away, and whether that write is kept.
    store: Option<(usize, bool)>,
    /// At which call git fails, and how.
    git: Option<(usize, Fault)>,
    /// What happens before it.
    before: Before,
    binds: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A person commits something.
    Commit,
    /// This life begins with words.
    Words,
    /// This life begins with the end of the run, if one is open.
    Abandon,
}

struct Scene {
    repository: Repository,
    store: Arc<MemoryStore>,
    world: World,
    session: Option<SessionId>,
}

impl Scene {
    fn new() -> Self {
        let repository = Repository::default();
        repository.0.lock().unwrap().disturb();
        Scene { repository, store: Arc::default(), world: World::default(), session: None }
    }

    fn agent(&self, binds: bool) -> Agent {
        let agent = self.world.agent(model).approval(Approval::Always);
        let agent = agent.workspace(Arc::new(self.repository.clone())).commits(binds).binds(binds);
        agent.names_decisions(true).build().unwrap()
    }

    /// Lives one life; whatever goes wrong in it, the next one begins with what was kept.
    async fn live(&mut self, life: &Life) -> Result<Stop, RuntimeError> {
        if life.before == Before::Commit {
            self.repository.0.lock().unwrap().disturb();
        }
        self.repository.0.lock().unwrap().fault = life.git;
        let store: Arc<dyn SessionStore> = match life.store {
            Some((left, true)) => Arc::new(Mortal::new(self.store.clone(), left, Death::Kept)),
            Some((left, false)) => Arc::new(Mortal::new(self.store.clone(), left, Death::Lost)),
            None => self.store.clone(),
        };
        let agent = self.agent(life.binds);
        let mut session = match &self.session {
            Some(id) => agent.open(store, id).await?,
            None => {
                let session = agent.start(store, "t", None).await?;
                self.session = Some(session.id().clone());
                session
            }
        };
        match life.before {
            Before::Words => session.prompt("write more", &Cancel::new()).await,
            Before::Abandon if session.has_open_run() => {
                let how = CloseAs::Abandon { reason: "enough".to_owned() };
                session.close_run(how).await.map(|decision| Stop::Decided(Box::new(decision)))
            }
            _ if session.tree().len() == 1 => session.prompt("write a file", &Cancel::new()).await,
            _ => session.resume(&Cancel::new()).await,
        }
    }

    /// Lets undisturbed lives end what is open, and checks that git and the log agree.
    async fn end(&mut self) -> Session {
        self.repository.0.lock().unwrap().fault = None;
        let life = Life { store: None, git: None, before: Before::Nothing, binds: true };
        self.live(&life).await.unwrap();
        let id = self.session.clone().unwrap();
        let session = self.agent(true).open(self.store.clone(), &id).await.unwrap();
        assert!(!session.has_open_run(), "an undisturbed life ends the run");
        session
    }

    async fn check(&mut self) {
        let session = self.end().await;
        self.agree(&session);
        check_batches(&self.store, session.id()).await;
    }

    /// Git and the log hold the same.
    fn agree(&self, session: &Session) {
        let git = self.repository.0.lock().unwrap();
        let line = git.line();
        let mut patch_sets: Vec<&String> =
            line.iter().filter_map(|commit| git.commits[commit].1.as_ref()).collect();
        let made = patch_sets.len();
        patch_sets.sort();
        patch_sets.dedup();
        assert_eq!(patch_sets.len(), made, "one commit for each patch set: {line:?}");
        let mut named = 0;
        for decision in session.decisions().iter() {
            let run = decision.run().to_string();
            if let Some(held) = git.refs.get(&run) {
                assert_eq!(*held, decision.print(), "git and the log hold the same decision of run {run}");
            }
            if let Verdict::Commit { commit, .. } = decision.verdict() {
                assert!(git.refs.contains_key(&run), "what is committed is bound: {run}");
                let there = line.contains(&commit.to_string());
                assert!(there || git.torn.contains(&run), "the branch holds what run {run} committed");
                named += usize::from(there);
            }
        }
        assert_eq!(named, made, "every commit is that of a verdict");
        for run in git.refs.keys() {
            let known = session.decisions().iter().any(|decision| decision.run().to_string() == *run);
            assert!(known, "git holds no decision that the log does not have: {run}");
        }
    }
}

/// What was bound closes the run with the bytes that were recorded before.
async fn check_batches(store: &MemoryStore, id: &SessionId) {
    let log = store.load(id).await.unwrap();
    let notes: Vec<_> = log
        .records
        .iter()
        .filter_map(|(_, record)| match record {
            Record::Note(note) if note.layer == "decision" => Some(note),
            _ => None,
        })
        .collect();
    for decided in notes.iter().filter(|note| note.kind == "decided") {
        let decision = Decision::parse(decided.body.as_bytes()).unwrap();
        if matches!(decision.verdict(), Verdict::Commit { .. }) {
            let text = serde_json::to_string(&decided.body).unwrap();
            let prepared = notes.iter().any(|note| note.kind == "binding" && note.body.contains(&text));
            assert!(prepared, "what closes the run was recorded before git was asked");
        }
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}

fn faults() -> impl Strategy<Value = Fault> {
    prop_oneof![Just(Fault::Before), Just(Fault::After), Just(Fault::RefOnly), Just(Fault::BranchOnly)]
}

fn lives() -> impl Strategy<Value = Life> {
    let before = prop_oneof![
        4 => Just(Before::Nothing),
        1 => Just(Before::Commit),
        1 => Just(Before::Words),
        1 => Just(Before::Abandon),
    ];
    let store = prop::option::of((0..12_usize, any::<bool>()));
    let git = prop::option::of((0..4_usize, faults()));
    (store, git, before, prop::bool::weighted(0.9)).prop_map(|(store, git, before, binds)| Life {
        store,
        git,
        before,
        binds,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_killed_git_and_the_log_end_with_the_same_decisions(
        lives in prop::collection::vec(lives(), 1..7),
    ) {
        block_on(async {
            let mut scene = Scene::new();
            for life in &lives {
                // A life that is cut off says so; what counts is what the next one makes of it.
                let _ = scene.live(life).await;
            }
            scene.check().await;
        });
    }
}

/// Every write and every call of the plain story, one after the other, and then the same in the life that recovers.
#[test]
fn a_kill_at_every_write_and_at_every_call_of_git_leaves_one_commit_and_one_ref() {
    let faults = [Fault::Before, Fault::After, Fault::RefOnly, Fault::BranchOnly];
    let calm = Life { store: None, git: None, before: Before::Nothing, binds: true };
    let writes =
        (0..16).flat_map(|left| [true, false].map(|kept| Life { store: Some((left, kept)), ..calm.clone() }));
    let calls = (0..4).flat_map(|left| faults.map(|fault| Life { git: Some((left, fault)), ..calm.clone() }));
    let lives: Vec<Life> = writes.chain(calls).collect();
    let mut cut_off = 0;
    for first in &lives {
        for second in lives.iter().step_by(3).chain([&calm]) {
            block_on(async {
                let mut scene = Scene::new();
                cut_off += usize::from(scene.live(first).await.is_err());
                let _ = scene.live(second).await;
                scene.check().await;
                let git = scene.repository.0.lock().unwrap();
                assert_eq!((git.refs.len(), git.line().len()), (1, 2), "{first:?} {second:?}");
            });
        }
    }
    assert!(cut_off > lives.len() * 5, "the kills hit something: {cut_off}");
}

#[test]
fn a_run_that_git_holds_is_decided_whatever_was_said_since() {
    block_on(async {
        let mut scene = Scene::new();
        let calm = Life { store: None, git: None, before: Before::Nothing, binds: true };
        // The second call is the bind; nobody hears that it was done.
        let cut = Life { git: Some((1, Fault::After)), ..calm.clone() };
        assert!(matches!(scene.live(&cut).await, Err(RuntimeError::Workspace(_))));
        let stop = scene.live(&Life { before: Before::Words, ..calm }).await.unwrap();
        let Stop::Decided(second) = stop else { panic!("{stop:?}") };
        scene.check().await;
        let git = scene.repository.0.lock().unwrap();
        assert_eq!(git.refs.len(), 2, "the words began a run of their own");
        assert_eq!(git.refs[&second.run().to_string()], second.print());
    });
}

#[test]
fn what_is_decided_without_a_commit_is_bound_after_it_is_recorded() {
    block_on(async {
        let mut scene = Scene::new();
        let calm = Life { store: None, git: None, before: Before::Nothing, binds: true };
        let unborn = Life { git: Some((0, Fault::Before)), ..calm.clone() };
        scene.live(&unborn).await.unwrap_err();
        // Git fails in the life that abandons it, so the next one has to make it good.
        let abandon = Life { before: Before::Abandon, git: Some((0, Fault::Before)), ..calm };
        let Ok(Stop::Decided(decision)) = scene.live(&abandon).await else { panic!("no verdict") };
        assert!(matches!(decision.verdict(), Verdict::Abandon { .. }));
        assert!(scene.repository.0.lock().unwrap().refs.is_empty());
        scene.check().await;
        let git = scene.repository.0.lock().unwrap();
        assert_eq!(git.refs[&decision.run().to_string()], decision.print());
        assert_eq!(git.line().len(), 1, "nothing is committed for it");
    });
}

#[test]
fn nothing_is_bound_unless_it_is_asked_for() {
    block_on(async {
        let mut scene = Scene::new();
        let quiet = Life { store: None, git: None, before: Before::Nothing, binds: false };
        let Ok(Stop::Decided(_)) = scene.live(&quiet).await else { panic!("no verdict") };
        let again = scene.agent(true).open(scene.store.clone(), scene.session.as_ref().unwrap()).await;
        again.unwrap().resume(&Cancel::new()).await.unwrap();
        let git = scene.repository.0.lock().unwrap();
        assert_eq!((git.refs.len(), git.calls), (0, 0), "also not later, by somebody who binds");
    });
}

#[test]
fn without_its_folder_nothing_is_done_to_a_run_that_git_may_hold() {
    block_on(async {
        let mut scene = Scene::new();
        let cut = Life { store: None, git: Some((1, Fault::After)), before: Before::Nothing, binds: true };
        scene.live(&cut).await.unwrap_err();
        let id = scene.session.clone().unwrap();
        let blind = scene.world.agent(model).build().unwrap();
        let mut session = blind.open(scene.store.clone(), &id).await.unwrap();
        let fault = session.prompt("go on", &Cancel::new()).await.unwrap_err();
        assert!(matches!(&fault, RuntimeError::Workspace(fault) if fault.message.contains("its folder")));
        drop(session);
        scene.check().await;
        assert_eq!(scene.repository.0.lock().unwrap().refs.len(), 1);
    });
}

#[test]
fn what_a_log_from_elsewhere_was_about_to_bind_is_not_bound_here() {
    block_on(async {
        for fault in [Fault::Before, Fault::BranchOnly] {
            let mut scene = Scene::new();
            let calm = Life { store: None, git: None, before: Before::Nothing, binds: true };
            scene.live(&Life { git: Some((1, fault)), ..calm.clone() }).await.unwrap_err();
            let id = scene.session.clone().unwrap();
            let old = scene.store.load(&id).await.unwrap();
            let distrust = trunkline_runtime::distrust(Timestamp(1));
            scene.store.post(&id, &distrust.kind, &distrust.body, distrust.at).await.unwrap();
            let Ok(Stop::Decided(decision)) = scene.live(&calm).await else { panic!("no verdict") };
            let text = serde_json::to_string(&decision.print()).unwrap();
            let foreign = old.records.iter().any(|(_, record)| {
                matches!(record, Record::Note(note) if note.kind == "binding" && note.body.contains(&text))
            });
            assert!(!foreign, "{fault:?}: the end of the run was computed here");
            let git = scene.repository.0.lock().unwrap();
            assert_eq!(git.refs[&decision.run().to_string()], decision.print());
        }
    });
}
