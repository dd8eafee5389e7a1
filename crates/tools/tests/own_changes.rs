//! What a run itself has changed in a repository, and what somebody else has.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;
use tempfile::TempDir;
use trunkline_agent_traits::{Base, Commits, Deciding, GitBinding, OwnChanges, Span, Touched, Workspace};
use trunkline_tools::GitWorkspace;

use crate::scene::block_on;

/// A repository with a commit of `a.txt` and `sub/c.txt`, and a folder in it that is worked in.
pub(crate) struct Repository {
    home: TempDir,
    folder: &'static str,
}

impl Repository {
    pub(crate) fn new(folder: &'static str) -> Self {
        let repository = Repository { home: tempfile::tempdir().unwrap(), folder };
        repository.git("init -q -b main");
        repository.git("config user.name Anna");
        repository.git("config user.email anna@example.org");
        fs::create_dir_all(repository.root()).unwrap();
        repository.write("a.txt", "a\n");
        repository.write("sub/c.txt", "c\n");
        repository.git("add --all");
        repository.git("commit -qm first");
        repository
    }

    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join(self.folder)
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        put(&self.root(), path, content);
    }

    pub(crate) fn remove(&self, path: &str) {
        take(&self.root(), path);
    }

    pub(crate) fn git(&self, arguments: &str) -> String {
        let output = Command::new("git")
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")])
            .arg("-C")
            .arg(self.home.path())
            .args(arguments.split(' '))
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn open(&self) -> GitWorkspace {
        GitWorkspace::open(self.root()).unwrap().unwrap()
    }
}

/// Writes a file; a file in the place of one of its folders goes, and so does a folder in its own.
pub(crate) fn put(root: &Path, path: &str, content: &str) {
    let file = root.join(path);
    for folder in file.ancestors().skip(1).take_while(|folder| *folder != root) {
        if folder.is_file() {
            fs::remove_file(folder).unwrap();
        }
    }
    if file.is_dir() {
        fs::remove_dir_all(&file).unwrap();
    }
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, content).unwrap();
}

pub(crate) fn take(root: &Path, path: &str) {
    let file = root.join(path);
    if file.is_file() {
        fs::remove_file(file).unwrap();
    }
}

pub(crate) fn look(git: &GitWorkspace) -> Base {
    block_on(git.look()).unwrap().unwrap()
}

pub(crate) fn own(git: &GitWorkspace, base: &Base, touched: &[Touched], spans: &[Span]) -> OwnChanges {
    block_on(git.own_changes(base, touched, spans)).unwrap()
}

pub(crate) fn paths(own: &OwnChanges) -> Vec<&str> {
    own.changes.files.iter().map(|file| file.path.as_str()).collect()
}

fn deciding(base: &Base, own: &OwnChanges) -> Deciding {
    Deciding {
        run: "r1".to_owned(),
        patch_set: "p1".to_owned(),
        base: Base { tree: own.before.clone().or(base.tree.clone()), ..base.clone() },
        tree: own.changes.tree.clone().unwrap(),
        message: "work".to_owned(),
        at: 1_700_000_000_123,
        decision: None,
        made: own.made.clone(),
    }
}

/// One thing that happens to the files.
#[derive(Clone, Debug)]
enum Act {
    /// Somebody writes a file, or removes it.
    Else(&'static str, Option<&'static str>),
    /// A command does, and the files were looked at around it.
    Command(Vec<(&'static str, Option<&'static str>)>),
    /// A command whose process dies: nobody looks when it has ended.
    Killed(&'static str, Option<&'static str>),
    /// A proposal is applied.
    Applied(&'static str, &'static str),
    /// Somebody commits everything.
    Commit,
}

fn an_act() -> impl Strategy<Value = Act> {
    let path = || prop::sample::select(vec!["a.txt", "b", "b/in", "sub/c.txt", "sub/d e.txt", "ü/x"]);
    let content = || prop::option::of(prop::sample::select(vec!["1\n", "2\n", "a\n", ""]));
    let write = || (path(), content());
    prop_oneof![
        4 => write().prop_map(|(path, content)| Act::Else(path, content)),
        3 => prop::collection::vec(write(), 0..3).prop_map(Act::Command),
        1 => write().prop_map(|(path, content)| Act::Killed(path, content)),
        3 => write().prop_map(|(path, content)| Act::Applied(path, content.unwrap_or("3\n"))),
        1 => Just(Act::Commit),
    ]
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", trunkline_agent_traits::decision_objects::Digest::of(bytes))
}

