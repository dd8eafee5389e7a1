//! The weak points of the seed's resolve tool, by number, as far as it takes a session to show them.
//!
//! What is a matter of the queue alone is shown in `crates/resolve-queue/tests/weak_points.rs`; `docs/seed-table.md` has the
//! whole table.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::{NodeId, Role, Timestamp, ToolSpec, notation};
use trunkline_runtime::orders::{self, Order};
use trunkline_runtime::providers::{Anthropic, OpenAiChat, Scripted, Turn, Wire};
use trunkline_runtime::resolve_queue::{
    ActorKind, Entry, Fingerprint, Outcome, ProposalId, State, SubjectState, Verdict,
};
use trunkline_runtime::{Access, Approval, Executor, Proposal, Said, Stop, Tool, ToolContext, ToolOutput};

use crate::story::{Story, World, replies, stop_line};

const P1: ProposalId = ProposalId(1);
const P2: ProposalId = ProposalId(2);

fn edit(id: &str, path: &str, text: &str) -> Turn {
    Turn::new().call(id, "edit", &json!({ "path": path, "text": text }))
}

fn resolve(id: &str, action: &str) -> Turn {
    Turn::new().call(id, "resolve", &json!({ "action": action, "reason": "because" }))
}

async fn begin(approval: Approval, turns: Vec<Turn>) -> Story {
    let world = World::default();
    let agent = world.agent(replies(turns)).approval(approval).with_revert();
    Story::begin(world, agent).await
}

fn state(story: &Story, id: ProposalId) -> State {
    story.session.proposals().get(id).unwrap().state
}

fn file(story: &Story, path: &str) -> Option<String> {
    story.world.files.lock().unwrap().get(path).cloned()
}

