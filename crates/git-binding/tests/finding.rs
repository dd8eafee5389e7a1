//! The decision behind a commit that was rewritten.

use trunkline_decision_objects::GitOid;
use trunkline_git_binding::{
    BindError, Binding, Branch, BranchMove, By, CommitPlan, Repository, State, Trailer,
};

use crate::given::{Scratch, committed, committed_on_head, decision_id, plan, run_id};

/// How the commit is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    No,
    ByDecision,
    ByRun,
}

/// Decides the runs of these numbers, each with a commit that adds a file, one on top of the other.
fn decided(scratch: &Scratch, runs: std::ops::RangeInclusive<u128>, named: Named) -> Vec<GitOid> {
    let repository = scratch.open();
    let decide = |run: u128| {
        let base = scratch.oid("HEAD");
        let tree = scratch.tree_with("HEAD", &format!("file-{run}"), &format!("{run}\n"));
        let trailer = match named {
            Named::No => None,
            // The number that `committed` gives it.
            Named::ByDecision => Some(Trailer::Decision(decision_id(run << 16))),
            Named::ByRun => Some(Trailer::Run(run_id(run))),
        };
        let commit = CommitPlan { trailer, ..plan(tree, vec![base], run) };
        let commit = repository.write_commit(&commit).expect("a commit");
        let move_branch = Some(BranchMove { branch: Branch::Head, from: Some(base), to: commit });
        repository.bind(&Binding { move_branch, ..committed(run, commit) }).expect("it is bound");
        scratch.git(&["reset", "-q", "--hard"]);
        commit
    };
    runs.map(decide).collect()
}

fn found(scratch: &Scratch, revision: &str) -> Vec<(u128, By)> {
    let found = scratch.open().find(revision).expect("a search");
    found.iter().map(|found| (found.run.uuid().as_u128(), found.by)).collect()
}

#[test]
fn the_commit_itself_is_found_and_others_are_not() {
    let scratch = Scratch::begun();
    let commits = decided(&scratch, 1..=2, Named::No);
    for name in ["HEAD~1", "main~1", &commits[0].to_string(), &commits[0].to_string()[..10], ":/change 1"] {
        assert_eq!(found(&scratch, name), [(1, By::Commit)], "{name}");
    }
    scratch.git(&["tag", "-a", "-m", "tagged", "v1", "HEAD~1"]);
    assert_eq!(found(&scratch, "v1"), [(1, By::Commit)]);
    assert_eq!(found(&scratch, "HEAD~2"), []);
    for name in ["nothing", "", "HEAD\nmain", "--all", "HEAD:file-1", "-h"] {
        assert!(matches!(scratch.open().find(name), Err(BindError::NoSuchRevision { .. })), "{name:?}");
    }
}

#[test]
fn after_an_amend_of_message_author_and_date() {
    let scratch = Scratch::begun();
    decided(&scratch, 1..=1, Named::No);
    scratch.git(&[
        "commit",
        "-q",
        "--amend",
        "-m",
        "better words",
        "--author=Bob <bob@example.org>",
        "--date=1",
    ]);
    assert_eq!(found(&scratch, "HEAD"), [(1, By::PatchId)]);
}

#[test]
fn after_a_rebase_a_cherry_pick_and_clean_up() {
    let scratch = Scratch::begun();
    let first = scratch.oid("HEAD");
    decided(&scratch, 1..=2, Named::No);
    scratch.git(&["switch", "-q", "-c", "other", &first.to_string()]);
    scratch.save("elsewhere", "1\n", "elsewhere");
    scratch.git(&["switch", "-q", "main"]);
    scratch.git(&["rebase", "-q", "other"]);
    scratch.git(&["reflog", "expire", "--expire=now", "--all"]);
    scratch.git(&["gc", "-q", "--prune=now"]);
    assert_eq!(found(&scratch, "HEAD"), [(2, By::PatchId)]);
    assert_eq!(found(&scratch, "HEAD~1"), [(1, By::PatchId)]);
    scratch.git(&["switch", "-q", "-c", "third", &first.to_string()]);
    scratch.git(&["cherry-pick", "main"]);
    assert_eq!(found(&scratch, "HEAD"), [(2, By::PatchId)]);
}

