//! Where commits stand after what people do with branches.

use trunkline_git_binding::Held;

use crate::given::Scratch;

fn on(branch: &str) -> Held {
    Held::Branch(format!("refs/heads/{branch}"))
}

#[test]
fn a_commit_is_held_by_the_named_branch_another_one_none_or_is_gone() {
    for options in [[].as_slice(), &["--object-format=sha256"]] {
        let scratch = Scratch::begun_with(options);
        let main = Some("refs/heads/main");
        let first = scratch.oid("HEAD");
        let second = scratch.save("b", "b\n", "second");
        let third = scratch.save("c", "c\n", "third");
        let held = |commit, branch: Option<&str>| {
            scratch.open().held(&[(commit, branch)]).expect("git says so").remove(0)
        };
        assert_eq!(scratch.open().held(&[]).expect("nothing to ask"), []);
        assert_eq!([held(first, main), held(third, main)], [on("main"), on("main")]);
        // No branch was moved to it, and one has it.
        assert_eq!(held(second, None), on("main"));
        assert_eq!(held(second, Some("refs/heads/no-such")), on("main"));
        scratch.git(&["branch", "undefined"]);
        scratch.git(&["reset", "-q", "--hard", "HEAD~2"]);
        assert_eq!([held(first, main), held(third, main)], [on("main"), on("undefined")]);
        assert_eq!(held(second, main), on("undefined"));
        // All of them at once, whatever was asked of each.
        let asked = [(third, main), (first, main), (third, Some("refs/heads/undefined")), (first, None)];
        let all = scratch.open().held(&asked).expect("git says so");
        assert_eq!(all[..3], [on("undefined"), on("main"), on("undefined")]);
        assert!(matches!(&all[3], Held::Branch(_)));
        scratch.git(&["tag", "kept", &third.to_string()]);
        scratch.git(&["branch", "-q", "-D", "undefined"]);
        assert_eq!([held(first, main), held(third, main)], [on("main"), Held::NoBranch]);
        scratch.git(&["tag", "-d", "kept"]);
        scratch.git(&["reflog", "expire", "--expire=now", "--all"]);
        scratch.git(&["gc", "-q", "--prune=now"]);
        assert_eq!([held(first, main), held(third, main)], [on("main"), Held::Gone]);
        // What is there and no commit is not one.
        assert_eq!(held(scratch.oid("HEAD^{tree}"), main), Held::Gone);
    }
}

#[test]
fn a_branch_is_named_only_where_its_name_can_be_read_one_way() {
    let scratch = Scratch::begun_with(&[]);
    let first = scratch.oid("HEAD");
    let second = scratch.save("b", "b\n", "second");
    let third = scratch.save("c", "c\n", "third");
    let held = |commit| scratch.open().held(&[(commit, None)]).expect("git says so").remove(0);
    scratch.git(&["checkout", "-q", "--detach"]);
    scratch.git(&["branch", "-q", "-D", "main"]);
    scratch.git(&["branch", "heads/x", &second.to_string()]);
    assert_eq!([held(second), held(first)], [on("heads/x"), on("heads/x")]);
    scratch.git(&["tag", "x"]);
    assert_eq!([held(second), held(third)], [on("heads/x"), Held::NoBranch]);
    scratch.git(&["update-ref", "refs/heads/x", &first.to_string()]);
    assert_eq!(held(second), Held::SomeBranch);
    scratch.git(&["update-ref", "-d", "refs/heads/heads/x"]);
    assert_eq!(held(first), on("x"));
}

#[test]
fn many_branches_are_asked_together() {
    let scratch = Scratch::begun_with(&[]);
    let first = scratch.oid("HEAD");
    let second = scratch.save("b", "b\n", "second");
    let names: Vec<String> = (0..60).map(|number| format!("refs/heads/n{number}")).collect();
    for name in &names {
        scratch.git(&["update-ref", name, &second.to_string()]);
    }
    let ask = |commit| {
        let asked: Vec<_> = names.iter().map(|name| (commit, Some(name.as_str()))).collect();
        scratch.open().held(&asked).expect("git says so")
    };
    // Where a branch points costs nothing.
    let own: Vec<Held> = names.iter().map(|name| Held::Branch(name.clone())).collect();
    assert_eq!(ask(second), own);
    // Below it any one that has it will do.
    assert!(ask(first).iter().all(|held| matches!(held, Held::Branch(_))));
}

/// Whoever may write refs can name any commit, and one whose parent is missing must not silence the others.
#[test]
fn a_commit_without_its_history_does_not_hide_where_the_others_stand() {
    let scratch = Scratch::begun_with(&[]);
    let good: Vec<_> = (0..5).map(|number| scratch.save("a", &format!("{number}\n"), "good")).collect();
    let tree = scratch.oid("HEAD^{tree}");
    let text = format!(
        "tree {tree}\nparent {}\nauthor A <a@b.c> 1 +0000\ncommitter A <a@b.c> 1 +0000\n\nbad\n",
        "1".repeat(40)
    );
    let file = scratch.root().join("bad");
    std::fs::write(&file, text).expect("written");
    let bad = scratch.git(&["hash-object", "-t", "commit", "-w", "bad"]).trim().parse().expect("an id");
    let mut asked: Vec<_> = good.iter().map(|commit| (*commit, Some("refs/heads/main"))).collect();
    asked.insert(2, (bad, Some("refs/heads/main")));
    let mut held = scratch.open().held(&asked).expect("git says so of the others");
    assert_eq!(held.remove(2), Held::NoBranch);
    assert_eq!(held, vec![on("main"); 5]);
}
