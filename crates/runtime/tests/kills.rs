//! A run that is killed at every write, and taken up again.
//!
//! A kill is played by a store that stops answering: everything in memory is dropped, what was acknowledged stays. Both
//! kinds are tried: the batch is lost with its writer, and the batch is kept although nobody heard so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use trunkline_runtime::message_tree::{Role, Timestamp};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::session_store::{
    Batch, InboxId, Letter, Log, MemoryStore, NewSession, Receipt, Record, SessionId, SessionInfo,
    SessionStore, StoreError, WriterLock,
};
use trunkline_runtime::{Approval, Cancel, Stop};

use crate::story::World;

/// A store that dies at its n-th append.
pub(crate) struct Mortal {
    inner: Arc<MemoryStore>,
    left: AtomicUsize,
    /// Whether the batch at which it dies is kept.
    keeps: bool,
}

impl Mortal {
    pub(crate) fn new(inner: &Arc<MemoryStore>, left: usize, keeps: bool) -> Self {
        Mortal { inner: Arc::clone(inner), left: AtomicUsize::new(left), keeps }
    }
}

#[async_trait]
impl SessionStore for Mortal {
    async fn append(&self, lock: &WriterLock, batch: Batch) -> Result<Receipt, StoreError> {
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            if self.keeps {
                self.inner.append(lock, batch).await?;
            }
            return Err(StoreError::UnknownSession { session: lock.session().clone() });
        }
        self.left.store(left - 1, Ordering::SeqCst);
        self.inner.append(lock, batch).await
    }
    async fn create(&self, new: NewSession) -> Result<(), StoreError> {
        self.inner.create(new).await
    }
    async fn restore(&self, log: Log) -> Result<(), StoreError> {
        self.inner.restore(log).await
    }
    async fn lock(&self, session: &SessionId) -> Result<WriterLock, StoreError> {
        self.inner.lock(session).await
    }
    async fn is_locked(&self, session: &SessionId) -> Result<bool, StoreError> {
        self.inner.is_locked(session).await
    }
    async fn load(&self, session: &SessionId) -> Result<Log, StoreError> {
        self.inner.load(session).await
    }
    async fn load_after(&self, session: &SessionId, seq: u64) -> Result<Vec<(u64, Record)>, StoreError> {
        self.inner.load_after(session, seq).await
    }
    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.inner.info(session).await
    }
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.inner.sessions().await
    }
    async fn set_title(&self, session: &SessionId, title: &str) -> Result<(), StoreError> {
        self.inner.set_title(session, title).await
    }
    async fn post(
        &self,
        id: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        self.inner.post(id, kind, body, at).await
    }
    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.inner.inbox(session).await
    }
}

/// A model that tells where it is from what it is sent alone, as a real one does.
fn model(request: &Request) -> Turn {
    let said: String = request
        .messages
        .iter()
        .filter(|message| message.role != Role::Assistant)
        .map(|message| trunkline_runtime::message_tree::notation::print(std::slice::from_ref(message)))
        .collect();
    let has = |text: &str| said.contains(text);
    let step = request.messages.iter().filter(|message| message.role == Role::Assistant).count();
    let id = format!("c{step}");
    if !has("[revert-lesson]") {
        return match step {
            0 => Turn::say("I look and try").call(&id, "read", &json!({ "path": "a" })).call(
                "b0",
                "edit",
                &json!({ "path": "a", "text": "wrong" }),
            ),
            1 => Turn::new().call(&id, "resolve", &json!({ "action": "apply", "reason": "try" })),
            2 => Turn::new().call(&id, "shell", &json!({ "path": "test" })),
            _ => Turn::new().call(
                &id,
                "revert_to_state",
                &json!({ "category": "failure", "step": "n1", "summary": "wrong does not work" }),
            ),
        };
    }
    match step {
        0 => Turn::new().call(&id, "edit", &json!({ "path": "a", "text": "right" })),
        1 => Turn::new().call(&id, "resolve", &json!({ "action": "apply", "reason": "now" })),
        _ => Turn::say("done"),
    }
}

