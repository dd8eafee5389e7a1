//! What a checkpoint names: the node of the conversation and the files, kept by git, as the command tells it.

use serde_json::Value;

use crate::deciding_runs::{at_the_limit, git, writes};
use crate::fake::{Scene, says};

/// The newest run, with all that is known of it.
fn newest(scene: &Scene) -> Value {
    let output = scene.command(&["decisions", "last", "--json"]).output().expect("it runs");
    serde_json::from_slice(&output.stdout).expect("one line")
}

/// The state that the newest checkpoint names.
fn state(scene: &Scene) -> Value {
    newest(scene)["decision"]["verdict"]["state"].clone()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a text")
}

/// A run whose `a.txt` is kept, beside a file that git does not follow.
fn put_down() -> (Scene, crate::fake::Endpoint) {
    let (scene, endpoint) = at_the_limit(vec![says("Well.")]);
    std::fs::write(scene.work().join("notes.txt"), "mine\n").expect("written");
    let said = scene.run(&["decide", "checkpoint", "half of it"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    (scene, endpoint)
}

#[test]
fn a_checkpoint_names_its_node_and_its_files_and_they_are_had_again() {
    let (scene, _endpoint) = at_the_limit(vec![says("Well.")]);
    let head = git(&scene, "rev-parse HEAD");
    let said = scene.run(&["decide", "checkpoint", "half of it"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    let state = state(&scene);
    let (node, kept) = (text(&state["node"]), &state["kept"]);
    let (commit, tree, reference) = (text(&kept["commit"]), text(&kept["tree"]), text(&kept["ref"]));
    let short = &commit[..7];
    assert!(
        said.out.contains(&format!("checkpoint: half of it — at {node}, files kept as {short}")),
        "{}",
        said.out
    );
    assert!(
        said.err.contains(&format!("at node {node}; the files are kept by git: commit {commit}\n")),
        "{}",
        said.err
    );
    let look = format!("look at them     git show --stat {}\n", &commit[..16]);
    assert!(said.err.contains(&look), "{}", said.err);
    // What is told works, and nothing else of the repository is other than it was.
    let shown = git(&scene, &format!("show --stat --format=%s {}", &commit[..16]));
    assert!(shown.starts_with("Checkpoint: half of it\n") && shown.contains("a.txt"), "{shown}");
    assert_eq!(git(&scene, &format!("rev-parse {reference}")).trim(), commit);
    assert_eq!(git(&scene, &format!("rev-parse {reference}^{{tree}}")).trim(), tree);
    assert_eq!(git(&scene, "rev-parse HEAD"), head);
    assert_eq!(git(&scene, "status --porcelain").trim(), "M a.txt");
    // It is there, whatever becomes of the folder.
    git(&scene, "checkout -q -- .");
    git(&scene, "gc -q --prune=now");
    assert_eq!(git(&scene, &format!("show {reference}:a.txt")), "new\n");
    // Whoever asks later is shown the same.
    let listed = scene.ok(&["decisions"]);
    assert!(listed.contains(&format!("checkpoint {short}")), "{listed}");
    let page = scene.run(&["decisions", "last"]);
    for part in [format!("at node    {node}"), format!("kept by git: commit {commit}"), tree.to_owned()] {
        assert!(page.out.contains(&part), "{part}: {}", page.out);
    }
    assert!(page.err.contains(&format!("the files: git show --stat {}", &commit[..16])), "{}", page.err);
    let shown = scene.ok(&["show"]);
    assert!(shown.contains(&format!("files kept as {short}")), "{shown}");
    let tree = scene.ok(&["tree"]);
    assert!(tree.contains(&format!("files kept as {short}")), "{tree}");
}

#[test]
fn where_nothing_keeps_files_the_checkpoint_says_so() {
    let (scene, _endpoint) = Scene::with(vec![writes("a.txt", "new\n")]);
    assert_eq!(scene.run(&["run", "write a.txt", "-q", "--yes", "--max-turns", "1"]).exit, Some(1));
    let said = scene.run(&["decide", "checkpoint", "half of it"]);
    assert_eq!(said.exit, Some(0), "{}", said.err);
    assert!(said.out.contains("files not kept"), "{}", said.out);
    let why = "the folder is in no worktree of git, and nothing else keeps its files";
    assert!(said.err.contains(&format!("the files are not kept: {why}\n")), "{}", said.err);
    assert!(!said.err.contains("git show"), "{}", said.err);
    assert_eq!(state(&scene)["not_kept"].as_str(), Some(why));
    assert!(scene.ok(&["decisions", "last"]).contains(why));
}

#[test]
fn a_ref_that_is_gone_is_told_and_can_be_put_back() {
    let (scene, _endpoint) = put_down();
    let state = state(&scene);
    let (commit, reference) = (text(&state["kept"]["commit"]), text(&state["kept"]["ref"]));
    // With the ids that are shown elsewhere as `ID`: what is told has to work.
    let raw = |arguments: &[&str]| {
        let output = scene.command(arguments).output().expect("it runs");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let listed = |exit: i32, words: &str, standing: &str| {
        let (code, out, err) = raw(&["decisions", "--git"]);
        assert_eq!(code, Some(exit), "{out}{err}");
        assert!(out.contains(words), "{words}: {out}");
        let line: Value = serde_json::from_str(&raw(&["decisions", "--git", "--json"]).1).expect("one line");
        assert_eq!((text(&line["checkpoint"]), text(&line["commit"])), (standing, commit));
        err
    };
    listed(0, "  kept  ", "same");
    git(&scene, &format!("update-ref -d {reference}"));
    let told = listed(3, "no ref keeps it any more", "ref_gone");
    let again =
        told.lines().find_map(|line| line.trim().strip_prefix("keep it again:  git ")).expect("a command");
    git(&scene, again);
    listed(0, "  kept  ", "same");
    // Where git has taken the files there is nothing to put back.
    git(&scene, &format!("update-ref -d {reference}"));
    git(&scene, "gc -q --prune=now");
    assert!(!listed(3, "neither its ref nor its files", "gone").contains("keep it again"));
}

#[test]
fn a_ref_that_holds_something_else_or_is_nobodys_is_told() {
    let (scene, _endpoint) = put_down();
    let reference = text(&state(&scene)["kept"]["ref"]).to_owned();
    git(&scene, &format!("update-ref {reference} HEAD"));
    let said = scene.run(&["decisions", "--git"]);
    assert_eq!(said.exit, Some(3), "{}", said.out);
    assert!(said.out.contains("the checkpoint names another commit"), "{}", said.out);
    git(&scene, "update-ref refs/trunkline/checkpoints/ab/somebody HEAD");
    assert!(scene.run(&["decisions", "--git"]).out.contains("not in this store"));
}

#[test]
fn a_session_that_is_deleted_leaves_git_alone_and_says_what_it_leaves() {
    let (scene, _endpoint) = put_down();
    let state = state(&scene);
    let (commit, reference) = (text(&state["kept"]["commit"]), text(&state["kept"]["ref"]));
    let said = scene.command(&["delete", "last", "--yes"]).output().expect("it runs");
    let told = String::from_utf8(said.stderr).expect("UTF-8");
    assert!(told.contains("git keeps the files of 1 checkpoint still"), "{told}");
    assert_eq!(git(&scene, &format!("rev-parse {reference}")).trim(), commit);
    let command = told.lines().find(|line| line.contains("update-ref")).expect("a command").trim();
    let done = std::process::Command::new("sh").args(["-c", command]).output().expect("a shell");
    assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(git(&scene, "for-each-ref refs/trunkline"), "");
}