type Files = BTreeMap<String, String>;

fn files(root: &Path) -> Files {
    fn collect(root: &Path, folder: &Path, files: &mut Files) {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            match entry.file_type().unwrap().is_dir() {
                true if entry.file_name() == ".git" => {}
                true => collect(root, &path, files),
                false => {
                    let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                    files.insert(name, fs::read_to_string(&path).unwrap());
                }
            }
        }
    }
    let mut found = Files::new();
    collect(root, root, &mut found);
    found
}

fn differing(one: &Files, other: &Files) -> BTreeSet<String> {
    let all: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    all.into_iter().filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

/// How files were before a run first wrote them, and after it last did.
type Wrote = BTreeMap<String, (Option<String>, Option<String>)>;

fn wrote_between(wrote: &mut Wrote, from: &Files, to: &Files) {
    for path in differing(from, to) {
        let (was, is) = (from.get(&path).cloned(), to.get(&path).cloned());
        wrote.entry(path).and_modify(|known| known.1.clone_from(&is)).or_insert((was, is));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whoever writes when: a path is the run's if a proposal wrote it, or if it differs between the two looks around a
    /// command, or since the look of one that was killed until the next look. The tree, the files and the commit have what of
    /// those is different, and nothing else; what else is different is told.
    #[test]
    fn a_run_has_what_it_wrote_and_nothing_else(
        folder in prop::sample::select(vec!["", "in/it"]),
        acts in prop::collection::vec(an_act(), 0..9),
    ) {
        let repository = Repository::new(folder);
        let (git, root) = (repository.open(), repository.root());
        let (base, before) = (look(&git), files(&root));
        let (mut spans, mut touched): (Vec<Span>, Vec<Touched>) = (Vec::new(), Vec::new());
        let (mut ours, mut open): (BTreeSet<String>, Option<Files>) = (BTreeSet::new(), None);
        let (mut wrote, mut committed) = (Wrote::new(), None);
        let change = |path: &str, content: Option<&str>| match content {
            Some(content) => put(&root, path, content),
            None => take(&root, path),
        };
        for act in &acts {
            if let Act::Command(_) | Act::Killed(..) = act {
                let looked = look(&git);
                if let Some(from) = open.take() {
                    wrote_between(&mut wrote, &from, &files(&root));
                    spans.last_mut().unwrap().to = Some(looked.clone());
                }
                spans.push(Span { from: looked, to: None });
                open = Some(files(&root));
            }
            match act {
                Act::Else(path, content) | Act::Killed(path, content) => change(path, *content),
                Act::Command(writes) => {
                    writes.iter().for_each(|(path, content)| change(path, *content));
                    wrote_between(&mut wrote, &open.take().unwrap(), &files(&root));
                    spans.last_mut().unwrap().to = Some(look(&git));
                }
                Act::Applied(path, content) => {
                    // A file that stands in the way of another is removed by a command, not by a proposal.
                    if root.join(path).is_dir() || root.join(path).ancestors().skip(1).any(Path::is_file) {
                        continue;
                    }
                    let before = fs::read(root.join(path)).ok().map(|bytes| digest(&bytes));
                    touched.push(Touched { path: (*path).to_owned(), before });
                    ours.insert((*path).to_owned());
                    change(path, Some(content));
                }
                Act::Commit => {
                    repository.git("add --all");
                    repository.git("commit -q --allow-empty -m theirs");
                    committed = Some(files(&root));
                }
            }
        }
        let after = files(&root);
        if let Some(from) = open {
            wrote_between(&mut wrote, &from, &after);
        }
        // What the run has put back itself is not its change.
        wrote.retain(|_, (from, to)| from != to);
        wrote.retain(|path, _| touched.iter().all(|touch| touch.path != *path));
        ours.extend(wrote.keys().cloned());
        let found = own(&git, &base, &touched, &spans);
        // What others have committed to the run's files is theirs, unless a command may have committed it.
        let mut before = before;
        let theirs = committed.filter(|_| found.made.as_ref().is_some_and(Vec::is_empty));
        let by_them: Vec<String> = theirs.iter().flat_map(|theirs| differing(&before, theirs)).collect();
        for path in by_them {
            let now = theirs.as_ref().and_then(|theirs| theirs.get(&path)).cloned();
            if now.as_ref() == after.get(&path) {
                // They have made something else of what a command had made, and committed it.
                if wrote.get(&path).is_some_and(|(_, made)| *made != now) {
                    ours.remove(&path);
                }
            } else if ours.contains(&path) {
                match now {
                    Some(now) => before.insert(path, now),
                    None => before.remove(&path),
                };
            }
        }
        let changed = differing(&before, &after);
        let mut expected: BTreeSet<String> = changed.intersection(&ours).cloned().collect();
        // Of what a proposal wrote, how it was before that counts too: somebody else may have changed it, and the run changed
        // it back.
        let first: BTreeMap<&str, &Touched> =
            touched.iter().rev().map(|touch| (touch.path.as_str(), touch)).collect();
        let written = |touch: &&&Touched| {
            after.get(&touch.path).map(|text| digest(text.as_bytes())) != touch.before
        };
        expected.extend(first.values().filter(written).map(|touch| touch.path.clone()));
        // A file can stand in the tree only where no folder of that name is, whoever has removed it.
        let blocked = |path: &String| {
            let blocks = |ours: &String| after.contains_key(ours)
                && (ours.starts_with(&format!("{path}/")) || path.starts_with(&format!("{ours}/")));
            before.contains_key(path) && expected.iter().any(blocks)
        };
        let blocked: Vec<String> = changed.iter().filter(|path| blocked(path)).cloned().collect();
        expected.extend(blocked);
        let told: BTreeSet<String> = found.changes.files.iter().map(|file| file.path.clone()).collect();
        prop_assert_eq!(&told, &expected);
        let others: BTreeSet<String> = found.others.iter().cloned().collect();
        let mut theirs_left = changed.difference(&expected).cloned().collect::<BTreeSet<_>>();
        if let Some(theirs) = &theirs {
            let left = differing(theirs, &after);
            theirs_left.retain(|path| left.contains(path));
        }
        prop_assert_eq!(others, theirs_left);

        // The commit takes the head where it now is, and makes it what the run has made.
        let head = repository.git("rev-parse HEAD");
        let committed = block_on(git.commit(&deciding(&base, &found))).unwrap();
        if let Some(commit) = committed {
            let names = repository.git(&format!("diff --name-only -z {} {commit}", head.trim()));
            let in_commit: BTreeSet<String> = names.split('\0').filter(|name| !name.is_empty()).map(|name| {
                name.strip_prefix(folder).unwrap().trim_start_matches('/').to_owned()
            }).collect();
            // What somebody has committed stands in the way of a file that is to be where its folder was, and the other way round.
            let blocks = |path: &str| expected.iter().any(|ours| {
                ours.starts_with(&format!("{path}/")) || path.starts_with(&format!("{ours}/"))
            });
            let is_ours = |path: &String| expected.contains(path) || blocks(path);
            prop_assert!(in_commit.iter().all(is_ours), "{in_commit:?} {expected:?}");
        }
        prop_assert_eq!(files(&root), after, "nothing in the folder was touched");
    }
}

pub(crate) fn span(from: Base, to: Base) -> Span {
    Span { from, to: Some(to) }
}

#[test]
fn what_a_person_writes_meanwhile_stays_out_of_the_commit_and_the_diff() {
    let repository = Repository::new("");
    let git = repository.open();
    let base = look(&git);
    repository.write("mine.txt", "of a person\n");
    let before = look(&git);
    repository.write("a.txt", "by a command\n");
    let spans = [span(before, look(&git))];
    repository.remove("sub/c.txt");
    let found = own(&git, &base, &[], &spans);
    assert_eq!(paths(&found), ["a.txt"]);
    assert_eq!(found.others, ["mine.txt", "sub/c.txt"]);
    assert!(!found.changes.diff.contains("of a person"), "{}", found.changes.diff);
    block_on(git.commit(&deciding(&base, &found))).unwrap().unwrap();
    assert_eq!(repository.git("show --name-only --format= HEAD"), "a.txt\n");
    assert_eq!(repository.git("status --short"), " D sub/c.txt\n?? mine.txt\n");
}

#[test]
fn a_commit_is_the_runs_own_only_if_a_command_of_it_moved_the_head() {
    for by_the_run in [true, false] {
        let repository = Repository::new("");
        let git = repository.open();
        let base = look(&git);
        let before = look(&git);
        repository.write("a.txt", "by a command\n");
        let after = look(&git);
        repository.git("commit -qam content");
        let head = repository.git("rev-parse HEAD").trim().to_owned();
        let spans = [span(before, if by_the_run { look(&git) } else { after })];
        let found = own(&git, &base, &[], &spans);
        assert_eq!(paths(&found), ["a.txt"]);
        assert_eq!(found.holder.as_ref(), Some(&head));
        assert_eq!(found.made, Some(if by_the_run { vec![head.clone()] } else { Vec::new() }));
        let deciding = deciding(&base, &found);
        let wanted = by_the_run.then(|| head.clone());
        assert_eq!(block_on(git.commit(&deciding)).unwrap(), wanted);
        let prepared = block_on(git.write_commit(&deciding)).unwrap().map(|prepared| prepared.commit);
        assert_eq!(prepared, wanted);
        // Records from before do not say who it was.
        let older = Deciding { made: None, ..deciding };
        assert_eq!(block_on(git.commit(&older)).unwrap(), Some(head.clone()));
        assert_eq!(repository.git("rev-parse HEAD").trim(), head);
    }
}

#[test]
fn what_a_run_has_put_back_itself_is_not_its_change() {
    let repository = Repository::new("");
    let git = repository.open();
    let base = look(&git);
    repository.write("x.txt", "of a command\n");
    repository.write("a.txt", "of a command\n");
    let between = look(&git);
    repository.remove("x.txt");
    repository.write("a.txt", "a\n");
    let spans = [span(base.clone(), between.clone()), span(between, look(&git))];
    repository.write("x.txt", "of a person\n");
    let found = own(&git, &base, &[], &spans);
    assert_eq!((paths(&found), found.others.as_slice()), (vec![], ["x.txt".to_owned()].as_slice()));
}

/// What `git pull` brings.
#[test]
fn what_others_commit_to_the_runs_file_meanwhile_stays_theirs() {
    for by_a_command in [true, false] {
        let repository = Repository::new("");
        let git = repository.open();
        repository.write("a.txt", "one\ntwo\nthree\n");
        repository.git("commit -qam base");
        let base = look(&git);
        repository.write("a.txt", "run\ntwo\nthree\n");
        let (mut touched, mut spans) = (Vec::new(), Vec::new());
        match by_a_command {
            true => spans.push(span(base.clone(), look(&git))),
            false => {
                let before = Some(digest(b"one\ntwo\nthree\n"));
                touched.push(Touched { path: "a.txt".to_owned(), before });
            }
        }
        repository.git("stash -q");
        repository.write("a.txt", "one\ntwo\ntheirs\n");
        repository.git("commit -qam theirs");
        repository.write("a.txt", "run\ntwo\ntheirs\n");
        let found = own(&git, &base, &touched, &spans);
        assert_eq!(paths(&found), ["a.txt"]);
        assert!(found.changes.diff.contains("\n-one\n+run\n"), "{}", found.changes.diff);
        assert!(!found.changes.diff.contains("+theirs"), "{}", found.changes.diff);
        let announced = deciding(&base, &found);
        block_on(git.commit(&announced)).unwrap().unwrap();
        // What a rollback would go back to has what the others have done.
        let before = announced.base.tree.unwrap();
        assert_eq!(repository.git(&format!("cat-file -p {before}:a.txt")), "one\ntwo\ntheirs\n");
    }
}

/// A command has committed, and then somebody pulls: what is whose in that file nobody can tell any more.
#[test]
fn what_others_commit_on_top_of_the_runs_own_commit_is_told_apart_by_file() {
    let repository = Repository::new("");
    let git = repository.open();
    let base = look(&git);
    repository.write("a.txt", "by the run\n");
    repository.write("new.txt", "by the run\n");
    repository.git("add --all");
    repository.git("commit -qm run");
    let spans = [span(base.clone(), look(&git))];
    let found = own(&git, &base, &[], &spans);
    assert_eq!((paths(&found), found.mixed.len()), (vec!["a.txt", "new.txt"], 0));
    repository.write("a.txt", "by the run\nand by others\n");
    repository.write("sub/c.txt", "by others\n");
    repository.git("commit -qam theirs");
    repository.write("mine.txt", "by a person\n");
    let found = own(&git, &base, &[], &spans);
    assert_eq!((paths(&found), &found.mixed[..]), (vec!["a.txt", "new.txt"], &["a.txt".to_owned()][..]));
    assert_eq!(found.others, ["mine.txt"], "what is committed needs no word");
}

#[test]
fn a_commit_that_came_when_nobody_looked_any_more_is_nobodys() {
    let repository = Repository::new("");
    let git = repository.open();
    let base = look(&git);
    repository.write("a.txt", "by a command that is killed\n");
    repository.git("commit -qam theirs");
    let found = own(&git, &base, &[], &[Span { from: base.clone(), to: None }]);
    assert_eq!((paths(&found), &found.made), (vec!["a.txt"], &Some(Vec::new())));
}

#[test]
fn a_commit_of_the_run_stays_its_own_when_somebody_commits_on_top() {
    for undone in [false, true] {
        let repository = Repository::new("");
        let git = repository.open();
        let base = look(&git);
        repository.write("a.txt", "by a command\n");
        repository.git("commit -qam its");
        let own_commit = repository.git("rev-parse HEAD").trim().to_owned();
        let spans = [span(base.clone(), look(&git))];
        repository.write("mine.txt", "of a person\n");
        repository.git("add --all");
        repository.git("commit -qm theirs");
        if undone {
            repository.git("revert --no-edit HEAD~1");
            repository.write("a.txt", "by a command\n");
        }
        let found = own(&git, &base, &[], &spans);
        assert_eq!(paths(&found), ["a.txt"]);
        // What is taken back on the branch stands in no commit.
        assert_eq!(found.holder, (!undone).then_some(own_commit));
    }
}

#[test]
fn where_another_branch_is_checked_out_nothing_of_it_is_the_runs() {
    for by_a_command in [true, false] {
        let repository = Repository::new("");
        let git = repository.open();
        repository.git("checkout -q -b side");
        repository.write("a.txt", "side\n");
        repository.git("commit -qam side");
        repository.git("checkout -q main");
        if !by_a_command {
            repository.git("commit -q --allow-empty -m later");
        }
        let base = look(&git);
        repository.write("a.txt", "run\n");
        let (mut touched, mut spans) = (Vec::new(), Vec::new());
        match by_a_command {
            true => spans.push(span(base.clone(), look(&git))),
            false => touched.push(Touched { path: "a.txt".to_owned(), before: Some(digest(b"a\n")) }),
        }
        repository.git("stash -q");
        repository.git("checkout -q side");
        let found = own(&git, &base, &touched, &spans);
        assert_eq!((paths(&found), &found.holder), (vec![], &None));
    }
}

/// No commit has how it was.
#[test]
fn a_file_that_was_changed_before_the_run_goes_back_to_that() {
    let repository = Repository::new("");
    let git = repository.open();
    repository.write("a.txt", "of a person\n");
    let base = look(&git);
    repository.write("a.txt", "run\n");
    let spans = [span(base.clone(), look(&git))];
    repository.write("sub/c.txt", "theirs\n");
    repository.git("commit -qm theirs sub/c.txt");
    let found = own(&git, &base, &[], &spans);
    assert_eq!((paths(&found), &found.before), (vec!["a.txt"], &None));
}

#[test]
fn where_git_has_thrown_a_look_away_everything_counts_again() {
    let repository = Repository::new("");
    let git = repository.open();
    let base = look(&git);
    repository.write("mine.txt", "of a person\n");
    let before = look(&git);
    repository.write("a.txt", "by a command\n");
    let spans = [span(before, look(&git))];
    repository.git("gc -q --prune=now");
    let found = own(&git, &base, &[], &spans);
    assert_eq!((paths(&found), found.others.len()), (vec!["a.txt", "mine.txt"], 0));
}

#[test]
fn what_a_log_says_of_a_look_is_no_option_of_git() {
    let repository = Repository::new("");
    let git = repository.open();
    let base = look(&git);
    let option = |tree: &str| Base { commit: None, tree: Some(tree.to_owned()) };
    repository.write("a.txt", "x\n");
    for tree in ["--output=stolen", "-h", "HEAD"] {
        for spans in [[span(option(tree), base.clone())], [span(base.clone(), option(tree))]] {
            assert_eq!(paths(&own(&git, &base, &[], &spans)), ["a.txt"]);
        }
        assert!(block_on(git.own_changes(&option(tree), &[], &[])).is_err());
    }
    assert!(!repository.root().join("stolen").exists());
}

#[test]
fn what_a_proposal_wrote_is_the_runs_also_where_git_ignores_it() {
    let repository = Repository::new("");
    repository.write(".gitignore", "*.log\n");
    let git = repository.open();
    let base = look(&git);
    let touched = ["a.txt", "x.log"].map(|path| Touched { path: path.to_owned(), before: None });
    repository.write("a.txt", "applied\n");
    repository.write("x.log", "applied\n");
    repository.write("y.txt", "of a person\n");
    let found = own(&git, &base, &touched, &[]);
    assert_eq!(paths(&found), ["a.txt", "x.log"]);
    assert_eq!(found.others, ["y.txt"]);
}
