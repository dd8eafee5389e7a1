//! What a run changed in a folder, put back as it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use tempfile::TempDir;
use trunkline_agent_traits::{
    Base, Commits, GitBinding, KeptFile, Left, Permit, Restore, Span, Touched, Workspace,
};
use trunkline_tools::{FolderWorkspace, GitWorkspace};

use crate::scene::block_on;

/// Bytes, and whether they may be executed, by path.
type Files = BTreeMap<String, (Vec<u8>, bool)>;

struct Folder {
    home: TempDir,
}

impl Folder {
    fn repository() -> Self {
        let folder = Folder { home: tempfile::tempdir().unwrap() };
        folder.git("init -q -b main");
        folder.git("config user.name Anna");
        folder.git("config user.email anna@example.org");
        folder
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap()
    }

    fn git(&self, arguments: &str) {
        let output = Command::new("git")
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .arg("-C")
            .arg(self.home.path())
            .args(arguments.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn put(&self, path: &str, bytes: &[u8], executable: bool) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        let mode = if executable { 0o755 } else { 0o644 };
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    /// Makes the folder hold exactly these files.
    fn become_these(&self, files: &Files) {
        for (path, _) in self.files() {
            if !files.contains_key(&path) {
                fs::remove_file(self.root().join(&path)).unwrap();
            }
        }
        for (path, (bytes, executable)) in files {
            self.put(path, bytes, *executable);
        }
    }

    fn files(&self) -> Files {
        let mut files = Files::new();
        collect(&self.root(), &self.root(), &mut files);
        files
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != ".git" {
                collect(root, &path, files);
            }
            continue;
        }
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        let bytes = if path.is_symlink() { b"a link".to_vec() } else { fs::read(&path).unwrap() };
        let executable = fs::symlink_metadata(&path).unwrap().permissions().mode() & 0o100 != 0;
        files.insert(name, (bytes, executable && !path.is_symlink()));
    }
}

/// What a run that found the files at `base` has left, as its verdict records it.
fn left(workspace: &dyn Workspace, base: Base, touched: &[Touched]) -> Left {
    left_in(workspace, base, touched, None)
}

fn left_in(workspace: &dyn Workspace, base: Base, touched: &[Touched], spans: Option<&[Span]>) -> Left {
    let changes = block_on(workspace.changes(&base, touched)).unwrap();
    let paths: Vec<String> = changes.files.iter().map(|file| file.path.clone()).collect();
    let states = block_on(workspace.as_restore().unwrap().states(
        &base,
        changes.tree.as_deref(),
        touched,
        spans,
        &paths,
    ))
    .unwrap();
    let unknown = paths.into_iter().filter(|path| states.iter().all(|file| file.path != *path)).collect();
    Left { run: "r".to_owned(), base, tree: changes.tree, files: states, unknown }
}

/// Leave to write that nobody takes back.
fn always() -> Permit {
    Permit::new(|| true)
}

fn some_files() -> impl Strategy<Value = Files> {
    let path = prop::sample::select(vec!["a.txt", "b.sh", "deep/er/c.bin", "deep/d.txt", "e ü.txt"]);
    let bytes = prop::collection::vec(any::<u8>(), 0..40);
    prop::collection::btree_map(path.prop_map(str::to_owned), (bytes, any::<bool>()), 0..5)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever a run has done, and however much of it was put back by somebody who was killed: what comes of a restore are
    /// the bytes and the modes of before, and of a second one nothing.
    #[test]
    fn a_restore_gives_the_files_of_before(
        before in some_files(),
        after in some_files(),
        done in prop::collection::vec(any::<bool>(), 10),
    ) {
        let folder = Folder::repository();
        folder.become_these(&before);
        let git = GitWorkspace::open(folder.root()).unwrap().unwrap();
        let base = block_on(git.base()).unwrap();
        folder.become_these(&after);
        let left = left(&git, base, &[]);
        assert_eq!(left.unknown, Vec::<String>::new());
        // What was killed in the middle.
        for (file, done) in left.files.iter().zip(&done) {
            match (done, before.get(&file.path)) {
                (false, _) => {}
                (true, Some((bytes, executable))) => folder.put(&file.path, bytes, *executable),
                (true, None) => fs::remove_file(folder.root().join(&file.path)).unwrap(),
            }
        }
        let comparison = block_on(git.compare(&left, &[])).unwrap();
        assert_eq!(comparison.conflicts, Vec::<String>::new());
        for _ in 0..2 {
            block_on(git.restore(&left, &[], &always())).unwrap();
            assert_eq!(folder.files(), before);
        }
    }
}

/// Who has lost the session writes no file any more, also none back: some are as before then, and who has it now does the rest.
#[test]
fn without_leave_nothing_more_is_written_and_nothing_put_back() {
    let mut reached = BTreeSet::new();
    for (asked, fails) in (0..24).flat_map(|asked| [(asked, false), (asked, true)]) {
        let (folder, git, left) = three_changed();
        let after = folder.files();
        let (root, times) = (folder.root(), AtomicUsize::new(0));
        let permit = Permit::new(move || {
            // Somebody writes the last file when the first is put back, which stops the restore behind the second.
            if fails && fs::read(root.join("a.txt")).unwrap() == b"old\n" {
                fs::write(root.join("more/b.txt"), b"mine").unwrap();
            }
            times.fetch_add(1, Ordering::SeqCst) < asked
        });
        let restored = block_on(git.restore(&left, &[], &permit));
        let stood = permit.stands();
        if folder.files().get("more/b.txt").is_some_and(|(bytes, _)| bytes == b"mine") {
            folder.put("more/b.txt", b"b\n", false);
        }
        let now = folder.files();
        let written = ["a.txt", "gone.txt", "more/b.txt"].map(|path| now.get(path) != after.get(path));
        reached.insert((fails, stood, written));
        assert!(now.keys().all(|path| !path.contains(".trunkline-")), "{now:?}");
        assert!(!stood || !written.contains(&restored.is_err()), "all or nothing, as long as it may");
        // What is said is what happened.
        if let Err(why) = restored {
            let why = why.message;
            match written {
                [false, false, false] => assert!(why.starts_with("nothing was put back: "), "{why}"),
                _ => {
                    let told = [
                        "a.txt is as after",
                        if written[1] { "gone.txt is as after" } else { "gone.txt is as before" },
                    ];
                    assert!(told.iter().all(|told| why.contains(told)), "{why}");
                }
            }
        }
        block_on(git.restore(&left, &[], &always())).unwrap();
        assert_eq!(folder.files().len(), 2);
        assert_eq!(folder.files()["a.txt"].0, b"old\n");
    }
    // Every way to be cut off was met: before any file, behind each, and on the way back.
    for half in [[false; 3], [true, false, false], [true, true, false]] {
        for fails in [false, true] {
            assert!(reached.contains(&(fails, false, half)), "{half:?} in {reached:?}");
        }
    }
    assert!(reached.contains(&(false, true, [true; 3])) && reached.contains(&(true, true, [false; 3])));
}

/// One file that was changed, one that was added in a new folder, and one that was removed.
fn three_changed() -> (Folder, GitWorkspace, Left) {
    let folder = Folder::repository();
    folder.put("a.txt", b"old\n", false);
    folder.put("gone.txt", b"was here\n", true);
    let git = GitWorkspace::open(folder.root()).unwrap().unwrap();
    let base = block_on(git.base()).unwrap();
    folder.put("a.txt", b"new\n", false);
    folder.put("more/b.txt", b"b\n", false);
    fs::remove_file(folder.root().join("gone.txt")).unwrap();
    let left = left(&git, base, &[]);
    (folder, git, left)
}

#[test]
fn what_was_added_goes_with_its_folder_and_what_was_removed_comes_back_as_it_was() {
    let (folder, git, left) = three_changed();
    let comparison = block_on(git.compare(&left, &[])).unwrap();
    let paths: Vec<&str> = comparison.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "gone.txt", "more/b.txt"]);
    assert!(comparison.diff.contains("-new") && comparison.diff.contains("+old"), "{}", comparison.diff);
    block_on(git.restore(&left, &[], &always())).unwrap();
    assert!(!folder.root().join("more").exists());
    assert_eq!(folder.files()["gone.txt"], (b"was here\n".to_vec(), true));
}

