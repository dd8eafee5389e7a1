//! What was applied can be taken back, and what was cut off is put back.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_agent_traits::Kept;
use trunkline_agent_traits::resolve_queue::{
    Actor, ActorKind, Answer, Entry, Offer, Outcome, ProposalId, Queue, Ruling, Start, State, Step, Verdict,
};

use crate::scene::{Scene, block_on, part_of};
use crate::several::three;

fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("a.rs", "fn a() {}\n");
    scene.write("sub/b.rs", "fn b() {}\n");
    fs::set_permissions(scene.root().join("a.rs"), fs::Permissions::from_mode(0o750)).unwrap();
    scene
}

#[test]
fn an_undo_shows_the_way_back_and_goes_it() {
    let scene = scene();
    let before = scene.files();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    let kept = scene.keep(&entry);
    assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
    let undo = scene.undo(&entry, &kept).unwrap();
    expect![[r#"
        restore 3 files (+2 −3): a.rs, sub/deep/new.rs, sub/b.rs
        restore a.rs (+1 −1)
        remove sub/deep/new.rs (−1)
        restore sub/b.rs (+1 −1)
        --- a/a.rs
        +++ b/a.rs
        @@ -1 +1 @@
        -fn one() {}
        +fn a() {}
        --- a/sub/deep/new.rs
        +++ /dev/null
        @@ -1 +0,0 @@
        -new
        --- a/sub/b.rs
        +++ b/sub/b.rs
        @@ -1 +1 @@
        -fn two() {}
        +fn b() {}
    "#]]
    .assert_eq(&format!("{}\n{}", undo.preview.text, undo.preview.diff.clone().unwrap()));
    assert_eq!(scene.apply_entry(&Entry::in_attempt(undo)), Outcome::Applied);
    assert_eq!(scene.files(), before);
}

#[test]
fn an_undo_can_be_undone_and_modes_come_back() {
    let scene = scene();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    let kept = scene.keep(&entry);
    scene.apply_entry(&entry);
    let new = scene.root().join("sub/deep/new.rs");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o711)).unwrap();
    let after = scene.files();

    let undo = Entry::in_attempt(scene.undo(&entry, &kept).unwrap());
    let kept = scene.keep(&undo);
    assert_eq!(scene.apply_entry(&undo), Outcome::Applied);
    assert!(!new.exists());
    let again = scene.undo(&undo, &kept).unwrap();
    assert_eq!(
        again.preview.text.lines().next(),
        Some("restore 3 files (+3 −2): a.rs, sub/deep/new.rs, sub/b.rs")
    );
    assert_eq!(scene.apply_entry(&Entry::in_attempt(again)), Outcome::Applied);
    assert_eq!(scene.files(), after, "a file that was made again has the mode it had");
}

#[test]
fn an_undo_of_a_part_takes_back_that_part() {
    let scene = scene();
    let before = scene.files();
    let entry = part_of(scene.stage("edit_files", three()), &["a.rs"]);
    let kept = scene.keep(&entry);
    scene.apply_entry(&entry);
    let undo = scene.undo(&entry, &kept).unwrap();
    assert_eq!(undo.payload["files"].as_array().unwrap().len(), 1);
    assert_eq!(undo.preview.text, "restore a.rs (+1 −1)");
    assert_eq!(scene.apply_entry(&Entry::in_attempt(undo)), Outcome::Applied);
    assert_eq!(scene.files(), before);
}

#[test]
fn an_undo_writes_nothing_over_what_somebody_did_since() {
    let scene = scene();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    let kept = scene.keep(&entry);
    scene.apply_entry(&entry);
    let undo = scene.undo(&entry, &kept).unwrap();
    scene.write("sub/deep/new.rs", "somebody else\n");
    let now = scene.files();
    assert_eq!(
        scene.apply_entry(&Entry::in_attempt(undo)),
        Outcome::Failed { reason: "sub/deep/new.rs has changed since the proposal was made".to_owned() }
    );
    assert_eq!(scene.files(), now);
}

#[test]
fn without_what_was_kept_there_is_no_undo_and_nothing_is_put_back() {
    let scene = scene();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    let mut kept = scene.keep(&entry);
    scene.apply_entry(&entry);
    let after = scene.files();
    kept[0].bytes = Some(b"forged".to_vec());
    kept.truncate(2);
    assert!(scene.undo(&entry, &kept).is_none());
    let Outcome::Failed { reason } = scene.put_back(&entry, &kept[..1]) else { panic!("put back") };
    assert_eq!(
        reason,
        "what was kept of a.rs is not what was there; of sub/deep/new.rs nothing was kept; of sub/b.rs nothing was kept"
    );
    assert_eq!(scene.files(), after);
}

