//! Decisions bound through the workspace, with real repositories of every kind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;
use trunkline_agent_traits::decision_objects::{
    Actor, ActorKind, Change, Closing, Decision, Diff, Opening, PatchSet, RelativePath, Run, RunRecord,
    TouchedFile, Verdict,
};
use trunkline_agent_traits::{Binding, BindingState, Bound, Deciding, GitBinding, Prepared, Workspace};
use trunkline_tools::{FolderWorkspace, GitWorkspace};

use crate::scene::block_on;

const RUN: &str = "01900000-0000-7000-8000-000000000001";
pub(crate) const DECISION: &str = "01900000-0000-7000-8000-000000000002";
const PATCH_SET: &str = "01900000-0000-7000-8000-000000000003";
const REF: &str = "refs/trunkline/decisions/01/01900000-0000-7000-8000-000000000001";

/// A repository with a commit of `a.txt` and `sub/c.txt`, and a folder in it that is worked in.
pub(crate) struct Scene {
    home: TempDir,
    /// The repository, and the folder.
    pub(crate) root: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) workspace: GitWorkspace,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Scene::made("init -q -b main", |root| root.to_owned())
    }

    pub(crate) fn made(init: &str, folder: impl Fn(&Path) -> PathBuf) -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(home.path()).unwrap().join("repository");
        fs::create_dir_all(root.join("sub")).unwrap();
        git(&root, init);
        for (name, value) in [("user.name", "Anna"), ("user.email", "anna@example.org")] {
            git(&root, &format!("config {name} {value}"));
        }
        fs::write(root.join("a.txt"), "a\n").unwrap();
        fs::write(root.join("sub/c.txt"), "c\n").unwrap();
        git(&root, "add .");
        git(&root, "commit -qm first");
        let folder = folder(&root);
        let workspace = GitWorkspace::open(&folder).unwrap().unwrap();
        Scene { home, root, folder, workspace }
    }

    /// A folder beside the repository.
    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn git(&self, arguments: &str) -> String {
        git(&self.folder, arguments)
    }

    /// What a run does: it begins, changes a file, and announces what it is about to commit.
    pub(crate) fn work(&self, file: &str) -> Deciding {
        let base = block_on(self.workspace.base()).unwrap();
        fs::write(self.folder.join(file), "by the run\n").unwrap();
        let changes = block_on(self.workspace.changes(&base, &[])).unwrap();
        Deciding {
            run: RUN.to_owned(),
            patch_set: PATCH_SET.to_owned(),
            base,
            tree: changes.tree.unwrap(),
            message: "Do the work".to_owned(),
            at: 1_700_000_000_123,
            decision: None,
            made: None,
        }
    }

    pub(crate) fn prepare(&self, deciding: &Deciding) -> Prepared {
        block_on(self.workspace.write_commit(deciding)).unwrap().expect("there is something to commit")
    }

    pub(crate) fn bind(&self, binding: &Binding) -> Bound {
        block_on(self.workspace.bind(binding)).unwrap()
    }

    pub(crate) fn state(&self, binding: &Binding) -> BindingState {
        block_on(self.workspace.bound(binding)).unwrap()
    }

    pub(crate) fn head(&self) -> String {
        self.git("rev-parse HEAD").trim().to_owned()
    }

    pub(crate) fn is_bound(&self) -> bool {
        !self.git(&format!("for-each-ref {REF}")).is_empty()
    }
}

pub(crate) fn git(folder: &Path, arguments: &str) -> String {
    let mut command = Command::new("git");
    command.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]).arg("-C").arg(folder);
    let output = command.args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A decision for what was prepared.
pub(crate) fn binding(prepared: &Prepared) -> Binding {
    let (run, decision, patch_set) = decided(&prepared.commit);
    Binding {
        run: run.print(),
        decision: decision.print(),
        patch_sets: vec![patch_set.print()],
        evidence: Vec::new(),
        prepared: Some(prepared.clone()),
    }
}