/// Runs the story and kills it at the n-th write of each process in turn, until it ends.
async fn survive(deaths: &[usize], keeps: bool) -> (World, Arc<MemoryStore>, SessionId, usize) {
    let world = World::default();
    let inner = Arc::new(MemoryStore::new());
    let agent = world.agent(model).approval(Approval::Model).with_revert().build().unwrap();
    let mut session_id = None;
    let mut killed = 0;
    let mut deaths = deaths.iter().copied();
    for _ in 0..200 {
        let life = deaths.next();
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(&inner, life.unwrap_or(usize::MAX), keeps));
        let opened = match &session_id {
            None => agent.start(store, "t", None).await,
            Some(id) => agent.open(store, id).await,
        };
        let Ok(mut session) = opened else {
            killed += 1;
            continue;
        };
        session_id = Some(session.id().clone());
        let begun = session.tree().len() > 1;
        let cancel = Cancel::new();
        let stop = if begun { session.resume(&cancel).await } else { session.prompt("fix a", &cancel).await };
        match stop {
            Ok(Stop::Decided(_)) => return (world, inner, session.id().clone(), killed),
            // The last write of a life may have been the decision itself.
            Ok(Stop::Idle) if !session.has_open_run() => return (world, inner, session.id().clone(), killed),
            Ok(other) => panic!("the run stopped with {other:?}"),
            Err(_) => killed += 1,
        }
    }
    panic!("the run never ended");
}

async fn check(deaths: &[usize], keeps: bool) -> usize {
    let (world, store, id, killed) = survive(deaths, keeps).await;
    let log = store.load(&id).await.unwrap();
    let tree = trunkline_runtime::message_tree::MessageTree::replay(log.entries().cloned()).unwrap();
    let told = trunkline_runtime::message_tree::notation::print_tree(&tree);
    assert_eq!(world.files.lock().unwrap()["a"], "right", "{deaths:?}\n{told}");
    // An apply whose process died is looked up in the files, never simply repeated.
    let mut applied = Vec::new();
    let mut decided = 0;
    for (_, record) in &log.records {
        let Record::Note(note) = record else { continue };
        if note.kind == "decided" {
            decided += 1;
        }
        if note.layer == "resolve" {
            let event: serde_json::Value = serde_json::from_str(&note.body).unwrap();
            let finished = event.pointer("/change/finished/outcome") == Some(&json!("applied"));
            let recovered = event.pointer("/change/recovered/observation") == Some(&json!("after"));
            if finished || recovered {
                applied.push(event["proposal"].as_str().unwrap().to_owned());
            }
        }
    }
    let mut once = applied.clone();
    once.dedup();
    assert_eq!(applied, once, "no proposal is applied twice: {deaths:?} {keeps}");
    assert_eq!(decided, 1, "one verdict: {deaths:?} {keeps}");
    let wrote = world.effects().iter().filter(|effect| *effect == "wrote a").count();
    let proposals = applied.len();
    assert_eq!(wrote, proposals, "every apply happened once: {deaths:?} {keeps}");
    // A command whose process died is not run again by itself; the model is told that nobody knows.
    let ran = world.effects().iter().filter(|effect| *effect == "ran test").count();
    assert!(ran <= 1, "{deaths:?} {keeps}");
    killed
}

#[tokio::test]
async fn a_run_survives_a_kill_at_every_write() {
    for keeps in [false, true] {
        let mut tried = 0;
        for death in 0.. {
            if check(&[death], keeps).await == 0 {
                break;
            }
            tried += 1;
        }
        assert!(tried > 20, "the story has more than twenty writes, {tried} were tried");
    }
}

#[tokio::test]
async fn a_run_survives_kill_after_kill() {
    for keeps in [false, true] {
        for first in (0..24).step_by(3) {
            for second in 0..4 {
                check(&[first, second, 1, second], keeps).await;
            }
        }
    }
}
