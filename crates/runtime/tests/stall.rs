//! A run that gets nowhere is told so, or somebody is, and what became of it is recorded.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::message_tree::{Author, NodeId, Timestamp};
use trunkline_runtime::orders::{Order, Settled, StepAnswer, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::revert::{ProposalEvent, ProposalId, StallPolicy};
use trunkline_runtime::session_store::SessionStore;
use trunkline_runtime::{OnStall, Reverts, View};

use crate::story::{Story, World, replies, stop_line};

fn read(path: &str) -> Turn {
    Turn::new().call("c", "read", &json!({ "path": path }))
}

fn revert(step: &str, summary: &str) -> Turn {
    let arguments = json!({ "category": "failure", "step": step, "summary": summary });
    Turn::new().call("r", "revert_to_state", &arguments)
}

async fn story(reverts: Reverts, turns: Vec<Turn>) -> Story {
    let world = World::default();
    for name in ["a", "b", "[n1] x"] {
        world.files.lock().unwrap().insert(name.to_owned(), format!("text of {name}"));
    }
    let agent = world.agent(replies(turns)).with_reverts(reverts);
    Story::begin(world, agent).await
}

fn on(who: OnStall) -> Reverts {
    Reverts::default().on_stall(who)
}

/// Prints what was recorded of steps back, one a line.
async fn steps(store: &dyn SessionStore, story: &Story) -> String {
    let log = store.load(&story.id()).await.unwrap();
    let view = View::of(&log).unwrap();
    let line = |event: &ProposalEvent| match event {
        ProposalEvent::Made(proposal) => format!("{}\n", proposal.text_for_person()),
        ProposalEvent::Answered { id, answer, by } => {
            let answer = serde_json::to_value(answer).unwrap();
            format!("{id} {} by {by:?}\n", answer["became"].as_str().unwrap())
        }
        other => format!("{other:?}\n"),
    };
    view.step_backs().iter().map(line).collect()
}

fn stuck(then: Turn) -> Vec<Turn> {
    let mut turns = vec![read("b"), read("a"), read("a"), read("a"), read("a"), read("a")];
    turns.push(then);
    turns.push(Turn::say("done"));
    turns
}

#[tokio::test]
async fn p64_a_model_that_gets_nowhere_is_told_once_and_may_go_back() {
    let mut story = story(Reverts::default(), stuck(revert("n3", "a says nothing"))).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    expect![[r#"
        p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
        p0 accepted by Model
    "#]]
    .assert_eq(&steps(story.store.as_ref(), &story).await);
    let requests = story.world.requests.lock().unwrap();
    let told = |request: &trunkline_runtime::providers::Request| {
        let text = trunkline_runtime::message_tree::notation::print(&request.messages.to_vec());
        text.matches("[revert-proposal]").count()
    };
    // It stands in the prompt from the turn that it was noticed in to the step back, and never twice.
    assert_eq!(requests.iter().map(told).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1, 0]);
    drop(requests);
    let tree = story.tree();
    let line = tree.lines().find(|line| line.contains("harness:")).unwrap();
    expect!["n14 harness: [revert-proposal] 5 turns in a row did the same with the same outcome (read).\\nYou may go back with revert_to_state (category failure, step \"n5\") and take another way, or go on if you expect something new. Nothing was stopped."].assert_eq(line);
}

#[tokio::test]
async fn a_proposal_is_overtaken_by_progress() {
    let mut story = story(Reverts::default(), stuck(read("[n1] x"))).await;
    story.prompt("do it").await.unwrap();
    assert!(steps(story.store.as_ref(), &story).await.ends_with("p0 overtaken by Harness\n"));
    assert_eq!(story.session.proposed_reverts().count(), 0);
}

#[tokio::test]
async fn a_proposal_is_overtaken_by_a_word_of_a_person() {
    let mut turns = stuck(Turn::say("well"));
    turns.truncate(7);
    turns.extend([read("a"), Turn::say("done")]);
    let mut story = story(on(OnStall::TellPerson), turns).await;
    story.prompt("do it").await.unwrap();
    assert_eq!(story.session.proposed_reverts().count(), 1);
    story.prompt("look again").await.unwrap();
    assert!(steps(story.store.as_ref(), &story).await.ends_with("p0 overtaken by Harness\n"));
}

#[tokio::test]
async fn work_that_repeats_itself_with_progress_is_never_told() {
    let mut turns = Vec::new();
    for text in ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"] {
        turns.push(Turn::new().call("e", "edit", &json!({ "path": "a", "text": text })));
        turns.push(read("a"));
    }
    let world = World::default();
    let agent = world.agent(replies(turns)).with_revert().approval(trunkline_runtime::Approval::Always);
    let mut story = Story::begin(world, agent).await;
    story.prompt("count").await.unwrap();
    assert_eq!(steps(story.store.as_ref(), &story).await, "");
}

#[tokio::test]
async fn a_person_is_told_and_the_run_goes_on_until_they_accept() {
    let mut story = story(on(OnStall::TellPerson), stuck(Turn::say("I give up"))).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert!(!story.tree().contains("harness:"), "the model is not told");
    let before = story.session.tree().head();
    story.session.answer_revert(ProposalId(0), StepAnswer::Accept).await.unwrap();
    expect![[r#"
        p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
        p0 accepted by Person
    "#]]
    .assert_eq(&steps(story.store.as_ref(), &story).await);
    assert_eq!(story.session.tree().head(), NodeId::new(5));
    let twice = story.session.answer_revert(ProposalId(0), StepAnswer::Accept).await.unwrap_err();
    assert_eq!(twice.to_string(), "p0 is not an open proposal of a step back; none is");
    story.session.undo().await.unwrap();
    assert_eq!(story.session.tree().head(), before);
}

#[tokio::test]
async fn a_proposal_that_a_person_leaves_behind_is_overtaken() {
    let mut story = story(on(OnStall::TellPerson), stuck(Turn::say("I give up"))).await;
    story.prompt("do it").await.unwrap();
    story.session.revert(NodeId::new(1), None).await.unwrap();
    assert!(steps(story.store.as_ref(), &story).await.ends_with("p0 overtaken by Harness\n"));
    let gone = "p0 is not an open proposal of a step back; none is";
    assert_eq!(
        story.session.answer_revert(ProposalId(0), StepAnswer::Accept).await.unwrap_err().to_string(),
        gone
    );
    assert_eq!(
        story
            .session
            .answer_revert(ProposalId(0), StepAnswer::Decline { reason: None })
            .await
            .unwrap_err()
            .to_string(),
        gone
    );
}

#[tokio::test]
async fn a_proposal_can_be_declined_for_a_reason_on_one_line() {
    let mut story = story(on(OnStall::TellPerson), stuck(Turn::say("I give up"))).await;
    story.prompt("do it").await.unwrap();
    story
        .session
        .answer_revert(ProposalId(0), StepAnswer::Decline { reason: Some("no\nneed".to_owned()) })
        .await
        .unwrap();
    assert!(steps(story.store.as_ref(), &story).await.ends_with("p0 declined by Person\n"));
}

#[tokio::test]
async fn a_policy_takes_the_step_in_the_batch_that_notices() {
    let mut story = story(on(OnStall::Accept), stuck(Turn::say("another way then"))).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    expect![[r#"
        p0: 5 turns in a row did the same with the same outcome (read); proposed: go back to n5
        p0 accepted by Harness
    "#]]
    .assert_eq(&steps(story.store.as_ref(), &story).await);
    expect![[r#"
        system: You work on files.
        user: [n1]
        + text: do it
        assistant:
        + call c read {"path":"b"}
        + origin test script
        + stop tool_use
        result c: [n3]
        ++ text: text of b
        assistant:
        + call c read {"path":"a"}
        + origin test script
        + stop tool_use
        result c: [n5]
        ++ text: text of a
        harness: [revert-lesson] the harness went back here: no progress: 5 turns in a row did the same with the same outcome (read); go on in another way — left 8 messages (read)\nReads: a\nThis step back is complete; go on from here by another way.
    "#]]
    .assert_eq(&story.world.last_request());
}

#[tokio::test]
async fn a_letter_accepts_or_declines_though_the_head_has_grown_since() {
    let mut story = story(on(OnStall::TellPerson), stuck(Turn::say("I give up"))).await;
    story.prompt("do it").await.unwrap();
    let leave = async |answer, head: u32| {
        let expected_head = NodeId::new(head);
        let request = Order::StepBack { proposal: ProposalId(0), answer, expected_head };
        post(story.store.as_ref(), &story.id(), &request, Timestamp(1)).await.unwrap()
    };
    let elsewhere = leave(StepAnswer::Accept, 99).await;
    let accept = leave(StepAnswer::Accept, 13).await;
    let late = leave(StepAnswer::Decline { reason: None }, 5).await;
    story.session.read_letters().await.unwrap();
    let mut told = Vec::new();
    for letter in [elsewhere, accept, late] {
        told.push(match settled(story.store.as_ref(), &story.id(), letter).await.unwrap() {
            Settled::Refused { reason } => reason,
            _ => "done".to_owned(),
        });
    }
    expect![[r#"
        [
            "n99, where this was asked for, is not on the trunk any more",
            "done",
            "p0 is not an open proposal of a step back; none is",
        ]
    "#]]
    .assert_debug_eq(&told);
}

#[tokio::test]
async fn a_watch_that_is_off_leaves_no_trace() {
    let mut off = StallPolicy::default();
    off.enabled = false;
    let mut story = story(Reverts::default().stall(off), stuck(Turn::say("done"))).await;
    story.prompt("do it").await.unwrap();
    assert!(!kinds(&story).await.iter().any(|kind| kind == "turn" || kind == "proposal"));
}

#[tokio::test]
async fn without_the_opt_in_nothing_is_watched() {
    let world = World::default();
    let agent = world.agent(replies(stuck(Turn::say("done"))));
    let mut story = Story::begin(world, agent).await;
    story.prompt("do it").await.unwrap();
    assert!(!kinds(&story).await.iter().any(|kind| kind == "turn" || kind == "proposal"));
}

async fn kinds(story: &Story) -> Vec<String> {
    use trunkline_runtime::session_store::Record;
    let log = story.store.load(&story.id()).await.unwrap();
    let notes = log.records.into_iter().filter_map(|(_, record)| match record {
        Record::Note(note) if note.layer == "revert" => Some(note.kind),
        _ => None,
    });
    notes.collect()
}

#[tokio::test]
async fn outlines_are_answered_by_the_harness_and_are_of_the_tree_before() {
    let both = Turn::new().call("o", "list_revert_targets", &json!({})).call(
        "r",
        "revert_to_state",
        &json!({ "category": "failure", "step": "n3", "summary": "no" }),
    );
    let mut story = story(Reverts::default(), vec![read("[n1] x"), read("a"), both, Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    let tree = story.tree();
    let results: Vec<&str> = tree.lines().filter(|line| line.contains(" result ")).skip(2).collect();
    expect![[r#"
        [
            "n7 result o: nodes that you can go back to, with what each would leave:\\nn1 user: do it (leaves 5 messages)\\nn3 results: text of (n1) x (leaves 3 messages)\\nn5 results: text of a (leaves 1 message)",
            "n8 result r: revert applied (failure): the conversation goes on from n3; what came after it was left, and a note (lesson) stands there",
        ]
    "#]]
    .assert_debug_eq(&results);
    let author = story.session.tree().node(NodeId::new(7)).unwrap().message().author;
    assert_eq!(author, Author::Harness, "no tool ran");
    assert!(story.session.notes()[0].tools == ["read"], "what was listed is no work");
}

#[tokio::test]
async fn an_outline_stays_one_where_the_revert_beside_it_states_its_price() {
    let both = Turn::new().call("o", "list_revert_targets", &json!({})).call(
        "r",
        "revert_to_state",
        &json!({ "category": "failure", "step": "n3", "summary": "no" }),
    );
    let rates = trunkline_runtime::revert::Rates::uncached();
    let reverts = Reverts::default().rates(rates);
    let mut story = story(reverts, vec![read("a"), read("b"), both, Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    assert!(story.tree().contains("n7 result o: nodes that you can go back to"), "{}", story.tree());
}

#[tokio::test]
async fn an_outline_that_the_output_limit_cut_is_refused() {
    let cut = Turn::new()
        .call("o", "list_revert_targets", &json!({}))
        .stop(trunkline_runtime::message_tree::StopReason::MaxTokens);
    let mut story = story(Reverts::default(), vec![cut, Turn::say("done")]).await;
    story.prompt("do it").await.unwrap();
    assert!(
        story.tree().contains("n3 result o!: not run: the reply ended in the middle"),
        "{}",
        story.tree()
    );
}

#[tokio::test]
async fn the_names_of_both_tools_are_taken() {
    struct Named(&'static str);
    #[async_trait::async_trait]
    impl trunkline_runtime::Tool for Named {
        fn spec(&self) -> trunkline_runtime::message_tree::ToolSpec {
            trunkline_runtime::message_tree::ToolSpec {
                name: self.0.to_owned(),
                description: String::new(),
                input_schema: json!({ "type": "object" }),
                strict: None,
            }
        }

        async fn run(
            &self,
            _: serde_json::Map<String, serde_json::Value>,
            _: &trunkline_runtime::ToolContext,
        ) -> trunkline_runtime::ToolOutput {
            trunkline_runtime::ToolOutput::text("")
        }
    }
    for name in ["revert_to_state", "list_revert_targets"] {
        let agent = World::default().agent(replies(vec![])).tool(Named(name));
        assert!(agent.with_revert().build().is_err(), "{name}");
    }
}

async fn lived(turns: Vec<u8>, restarts: Vec<bool>, who: OnStall) -> (String, String) {
    let scripted = |turn: &u8| match turn {
        0..=2 => read("a"),
        3 => read("b"),
        4 => read("none"),
        5 => revert("n1", "again"),
        6 => revert("n3", "other"),
        7 => Turn::new().call("o", "list_revert_targets", &json!({})),
        _ => Turn::say("an answer"),
    };
    let mut story = story(on(who), turns.iter().map(scripted).collect()).await;
    for restart in restarts {
        let _ = story.prompt("go on").await;
        let newest = story.session.proposed_reverts().next().map(|open| open.id);
        if let Some(id) = newest {
            let _ = story.session.answer_revert(id, StepAnswer::Accept).await;
        } else {
            let _ = story.session.undo().await;
        }
        if restart {
            story = story.restart().await;
        }
    }
    (story.tree(), steps(story.store.as_ref(), &story).await)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn what_is_noticed_is_the_same_however_often_the_process_is_restarted(
        turns in prop::collection::vec(0_u8..9, 0..40),
        restarts in prop::collection::vec(any::<bool>(), 1..4),
        who in prop_oneof![Just(OnStall::TellModel), Just(OnStall::TellPerson), Just(OnStall::Accept)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let never = vec![false; restarts.len()];
        let (once, again) = runtime.block_on(async {
            (lived(turns.clone(), never, who).await, lived(turns, restarts, who).await)
        });
        prop_assert_eq!(once, again);
    }
}