fn decided(commit: &str) -> (RunRecord, Decision, PatchSet) {
    let at = "2026-11-21T20:49:30Z".parse().unwrap();
    let coder = Actor::new(ActorKind::Agent, "coder-1").unwrap();
    let run = Run::open(Opening::new(RUN.parse().unwrap(), at, coder.clone(), "do the work")).unwrap();
    let file = TouchedFile {
        path: RelativePath::new("a.txt").unwrap(),
        change: Change::Modified,
        added_lines: Some(1),
        deleted_lines: Some(1),
    };
    let diff = Diff::kept("+by the run\n".to_owned());
    let set = PatchSet::new(PATCH_SET.parse().unwrap(), run.record().id(), None, vec![file], diff).unwrap();
    let verdict = Verdict::Commit { patch_set: set.id(), commit: commit.parse().unwrap() };
    let mut closing = Closing::new(DECISION.parse().unwrap(), at, coder);
    closing.patch_sets = std::slice::from_ref(&set);
    let (run, decision) = run.decide(verdict, closing).unwrap();
    (run.record().clone(), decision, set)
}

/// The whole way, in any kind of repository: nothing is to be seen of a commit that is only prepared, and of one that is
/// bound as much as of any other.
fn check(scene: &Scene, branch: Option<&str>) {
    fs::write(scene.folder.join("mine.txt"), "mine\n").unwrap();
    let deciding = scene.work("a.txt");
    let before = (scene.git("status --porcelain=v2"), scene.git("for-each-ref"), scene.head());
    let prepared = scene.prepare(&deciding);
    assert_eq!(scene.prepare(&deciding), prepared, "the same in, the same out");
    assert_eq!(prepared.branch.as_deref(), branch);
    assert_eq!(prepared.from.as_deref(), Some(before.2.as_str()));
    assert_eq!(before, (scene.git("status --porcelain=v2"), scene.git("for-each-ref"), scene.head()));
    let binding = binding(&prepared);
    assert_eq!(scene.state(&binding), BindingState::Neither);
    assert_eq!(scene.bind(&binding), Bound::Done { reference: REF.to_owned() });
    assert_eq!(scene.state(&binding), BindingState::Both);
    assert_eq!(scene.head(), prepared.commit);
    assert_eq!(scene.git("show -s --format=%an:%B HEAD").trim(), "Anna:Do the work", "no trailer unasked");
    assert_eq!(scene.git("status --short"), "?? mine.txt\n", "the index knows of the commit");
    assert!(scene.is_bound());
    assert_eq!(scene.bind(&binding), Bound::Done { reference: REF.to_owned() }, "once more does nothing");
    assert_eq!(scene.git("rev-list --count HEAD").trim(), "2");
    scene.git("fsck --strict --no-dangling");
}

#[test]
fn a_repository_of_any_kind_gets_one_commit_and_one_ref() {
    check(&Scene::new(), Some("refs/heads/main"));
    let detached = Scene::new();
    detached.git("checkout -q --detach");
    check(&detached, None);
    check(&Scene::made("init -q -b main --object-format=sha256", Path::to_owned), Some("refs/heads/main"));
    let linked = Scene::made("init -q -b main", |root| {
        let linked = root.with_file_name("linked");
        git(root, &format!("worktree add -q -b side {}", linked.display()));
        linked
    });
    check(&linked, Some("refs/heads/side"));
    assert_eq!(
        git(&linked.root, "rev-list --count main").trim(),
        "1",
        "the main worktree stays where it was"
    );
    let inside = Scene::made("init -q -b main", |root| root.join("sub"));
    fs::write(inside.root.join("a.txt"), "changed by somebody, outside\n").unwrap();
    let deciding = inside.work("c.txt");
    inside.bind(&binding(&inside.prepare(&deciding)));
    assert_eq!(inside.git("show --name-only --format= HEAD"), "sub/c.txt\n", "only the folder itself");
    assert_eq!(git(&inside.root, "status --short"), " M a.txt\n");
}

#[test]
fn the_first_commit_of_a_repository_is_bound_like_any_other() {
    let scene = Scene::new();
    scene.git("checkout -q --orphan fresh");
    scene.git("rm -rq --cached .");
    fs::remove_dir_all(scene.root.join("sub")).unwrap();
    fs::remove_file(scene.root.join("a.txt")).unwrap();
    let deciding = scene.work("new.txt");
    let prepared = scene.prepare(&deciding);
    assert_eq!((prepared.branch.as_deref(), &prepared.from), (Some("refs/heads/fresh"), &None));
    scene.bind(&binding(&prepared));
    assert_eq!(scene.git("log --format=%H%P").trim(), prepared.commit);
    assert_eq!(scene.git("status --short"), "");
}