#[test]
fn one_file_of_somebody_else_keeps_all_of_them_as_they_are() {
    type Change = fn(&Folder);
    let changes: [(&str, Change); 4] = [
        ("a.txt has been changed since", |folder| folder.put("a.txt", b"mine\n", false)),
        ("gone.txt has been changed since", |folder| folder.put("gone.txt", b"another\n", false)),
        ("symbolic link", |folder| {
            fs::remove_file(folder.root().join("a.txt")).unwrap();
            std::os::unix::fs::symlink("/etc/hostname", folder.root().join("a.txt")).unwrap();
        }),
        ("leads out of the workspace", |folder| {
            let outside = tempfile::tempdir().unwrap().keep();
            fs::write(outside.join("b.txt"), b"b\n").unwrap();
            fs::remove_dir_all(folder.root().join("more")).unwrap();
            std::os::unix::fs::symlink(outside, folder.root().join("more")).unwrap();
        }),
    ];
    for (why, change) in changes {
        let (folder, git, left) = three_changed();
        change(&folder);
        let found = folder.files();
        let comparison = block_on(git.compare(&left, &[])).unwrap();
        assert!(
            comparison.conflicts.iter().any(|one| one.contains(why)),
            "{why}: {:?}",
            comparison.conflicts
        );
        let fault = block_on(git.restore(&left, &[], &always())).unwrap_err();
        assert!(fault.message.starts_with("nothing was put back: "), "{}", fault.message);
        assert_eq!(folder.files(), found, "{why}");
    }
}

