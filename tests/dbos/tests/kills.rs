//! A turn with two letters, cut off at a write of its worker and brought to its end by another one.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dbos::{EnqueueOptions, SendOptions};
use trunkline_dbos::letters::Letters;
use trunkline_dbos::turn::{ASKED, Asked, QUEUE, Turn, WORKFLOW};
use trunkline_dbos::{Failed, VERSION, client, open};
use trunkline_runtime::message_tree::{NodeId, Role};
use trunkline_runtime::providers::{Scripted, Turn as Reply};
use trunkline_runtime::resolve_queue::{State, Verdict};
use trunkline_runtime::session_store::{SessionId, SessionStore};
use trunkline_runtime::{Agent, Said};

use crate::scene::{Scene, Template, server, signal};

/// What becomes of the worker that is held at a write, and of that write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// Killed, the write taken back.
    KilledBefore,
    /// Killed, the write done, if no further word of its process was needed for that.
    KilledAfter,
    /// Paused until the turn has ended, the write done; then it goes on with what it was about to do.
    Paused,
}

const FATES: [Fate; 3] = [Fate::KilledBefore, Fate::KilledAfter, Fate::Paused];

/// How long a turn may take that was cut off. What was begun of an apply is left to the process that began it for a minute, since
/// it may only be paused.
const LONGEST: Duration = Duration::from_secs(150);

/// What the model says in the end.
const ANSWER: &str = "The letters are on their way.";

/// How many turns run at a time, each on a database of its own. They mostly wait.
const AT_ONCE: usize = 6;

#[tokio::test(flavor = "multi_thread")]
async fn no_letter_goes_twice_wherever_a_worker_is_killed_or_paused() {
    let Some(server) = server() else { return };
    let template = Arc::new(Template::make(&server).await);
    let writes = whole(&template).await;
    assert!(writes.len() > 40, "a turn that nothing disturbs: {writes:?}");
    let gate = Arc::new(tokio::sync::Semaphore::new(AT_ONCE));
    let mut running = tokio::task::JoinSet::new();
    for (place, fate) in cases(&writes) {
        let write = writes.iter().find(|(at, _)| *at == place).map_or("", |(_, write)| write).to_owned();
        let (template, gate) = (template.clone(), gate.clone());
        running.spawn(async move {
            let _turn = gate.acquire().await.unwrap();
            let begun = Instant::now();
            let again = cut_off(&template, place, fate).await;
            let words = if again { ", a letter was asked for again" } else { "" };
            let took = begun.elapsed().as_secs_f64();
            eprintln!("{fate:?} at write {place} ({write}){words}: {took:.1} s");
            again
        });
    }
    let (mut again, mut broken) = (0, 0);
    while let Some(done) = running.join_next().await {
        match done {
            Ok(one) => again += usize::from(one),
            Err(_) => broken += 1,
        }
    }
    assert_eq!(broken, 0, "see above which");
    assert!(again > 0, "a process was paused before it gave an order, and gave it too late");
    Arc::into_inner(template).unwrap().remove().await;
}