#[test]
fn the_decision_is_named_only_if_it_is_asked_for() {
    let scene = Scene::new();
    let named = Deciding { decision: Some(DECISION.to_owned()), ..scene.work("a.txt") };
    scene.bind(&binding(&scene.prepare(&named)));
    let message = scene.git("show -s --format=%B HEAD");
    assert_eq!(message.trim(), format!("Do the work\n\nTrunkline-Decision: {DECISION}"));
}

#[test]
fn half_of_a_binding_is_brought_to_its_end_and_what_a_person_put_back_stays() {
    let whole = Scene::new();
    let deciding = whole.work("a.txt");
    let prepared = whole.prepare(&deciding);
    let binding = binding(&prepared);
    // The branch alone, as a git that was killed between two refs leaves it.
    whole.git(&format!("update-ref HEAD {}", prepared.commit));
    assert_eq!(whole.git("status --short"), "MM a.txt\n", "the index does not know yet");
    assert_eq!(whole.state(&binding), BindingState::BranchOnly);
    whole.bind(&binding);
    assert_eq!((whole.state(&binding), whole.is_bound()), (BindingState::Both, true));
    assert_eq!(whole.git("status --short"), "");
    // The ref alone, which no kill leaves: a person has put the branch back.
    whole.git(&format!("update-ref HEAD {}", prepared.from.as_deref().unwrap()));
    whole.git("read-tree HEAD");
    assert_eq!(whole.state(&binding), BindingState::RefOnly);
    assert_eq!(whole.bind(&binding), Bound::Done { reference: REF.to_owned() });
    assert_eq!(Some(whole.head()), prepared.from, "it stays where it was put");
}

#[test]
fn what_does_not_fit_any_more_is_said_and_nothing_is_done() {
    for disturb in ["commit -q --allow-empty -m theirs", "checkout -q -b other", "gc -q --prune=now"] {
        let scene = Scene::new();
        let deciding = scene.work("a.txt");
        let prepared = scene.prepare(&deciding);
        let binding = binding(&prepared);
        scene.git(disturb);
        let before = (scene.git("for-each-ref"), scene.git("status --short"));
        let bound = scene.bind(&binding);
        let Bound::Overtaken { why } = &bound else { panic!("{disturb}: {bound:?}") };
        assert!(!why.is_empty());
        assert_eq!(before, (scene.git("for-each-ref"), scene.git("status --short")), "{disturb}");
    }
}

/// Moves the branch as a git does that is killed before it gets to the decision.
fn half(scene: &Scene, prepared: &Prepared) {
    let mut git = Command::new("git");
    git.arg("-C").arg(&scene.folder).args(["update-ref", "-m", &format!("trunkline: decision {DECISION}")]);
    let moved = git.args(["HEAD", &prepared.commit, prepared.from.as_deref().unwrap()]).status().unwrap();
    assert!(moved.success());
}

#[test]
fn a_commit_that_was_taken_off_is_not_put_back_nor_carried_elsewhere() {
    let ways: [&[&str]; 4] = [
        &["reset -q --hard HEAD~1"],
        &["reset -q --hard HEAD~1", "commit -q --allow-empty -m theirs"],
        &["commit -q -a --amend -m mine"],
        &["reset -q --soft HEAD~1", "checkout -q -b other"],
    ];
    for way in ways {
        let scene = Scene::new();
        let deciding = scene.work("a.txt");
        let prepared = scene.prepare(&deciding);
        let binding = binding(&prepared);
        half(&scene, &prepared);
        assert_eq!(scene.state(&binding), BindingState::BranchOnly);
        way.iter().for_each(|step| drop(scene.git(step)));
        let before = scene.git("for-each-ref");
        let at = scene.git("rev-parse refs/heads/main").trim().to_owned();
        let BindingState::TakenBack { why } = scene.state(&binding) else { panic!("{way:?}") };
        assert_eq!(
            why,
            format!(
                "the commit {} was on refs/heads/main, and somebody has taken it off; refs/heads/main is at {at}",
                prepared.commit
            )
        );
        assert_eq!(scene.bind(&binding), Bound::TakenBack { why }, "{way:?}");
        assert_eq!(scene.git("for-each-ref"), before, "{way:?}");
    }
    // What went on from it has it.
    let scene = Scene::new();
    let deciding = scene.work("a.txt");
    let prepared = scene.prepare(&deciding);
    let binding = binding(&prepared);
    half(&scene, &prepared);
    scene.git("commit -q --allow-empty -m theirs");
    assert_eq!(scene.bind(&binding), Bound::Done { reference: REF.to_owned() });
}

