//! Applies that are cut off: whatever is killed where, the world is whole before or whole after.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Timestamp, notation};
use trunkline_runtime::providers::{Request, Turn};
use trunkline_runtime::resolve_queue::{ProposalId, State, Verdict};
use trunkline_runtime::session_store::{Batch, MemoryStore, Note, Position, Record, SessionId, SessionStore};
use trunkline_runtime::{Agent, AgentBuilder, Approval, Cancel, Event, RuntimeError, Said, Session, Stop};

use crate::kills::{Death, Mortal};
use crate::many::{Disk, Halt, Lacks, Many};
use crate::story::{World, replies, stop_line};

const FILES: [&str; 3] = ["a", "b", "c"];

pub(crate) fn edits(edits: &[(&str, Option<&str>)]) -> Value {
    let edits: Map<String, Value> =
        edits.iter().map(|(path, text)| ((*path).to_owned(), json!(text))).collect();
    json!({ "edits": edits })
}

/// Three files as one edit: one changed, one removed, one made.
pub(crate) fn three() -> Turn {
    Turn::new().call("c1", "many", &edits(&[("a", Some("new")), ("b", None), ("c", Some("made"))]))
}

pub(crate) fn agent(world: &World, disk: &Disk, turns: Vec<Turn>) -> AgentBuilder {
    disk.put("a", "old");
    disk.put("b", "there");
    world.agent(replies(turns)).tool(Many { disk: disk.clone(), lacks: Lacks::Nothing })
}

/// Drives a session until it stops, or its process does.
pub(crate) async fn until_stopped(session: &mut Session, disk: &Disk) -> Option<Result<Stop, RuntimeError>> {
    let cancel = Cancel::new();
    tokio::select! {
        biased;
        () = disk.stopped.notified() => None,
        stop = session.resume(&cancel) => Some(stop),
    }
}

pub(crate) fn words(session: &Session) -> String {
    let tree = notation::print_tree(session.tree());
    let lines: Vec<&str> = tree.lines().filter(|line| line.contains("harness:")).collect();
    lines.join("\n")
}

/// Stages the three files, approves them, and stops the process after so many steps of the tool.
pub(crate) async fn cut_off(steps: usize) -> (World, Disk, Arc<MemoryStore>, Agent, SessionId) {
    let (world, disk) = (World::default(), Disk::default());
    let agent = agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    assert_eq!(stop_line(&session.prompt("go", &Cancel::new()).await), "waiting for p1");
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    disk.break_after(steps, Halt::Stop);
    assert!(until_stopped(&mut session, &disk).await.is_none());
    let id = session.id().clone();
    drop(session);
    (world, disk, store, agent, id)
}

// Three looks to keep, one to compare, then the files one after the other.
pub(crate) const BEFORE_ANY: usize = 4;

#[tokio::test]
async fn what_was_cut_off_between_two_files_is_put_back_and_applied_anew_as_it_was_approved() {
    let (world, disk, store, agent, id) = cut_off(BEFORE_ANY + 2).await;
    assert_eq!(disk.now(), "a=new");
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(disk.now(), "a=old b=there", "it is whole as soon as the session is open");
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(disk.now(), "a=new c=made");
    let told = world.told.lock().unwrap().join(", ");
    expect!["p1 staged, p1 decided, p1 began, p1 taken_over, p1 recovered, p1 began, p1 finished"]
        .assert_eq(&told);
    expect!["n4 harness: A person approved p1, and it was applied. Written."].assert_eq(&words(&session));
}

#[tokio::test]
async fn a_session_object_that_lives_on_after_its_drive_was_dropped_puts_back_as_well() {
    let (world, disk) = (World::default(), Disk::default());
    let agent = agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    disk.break_after(BEFORE_ANY + 1, Halt::Stop);
    assert!(until_stopped(&mut session, &disk).await.is_none());
    assert_eq!(disk.now(), "a=new b=there");
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new c=made");
    assert_eq!(disk.writes.lock().unwrap().len(), 4, "one of the first attempt, three of the second");
}