#[test]
fn what_was_cut_off_is_put_back_and_what_is_somebody_elses_stays() {
    let scene = scene();
    let before = scene.files();
    let entry = Entry::in_attempt(scene.stage("edit_files", three()));
    let kept = scene.keep(&entry);
    // Cut off in the middle: one is written, one is made, one is not.
    scene.write("a.rs", "fn one() {}\n");
    scene.write("sub/deep/new.rs", "new\n");
    scene.write("sub/.trunkline-00000000000000aa.tmp", "half");
    assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied);
    assert_eq!(scene.files(), before);
    assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied, "again does no harm");

    scene.write("a.rs", "fn one() {}\n");
    scene.write("sub/b.rs", "somebody else\n");
    assert_eq!(
        scene.put_back(&entry, &kept),
        Outcome::Failed {
            reason: "sub/b.rs is neither as before nor as after, so it is somebody else's and stays"
                .to_owned()
        }
    );
    assert_eq!(scene.read("a.rs").as_deref(), Some("fn a() {}\n"), "the rest is back nevertheless");
    assert_eq!(scene.read("sub/b.rs").as_deref(), Some("somebody else\n"));
}

#[test]
fn a_removal_that_was_cut_off_comes_back_with_its_mode() {
    let scene = Scene::new();
    let made = Entry::in_attempt(scene.stage("write_file", json!({"path": "run.sh", "content": "echo\n"})));
    let kept = scene.keep(&made);
    scene.apply_entry(&made);
    fs::set_permissions(scene.root().join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let before = scene.files();
    let undo = Entry::in_attempt(scene.undo(&made, &kept).unwrap());
    let kept = scene.keep(&undo);
    fs::remove_file(scene.root().join("run.sh")).unwrap();
    assert_eq!(scene.put_back(&undo, &kept), Outcome::Applied);
    assert_eq!(scene.files(), before);
}

/// Approves a proposal, in part if `only` names some, and lets its tool apply it; returns what was kept.
fn resolve(scene: &Scene, queue: &mut Queue<Value>, id: ProposalId, only: &[&str]) -> (State, Vec<Kept>) {
    let mut ruling = Ruling::new(Verdict::Approve, Actor::new(ActorKind::Person, "anna"), "fine");
    ruling.only = only.iter().map(|path| (*path).to_owned()).collect();
    let Answer::New(event) = queue.decide_with(id, ruling, 1).unwrap() else { panic!("decided before") };
    queue.record(event).unwrap();
    let entry = queue.get(id).unwrap().clone();
    let kept = scene.keep(&entry);
    let start = Start::default().keeping(kept.iter().map(|kept| kept.fingerprint.clone()).collect());
    let subjects: Vec<String> = entry.compared().into_iter().map(|one| one.subject).collect();
    let seen = block_on(scene.tool(&entry.proposal.source_tool).as_executor().unwrap().observe(&subjects));
    match queue.begin_with(id, &seen, start, 2).unwrap() {
        Step::Stale { event, .. } => {
            queue.record(event).unwrap();
        }
        Step::Apply { attempt, event } => {
            queue.record(event).unwrap();
            let outcome = scene.apply_entry(&queue.get(id).unwrap().clone());
            let event = queue.finish(attempt, outcome, 3).unwrap();
            queue.record(event).unwrap();
        }
    }
    (queue.get(id).unwrap().state, kept)
}

#[test]
fn a_queue_takes_a_part_all_the_way_and_back() {
    let scene = scene();
    let before = scene.files();
    let mut queue = Queue::new();
    let offer = |queue: &mut Queue<Value>, proposal| {
        let Offer::Staged { id, events } = queue.offer(proposal, 0).unwrap() else { panic!("nothing to do") };
        for event in events {
            queue.record(event).unwrap();
        }
        id
    };
    let id = offer(&mut queue, scene.stage("edit_files", three()));
    let (state, kept) = resolve(&scene, &mut queue, id, &["a.rs", "sub/deep/new.rs"]);
    assert_eq!(state, State::Applied);
    assert_eq!(scene.read("sub/b.rs").as_deref(), Some("fn b() {}\n"));

    let done = queue.get(id).unwrap().clone();
    let tool = scene.tool("edit_files");
    let (payload, preview) = block_on(tool.as_executor().unwrap().undo(&done, &kept)).unwrap();
    let mut undo = queue.undo(id, payload).unwrap();
    undo.preview = preview;
    // Somebody has been there since: the way back is stale, not a loss.
    let text = scene.read("a.rs").unwrap();
    let first = offer(&mut queue, undo.clone());
    scene.write("a.rs", "somebody else\n");
    assert_eq!(resolve(&scene, &mut queue, first, &[]).0, State::Stale);
    scene.write("a.rs", text);
    let second = offer(&mut queue, undo);
    assert_eq!(resolve(&scene, &mut queue, second, &[]).0, State::Applied);
    assert_eq!(scene.files(), before);
}
