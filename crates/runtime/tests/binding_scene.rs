//! A session whose decisions are bound, on a repository that is a model: commits, two branches with their reflogs, and for
//! each run the decision that git holds. What a real one does is tried in `tools`, `git-binding` and the command.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use trunkline_runtime::decision_objects::{Decision, Digest, Verdict};
use trunkline_runtime::message_tree::{Author, Role};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{
    Agent, Approval, Base, Binding, BindingState, Bound, Cancel, ChangedFile, Changes, CloseAs, Commits,
    Deciding, Event, FileChange, GitBinding, Prepared, RuntimeError, Session, Stop, Touched, Workspace,
    WorkspaceFault,
};

use crate::kills::{Death, Mortal};
use crate::story::World;

/// How a call of git goes wrong.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Before,
    After,
    /// Killed between two refs.
    BranchOnly,
}

/// What a person does with git.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Commit,
    /// Puts the branch back by one commit.
    Back,
    /// Moves the branch to something that was never there.
    Elsewhere,
    Amend,
    /// Checks out the other branch, or makes it.
    Switch,
    /// Deletes the branch, after the other one is checked out.
    Delete,
}

/// A commit: who made it is told by its run.
#[derive(Clone)]
pub(crate) struct Commit {
    pub(crate) parent: Option<String>,
    /// What it holds of a run; none in commits of a person that hold nothing of that kind.
    pub(crate) patch_set: Option<String>,
    /// The run that has made it.
    pub(crate) run: Option<String>,
}

#[derive(Default)]
pub(crate) struct Git {
    pub(crate) commits: BTreeMap<String, Commit>,
    pub(crate) branches: BTreeMap<&'static str, String>,
    pub(crate) head: &'static str,
    /// What bindings have moved a branch to, as its reflog knows it.
    pub(crate) moved: BTreeMap<&'static str, Vec<String>>,
    /// The decision of each run.
    pub(crate) refs: BTreeMap<String, String>,
    /// How many calls until one fails.
    pub(crate) fault: Option<(usize, Fault)>,
    /// How many calls until a person does something.
    pub(crate) person: Option<(usize, Act)>,
    pub(crate) calls: usize,
    /// From which call on, counted from when it is set, every one fails.
    pub(crate) broken: Option<usize>,
    /// Whether nothing that was prepared fits, for a reason that stays.
    pub(crate) unfit: bool,
    /// Whether somebody commits before everything that binds.
    pub(crate) racing: bool,
    /// The commits of runs that a person has taken off a branch, and off one that they have deleted.
    pub(crate) taken: BTreeSet<String>,
    /// Likewise, with the branch, as long as that is there.
    pub(crate) off: BTreeSet<(&'static str, String)>,
}

impl Git {
    pub(crate) fn commit(&mut self, text: &str, commit: Commit) -> String {
        let name = Digest::of(format!("{text} {:?}", commit.parent).as_bytes()).to_string()[..40].to_owned();
        self.commits.insert(name.clone(), commit);
        name
    }

    pub(crate) fn tip(&self) -> Option<String> {
        self.branches.get(self.head).cloned()
    }

    pub(crate) fn line_from(&self, at: Option<&String>) -> Vec<String> {
        let next = |at: &String| self.commits.get(at).and_then(|commit| commit.parent.clone());
        std::iter::successors(at.cloned(), next).collect()
    }

    /// The branch, newest first.
    pub(crate) fn line(&self) -> Vec<String> {
        self.line_from(self.branches.get(self.head))
    }

    /// The commits that runs have made and that a branch holds.
    pub(crate) fn made(&self) -> BTreeSet<String> {
        let all = self.branches.values().flat_map(|at| self.line_from(Some(at)));
        all.filter(|commit| self.commits[commit].run.is_some()).collect()
    }