/// With `TRUNKLINE_DAMAGE=all` everything at each write. Else every tenth of it, which is no multiple of three, so all fates come
/// about; and a process is paused wherever it is about to give an order for a letter.
fn cases(writes: &[(i64, String)]) -> Vec<(i64, Fate)> {
    let all = std::env::var("TRUNKLINE_DAMAGE").is_ok_and(|value| value == "all");
    let every = writes.iter().flat_map(|(place, _)| FATES.map(|fate| (*place, fate)));
    let mut cases: Vec<(i64, Fate)> =
        every.enumerate().filter(|(number, _)| all || number % 10 == 0).map(|(_, case)| case).collect();
    for pair in writes.windows(2) {
        let case = (pair[0].0, Fate::Paused);
        if pair[1].1 == "INSERT workflow_status" && !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// Runs a turn that nothing disturbs, and returns what its worker writes.
async fn whole(template: &Template) -> Vec<(i64, String)> {
    let scene = template.scene(None).await;
    let mut worker = scene.worker().await;
    let turn = ask(&scene).await;
    let answer = answer(&scene, &turn).await;
    assert_eq!(answer, ANSWER);
    assert!(!judge(&scene, &turn).await, "no letter had to be asked for again");
    let writes = scene.writes().await;
    worker.kill().await.unwrap();
    scene.remove().await;
    writes
}

/// Cuts a turn off at a write, and returns whether a letter had to be asked for again.
async fn cut_off(template: &Template, place: i64, fate: Fate) -> bool {
    let scene = template.scene(Some(place)).await;
    let mut first = scene.worker().await;
    let turn = ask(&scene).await;
    let result = answer(&scene, &turn);
    tokio::pin!(result);
    let backend = loop {
        tokio::select! {
            answer = &mut result => panic!("{fate:?} at {place} was not reached: {answer}"),
            () = tokio::time::sleep(Duration::from_millis(5)) => {
                if let Some(backend) = scene.stopped().await {
                    break backend;
                }
            }
        }
    };
    match fate {
        Fate::KilledBefore | Fate::KilledAfter => first.kill().await.unwrap(),
        Fate::Paused => signal(&first, "STOP").await,
    }
    match fate {
        Fate::KilledBefore => scene.cut(backend).await,
        Fate::KilledAfter | Fate::Paused => scene.let_go().await,
    }
    let mut second = scene.worker().await;
    let ended = tokio::time::timeout(LONGEST, result).await;
    let answer = ended.unwrap_or_else(|_| panic!("{fate:?} at {place}: no answer"));
    assert_eq!(answer, ANSWER);
    if fate == Fate::Paused {
        signal(&first, "CONT").await;
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let again = judge(&scene, &turn).await;
    for worker in [&mut first, &mut second] {
        worker.kill().await.unwrap();
    }
    scene.remove().await;
    again
}

/// Begins a session and asks for a turn of it, twice, as a caller does who did not hear of the first time.
async fn ask(scene: &Scene) -> Turn {
    let store = open(&scene.url).await.unwrap();
    let agent = silent();
    let session = agent.start(Arc::new(store), "letters", None).await.unwrap();
    let turn = Turn { session: session.id().to_string(), at: NodeId::ROOT, words: "Tell them.".to_owned() };
    let dbos = client(&scene.url).await.unwrap();
    let key = turn.key();
    for _ in 0..2 {
        let options = EnqueueOptions {
            workflow_id: Some(&key),
            app_version: Some(VERSION),
            ..EnqueueOptions::new(QUEUE)
        };
        dbos.enqueue_with::<_, String, Failed>(WORKFLOW, &turn, options).await.unwrap();
    }
    dbos.close().await;
    turn
}

/// Approves whatever is asked, twice, and returns the answer of the turn.
async fn answer(scene: &Scene, turn: &Turn) -> String {
    let dbos = client(&scene.url).await.unwrap();
    let key = turn.key();
    let result = dbos.retrieve_workflow::<String, Failed>(&key).result();
    tokio::pin!(result);
    let mut seen: Vec<Asked> = Vec::new();
    let answer = loop {
        tokio::select! {
            answer = &mut result => break answer.unwrap(),
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
        }
        let asked =
            dbos.get_event::<Vec<Asked>>(&key, ASKED, Duration::ZERO).await.unwrap().unwrap_or_default();
        if asked == seen {
            continue;
        }
        for one in asked.iter().chain(&asked) {
            let topic = one.topic();
            let once = format!("{key}/{topic}");
            let options =
                SendOptions { topic: Some(&topic), idempotency_key: Some(&once), ..SendOptions::default() };
            dbos.send_with(&key, &Said::new(Verdict::Approve, ""), options).await.unwrap();
        }
        seen = asked;
    };
    dbos.close().await;
    answer
}

/// Looks at what was done, and at the log. Returns whether a letter had to be asked for again.
async fn judge(scene: &Scene, turn: &Turn) -> bool {
    let sent = Letters::open(&scene.url).await.unwrap().sent_for(&turn.session).await.unwrap();
    let mut letters: Vec<&str> = sent.iter().map(|one| one.to.as_str()).collect();
    letters.sort_unstable();
    assert_eq!(letters, ["ada", "grace"], "{sent:?}");

    let store = Arc::new(open(&scene.url).await.unwrap());
    let id = SessionId::parse(&turn.session).unwrap();
    store.verify(&id).await.unwrap();
    let session = silent().take_over(store, &id).await.unwrap();
    let applied = session.proposals().iter().filter(|entry| entry.state == State::Applied);
    assert_eq!(applied.count(), 2);
    let others = session.proposals().iter().filter(|entry| entry.state != State::Applied);
    let others: Vec<State> = others.map(|entry| entry.state).collect();
    assert!(others.iter().all(|state| *state == State::Discarded), "{others:?}");
    let tree = session.tree();
    let trunk: Vec<_> = tree.ancestry(tree.head()).unwrap().map(|(_, node)| node.message()).collect();
    let said = |role, words: &str| trunk.iter().filter(|one| one.role == role && one.text() == words).count();
    assert_eq!(said(Role::User, &turn.words), 1);
    assert_eq!(said(Role::Assistant, ANSWER), 1);
    assert_eq!(trunk.iter().map(|one| one.calls().count()).sum::<usize>(), 2 + others.len());
    assert!(session.open_run().is_none(), "the run has ended");
    !others.is_empty()
}

fn silent() -> Agent {
    Agent::builder(Scripted::new("scripted", "silent", |_| Reply::say(""))).build().unwrap()
}
