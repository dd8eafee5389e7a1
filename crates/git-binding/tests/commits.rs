//! Commits that no branch names yet.

use trunkline_git_binding::{BindError, CommitPlan, Identity, Trailer};

use crate::given::{Scratch, decision_id, plan, run_id};

#[test]
fn the_same_plan_gives_the_same_commit_and_plain_git_would_give_it_too() {
    for options in [[].as_slice(), &["--object-format=sha256"]] {
        let scratch = Scratch::begun_with(options);
        let (tree, parent) = (scratch.oid("HEAD^{tree}"), scratch.oid("HEAD"));
        let plan = CommitPlan {
            offset_minutes: -210,
            message: "line\n\nbody é".into(),
            ..plan(tree, vec![parent], 1)
        };
        let refs = scratch.refs();
        let commit = scratch.open().write_commit(&plan).expect("a commit");
        assert_eq!(scratch.open().write_commit(&plan).expect("a commit"), commit);
        assert_eq!(scratch.refs(), refs);
        let output = crate::given::plain_git(scratch.root())
            .args(["commit-tree", &tree.to_string(), "-p", &parent.to_string(), "-m", "line\n\nbody é"])
            .env("GIT_AUTHOR_NAME", "Coder")
            .env("GIT_AUTHOR_EMAIL", "coder@example.org")
            .env("GIT_AUTHOR_DATE", "1795293000 -0330")
            .env("GIT_COMMITTER_NAME", "Coder")
            .env("GIT_COMMITTER_EMAIL", "coder@example.org")
            .env("GIT_COMMITTER_DATE", "1795293000 -0330")
            .output()
            .expect("git runs");
        assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), commit.to_string());
    }
}

#[test]
fn a_trailer_goes_where_git_looks_for_it() {
    let scratch = Scratch::begun();
    let tree = scratch.oid("HEAD^{tree}");
    let decision = Trailer::Decision(decision_id(7));
    for (message, before) in [
        ("subject", "subject\n\n"),
        ("fix: subject", "fix: subject\n\n"),
        ("subject\n\nbody\n\n\n", "subject\n\nbody\n\n"),
        (
            "subject\n\nSigned-off-by: Bob <bob@example.org>",
            "subject\n\nSigned-off-by: Bob <bob@example.org>\n",
        ),
    ] {
        let plan = CommitPlan { message: message.into(), trailer: Some(decision), ..plan(tree, vec![], 1) };
        let commit = scratch.open().write_commit(&plan).expect("a commit").to_string();
        let text = scratch.git(&["cat-file", "commit", &commit]);
        assert!(text.ends_with(&format!("\n\n{before}Trunkline-Decision: {}", decision_id(7))), "{text}");
        let form = "--format=%(trailers:key=Trunkline-Decision,valueonly)";
        assert_eq!(scratch.git(&["log", "-1", form, &commit]).trim(), decision_id(7).to_string());
    }
    // Without words it is the subject, which git takes for no trailer.
    let plan =
        CommitPlan { message: " \n".into(), trailer: Some(Trailer::Run(run_id(8))), ..plan(tree, vec![], 1) };
    let commit = scratch.open().write_commit(&plan).expect("a commit").to_string();
    assert!(
        scratch.git(&["cat-file", "commit", &commit]).ends_with(&format!("Trunkline-Run: {}", run_id(8)))
    );
}

#[test]
fn without_a_committer_it_is_who_git_is_told() {
    let scratch = Scratch::begun();
    let tree = scratch.oid("HEAD^{tree}");
    let plan = CommitPlan { committer: None, ..plan(tree, vec![], 1) };
    scratch.git(&["config", "user.name", "Carol"]);
    scratch.git(&["config", "user.email", "carol@example.org"]);
    let commit = scratch.open().write_commit(&plan).expect("a commit").to_string();
    assert_eq!(scratch.git(&["log", "-1", "--format=%an %ae %cn", &commit]), "Carol carol@example.org Carol");
    let bob = Identity { name: "Bob".into(), email: "bob@example.org".into() };
    let plan = CommitPlan { author: Some(bob), ..plan };
    let commit = scratch.open().write_commit(&plan).expect("a commit").to_string();
    assert_eq!(scratch.git(&["log", "-1", "--format=%an %ae %cn", &commit]), "Bob bob@example.org Carol");
}