    pub(crate) fn state(&self, binding: &Binding) -> BindingState {
        let held = self.refs.get(&run_of(binding));
        if held.is_some_and(|held| *held != binding.decision) {
            return BindingState::OtherDecision { first: "another".to_owned() };
        }
        let Some(prepared) = &binding.prepared else {
            return if held.is_some() { BindingState::Both } else { BindingState::Neither };
        };
        let branch = prepared.branch.as_deref().unwrap();
        let at = self.branches.get(branch);
        let back = self.line_from(prepared.from.as_ref()).contains(&prepared.commit);
        let moved = at == Some(&prepared.commit) || !back && self.line_from(at).contains(&prepared.commit);
        let was_moved = self.moved.get(branch).is_some_and(|moved| moved.contains(&prepared.commit));
        match (held.is_some(), moved, at == prepared.from.as_ref()) {
            (true, true, _) => BindingState::Both,
            (false, true, _) => BindingState::BranchOnly,
            (true, false, true) => BindingState::RefOnly,
            (true, false, false) => BindingState::BoundElsewhere { reference: "a ref".to_owned() },
            (false, false, _) if at.is_some() && was_moved => {
                BindingState::TakenBack { why: format!("{} was taken off", prepared.commit) }
            }
            (false, false, true) if self.head == branch => BindingState::Neither,
            (false, false, _) => BindingState::Elsewhere,
        }
    }

    /// Counts a call, lets a person do something before it, and says how it goes wrong.
    pub(crate) fn called(&mut self) -> Option<Fault> {
        self.calls += 1;
        if let Some(act) = due(&mut self.person) {
            self.disturb(act);
        }
        match &mut self.broken {
            Some(0) => return Some(Fault::Before),
            Some(left) => *left -= 1,
            None => {}
        }
        due(&mut self.fault)
    }

    /// A person does something.
    pub(crate) fn disturb(&mut self, act: Act) {
        let (branch, before) = (self.head, self.line());
        let text = format!("by hand {}", self.commits.len());
        let of = |parent: Option<String>| Commit { parent, patch_set: None, run: None };
        let parent = before.get(1).cloned();
        let root = before.last().cloned();
        let other = if branch == "refs/heads/main" { "refs/heads/other" } else { "refs/heads/main" };
        match act {
            Act::Commit => {
                let made = self.commit(&text, of(before.first().cloned()));
                self.branches.insert(branch, made);
            }
            Act::Back => drop(parent.map(|parent| self.branches.insert(branch, parent))),
            Act::Elsewhere => {
                let made = self.commit(&text, of(root));
                self.branches.insert(branch, made);
            }
            Act::Amend => {
                let patch_set = before.first().and_then(|tip| self.commits[tip].patch_set.clone());
                let made = self.commit(&text, Commit { parent, patch_set, run: None });
                self.branches.insert(branch, made);
            }
            Act::Switch => {
                self.branches.entry(other).or_insert_with(|| before[0].clone());
                self.head = other;
            }
            Act::Delete => {
                self.branches.entry(other).or_insert_with(|| root.unwrap());
                self.head = other;
                self.branches.remove(branch);
                self.moved.remove(branch);
            }
        }
        let after = self.line_from(self.branches.get(branch));
        let gone = before.into_iter().filter(|commit| !after.contains(commit));
        let ours = gone.filter(|commit| self.commits[commit].run.is_some());
        let ours: Vec<String> = ours.collect();
        match act {
            Act::Delete => self.off.retain(|(name, _)| *name != branch),
            _ => self.off.extend(ours.iter().map(|commit| (branch, commit.clone()))),
        }
        self.taken.extend(ours);
    }
}

/// Counts down to something that happens once.
pub(crate) fn due<T: Copy>(planned: &mut Option<(usize, T)>) -> Option<T> {
    match planned {
        Some((0, _)) => planned.take().map(|(_, what)| what),
        Some((left, _)) => {
            *left -= 1;
            None
        }
        None => None,
    }
}

pub(crate) fn run_of(binding: &Binding) -> String {
    let run: Value = serde_json::from_str(&binding.run).unwrap();
    run["id"].as_str().unwrap().to_owned()
}

#[derive(Clone, Default)]
pub(crate) struct Repository(pub(crate) Arc<Mutex<Git>>);

pub(crate) fn power() -> WorkspaceFault {
    WorkspaceFault { message: "the power went out".to_owned() }
}

#[async_trait]
impl Workspace for Repository {
    async fn base(&self) -> Result<Base, WorkspaceFault> {
        let commit = self.0.lock().unwrap().tip();
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

    fn as_commits(&self) -> Option<&dyn Commits> {
        Some(self)
    }

    fn as_git_binding(&self) -> Option<&dyn GitBinding> {
        Some(self)
    }
}

#[async_trait]
impl Commits for Repository {
    async fn commit(&self, _: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        panic!("what is bound is only prepared")
    }

