//! What a tool says of its proposals, and what is made of it.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{NodeId, ToolSpec};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::{
    Actor, ActorKind, Entry, Fingerprint, Outcome, Preview, ProposalId, Rule, RuleVerdict, State, Verdict,
};
use trunkline_runtime::session_store::MemoryStore;
use trunkline_runtime::{
    Access, Approval, Cancel, Executor, Kept, Proposal, RuntimeError, Session, Tool, ToolContext, ToolOutput,
};

use crate::many::{Disk, Halt, Lacks, Many};
use crate::recovering::{BEFORE_ANY, three, words};
use crate::rules::{of_tool, on_path};
use crate::story::{World, replies, stop_line};

/// Somebody else's tool: the tool of the many files, called `custom`, which says what it likes of its proposals.
struct Custom {
    many: Many,
    says: fn(&mut Vec<Proposal>),
    context: Arc<Mutex<Option<Cancel>>>,
}

impl Custom {
    fn new(disk: &Disk, says: fn(&mut Vec<Proposal>)) -> Self {
        let many = Many { disk: disk.clone(), lacks: Lacks::Nothing };
        Custom { many, says, context: Arc::default() }
    }
}

#[async_trait]
impl Tool for Custom {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("custom", "A test.", json!({ "type": "object" }))
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let mut output = self.many.run(arguments, context).await;
        (self.says)(&mut output.proposals);
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Custom {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        self.many.observe(subjects).await
    }

    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        self.many.keep(entry).await
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        *self.context.lock().unwrap() = Some(context.cancel.clone());
        self.many.apply(entry, context).await
    }

    async fn undo(&self, entry: &Entry<Value>, kept: &[Kept]) -> Option<(Value, Preview)> {
        self.many.undo(entry, kept).await
    }
}

#[expect(clippy::ptr_arg, reason = "one of several, and others add to the list")]
fn nobody(proposals: &mut Vec<Proposal>) {
    proposals[0].source_tool = "custom_tool".to_owned();
}

fn custom() -> Turn {
    Turn::new().call("c1", "custom", &json!({ "edits": { "a": "new" } }))
}

/// A session in which `custom` has staged something.
async fn staged(custom_tool: Custom, rules: Vec<Rule>, approval: Approval) -> (Session, String) {
    let world = World::default();
    let agent = world.agent(replies(vec![custom(), Turn::say("done"), Turn::say("seen")]));
    let many = Many { disk: custom_tool.many.disk.clone(), lacks: Lacks::Nothing };
    let agent = agent.tool(custom_tool).tool(many).rules(rules).approval(approval).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    let stop = stop_line(&session.prompt("go", &Cancel::new()).await);
    (session, stop)
}

#[tokio::test]
async fn what_a_custom_tool_did_is_taken_back_by_that_tool() {
    let disk = Disk::default();
    disk.put("a", "old");
    let (mut session, _) = staged(Custom::new(&disk, nobody), Vec::new(), Approval::Person).await;
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new");
    for (id, now) in [(2, "a=old"), (3, "a=new")] {
        assert_eq!(session.take_back(ProposalId(id - 1)).await.unwrap(), ProposalId(id));
        session.decide(ProposalId(id), Verdict::Approve, "").await.unwrap();
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(disk.now(), now);
    }
}