#[tokio::test]
async fn a_put_back_that_is_cut_off_is_done_again_by_the_next_one() {
    for steps in 0..6 {
        let (_, disk, store, agent, id) = cut_off(BEFORE_ANY + 2).await;
        disk.break_after(steps, Halt::Stop);
        tokio::select! {
            biased;
            () = disk.stopped.notified() => {}
            opened = agent.open(store.clone(), &id) => { opened.unwrap(); }
        }
        disk.mend();
        let mut session = agent.open(store, &id).await.unwrap();
        assert_eq!(disk.now(), "a=old b=there", "after {steps} steps");
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(disk.now(), "a=new c=made");
    }
}

#[tokio::test]
async fn a_tool_that_crashes_or_gives_up_between_two_files_leaves_nothing_half_done() {
    for halt in [Halt::Panic, Halt::Fail] {
        let (world, disk) = (World::default(), Disk::default());
        let agent = agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
        let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
        session.prompt("go", &Cancel::new()).await.unwrap();
        session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        disk.break_after(BEFORE_ANY + 2, halt);
        assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "waiting for p1");
        assert_eq!(disk.now(), "a=old b=there");
        assert_eq!(session.proposals().get(ProposalId(1)).unwrap().state, State::Failed);
        let why =
            if halt == Halt::Fail { "the disk is full" } else { "the tool crashed while it applied it" };
        let text = format!(
            "n4 harness: p1 could not be applied: {why}; what it had written was put back. It is kept: apply it again or \
             discard it."
        );
        assert_eq!(words(&session), text);
        session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(disk.now(), "a=new c=made");
    }
}

#[tokio::test]
async fn an_import_that_was_cut_off_writes_nothing_here() {
    let (_, disk, store, agent, id) = cut_off(BEFORE_ANY + 2).await;
    store.post(&id, "distrust", "{}", Timestamp(1)).await.unwrap();
    let mut session = agent.open(store, &id).await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new");
    assert_eq!(session.proposals().get(ProposalId(1)).unwrap().state, State::Discarded);
    assert!(session.take_back(ProposalId(1)).await.is_err());
}

/// Waits for what must come, and not for ever.
pub(crate) async fn soon<T>(coming: impl Future<Output = T>) -> T {
    tokio::time::timeout(std::time::Duration::from_secs(20), coming).await.expect("it never came")
}

type Told = Arc<Mutex<Vec<String>>>;

/// An agent whose clock is moved by hand, and what it told.
fn slow(world: &World, disk: &Disk, turns: Vec<Turn>) -> (Agent, Arc<Mutex<u64>>, Told) {
    let now = Arc::new(Mutex::new(1_000_u64));
    let told = Arc::new(Mutex::new(Vec::new()));
    let (clock, tells) = (Arc::clone(&now), Arc::clone(&told));
    let agent =
        agent(world, disk, turns).clock(move || Timestamp(*clock.lock().unwrap())).on_event(move |event| {
            let line = match event {
                Event::AwaitingApply { attempt, lease } => format!("{attempt} until {}", lease.until),
                Event::Proposal(event) => {
                    let change = serde_json::to_value(&event.change).unwrap();
                    let name = change.as_object().and_then(|change| change.keys().next().cloned());
                    name.unwrap_or_else(|| change.as_str().unwrap_or_default().to_owned())
                }
                _ => return,
            };
            tells.lock().unwrap().push(line);
        });
    (agent.build().unwrap(), now, told)
}

