//! Whoever decides, wherever, whenever, and whatever dies: nothing is written that was not approved as it stands.
//!
//! Interleavings of a model's turns, decisions here, letters from elsewhere, reverts and their undoing, other people's
//! writes, and deaths between any two batches and between any two files of one apply. After each act the whole log is held
//! against what was really written. The fold that judges is that of [`View`], on the log as it was at that moment.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{NodeId, Timestamp, ToolSpec, notation};
use trunkline_runtime::orders::{self, Order};
use trunkline_runtime::providers::{Scripted, Turn};
use trunkline_runtime::resolve_queue::{
    ActorKind, Change, Effect, Entry, Event, Fingerprint, Outcome, Preview, ProposalId, State, SubjectState,
    Verdict,
};
use trunkline_runtime::session_store::{Log, MemoryStore, Record, SessionStore};
use trunkline_runtime::{
    Access, Agent, Approval, Cancel, Executor, Kept, Limits, Proposal, RuntimeError, Said, Session, Tool,
    ToolContext, ToolOutput, View,
};

use crate::kills::{Death, Mortal};

/// Whether what was cut off in the middle is put back.
const PUTS_BACK: bool = true;
const FILES: [&str; 3] = ["a", "b", "c"];

/// One reply of the model.
#[derive(Clone, Debug)]
enum Reply {
    Edit { files: Vec<&'static str>, fails: bool },
    EditTwice { files: Vec<&'static str> },
    Resolve { id: Option<u32>, apply: bool },
    EditAndResolve { files: Vec<&'static str>, apply: bool },
    GoBack { step: u32 },
    Say,
}

#[derive(Clone, Debug)]
enum Act {
    Prompt,
    Resume,
    Decide {
        id: u32,
        approve: bool,
        only: Option<&'static str>,
    },
    /// `late` says of which earlier look the answer is.
    Letter {
        id: u32,
        approve: bool,
        late: bool,
    },
    Revert(u32),
    Undo,
    Redo,
    /// Somebody else writes a file, or removes it.
    Meddle {
        file: &'static str,
        remove: bool,
    },
}

/// When a life ends.
#[derive(Clone, Debug)]
enum End {
    Itself,
    AtWrite(usize),
    /// After this many files of an apply.
    InApply(usize),
}

fn files() -> impl Strategy<Value = Vec<&'static str>> {
    prop::sample::subsequence(FILES.to_vec(), 1..=3)
}

fn reply() -> impl Strategy<Value = Reply> {
    prop_oneof![
        4 => (files(), prop::bool::weighted(0.15)).prop_map(|(files, fails)| Reply::Edit { files, fails }),
        1 => files().prop_map(|files| Reply::EditTwice { files }),
        4 => (prop::option::of(1_u32..5), prop::bool::weighted(0.7))
            .prop_map(|(id, apply)| Reply::Resolve { id, apply }),
        1 => (files(), any::<bool>()).prop_map(|(files, apply)| Reply::EditAndResolve { files, apply }),
        1 => (0_u32..12).prop_map(|step| Reply::GoBack { step }),
        1 => Just(Reply::Say),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    let only = prop::option::weighted(0.3, prop::sample::select(&FILES[..]));
    prop_oneof![
        3 => Just(Act::Resume),
        2 => Just(Act::Prompt),
        4 => (1_u32..5, prop::bool::weighted(0.75), only)
            .prop_map(|(id, approve, only)| Act::Decide { id, approve, only }),
        3 => (1_u32..5, prop::bool::weighted(0.75), any::<bool>())
            .prop_map(|(id, approve, late)| Act::Letter { id, approve, late }),
        2 => (0_u32..12).prop_map(Act::Revert),
        2 => Just(Act::Undo),
        1 => Just(Act::Redo),
        2 => (prop::sample::select(&FILES[..]), any::<bool>())
            .prop_map(|(file, remove)| Act::Meddle { file, remove }),
    ]
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![
        4 => Just(End::Itself),
        3 => (0_usize..14).prop_map(End::AtWrite),
        2 => (0_usize..3).prop_map(End::InApply),
    ]
}

/// The files, and everything that was done to them.
#[derive(Default)]
struct Disk {
    files: BTreeMap<String, String>,
    /// What applies wrote: file and text.
    written: Vec<(String, String)>,
    /// What was written although the file was not as the preview had it.
    over: Vec<String>,
    meddled: usize,
}

#[derive(Clone, Default)]
struct World {
    disk: Arc<Mutex<Disk>>,
    /// How many files may still be written until the process dies.
    left: Arc<AtomicUsize>,
    died: Arc<tokio::sync::Notify>,
}

impl World {
    /// Ends the process here if its time has come: nobody hears of it any more.
    async fn breathe(&self) {
        if self.left.load(Ordering::SeqCst) == 0 {
            self.died.notify_one();
            std::future::pending::<()>().await;
        }
        self.left.fetch_sub(1, Ordering::SeqCst);
    }

    fn print(&self, file: &str) -> Fingerprint {
        match self.disk.lock().unwrap().files.get(file) {
            Some(text) => Fingerprint::digest(file, text),
            None => Fingerprint::absent(file),
        }
    }
}

/// Writes the same words to several files, all or none.
struct Edit(World);

#[async_trait]
impl Tool for Edit {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("edit", "a test", json!({ "type": "object" }))
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let text = arguments["text"].as_str().unwrap().to_owned();
        let files: Vec<&str> =
            arguments["files"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        let mut proposal = Proposal::new(format!("write {text}"), "edit", Value::Object(arguments.clone()));
        proposal.fingerprints = files.iter().map(|file| self.0.print(file)).collect();
        proposal.after = files.iter().map(|file| Fingerprint::digest(*file, &text)).collect();
        proposal.effect = Effect::Reversible;
        proposal.divisible = files.len() > 1;
        let mut output = ToolOutput::text("a preview");
        output.proposals.push(proposal);
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Edit {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        subjects.iter().map(|file| self.0.print(file)).collect()
    }

    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        let disk = self.0.disk.lock().unwrap();
        let kept = entry.part().map(|file| {
            let text = disk.files.get(file);
            let fingerprint = match text {
                Some(text) => Fingerprint::digest(file, text),
                None => Fingerprint::absent(file),
            };
            Kept { fingerprint, bytes: text.map(|text| text.clone().into_bytes()) }
        });
        kept.collect()
    }

    async fn apply(&self, entry: &Entry<Value>, _: &ToolContext) -> (Outcome, ToolOutput) {
        let text = entry.proposal.payload["text"].as_str().unwrap().to_owned();
        if entry.proposal.payload["fails"] == json!(true) {
            return (Outcome::Failed { reason: "no room".to_owned() }, ToolOutput::error("no room"));
        }
        let part: Vec<String> = entry.part().map(str::to_owned).collect();
        for file in part {
            self.0.breathe().await;
            let now = self.0.print(&file);
            let before = entry.proposal.fingerprints.iter().find(|print| print.subject == file);
            let mut disk = self.0.disk.lock().unwrap();
            if before != Some(&now) {
                disk.over.push(format!("{file} by {}", entry.id));
            }
            disk.files.insert(file.clone(), text.clone());
            disk.written.push((file, text.clone()));
        }
        self.0.breathe().await;
        (Outcome::Applied, ToolOutput::text("Written."))
    }

    async fn put_back(&self, entry: &Entry<Value>, kept: &[Kept]) -> Outcome {
        for one in kept {
            self.0.breathe().await;
            let file = &one.fingerprint.subject;
            let after = entry.proposal.after.iter().find(|print| print.subject == *file);
            if after != Some(&self.0.print(file)) {
                continue;
            }
            let mut disk = self.0.disk.lock().unwrap();
            match &one.bytes {
                Some(bytes) => disk.files.insert(file.clone(), String::from_utf8(bytes.clone()).unwrap()),
                None => disk.files.remove(file),
            };
        }
        Outcome::Applied
    }

    async fn undo(&self, _: &Entry<Value>, _: &[Kept]) -> Option<(Value, Preview)> {
        None
    }
}

fn turn(reply: &Reply, number: usize) -> Turn {
    // Words that nobody else writes, so that a file says whose it is.
    let edit = |files: &[&str], fails: bool, nth: usize| json!({ "files": files, "text": format!("v{number}.{nth}"), "fails": fails });
    let resolve = |id: Option<u32>, apply: bool| {
        let action = if apply { "apply" } else { "discard" };
        match id {
            Some(id) => json!({ "action": action, "reason": "model", "id": format!("p{id}") }),
            None => json!({ "action": action, "reason": "model" }),
        }
    };
    let (one, other) = (format!("c{number}"), format!("d{number}"));
    match reply {
        Reply::Edit { files, fails } => Turn::new().call(&one, "edit", &edit(files, *fails, 1)),
        Reply::EditTwice { files } => Turn::new().call(&one, "edit", &edit(files, false, 1)).call(
            &other,
            "edit",
            &edit(files, false, 2),
        ),
        Reply::Resolve { id, apply } => Turn::new().call(&one, "resolve", &resolve(*id, *apply)),
        Reply::EditAndResolve { files, apply } => Turn::new()
            .call(&one, "edit", &edit(files, false, 1))
            .call(&other, "resolve", &resolve(None, *apply)),
        Reply::GoBack { step } => {
            let arguments = json!({ "category": "failure", "step": format!("n{step}"), "summary": "s" });
            Turn::new().call(&one, "revert_to_state", &arguments)
        }
        Reply::Say => Turn::say("words"),
    }
}

/// A decision that was given: the reason that marks it, and how often the proposal had been put aside as it was seen.
type Given = BTreeMap<String, u32>;

async fn live(replies: Vec<Reply>, acts: Vec<(Act, End)>, approval: Approval) -> Result<(), TestCaseError> {
    let world = World::default();
    let inner = Arc::new(MemoryStore::new());
    let next = Arc::new(AtomicUsize::new(0));
    let script = move |_: &_| {
        let at = next.fetch_add(1, Ordering::SeqCst);
        replies.get(at).map_or_else(|| Turn::say("done"), |reply| turn(reply, at))
    };
    let mut limits = Limits::default();
    limits.turns = 20;
    let agent = Agent::builder(Scripted::new("test", "script", script)).system("You work.");
    let agent = agent.approval(approval).with_revert().limits(limits);
    let agent = agent.tools(vec![Box::new(Edit(world.clone())) as Box<dyn Tool>]).build().map_err(failed)?;

    let (mut id, mut given, mut looks) = (None, Given::new(), BTreeMap::<u32, u32>::new());
    for (number, (act, end)) in std::iter::once((Act::Prompt, End::Itself)).chain(acts).enumerate() {
        let writes = if let End::AtWrite(left) = end { left } else { usize::MAX };
        let death = [Death::Lost, Death::Kept, Death::Fenced][writes % 3];
        world.left.store(if let End::InApply(left) = end { left } else { usize::MAX }, Ordering::SeqCst);
        let store: Arc<dyn SessionStore> = Arc::new(Mortal::new(inner.clone(), writes, death));
        let life = async {
            let mut session = match &id {
                None => agent.start(store, "t", None).await?,
                Some(id) => agent.open(store, id).await?,
            };
            id = Some(session.id().clone());
            one_act(&mut session, &*inner, &world, (&act, number), (&mut given, &mut looks)).await
        };
        let ended = tokio::select! {
            ended = life => ended,
            () = world.died.notified() => Ok(()),
        };
        if let Err(fault) = ended {
            let killed = matches!(fault, RuntimeError::Store(_) | RuntimeError::TakenOver { .. });
            let refused = matches!(fault, RuntimeError::Refused { .. } | RuntimeError::Proposal(_));
            prop_assert!(refused || killed && writes < usize::MAX, "{fault}: {fault:?}");
        }
        if let Some(id) = &id {
            honest(&inner.load(id).await.map_err(failed)?, &world, &given, approval)?;
        }
    }

    // However it went: with nobody dying, all comes to an end that some person can bring about.
    let Some(id) = id else { return Ok(()) };
    world.left.store(usize::MAX, Ordering::SeqCst);
    let mut session = agent.open(inner.clone(), &id).await.map_err(failed)?;
    for _ in 0..12 {
        match session.resume(&Cancel::new()).await {
            Ok(_) | Err(RuntimeError::Refused { .. } | RuntimeError::Proposal(_)) => {}
            Err(fault) => return Err(failed(fault)),
        }
        let undecided: Vec<ProposalId> = session.proposals().unsettled().map(|entry| entry.id).collect();
        if undecided.is_empty() && session.open_run().is_none() {
            break;
        }
        for id in undecided {
            let state = session.proposals().get(id).map(|entry| entry.state);
            if matches!(state, Some(State::Proposed | State::Failed)) {
                // Where it cannot be discarded yet the next drive brings it there.
                drop(session.decide(id, Verdict::Discard, "the end").await);
            }
        }
    }
    let left: Vec<String> =
        session.proposals().unsettled().map(|entry| format!("{} {}", entry.id, entry.state)).collect();
    prop_assert!(
        left.is_empty() && session.open_run().is_none(),
        "{left:?} is left:\n{}",
        notation::print_tree(session.tree())
    );
    honest(&inner.load(&id).await.map_err(failed)?, &world, &given, approval)?;
    whole(&session, &world)
}

/// Does one thing. What was decided bears a reason of its own.
async fn one_act(
    session: &mut Session,
    store: &dyn SessionStore,
    world: &World,
    (act, number): (&Act, usize),
    (given, looks): (&mut Given, &mut BTreeMap<u32, u32>),
) -> Result<(), RuntimeError> {
    let cancel = Cancel::new();
    let reason = format!("given {number}");
    let said = |approve: bool| {
        let verdict = if approve { Verdict::Approve } else { Verdict::Discard };
        Said::new(verdict, reason.clone())
    };
    match *act {
        Act::Prompt => session.prompt("go", &cancel).await.map(drop),
        Act::Resume => session.resume(&cancel).await.map(drop),
        Act::Decide { id, approve, only } => {
            let Some(entry) = session.proposals().get(ProposalId(id)) else { return Ok(()) };
            looks.insert(id, entry.put_aside);
            given.insert(reason.clone(), entry.put_aside);
            let said = said(approve).only(only.map(str::to_owned).filter(|_| approve));
            session.decide_with(ProposalId(id), said).await
        }
        Act::Letter { id, approve, late } => {
            let Some(entry) = session.proposals().get(ProposalId(id)) else { return Ok(()) };
            let now = entry.put_aside;
            // Somebody who saw it earlier, perhaps on a branch that has been left since.
            let seen = if late { looks.get(&id).copied().unwrap_or(now) } else { now };
            looks.entry(id).or_insert(now);
            given.insert(reason.clone(), seen);
            let request = Order::Verdict { proposal: ProposalId(id), said: said(approve), seen: Some(seen) };
            orders::post(store, session.id(), &request, Timestamp(1)).await.map(drop)
        }
        Act::Revert(node) => session.revert(NodeId::new(node), Some("s")).await,
        Act::Undo => session.undo().await,
        Act::Redo => session.redo().await,
        Act::Meddle { file, remove } => {
            let mut disk = world.disk.lock().unwrap();
            disk.meddled += 1;
            let text = format!("mine {number}");
            if remove {
                disk.files.remove(file)
            } else {
                disk.files.insert(file.to_owned(), text)
            };
            Ok(())
        }
    }
}

/// Holds the log against what was written.
fn honest(log: &Log, world: &World, given: &Given, approval: Approval) -> Result<(), TestCaseError> {
    let mut may_write: BTreeMap<(String, String), usize> = BTreeMap::new();
    // Approvals of each that stand, and have not led to an apply that failed.
    let mut standing: BTreeMap<ProposalId, usize> = BTreeMap::new();
    for (at, (_, record)) in log.records.iter().enumerate() {
        let Record::Note(note) = record else { continue };
        if note.layer != "resolve" || note.kind != "event" {
            continue;
        }
        let event: Event<Value> = serde_json::from_str(&note.body).map_err(failed)?;
        let id = event.proposal;
        let before = || View::of(&Log::new(log.info.clone(), log.records[..at].to_vec())).map_err(failed);
        match &event.change {
            Change::Decided { verdict: Verdict::Approve, by, reason, .. } => {
                *standing.entry(id).or_default() += 1;
                let who = match approval {
                    Approval::Person => by.kind == ActorKind::Person,
                    Approval::Model => matches!(by.kind, ActorKind::Model | ActorKind::Person),
                    _ => matches!(by.kind, ActorKind::Policy | ActorKind::Person),
                };
                prop_assert!(who, "{id} was approved by the {by}");
                if by.kind == ActorKind::Person {
                    let seen = given.get(reason);
                    prop_assert!(seen.is_some(), "nobody said {reason:?} of {id}");
                    let view = before()?;
                    let now = view.proposals().get(id).map(|entry| entry.put_aside);
                    prop_assert_eq!(seen.copied(), now, "{} was approved as it had been seen elsewhere", id);
                }
            }
            Change::Superseded { .. } | Change::Expired => drop(standing.remove(&id)),
            Change::Finished { outcome: Outcome::Failed { .. }, .. } => drop(standing.remove(&id)),
            Change::Began { .. } => {
                let view = before()?;
                let entry = view.proposals().get(id).ok_or_else(|| failed("it was never staged"))?;
                prop_assert_eq!(entry.state, State::Approved, "{} began", id);
                prop_assert_eq!(standing.get(&id), Some(&1), "{} began by one approval", id);
                let node = entry.proposal.call.as_ref().and_then(|call| call.node.parse::<NodeId>().ok());
                let here = node.is_some_and(|node| view.tree().trunk().ids().contains(&node));
                prop_assert!(here, "{id} began on a branch that is not its own");
                let text = entry.proposal.payload["text"].as_str().unwrap_or_default();
                for file in entry.part() {
                    *may_write.entry((file.to_owned(), text.to_owned())).or_default() += 1;
                }
            }
            _ => {}
        }
    }
    let disk = world.disk.lock().unwrap();
    prop_assert!(disk.over.is_empty(), "written over what nobody had seen: {:?}", disk.over);
    let mut did: BTreeMap<(String, String), usize> = BTreeMap::new();
    for write in &disk.written {
        *did.entry(write.clone()).or_default() += 1;
    }
    for (write, times) in &did {
        let allowed = may_write.get(write).copied().unwrap_or_default();
        prop_assert!(*times <= allowed, "{write:?} was written {times} times by {allowed} attempts");
    }
    Ok(())
}

/// What is over is there as a whole or not at all, unless somebody else wrote in between.
fn whole(session: &Session, world: &World) -> Result<(), TestCaseError> {
    let disk = world.disk.lock().unwrap();
    for entry in session.proposals().iter() {
        let text = entry.proposal.payload["text"].as_str().unwrap_or_default();
        let wrote = |file: &str| disk.written.iter().any(|(at, what)| at == file && what == text);
        if entry.state == State::Applied {
            prop_assert!(entry.part().all(wrote), "{} counts as applied", entry.id);
        } else if PUTS_BACK && disk.meddled == 0 {
            let there = disk.files.iter().filter(|(_, found)| *found == text).count();
            prop_assert!(there == 0, "{} is {} and {there} of its files are there", entry.id, entry.state);
        }
        let absent = entry.proposal.after.iter().all(|print| print.state != SubjectState::Absent);
        prop_assert!(absent, "nothing here removes files");
    }
    Ok(())
}

fn failed(fault: impl std::fmt::Display) -> TestCaseError {
    TestCaseError::fail(fault.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn whatever_is_written_was_approved_as_it_stands_and_all_comes_to_an_end(
        replies in prop::collection::vec(reply(), 1..9),
        acts in prop::collection::vec((act(), end()), 0..12),
        approval in prop_oneof![3 => Just(Approval::Person), 2 => Just(Approval::Model), 1 => Just(Approval::Always)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(live(replies, acts, approval))?;
    }
}
