//! A run that is killed at every write, and taken up again.
//!
//! A kill is played by a store that stops answering: everything in memory is dropped, what was acknowledged stays. Each
//! kind is tried: the batch is lost with its writer, the batch is kept although nobody heard so, and the writer lives on
//! but was fenced out.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use tokio::sync::Notify;
use trunkline_runtime::message_tree::{Message, NodeId, Role, Timestamp};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::session_store::{
    Activity, Amend, Batch, Claim, Collected, Digest, FoundNote, Holder, ImportError, InboxId, Kept, Lease,
    Letter, LetterState, MemoryStore, NoteQuery, Outline, Receipt, Record, Restoring, SessionId, SessionInfo,
    SessionStore, StoreError,
};
use trunkline_runtime::{Approval, Cancel, RuntimeError, Stop};

use crate::story::World;

/// How a life ends at a write.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Death {
    /// The batch is lost with its writer.
    Lost,
    /// The batch is kept although nobody heard so.
    Kept,
    /// Another process takes the session over right before it.
    Fenced,
    /// The batch is kept and nobody ever hears so: whoever waits has to be dropped. The store lives on.
    Silent,
    /// The batch is lost, and the next one is kept again.
    Once,
    /// The batch is kept although nobody heard so, and the store lives on.
    Unheard,
}

/// Told of everything that is written, right before it is.
pub(crate) trait Witness: Send + Sync {
    fn batch(&self, batch: &Batch);
    fn letter(&self, id: InboxId, kind: &str, body: &str);
}

/// A store that dies at its n-th append.
pub(crate) struct Mortal {
    inner: Arc<dyn SessionStore>,
    left: AtomicUsize,
    death: Death,
    silent: Notify,
    /// Whether a writer that was not heard of for a while is taken for dead.
    lapses: bool,
    witness: Option<Arc<dyn Witness>>,
}

impl Mortal {
    pub(crate) fn new(inner: Arc<dyn SessionStore>, left: usize, death: Death) -> Self {
        Mortal {
            inner,
            left: AtomicUsize::new(left),
            death,
            silent: Notify::new(),
            lapses: false,
            witness: None,
        }
    }

    /// Returns one that never dies, and in which the time of every writer is over as soon as somebody else wants to write.
    pub(crate) fn lapsing(inner: Arc<dyn SessionStore>) -> Self {
        Mortal { lapses: true, ..Mortal::new(inner, usize::MAX, Death::Lost) }
    }

    /// Returns one that never dies, with somebody who is told what is written.
    pub(crate) fn witnessed(inner: Arc<dyn SessionStore>, witness: Arc<dyn Witness>) -> Self {
        Mortal { witness: Some(witness), ..Mortal::new(inner, usize::MAX, Death::Lost) }
    }

    /// Waits until it has fallen silent.
    pub(crate) async fn silent(&self) {
        self.silent.notified().await;
    }

    /// Lets it die at its next append.
    pub(crate) fn die(&self) {
        self.left.store(0, Ordering::SeqCst);
    }
}