#[tokio::test]
async fn what_nobody_here_can_apply_fails_once_and_waits_again() {
    let (world, disk) = (World::default(), Disk::default());
    disk.put("a", "old");
    let with = |turns| world.agent(replies(turns));
    let able = with(vec![custom(), Turn::say("done")]).tool(Custom::new(&disk, |_| {})).build().unwrap();
    let store = Arc::new(MemoryStore::new());
    let mut session = able.start(store.clone(), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let id = session.id().clone();
    drop(session);
    let lacking = with(vec![Turn::say("well"), Turn::say("fine")]).build().unwrap();
    let mut session = lacking.open(store.clone(), &id).await.unwrap();
    let fault = session.resume(&Cancel::new()).await.unwrap_err();
    assert!(matches!(fault, RuntimeError::NoExecutor { .. }), "{fault:?}");
    expect![[r#"n4 harness: p1 could not be applied: its tool "many" is not here. It is kept: apply it again or discard it."#]]
        .assert_eq(&words(&session));
    // Said once; then it waits like anything that failed.
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "waiting for p1");
    drop(session);
    let mut session = able.open(store.clone(), &id).await.unwrap();
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new");
}

#[tokio::test]
async fn a_rule_for_a_tool_holds_for_what_it_stages_in_another_name() {
    let allow = |tool| of_tool(RuleVerdict::Allow, tool);
    let deny = |tool| of_tool(RuleVerdict::Deny, tool);
    let ask = |tool| of_tool(RuleVerdict::Ask, tool);
    let as_many: fn(&mut Vec<Proposal>) = |_| {};
    for (says, rules, state) in [
        // It names another tool.
        (as_many, vec![allow("many"), deny("custom")], State::Discarded),
        (as_many, vec![allow("many"), ask("custom")], State::Proposed),
        (as_many, vec![allow("many")], State::Proposed),
        (as_many, vec![allow("custom")], State::Proposed),
        (as_many, vec![allow("custom"), allow("many")], State::Applied),
        // It names nobody.
        (nobody, vec![deny("custom")], State::Discarded),
        (nobody, vec![allow("custom_tool"), deny("custom")], State::Discarded),
        (nobody, vec![deny("custom_tool"), allow("custom")], State::Discarded),
        (nobody, vec![allow("custom")], State::Applied),
        (nobody, vec![allow("custom_tool")], State::Applied),
        (nobody, vec![allow("custom_tool"), ask("custom")], State::Proposed),
    ] {
        let disk = Disk::default();
        disk.put("a", "old");
        let shown = format!("{rules:?}");
        let (session, _) = staged(Custom::new(&disk, says), rules, Approval::Person).await;
        let entry = session.proposals().get(ProposalId(1)).unwrap();
        assert_eq!(entry.state, state, "{shown}");
        assert_eq!(disk.now() == "a=new", state == State::Applied, "{shown}");
    }
}

#[tokio::test]
async fn a_rule_that_comes_later_holds_for_the_tool_whose_call_it_was() {
    let disk = Disk::default();
    disk.put("a", "old");
    let (mut session, stop) = staged(Custom::new(&disk, nobody), Vec::new(), Approval::Person).await;
    assert_eq!(stop, "waiting for p1");
    session.give_rule(of_tool(RuleVerdict::Deny, "custom")).await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(session.proposals().get(ProposalId(1)).unwrap().state, State::Discarded);
}

#[tokio::test]
async fn what_contradicts_itself_is_not_staged_and_the_call_has_its_result() {
    let says: fn(&mut Vec<Proposal>) = |proposals| {
        let mut wrong = proposals[0].clone();
        wrong.label = "two\nat once".to_owned();
        wrong.fingerprints = vec![Fingerprint::absent("a"), Fingerprint::digest("a", "x")];
        proposals.insert(0, wrong);
    };
    let disk = Disk::default();
    disk.put("a", "old");
    let (session, stop) = staged(Custom::new(&disk, says), Vec::new(), Approval::Person).await;
    assert_eq!(stop, "waiting for p1");
    let result = session.rendered().iter().flat_map(|message| message.results()).next().unwrap().text();
    expect![[r#"
        a preview
        Not staged: two at once: the proposal gives a two different fingerprints.
        Staged as p1. Nothing is written before it is approved; you will be told."#]]
    .assert_eq(&result);
}

#[tokio::test]
async fn what_a_tool_says_of_who_proposes_and_of_what_it_replaces_does_not_count() {
    let says: fn(&mut Vec<Proposal>) = |proposals| {
        proposals[0].proposed_by = Actor::new(ActorKind::Person, "anna");
        proposals[0].undo_of = Some(ProposalId(1));
        proposals[0].supersedes = vec![ProposalId(1)];
        proposals[0].staged_by = Some("somebody".to_owned());
    };
    let disk = Disk::default();
    disk.put("a", "old");
    let (session, stop) = staged(Custom::new(&disk, says), Vec::new(), Approval::Person).await;
    assert_eq!(stop, "waiting for p1");
    let proposal = &session.proposals().get(ProposalId(1)).unwrap().proposal;
    assert_eq!(proposal.proposed_by, Actor::new(ActorKind::Model, ""));
    assert_eq!((proposal.undo_of, &proposal.supersedes), (None, &Vec::new()));
    assert_eq!(proposal.staged_by.as_deref(), Some("custom"));
}

#[tokio::test]
async fn an_undo_that_a_rule_forbids_takes_the_place_of_nothing() {
    let disk = Disk::default();
    disk.put("a", "old");
    let (mut session, _) = staged(Custom::new(&disk, |_| {}), Vec::new(), Approval::Person).await;
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    session.resume(&Cancel::new()).await.unwrap();
    session.give_rule(on_path(RuleVerdict::Deny, "a")).await.unwrap();
    let refused = session.take_back(ProposalId(1)).await.unwrap_err().to_string();
    expect!["p1 cannot be undone: forbidden by r1"].assert_eq(&refused);
    assert!(session.proposals().get(ProposalId(2)).is_none());
}

#[tokio::test]
async fn a_tool_is_told_when_the_drive_is_dropped_in_the_middle_of_its_apply() {
    let disk = Disk::default();
    disk.put("a", "old");
    let tool = Custom::new(&disk, nobody);
    let context = Arc::clone(&tool.context);
    let (mut session, _) = staged(tool, Vec::new(), Approval::Person).await;
    session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    // Once to keep, once to compare.
    disk.break_after(2, Halt::Stop);
    let cancel = Cancel::new();
    tokio::select! {
        biased;
        () = disk.stopped.notified() => {}
        stop = session.resume(&cancel) => panic!("{stop:?}"),
    }
    assert!(context.lock().unwrap().as_ref().unwrap().is_cancelled());
    assert!(!cancel.is_cancelled(), "the drive is gone, and nobody else is stopped");
    // One that came to its end is not.
    session.resume(&Cancel::new()).await.unwrap();
    assert_eq!(disk.now(), "a=new");
    assert!(!context.lock().unwrap().as_ref().unwrap().is_cancelled());
}

#[tokio::test]
async fn what_was_in_flight_when_its_branch_was_left_is_not_applied_on_another() {
    for reopened in [false, true] {
        let (world, disk) = (World::default(), Disk::default());
        let agent =
            crate::recovering::agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
        let store = Arc::new(MemoryStore::new());
        let mut session = agent.start(store.clone(), "t", None).await.unwrap();
        session.prompt("go", &Cancel::new()).await.unwrap();
        session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        disk.break_after(BEFORE_ANY, Halt::Stop);
        let cancel = Cancel::new();
        tokio::select! {
            biased;
            () = disk.stopped.notified() => {}
            stop = session.resume(&cancel) => panic!("{stop:?}"),
        }
        assert_eq!(session.proposals().get(ProposalId(1)).unwrap().state, State::Applying);
        session.revert("n1".parse::<NodeId>().unwrap(), None).await.unwrap();
        if reopened {
            let id = session.id().clone();
            drop(session);
            session = agent.open(store.clone(), &id).await.unwrap();
        }
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(disk.now(), "a=old b=there", "nobody approved it here");
        assert_eq!(session.proposals().get(ProposalId(1)).unwrap().state, State::Superseded);
        // Back on its branch it comes back, and needs a decision again.
        session.undo().await.unwrap();
        session.resume(&Cancel::new()).await.unwrap();
        assert_eq!(session.proposals().get(ProposalId(1)).unwrap().state, State::Proposed);
        assert_eq!(disk.now(), "a=old b=there");
    }
}

#[tokio::test]
async fn who_approves_all_of_what_was_approved_in_part_is_told() {
    let disk = Disk::default();
    disk.put("a", "old");
    disk.put("b", "there");
    let world = World::default();
    let agent = crate::recovering::agent(&world, &disk, vec![three(), Turn::say("done")]).build().unwrap();
    let mut session = agent.start(Arc::new(MemoryStore::new()), "t", None).await.unwrap();
    session.prompt("go", &Cancel::new()).await.unwrap();
    let part = trunkline_runtime::Said::new(Verdict::Approve, "").only(["a".to_owned()]);
    session.decide_with(ProposalId(1), part.clone()).await.unwrap();
    session.decide_with(ProposalId(1), part).await.unwrap();
    let told = session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap_err().to_string();
    expect!["p1 was already approved for a alone by person; it is approved"].assert_eq(&told);
}
