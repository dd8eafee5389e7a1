//! What may be asked again, what a person's answer holds for, and what becomes of one that comes at a bad moment.
//!
//! The other half of the catalogue that `seed` begins.

use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::time::Duration;

use async_trait::async_trait;
use expect_test::expect;
use serde_json::{Map, Value, json};
use trunkline_runtime::Said;
use trunkline_runtime::message_tree::{Timestamp, ToolSpec};
use trunkline_runtime::orders::{Order, post};
use trunkline_runtime::providers::{ErrorKind, ProviderError, Turn};
use trunkline_runtime::resolve_queue::{Entry, ProposalId, Verdict};
use trunkline_runtime::session_store::{SessionId, SessionStore};
use trunkline_runtime::{Approval, Cancel, Decider, Event, Gate, Stop, Tool, ToolContext, ToolOutput};

use crate::seed::{Looks, begin, shells};
use crate::story::{Story, World, replies, stop_line};

fn shell(id: &str, path: &str) -> Turn {
    Turn::new().call(id, "shell", &json!({ "path": path }))
}

#[tokio::test]
async fn s35_what_only_an_act_could_mend_is_not_asked_again() {
    for kind in [ErrorKind::ContextTooLong, ErrorKind::Auth, ErrorKind::Quota, ErrorKind::InvalidRequest] {
        let fault = ProviderError::api(400, kind, "no");
        assert!(!fault.is_retryable(), "{kind}");
        let refused = Turn::new().fail(fault);
        let mut story = begin(Approval::Always, vec![refused, Turn::say("done")]).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "error: the model could not be asked");
        assert_eq!(story.world.requests.lock().unwrap().len(), 1, "{kind}");
        // Who has mended it goes on, and nothing was lost.
        assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    }
}

#[tokio::test]
async fn s36_an_approval_is_for_one_call_and_for_no_other_of_its_tool() {
    let turns = vec![shell("c1", "make"), shell("c2", "rm -rf /"), shell("c3", "make"), Turn::say("done")];
    let mut story = begin(Approval::Person, turns).await;
    story.prompt("do it").await.unwrap();
    for (id, verdict, next) in [
        (1, Verdict::Approve, "waiting for p2"),
        (2, Verdict::Discard, "waiting for p3"),
        (3, Verdict::Approve, "decided other: answered"),
    ] {
        story.session.decide(ProposalId(id), verdict, "").await.unwrap();
        // The approval is in the log, not in the process that was told.
        story = story.restart().await;
        assert_eq!(stop_line(&story.resume().await), next);
    }
    assert_eq!(story.world.effects(), ["ran make", "ran make"]);
}

#[tokio::test(start_paused = true)]
async fn s37_an_error_in_mid_stream_loses_nothing_and_the_same_is_asked_again() {
    let overloaded = || ProviderError::api(200, ErrorKind::Overloaded, "Overloaded");
    let turns = vec![
        Turn::new().fail(overloaded()),
        Turn::say("half a sen").fail(overloaded()),
        Turn::say("the whole sentence"),
    ];
    let mut story = begin(Approval::Always, turns).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    {
        let asked = story.world.requests.lock().unwrap();
        assert!(asked.len() == 3 && asked.iter().all(|request| request.messages == asked[0].messages));
    }
    let story = story.restart().await;
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 * n1 assistant: half a sen
        + stop cut
        n3 assistant: the whole sentence
    "#]]
    .assert_eq(&story.tree());
}

fn verdict(proposal: u32, verdict: Verdict) -> Order {
    Order::Verdict { proposal: ProposalId(proposal), said: Said::new(verdict, ""), seen: None }
}