#[async_trait]
impl SessionStore for Mortal {
    async fn append(&self, lease: &Lease, batch: Batch) -> Result<Receipt, StoreError> {
        if let Some(witness) = &self.witness {
            witness.batch(&batch);
        }
        let left = self.left.load(Ordering::SeqCst);
        if left == 0 {
            match self.death {
                Death::Lost => {}
                Death::Once => self.left.store(usize::MAX, Ordering::SeqCst),
                Death::Unheard => {
                    self.left.store(usize::MAX, Ordering::SeqCst);
                    self.inner.append(lease, batch).await?;
                }
                Death::Kept => drop(self.inner.append(lease, batch).await?),
                Death::Fenced => {
                    self.inner.claim(lease.session(), Claim::TakeOver).await?;
                    return self.inner.append(lease, batch).await;
                }
                Death::Silent => {
                    self.left.store(usize::MAX, Ordering::SeqCst);
                    self.inner.append(lease, batch).await?;
                    self.silent.notify_one();
                    std::future::pending::<()>().await;
                }
            }
            return Err(StoreError::UnknownSession { session: lease.session().clone() });
        }
        self.left.store(left - 1, Ordering::SeqCst);
        self.inner.append(lease, batch).await
    }
    async fn restore(&self, restoring: Restoring<'_>) -> Result<SessionInfo, ImportError> {
        self.inner.restore(restoring).await
    }
    fn free_means_gone(&self) -> bool {
        !self.lapses && self.inner.free_means_gone()
    }
    async fn claim(&self, session: &SessionId, claim: Claim) -> Result<Lease, StoreError> {
        self.inner.claim(session, if self.lapses { Claim::TakeOver } else { claim }).await
    }
    async fn holder(&self, session: &SessionId) -> Result<Option<Holder>, StoreError> {
        self.inner.holder(session).await
    }
    async fn read(&self, session: &SessionId, after: u64, limit: usize) -> Result<Vec<Kept>, StoreError> {
        self.inner.read(session, after, limit).await
    }
    async fn outline(&self, session: &SessionId) -> Result<Outline, StoreError> {
        self.inner.outline(session).await
    }
    async fn messages(&self, session: &SessionId, nodes: &[NodeId]) -> Result<Vec<Message>, StoreError> {
        self.inner.messages(session, nodes).await
    }
    async fn blob(&self, session: &SessionId, digest: &Digest) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.blob(session, digest).await
    }
    async fn info(&self, session: &SessionId) -> Result<SessionInfo, StoreError> {
        self.inner.info(session).await
    }
    async fn sessions(&self) -> Result<Vec<SessionInfo>, StoreError> {
        self.inner.sessions().await
    }
    async fn amend(&self, session: &SessionId, amend: Amend) -> Result<(), StoreError> {
        self.inner.amend(session, amend).await
    }
    async fn delete(&self, session: &SessionId) -> Result<(), StoreError> {
        self.inner.delete(session).await
    }
    async fn delete_idle(&self, seen: &SessionInfo) -> Result<(), StoreError> {
        self.inner.delete_idle(seen).await
    }
    async fn post(
        &self,
        id: &SessionId,
        kind: &str,
        body: &str,
        at: Timestamp,
    ) -> Result<InboxId, StoreError> {
        let letter = self.inner.post(id, kind, body, at).await?;
        if let Some(witness) = &self.witness {
            witness.letter(letter, kind, body);
        }
        Ok(letter)
    }
    async fn inbox(&self, session: &SessionId) -> Result<Vec<Letter>, StoreError> {
        self.inner.inbox(session).await
    }
    async fn letter(&self, session: &SessionId, letter: InboxId) -> Result<LetterState, StoreError> {
        self.inner.letter(session, letter).await
    }
    async fn notes(&self, query: &NoteQuery) -> Result<Vec<FoundNote>, StoreError> {
        self.inner.notes(query).await
    }
    async fn changed(&self, session: &SessionId, seen: Activity) -> Result<Activity, StoreError> {
        self.inner.changed(session, seen).await
    }
    async fn collect(&self, dry_run: bool) -> Result<Collected, StoreError> {
        self.inner.collect(dry_run).await
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
async fn survive(inner: &Arc<dyn SessionStore>, deaths: &[usize], death: Death) -> (World, SessionId, usize) {
    let world = World::default();
    let agent = world.agent(model).approval(Approval::Model).with_revert().build().unwrap();
    let mut session_id = None;
    let mut killed = 0;
    let mut deaths = deaths.iter().copied();
    for _ in 0..200 {
        let life = deaths.next();
        let store: Arc<dyn SessionStore> =
            Arc::new(Mortal::new(Arc::clone(inner), life.unwrap_or(usize::MAX), death));
        let opened = match &session_id {
            None => agent.start(store, "t", None).await,
            Some(id) => agent.open(store, id).await,
        };
        let Ok(mut session) = opened else {
            // Taking a session up writes too, where an apply was cut off.
            killed += 1;
            continue;
        };
        session_id = Some(session.id().clone());
        let begun = session.tree().len() > 1;
        let cancel = Cancel::new();
        let stop = if begun { session.resume(&cancel).await } else { session.prompt("fix a", &cancel).await };
        match stop {
            Ok(Stop::Decided(_)) => return (world, session.id().clone(), killed),
            // The last write of a life may have been the decision itself.
            Ok(Stop::Idle) if session.open_run().is_none() => return (world, session.id().clone(), killed),
            Ok(other) => panic!("the run stopped with {other:?}"),
            Err(fault) => {
                let taken_over = matches!(fault, RuntimeError::TakenOver { .. });
                assert_eq!(taken_over, death == Death::Fenced, "{fault:?}");
                killed += 1;
            }
        }
    }
    panic!("the run never ended");
}

async fn check(deaths: &[usize], death: Death) -> usize {
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::new());
    check_in(&store, deaths, death).await
}

async fn check_in(store: &Arc<dyn SessionStore>, deaths: &[usize], death: Death) -> usize {
    let (world, id, killed) = survive(store, deaths, death).await;
    store.verify(&id).await.unwrap();
    let log = store.load(&id).await.unwrap();
    let violations = trunkline_runtime::family_of(&log).violations();
    assert!(violations.is_empty(), "{deaths:?} {death:?}: {violations:#?}");
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
    assert_eq!(applied, once, "no proposal is applied twice: {deaths:?} {death:?}");
    assert_eq!(decided, 1, "one verdict: {deaths:?} {death:?}");
    let wrote = world.effects().iter().filter(|effect| *effect == "wrote a").count();
    let proposals = applied.len();
    assert_eq!(wrote, proposals, "every apply happened once: {deaths:?} {death:?}");
    // A command whose process died is not run again by itself; the model is told that nobody knows.
    let ran = world.effects().iter().filter(|effect| *effect == "ran test").count();
    assert!(ran <= 1, "{deaths:?} {death:?}");
    killed
}

#[tokio::test]
async fn a_run_survives_a_kill_at_every_write() {
    for kind in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut tried = 0;
        for death in 0.. {
            if check(&[death], kind).await == 0 {
                break;
            }
            tried += 1;
        }
        assert!(tried > 20, "the story has more than twenty writes, {tried} were tried");
    }
}

#[tokio::test]
async fn a_run_survives_kill_after_kill() {
    for kind in [Death::Lost, Death::Kept, Death::Fenced] {
        for first in (0..24).step_by(3) {
            for second in 0..4 {
                check(&[first, second, 1, second], kind).await;
            }
        }
    }
}

#[tokio::test]
async fn a_run_on_disk_survives_a_kill_at_every_write() {
    use trunkline_runtime::session_store::SqliteStore;
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn SessionStore> =
        Arc::new(SqliteStore::open(folder.path().join("sessions.db")).await.unwrap());
    for kind in [Death::Lost, Death::Kept, Death::Fenced] {
        let mut death = 0;
        while check_in(&store, &[death], kind).await > 0 {
            death += 1;
        }
        assert!(death > 20, "the story has more than twenty writes, {death} were tried");
    }
}
