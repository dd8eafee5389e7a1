//! What is a run's own where git ignores files, or is told to overlook them.

use std::fs;

use trunkline_agent_traits::{FileChange, Touched};

use crate::own_changes::{Repository, digest, look, own, paths, span};

/// A person has files that git ignores, and the run changes what it ignores.
#[test]
fn what_git_ignored_before_is_nobodys_change_after() {
    for folder in ["", "in/it"] {
        for by_a_proposal in [false, true] {
            let repository = Repository::new(folder);
            repository.write(".gitignore", ".env\nkeys/\n*.log\n!kept.log\n");
            repository.write("sub/.gitignore", "own\n");
            repository.git("add --all");
            repository.git("commit -qm rules");
            for path in [".env", "keys/deep/one", "x.log", "sub/own"] {
                repository.write(path, "of a person\n");
            }
            let git = repository.open();
            let base = look(&git);
            repository.write(".gitignore", "*.tmp\n");
            repository.remove("sub/.gitignore");
            repository.write("kept.log", "by the run\n");
            let mut spans = vec![span(base.clone(), look(&git))];
            let written = [".gitignore", "kept.log", "sub/.gitignore"];
            let touched = written.map(|path| Touched { path: path.to_owned(), before: None });
            // A person goes on with theirs, and a command of the run writes it too: it is still not the run's to remove.
            repository.write("x.log", "more of a person\n");
            let before = look(&git);
            repository.write(".env", "by a command\n");
            spans.push(span(before, look(&git)));
            let found = match by_a_proposal {
                true => own(&git, &base, &touched, &[]),
                false => own(&git, &base, &[], &spans),
            };
            assert_eq!(paths(&found), written, "{by_a_proposal}");
            assert_eq!(found.others, Vec::<String>::new());
            assert!(!found.changes.diff.contains("a person"), "{}", found.changes.diff);
        }
    }
}

#[test]
fn what_git_begins_to_ignore_is_not_deleted() {
    for by_the_run in [true, false] {
        let repository = Repository::new("");
        repository.write("debug.log", "of a person\n");
        repository.write("old.log", "of a person\n");
        let git = repository.open();
        let base = look(&git);
        repository.write(".gitignore", "*.log\n");
        repository.remove("old.log");
        let spans = if by_the_run { vec![span(base.clone(), look(&git))] } else { Vec::new() };
        let found = own(&git, &base, &[], &spans);
        let told = vec![".gitignore", "old.log"];
        match by_the_run {
            true => assert_eq!((paths(&found), found.others.len()), (told, 0)),
            false => assert_eq!(
                (paths(&found).len(), found.others),
                (0, told.into_iter().map(str::to_owned).collect())
            ),
        }
        // Also where the rule stands outside of what git follows.
        repository.remove(".gitignore");
        fs::write(repository.root().join(".git/info/exclude"), "*.log\n").unwrap();
        let spans = if by_the_run { vec![span(base.clone(), look(&git))] } else { Vec::new() };
        let found = own(&git, &base, &[], &spans);
        assert_eq!(paths(&found).len() + found.others.len(), 1, "old.log alone");
    }
}

/// What a proposal wrote is the run's in any case, as it was before that proposal.
#[test]
fn an_ignored_file_that_a_proposal_changed_is_told_as_changed_and_not_as_added() {
    let repository = Repository::new("");
    repository.write(".gitignore", "*.log\n");
    repository.write("old.log", "of a person\n");
    let git = repository.open();
    let base = look(&git);
    let before = Some(digest(b"of a person\n"));
    let touched = [("old.log", before), ("new.log", None)];
    let touched = touched.map(|(path, before)| Touched { path: path.to_owned(), before });
    repository.write("old.log", "applied\n");
    repository.write("new.log", "applied\n");
    let before = look(&git);
    repository.remove(".gitignore");
    let found = own(&git, &base, &touched, &[span(before, look(&git))]);
    let told: Vec<_> = found.changes.files.iter().map(|file| (file.path.as_str(), file.change)).collect();
    let wanted = [".gitignore", "new.log", "old.log"].into_iter();
    let how = [FileChange::Deleted, FileChange::Added, FileChange::Modified];
    assert_eq!(told, wanted.zip(how).collect::<Vec<_>>());
}

#[test]
fn a_submodule_that_is_moved_is_a_change_whatever_its_settings_say() {
    let repository = Repository::new("");
    let inner = repository.root().join("m");
    fs::create_dir(&inner).unwrap();
    repository.git("init -q m");
    let inside = "-C m -c user.name=A -c user.email=a@b commit -q --allow-empty -m x";
    repository.git(inside);
    repository.write(".gitmodules", "[submodule \"m\"]\n\tpath = m\n\turl = ./m\n\tignore = all\n");
    repository.git("-c advice.addEmbeddedRepo=false add -f --all");
    repository.git("commit -qm submodule");
    repository.git("config submodule.m.ignore all");
    let git = repository.open();
    let base = look(&git);
    repository.git(inside);
    let now = look(&git);
    assert_ne!(base.tree, now.tree);
    let found = own(&git, &base, &[], &[]);
    assert_eq!(
        (paths(&found).len(), found.others, found.changes.tree),
        (0, vec!["m".to_owned()], base.tree.clone())
    );
    assert_eq!(paths(&own(&git, &base, &[], &[span(base.clone(), now)])), ["m"]);
}

#[test]
fn a_commit_outside_of_the_folder_does_not_hold_what_the_run_did_in_it() {
    let repository = Repository::new("in/it");
    repository.write(".gitignore", "*.log\n");
    let git = repository.open();
    let base = look(&git);
    let touched = [Touched { path: "x.log".to_owned(), before: None }];
    repository.write("x.log", "applied\n");
    fs::write(repository.root().join("../outside"), "of a person\n").unwrap();
    repository.git("add in/outside");
    repository.git("commit -qm outside");
    let found = own(&git, &base, &touched, &[]);
    assert_eq!((paths(&found), &found.holder), (vec!["x.log"], &None));
    assert_eq!(found.changes.tree, base.tree);
}

/// To git such a name is a command about names.
#[test]
fn a_name_that_begins_with_a_colon_is_a_name() {
    let repository = Repository::new("");
    repository.write(".gitignore", "*.log\n");
    repository.git("add --all");
    repository.git("commit -qm rules");
    repository.write(":/b.log", "of a person\n");
    repository.write(":mine.log", "of a person\n");
    let git = repository.open();
    let base = look(&git);
    repository.write(".gitignore", "*.tmp\n");
    repository.write(":!x", "by the run\n");
    let found = own(&git, &base, &[], &[span(base.clone(), look(&git))]);
    assert_eq!((paths(&found), found.others.len()), (vec![".gitignore", ":!x"], 0));
}

#[test]
fn what_git_ignores_of_some_files_is_told() {
    let repository = Repository::new("in/it");
    repository.write(".gitignore", "*.log\n:x\n");
    repository.write("kept.log", "followed all the same\n");
    repository.git("add --force --all in/it");
    repository.git("commit -qm rules");
    for path in ["x.log", "kept.log", "plain", ":x", "sub/ä b.log"] {
        repository.write(path, "of the run\n");
    }
    let git = repository.open();
    let ignored = git.ignored(["x.log", "kept.log", "plain", ":x", "sub/ä b.log", "gone.log"]);
    assert_eq!(ignored, ["x.log", ":x", "sub/ä b.log", "gone.log"]);
    assert_eq!(git.ignored(["plain"]), Vec::<String>::new());
    assert_eq!(git.ignored([]), Vec::<String>::new());
}
