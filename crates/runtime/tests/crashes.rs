//! Tools that panic: whatever they are asked, the session goes on and the truth is told.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use expect_test::{Expect, expect};
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{Message, ToolSpec};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::resolve_queue::Entry;
use trunkline_runtime::resolve_queue::{Fingerprint, Outcome, ProposalId, Verdict};
use trunkline_runtime::{Access, Approval, Executor, Gate, Tool, ToolContext, ToolOutput};

use crate::seed::{Looks, check_log, read};
use crate::story::{Story, World, replies, stop_line, tools};

#[tokio::test]
async fn s24_the_result_of_a_tool_that_panics_bears_the_id_of_its_call() {
    let turn = read("c1").call("c2", "panic", &json!({ "path": "a" })).call("c3", "look", &json!({})).call(
        "c4",
        "look",
        &json!({}),
    );
    let world = World::default();
    let agent = world
        .agent(replies(vec![turn, Turn::say("done"), Turn::say("still here")]))
        .tool(Looks(|| panic!("a tool that crashes beside others")))
        .approval(Approval::Always);
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    let mut story = story.restart().await;
    story.prompt("and now?").await.unwrap();
    let results = story.session.tree().trunk().messages().flat_map(Message::results);
    let ids: Vec<_> = results.map(|result| (result.call_id.as_str(), result.is_error)).collect();
    assert_eq!(ids, [("c1", true), ("c2", true), ("c3", true), ("c4", true)]);
    check_log(&story).await;
}

/// The tool `edit` under another name, which crashes in one of its functions.
struct Brittle {
    edit: Box<dyn Tool>,
    /// Where it crashes; may be changed between drives.
    at: Arc<Mutex<&'static str>>,
    /// Of which attempts it was asked how they have left things.
    cut_off: Arc<Mutex<Vec<String>>>,
}

impl Brittle {
    fn crash(&self, at: &str) {
        // The lock must not be held by whoever panics.
        let crashes = *self.at.lock().unwrap() == at;
        assert!(!crashes, "a tool that crashes in {at}");
    }
}

#[async_trait]
impl Tool for Brittle {
    fn spec(&self) -> ToolSpec {
        self.crash("spec");
        ToolSpec { name: "brittle".to_owned(), ..self.edit.spec() }
    }

    fn access(&self) -> Access {
        self.crash("access");
        Access::Proposes
    }

