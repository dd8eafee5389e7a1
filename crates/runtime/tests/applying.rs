//! How an approved proposal is applied: kept before, compared as late as possible, cancelled or brought to its end.

use std::collections::BTreeSet;
use std::sync::Arc;

use expect_test::expect;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Timestamp, ToolSpec};
use trunkline_runtime::orders::{Order, post};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{
    Entry, Fingerprint, Outcome, ProposalId, RuleVerdict, State, Verdict,
};
use trunkline_runtime::session_store::{MemoryStore, Record, SessionStore};
use trunkline_runtime::{Approval, Cancel, Executor, Kept, Said, Session, Tool, ToolContext, ToolOutput};

use crate::many::{Disk, Halt, Lacks, Many};
use crate::recovering::{BEFORE_ANY, agent, edits, soon, three, words};
use crate::rules::on_path;
use crate::story::{World, replies, stop_line};

/// A session in which `p1` is approved and waits to be applied.
async fn approved(world: &World, disk: &Disk, lacks: Lacks, call: Turn) -> (Session, Arc<MemoryStore>) {
    disk.put("a", "old");
    disk.put("b", "there");
    let turns = vec![call, Turn::say("done"), Turn::say("well")];
    let agent = world.agent(replies(turns)).tool(Many { disk: disk.clone(), lacks });
    let agent = agent.clock(|| Timestamp(1_000)).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = agent.start(store.clone(), "t", None).await.unwrap();
    assert_eq!(stop_line(&session.prompt("go", &Cancel::new()).await), "waiting for p1");
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    (session, store)
}

fn state(session: &Session) -> State {
    session.proposals().get(ProposalId(1)).unwrap().state
}

