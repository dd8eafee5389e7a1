//! An apply that fails, is disturbed or dies at any step leaves no half file, and nothing that cannot be put right.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use serde_json::{Value, json};
use trunkline_agent_traits::resolve_queue::{Entry, Fingerprint, Observation, Outcome};
use trunkline_agent_traits::{Cancel, Kept, Proposal, Tool};
use trunkline_tools::CodingTools;

use crate::scene::{Scene, block_on, context, names};

const FILES: [&str; 5] = ["a.rs", "sub/b.rs", "sub/c.rs", "new/deep/d.rs", "e.rs"];

type Files = BTreeMap<String, (Vec<u8>, u32)>;

/// What is done to the write at each of its steps.
#[derive(Clone, Default)]
struct Steps(Arc<Mutex<Vec<String>>>);

impl Steps {
    /// Returns a workspace in which `at` is asked at each step, with its number from 1.
    fn scene(&self, at: impl Fn(usize, &str) -> std::io::Result<()> + Send + Sync + 'static) -> Scene {
        let steps = self.clone();
        let scene = Scene::stepping(move |step| {
            let mut taken = steps.0.lock().unwrap();
            taken.push(step.to_owned());
            let number = taken.len();
            drop(taken);
            at(number, step)
        });
        fill(&scene);
        scene
    }

