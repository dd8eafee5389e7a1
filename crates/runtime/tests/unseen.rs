//! What a verdict says of files where nobody sees what commands change: without version control.

use std::sync::Arc;

use serde_json::json;
use trunkline_runtime::providers::Turn;
use trunkline_runtime::{Approval, Limits, decided_runs};

use crate::fake_folder::FakeFolder;
use crate::story::{Story, World, replies, stop_line};

const UNCHANGED: &str = "the model answered and no file was changed";
const UNSEEN: &str =
    "the model answered; what its commands changed was not seen: the files are not under version control";

const NOT_LOOKED_AT: &str = "the model answered; files were not looked at, since the agent has no workspace";

#[derive(Clone, Copy)]
enum Where {
    InGit,
    InAFolder,
    Nowhere,
}

/// Begins a run that makes one call and answers.
async fn begin(tool: &str, place: Where, limits: Limits) -> Story {
    let world = World::default();
    world.files.lock().unwrap().insert("a".to_owned(), "text".to_owned());
    let call = Turn::new().call("c1", tool, &json!({ "path": "a" }));
    let agent =
        world.agent(replies(vec![call, Turn::say("Done.")])).approval(Approval::Always).limits(limits);
    let agent = match place {
        Where::InGit => agent.workspace(Arc::new(FakeFolder::counting())),
        Where::InAFolder => agent.workspace(Arc::new(FakeFolder::plain())),
        Where::Nowhere => agent,
    };
    Story::begin(world, agent).await
}

/// Returns the reason of the latest verdict.
async fn reason(story: &Story) -> String {
    let runs = decided_runs(&story.store().load(&story.id()).await.unwrap()).runs;
    let reason = runs.last().unwrap().decision().unwrap().verdict().reason();
    reason.unwrap().as_str().to_owned()
}

#[tokio::test]
async fn that_no_file_was_changed_is_said_only_where_that_is_known() {
    for (tool, place, wanted) in [
        ("shell", Where::InGit, UNCHANGED),
        ("shell", Where::InAFolder, UNSEEN),
        ("shell", Where::Nowhere, NOT_LOOKED_AT),
        ("read", Where::InGit, UNCHANGED),
        ("read", Where::InAFolder, UNCHANGED),
        ("read", Where::Nowhere, UNCHANGED),
    ] {
        let mut story = begin(tool, place, Limits::default()).await;
        assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
        assert_eq!(reason(&story).await, wanted, "{tool}");
        // The next run answers for itself.
        story.prompt("and now?").await.unwrap();
        assert_eq!(reason(&story).await, UNCHANGED, "{tool}");
    }
}

#[tokio::test]
async fn what_an_earlier_process_ran_counts_too() {
    let mut limits = Limits::default();
    limits.turns = 1;
    let mut story = begin("shell", Where::InAFolder, limits).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "at the limit of turns");
    let mut story = story.restart().await;
    assert_eq!(stop_line(&story.resume().await), "decided other: answered");
    assert_eq!(reason(&story).await, UNSEEN);
}

#[tokio::test]
async fn what_was_applied_where_nobody_looks_at_files_is_not_called_an_answer_alone() {
    let mut story = begin("edit", Where::Nowhere, Limits::default()).await;
    assert_eq!(stop_line(&story.prompt("do it").await), "decided other: answered");
    assert_eq!(
        reason(&story).await,
        "the model answered, and proposals were applied; files were not looked at, since the agent has no workspace"
    );
}

#[test]
fn who_wants_commits_or_bindings_has_to_say_where() {
    for (asked, commits) in [("commits", true), ("binds", false)] {
        let build = |named: bool| {
            let agent = World::default().agent(replies(Vec::new())).commits(commits).binds(!commits);
            if named { agent.workspace(Arc::new(FakeFolder::plain())).build() } else { agent.build() }
        };
        let fault = build(false).err().unwrap().to_string();
        let first = format!(
            "`AgentBuilder::{asked}` needs a workspace: name the folder with `AgentBuilder::workspace`"
        );
        assert!(
            fault.starts_with(&first) && fault.contains("trunkline_tools::workspace_for(folder)"),
            "{fault}"
        );
        assert!(build(true).is_ok());
    }
}