#[tokio::test]
async fn r01_what_waits_is_decided_in_one_process_and_applied_in_a_third() {
    let mut story = begin(Approval::Person, vec![edit("c1", "a", "new"), Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    let mut story = story.restart().await;
    story.session.decide(P1, Verdict::Approve, "fine").await.unwrap();
    assert_eq!(file(&story, "a"), None, "deciding writes nothing");
    let mut story = story.restart().await;
    story.resume().await.unwrap();
    assert_eq!((state(&story, P1), file(&story, "a").as_deref()), (State::Applied, Some("new")));
}

#[tokio::test]
async fn r02_what_is_named_is_hit_and_without_a_name_the_oldest() {
    let second =
        Turn::new().call("c2", "resolve", &json!({ "action": "discard", "reason": "not this", "id": "p2" }));
    let turns = vec![
        edit("c0", "a", "one").call("c1", "edit", &json!({ "path": "b", "text": "two" })),
        second,
        resolve("c3", "apply"),
        Turn::say("done"),
    ];
    let mut story = begin(Approval::Model, turns).await;
    story.prompt("do it").await.unwrap();
    assert_eq!((state(&story, P1), state(&story, P2)), (State::Applied, State::Discarded));
    assert_eq!((file(&story, "a").as_deref(), file(&story, "b")), (Some("one"), None));
}

#[tokio::test]
async fn r03_saying_it_again_applies_nothing_again() {
    let named = |id: &str| {
        Turn::new().call(id, "resolve", &json!({ "action": "apply", "reason": "again", "id": "p1" }))
    };
    let turns = vec![edit("c1", "a", "new"), named("c2"), named("c3"), Turn::say("done")];
    let mut story = begin(Approval::Model, turns).await;
    story.prompt("do it").await.unwrap();
    story.session.decide(P1, Verdict::Approve, "me too").await.unwrap();
    story.resume().await.unwrap();
    assert_eq!(story.world.effects(), ["wrote a"]);
    assert_eq!(story.session.proposals().get(P1).unwrap().attempts, 1);
}

#[tokio::test]
async fn r04_of_two_previews_of_a_file_one_is_alive() {
    let turns =
        vec![edit("c1", "a", "one"), edit("c2", "a", "two"), resolve("c3", "apply"), Turn::say("done")];
    let mut story = begin(Approval::Model, turns).await;
    story.prompt("do it").await.unwrap();
    assert_eq!((state(&story, P1), state(&story, P2)), (State::Superseded, State::Applied));
    assert_eq!(file(&story, "a").as_deref(), Some("two"));
}

#[tokio::test]
async fn r05_and_r20_a_file_that_somebody_changed_is_not_written_and_everybody_is_told() {
    let mut story = begin(Approval::Person, vec![edit("c1", "a", "new"), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    story.world.files.lock().unwrap().insert("a".to_owned(), "mine".to_owned());
    story.session.decide(P1, Verdict::Approve, "").await.unwrap();
    story.resume().await.unwrap();
    assert_eq!(file(&story, "a").as_deref(), Some("mine"));
    assert_eq!(story.session.proposals().get(P1).unwrap().attempts, 0, "nothing was begun");
    assert!(story.world.told.lock().unwrap().contains(&"p1 went_stale".to_owned()));
    assert!(story.tree().contains("a changed after the preview"), "{}", story.tree());
}

#[tokio::test]
async fn r07_what_is_applied_is_what_was_shown_whatever_the_model_says_since() {
    let words = json!({ "action": "apply", "reason": "write `other` instead", "extra": { "text": "other" } });
    let turns = vec![edit("c1", "a", "shown"), Turn::new().call("c2", "resolve", &words), Turn::say("done")];
    let mut story = begin(Approval::Model, turns).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(file(&story, "a").as_deref(), Some("shown"));
    let after = &story.session.proposals().get(P1).unwrap().proposal.after[0].state;
    assert_eq!(*after, SubjectState::Digest("shown".to_owned()), "as the preview promised");
}

#[tokio::test]
async fn r08_where_a_person_decides_the_model_cannot_and_who_did_is_on_record() {
    let turns = vec![edit("c1", "a", "new"), resolve("c2", "apply"), Turn::say("done")];
    let mut story = begin(Approval::Person, turns).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    assert!(story.world.effects().is_empty());
    let mut said = Said::new(Verdict::Approve, "I read it");
    said.name = "anna".to_owned();
    story.session.decide_with(P1, said).await.unwrap();
    story.resume().await.unwrap();
    let story = story.restart().await;
    let decision = story.session.proposals().get(P1).unwrap().decision.clone().unwrap();
    assert_eq!((decision.by.kind, decision.by.name.as_str()), (ActorKind::Person, "anna"));
    assert_eq!((decision.reason.as_str(), decision.at > 0), ("I read it", true));
}

#[tokio::test]
async fn r09_while_something_waits_the_model_reads_and_speaks() {
    let read = Turn::new().call("c2", "read", &json!({ "path": "b" }));
    let turns = vec![edit("c1", "a", "new"), read, resolve("c3", "apply"), Turn::say("done")];
    let mut story = begin(Approval::Model, turns).await;
    story.world.files.lock().unwrap().insert("b".to_owned(), "what b says".to_owned());
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert!(story.tree().contains("what b says"), "{}", story.tree());
    assert_eq!(state(&story, P1), State::Applied);
}

#[tokio::test]
async fn r09_a_model_that_never_resolves_ends_its_turn_and_aborts_nothing() {
    let mut story = begin(Approval::Model, vec![edit("c1", "a", "new"), Turn::say("Shall I?")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    assert_eq!((state(&story, P1), file(&story, "a")), (State::Proposed, None));
    story.session.decide(P1, Verdict::Approve, "yes").await.unwrap();
    assert!(matches!(story.resume().await, Ok(Stop::Decided(_))));
    assert_eq!(file(&story, "a").as_deref(), Some("new"));
}

/// Writes two files and is cancelled in between by whoever holds its switch.
struct Slow {
    world: World,
    cancelled: Arc<AtomicBool>,
}

#[async_trait]
impl Tool for Slow {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("slow", "a test", json!({ "type": "object" }))
    }

    fn access(&self) -> Access {
        Access::Proposes
    }

    async fn run(&self, _: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let mut proposal = Proposal::new("write a and b", "slow", Value::Null);
        proposal.fingerprints = vec![Fingerprint::absent("a"), Fingerprint::absent("b")];
        proposal.after = vec![Fingerprint::digest("a", "new"), Fingerprint::digest("b", "new")];
        let mut output = ToolOutput::text("a preview");
        output.proposals.push(proposal);
        output
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Slow {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let files = self.world.files.lock().unwrap();
        let print = |path: &String| match files.get(path) {
            Some(text) => Fingerprint::digest(path, text),
            None => Fingerprint::absent(path),
        };
        subjects.iter().map(print).collect()
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        for file in entry.part() {
            self.world.files.lock().unwrap().insert(file.to_owned(), "new".to_owned());
            // Long enough for a cancel to arrive.
            tokio::time::sleep(std::time::Duration::from_millis(60)).await;
            self.cancelled.fetch_or(context.cancel.is_cancelled(), Ordering::SeqCst);
        }
        (Outcome::Applied, ToolOutput::text("Written."))
    }
}

#[tokio::test(start_paused = true)]
async fn r16_a_cancel_in_the_middle_of_an_apply_lets_it_end_and_its_outcome_is_on_record() {
    let world = World::default();
    let slow = Slow { world: world.clone(), cancelled: Arc::default() };
    let turns = vec![Turn::new().call("c1", "slow", &json!({})), resolve("c2", "apply"), Turn::say("done")];
    let agent = world.agent(replies(turns)).approval(Approval::Model);
    let mut story = Story::begin(world, agent.tools(vec![Box::new(slow) as Box<dyn Tool>])).await;
    let (cancel, files) = (story.cancel.clone(), Arc::clone(&story.world.files));
    tokio::spawn(async move {
        while !files.lock().unwrap().contains_key("a") {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        cancel.cancel();
    });
    assert_eq!(stop_line(&story.prompt("do it").await), "cancelled");
    assert_eq!(state(&story, P1), State::Applied, "what the turn says is what is so");
    let files = story.world.files.lock().unwrap().clone();
    assert_eq!(files.keys().collect::<BTreeSet<_>>(), BTreeSet::from([&"a".to_owned(), &"b".to_owned()]));
}

#[tokio::test]
async fn r19_no_reminder_stands_where_a_wire_refuses_it() {
    for chat in [false, true] {
        let world = World::default();
        let requests = Arc::clone(&world.requests);
        let script = replies(vec![
            edit("c1", "a", "new").call("c0", "read", &json!({ "path": "b" })),
            Turn::new().call("c2", "read", &json!({ "path": "b" })),
            Turn::say("I am done"),
            resolve("c3", "apply"),
            Turn::say("done"),
        ]);
        // The provider encodes what it is sent and refuses what its wire would.
        let model = Scripted::new("test", "script", move |request| {
            requests.lock().unwrap().push(request.clone());
            script(request)
        });
        let model = if chat { model.on(OpenAiChat::default()) } else { model };
        let agent = trunkline_runtime::Agent::builder(model).system("You work.").approval(Approval::Model);
        let mut story = Story::begin(world.clone(), agent.tools(crate::story::tools(&world))).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
        let requests = story.world.requests.lock().unwrap();
        let reminds =
            |text: &str| text.lines().any(|line| line.starts_with("harness: ") && line.contains("p1"));
        let reminded = requests.iter().any(|request| reminds(&notation::print(&request.messages.to_vec())));
        assert!(reminded, "chat: {chat}: it was reminded");
        for request in requests.iter() {
            let encoded = match chat {
                true => OpenAiChat::default().encode(request),
                false => Anthropic::new().encode(request),
            };
            let body = String::from_utf8(encoded.unwrap().body.to_vec()).unwrap();
            // Results come directly after their calls, and before anything else that is said.
            let last = request.messages.iter().rposition(|message| message.role == Role::Assistant);
            let after = request.messages.range(last.map_or(request.messages.len(), |at| at + 1)..);
            let calls = last.map_or(0, |at| request.messages[at].calls().count());
            let results = after.take_while(|message| message.results().next().is_some());
            let results: usize = results.map(|message| message.results().count()).sum();
            assert_eq!(results, calls, "chat: {chat}: {body}");
        }
    }
}

#[tokio::test]
async fn r21_a_resolve_beside_other_calls_counts_and_so_do_they() {
    let both = resolve("c2", "apply").call("c3", "read", &json!({ "path": "b" }));
    let mut story = begin(Approval::Model, vec![edit("c1", "a", "new"), both, Turn::say("done")]).await;
    story.world.files.lock().unwrap().insert("b".to_owned(), "what b says".to_owned());
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert_eq!(state(&story, P1), State::Applied);
    assert!(story.tree().contains("result c3: what b says"), "{}", story.tree());
}

#[tokio::test]
async fn r25_what_was_left_with_its_branch_holds_nothing_up() {
    let mut story = begin(Approval::Model, vec![edit("c1", "a", "new"), Turn::say("done")]).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "waiting for p1");
    story.session.revert(NodeId::new(1), None).await.unwrap();
    assert_eq!(state(&story, P1), State::Superseded);
    let before = story.world.requests.lock().unwrap().len();
    story.prompt("something else").await.unwrap();
    let asked = story.world.requests.lock().unwrap().len() - before;
    assert_eq!(asked, 1, "nobody is reminded of what is gone: {}", story.tree());
}

#[tokio::test]
async fn an_approval_that_was_given_on_a_branch_that_was_left_does_nothing_on_another() {
    let mut story = begin(Approval::Person, vec![edit("c1", "a", "new"), Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    // Somebody elsewhere looks at it, and answers only after it was left and brought back.
    let seen = Some(story.session.proposals().get(P1).unwrap().put_aside);
    story.session.revert(NodeId::new(1), None).await.unwrap();
    story.session.undo().await.unwrap();
    let request = Order::Verdict { proposal: P1, said: Said::new(Verdict::Approve, "seen before"), seen };
    orders::post(&*story.store(), &story.id(), &request, Timestamp(1)).await.unwrap();
    assert_eq!(stop_line(&story.resume().await), "waiting for p1", "it is asked again");
    assert_eq!((state(&story, P1), file(&story, "a")), (State::Proposed, None));
    // Who has seen it as it is now may decide.
    story.session.decide(P1, Verdict::Approve, "again").await.unwrap();
    story.resume().await.unwrap();
    assert_eq!(file(&story, "a").as_deref(), Some("new"));
}