    fn taken(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn fill(scene: &Scene) {
    for path in ["a.rs", "sub/b.rs", "sub/c.rs", "e.rs"] {
        scene.write(path, format!("before {path}\n"));
    }
    for (path, mode) in [("a.rs", 0o751), ("sub/b.rs", 0o444), ("e.rs", 0o700)] {
        fs::set_permissions(scene.root().join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
}

/// Three files that change, one that is new and one that goes.
fn five(scene: &Scene) -> Entry<Value> {
    let edits: Vec<Value> =
        FILES.iter().map(|path| json!({"path": path, "content": format!("after {path}\n")})).collect();
    let mut proposal = scene.stage("edit_files", json!({ "edits": edits }));
    let gone = proposal.payload["files"][4].as_object_mut().unwrap();
    gone.remove("content");
    gone.insert("mode".to_owned(), json!(0o700));
    proposal.after[4] = Fingerprint::absent("e.rs");
    Entry::in_attempt(proposal)
}

pub(crate) fn observed(scene: &Scene, entry: &Entry<Value>) -> Vec<Fingerprint> {
    let subjects: Vec<String> = entry.part().map(String::from).collect();
    block_on(scene.tool("edit_files").as_executor().unwrap().observe(&subjects))
}

fn is_after(files: &Files) -> bool {
    let after = |path: &&str| {
        files.get(*path).is_some_and(|(bytes, _)| *bytes == format!("after {path}\n").into_bytes())
    };
    let count = files.keys().filter(|path| !path.ends_with('/')).count();
    FILES[..4].iter().all(after) && !files.contains_key("e.rs") && count == 4
}

/// The number of steps of an apply that nothing disturbs.
fn count() -> usize {
    let steps = Steps::default();
    let scene = steps.scene(|_, _| Ok(()));
    assert_eq!(scene.apply_entry(&five(&scene)), Outcome::Applied);
    steps.taken().len()
}

#[test]
fn everything_is_on_the_disk_before_the_first_file_is_replaced() {
    let steps = Steps::default();
    let scene = steps.scene(|_, _| Ok(()));
    assert_eq!(scene.apply_entry(&five(&scene)), Outcome::Applied);
    assert!(is_after(&scene.files()));
    expect![[r#"
        make a temporary file for a.rs
        write the first half of a.rs
        write the second half of a.rs
        set the mode of a.rs
        flush a.rs
        make a temporary file for sub/b.rs
        write the first half of sub/b.rs
        write the second half of sub/b.rs
        set the mode of sub/b.rs
        flush sub/b.rs
        make a temporary file for sub/c.rs
        write the first half of sub/c.rs
        write the second half of sub/c.rs
        set the mode of sub/c.rs
        flush sub/c.rs
        make the folder new
        flush the folder of new
        make the folder new/deep
        flush the folder of new/deep
        make a temporary file for new/deep/d.rs
        write the first half of new/deep/d.rs
        write the second half of new/deep/d.rs
        flush new/deep/d.rs
        replace a.rs
        replace sub/b.rs
        replace sub/c.rs
        put new/deep/d.rs
        remove e.rs
        flush the folder of a.rs
        flush the folder of sub/b.rs
        flush the folder of new/deep/d.rs"#]]
    .assert_eq(&steps.taken().join("\n"));
}

#[test]
fn a_step_that_fails_leaves_everything_as_it_was() {
    let mut told = BTreeMap::new();
    for failing in 1..=count() {
        let steps = Steps::default();
        let scene = steps.scene(move |number, _| match number == failing {
            true => Err(rustix::io::Errno::NOSPC.into()),
            false => Ok(()),
        });
        let entry = five(&scene);
        let (before, folders) = (scene.files(), folders(&scene.root()));
        let step = |steps: &Steps| steps.taken()[failing - 1].clone();
        match scene.apply_entry(&entry) {
            Outcome::Failed { reason } => {
                assert_eq!(scene.files(), before, "{}: {reason}", step(&steps));
                assert_eq!(self::folders(&scene.root()), folders, "{}: {reason}", step(&steps));
                told.entry(reason).or_insert_with(|| step(&steps));
                // The disk has room again.
                assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
            }
            Outcome::Unknown { reason } => {
                assert!(step(&steps).starts_with("flush the folder of"), "{}: {reason}", step(&steps));
                told.entry(reason).or_insert_with(|| step(&steps));
            }
            Outcome::Applied => panic!("{} failed unseen", step(&steps)),
        }
        assert!(is_after(&scene.files()));
    }
    let told: Vec<String> = told.iter().map(|(reason, step)| format!("{step} => {reason}\n")).collect();
    expect![[r#"
        make a temporary file for a.rs => a.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)
        replace a.rs => a.rs: it cannot be replaced: No space left on device (os error 28)
        write the first half of a.rs => a.rs: the new content cannot be written: No space left on device (os error 28)
        remove e.rs => e.rs: it cannot be removed: No space left on device (os error 28); what was written before it was put back
        flush the folder of a.rs => it is written but may not survive a power cut: No space left on device (os error 28)
        make a temporary file for new/deep/d.rs => new/deep/d.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)
        put new/deep/d.rs => new/deep/d.rs: it cannot be put in its place: No space left on device (os error 28); what was written before it was put back
        make the folder new => new/deep/d.rs: its folder cannot be opened: No space left on device (os error 28)
        write the first half of new/deep/d.rs => new/deep/d.rs: the new content cannot be written: No space left on device (os error 28)
        make a temporary file for sub/b.rs => sub/b.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)
        replace sub/b.rs => sub/b.rs: it cannot be replaced: No space left on device (os error 28); what was written before it was put back
        write the first half of sub/b.rs => sub/b.rs: the new content cannot be written: No space left on device (os error 28)
        make a temporary file for sub/c.rs => sub/c.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)
        replace sub/c.rs => sub/c.rs: it cannot be replaced: No space left on device (os error 28); what was written before it was put back
        write the first half of sub/c.rs => sub/c.rs: the new content cannot be written: No space left on device (os error 28)
    "#]].assert_eq(&told.concat());
}

#[test]
fn where_the_way_back_fails_too_the_outcome_is_unknown_and_every_file_is_named() {
    let mut unknown = Vec::new();
    for failing in 1..=count() {
        let steps = Steps::default();
        let scene = steps.scene(move |number, _| match number >= failing {
            true => Err(rustix::io::Errno::NOSPC.into()),
            false => Ok(()),
        });
        let entry = five(&scene);
        let (before, kept) = (scene.files(), scene.keep(&entry));
        let outcome = scene.apply_entry(&entry);
        let mut files = scene.files();
        files.retain(|path, _| before.contains_key(path) || FILES.contains(&path.as_str()));
        match outcome {
            Outcome::Failed { reason } => assert_eq!(files, before, "{reason}"),
            Outcome::Unknown { reason } => {
                for path in FILES {
                    let is = if files.get(path) == before.get(path) { "is as before" } else { "is as after" };
                    let told = reason.contains(&format!("{path} {is}")) || reason.contains("power cut");
                    assert!(told, "{path} {is}: {reason}");
                }
                unknown.push(format!("{} => {reason}\n", steps.taken()[failing - 1]));
            }
            Outcome::Applied => panic!("nothing failed"),
        }
        // The disk has room again, in another process.
        let healthy = CodingTools::new(scene.root()).unwrap().into_tools();
        let edit = healthy.iter().find(|tool| tool.spec().name == "edit_files").unwrap();
        assert_eq!(block_on(edit.as_executor().unwrap().put_back(&entry, &kept)), Outcome::Applied);
        assert_eq!(scene.files(), before);
    }
    expect![[r#"
        replace sub/b.rs => sub/b.rs: it cannot be replaced: No space left on device (os error 28); and not all could be put back (a.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)). Now a.rs is as after, sub/b.rs is as before, sub/c.rs is as before, new/deep/d.rs is as before, e.rs is as before
        replace sub/c.rs => sub/c.rs: it cannot be replaced: No space left on device (os error 28); and not all could be put back (sub/b.rs: a temporary file cannot be made in its folder: No space left on device (os error 28); a.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)). Now a.rs is as after, sub/b.rs is as after, sub/c.rs is as before, new/deep/d.rs is as before, e.rs is as before
        put new/deep/d.rs => new/deep/d.rs: it cannot be put in its place: No space left on device (os error 28); and not all could be put back (sub/c.rs: a temporary file cannot be made in its folder: No space left on device (os error 28); sub/b.rs: a temporary file cannot be made in its folder: No space left on device (os error 28); a.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)). Now a.rs is as after, sub/b.rs is as after, sub/c.rs is as after, new/deep/d.rs is as before, e.rs is as before
        remove e.rs => e.rs: it cannot be removed: No space left on device (os error 28); and not all could be put back (new/deep/d.rs: it cannot be removed: No space left on device (os error 28); sub/c.rs: a temporary file cannot be made in its folder: No space left on device (os error 28); sub/b.rs: a temporary file cannot be made in its folder: No space left on device (os error 28); a.rs: a temporary file cannot be made in its folder: No space left on device (os error 28)). Now a.rs is as after, sub/b.rs is as after, sub/c.rs is as after, new/deep/d.rs is as after, e.rs is as before
        flush the folder of a.rs => it is written but may not survive a power cut: No space left on device (os error 28)
        flush the folder of sub/b.rs => it is written but may not survive a power cut: No space left on device (os error 28)
        flush the folder of new/deep/d.rs => it is written but may not survive a power cut: No space left on device (os error 28)
    "#]].assert_eq(&unknown.concat());
}

#[test]
fn what_somebody_else_writes_meanwhile_is_not_lost_and_nothing_is_half_applied() {
    for at in 1..=count() {
        for path in FILES {
            let steps = Steps::default();
            let place: Arc<Mutex<Option<PathBuf>>> = Arc::default();
            let theirs = Arc::clone(&place);
            let scene = steps.scene(move |number, _| {
                let place = theirs.lock().unwrap().clone();
                if let (true, Some(place)) = (number == at, place) {
                    let _ = fs::create_dir_all(place.parent().unwrap());
                    let beside = place.with_extension("theirs");
                    fs::write(&beside, "theirs\n").unwrap();
                    fs::rename(beside, place).unwrap();
                }
                Ok(())
            });
            let entry = five(&scene);
            let before = scene.files();
            *place.lock().unwrap() = Some(scene.root().join(path));
            let outcome = scene.apply_entry(&entry);
            let step = steps.taken()[at - 1].clone();
            let mut files = scene.files();
            let found = files.remove(path).map(|(bytes, _)| bytes);
            // Between the last look and the very step that replaces it, it is lost; the README says so.
            let window = step == format!("replace {path}") || step == format!("remove {path}");
            let theirs = found.as_deref() == Some(b"theirs\n".as_slice());
            match outcome {
                Outcome::Failed { reason } => {
                    let mut before = before;
                    before.remove(path);
                    // Theirs may need folders that were not there.
                    files.retain(|path, _| !path.ends_with('/'));
                    before.retain(|path, _| !path.ends_with('/'));
                    assert_eq!(files, before, "{path} at {step}: {reason}");
                    assert!(theirs, "{path} at {step}: {reason}");
                }
                outcome => {
                    assert_eq!(outcome, Outcome::Applied, "{path} at {step}");
                    assert!(theirs || window, "{path} at {step}");
                    for other in FILES.iter().filter(|other| **other != path && **other != "e.rs") {
                        assert_eq!(
                            files[*other].0,
                            format!("after {other}\n").into_bytes(),
                            "{path} at {step}"
                        );
                    }
                    assert!(!files.contains_key("e.rs"), "{path} at {step}");
                }
            }
        }
    }
}

#[test]
fn a_folder_that_is_swapped_for_a_link_at_any_step_leads_nowhere() {
    for at in 1..=count() {
        let steps = Steps::default();
        let places: Arc<Mutex<Option<(PathBuf, PathBuf)>>> = Arc::default();
        let theirs = Arc::clone(&places);
        let scene = steps.scene(move |number, _| {
            let places = theirs.lock().unwrap().clone();
            if let (true, Some((inside, outside))) = (number == at, places) {
                // What it was goes away, and a link to something that looks the same comes in its place.
                fs::rename(&inside, outside.with_extension("moved")).unwrap();
                symlink(outside, inside).unwrap();
            }
            Ok(())
        });
        let entry = five(&scene);
        let before = scene.files();
        let (inside, outside) = (scene.root().join("sub"), scene.outside("vault"));
        fs::create_dir(&outside).unwrap();
        for name in ["b.rs", "c.rs"] {
            fs::copy(inside.join(name), outside.join(name)).unwrap();
        }
        *places.lock().unwrap() = Some((inside.clone(), outside.clone()));
        let outcome = scene.apply_entry(&entry);
        let step = steps.taken()[at - 1].clone();
        assert_eq!(names(&outside), ["b.rs", "c.rs"], "{step}");
        for name in ["b.rs", "c.rs"] {
            assert_eq!(
                fs::read_to_string(outside.join(name)).unwrap(),
                format!("before sub/{name}\n"),
                "{step}"
            );
        }
        // Back in its place it is as before, unless the outcome says something else.
        fs::remove_file(&inside).unwrap();
        fs::rename(outside.with_extension("moved"), &inside).unwrap();
        if let Outcome::Failed { reason } = outcome {
            let mut files = scene.files();
            files.retain(|path, _| !path.ends_with(".tmp"));
            assert_eq!(files, before, "{step}: {reason}");
        }
    }
}

#[test]
fn what_comes_back_has_all_of_its_mode() {
    let steps = Steps::default();
    let scene = steps.scene(|_, step| match step {
        "remove e.rs" => Err(rustix::io::Errno::NOSPC.into()),
        _ => Ok(()),
    });
    // The new bytes do not get such a bit, the old ones had it.
    fs::set_permissions(scene.root().join("a.rs"), fs::Permissions::from_mode(0o4751)).unwrap();
    let entry = five(&scene);
    let before = scene.files();
    assert!(matches!(scene.apply_entry(&entry), Outcome::Failed { .. }));
    assert_eq!(scene.files(), before);
}

#[test]
fn a_cancel_is_heard_until_the_first_file_is_replaced_and_not_after() {
    for at in 1..=count() {
        let cancel = Cancel::new();
        let given = cancel.clone();
        let steps = Steps::default();
        let scene = steps.scene(move |number, _| {
            if number == at {
                given.cancel();
            }
            Ok(())
        });
        let entry = five(&scene);
        let (before, folders) = (scene.files(), folders(&scene.root()));
        let (outcome, _) =
            block_on(scene.tool("edit_files").as_executor().unwrap().apply(&entry, &context(&cancel)));
        let taken = steps.taken();
        let first = taken.iter().position(|step| step.starts_with("replace "));
        match outcome {
            Outcome::Applied => {
                assert!(at > first.unwrap(), "{}", taken[at - 1]);
                assert!(is_after(&scene.files()));
            }
            outcome => {
                let reason = "cancelled before anything was written".to_owned();
                assert_eq!(outcome, Outcome::Failed { reason });
                assert_eq!(first, None);
                assert_eq!((scene.files(), self::folders(&scene.root())), (before, folders));
            }
        }
    }
}

#[test]
fn an_apply_that_is_killed_at_any_step_leaves_whole_files_that_can_be_put_back() {
    let mut torn = 0;
    for step in 1_usize.. {
        let scene = Steps::default().scene(|_, _| Ok(()));
        let entry = five(&scene);
        let (before, kept) = (scene.files(), scene.keep(&entry));
        let died = child(&scene, "apply", step, &entry.proposal, &kept);
        let changed = changed(&scene, &before);
        torn += u32::from(changed > 0 && changed < 5);
        let seen = entry.observe(&observed(&scene, &entry));
        assert_eq!(seen == Observation::Before, changed == 0, "step {step}");
        assert_eq!(seen == Observation::After, changed == 5, "step {step}");
        if seen == Observation::Unclear || step % 2 == 0 {
            assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied, "step {step}");
            assert_eq!(scene.files(), before, "step {step}");
        }
        if seen != Observation::After || step % 2 == 0 {
            assert_eq!(scene.apply_entry(&entry), Outcome::Applied, "step {step}");
        }
        if died {
            // Folders that nothing was put into after the kill are not looked at.
            assert!(is_after(&scene.files()) || seen == Observation::After, "step {step}");
        } else {
            assert_eq!(seen, Observation::After);
            assert!(is_after(&scene.files()));
            break;
        }
    }
    assert_eq!(torn, 4, "killed between any two of five files");
}

/// How many files are as after; the others are as before, each of them whole.
fn changed(scene: &Scene, before: &Files) -> usize {
    let files = scene.files();
    let strange: Vec<&String> = files
        .keys()
        .filter(|path| !FILES.contains(&path.as_str()) && !path.ends_with('/') && !path.ends_with(".tmp"))
        .collect();
    assert!(strange.is_empty(), "{strange:?}");
    let is_changed = |path: &&str| {
        let now = files.get(*path).map(|(bytes, _)| bytes);
        let after = (*path != "e.rs").then(|| format!("after {path}\n").into_bytes());
        let changed = now != before.get(*path).map(|(bytes, _)| bytes);
        assert!(!changed || now == after.as_ref(), "{path} is {now:?}");
        changed
    };
    FILES.iter().filter(|path| is_changed(path)).count()
}

#[test]
fn after_a_kill_what_somebody_else_wrote_stays_and_everything_of_the_apply_goes() {
    let (mut step, mut torn) = (1_usize, 0);
    loop {
        let scene = Steps::default().scene(|_, _| Ok(()));
        let entry = five(&scene);
        let (before, kept) = (scene.files(), scene.keep(&entry));
        if !child(&scene, "apply", step, &entry.proposal, &kept) {
            break;
        }
        torn += u32::from(changed(&scene, &before) > 0);
        let path = ["a.rs", "sub/c.rs", "e.rs"][step % 3];
        scene.write(path, "theirs\n");
        let Outcome::Failed { reason } = scene.put_back(&entry, &kept) else { panic!("step {step}") };
        assert_eq!(
            reason,
            format!("{path} is neither as before nor as after, so it is somebody else's and stays")
        );
        let (mut files, mut before) = (scene.files(), before);
        assert_eq!(files.remove(path).unwrap().0, b"theirs\n", "step {step}");
        before.remove(path);
        assert_eq!(files, before, "nothing is left, also nothing that lay ready: step {step}");
        step += 2;
    }
    assert!(torn > 2, "{torn}");
}

#[test]
fn the_way_back_from_a_step_that_failed_can_be_killed_too() {
    let mut torn = 0;
    for step in 1_usize.. {
        let scene = Steps::default().scene(|_, _| Ok(()));
        let entry = five(&scene);
        let (before, kept) = (scene.files(), scene.keep(&entry));
        let died = child(&scene, "fail", step, &entry.proposal, &kept);
        let changed = changed(&scene, &before);
        assert!(changed < 5);
        torn += u32::from(changed > 0);
        if !died {
            assert_eq!(scene.files(), before, "it went all the way back by itself");
            break;
        }
        assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied, "step {step}");
        assert_eq!(scene.files(), before, "step {step}");
        assert_eq!(scene.apply_entry(&entry), Outcome::Applied, "step {step}");
        assert!(is_after(&scene.files()));
    }
    assert!(torn > 10, "{torn}");
}

#[test]
fn putting_back_can_be_killed_at_any_step_and_done_again() {
    for step in 1_usize.. {
        let scene = Steps::default().scene(|_, _| Ok(()));
        let entry = five(&scene);
        let (before, kept) = (scene.files(), scene.keep(&entry));
        assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
        let died = child(&scene, "put_back", step, &entry.proposal, &kept);
        assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied, "step {step}");
        assert_eq!(scene.files(), before, "step {step}");
        if !died {
            assert!(step > 20, "it ended by itself after {step} steps");
            break;
        }
    }
}

