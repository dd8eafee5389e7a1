//! What the other tests start from: a repository in a folder of its own, and small bindings by number.

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trunkline_decision_objects::{
    Actor, ActorKind, Change, Closing, Decision, DecisionId, Diff, Evidence, EvidenceId, EvidenceKind,
    Finding, GitOid, NonBlank, Opening, PatchSet, PatchSetId, RelativePath, Run, RunId, Timestamp,
    TouchedFile, Verdict,
};
use trunkline_git_binding::{Binding, Branch, BranchMove, CommitPlan, Identity, Repository};
use uuid::Uuid;

/// A repository that the tests' own settings of git do not reach.
pub(crate) struct Scratch {
    pub(crate) folder: TempDir,
    root: PathBuf,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// With options of `git init`.
    pub(crate) fn with(options: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let scratch = Self { root: folder.path().join("repository"), folder };
        let path = scratch.root.to_str().expect("a temporary folder in UTF-8").to_owned();
        git_in(scratch.folder.path(), &[&["init", "-q", "-b", "main"], options, &[&path]].concat());
        scratch.git(&["config", "core.fsync", "none"]); // no test takes the power away
        scratch
    }

    pub(crate) fn at(folder: TempDir, root: PathBuf) -> Self {
        Self { folder, root }
    }

    /// With one commit on `main`.
    pub(crate) fn begun() -> Self {
        Self::begun_with(&[])
    }

    pub(crate) fn begun_with(options: &[&str]) -> Self {
        let scratch = Self::with(options);
        scratch.save("README", "first\n", "first");
        scratch
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn open(&self) -> Repository {
        Repository::open(&self.root).expect("git works").expect("there is a repository")
    }

    /// Runs plain git, as a person would, and returns what it printed, without the last line end.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git_in(&self.root, arguments)
    }

    pub(crate) fn oid(&self, revision: &str) -> GitOid {
        self.git(&["rev-parse", "--verify", revision]).parse().expect("an object id")
    }

    /// Writes a file and commits it.
    pub(crate) fn save(&self, path: &str, text: &str, message: &str) -> GitOid {
        let file = self.root.join(path);
        std::fs::create_dir_all(file.parent().expect("a file is in a folder")).expect("a folder");
        std::fs::write(file, text).expect("a file");
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
        self.oid("HEAD")
    }

    /// A tree like that of `parent`, and a file more; nothing else is touched.
    pub(crate) fn tree_with(&self, parent: &str, path: &str, text: &str) -> GitOid {
        let file = self.folder.path().join("content");
        std::fs::write(&file, text).expect("a file");
        let blob = self.git(&["hash-object", "-w", file.to_str().expect("UTF-8")]);
        let list = self.git(&["ls-tree", parent]);
        let mut lines: Vec<String> =
            list.lines().filter(|line| !line.ends_with(&format!("\t{path}"))).map(String::from).collect();
        lines.push(format!("100644 blob {blob}\t{path}"));
        let list = self.folder.path().join("list");
        std::fs::write(&list, lines.join("\n") + "\n").expect("a file");
        let stdin = std::fs::File::open(list).expect("a file");
        let output = plain_git(&self.root).arg("mktree").stdin(stdin).output().expect("git runs");
        text_of(output).parse().expect("an object id")
    }

    /// A commit on top of `parent` that changes one file, made by the crate.
    pub(crate) fn candidate(&self, parent: GitOid, number: u128) -> GitOid {
        let tree = self.tree_with(&parent.to_string(), &format!("file-{number}"), &format!("{number}\n"));
        self.open().write_commit(&plan(tree, vec![parent], number)).expect("a commit")
    }

    /// All refs, their values, what is checked out, status, stash, reflog of HEAD and the bytes of the index.
    pub(crate) fn surroundings(&self) -> (String, String, String, Vec<u8>) {
        let status = self.git(&["status", "--porcelain=v2", "--branch", "--untracked-files=all"]);
        let stash = self.git(&["stash", "list"]);
        let reflog = self.git(&["reflog", "show", "HEAD"]);
        let index = self.git(&["rev-parse", "--path-format=absolute", "--git-path", "index"]);
        (status, stash, reflog, std::fs::read(index).unwrap_or_default())
    }

    pub(crate) fn refs(&self) -> String {
        self.git(&["for-each-ref", "--format=%(objectname) %(refname)"])
    }
}

