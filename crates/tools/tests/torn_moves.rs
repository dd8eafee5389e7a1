//! A move or a deletion that fails, or dies, at any step: the file is somewhere, whole, and can be put where it was.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_agent_traits::resolve_queue::{Entry, Observation, Outcome};

use crate::scene::Scene;
use crate::torn::{child, observed};

fn moving(scene: &Scene) -> Entry<Value> {
    scene.write("run.sh", b"\x89echo\n");
    set_mode(scene, "run.sh", 0o750);
    Entry::in_attempt(scene.stage("move_file", json!({"from": "run.sh", "to": "new/deep/go.sh"})))
}

fn deleting(scene: &Scene) -> Entry<Value> {
    scene.write("run.sh", b"\x89echo\n");
    set_mode(scene, "run.sh", 0o750);
    Entry::in_attempt(scene.stage("delete_file", json!({"path": "run.sh"})))
}

fn set_mode(scene: &Scene, path: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(scene.root().join(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_move_or_a_deletion_that_is_killed_at_any_step_is_put_back_or_done() {
    for (stage, after, torn) in
        [(moving as fn(&Scene) -> Entry<Value>, Some("new/deep/go.sh"), 1), (deleting, None, 0)]
    {
        let mut unclear = 0;
        for step in 1_usize.. {
            let scene = Scene::new();
            let entry = stage(&scene);
            let (before, kept) = (scene.files(), scene.keep(&entry));
            let died = child(&scene, "apply", step, &entry.proposal, &kept);
            let now = scene.files();
            let places: Vec<&str> =
                ["run.sh", "new/deep/go.sh"].into_iter().filter(|path| now.contains_key(*path)).collect();
            for place in &places {
                assert_eq!(now[*place], before["run.sh"], "whole, and with its mode: step {step}");
            }
            let seen = entry.observe(&observed(&scene, &entry));
            unclear += i32::from(seen == Observation::Unclear && places.len() == 2);
            let expected = match seen {
                Observation::Before => vec!["run.sh"],
                Observation::After => after.into_iter().collect(),
                _ => vec!["run.sh", "new/deep/go.sh"],
            };
            assert_eq!(places, expected, "step {step}");
            if seen == Observation::Unclear || step % 2 == 0 {
                assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied, "step {step}");
                assert_eq!(scene.files(), before, "step {step}");
            }
            if seen != Observation::After || step % 2 == 0 {
                assert_eq!(scene.apply_entry(&entry), Outcome::Applied, "step {step}");
            }
            assert!(!scene.files().contains_key("run.sh"));
            if !died {
                assert_eq!(seen, Observation::After);
                break;
            }
        }
        assert!(unclear >= torn, "{unclear}");
    }
}

/// The old place may be taken by then, and the file must not go for that.
#[test]
fn what_was_moved_stays_where_its_old_place_is_taken() {
    let scene = Scene::new();
    let entry = moving(&scene);
    let kept = scene.keep(&entry);
    assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
    let moved = scene.files()["new/deep/go.sh"].clone();
    scene.write("run.sh", b"another file\n");
    let Outcome::Failed { reason } = scene.put_back(&entry, &kept) else { panic!("it cannot come back") };
    expect![[r#"run.sh is neither as before nor as after, so it is somebody else's and stays; new/deep/go.sh stays, since what was moved there could not come back to run.sh"#]]
        .assert_eq(&reason);
    assert_eq!(scene.files()["new/deep/go.sh"], moved);
}

#[test]
fn what_was_moved_is_never_nowhere_while_it_comes_back() {
    for step in 1_usize.. {
        let scene = Scene::new();
        let entry = moving(&scene);
        let (before, kept) = (scene.files(), scene.keep(&entry));
        assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
        let died = child(&scene, "put_back", step, &entry.proposal, &kept);
        let places = scene.files();
        assert!(places.values().any(|file| *file == before["run.sh"]), "step {step}");
        assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied, "step {step}");
        assert_eq!(scene.files(), before, "step {step}");
        if !died {
            break;
        }
    }
}

#[test]
fn a_move_that_fails_at_any_step_leaves_the_file_where_it_was() {
    let mut told = BTreeSet::new();
    for at in 1_usize.. {
        let taken: Arc<Mutex<usize>> = Arc::default();
        let counted = Arc::clone(&taken);
        let armed: Arc<Mutex<bool>> = Arc::default();
        let arm = Arc::clone(&armed);
        let scene = Scene::stepping(move |_| {
            if !*armed.lock().unwrap() {
                return Ok(());
            }
            let mut counted = counted.lock().unwrap();
            *counted += 1;
            if *counted == at { Err(rustix::io::Errno::NOSPC.into()) } else { Ok(()) }
        });
        let entry = moving(&scene);
        let before = scene.files();
        *arm.lock().unwrap() = true;
        let outcome = scene.apply_entry(&entry);
        let reached = *taken.lock().unwrap() >= at;
        match outcome {
            Outcome::Failed { reason } => {
                assert_eq!(scene.files(), before, "{at}: {reason}");
                told.insert(reason);
            }
            // Flushing and clearing away come after the file has its new place.
            _ => {
                assert!(!scene.files().contains_key("run.sh") && scene.files().contains_key("new/deep/go.sh"))
            }
        }
        if !reached {
            break;
        }
    }
    let told: String = told.iter().map(|reason| format!("{reason}\n")).collect();
    expect![[r#"
        new/deep/go.sh: a temporary file cannot be made in its folder: No space left on device (os error 28)
        new/deep/go.sh: it cannot be put in its place: No space left on device (os error 28)
        new/deep/go.sh: its folder cannot be opened: No space left on device (os error 28)
        new/deep/go.sh: the new content cannot be written: No space left on device (os error 28)
        run.sh: it cannot be removed: No space left on device (os error 28); what was written before it was put back
    "#]].assert_eq(&told);
}
