//! What holds for any edits of any files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_agent_traits::Proposal;
use trunkline_agent_traits::resolve_queue::{Entry, Outcome};

use crate::scene::{Scene, part_of};

/// Files with their texts and modes, and edits of them and of others.
#[derive(Clone, Debug)]
struct Case {
    files: BTreeMap<&'static str, (String, u32)>,
    edits: Vec<(&'static str, String)>,
}

const PATHS: [&str; 8] = ["a", "b.txt", "sub/c", "sub/d", "sub/deep/e", "other/f", "ä b", "sub/ g"];

/// Lines that often repeat, with and without an end.
fn texts() -> impl Strategy<Value = String> {
    let line =
        prop::sample::select(vec!["one", "two", "", "three ", "\tfour", "+x", "-- y", "@@", "ü", "five\r"]);
    (prop::collection::vec(line, 0..12), any::<bool>())
        .prop_map(|(lines, ended)| format!("{}{}", lines.join("\n"), if ended { "\n" } else { "" }))
}

fn cases() -> impl Strategy<Value = Case> {
    let path = || prop::sample::select(PATHS.to_vec());
    let mode = prop::sample::select(vec![0o644, 0o600, 0o755, 0o400, 0o664]);
    (
        prop::collection::btree_map(path(), (texts(), mode), 0..7),
        prop::collection::vec((path(), texts()), 1..8),
    )
        .prop_map(|(files, edits)| Case { files, edits })
}

impl Case {
    fn scene(&self) -> Scene {
        let scene = Scene::new();
        for (path, (text, mode)) in &self.files {
            scene.write(path, text);
            fs::set_permissions(scene.root().join(path), fs::Permissions::from_mode(*mode)).unwrap();
        }
        scene
    }

