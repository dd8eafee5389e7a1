//! What a person has in the repository stays as it is.

use std::fs;
use std::path::Path;

use trunkline_git_binding::{Bound, Git, GitCommand, Packed};

use crate::given::{Scratch, committed, given_up, plan};

/// Hooks that would leave a file each.
fn with_hooks(scratch: &Scratch) {
    for name in [
        "reference-transaction",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "update",
        "pre-auto-gc",
        "post-rewrite",
    ] {
        let hook = scratch.root().join(".git/hooks").join(name);
        fs::write(&hook, format!("#!/bin/sh\ntouch '{}/ran-{name}'\n", scratch.folder.path().display()))
            .expect("a hook");
        make_executable(&hook);
    }
}

#[cfg(unix)]
fn make_executable(file: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("a mode");
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}

#[test]
fn index_files_stash_and_hooks_are_not_touched() {
    let scratch = Scratch::begun();
    scratch.save("kept", "1\n", "second");
    fs::write(scratch.root().join("kept"), "stashed\n").expect("a file");
    scratch.git(&["stash"]);
    fs::write(scratch.root().join("kept"), "staged\n").expect("a file");
    scratch.git(&["add", "kept"]);
    fs::write(scratch.root().join("kept"), "and changed again\n").expect("a file");
    fs::write(scratch.root().join("new"), "untracked\n").expect("a file");
    scratch.git(&["status"]);
    with_hooks(&scratch);
    let before = scratch.surroundings();
    let refs = scratch.refs();

    let repository = scratch.open();
    let commit = scratch.candidate(scratch.oid("HEAD"), 1);
    assert!(matches!(repository.bind(&committed(1, commit)), Ok(Bound::Now { .. })));
    assert!(matches!(repository.bind(&given_up(2, 2)), Ok(Bound::Now { .. })));
    let _ = repository.bind(&given_up(2, 3)).expect_err("bound already");
    repository.recover(&given_up(3, 3)).expect("it is bound");
    repository.all().expect("a list");
    repository.find("HEAD").expect("a search");
    assert!(matches!(repository.pack_if_due(), Ok(Packed::NotDue { .. })));

    assert_eq!(scratch.surroundings(), before);
    let others: Vec<String> =
        scratch.refs().lines().filter(|line| !line.contains("refs/trunkline/")).map(String::from).collect();
    assert_eq!(others.join("\n"), refs);
    let hooks_ran = || {
        let left = fs::read_dir(scratch.folder.path()).expect("a folder").flatten();
        left.filter(|file| file.file_name().to_string_lossy().starts_with("ran-")).count()
    };
    assert_eq!(hooks_ran(), 0);
    scratch.git(&["commit", "-q", "-m", "by a person"]);
    assert!(hooks_ran() > 0, "they run for a person");
}

/// Git runs hooks from its configuration since 2.54; here it is only asked whether they would be enabled.
#[test]
fn configured_hooks_are_switched_off_whatever_their_names() {
    let scratch = Scratch::begun();
    let names = ["mark", "a=b", "lint staged", "team.Guard", "reference-transaction"];
    let marker = scratch.folder.path().join("ran");
    for name in names {
        scratch.git(&["config", &format!("hook.{name}.event"), "reference-transaction"]);
        let command = format!("touch '{}'", marker.display());
        scratch.git(&["config", &format!("hook.{name}.command"), &command]);
        scratch.git(&["config", &format!("hook.{name}.enabled"), "true"]);
    }
    let git = GitCommand::discover(scratch.root()).expect("git works").expect("a repository");
    for name in names {
        let enabled = git.run(&["config", "--get", &format!("hook.{name}.enabled")], b"");
        assert_eq!(enabled.expect("it is set"), b"false\n", "{name}");
    }
    assert!(matches!(scratch.open().bind(&given_up(1, 1)), Ok(Bound::Now { .. })));
    assert!(!marker.exists());
}

#[test]
fn nothing_is_written_by_looking() {
    let scratch = Scratch::begun();
    let all_files = || {
        let mut files = Vec::new();
        let mut folders = vec![scratch.root().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                let path = entry.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    files.push((fs::read(&path).expect("a file"), path));
                }
            }
        }
        files.sort();
        files
    };
    let before = all_files();
    let repository = scratch.open();
    let binding = committed(1, scratch.oid("HEAD"));
    repository.state(&binding).expect("a state");
    repository.head().expect("a head");
    repository.all().expect("a list");
    repository.bound(binding.run.id()).expect("nothing");
    repository.find("HEAD").expect("nothing");
    repository.pack_if_due().expect("nothing");
    assert_eq!(all_files(), before);
    // What is refused leaves nothing either.
    let nowhere = "1111111111111111111111111111111111111111".parse().expect("an id");
    repository.write_commit(&plan(nowhere, vec![], 1)).expect_err("there is no such tree");
    repository.bind(&committed(1, nowhere)).expect_err("there is no such commit");
    assert_eq!(all_files(), before);
}