/// Takes a session over from one who hangs in the middle of an apply, after so many steps, and is alive. Returns what was told
/// and how many files were written.
async fn taken_over_after(steps: usize) -> (String, usize) {
    let (world, disk) = (World::default(), Disk::default());
    let (agent, now, told) = slow(&world, &disk, vec![three(), Turn::say("done")]);
    let store = Arc::new(MemoryStore::new());
    let mut first = agent.start(store.clone(), "t", None).await.unwrap();
    first.prompt("go", &Cancel::new()).await.unwrap();
    first.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    disk.break_after(steps, Halt::Wait);
    let (cancel, mine) = (Cancel::new(), Cancel::new());
    let id = first.id().clone();
    let ended = tokio::sync::Notify::new();
    let hangs = async {
        let lost = first.resume(&mine).await;
        ended.notify_one();
        lost
    };
    let successor = async {
        disk.stopped.notified().await;
        let second = agent.take_over(store.clone(), &id).await.unwrap();
        assert_eq!(second.proposals().get(ProposalId(1)).unwrap().state, State::Applying);
        drop(second);
        // Who comes after that finds nobody who writes the session, but somebody who writes the files.
        let mut third = agent.open(store.clone(), &id).await.unwrap();
        let drive = async { stop_line(&third.resume(&cancel).await) };
        let time = async {
            let halfway = disk.now();
            while !told.lock().unwrap().contains(&"p1-1 until 61000".to_owned()) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            assert_eq!(disk.now(), halfway, "nobody puts anything back meanwhile");
            disk.go_on.notify_one();
            ended.notified().await;
            *now.lock().unwrap() = 61_000;
        };
        tokio::join!(drive, time).0
    };
    let (lost, stop) = soon(async { tokio::join!(hangs, successor) }).await;
    assert!(matches!(lost, Err(RuntimeError::TakenOver { .. })), "{lost:?}");
    assert!(!mine.is_cancelled(), "nobody has cancelled");
    assert_eq!(stop, "decided other: answered");
    assert_eq!(disk.now(), "a=new c=made");
    (told.lock().unwrap().join(", "), disk.writes.lock().unwrap().len())
}

#[tokio::test]
async fn who_takes_over_while_a_lease_stands_leaves_the_files_to_its_holder_until_it_is_over() {
    let (told, written) = taken_over_after(BEFORE_ANY + 1).await;
    expect!["staged, decided, began, p1-1 until 61000, recovered"].assert_eq(&told);
    assert_eq!(written, 3, "it was applied once, by the first");
}

#[tokio::test]
async fn who_is_taken_over_before_the_first_byte_writes_nothing_and_the_other_applies_it() {
    let (told, written) = taken_over_after(BEFORE_ANY).await;
    expect!["staged, decided, began, p1-1 until 61000, recovered, began, finished"].assert_eq(&told);
    assert_eq!(written, 3, "it was applied once, by the other");
}

#[tokio::test]
async fn who_waits_for_a_lease_can_be_cancelled_and_nothing_has_changed() {
    let (world, disk) = (World::default(), Disk::default());
    let (agent, _, told) = slow(&world, &disk, vec![three(), Turn::say("done")]);
    let store = Arc::new(MemoryStore::new());
    let mut first = agent.start(store.clone(), "t", None).await.unwrap();
    first.prompt("go", &Cancel::new()).await.unwrap();
    first.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    disk.break_after(BEFORE_ANY + 1, Halt::Stop);
    assert!(until_stopped(&mut first, &disk).await.is_none());
    let mut second = agent.take_over(store, first.id()).await.unwrap();
    let cancel = Cancel::new();
    let stops = async {
        while !told.lock().unwrap().contains(&"p1-1 until 61000".to_owned()) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        cancel.cancel();
    };
    let (stop, ()) = soon(async { tokio::join!(second.resume(&cancel), stops) }).await;
    assert_eq!(stop_line(&stop), "cancelled");
    assert_eq!(second.proposals().get(ProposalId(1)).unwrap().state, State::Applying);
    assert_eq!(disk.now(), "a=new b=there");
}