    /// Stages the edits: those of a file that has a text as replacements of some of it.
    fn stage(&self, scene: &Scene) -> Option<Proposal> {
        let mut now: BTreeMap<&str, String> =
            self.files.iter().map(|(path, (text, _))| (*path, text.clone())).collect();
        let mut edits: Vec<Value> = Vec::new();
        for (path, text) in &self.edits {
            let old = now.get(path).cloned().unwrap_or_default();
            let word = old.split_whitespace().next().filter(|_| text.len() % 2 == 0).map(str::to_owned);
            let (edit, new) = match word {
                Some(word) => (
                    json!({"path": path, "old_text": word, "new_text": text, "replace_all": true}),
                    old.replace(&word, &in_ends_of(&old, text)),
                ),
                // A `\r\n` that is written out in a whole file is meant.
                None if text.contains("\r\n") => (json!({"path": path, "content": text}), text.clone()),
                // Else it follows the file as it is on the disk, whatever an edit before it made of it.
                None => {
                    let file = self.files.get(path).map(|(text, _)| text.as_str()).unwrap_or_default();
                    (json!({"path": path, "content": text}), in_ends_of(file, text))
                }
            };
            edits.push(edit);
            now.insert(path, new);
        }
        let output = scene.call("edit_files", json!({ "edits": edits }));
        assert!(!output.is_error, "{output:?}");
        let proposal = output.proposals.into_iter().next();
        for file in proposal.iter().flat_map(|one| one.payload["files"].as_array().unwrap()) {
            assert_eq!(file["content"].as_str(), now.get(file["path"].as_str().unwrap()).map(String::as_str));
        }
        proposal
    }
}

/// A text with the line ends of a file that has one kind of them.
fn in_ends_of(file: &str, text: &str) -> String {
    let plain = text.replace("\r\n", "\n");
    match (file.matches("\r\n").count(), file.matches('\n').count()) {
        (_, 0) => text.to_owned(),
        (0, _) => plain,
        (both, all) if both == all => plain.replace('\n', "\r\n"),
        _ => text.to_owned(),
    }
}

/// Lets git make of the files what a diff says.
fn patched(scene: &Scene, diff: &str) -> BTreeMap<String, Vec<u8>> {
    let mut git = Command::new("git")
        .args(["apply", "--whitespace=nowarn", "-"])
        .current_dir(scene.root())
        .env("GIT_CEILING_DIRECTORIES", scene.root())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    git.stdin.take().unwrap().write_all(diff.as_bytes()).unwrap();
    assert!(git.wait().unwrap().success(), "git does not take it:\n{diff}");
    bytes(scene)
}

fn bytes(scene: &Scene) -> BTreeMap<String, Vec<u8>> {
    let files = scene.files().into_iter().filter(|(path, _)| !path.ends_with('/'));
    files.map(|(path, (bytes, _))| (path, bytes)).collect()
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config(80))]

    #[test]
    fn what_is_applied_is_what_the_diff_says(case in cases()) {
        let scene = case.scene();
        let Some(proposal) = case.stage(&scene) else { return Ok(()) };
        prop_assert_eq!(scene.apply_entry(&Entry::in_attempt(proposal.clone())), Outcome::Applied);
        let other = case.scene();
        let mut diff = String::new();
        // A diff has no lines for a file that is made empty, and what a terminal must not see is spelled out in it.
        for (path, bytes) in bytes(&scene) {
            if bytes.is_empty() && !case.files.contains_key(path.as_str()) {
                other.write(&path, "");
            }
        }
        diff.push_str(&proposal.preview.diff.unwrap());
        if diff.contains("\\u{") || diff.is_empty() {
            return Ok(());
        }
        // Where line ends differ they are spelled out, too.
        let diff = diff.replace("\\r\n", "\r\n");
        prop_assert_eq!(patched(&other, &diff), bytes(&scene));
    }

    #[test]
    fn an_undo_brings_back_every_byte_and_mode(case in cases()) {
        let scene = case.scene();
        let Some(proposal) = case.stage(&scene) else { return Ok(()) };
        let before = scene.files();
        let entry = Entry::in_attempt(proposal);
        let kept = scene.keep(&entry);
        prop_assert_eq!(kept.len(), entry.part().count());
        prop_assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
        let after = scene.files();
        let undo = Entry::in_attempt(scene.undo(&entry, &kept).unwrap());
        let kept_after = scene.keep(&undo);
        prop_assert_eq!(scene.apply_entry(&undo), Outcome::Applied);
        prop_assert_eq!(&scene.files(), &before);
        // And the other way: what an undo did is put back, and so is what the edit did.
        prop_assert_eq!(scene.put_back(&undo, &kept_after), Outcome::Applied);
        prop_assert_eq!(&scene.files(), &after);
        prop_assert_eq!(scene.put_back(&entry, &kept), Outcome::Applied);
        prop_assert_eq!(&scene.files(), &before);
    }

    #[test]
    fn a_part_changes_only_its_files(case in cases(), chosen in any::<u8>()) {
        let scene = case.scene();
        let Some(proposal) = case.stage(&scene) else { return Ok(()) };
        let all: Vec<String> = Entry::in_attempt(proposal.clone()).part().map(String::from).collect();
        let only: Vec<&str> = all
            .iter()
            .enumerate()
            .filter(|(index, _)| all.len() == 1 || chosen & (1 << (index % 8)) != 0)
            .map(|(_, path)| path.as_str())
            .collect();
        if only.is_empty() {
            return Ok(());
        }
        let before = scene.files();
        let entry = part_of(proposal.clone(), &only);
        prop_assert_eq!(scene.apply_entry(&entry), Outcome::Applied);
        let after = scene.files();
        for path in PATHS {
            let payload = proposal.payload["files"].as_array().unwrap();
            match payload.iter().find(|file| file["path"] == path && only.contains(&path)) {
                Some(file) => prop_assert_eq!(&after[path].0, file["content"].as_str().unwrap().as_bytes()),
                None => prop_assert_eq!(after.get(path), before.get(path)),
            }
        }
    }

    #[test]
    fn whoever_was_quicker_at_one_file_keeps_all_from_being_written(case in cases(), chosen in any::<prop::sample::Index>()) {
        let scene = case.scene();
        let Some(proposal) = case.stage(&scene) else { return Ok(()) };
        let entry = Entry::in_attempt(proposal);
        let all: Vec<&str> = entry.part().collect();
        let path = all[chosen.index(all.len())];
        let place = scene.root().join(path);
        if place.exists() && chosen.index(2) == 0 {
            fs::remove_file(&place).unwrap();
        } else {
            let _ = fs::remove_file(&place);
            scene.write(path, "quicker");
        }
        let before = scene.files();
        let ended = scene.apply_entry(&entry);
        prop_assert!(matches!(ended, Outcome::Failed { .. }), "{:?}", ended);
        prop_assert_eq!(scene.files(), before);
    }
}
