//! Results that come after their call was answered.

use proptest::prelude::*;
use serde_json::json;
use trunkline_runtime::message_tree::{Content, NodeId, Part, Role, Timestamp, ToolResult};
use trunkline_runtime::orders::{Order, Settled, post, settled};
use trunkline_runtime::providers::Turn;
use trunkline_runtime::session_store::SessionStore;
use trunkline_runtime::{CallPlace, Late};

use crate::story::{Story, World, replies};

fn read(id: &str) -> Turn {
    Turn::new().call(id, "read", &json!({ "path": "a" }))
}

fn place(node: u32, index: u32) -> CallPlace {
    CallPlace { node: NodeId::new(node), index, id: "made up".to_owned() }
}

fn result(text: &str) -> ToolResult {
    ToolResult { call_id: "made up".to_owned(), content: vec![Part::text(text)], is_error: false }
}

async fn story(turns: Vec<Turn>) -> Story {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "started".to_owned());
    let agent = world.agent(replies(turns)).with_revert();
    Story::begin(world, agent).await
}

#[tokio::test]
async fn a_letter_brings_a_late_result_too() {
    let mut story = story(vec![read("c1"), Turn::say("it runs")]).await;
    story.prompt("do it").await.unwrap();
    let mut told = Vec::new();
    for call in [place(2, 0), place(2, 1), place(77, 0)] {
        let request = Order::LateResult { call, result: result("done") };
        let letter = post(story.store.as_ref(), &story.id(), &request, Timestamp(1)).await.unwrap();
        story.session.read_letters().await.unwrap();
        told.push(match settled(story.store.as_ref(), &story.id(), letter).await.unwrap() {
            Settled::Refused { reason } => reason,
            _ => "done".to_owned(),
        });
    }
    assert_eq!(told, ["done", "n2 holds no call with the number 1", "n77 holds no call with the number 0"]);
}

#[tokio::test]
async fn while_other_calls_are_open_a_late_result_waits() {
    use trunkline_runtime::{Approval, Stop};
    let world = World::default();
    let shell = Turn::new().call("c2", "shell", &json!({ "path": "ls" }));
    let script = replies(vec![read("c1"), shell, Turn::say("done")]);
    let agent = world.agent(script).with_revert().approval(Approval::Person);
    let mut story = Story::begin(world, agent).await;
    assert!(matches!(story.prompt("do it").await.unwrap(), Stop::Waiting(_)));
    let late = story.session.late_result(&place(2, 0), result("by the way")).await.unwrap();
    assert_eq!(late, Late::Waiting);
    // The open call itself may be answered from outside; then it does not run.
    let late = story.session.late_result(&place(4, 0), result("ran elsewhere")).await.unwrap();
    assert_eq!(late, Late::Recorded);
    story.resume().await.unwrap();
    let tree = story.tree();
    assert!(tree.contains("n5 result c2: ran elsewhere\nn6 harness: A result came late"), "{tree}");
    assert!(story.world.effects().is_empty());
    assert!(story.store.inbox(&story.id()).await.unwrap().is_empty());
}

#[derive(Clone, Debug)]
enum Act {
    Prompt,
    Late(u32),
    Revert(u32),
    Undo,
    Redo,
    Restart,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        3 => Just(Act::Prompt),
        4 => (0_u32..30).prop_map(Act::Late),
        2 => (0_u32..30).prop_map(Act::Revert),
        1 => Just(Act::Undo),
        1 => Just(Act::Redo),
        1 => Just(Act::Restart),
    ]
}

async fn live(turns: Vec<u8>, acts: Vec<Act>) -> Result<(), TestCaseError> {
    let scripted = |turn: &u8| match turn {
        0..=3 => read("c").call("d", "read", &json!({ "path": "b" })),
        4 => Turn::new().call(
            "r",
            "revert_to_state",
            &json!({ "category": "failure", "step": "n3", "summary": "s" }),
        ),
        _ => Turn::say("an answer"),
    };
    let mut story = story(turns.iter().map(scripted).collect()).await;
    let mut brought: Vec<(String, NodeId)> = Vec::new();
    for act in acts {
        match act {
            Act::Prompt => drop(story.prompt("go").await),
            Act::Late(node) => {
                let text = format!("late-{}-", brought.len());
                if story.session.late_result(&place(node, 0), result(&text)).await.is_ok() {
                    brought.push((text, NodeId::new(node)));
                }
            }
            Act::Revert(node) => drop(story.session.revert(NodeId::new(node), Some("s")).await),
            Act::Undo => drop(story.session.undo().await),
            Act::Redo => drop(story.session.redo().await),
            Act::Restart => story = story.restart().await,
        }
        let tree = story.session.tree();
        let sent = story.session.rendered();
        let text = |message: &trunkline_runtime::message_tree::Message| {
            let results: String = message.results().map(ToolResult::text).collect();
            format!("{}{results}", message.text())
        };
        for (late, call) in &brought {
            let is_sent = sent.iter().any(|message| text(message).contains(late.as_str()));
            prop_assert!(!is_sent || tree.is_on_trunk(*call), "{late} is sent, its call {call} is not");
            let is_kept = tree.nodes().any(|(_, node)| text(node.message()).contains(late.as_str()));
            prop_assert!(is_kept, "{late} is lost");
        }
        // Every result that is sent follows a call of its own.
        let mut open: Vec<String> = Vec::new();
        for message in &sent {
            if message.role == Role::Assistant {
                open = message.calls().map(|call| call.id.clone()).collect();
            }
            for block in &message.content {
                if let Content::ToolResult(result) = block {
                    let place = open.iter().position(|id| *id == result.call_id);
                    prop_assert!(place.is_some(), "a result without its call");
                    open.remove(place.unwrap_or_default());
                }
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_result_whose_call_is_off_the_trunk_is_ever_in_a_prompt(
        turns in prop::collection::vec(0_u8..6, 0..12),
        acts in prop::collection::vec(act(), 0..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(live(turns, acts))?;
    }
}
