//! One rollback and several processes that want the session: at the end the record says how the files are.
//!
//! A process is a task that asks, and another one that writes the files, as the threads of a workspace do: it goes on when
//! the first one is dropped, or does not get around to looking. Nothing is waited for in real time.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use trunkline_runtime::decision_objects::Verdict;
use trunkline_runtime::message_tree::Timestamp;
use trunkline_runtime::session_store::{MemoryStore, SessionId, SessionStore};
use trunkline_runtime::{
    APPLY_LEASE, Agent, Approval, Cancel, CloseAs, Event, Left, Permit, RuntimeError, Workspace,
    WorkspaceFault, orders,
};

use crate::fake_folder::{FakeFolder, Files, Restoring, digest, files};
use crate::kills::Mortal;
use crate::rolling_back::{Scene, after_runs, ids};
use crate::story::{World, replies, stop_line};

/// The files as one process writes them, one at a time.
#[derive(Clone)]
struct Side {
    folder: FakeFolder,
    /// How many files may be written.
    steps: Arc<Semaphore>,
    /// Whether the process was killed.
    dead: Arc<AtomicBool>,
    /// Whether the next file cannot be written.
    fails: Arc<AtomicBool>,
}

impl Side {
    fn new(folder: &FakeFolder) -> Self {
        Side {
            folder: folder.clone(),
            steps: Arc::new(Semaphore::new(0)),
            dead: Arc::default(),
            fails: Arc::default(),
        }
    }

    /// Waits for leave to do one thing.
    async fn step(&self) {
        self.steps.acquire().await.unwrap().forget();
        if self.dead.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }

    /// All of it or nothing, as the tools do it: what stands in the way makes the others come back.
    async fn write(&self, left: &Left, permit: &Permit) -> Result<(), WorkspaceFault> {
        let fault = |why: &str| Err(WorkspaceFault { message: why.to_owned() });
        let found = self.folder.compared(left);
        if !found.conflicts.is_empty() {
            return fault(&found.conflicts.join("; "));
        }
        let before = self.folder.tree(left.base.tree.as_ref().unwrap());
        let now = |path: &str| self.folder.files.lock().unwrap().get(path).cloned();
        let mut done: Vec<(String, Option<String>)> = Vec::new();
        let mut ended = Ok(());
        for file in &found.files {
            self.step().await;
            let after = left.files.iter().find(|one| one.path == file.path).unwrap().after.clone();
            let old = now(&file.path);
            if !permit.stands() {
                return fault("not any more");
            } else if self.fails.swap(false, Ordering::SeqCst) {
                ended = fault("the disk is full");
            } else if old.as_deref().map(digest) != after {
                ended = fault("it has been changed since");
            } else {
                self.folder.put(&file.path, before.get(&file.path));
                done.push((file.path.clone(), old));
                continue;
            }
            break;
        }
        if ended.is_err() {
            for (path, old) in done.iter().rev() {
                self.step().await;
                if !permit.stands() {
                    return fault("not any more");
                }
                if now(path) == before.get(path).cloned() {
                    self.folder.put(path, old.as_ref());
                }
            }
        }
        ended
    }
}

/// A task that does not get around to anything while it is told so.
struct Stoppable<F> {
    stopped: Arc<AtomicBool>,
    inner: Pin<Box<F>>,
}

impl<F: Future> Future for Stoppable<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match self.stopped.load(Ordering::SeqCst) {
            true => Poll::Pending,
            false => self.inner.as_mut().poll(context),
        }
    }
}

struct Process {
    side: Side,
    stopped: Arc<AtomicBool>,
    task: JoinHandle<()>,
}

#[derive(Clone, Debug)]
enum Act {
    /// Lets a process write files.
    Step(usize, usize),
    /// Another process wants the session.
    Enter {
        take_over: bool,
    },
    /// A process is killed.
    Kill(usize),
    /// A process goes on, and whoever asked in it has lost patience.
    Leave(usize),
    /// Whoever asked in it does not get around to anything, or does again.
    Stop(usize),
    GoOn(usize),
    /// The next file cannot be written.
    Fail(usize),
    Seconds(u64),
    /// A person writes one of the files.
    Write,
}