#[test]
fn what_a_person_has_made_of_it_since_is_left_alone() {
    let scene = Scene::new();
    let deciding = scene.work("a.txt");
    let prepared = scene.prepare(&deciding);
    let binding = binding(&prepared);
    scene.bind(&binding);
    scene.git("commit -q --amend -m mine");
    let amended = scene.head();
    assert_eq!(scene.state(&binding), BindingState::BoundElsewhere { reference: REF.to_owned() });
    assert_eq!(scene.bind(&binding), Bound::Done { reference: REF.to_owned() });
    assert_eq!(scene.head(), amended, "the branch stays where a person has put it");
}

#[test]
fn a_run_that_is_bound_to_another_decision_keeps_that_one() {
    let scene = Scene::new();
    let deciding = scene.work("a.txt");
    let prepared = scene.prepare(&deciding);
    let first = binding(&prepared);
    scene.bind(&first);
    let held = scene.git(&format!("rev-parse {REF}"));
    let (_, other, _) = decided(&"c".repeat(40));
    let second = Binding { decision: other.print(), ..first };
    assert_eq!(scene.bind(&second), Bound::OtherDecision { first: DECISION.to_owned() });
    assert_eq!(scene.state(&second), BindingState::OtherDecision { first: DECISION.to_owned() });
    assert_eq!(scene.git(&format!("rev-parse {REF}")), held);
}

#[test]
fn what_the_run_has_committed_itself_is_bound_where_it_is() {
    let scene = Scene::new();
    let base = block_on(scene.workspace.base()).unwrap();
    fs::write(scene.root.join("a.txt"), "by the run\n").unwrap();
    scene.git("commit -qam by-a-command");
    let tree = block_on(scene.workspace.changes(&base, &[])).unwrap().tree.unwrap();
    let deciding = Deciding { base, tree, ..scene.work("a.txt") };
    let prepared = scene.prepare(&deciding);
    assert_eq!(prepared.commit, scene.head());
    scene.bind(&binding(&prepared));
    assert_eq!((scene.head(), scene.is_bound()), (prepared.commit, true));
}

#[test]
fn hostile_texts_are_refused_and_a_folder_says_why_it_cannot() {
    let scene = Scene::new();
    let deciding = scene.work("a.txt");
    let good = binding(&scene.prepare(&deciding));
    let bad_branch = Prepared { branch: Some("HEAD\ndelete x".to_owned()), ..good.prepared.clone().unwrap() };
    for bad in [
        Binding { decision: "{}".to_owned(), ..good.clone() },
        Binding { run: "\u{1b}[2J".to_owned(), ..good.clone() },
        Binding { patch_sets: Vec::new(), ..good.clone() },
        Binding { prepared: Some(bad_branch), ..good.clone() },
    ] {
        let fault = block_on(scene.workspace.bind(&bad)).unwrap_err();
        assert!(!fault.message.contains(['\n', '\u{1b}']), "{fault}");
    }
    assert!(!scene.is_bound());
    let folder = tempfile::tempdir().unwrap();
    let folder = FolderWorkspace::new(folder.path());
    let fault = block_on(folder.bind(&good)).unwrap_err();
    assert!(fault.message.contains("not in a git repository"), "{fault}");
    assert_eq!(block_on(folder.bound(&good)), Ok(BindingState::Elsewhere), "nothing can stand there");
}
