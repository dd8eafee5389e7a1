//! The end of a run, with files that change and a commit that may be cut off.

use std::sync::Arc;

use expect_test::expect;
use serde_json::json;
use trunkline_runtime::decision_objects::Verdict;
use trunkline_runtime::message_tree::NodeId;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::{Approval, Base, RuntimeError, Stop};

use crate::fake_folder::{Act, FakeFolder};
use crate::story::{Story, World, replies};

/// A repository in which whatever was applied is a change.
fn repository() -> FakeFolder {
    let base = Base { commit: Some("b".repeat(40)), tree: Some("d".repeat(40)) };
    FakeFolder::counting().begun_on(base)
}

async fn story(commits: bool) -> (Story, FakeFolder) {
    let repository = repository();
    let world = World::default();
    let edit = Turn::new().call("c1", "edit", &json!({ "path": "a", "text": "new" }));
    let agent = world
        .agent(replies(vec![edit, Turn::say("I wrote a.")]))
        .approval(Approval::Always)
        .workspace(Arc::new(repository.clone()))
        .commits(commits);
    (Story::begin(world, agent).await, repository)
}

#[tokio::test]
async fn a_kill_between_commit_and_decision_is_mended_without_a_second_commit() {
    let (mut story, repository) = story(true).await;
    repository.fail_behind(&[Act::Commit], "the power went out");
    let fault = story.prompt("write a").await.unwrap_err();
    expect!["the workspace cannot be used"].assert_eq(&fault.to_string());
    assert!(matches!(fault, RuntimeError::Workspace(_)));
    let mut story = story.restart().await;
    let Ok(Stop::Decided(decision)) = story.resume().await else { panic!("no verdict") };
    assert!(matches!(decision.verdict(), Verdict::Commit { .. }));
    assert_eq!(repository.kept.lock().unwrap().commits.len(), 1);
    assert_eq!(story.session.decisions().iter().count(), 1);
}

#[tokio::test]
async fn a_run_whose_commit_is_not_recorded_yet_is_not_left() {
    let (mut story, repository) = story(true).await;
    repository.fail_behind(&[Act::Commit], "the power went out");
    story.prompt("write a").await.unwrap_err();
    let mut story = story.restart().await;
    let fault = story.session.go(NodeId::ROOT).await.unwrap_err();
    assert!(matches!(fault, RuntimeError::Refused { .. }), "{fault}");
    assert!(fault.to_string().contains("resume the session to record that"), "{fault}");
    let Ok(Stop::Decided(decision)) = story.resume().await else { panic!("no verdict") };
    assert!(matches!(decision.verdict(), Verdict::Commit { .. }));
    story.session.go(NodeId::ROOT).await.unwrap();
}

#[tokio::test]
async fn a_run_that_announced_a_commit_and_goes_on_without_leave_to_commit_ends_as_applied() {
    let (mut story, repository) = story(true).await;
    repository.fail(&[Act::Commit], 1, "the power went out");
    story.prompt("write a").await.unwrap_err();
    let agent = story.world.agent(replies(vec![])).workspace(Arc::new(repository.clone()));
    let (store, id) = (story.store(), story.id());
    drop(story);
    let mut session = agent.build().unwrap().open(store, &id).await.unwrap();
    let Ok(Stop::Decided(decision)) = session.resume(&trunkline_runtime::Cancel::new()).await else {
        panic!("no verdict")
    };
    assert_eq!(decision.verdict().to_string(), "other: applied");
    assert!(
        repository.kept.lock().unwrap().commits.is_empty(),
        "nothing is committed without an explicit act"
    );
}

#[tokio::test]
async fn no_name_of_a_file_or_a_finding_can_keep_a_run_from_its_verdict() {
    for path in ["c:temp", "ends in \\", "tab\there", "ü:x"] {
        let repository = repository();
        let world = World::default();
        let turn = Turn::new().call("c1", "edit", &json!({ "path": path, "text": "new" })).call(
            "c2",
            "shell",
            &json!({ "path": "check" }),
        );
        let agent = world
            .agent(replies(vec![turn, Turn::say("done")]))
            .approval(Approval::Always)
            .workspace(Arc::new(repository.clone()))
            .commits(true);
        let mut story = Story::begin(world, agent).await;
        let stop = story.prompt("write it").await;
        let Ok(Stop::Decided(decision)) = stop else { panic!("{path:?}: {stop:?}") };
        assert!(matches!(decision.verdict(), Verdict::Commit { .. }), "{path:?}");
        assert_eq!(decision.evidence().len(), 1);
    }
}