/// Lets another process apply, or put back, and die before the given step; returns whether it died.
pub(crate) fn child(scene: &Scene, act: &str, step: usize, proposal: &Proposal, kept: &[Kept]) -> bool {
    let kept: Vec<(&Fingerprint, &Option<Vec<u8>>)> =
        kept.iter().map(|kept| (&kept.fingerprint, &kept.bytes)).collect();
    let task = json!({"root": scene.root(), "act": act, "step": step, "proposal": proposal, "kept": kept});
    let file = scene.outside("task.json");
    fs::write(&file, task.to_string()).unwrap();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "torn::the_process_that_is_killed"])
        .env(TASK, &file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.code().is_none_or(|code| code == 0), "{said}");
    ended.status.code().is_none()
}

const TASK: &str = "TRUNKLINE_TOOLS_TEST_TASK";

/// Does nothing unless another test has started it in a process of its own.
#[test]
fn the_process_that_is_killed() {
    let Some(task) = std::env::var_os(TASK) else { return };
    let task: Value = serde_json::from_slice(&fs::read(task).unwrap()).unwrap();
    let proposal: Proposal = serde_json::from_value(task["proposal"].clone()).unwrap();
    let kept: Vec<(Fingerprint, Option<Vec<u8>>)> = serde_json::from_value(task["kept"].clone()).unwrap();
    let kept: Vec<Kept> = kept.into_iter().map(|(fingerprint, bytes)| Kept { fingerprint, bytes }).collect();
    let last = task["step"].as_u64().unwrap();
    let taken = Mutex::new(0);
    let failing = task["act"] == "fail";
    let tools = CodingTools::new(task["root"].as_str().unwrap()).unwrap().each_step(move |step| {
        let mut taken = taken.lock().unwrap();
        *taken += 1;
        if *taken == last {
            let this = rustix::process::getpid();
            rustix::process::kill_process(this, rustix::process::Signal::KILL).unwrap();
        }
        if failing && step == "remove e.rs" {
            return Err(rustix::io::Errno::NOSPC.into());
        }
        Ok(())
    });
    let tools = tools.into_tools();
    let edit: &dyn Tool = tools.iter().find(|tool| tool.spec().name == "edit_files").unwrap().as_ref();
    let entry = Entry::in_attempt(proposal);
    let outcome = match task["act"].as_str() {
        Some("put_back") => block_on(edit.as_executor().unwrap().put_back(&entry, &kept)),
        _ => block_on(edit.as_executor().unwrap().apply(&entry, &context(&Cancel::new()))).0,
    };
    assert_eq!(outcome == Outcome::Applied, !failing, "{outcome:?}");
}

/// Every folder in the workspace.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(folders(&path));
            found.push(path);
        }
    }
    found.sort();
    found
}
