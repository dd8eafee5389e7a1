//! What is left over when somebody leaves: calls that had begun, runs whose prompt is gone, proposals that stand nowhere.

use std::time::Duration;

use serde_json::json;
use trunkline_runtime::message_tree::NodeId;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::{Approval, Reverts};

use crate::story::{Story, World, replies, stop_line};

fn n(index: u32) -> NodeId {
    NodeId::new(index)
}

fn call(id: &str, tool: &str, path: &str) -> Turn {
    Turn::new().call(id, tool, &json!({ "path": path, "text": "new" }))
}

fn revert(id: &str, step: &str, summary: &str) -> Turn {
    let arguments = json!({ "category": "failure", "step": step, "summary": summary });
    Turn::new().call(id, "revert_to_state", &arguments)
}

async fn story(reverts: Reverts, turns: Vec<Turn>) -> Story {
    let world = World::default();
    for name in ["a", "b"] {
        world.files.lock().unwrap().insert(name.to_owned(), format!("text of {name}"));
    }
    let agent = world.agent(replies(turns)).with_reverts(reverts).approval(Approval::Always);
    Story::begin(world, agent).await
}

#[tokio::test]
async fn a_merge_never_says_of_a_call_that_had_begun_that_it_was_not_run() {
    let both = call("c1", "sleep", "a").call("c2", "shell", &json!({ "path": "rm" }));
    let mut story = story(Reverts::default(), vec![Turn::say("One way."), both, Turn::say("well")]).await;
    story.prompt("do it").await.unwrap();
    story.session.go(n(1)).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(50), story.resume()).await.is_err());
    assert_eq!(story.world.effects(), ["sleeps"]);
    let mut story = story.restart().await;
    story.session.merge(&[n(2)]).await.unwrap();
    let tree = story.tree();
    assert!(tree.contains("result c1!: outcome unknown: this call had begun when the program ended"), "{tree}");
    assert!(tree.contains("result c2!: not run: a person merged other branches here first"), "{tree}");
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    let sent = story.world.last_request();
    assert!(sent.contains("outcome unknown") && sent.matches("not run").count() == 1, "{sent}");
}