#[tokio::test]
async fn an_apply_that_takes_long_keeps_its_lease() {
    let (world, disk) = (World::default(), Disk::default());
    let (agent, now, told) = slow(&world, &disk, vec![three(), Turn::say("done")]);
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    disk.break_after(BEFORE_ANY + 1, Halt::Wait);
    let cancel = Cancel::new();
    let time = async {
        disk.stopped.notified().await;
        *now.lock().unwrap() += 20_000;
        while !told.lock().unwrap().contains(&"renewed".to_owned()) {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        disk.go_on.notify_one();
    };
    let (stop, ()) = soon(async { tokio::join!(session.resume(&cancel), time) }).await;
    assert_eq!(stop_line(&stop), "decided other: answered");
    expect!["staged, decided, began, renewed, finished"].assert_eq(&told.lock().unwrap().join(", "));
}

#[tokio::test]
async fn an_attempt_in_an_old_log_without_a_lease_and_without_bytes_is_looked_up() {
    for (now, state, wrote) in
        [("old", State::Applied, 1), ("new", State::Applied, 0), ("odd", State::Discarded, 0)]
    {
        let (world, disk) = (World::default(), Disk::default());
        let edit = Turn::new().call("c1", "many", &edits(&[("a", Some("new"))]));
        let agent = agent(&world, &disk, vec![edit, Turn::say("done")]).build().unwrap();
        let store = Arc::new(MemoryStore::new());
        let mut session = agent.start(store.clone(), "t", None).await.unwrap();
        session.prompt("go", &Cancel::new()).await.unwrap();
        session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        let id = session.id().clone();
        drop(session);
        let lease = store.claim(&id, trunkline_runtime::session_store::Claim::IfFree).await.unwrap();
        let info = store.info(&id).await.unwrap();
        let began = r#"{"proposal":"p1","at":1,"change":{"began":{"attempt":1}}}"#;
        let note = Record::Note(Note::new("resolve", "event", Timestamp(1), began).about("p1", "applying"));
        let at = Position { seq: info.records, head: info.head };
        store.append(&lease, Batch::new(at, vec![note])).await.unwrap();
        drop(lease);
        disk.put("a", now);
        let mut session = agent.open(store, &id).await.unwrap();
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(session.proposals().get(ProposalId(1)).unwrap().state, state, "{now}");
        assert_eq!(disk.writes.lock().unwrap().len(), wrote, "{now}");
    }
}

/// What one life of the session goes through.
#[derive(Clone, Debug)]
struct Life {
    /// At which append the store dies, and how.
    batches: usize,
    death: Death,
    /// After how many steps the tool goes wrong, and how.
    steps: usize,
    halt: Halt,
    /// What somebody else writes after it, and where.
    meddles: Option<usize>,
}

fn life() -> impl Strategy<Value = Life> {
    let death = prop_oneof![Just(Death::Lost), Just(Death::Kept), Just(Death::Fenced)];
    let halt = prop_oneof![3 => Just(Halt::Stop), 1 => Just(Halt::Panic), 1 => Just(Halt::Fail)];
    let batches = prop_oneof![2 => 0_usize..12, 1 => Just(usize::MAX)];
    let steps = prop_oneof![4 => 0_usize..16, 1 => Just(usize::MAX)];
    let meddles = prop_oneof![12 => Just(None), 1 => (0_usize..3).prop_map(Some)];
    (batches, death, steps, halt, meddles).prop_map(|(batches, death, steps, halt, meddles)| Life {
        batches,
        death,
        steps,
        halt,
        meddles,
    })
}

/// Asks for the edit, then for it to be applied if the model may, and then says that it is done.
fn model(request: &Request, edit: &Value) -> Turn {
    let said = notation::print(&request.messages.to_vec());
    if !said.contains("Staged as") {
        Turn::new().call("c1", "many", edit)
    } else if said.contains("call `resolve`") && !said.contains("call c2 resolve") {
        Turn::new().call("c2", "resolve", &json!({ "action": "apply", "reason": "r", "id": "p1" }))
    } else {
        Turn::say("done")
    }
}

type Wanted = Vec<Option<Option<String>>>;

async fn law(
    wanted: Wanted,
    only: BTreeSet<String>,
    lives: Vec<Life>,
    approval: Approval,
    decide_in: usize,
) -> Result<(), TestCaseError> {
    let (world, disk) = (World::default(), Disk::default());
    disk.put("a", "old a");
    disk.put("b", "old b");
    let edits: Map<String, Value> = FILES
        .iter()
        .zip(&wanted)
        .filter_map(|(path, text)| text.as_ref().map(|text| ((*path).to_owned(), json!(text))))
        .collect();
    let edit = json!({ "edits": edits });
    let tool = Many { disk: disk.clone(), lacks: Lacks::Nothing };
    let agent =
        world.agent(move |request| model(request, &edit)).tool(tool).approval(approval).build().unwrap();
    let inner = Arc::new(MemoryStore::new());
    let mut id: Option<SessionId> = None;
    let before = disk.files.lock().unwrap().clone();
    let parts: BTreeSet<String> = edits.keys().cloned().collect();
    let only: BTreeSet<String> = only.intersection(&parts).cloned().collect();
    let mut meddled = false;
    let mut approved = approval != Approval::Person;

    let undisturbed =
        Life { batches: usize::MAX, death: Death::Lost, steps: usize::MAX, halt: Halt::Stop, meddles: None };
    let many = lives.len();
    for (number, life) in lives.into_iter().chain(std::iter::repeat_n(undisturbed, 6)).enumerate() {
        let last = number >= many;
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(inner.clone(), life.batches, life.death));
        disk.break_after(life.steps, life.halt);
        let living = async {
            let mut session = match &id {
                Some(id) => agent.open(store, id).await?,
                None => agent.start(store, "t", None).await?,
            };
            id = Some(session.id().clone());
            if session.tree().len() == 1 {
                session.prompt("go", &Cancel::new()).await?;
            }
            if approval == Approval::Person && number >= decide_in {
                let waits = session.proposals().get(ProposalId(1)).map(|entry| (entry.state, entry.attempts));
                // Whoever is asked again after a failure says no at last.
                let said = match waits {
                    Some((State::Proposed, _)) => Some(Said::new(Verdict::Approve, "yes").only(only.clone())),
                    Some((State::Failed, 0..2)) => Some(Said::new(Verdict::Approve, "again")),
                    Some((State::Failed, _)) => Some(Said::new(Verdict::Discard, "no")),
                    _ => None,
                };
                if let Some(said) = said {
                    approved = true;
                    session.decide_with(ProposalId(1), said).await?;
                }
            }
            session.resume(&Cancel::new()).await
        };
        let stop = tokio::select! {
            biased;
            () = disk.stopped.notified() => None,
            stop = living => Some(stop),
        };
        disk.mend();
        if last && let Some(Err(fault)) = &stop {
            return Err(TestCaseError::fail(format!("{fault}: {fault:?}")));
        }
        if let Some(file) = life.meddles {
            meddled = true;
            disk.put(FILES[file], "somebody else's");
        }
        if !approved {
            prop_assert!(disk.writes.lock().unwrap().is_empty(), "nobody had approved it");
        }
    }

    let Some(id) = id else { return Ok(()) };
    let mut session = agent.open(inner.clone(), &id).await.unwrap();
    let Some(entry) = session.proposals().get(ProposalId(1)).cloned() else { return Ok(()) };
    // What the model did not settle a person does.
    if !entry.state.is_settled() {
        session.decide(ProposalId(1), Verdict::Discard, "no").await.unwrap();
    }
    let state = session.proposals().get(ProposalId(1)).unwrap().state;
    prop_assert!(state.is_settled(), "{}", state);

    let part: BTreeSet<&str> = entry.part().collect();
    let mut once = BTreeSet::new();
    for (attempt, path, text) in disk.writes.lock().unwrap().iter() {
        prop_assert!(part.contains(path.as_str()), "{path} was not approved");
        prop_assert_eq!(edits[path].as_str(), text.as_deref(), "{} is not what was approved", path);
        prop_assert!(once.insert((attempt.clone(), path.clone())), "{path} was written twice in {attempt}");
    }
    let mut after = before.clone();
    for path in &part {
        match edits[*path].as_str() {
            Some(text) => after.insert((*path).to_owned(), text.to_owned()),
            None => after.remove(*path),
        };
    }
    if !meddled {
        let now = disk.files.lock().unwrap().clone();
        let expected = if state == State::Applied { after } else { before };
        prop_assert_eq!(now, expected, "{} by {:?}", state, world.told.lock().unwrap());
    } else if state != State::Applied {
        let now = disk.files.lock().unwrap().clone();
        for path in part {
            let theirs = now.get(path).is_some_and(|text| text == "somebody else's");
            prop_assert!(theirs || now.get(path) == before.get(path), "{path} is still as after");
        }
    }
    inner.verify(&id).await.unwrap();
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn whatever_is_killed_where_the_world_is_whole_before_or_whole_after(
        wanted in prop::collection::vec(prop::option::weighted(0.8, prop::option::weighted(0.7, "[xy]")), 3),
        only in prop::collection::btree_set(prop::sample::select(FILES.to_vec()).prop_map(str::to_owned), 0..3),
        lives in prop::collection::vec(life(), 1..7),
        approval in prop_oneof![3 => Just(Approval::Person), 1 => Just(Approval::Model), 1 => Just(Approval::Always)],
        decide_in in 0_usize..3,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(law(wanted, only, lives, approval, decide_in))?;
    }
}