#[tokio::test]
async fn what_is_written_over_is_in_the_log_before_the_first_byte() {
    let (world, disk) = (World::default(), Disk::default());
    let (mut session, store) = approved(&world, &disk, Lacks::Nothing, three()).await;
    disk.break_after(BEFORE_ANY, Halt::Stop);
    let id = session.id().clone();
    let cancel = Cancel::new();
    tokio::select! {
        biased;
        () = disk.stopped.notified() => {}
        stop = session.resume(&cancel) => panic!("{stop:?}"),
    }
    assert!(disk.writes.lock().unwrap().is_empty());
    let log = store.load(&id).await.unwrap();
    let tail: Vec<String> = log
        .records
        .iter()
        .rev()
        .take(4)
        .rev()
        .map(|(_, record)| match record {
            Record::Blob(blob) => {
                format!("{} {} {}", blob.layer, blob.kind, String::from_utf8_lossy(&blob.bytes))
            }
            Record::Note(note) => format!("{} {} {}", note.layer, note.kind, note.body),
            Record::Entry(_) => "an entry".to_owned(),
        })
        .collect();
    expect![[r#"
        resolve preimage old
        resolve preimage there
        resolve kept {"proposal":"p1","attempt":1,"kept":[{"fingerprint":{"subject":"a","state":{"digest":"old"}},"blob":"cba06b5736faf67e54b07b561eae94395e774c517a7d910a54369e1263ccfbd4"},{"fingerprint":{"subject":"b","state":{"digest":"there"}},"blob":"e244f187f696561d5fd7e00f618e7ba641dc52e3c137380f6fa23a854b773aac"},{"fingerprint":{"subject":"c","state":"absent"}}]}
        resolve event {"proposal":"p1","at":1000,"change":{"began":{"attempt":1,"leased":{"holder":"writer 1","until":61000},"preimages":[{"subject":"a","state":{"digest":"old"}},{"subject":"b","state":{"digest":"there"}},{"subject":"c","state":"absent"}]}}}"#]].assert_eq(&tail.join("\n"));
}

#[tokio::test]
async fn a_part_is_applied_with_the_words_of_who_decided_and_the_rest_stays() {
    let (world, disk) = (World::default(), Disk::default());
    disk.put("a", "old");
    disk.put("b", "there");
    let turns = vec![three(), Turn::say("done")];
    let agent = world.agent(replies(turns)).tool(Many { disk: disk.clone(), lacks: Lacks::Nothing });
    let agent = agent.build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    let said = Said::new(Verdict::Approve, "only these").only(["a".to_owned(), "c".to_owned()]);
    session.decide_with(ProposalId(1), said).await.unwrap();
    // What was left out may change as it likes.
    disk.put("b", "changed");
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new b=changed c=made");
    assert_eq!(*disk.heard.lock().unwrap(), ["only these"]);
}

#[tokio::test]
async fn what_was_only_read_must_be_as_it_was_too() {
    let (world, disk) = (World::default(), Disk::default());
    let mut call = edits(&[("a", Some("new"))]);
    call["reads"] = json!(["b"]);
    let call = Turn::new().call("c1", "many", &call);
    let (mut session, _) = approved(&world, &disk, Lacks::Nothing, call).await;
    disk.put("b", "changed");
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=old b=changed");
    expect!["n4 harness: p1 was not applied and is dropped: b changed after the preview. Look again and propose anew."]
        .assert_eq(&words(&session));
}

#[tokio::test]
async fn a_drive_that_is_cancelled_before_the_first_byte_writes_nothing_and_says_so() {
    for by_letter in [false, true] {
        let (world, disk) = (World::default(), Disk::default());
        let (mut session, store) = approved(&world, &disk, Lacks::Nothing, three()).await;
        disk.break_after(BEFORE_ANY, Halt::Wait);
        let cancel = Cancel::new();
        let id = session.id().clone();
        let stops = async {
            disk.stopped.notified().await;
            match by_letter {
                true => drop(post(store.as_ref(), &id, &Order::Cancel, Timestamp(1)).await.unwrap()),
                false => cancel.cancel(),
            }
            cancel.cancelled().await;
            tokio::task::yield_now().await;
            disk.go_on.notify_one();
        };
        let (stop, ()) = soon(async { tokio::join!(session.resume(&cancel), stops) }).await;
        assert_eq!(stop_line(&stop), "cancelled");
        assert_eq!((disk.now().as_str(), state(&session)), ("a=old b=there", State::Failed));
        expect!["n4 harness: p1 could not be applied: cancelled. It is kept: apply it again or discard it."]
            .assert_eq(&words(&session));
        // It is not tried again by itself.
        assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "waiting for p1");
        session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(disk.now(), "a=new c=made");
    }
}

#[tokio::test]
async fn a_drive_that_is_cancelled_after_the_first_byte_brings_the_apply_to_its_end() {
    let (world, disk) = (World::default(), Disk::default());
    let (mut session, _) = approved(&world, &disk, Lacks::Nothing, three()).await;
    disk.break_after(BEFORE_ANY + 1, Halt::Wait);
    let cancel = Cancel::new();
    let stops = async {
        disk.stopped.notified().await;
        cancel.cancel();
        tokio::task::yield_now().await;
        disk.go_on.notify_one();
    };
    let (stop, ()) = soon(async { tokio::join!(session.resume(&cancel), stops) }).await;
    assert_eq!(stop_line(&stop), "cancelled");
    assert_eq!((disk.now().as_str(), state(&session)), ("a=new c=made", State::Applied));
}

#[tokio::test]
async fn a_tool_that_keeps_nothing_is_applied_as_before() {
    let (world, disk) = (World::default(), Disk::default());
    let (mut session, store) = approved(&world, &disk, Lacks::Keep, three()).await;
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new c=made");
    let log = store.load(session.id()).await.unwrap();
    assert!(!log.records.iter().any(|(_, record)| matches!(record, Record::Blob(_))));
}

#[tokio::test]
async fn of_more_than_can_be_kept_nothing_is_and_it_is_applied_all_the_same() {
    let (world, disk) = (World::default(), Disk::default());
    let large = "x".repeat(64 * 1024 * 1024);
    disk.put("c", &large);
    let (mut session, store) = approved(&world, &disk, Lacks::Nothing, three()).await;
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new c=made");
    let log = store.load(session.id()).await.unwrap();
    assert!(!log.records.iter().any(|(_, record)| matches!(record, Record::Blob(_))));
    assert!(session.take_back(ProposalId(1)).await.is_err());
}

#[tokio::test]
async fn what_cannot_be_kept_as_it_is_is_not_written_over() {
    let (world, disk) = (World::default(), Disk::default());
    let (mut session, _) = approved(&world, &disk, Lacks::Truth, three()).await;
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "waiting for p1");
    assert_eq!((disk.now().as_str(), state(&session)), ("a=old b=there", State::Failed));
    expect!["n4 harness: p1 could not be applied: a changed while it was read. It is kept: apply it again or discard it."]
        .assert_eq(&words(&session));
}

