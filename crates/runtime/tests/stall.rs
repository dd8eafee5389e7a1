//! A run that gets nowhere is told so, or somebody is, and what became of it is recorded.

use expect_test::expect;
use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::message_tree::{NodeId, Timestamp};
use trunkline_runtime::orders::{Order, Settled, StepAnswer, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::revert::{ProposalEvent, ProposalId};
use trunkline_runtime::session_store::SessionStore;
use trunkline_runtime::{OnStall, Reverts, View};

use crate::story::{Story, World, replies};

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
    view.going_back().steps.told.iter().map(line).collect()
}

fn stuck(then: Turn) -> Vec<Turn> {
    let mut turns = vec![read("b"), read("a"), read("a"), read("a"), read("a"), read("a")];
    turns.push(then);
    turns.push(Turn::say("done"));
    turns
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
