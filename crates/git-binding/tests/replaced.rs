//! Objects that the repository shows in the place of others: `git replace` and grafts.
//!
//! They are one repository's own, and anybody may take them back: what a decision is found by cannot depend on them.

use trunkline_decision_objects::GitOid;
use trunkline_git_binding::{By, Link, State};

use crate::given::{Scratch, committed, committed_on_head, run_id};

/// What the crate computes of a commit, once bound for that run.
fn link(scratch: &Scratch, run: u128, commit: GitOid) -> Link {
    scratch.open().bind(&committed(run, commit)).expect("it is bound");
    scratch.open().bound(run_id(run)).expect("it is read").expect("it is there").link
}

fn found(scratch: &Scratch, revision: GitOid) -> Vec<(u128, By)> {
    let found = scratch.open().find(&revision.to_string()).expect("a search");
    found.iter().map(|found| (found.run.uuid().as_u128(), found.by)).collect()
}

/// Lets the repository show `new` in the place of `old`, by `git replace` or, for the parents of a commit, by the file that
/// git read before that.
fn show(scratch: &Scratch, how: &str, old: GitOid, new: GitOid) {
    let (old, new) = (old.to_string(), new.to_string());
    match how {
        "replace" => scratch.git(&["replace", &old, &new]),
        "replace --graft" => scratch.git(&["replace", "--graft", &old, &new]),
        _ => {
            let file = scratch.root().join(".git/info/grafts");
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            std::fs::write(file, format!("{old} {new}\n")).expect("a file");
            String::new()
        }
    };
}

#[test]
fn what_is_computed_of_a_commit_is_what_it_was() {
    for (number, what) in ["the commit", "its tree", "its file", "its parent"].into_iter().enumerate() {
        let scratch = Scratch::begun();
        let parent = scratch.save("a.txt", "1\n", "first");
        let commit = scratch.save("a.txt", "2\n", "second");
        let other = scratch.save("a.txt", "something else\n", "third");
        let plain = link(&scratch, 1, commit);
        assert!(plain.patch_id.is_some() && plain.base == Some(parent), "{plain:?}");
        let name = |of: GitOid, rest: &str| scratch.oid(&format!("{of}{rest}"));
        let (old, new) = match number {
            0 => (commit, other),
            1 => (name(commit, "^{tree}"), name(other, "^{tree}")),
            2 => (name(commit, ":a.txt"), name(other, ":a.txt")),
            _ => (parent, other),
        };
        show(&scratch, "replace", old, new);
        assert_eq!(link(&scratch, 2, commit), plain, "{what}");
    }
}

#[test]
fn parents_that_are_given_to_a_commit_change_nothing() {
    for how in ["replace --graft", "the old file"] {
        let scratch = Scratch::begun();
        let first = scratch.oid("HEAD");
        let parent = scratch.save("a.txt", "1\n", "first");
        let commit = scratch.save("b.txt", "2\n", "second");
        let plain = link(&scratch, 1, commit);
        show(&scratch, how, commit, first);
        assert_eq!(scratch.oid(&format!("{commit}^")), first, "{how}: git itself goes by it");
        assert_eq!(link(&scratch, 2, commit), plain, "{how}");
        assert_eq!(plain.base, Some(parent));
    }
}

#[test]
fn nothing_is_found_at_a_commit_that_only_looks_like_one_that_was_decided() {
    let scratch = Scratch::begun();
    scratch.save("a.txt", "1\n", "first");
    let decided = scratch.save("a.txt", "2\n", "second");
    let other = scratch.save("b.txt", "3\n", "third");
    assert_eq!(link(&scratch, 1, decided).commit, Some(decided));
    assert_eq!(found(&scratch, other), []);
    show(&scratch, "replace", other, decided);
    assert_eq!(found(&scratch, other), [], "what is shown for it is what was decided");
    scratch.git(&["replace", "-d", &other.to_string()]);
    show(&scratch, "replace", decided, other);
    assert_eq!(found(&scratch, decided), [(1, By::Commit)]);
}

/// A branch that was moved has the commit; a graft that takes it off that line does not take the move back.
#[test]
fn whether_a_branch_was_moved_is_told_by_what_the_commits_say() {
    for how in ["replace --graft", "the old file"] {
        let scratch = Scratch::begun();
        let first = scratch.oid("HEAD");
        let commit = scratch.candidate(first, 1);
        let binding = committed_on_head(1, first, commit);
        scratch.open().bind(&binding).expect("it is bound");
        scratch.git(&["reset", "-q", "--hard"]);
        let later = scratch.save("c.txt", "3\n", "a person's");
        show(&scratch, how, later, first);
        assert_eq!(scratch.oid("main^"), first, "{how}: git itself goes by it");
        assert_eq!(scratch.open().state(&binding).expect("a state"), State::Both, "{how}");
    }
}