/// The tool `many`, with somebody who writes to a file between its two looks.
struct Raced {
    many: Many,
    times: std::sync::Mutex<u32>,
}

#[async_trait::async_trait]
impl Tool for Raced {
    fn spec(&self) -> ToolSpec {
        self.many.spec()
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let mut output = self.many.run(arguments, context).await;
        // What is there before is nobody's business, so only what is kept can tell.
        output.proposals.iter_mut().for_each(|proposal| proposal.fingerprints.clear());
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait::async_trait]
impl Executor for Raced {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        self.many.observe(subjects).await
    }

    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        let kept = self.many.keep(entry).await;
        let mut times = self.times.lock().unwrap();
        if *times > 0 {
            *times -= 1;
            self.many.disk.put("a", &format!("written meanwhile, {times}"));
        }
        kept
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        self.many.apply(entry, context).await
    }
}

#[tokio::test]
async fn what_is_written_between_the_two_looks_is_looked_at_once_more() {
    for (times, end) in [(1, State::Applied), (2, State::Failed)] {
        let (world, disk) = (World::default(), Disk::default());
        let many = Many { disk: disk.clone(), lacks: Lacks::Nothing };
        let tool = Raced { many, times: std::sync::Mutex::new(times) };
        let call = Turn::new().call("c1", "many", &edits(&[("a", Some("new"))]));
        let agent = world.agent(replies(vec![call, Turn::say("done")])).tool(tool).build().unwrap();
        let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
        session.prompt("go", &Cancel::new()).await.unwrap();
        session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(state(&session), end);
        assert_eq!(disk.writes.lock().unwrap().len(), usize::from(end == State::Applied));
    }
}

#[tokio::test]
async fn a_tool_hears_of_a_discard_and_may_have_its_own_words() {
    for (reason, words_of_it) in [
        ("wrong", "n4 harness: A person declined p1. Discarded: edit a, b, c. Reason: wrong"),
        ("own words", "n4 harness: A person declined p1. The tool has thrown it away."),
    ] {
        let (world, disk) = (World::default(), Disk::default());
        let agent = agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
        let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
        session.prompt("go", &Cancel::new()).await.unwrap();
        session.decide(ProposalId(1), Verdict::Discard, reason).await.unwrap();
        assert_eq!(words(&session), words_of_it);
        assert_eq!(*disk.heard.lock().unwrap(), [format!("p1-end-1 discarded: {reason}")]);
    }
}

#[tokio::test]
async fn a_tool_hears_of_a_discard_by_the_model_too() {
    let (world, disk) = (World::default(), Disk::default());
    let discard = json!({ "action": "discard", "reason": "own words", "id": "p1" });
    let turns = vec![three(), Turn::new().call("c2", "resolve", &discard), Turn::say("done")];
    let agent = agent(&world, &disk, turns).approval(Approval::Model).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    let tree = trunkline_runtime::message_tree::notation::print_tree(session.tree());
    assert!(tree.contains("result c2: The tool has thrown it away."), "{tree}");
}

#[tokio::test]
async fn of_what_is_forbidden_in_part_a_person_approves_the_rest_only() {
    let (world, disk) = (World::default(), Disk::default());
    let agent = agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    session.give_rule(on_path(RuleVerdict::Deny, "b")).await.unwrap();
    let part = |paths: &[&str]| {
        let only: BTreeSet<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        Said::new(Verdict::Approve, "").only(only)
    };
    for forbidden in [&[][..], &["a", "b"]] {
        let refused = session.decide_with(ProposalId(1), part(forbidden)).await.unwrap_err();
        assert!(
            refused.to_string().starts_with("p1 cannot be approved: it is forbidden by r1;"),
            "{refused}"
        );
    }
    session.decide_with(ProposalId(1), part(&["a", "c"])).await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new b=there c=made");
}
