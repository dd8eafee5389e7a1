//! What plain git does with a repository that has decisions in it.

use trunkline_git_binding::{Bound, Repository};

use crate::given::{Scratch, committed_on_head, git_in, reference, run_id};

/// A repository with three commits that were decided.
fn decided() -> Scratch {
    let scratch = Scratch::begun();
    let repository = scratch.open();
    for run in 1..=3 {
        let base = scratch.oid("HEAD");
        let commit = scratch.candidate(base, run);
        assert!(matches!(repository.bind(&committed_on_head(run, base, commit)), Ok(Bound::Now { .. })));
    }
    scratch
}

fn all_are_there(repository: &Repository) {
    for run in 1..=3 {
        let read = repository.bound(run_id(run)).expect("it is read").expect("it is there");
        assert_eq!((read.patch_sets.len(), read.evidence.len()), (1, 1));
    }
    let all = repository.all().expect("a list");
    assert_eq!((all.decisions.len(), all.unreadable.len()), (3, 0));
}

#[test]
fn clean_up_keeps_every_decision() {
    let scratch = decided();
    for clean_up in [
        ["pack-refs", "--all"].as_slice(),
        &["reflog", "expire", "--expire=now", "--all"],
        &["gc", "-q", "--prune=now", "--aggressive"],
        &["repack", "-q", "-a", "-d"],
        &["prune", "--expire=now"],
        &["fsck", "--strict", "--full"],
        &["maintenance", "run", "--quiet"],
    ] {
        scratch.git(clean_up);
        all_are_there(&scratch.open());
    }
    // Also of a run whose commit is gone for good.
    scratch.git(&["reset", "-q", "--hard", "HEAD~3"]);
    scratch.git(&["reflog", "expire", "--expire=now", "--all"]);
    scratch.git(&["gc", "-q", "--prune=now"]);
    all_are_there(&scratch.open());
    let again = scratch.open().bind(&committed_on_head(1, scratch.oid("HEAD"), scratch.oid("HEAD")));
    again.expect_err("another decision of that run is still refused");
}

#[test]
fn lists_of_branches_and_commits_do_not_show_decisions() {
    let scratch = decided();
    scratch.git(&["reset", "-q", "--hard"]);
    let log = scratch.git(&["log", "--all", "--format=%s"]);
    assert_eq!(log, "change 3\nchange 2\nchange 1\nfirst");
    assert_eq!(scratch.git(&["branch", "-a", "--format=%(refname)"]), "refs/heads/main");
    assert_eq!(scratch.git(&["status", "--porcelain"]), "");
    assert_eq!(scratch.git(&["tag"]), "");
}

#[test]
fn a_clone_and_a_push_do_not_carry_decisions_and_a_mirror_does() {
    let scratch = decided();
    let place = scratch.folder.path();
    git_in(place, &["clone", "-q", "repository", "clone"]);
    git_in(place, &["init", "-q", "--bare", "pushed"]);
    scratch.git(&["push", "-q", "--all", "../pushed"]);
    scratch.git(&["push", "-q", "--tags", "../pushed"]);
    for copy in ["clone", "pushed"] {
        assert!(!git_in(&place.join(copy), &["for-each-ref"]).contains("trunkline"), "{copy}");
    }
    // The leak that the README warns of.
    git_in(place, &["init", "-q", "--bare", "mirror"]);
    scratch.git(&["push", "-q", "--mirror", "../mirror"]);
    all_are_there(&Repository::open(&place.join("mirror")).expect("git works").expect("a repository"));
}

#[test]
fn what_the_readme_says_keeps_decisions_out_of_a_mirror() {
    let scratch = decided();
    let place = scratch.folder.path();
    git_in(place, &["init", "-q", "--bare", "backup"]);
    scratch.git(&["remote", "add", "--mirror=push", "backup", "../backup"]);
    scratch.git(&["config", "--unset", "remote.backup.mirror"]);
    scratch.git(&["config", "--add", "remote.backup.push", "+refs/heads/*:refs/heads/*"]);
    scratch.git(&["config", "--add", "remote.backup.push", "+refs/tags/*:refs/tags/*"]);
    scratch.git(&["push", "-q", "backup"]);
    let refs = git_in(&place.join("backup"), &["for-each-ref", "--format=%(refname)"]);
    assert_eq!(refs, "refs/heads/main");

    git_in(place, &["init", "-q", "--bare", "closed"]);
    git_in(&place.join("closed"), &["config", "transfer.hideRefs", "refs/trunkline"]);
    let _ = crate::given::plain_git(scratch.root()).args(["push", "-q", "--mirror", "../closed"]).output();
    assert!(!git_in(&place.join("closed"), &["for-each-ref"]).contains("trunkline"));
}

#[test]
fn a_person_reads_and_removes_one_with_plain_git() {
    let scratch = decided();
    let shown = scratch.git(&["show", &format!("{}:decision.json", reference(1))]);
    let read = scratch.open().bound(run_id(1)).expect("it is read").expect("it is there");
    assert_eq!(shown, read.decision.print());
    scratch.git(&["update-ref", "-d", &reference(1)]);
    assert_eq!(scratch.open().bound(run_id(1)).expect("it is read"), None);
}
