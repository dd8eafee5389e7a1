//! A commit is made and bound, somebody rebases it, and its decision is found again.

#![expect(clippy::print_stdout, reason = "an example is there to be looked at")]

use std::error::Error;
use std::path::Path;
use std::process::Command;

use trunkline_decision_objects::{
    Actor, ActorKind, Base, Closing, DecisionId, Diff, Opening, PatchSet, PatchSetId, Run, RunId, Timestamp,
    Verdict,
};
use trunkline_git_binding::{Binding, Branch, BranchMove, CommitPlan, Identity, Repository, Trailer};
use uuid::Uuid;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let at = folder.path();
    git(at, &["init", "-q", "-b", "main"])?;
    save(at, "sum.rs", "a - b\n", "the first form")?;
    let base = git(at, &["rev-parse", "HEAD"])?.parse()?;

    // Some agent has changed the file and made a tree of it, beside the user's index.
    std::fs::write(at.join("sum.rs"), "a + b\n")?;
    let index = at.join(".git/index-of-the-agent");
    git_with(&index, at, &["read-tree", "HEAD"])?;
    git_with(&index, at, &["add", "sum.rs"])?;
    let tree = git_with(&index, at, &["write-tree"])?.parse()?;

    let repository = Repository::open(at)?.ok_or("no repository")?;
    let decision_id = DecisionId::new(Uuid::from_u128(3))?;
    let commit = repository.write_commit(&CommitPlan {
        tree,
        parents: vec![base],
        message: "sum: the sign was wrong".into(),
        author: None,
        committer: Some(Identity { name: "Coder".into(), email: "coder@example.org".into() }),
        at: 1_795_293_000,
        offset_minutes: 0,
        trailer: Some(Trailer::Decision(decision_id)),
    })?;

    let coder = Actor::new(ActorKind::Agent, "coder-1")?;
    let time = Timestamp::from_milliseconds(1_795_293_000_000)?;
    let run = Run::open(Opening {
        base: Base { commit: Some(base), tree: None },
        ..Opening::new(RunId::new(Uuid::from_u128(1))?, time, coder.clone(), "make the failing test pass")
    })?;
    let id = PatchSetId::new(Uuid::from_u128(2))?;
    let patch_sets =
        vec![PatchSet::new(id, run.id(), Some(base), Vec::new(), Diff::kept("-a - b\n+a + b\n"))?];
    let closing = Closing { patch_sets: &patch_sets, ..Closing::new(decision_id, time, coder) };
    let (run, decision) = run.decide(Verdict::Commit { patch_set: id, commit }, closing)?;
    let mut binding = Binding::new(run.record().clone(), decision);
    binding.patch_sets = patch_sets;
    binding.move_branch = Some(BranchMove { branch: Branch::Head, from: Some(base), to: commit });
    println!("bound      {:?}\n", repository.bind(&binding)?);

    // Whoever moves the branch that is checked out sees to the index: nobody has staged anything here.
    git(at, &["reset", "-q"])?;

    // Somebody else goes on from the first form, and ours is put on top of that.
    git(at, &["switch", "-q", "-c", "other", &base.to_string()])?;
    save(at, "README", "adds numbers\n", "words")?;
    git(at, &["switch", "-q", "main"])?;
    git(at, &["rebase", "-q", "other"])?;
    println!("rebased    {}\n", git(at, &["log", "--oneline", "--graph", "--all"])?);
    println!("commit     {commit} is now {}", git(at, &["rev-parse", "main"])?);
    for found in repository.find("main")? {
        println!("found      decision {} by {}", found.decision, found.by);
    }
    Ok(())
}

fn save(at: &Path, name: &str, text: &str, message: &str) -> Outcome<()> {
    std::fs::write(at.join(name), text)?;
    git(at, &["add", name])?;
    git(at, &["commit", "-q", "-m", message])?;
    Ok(())
}

fn git(at: &Path, arguments: &[&str]) -> Outcome<String> {
    run(Command::new("git"), at, arguments)
}

/// Works on another index than the user's.
fn git_with(index: &Path, at: &Path, arguments: &[&str]) -> Outcome<String> {
    let mut command = Command::new("git");
    command.env("GIT_INDEX_FILE", index);
    run(command, at, arguments)
}

fn run(mut command: Command, at: &Path, arguments: &[&str]) -> Outcome<String> {
    command
        .arg("-C")
        .arg(at)
        .args(["-c", "user.name=Alice", "-c", "user.email=alice@example.org"])
        .args(arguments);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}