    async fn find_commit(&self, _: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        Ok(None) // no commit that is bound names its patch set
    }
}

#[async_trait]
impl GitBinding for Repository {
    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        let mut git = self.0.lock().unwrap();
        let fault = git.called();
        if fault == Some(Fault::Before) {
            return Err(power());
        }
        let from = git.tip();
        let branch = Some(git.head.to_owned());
        // What stands there already is not made again.
        let holds = |commit: &String| git.commits[commit].patch_set.as_ref() == Some(&deciding.patch_set);
        let stands = git.line().iter().any(holds);
        let commit = match (&from, stands) {
            (Some(from), true) => from.clone(),
            _ => {
                let text = format!("{} {} {:?}", deciding.patch_set, deciding.at, deciding.decision);
                let (patch_set, run) = (Some(deciding.patch_set.clone()), Some(deciding.run.clone()));
                git.commit(&text, Commit { parent: from.clone(), patch_set, run })
            }
        };
        let prepared = Prepared { commit, branch, from };
        if fault.is_some() { Err(power()) } else { Ok(Some(prepared)) }
    }

    async fn bind(&self, binding: &Binding) -> Result<Bound, WorkspaceFault> {
        let mut git = self.0.lock().unwrap();
        let fault = git.called();
        if fault == Some(Fault::Before) {
            return Err(power());
        }
        if git.racing {
            git.disturb(Act::Commit);
        }
        if git.unfit {
            return Ok(Bound::Overtaken { why: "it cannot be read".to_owned() });
        }
        let done = Ok(Bound::Done { reference: "a ref".to_owned() });
        let moves = match git.state(binding) {
            BindingState::OtherDecision { first } => return Ok(Bound::OtherDecision { first }),
            BindingState::Elsewhere => return Ok(Bound::Overtaken { why: "it was moved".to_owned() }),
            BindingState::TakenBack { why } => return Ok(Bound::TakenBack { why }),
            // A person has put it back.
            BindingState::BoundElsewhere { .. } | BindingState::RefOnly => return done,
            BindingState::Both | BindingState::BranchOnly => None,
            _ => binding.prepared.as_ref(),
        };
        if let Some(prepared) = moves {
            let branch = git.head;
            let was_off = git.off.contains(&(branch, prepared.commit.clone()));
            assert!(!was_off, "a person took {} off {branch}", prepared.commit);
            git.branches.insert(branch, prepared.commit.clone());
            git.moved.entry(branch).or_default().push(prepared.commit.clone());
        }
        if fault != Some(Fault::BranchOnly) {
            git.refs.insert(run_of(binding), binding.decision.clone());
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
pub(crate) fn model(request: &Request) -> Turn {
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

/// A life in which nothing goes wrong.
pub(crate) const CALM: Life =
    Life { store: None, git: None, person: None, before: Before::Nothing, binds: true };

/// One life of a process.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    /// At which write the store goes away, and whether that write is kept.
    pub(crate) store: Option<(usize, bool)>,
    /// At which call git fails, and how.
    pub(crate) git: Option<(usize, Fault)>,
    /// At which call of git a person does something right before it.
    pub(crate) person: Option<(usize, Act)>,
    /// What happens before it.
    pub(crate) before: Before,
    pub(crate) binds: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Before {
    Nothing,
    /// A person does something.
    Person(Act),
    /// This life begins with words.
    Words,
    /// This life begins with the end of the run, if one is open.
    Abandon,
}

pub(crate) struct Scene {
    pub(crate) repository: Repository,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) world: World,
    pub(crate) session: Option<SessionId>,
    /// Whether commits name their decisions.
    pub(crate) names: bool,
    /// What was told of decisions that are not bound.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
}

impl Scene {
    pub(crate) fn new(names: bool) -> Self {
        let repository = Repository::default();
        repository.0.lock().unwrap().head = "refs/heads/main";
        repository.0.lock().unwrap().disturb(Act::Commit);
        Scene {
            repository,
            store: Arc::default(),
            world: World::default(),
            session: None,
            names,
            told: Arc::default(),
        }
    }

    pub(crate) fn agent(&self, binds: bool) -> Agent {
        let agent = self.world.agent(model).approval(Approval::Always);
        let agent = agent.workspace(Arc::new(self.repository.clone())).commits(binds).binds(binds);
        let told = self.told.clone();
        let agent = agent.names_decisions(self.names).on_event(move |event| {
            if let Event::NotBound { run, why } = event {
                told.lock().unwrap().push(format!("{run}: {why}"));
            }
        });
        agent.build().unwrap()
    }

    /// Lives one life; whatever goes wrong in it, the next one begins with what was kept.
    pub(crate) async fn live(&mut self, life: &Life) -> Result<Stop, RuntimeError> {
        if let Before::Person(act) = life.before {
            self.repository.0.lock().unwrap().disturb(act);
        }
        self.repository.0.lock().unwrap().fault = life.git;
        self.repository.0.lock().unwrap().person = life.person;
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
            Before::Abandon if session.open_run().is_some() => {
                let how = CloseAs::Abandon { reason: "enough".to_owned() };
                session.close_run(how).await.map(|decision| Stop::Decided(Box::new(decision)))
            }
            _ if session.tree().len() == 1 => session.prompt("write a file", &Cancel::new()).await,
            _ => session.resume(&Cancel::new()).await,
        }
    }

    /// Lets undisturbed lives end what is open, and checks that git and the log agree.
    pub(crate) async fn end(&mut self) -> Session {
        self.live(&CALM).await.unwrap();
        let id = self.session.clone().unwrap();
        let session = self.agent(true).open(self.store.clone(), &id).await.unwrap();
        assert!(session.open_run().is_none(), "an undisturbed life ends the run");
        session
    }

    pub(crate) async fn check(&mut self) {
        let session = self.end().await;
        self.agree(&session);
        check_batches(&self.store, session.id()).await;
    }

    /// Git and the log hold the same.
    pub(crate) fn agree(&self, session: &Session) {
        let git = self.repository.0.lock().unwrap();
        let made = git.made();
        let mut named = BTreeSet::new();
        for decision in session.decisions().iter() {
            let run = decision.run().to_string();
            if let Some(held) = git.refs.get(&run) {
                assert_eq!(*held, decision.print(), "git and the log hold the same decision of run {run}");
            }
            match decision.verdict() {
                Verdict::Commit { commit, .. } => {
                    let commit = commit.to_string();
                    assert!(git.refs.contains_key(&run), "what is committed is bound: {run}");
                    let by_run = git.commits[&commit].run.is_some();
                    let there = made.contains(&commit) || git.taken.contains(&commit);
                    assert!(there || !by_run, "a branch holds what run {run} committed, or did so");
                    named.insert(commit);
                }
                Verdict::Other { label, reason, .. } if label.as_str() == "taken_back" => {
                    let is_said = |commit: &&String| reason.as_str().contains(commit.as_str());
                    assert!(git.taken.iter().any(|commit| is_said(&commit)), "somebody has: {reason}");
                }
                _ => {}
            }
        }
        let left: Vec<&String> = made.difference(&git.taken).collect();
        for commit in &left {
            let run = git.commits[*commit].run.as_ref();
            let of_run = left.iter().filter(|other| git.commits[**other].run.as_ref() == run);
            assert_eq!(of_run.count(), 1, "one commit of a run that nobody took off: {run:?}");
            assert!(named.contains(*commit), "every commit is that of a verdict: {commit}");
        }
        for run in git.refs.keys() {
            let known = session.decisions().iter().filter(|decision| decision.run().to_string() == *run);
            assert_eq!(known.count(), 1, "git holds no decision that the log does not have: {run}");
        }
    }

    pub(crate) async fn open_run(&self) -> String {
        let id = self.session.clone().unwrap();
        let session = self.agent(true).open(self.store.clone(), &id).await.unwrap();
        session.open_run().unwrap().to_string()
    }

    pub(crate) async fn last(&self) -> Decision {
        let id = self.session.clone().unwrap();
        let session = self.agent(true).open(self.store.clone(), &id).await.unwrap();
        session.decisions().iter().last().cloned().unwrap()
    }

    pub(crate) async fn records(&self) -> usize {
        match &self.session {
            Some(id) => self.store.load(id).await.unwrap().records.len(),
            None => 0,
        }
    }
}

/// What was bound closes the run with the bytes that were recorded before.
pub(crate) async fn check_batches(store: &MemoryStore, id: &SessionId) {
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

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(future)
}