#[tokio::test]
async fn s38_an_answer_that_comes_while_nobody_waits_for_it_is_taken() {
    let mut story = begin(Approval::Person, vec![shell("c1", "make"), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    let (store, agent, world, id) = (story.store(), story.agent.clone(), story.world.clone(), story.id());
    drop(story);
    post(store.as_ref(), &id, &verdict(1, Verdict::Approve), Timestamp(1)).await.unwrap();
    let mut session = agent.open(store, &id).await.unwrap();
    assert_eq!(stop_line(&session.resume(&Cancel::new()).await), "decided other: answered");
    assert_eq!(world.effects(), ["ran make"]);
}

#[tokio::test]
async fn s38_an_answer_to_nothing_is_refused_aloud() {
    let refused = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&refused);
    let world = World::default();
    let agent = world.agent(replies(vec![Turn::say("done")])).on_event(move |event| {
        if let Event::LetterRefused { reason, .. } = event {
            told.lock().unwrap().push(reason.clone());
        }
    });
    let mut story = Story::begin(world, agent).await;
    post(story.store().as_ref(), &story.id(), &verdict(7, Verdict::Approve), Timestamp(1)).await.unwrap();
    story.prompt("do it").await.unwrap();
    expect!["no proposal p7; open: nothing"].assert_eq(&refused.lock().unwrap().join(""));
    let refusal = story.session.decide(ProposalId(7), Verdict::Approve, "").await.unwrap_err();
    expect!["no proposal p7; open: nothing"].assert_eq(&refusal.to_string());
}

/// A person who has no answer until asked often enough.
struct Hesitant {
    asked: Mutex<Vec<ProposalId>>,
    answers: usize,
}

#[async_trait]
impl Decider for Hesitant {
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said> {
        let mut asked = self.asked.lock().unwrap();
        asked.push(proposal.id);
        (asked.len() > self.answers).then(|| Said::new(Verdict::Approve, ""))
    }
}

#[tokio::test]
async fn s38_whoever_was_asked_is_asked_again_after_a_restart() {
    let person = Arc::new(Hesitant { asked: Mutex::default(), answers: 1 });
    let world = World::default();
    let agent = world.agent(replies(vec![shell("c1", "make"), Turn::say("done")])).decider(person.clone());
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(*person.asked.lock().unwrap(), [ProposalId(1), ProposalId(1)]);
}

/// A person who approves the first, and cancels the turn when asked for the second.
struct Fickle(Cancel);

#[async_trait]
impl Decider for Fickle {
    async fn decide(&self, proposal: &Entry<Value>) -> Option<Said> {
        if proposal.id == ProposalId(1) {
            return Some(Said::new(Verdict::Approve, ""));
        }
        self.0.cancel();
        std::future::pending().await
    }
}

#[tokio::test]
async fn s39_cancelling_while_one_is_asked_for_keeps_the_results_of_those_that_were_approved() {
    let world = World::default();
    let batch = shells(&[("c1", "one"), ("c2", "two")]).call("c3", "read", &json!({ "path": "a" }));
    let cancel = Cancel::new();
    let agent =
        world.agent(replies(vec![batch, Turn::say("done")])).decider(Arc::new(Fickle(cancel.clone())));
    let mut story = Story { cancel, ..Story::begin(world, agent).await };
    assert_eq!(story.prompt("do it").await.unwrap(), Stop::Cancelled);
    assert_eq!(story.world.effects(), ["ran one"]);
    let mut story = story.restart().await;
    story.session.decide(ProposalId(2), Verdict::Discard, "no more").await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(story.world.effects(), ["ran one"], "what was done is not done again");
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant:
        + call c1 shell {"path":"one"}
        + call c2 shell {"path":"two"}
        + call c3 read {"path":"a"}
        n3 result c1: ok
        n4 result c2!: not run: the person declined it: no more
        + author harness
        n5 result c3!: no file a
        n6 assistant: done
    "#]]
    .assert_eq(&story.tree());
}

#[tokio::test]
async fn s39_a_command_that_was_approved_and_then_cancelled_before_it_began_says_so() {
    let batch = shells(&[("c1", "one"), ("c2", "two")]);
    let mut story = begin(Approval::Person, vec![batch, Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(ProposalId(1), Verdict::Approve, "").await.unwrap();
    story.cancel.cancel();
    assert_eq!(story.resume().await.unwrap(), Stop::Cancelled);
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert!(story.world.effects().is_empty());
    expect![[r#"
        n0 system: You work on files.
        n1 user: do it
        n2 assistant:
        + call c1 shell {"path":"one"}
        + call c2 shell {"path":"two"}
        n3 result c1!: not run: the turn was cancelled before this call began
        + author harness
        n4 result c2!: not run: the turn was cancelled before this call began
        + author harness
        n5 assistant: done
    "#]]
    .assert_eq(&story.tree());
}

#[tokio::test]
async fn s39_what_needs_no_approval_does_not_wait_for_what_does() {
    let batch = shell("c1", "one").call("c2", "look", &json!({}));
    let looked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&looked);
    let world = World::default();
    let agent = world.agent(replies(vec![batch])).tool(Looks(move || {
        *count.lock().unwrap() += 1;
        ToolOutput::text("seen")
    }));
    let mut story = Story::begin(world, agent).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    assert_eq!(*looked.lock().unwrap(), 1);
}

/// A person who never answers here, because somebody else answers elsewhere.
struct Away;

#[async_trait]
impl Decider for Away {
    async fn decide(&self, _: &Entry<Value>) -> Option<Said> {
        std::future::pending().await
    }
}

type Held = (Arc<dyn SessionStore>, SessionId);

/// A tool that, when asked what has to be approved, lets somebody else approve p1: between the look into the inbox and the question.
#[derive(Clone, Default)]
struct Elsewhere {
    world: World,
    session: Arc<Mutex<Option<Held>>>,
}

#[async_trait]
impl Tool for Elsewhere {
    fn spec(&self) -> ToolSpec {
        Looks(ToolOutput::default).spec()
    }

    fn gate(&self, _: &Map<String, Value>) -> Option<Gate> {
        let staged = self.world.told.lock().unwrap().contains(&"p1 staged".to_owned());
        if let Some((store, id)) = self.session.lock().unwrap().take_if(|_| staged) {
            let answer = verdict(1, Verdict::Approve);
            let mut posting = pin!(post(store.as_ref(), &id, &answer, Timestamp(1)));
            let posted = posting.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(posted.is_ready(), "a store in memory keeps nobody waiting");
        }
        None
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        ToolOutput::text("seen")
    }
}

#[tokio::test]
async fn s38_an_answer_that_comes_right_before_the_question_ends_the_asking() {
    let world = World::default();
    let tool = Elsewhere { world: world.clone(), ..Elsewhere::default() };
    let session = Arc::clone(&tool.session);
    let batch = shell("c1", "make").call("c2", "look", &json!({}));
    let agent = world.agent(replies(vec![batch, Turn::say("done")])).tool(tool).decider(Arc::new(Away));
    let mut story = Story::begin(world, agent).await;
    *session.lock().unwrap() = Some((story.store(), story.id()));
    let drive = tokio::time::timeout(Duration::from_secs(60), story.prompt("do it")).await;
    assert_eq!(stop_line(&drive.expect("the answer is heard")), "decided other: answered");
    assert!(story.store().inbox(&story.id()).await.unwrap().is_empty());
    assert_eq!(story.world.effects(), ["ran make"]);
}