fn act() -> impl Strategy<Value = Act> {
    let who = 0_usize..4;
    prop_oneof![
        6 => (who.clone(), 1_usize..4).prop_map(|(who, steps)| Act::Step(who, steps)),
        3 => any::<bool>().prop_map(|take_over| Act::Enter { take_over }),
        1 => who.clone().prop_map(Act::Kill),
        1 => who.clone().prop_map(Act::Leave),
        1 => who.clone().prop_map(Act::Stop),
        1 => who.clone().prop_map(Act::GoOn),
        2 => who.prop_map(Act::Fail),
        3 => (5_u64..70).prop_map(Act::Seconds),
        1 => Just(Act::Write),
    ]
}

struct Stage {
    folder: FakeFolder,
    store: Arc<MemoryStore>,
    id: SessionId,
    now: Arc<AtomicU64>,
}

impl Stage {
    fn agent(
        &self,
        workspace: impl Workspace + 'static,
        told: impl Fn(&Event) + Send + Sync + 'static,
    ) -> Agent {
        let clock = Arc::clone(&self.now);
        let agent = World::default().agent(replies(Vec::new())).approval(Approval::Always);
        let agent = agent.clock(move || Timestamp(clock.load(Ordering::SeqCst))).on_event(told);
        agent.workspace(Arc::new(workspace)).build().unwrap()
    }

    /// Begins a process that opens the session and does what it is for.
    fn begin(&self, take_over: bool, of: Option<trunkline_runtime::decision_objects::DecisionId>) -> Process {
        let side = Side::new(&self.folder);
        let writes = side.clone();
        // Whoever asks for it may be dropped, and it goes on.
        let restoring = move |left: Left, permit: Permit| -> Restoring {
            let side = writes.clone();
            let writing = tokio::spawn(async move { side.write(&left, &permit).await });
            Box::pin(async move { writing.await.unwrap() })
        };
        let agent = self.agent(self.folder.clone().restored_by(restoring), |_| {});
        let (store, id) = (self.store.clone(), self.id.clone());
        let stopped = Arc::new(AtomicBool::new(false));
        let inner = Box::pin(async move {
            let opened = match take_over {
                true => agent.take_over(store, &id).await,
                false => agent.open(store, &id).await,
            };
            let Ok(mut session) = opened else { return };
            let _ = session.finish_rollback().await;
            if let Some(of) = of {
                let _ = session.rollback(of, None).await;
            }
        });
        let task = tokio::spawn(Stoppable { stopped: Arc::clone(&stopped), inner });
        Process { side, stopped, task }
    }
}

/// Lets everybody come as far as they can.
async fn settle() {
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

async fn play(acts: &[Act]) {
    let left = files(&[("a", "1"), ("b", "2"), ("c", "3")]);
    let scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "2"), ("c", "3")]], false).await;
    let Scene { folder, store, session, .. } = scene;
    let (id, of) = (session.id().clone(), ids(&session)[0]);
    drop(session);
    let stage = Stage { folder, store, id, now: Arc::new(AtomicU64::new(1_000_000)) };
    let mut processes = vec![stage.begin(false, Some(of))];
    settle().await;
    let mut written = false;
    for act in acts {
        let at = |who: &usize| who % processes.len();
        match act {
            Act::Step(who, steps) => processes[at(who)].side.steps.add_permits(*steps),
            Act::Enter { take_over } if processes.len() < 4 => {
                processes.push(stage.begin(*take_over, None));
            }
            Act::Enter { .. } => {}
            Act::Kill(who) => {
                processes[at(who)].side.dead.store(true, Ordering::SeqCst);
                processes[at(who)].task.abort();
            }
            Act::Leave(who) => processes[at(who)].task.abort(),
            Act::Stop(who) => processes[at(who)].stopped.store(true, Ordering::SeqCst),
            Act::GoOn(who) => processes[at(who)].stopped.store(false, Ordering::SeqCst),
            Act::Fail(who) => processes[at(who)].side.fails.store(true, Ordering::SeqCst),
            Act::Seconds(seconds) => drop(stage.now.fetch_add(seconds * 1000, Ordering::SeqCst)),
            Act::Write => {
                stage.folder.files.lock().unwrap().insert("b".to_owned(), "mine".to_owned());
                written = true;
            }
        }
        settle().await;
    }
    // Whoever lives writes what it can, and then goes.
    for process in &processes {
        process.side.steps.add_permits(1000);
    }
    settle().await;
    processes.iter().for_each(|process| process.task.abort());
    settle().await;
    stage.now.fetch_add(120_000, Ordering::SeqCst);
    let agent = stage.agent(stage.folder.clone(), |_| {});
    let mut session = agent.open(stage.store.clone(), &stage.id).await.unwrap();
    session.finish_rollback().await.unwrap();
    assert!(session.open_run().is_none());
    let last = session.decisions().iter().last().unwrap();
    let remains: BTreeSet<&str> = last.cites().files.iter().map(|file| file.path.as_str()).collect();
    let now = stage.folder.now();
    for path in ["a", "b", "c"].into_iter().filter(|path| !(written && *path == "b")) {
        let expected = match last.verdict() {
            Verdict::Rollback { .. } => None,
            // It says which files it could not undo.
            Verdict::Abandon { .. } if remains.contains(path) => None,
            _ => left.get(path),
        };
        assert_eq!(now.get(path), expected, "{path} after {}", last.verdict());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// However several processes follow each other in one rollback, are killed, stopped, or fail: it is recorded as done and
    /// the files are those of before, or it is not and they are what the run had left.
    #[test]
    fn the_record_and_the_files_agree(
        begun in 0_usize..4,
        stopped in any::<bool>(),
        take_over in prop::bool::weighted(0.8),
        then in prop::collection::vec(act(), 0..10),
    ) {
        let stop = stopped.then_some(Act::Stop(0));
        let acts = [Act::Step(0, begun)].into_iter().chain(stop).chain([Act::Enter { take_over }]).chain(then);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(&acts.collect::<Vec<_>>()));
    }
}

