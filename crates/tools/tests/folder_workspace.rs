//! Folders without git.

use serde_json::json;
use trunkline_agent_traits::{Base, Deciding, Touched, Workspace};
use trunkline_tools::{FolderWorkspace, GitWorkspace, workspace_for};

use crate::scene::{Scene, block_on};

#[test]
fn changes_are_those_of_applied_proposals_that_still_stand() {
    let scene = Scene::new();
    for name in ["modified", "deleted", "restored"] {
        scene.write(name, "old\n");
    }
    let workspace = FolderWorkspace::new(scene.root());
    let base = block_on(workspace.base()).unwrap();
    assert_eq!(base, Base::default());
    let mut touched = Vec::new();
    for name in ["new", "modified", "deleted", "restored", "came-and-went"] {
        let proposal = scene.stage("write_file", json!({"path": name, "content": "new\n"}));
        let before = proposal.payload["files"][0]["before_digest"].as_str().map(str::to_owned);
        touched.push(Touched { path: name.to_owned(), before });
        assert!(scene.apply(&proposal).starts_with("Done"));
    }
    scene.write("restored", "old\n");
    for name in ["deleted", "came-and-went"] {
        std::fs::remove_file(scene.root().join(name)).unwrap();
    }
    let changes = block_on(workspace.changes(&base, &touched)).unwrap();
    let files: Vec<String> =
        changes.files.iter().map(|file| format!("{:?} {}", file.change, file.path)).collect();
    assert_eq!(files, ["Deleted deleted", "Modified modified", "Added new"]);
    assert_eq!((changes.diff.as_str(), changes.tree), ("", None));
}

#[test]
fn a_plain_folder_cannot_commit_and_says_why() {
    let scene = Scene::new();
    assert!(GitWorkspace::open(scene.root()).unwrap().is_none());
    let deciding = Deciding {
        run: "r1".to_owned(),
        patch_set: "p1".to_owned(),
        base: Base::default(),
        tree: String::new(),
        message: "work".to_owned(),
        at: 1_700_000_000_123,
        decision: None,
        made: None,
    };
    let refused = block_on(workspace_for(scene.root()).as_commits().unwrap().commit(&deciding)).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "nothing can be committed: {} is not in a git repository; `git init` makes it one",
            scene.root().display()
        )
    );
}

#[test]
fn a_folder_that_is_not_there_is_a_fault() {
    let workspace = FolderWorkspace::new("/nowhere/at/all");
    let fault = block_on(workspace.changes(&Base::default(), &[])).unwrap_err();
    assert_eq!(fault.to_string(), "cannot open the workspace folder /nowhere/at/all");
}