#[test]
fn what_git_has_thrown_away_is_said_and_not_guessed() {
    let (folder, git, left) = three_changed();
    folder.git("prune --expire=now");
    let found = folder.files();
    let fault = block_on(git.compare(&left, &[])).unwrap_err();
    assert!(fault.message.contains("git has not kept how the files were"), "{}", fault.message);
    block_on(git.restore(&left, &[], &always())).unwrap_err();
    assert_eq!(folder.files(), found);
}

#[test]
fn what_git_has_thrown_away_comes_back_from_what_the_session_kept() {
    let folder = Folder::repository();
    folder.put("a.txt", b"old\n", false);
    folder.put("b.txt", b"of a person, not committed\n", false);
    let before = folder.files();
    let git = GitWorkspace::open(folder.root()).unwrap().unwrap();
    let base = block_on(git.base()).unwrap();
    folder.put("a.txt", b"new\n", false);
    folder.put("new.txt", b"new\n", false);
    let left = left(&git, base, &[]);
    folder.git("add a.txt new.txt");
    folder.git("-c user.name=A -c user.email=a@example.org commit -qm second");
    folder.git("gc -q --prune=now");
    let kept = |path: &str, bytes: Option<&[u8]>| KeptFile {
        path: path.to_owned(),
        bytes: bytes.map(<[u8]>::to_vec),
    };
    let new = kept("new.txt", None);
    // Not all of them, or not as it was.
    for less in [vec![], vec![new.clone()], vec![new.clone(), kept("a.txt", Some(b"forged\n"))]] {
        let fault = block_on(git.restore(&left, &less, &always())).unwrap_err();
        assert!(fault.message.contains("git has not kept how the files were"), "{}", fault.message);
    }
    let all = [new, kept("a.txt", Some(b"old\n"))];
    assert_eq!(block_on(git.compare(&left, &all)).unwrap().conflicts, Vec::<String>::new());
    block_on(git.restore(&left, &all, &always())).unwrap();
    assert_eq!(folder.files(), before);
}