/// The first has put one file back, and fails at the next because the second has it done.
#[tokio::test(start_paused = true)]
async fn who_takes_over_leaves_a_rollback_to_whoever_is_at_it() {
    let enter = Act::Enter { take_over: true };
    play(&[Act::Step(0, 1), enter.clone(), Act::Step(1, 9), Act::Step(0, 9)]).await;
    play(&[Act::Step(0, 1), enter.clone(), Act::Stop(0), Act::Seconds(61), Act::Step(1, 9), Act::Step(0, 9)])
        .await;
    // The one in between has died before it has written a word.
    let third = Act::Enter { take_over: false };
    play(&[
        Act::Step(0, 1),
        Act::Stop(0),
        enter,
        Act::Kill(1),
        third,
        Act::Step(2, 9),
        Act::Fail(0),
        Act::Step(0, 9),
    ])
    .await;
}

/// A session whose rollback another process is in the middle of, which does not get around to anything.
async fn taken_from_one_who_hangs() -> (Stage, Process, trunkline_runtime::Session, Arc<Mutex<Vec<u64>>>) {
    let scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "2")]], false).await;
    let Scene { folder, store, session, .. } = scene;
    let (id, of) = (session.id().clone(), ids(&session)[0]);
    drop(session);
    let stage = Stage { folder, store, id, now: Arc::new(AtomicU64::new(1_000_000)) };
    let first = stage.begin(false, Some(of));
    first.side.steps.add_permits(1);
    settle().await;
    first.stopped.store(true, Ordering::SeqCst);
    let told = Arc::new(Mutex::new(Vec::new()));
    let tells = Arc::clone(&told);
    let agent = stage.agent(stage.folder.clone(), move |event| {
        if let Event::AwaitingRollback { until, .. } = event {
            tells.lock().unwrap().push(until.0);
        }
    });
    let second = agent.take_over(stage.store.clone(), &stage.id).await.unwrap();
    assert_eq!(stage.folder.now(), files(&[("b", "2")]));
    (stage, first, second, told)
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_rollback_is_told_and_goes_on_when_its_time_is_over() {
    let (stage, first, mut second, told) = taken_from_one_who_hangs().await;
    let waits = tokio::spawn(async move { second.finish_rollback().await });
    settle().await;
    assert!(!waits.is_finished());
    let lease = u64::try_from(APPLY_LEASE.as_millis()).unwrap();
    assert_eq!(*told.lock().unwrap(), [1_000_000 + lease]);
    stage.now.fetch_add(lease, Ordering::SeqCst);
    let ended = waits.await.unwrap().unwrap().unwrap();
    assert!(matches!(ended.verdict(), Verdict::Rollback { .. }));
    assert_eq!(stage.folder.now(), Files::new());
    // The first has come as far as it could, and goes no further.
    first.side.steps.add_permits(9);
    first.stopped.store(false, Ordering::SeqCst);
    settle().await;
    assert_eq!(stage.folder.now(), Files::new());
}