#[test]
fn a_change_that_was_edited_is_found_by_its_trailer_alone() {
    for (named, expected) in [
        (Named::No, [].as_slice()),
        (Named::ByDecision, &[(1, By::Trailer)]),
        (Named::ByRun, &[(1, By::Trailer)]),
    ] {
        let scratch = Scratch::begun();
        decided(&scratch, 1..=1, named);
        std::fs::write(scratch.root().join("file-1"), "edited\n").expect("a file");
        scratch.git(&["commit", "-q", "--amend", "-a", "--no-edit"]);
        assert_eq!(found(&scratch, "HEAD"), expected);
    }
}

/// Squashes the last two commits by `rebase -i`, which keeps their messages.
fn squash_messages(scratch: &Scratch) {
    let output = crate::given::plain_git(scratch.root())
        .args(["rebase", "-q", "-i", "HEAD~2"])
        .env("GIT_SEQUENCE_EDITOR", "sed -i.bak -e '2s/^pick/squash/'")
        .env("GIT_EDITOR", "true")
        .output()
        .expect("git runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_squash_of_several_is_found_by_what_its_message_keeps() {
    let scratch = Scratch::begun();
    decided(&scratch, 1..=3, Named::ByDecision);
    squash_messages(&scratch);
    assert_eq!(found(&scratch, "HEAD"), [(2, By::Trailer), (3, By::Trailer)]);
    assert_eq!(found(&scratch, "HEAD~1"), [(1, By::Commit)]);
}

#[test]
fn a_squash_without_trailers_is_found_by_its_files_and_only_its_last_decision() {
    let scratch = Scratch::begun();
    decided(&scratch, 1..=3, Named::No);
    squash_messages(&scratch);
    assert_eq!(found(&scratch, "HEAD"), [(3, By::Tree)]);
}

#[test]
fn a_merge_squash_is_found_by_the_message_that_git_proposes() {
    for (named, place) in [(Named::No, "elsewhere"), (Named::ByDecision, "elsewhere")] {
        let scratch = Scratch::begun();
        let first = scratch.oid("HEAD");
        decided(&scratch, 1..=2, named);
        scratch.git(&["switch", "-q", "-c", "other", &first.to_string()]);
        scratch.save(place, "1\n", "elsewhere");
        scratch.git(&["merge", "-q", "--squash", "main"]);
        scratch.git(&["commit", "-q", "--no-edit"]);
        let mut found = found(&scratch, "HEAD");
        found.sort();
        assert_eq!(found, [(1, By::Mention), (2, By::Mention)]);
        scratch.git(&["commit", "-q", "--amend", "-m", "words of my own"]);
        assert_eq!(self::found(&scratch, "HEAD"), [], "what the README says is not found");
    }
}

#[test]
fn settings_of_the_user_do_not_change_patch_ids() {
    let scratch = Scratch::begun();
    scratch.save("a.rs", "fn a() {\n    1\n}\n\nfn b() {\n    2\n}\n", "code");
    let base = scratch.oid("HEAD");
    let tree =
        scratch.tree_with("HEAD", "a.rs", "fn a() {\n    1\n}\n\nfn c() {\n    3\n}\n\nfn b() {\n    2\n}\n");
    let commit = scratch.open().write_commit(&plan(tree, vec![base], 1)).expect("a commit");
    scratch.open().bind(&committed(1, commit)).expect("it is bound");
    let plain = scratch.open().bound(run_id(1)).expect("it is read").expect("it is there").link.patch_id;
    for (key, value) in [
        ("diff.noprefix", "true"),
        ("diff.context", "0"),
        ("diff.algorithm", "histogram"),
        ("diff.renames", "copies"),
        ("diff.external", "/bin/false"),
        ("diff.indentHeuristic", "false"),
        ("color.ui", "always"),
        ("diff.mnemonicPrefix", "true"),
        ("diff.interHunkContext", "20"),
        ("diff.submodule", "log"),
        ("diff.suppressBlankEmpty", "true"),
        ("core.quotePath", "false"),
        ("patchid.verbatim", "true"),
        ("log.showSignature", "true"),
        ("diff.word.textconv", "/bin/false"),
    ] {
        scratch.git(&["config", key, value]);
    }
    std::fs::write(scratch.root().join(".gitattributes"), "*.rs -diff\n").expect("a file");
    scratch.git(&["add", "-A"]);
    scratch.open().bind(&committed(2, commit)).expect("it is bound");
    let set = scratch.open().bound(run_id(2)).expect("it is read").expect("it is there").link.patch_id;
    assert!(plain.is_some());
    assert_eq!(set, plain);
    // A bare repository takes attributes from where it is told, and some versions of git from its HEAD.
    scratch.git(&["config", "--unset", "diff.external"]);
    scratch.git(&["commit", "-q", "-m", "attributes"]);
    scratch.git(&["branch", "kept", &commit.to_string()]);
    crate::given::git_in(scratch.folder.path(), &["clone", "-q", "--bare", "repository", "bare"]);
    let root = scratch.folder.path().join("bare");
    crate::given::git_in(&root, &["config", "attr.tree", "HEAD"]);
    let bare = Repository::open(&root).expect("git works").expect("a repository");
    bare.bind(&committed(3, commit)).expect("it is bound");
    assert_eq!(bare.bound(run_id(3)).expect("it is read").expect("it is there").link.patch_id, plain);
}

/// Two hunks with empty lines around them, in a file whose name is not ASCII: what two settings would print otherwise.
#[test]
fn empty_lines_and_names_do_not_change_patch_ids() {
    let scratch = Scratch::begun();
    let lines = |first: &str, second: &str| {
        let gap = "\n\nmore\n".repeat(6);
        format!("{first}\n\n{gap}\n\n{second}\n")
    };
    scratch.save("\u{e4}.txt", &lines("one", "two"), "text");
    let commit = scratch.save("\u{e4}.txt", &lines("uno", "due"), "other text");
    let id = |run: u128| {
        scratch.open().bind(&committed(run, commit)).expect("it is bound");
        scratch.open().bound(run_id(run)).expect("it is read").expect("it is there").link.patch_id
    };
    let plain = id(1);
    assert!(plain.is_some());
    scratch.git(&["config", "core.quotePath", "false"]);
    assert_eq!(id(2), plain);
    scratch.git(&["config", "diff.suppressBlankEmpty", "true"]);
    assert_eq!(id(3), plain);
}

#[test]
fn a_branch_that_was_to_go_back_has_not_gone_because_somebody_went_on() {
    let scratch = Scratch::begun();
    let first = scratch.save("a.txt", "1\n", "first");
    let second = scratch.save("a.txt", "2\n", "second");
    let binding = committed_on_head(1, second, first);
    scratch.save("a.txt", "3\n", "a person's");
    let state = scratch.open().state(&binding).expect("a state");
    assert!(matches!(state, State::Elsewhere { bound: false, .. }), "{state:?}");
}

#[test]
fn a_merge_has_no_patch_id_and_is_found_by_its_id() {
    let scratch = Scratch::begun();
    let base = scratch.oid("HEAD");
    let (left, right) = (scratch.candidate(base, 1), scratch.candidate(base, 2));
    let tree = scratch.tree_with(&left.to_string(), "file-2", "2\n");
    let merge = scratch.open().write_commit(&plan(tree, vec![left, right], 3)).expect("a commit");
    scratch.open().bind(&committed(3, merge)).expect("it is bound");
    let link = scratch.open().bound(run_id(3)).expect("it is read").expect("it is there").link;
    assert_eq!((link.base, link.tree, link.patch_id), (Some(left), Some(tree), None));
    assert_eq!(found(&scratch, &merge.to_string()), [(3, By::Commit)]);
}

#[test]
fn what_a_revert_takes_back_is_not_behind_it() {
    let scratch = Scratch::begun();
    let commits = decided(&scratch, 1..=1, Named::No);
    scratch.git(&["revert", "--no-edit", "HEAD"]);
    assert!(scratch.git(&["log", "-1", "--format=%B"]).contains(&commits[0].to_string()));
    assert_eq!(found(&scratch, "HEAD"), []);
    assert_eq!(found(&scratch, "HEAD~1"), [(1, By::Commit)]);
    // Of a merge git names two commits, in two lines; who names one otherwise still means it.
    let merge = format!("x\n\nThis reverts commit {0}, reversing\nchanges made to {0}.", commits[0]);
    scratch.git(&["commit", "-q", "--allow-empty", "-m", &merge]);
    assert_eq!(found(&scratch, "HEAD"), []);
    scratch.git(&["commit", "-q", "--allow-empty", "-m", &format!("{merge}\nsee {}", commits[0])]);
    assert_eq!(found(&scratch, "HEAD"), [(1, By::Mention)]);
}