pub(crate) fn plain_git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.arg("-C").arg(folder);
    for (variable, _) in std::env::vars_os() {
        if variable.to_string_lossy().starts_with("GIT_") {
            command.env_remove(variable);
        }
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command
            .env(format!("GIT_{role}_NAME"), "Alice")
            .env(format!("GIT_{role}_EMAIL"), "alice@example.org");
    }
    command
}

pub(crate) fn git_in(folder: &Path, arguments: &[&str]) -> String {
    text_of(plain_git(folder).args(arguments).output().expect("git runs"))
}

fn text_of(output: std::process::Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned();
    assert!(output.status.success(), "{}{text}", String::from_utf8_lossy(&output.stderr));
    text
}

pub(crate) fn plan(tree: GitOid, parents: Vec<GitOid>, number: u128) -> CommitPlan {
    CommitPlan {
        tree,
        parents,
        message: format!("change {number}"),
        author: None,
        committer: Some(Identity { name: "Coder".into(), email: "coder@example.org".into() }),
        at: 1_795_293_000,
        offset_minutes: 60,
        trailer: None,
    }
}

pub(crate) fn run_id(number: u128) -> RunId {
    RunId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

pub(crate) fn decision_id(number: u128) -> DecisionId {
    DecisionId::new(Uuid::from_u128(number)).expect("a test id is not nil")
}

fn words(text: &str) -> NonBlank {
    NonBlank::new(text).expect("test words are not blank")
}

fn at() -> Timestamp {
    "2026-11-21T20:49:30.166608121Z".parse().expect("a test text is well formed")
}

fn coder() -> Actor {
    Actor::new(ActorKind::Agent, "coder-1").expect("a test actor has an id")
}

/// The run's ref.
pub(crate) fn reference(number: u128) -> String {
    let run = run_id(number).to_string();
    format!("refs/trunkline/decisions/{}/{run}", &run[34..])
}

fn decided(
    run: u128,
    decision: u128,
    verdict: Verdict,
    patch_sets: &[PatchSet],
    evidence: &[Evidence],
) -> Decision {
    let opening = opening(run);
    let closing = Closing { patch_sets, evidence, ..Closing::new(decision_id(decision), at(), coder()) };
    Run::open(opening).expect("a run").decide(verdict, closing).expect("a test decision is legal").1
}

fn opening(run: u128) -> Opening {
    Opening::new(run_id(run), at(), coder(), "fix it")
}

/// A run that was given up by this decision.
pub(crate) fn given_up(run: u128, decision: u128) -> Binding {
    let decision = decided(run, decision, Verdict::Abandon { reason: words("goal impossible") }, &[], &[]);
    Binding::new(Run::open(opening(run)).expect("a run").record().clone(), decision)
}

/// A run that ended in this commit, with a patch set and evidence.
pub(crate) fn committed(run: u128, commit: GitOid) -> Binding {
    let file = TouchedFile {
        path: RelativePath::new(format!("file-{run}")).expect("a test path is legal"),
        change: Change::Added,
        added_lines: Some(1),
        deleted_lines: Some(0),
    };
    let id = PatchSetId::new(Uuid::from_u128(run << 8)).expect("a test id is not nil");
    let set =
        PatchSet::new(id, run_id(run), None, vec![file], Diff::kept("+1\n")).expect("a legal patch set");
    let finding = Finding {
        kind: EvidenceKind::Test,
        tool: words("run_command"),
        command: Some("cargo test".into()),
        exit_code: Some(0),
        summary: None,
        output: None,
    };
    let id = EvidenceId::new(Uuid::from_u128(run << 8)).expect("a test id is not nil");
    let evidence = Evidence::new(id, run_id(run), at(), Some(set.id()), None, finding);
    let verdict = Verdict::Commit { patch_set: set.id(), commit };
    let decision =
        decided(run, run << 16, verdict, std::slice::from_ref(&set), std::slice::from_ref(&evidence));
    let mut binding = Binding::new(Run::open(opening(run)).expect("a run").record().clone(), decision);
    binding.patch_sets = vec![set];
    binding.evidence = vec![evidence];
    binding
}

/// The same, with the branch that is checked out.
pub(crate) fn committed_on_head(run: u128, from: GitOid, to: GitOid) -> Binding {
    let mut binding = committed(run, to);
    binding.move_branch = Some(BranchMove { branch: Branch::Head, from: Some(from), to });
    binding
}