/// The commit has what was before; of what came after the log has the digests.
#[test]
fn what_the_run_has_left_need_not_be_kept() {
    let folder = Folder::repository();
    folder.put("a.txt", b"old\n", false);
    folder.put("gone.txt", b"was here\n", true);
    folder.git("add .");
    folder.git("-c user.name=A -c user.email=a@example.org commit -qm first");
    let before = folder.files();
    let git = GitWorkspace::open(folder.root()).unwrap().unwrap();
    let base = block_on(git.base()).unwrap();
    folder.put("a.txt", b"new\n", false);
    folder.put("more/b.txt", b"b\n", false);
    fs::remove_file(folder.root().join("gone.txt")).unwrap();
    let left = left(&git, base, &[]);
    folder.git("gc -q --prune=now");
    assert_eq!(block_on(git.compare(&left, &[])).unwrap().conflicts, Vec::<String>::new());
    block_on(git.restore(&left, &[], &always())).unwrap();
    assert_eq!(folder.files(), before);
    assert!(!folder.root().join("more").exists());
}

#[test]
fn a_folder_without_git_is_put_back_from_what_the_session_kept() {
    let folder = Folder { home: tempfile::tempdir().unwrap() };
    folder.put("a.txt", b"new\n", false);
    folder.put("b.txt", b"b\n", false);
    let workspace = FolderWorkspace::new(folder.root());
    let old = |bytes: &[u8]| {
        let digest: String = sha2_hex(bytes);
        Some(format!("sha256:{digest}"))
    };
    let touched = [
        Touched { path: "a.txt".to_owned(), before: old(b"old\n") },
        Touched { path: "b.txt".to_owned(), before: None },
    ];
    let left = left(&workspace, Base::default(), &touched);
    let kept = |bytes: &[u8]| {
        vec![
            KeptFile { path: "a.txt".to_owned(), bytes: Some(bytes.to_vec()) },
            KeptFile { path: "b.txt".to_owned(), bytes: None },
        ]
    };
    // Other bytes than those that were there are not written, and nor are none.
    for kept in [kept(b"forged\n"), Vec::new()] {
        let fault = block_on(workspace.restore(&left, &kept, &always())).unwrap_err();
        assert!(fault.message.contains("is not kept anywhere"), "{}", fault.message);
    }
    block_on(workspace.restore(&left, &kept(b"old\n"), &always())).unwrap();
    assert_eq!(folder.files(), Files::from([("a.txt".to_owned(), (b"old\n".to_vec(), false))]));
}

#[test]
fn line_ends_that_git_converts_come_back_from_what_the_session_kept_or_not_at_all() {
    let digest = |bytes: &[u8]| Some(format!("sha256:{}", sha2_hex(bytes)));
    for converts in [true, false] {
        let folder = Folder::repository();
        if converts {
            folder.put(".gitattributes", b"* text=auto\n", false);
        }
        // What the first proposal found; without conversion a command has written it meanwhile.
        let (was, found) = (b"old\r\n", if converts { b"old\r\n" } else { b"one\r\n" });
        folder.put("a.txt", was, false);
        let git = GitWorkspace::open(folder.root()).unwrap().unwrap();
        let base = block_on(git.base()).unwrap();
        folder.put("a.txt", b"new\n", false);
        let left = left(&git, base, &[Touched { path: "a.txt".to_owned(), before: digest(found) }]);
        assert_eq!(left.files[0].before, digest(was));
        let kept = [KeptFile { path: "a.txt".to_owned(), bytes: Some(found.to_vec()) }];
        if converts {
            let fault = block_on(git.restore(&left, &[], &always())).unwrap_err();
            assert!(fault.message.contains("is not kept anywhere"), "{}", fault.message);
        }
        block_on(git.restore(&left, &kept, &always())).unwrap();
        assert_eq!(folder.files()["a.txt"].0, was);
    }
}