/// As in PostgreSQL, where a writer that was not heard of for some seconds counts as dead: it may only have been stopped.
#[tokio::test(start_paused = true)]
async fn who_comes_where_a_writer_is_only_taken_for_dead_waits_too() {
    let scene = after_runs(&Files::new(), &[vec![("a", "1"), ("b", "2")]], false).await;
    let Scene { folder, store, session, .. } = scene;
    let (id, of) = (session.id().clone(), ids(&session)[0]);
    drop(session);
    let stage = Stage { folder, store, id, now: Arc::new(AtomicU64::new(1_000_000)) };
    let first = stage.begin(false, Some(of));
    first.side.steps.add_permits(1);
    settle().await;
    first.stopped.store(true, Ordering::SeqCst);
    let lapsing = Arc::new(Mortal::lapsing(stage.store.clone()));
    let agent = stage.agent(stage.folder.clone(), |_| {});
    let mut second = agent.open(lapsing, &stage.id).await.unwrap();
    assert_eq!(stage.folder.now(), files(&[("b", "2")]), "the first may be at it still");
    let waits = tokio::spawn(async move { second.finish_rollback().await });
    settle().await;
    assert!(!waits.is_finished());
    stage.now.fetch_add(60_000, Ordering::SeqCst);
    let ended = waits.await.unwrap().unwrap().unwrap();
    assert!(matches!(ended.verdict(), Verdict::Rollback { .. }));
    first.side.steps.add_permits(9);
    first.stopped.store(false, Ordering::SeqCst);
    settle().await;
    assert_eq!(stage.folder.now(), Files::new());
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_rollback_can_be_cancelled_and_its_prompt_is_kept() {
    let (stage, _first, mut second, _) = taken_from_one_who_hangs().await;
    let cancel = Cancel::new();
    cancel.cancel();
    assert_eq!(stop_line(&second.prompt("and now?", &cancel).await), "cancelled");
    let inbox = stage.store.inbox(&stage.id).await.unwrap();
    assert_eq!(inbox.len(), 1, "it begins a run of its own when the rollback is over");
    second.read_letters().await.unwrap();
    assert_eq!(stage.store.inbox(&stage.id).await.unwrap().len(), 1);
    let fault = second.close_run(CloseAs::Abandon { reason: "no".to_owned() }).await.unwrap_err();
    assert!(fault.to_string().contains("another process"), "{fault}");
    let start = second.tree().trunk().messages().count();
    let back = second.revert(trunkline_runtime::message_tree::NodeId::new(1), None).await;
    assert!(matches!(back, Err(RuntimeError::Refused { .. })), "{back:?}");
    assert_eq!(second.tree().trunk().messages().count(), start);
    stage.now.fetch_add(60_000, Ordering::SeqCst);
    assert_eq!(stop_line(&second.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(stage.folder.now(), Files::new());
    let verdicts: Vec<String> =
        second.decisions().iter().map(|one| one.verdict().kind().to_string()).collect();
    assert_eq!(verdicts[1..], ["rollback", "other"]);
}

/// Whoever asked to cancel meant the waiting. That is over, and what begins later is not meant.
#[tokio::test(start_paused = true)]
async fn a_cancel_that_ends_the_waiting_for_a_rollback_ends_nothing_after_it() {
    let (stage, _first, mut second, _) = taken_from_one_who_hangs().await;
    orders::post(stage.store.as_ref(), &stage.id, &orders::Order::Cancel, Timestamp(1)).await.unwrap();
    let fault = second.finish_rollback().await.unwrap_err();
    assert!(
        matches!(&fault, RuntimeError::Refused { reason } if reason.contains("another process")),
        "{fault}"
    );
    assert_eq!(stage.store.inbox(&stage.id).await.unwrap(), [], "it has had its effect");
    stage.now.fetch_add(60_000, Ordering::SeqCst);
    let stop = second.prompt("and now?", &Cancel::new()).await;
    assert_eq!(stop_line(&stop), "decided other: answered");
    assert_eq!(stage.folder.now(), Files::new());
}

/// Looking at a permit asks nobody: to ask may be what takes it back.
#[test]
fn a_permit_that_is_printed_stands_as_before() {
    let asked = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&asked);
    let permit = Permit::new(move || counts.fetch_add(1, Ordering::SeqCst) > 0);
    assert_eq!(
        (format!("{permit:?}"), asked.load(Ordering::SeqCst)),
        ("Permit { over: false }".to_owned(), 0)
    );
    permit.revoke();
    assert_eq!(format!("{permit:?}"), "Permit { over: true }");
}
