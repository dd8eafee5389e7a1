//! Other people's work in the very moment in which git is asked.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use trunkline_agent_traits::{Base, Commits, Deciding, Workspace};
use trunkline_tools::GitWorkspace;

use crate::own_changes::Repository;
use crate::scene::block_on;

const FOLDER: &str = "TRUNKLINE_TEST_WORKS_IN";

/// Not a test of its own: what is started with another git. Changes a file, commits it and says what came of it.
#[test]
fn child_that_works() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let told = PathBuf::from(&folder).join(".git/told");
    let git = GitWorkspace::open(&folder).unwrap().unwrap();
    let worked = block_on(async {
        let base = git.base().await?;
        fs::write(Path::new(&folder).join("a.txt"), "by the run\n").unwrap();
        let changes = git.changes(&base, &[]).await?;
        git.commit(&announced(base, changes.tree.unwrap())).await
    });
    let text = match worked {
        Ok(commit) => commit.unwrap(),
        Err(error) => format!("error: {error}"),
    };
    fs::write(told, text).unwrap();
}

fn announced(base: Base, tree: String) -> Deciding {
    Deciding {
        run: "r1".to_owned(),
        patch_set: "p1".to_owned(),
        base,
        tree,
        message: "work".to_owned(),
        at: 1_700_000_000_123,
        decision: None,
        made: None,
    }
}

/// Lets the child work while `script` stands before each call of git; says what the child says.
fn work(repository: &Repository, script: &str) -> String {
    let root = repository.root();
    let tools = root.join(".git/tools");
    fs::create_dir_all(&tools).unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let real =
        std::env::split_paths(&path).map(|folder| folder.join("git")).find(|git| git.exists()).unwrap();
    let here = format!("real='{}'\nroot='{}'\ncount=\"$root/.git/count\"\n", real.display(), root.display());
    fs::write(tools.join("git"), format!("#!/bin/sh\n{here}{script}\nexec \"$real\" \"$@\"\n")).unwrap();
    fs::set_permissions(tools.join("git"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::join_paths(std::iter::once(tools).chain(std::env::split_paths(&path))).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "git_beside::child_that_works"]).env("PATH", path).env(FOLDER, &root);
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(root.join(".git/told")).unwrap()
}

/// Fails as git does when a file goes while it looks, some times.
fn fails(times: usize) -> String {
    format!(
        "case \"$*\" in *'add --all'*) echo >>\"$count\"; if [ \"$(wc -l <\"$count\")\" -le {times} ]; then \
         echo 'fatal: unable to stat x.tmp' >&2; exit 128; fi;; esac"
    )
}

#[test]
fn who_commits_at_the_last_moment_keeps_their_commit_below_the_runs() {
    let repository = Repository::new("");
    let script = "case \"$*\" in *'update-ref -m'*) echo >>\"$count\"; if [ \"$(wc -l <\"$count\")\" -le 2 ]; then \
                  \"$real\" -C \"$root\" commit -q --allow-empty -m theirs; fi;; esac";
    let commit = work(&repository, script);
    assert_eq!(repository.git("rev-parse HEAD").trim(), commit);
    assert_eq!(repository.git("log --format=%s"), "work\ntheirs\ntheirs\nfirst\n");
    assert_eq!(repository.git("show HEAD:a.txt"), "by the run\n");
    assert_eq!(repository.git("status --porcelain"), "");
}

#[test]
fn who_never_stops_committing_is_told_of() {
    let repository = Repository::new("");
    let script =
        "case \"$*\" in *'update-ref -m'*) \"$real\" -C \"$root\" commit -q --allow-empty -m theirs;; esac";
    let told = work(&repository, script);
    assert!(told.starts_with("error: ") && told.contains("update-ref"), "{told}");
    assert_eq!(repository.git("status --porcelain"), " M a.txt\n");
}

#[test]
fn a_file_that_comes_and_goes_while_git_looks_does_no_harm() {
    let repository = Repository::new("");
    let commit = work(&repository, &fails(3));
    assert_eq!(repository.git("rev-parse HEAD").trim(), commit);
    let told = work(&repository, &fails(usize::MAX >> 1));
    assert!(told.starts_with("error: ") && told.contains("unable to stat x.tmp"), "{told}");
}
