//! A session whose decisions are bound to commits of a repository that is a model.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use serde_json::json;
use trunkline_runtime::decision_objects::{Decision, Verdict};
use trunkline_runtime::message_tree::{Author, Role};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionId, SessionStore};
use trunkline_runtime::{Agent, Approval, Cancel, CloseAs, Event, RuntimeError, Session, Stop};

use crate::fake_folder::FakeFolder;
use crate::fake_git::{Act, Fault};
use crate::kills::{Death, Mortal};
use crate::story::World;

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
    pub(crate) folder: FakeFolder,
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
        let folder = FakeFolder::counting().binds();
        folder.git.lock().unwrap().head = "refs/heads/main";
        folder.git.lock().unwrap().disturb(Act::Commit);
        Scene {
            folder,
            store: Arc::default(),
            world: World::default(),
            session: None,
            names,
            told: Arc::default(),
        }
    }

    pub(crate) fn agent(&self, binds: bool) -> Agent {
        let agent = self.world.agent(model).approval(Approval::Always);
        let agent = agent.workspace(Arc::new(self.folder.clone())).commits(binds).binds(binds);
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
            self.folder.git.lock().unwrap().disturb(act);
        }
        self.folder.git.lock().unwrap().fault = life.git;
        self.folder.git.lock().unwrap().person = life.person;
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
        let git = self.folder.git.lock().unwrap();
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