/// A person writes, and then a proposal or a command of the run, perhaps after another command of it.
#[test]
fn what_a_person_wrote_before_the_run_did_is_not_taken_back_with_it() {
    let digest = |bytes: &[u8]| Some(format!("sha256:{}", sha2_hex(bytes)));
    for (by_command, first) in
        [(false, "a person"), (false, "the run"), (true, "a person"), (true, "the run")]
    {
        let folder = Folder::repository();
        folder.put("a.txt", b"1\n", false);
        let git = GitWorkspace::open(folder.root()).unwrap().unwrap();
        let look = || block_on(git.look()).unwrap().unwrap();
        let base = look();
        folder.put("a.txt", b"2\n", false);
        let before = look();
        folder.put("a.txt", b"3\n", false);
        let mut spans = Vec::new();
        if first == "the run" {
            spans.push(Span { from: base.clone(), to: Some(before.clone()) });
        }
        let mut touched = Vec::new();
        match by_command {
            true => spans.push(Span { from: before, to: None }),
            false => touched.push(Touched { path: "a.txt".to_owned(), before: digest(b"2\n") }),
        }
        let left = left_in(&git, base, &touched, Some(&spans));
        let kept = [KeptFile { path: "a.txt".to_owned(), bytes: Some(b"2\n".to_vec()) }];
        let restored = block_on(git.restore(&left, &kept, &always()));
        let wanted: &[u8] = match (by_command, first) {
            (_, "the run") => b"1\n",
            (false, _) => b"2\n",
            // Nobody has kept how that was.
            (true, _) => {
                let message = restored.clone().unwrap_err().message;
                assert!(message.contains("it is not known what the run did to"), "{message}");
                b"3\n"
            }
        };
        assert_eq!(folder.files()["a.txt"].0, wanted, "first {first}, by a command: {by_command}");
        if !by_command && first == "a person" {
            folder.put("a.txt", b"3\n", false);
            let message = block_on(git.restore(&left, &[], &always())).unwrap_err().message;
            assert!(message.contains("is not kept anywhere"), "{message}");
        }
    }
}

/// What a log says is the tree of a run is handed to git.
#[test]
fn what_a_log_calls_a_tree_is_no_option_of_git() {
    let folder = Folder::repository();
    folder.put("a.txt", b"precious\n", false);
    let git = GitWorkspace::open(folder.root()).unwrap().unwrap();
    let option = Some(format!("--output={}", folder.root().join("a.txt").display()));
    let honest = block_on(git.base()).unwrap();
    let bases = [
        Base { tree: option.clone(), ..honest.clone() },
        Base { commit: option.clone(), ..honest.clone() },
        Base { tree: Some("HEAD".to_owned()), ..honest.clone() },
    ];
    for base in bases {
        let fault = block_on(git.changes(&base, &[])).unwrap_err();
        assert!(fault.message.contains("is not the id of a git object"), "{}", fault.message);
        let deciding = trunkline_agent_traits::Deciding {
            run: "r".to_owned(),
            patch_set: "p".to_owned(),
            base: base.clone(),
            tree: honest.tree.clone().unwrap(),
            message: String::new(),
            at: 0,
            decision: None,
            made: None,
        };
        assert!(block_on(git.commit(&deciding)).is_err());
        assert!(block_on(git.find_commit(&deciding)).is_err());
        assert!(block_on(git.write_commit(&deciding)).is_err());
        assert!(block_on(git.states(&base, option.as_deref(), &[], None, &[])).is_err());
        let left = Left { base, ..left(&git, honest.clone(), &[]) };
        assert!(block_on(git.restore(&left, &[], &always())).is_err());
        assert!(block_on(git.compare(&left, &[])).is_err());
    }
    assert_eq!(folder.files()["a.txt"].0, b"precious\n");
}

fn sha2_hex(bytes: &[u8]) -> String {
    trunkline_agent_traits::decision_objects::Digest::of(bytes).to_string()
}