#[test]
fn without_an_author_it_is_who_git_is_told_writes() {
    let scratch = Scratch::begun();
    let tree = scratch.oid("HEAD^{tree}");
    scratch.git(&["config", "user.name", "Carol"]);
    scratch.git(&["config", "user.email", "carol@example.org"]);
    scratch.git(&["config", "author.name", "Bob"]);
    let by = |plan: &CommitPlan| {
        let commit = scratch.open().write_commit(plan).expect("a commit").to_string();
        scratch.git(&["log", "-1", "--format=%an %ae %cn", &commit])
    };
    let nobody = CommitPlan { committer: None, ..plan(tree, vec![], 1) };
    assert_eq!(by(&nobody), "Bob carol@example.org Carol");
    // Who says who commits means both.
    assert_eq!(by(&plan(tree, vec![], 1)), "Coder coder@example.org Coder");
}

#[test]
fn an_address_may_be_empty_and_a_name_that_is_no_text_is_told_with_its_setting() {
    let scratch = Scratch::begun();
    let tree = scratch.oid("HEAD^{tree}");
    let plan = CommitPlan { committer: None, ..plan(tree, vec![], 1) };
    scratch.git(&["config", "user.name", "Anna"]);
    scratch.git(&["config", "user.email", ""]);
    let commit = scratch.open().write_commit(&plan).expect("a commit").to_string();
    assert_eq!(scratch.git(&["log", "-1", "--format=%an <%ae> %cn <%ce>", &commit]), "Anna <> Anna <>");
    scratch.git(&["config", "user.email", "anna@example.org"]);
    let config = scratch.root().join(".git/config");
    for (setting, named) in [("user", "`user.name`"), ("author", "`author.name`")] {
        let mut text = std::fs::read(&config).expect("a file");
        let kept = text.len();
        text.extend(format!("[{setting}]\n\tname = Ren").bytes().chain([0xe9, b'\n']));
        std::fs::write(&config, &text).expect("a file");
        let refused = scratch.open().write_commit(&plan).expect_err("no text").to_string();
        assert!(refused.contains(named), "{refused}");
        assert_eq!(scratch.open().configured_committer().is_err(), setting == "user");
        std::fs::write(&config, &text[..kept]).expect("a file");
    }
}

#[test]
fn a_plan_that_no_commit_can_hold_is_refused() {
    let scratch = Scratch::begun();
    let tree = scratch.oid("HEAD^{tree}");
    let good = || plan(tree, vec![], 1);
    let named = |name: &str| Some(Identity { name: name.into(), email: "x@example.org".into() });
    for plan in [
        CommitPlan { at: -1, ..good() },
        CommitPlan { offset_minutes: 1440, ..good() },
        CommitPlan { offset_minutes: i16::MIN, ..good() },
        CommitPlan { message: "a\0b".into(), ..good() },
        CommitPlan { author: named("a\nparent 0"), ..good() },
        CommitPlan { committer: named("a <b>"), ..good() },
        CommitPlan { committer: named(" "), ..good() },
    ] {
        assert!(matches!(scratch.open().write_commit(&plan), Err(BindError::CommitText { .. })), "{plan:?}");
    }
    let commit = scratch.oid("HEAD");
    for plan in [
        CommitPlan { tree: commit, ..good() },
        CommitPlan { parents: vec![commit, tree], ..good() },
        CommitPlan { tree: "1".repeat(40).parse().expect("an id"), ..good() },
        CommitPlan { tree: "1".repeat(64).parse().expect("an id"), ..good() },
    ] {
        assert!(
            matches!(scratch.open().write_commit(&plan), Err(BindError::NoSuchObject { .. })),
            "{plan:?}"
        );
    }
}