    fn gate(&self, _: &Map<String, Value>) -> Option<Gate> {
        self.crash("gate");
        (*self.at.lock().unwrap() == "spec").then(|| Gate::new("edit", ""))
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let mut output = self.edit.run(arguments, context).await;
        output.proposals.iter_mut().for_each(|proposal| proposal.source_tool = "brittle".to_owned());
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Brittle {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        tokio::task::yield_now().await;
        self.crash("observe");
        self.edit.as_executor().unwrap().observe(subjects).await
    }

    async fn observe_cut_off(&self, entry: &Entry<Value>, subjects: &[String]) -> Vec<Fingerprint> {
        self.cut_off.lock().unwrap().push(entry.attempt().to_string());
        self.observe(subjects).await
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        self.crash("apply");
        let applied = self.edit.as_executor().unwrap().apply(entry, context).await;
        tokio::task::yield_now().await;
        self.crash("the end of apply");
        applied
    }
}

async fn begin(approval: Approval, at: &'static str) -> (Story, Arc<Mutex<&'static str>>) {
    begin_asked(approval, at, Arc::default()).await
}

async fn begin_asked(
    approval: Approval,
    at: &'static str,
    cut_off: Arc<Mutex<Vec<String>>>,
) -> (Story, Arc<Mutex<&'static str>>) {
    let world = World::default();
    let edit = tools(&world).into_iter().find(|tool| tool.spec().name == "edit").unwrap();
    let crashes = Arc::new(Mutex::new(""));
    let call = Turn::new().call("c1", "brittle", &json!({ "path": "a", "text": "new" }));
    let agent = world
        .agent(replies(vec![call, Turn::say("done"), Turn::say("still here")]))
        .tool(Brittle { edit, at: Arc::clone(&crashes), cut_off })
        .approval(approval);
    let story = Story::begin(world, agent).await;
    *crashes.lock().unwrap() = at;
    (story, crashes)
}

/// Checks what the model was told, what was done, and that the log holds the same.
async fn check(story: &Story, stop: &str, expected: Expect) {
    let tree = story.tree();
    let words: Vec<&str> =
        tree.lines().filter(|line| line.contains("result") || line.contains("harness:")).collect();
    let told = story.world.told.lock().unwrap().join(", ");
    let done = story.world.effects().join(", ");
    expected.assert_eq(&format!("{}\n-- did: {done}\n-- queue: {told}\n-- {stop}\n", words.join("\n")));
    check_log(story).await;
}

#[tokio::test]
async fn s24_a_tool_that_panics_in_its_gate_has_not_run_and_its_call_says_so() {
    let (mut story, _) = begin(Approval::Person, "gate").await;
    let stop = stop_line(&story.prompt("do it").await);
    check(
        &story,
        &stop,
        expect![[r#"
            n3 result c1!: not run: the tool crashed when it was asked what has to be approved
            -- did: 
            -- queue: 
            -- decided other: answered
        "#]],
    )
    .await;
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.prompt("and now?").await), "decided other: answered");
}

#[tokio::test]
async fn a_tool_that_panics_when_asked_what_it_is_by_then_is_taken_for_one_that_may_do_anything() {
    let (mut story, _) = begin(Approval::Always, "access").await;
    let stop = stop_line(&story.prompt("do it").await);
    check(
        &story,
        &stop,
        expect![[r#"
            n3 result c1: a preview
            n4 harness: Applied p1. Written.
            -- did: wrote a
            -- queue: p1 staged, p1 decided, p1 began, p1 finished
            -- decided other: answered
        "#]],
    )
    .await;
    // Its specification was read when the agent was built.
    let (mut story, _) = begin(Approval::Person, "spec").await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
}

#[tokio::test]
async fn what_a_tool_that_panics_could_not_compare_is_not_applied() {
    let (mut story, _) = begin(Approval::Person, "observe").await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let mut story = story.restart().await;
    let stop = stop_line(&story.resume().await);
    check(&story, &stop, expect![[r#"
        n3 result c1: a preview
        n4 harness: p1 was not applied and is dropped: its tool could not look at the files. Look again and propose anew.
        -- did: 
        -- queue: p1 staged, p1 decided, p1 went_stale, p1 decided
        -- decided other: answered
    "#]]).await;
}

#[tokio::test]
async fn a_tool_that_panics_before_it_wrote_is_looked_after_and_a_person_is_asked_again() {
    let (mut story, crashes) = begin(Approval::Person, "apply").await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    let stop = stop_line(&story.resume().await);
    check(
        &story,
        &stop,
        expect![[r#"
            n3 result c1: a preview
            n4 harness: It is not known whether p1 was applied: the tool crashed while it applied it.
            -- did: 
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p1 recovered
            -- waiting for p1
        "#]],
    )
    .await;
    *crashes.lock().unwrap() = "";
    let mut story = story.restart().await;
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    story.resume().await.unwrap();
    assert_eq!(story.world.effects(), ["wrote a"]);
}

#[tokio::test]
async fn a_tool_is_told_which_attempt_it_looks_after() {
    let cut_off = Arc::default();
    let (mut story, crashes) = begin_asked(Approval::Person, "apply", Arc::clone(&cut_off)).await;
    story.prompt("do it").await.unwrap();
    for _ in 0..2 {
        story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
        story.resume().await.unwrap();
    }
    *crashes.lock().unwrap() = "";
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    story.resume().await.unwrap();
    assert_eq!(*cut_off.lock().unwrap(), ["p1-1", "p1-2"], "and of none before it has begun");
}

#[tokio::test]
async fn a_tool_that_panics_before_it_wrote_is_not_tried_for_ever() {
    let (mut story, _) = begin(Approval::Always, "apply").await;
    let stop = stop_line(&story.prompt("do it").await);
    check(
        &story,
        &stop,
        expect![[r#"
            n3 result c1: a preview
            n4 harness: It is not known whether p1 was applied: the tool crashed while it applied it.
            n5 harness: p1 was dropped: it could not be applied. Nothing is left to do for it.
            -- did: 
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p1 recovered, p1 decided
            -- decided other: answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_tool_that_panics_after_it_wrote_has_written() {
    let (mut story, _) = begin(Approval::Always, "the end of apply").await;
    let stop = stop_line(&story.prompt("do it").await);
    check(
        &story,
        &stop,
        expect![[r#"
            n3 result c1: a preview
            n4 harness: It is not known whether p1 was applied: the tool crashed while it applied it.
            n5 harness: p1 (edit a) was applied after all.
            -- did: wrote a
            -- queue: p1 staged, p1 decided, p1 began, p1 finished, p1 recovered
            -- decided other: answered
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_session_can_be_taken_up_although_the_tool_that_has_to_look_panics() {
    let (mut story, crashes) = begin(Approval::Person, "").await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    // The drive dies with its process in the middle of the apply.
    let mut drive = Box::pin(story.session.resume(&story.cancel));
    while story.world.effects().is_empty() {
        std::future::poll_fn(|context| {
            let _ = drive.as_mut().poll(context);
            std::task::Poll::Ready(())
        })
        .await;
        tokio::task::yield_now().await;
    }
    drop(drive);
    *crashes.lock().unwrap() = "observe";
    let mut story = story.restart().await;
    let stop = stop_line(&story.resume().await);
    check(&story, &stop, expect![[r#"
        n3 result c1: a preview
        n4 harness: p1 (edit a) was cut off while it was applied, and its tool could not look at the files. It is dropped; look at the files before you go on.
        -- did: wrote a
        -- queue: p1 staged, p1 decided, p1 began, p1 recovered, p1 recovered, p1 decided
        -- decided other: answered
    "#]]).await;
}
