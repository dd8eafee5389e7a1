//! One folder in memory, with switches for what it can and faults for what goes wrong.
//!
//! Clones share the files and what was done to them; the switches are each clone's own, as those of a process.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use trunkline_runtime::{
    Base, ChangedFile, Changes, Checkpoint, Checkpoints, Commits, Comparison, Deciding, FileChange,
    FileStates, GitBinding, KeptFile, KeptFiles, Left, OwnChanges, Permit, Restore, Span, Touched, Workspace,
    WorkspaceFault,
};

use crate::fake_git::Git;

/// Files by path, with their texts.
pub(crate) type Files = BTreeMap<String, String>;

/// What was asked of a folder.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Base,
    Look,
    Changes,
    Commit,
    FindCommit,
    States,
    Compare,
    Restore,
    Keep,
}

/// Everything that reads the files of a run.
pub(crate) const READING: &[Act] = &[Act::Base, Act::Look, Act::Changes];

/// A call that was made, and the base that it was given.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) act: Act,
    pub(crate) base: Option<Base>,
}

/// Calls that go wrong.
struct Fault {
    acts: &'static [Act],
    /// How many more of them do.
    times: usize,
    /// Whether what was asked for is done all the same.
    done: bool,
    message: &'static str,
}

/// What is kept of the folder, whoever works in it.
#[derive(Default)]
pub(crate) struct Kept {
    /// Each snapshot, named by its place.
    trees: Vec<Files>,
    /// What was committed, oldest first.
    pub(crate) commits: Vec<Deciding>,
    /// What a ref keeps, by run, and every checkpoint that was asked for.
    pub(crate) refs: BTreeMap<String, KeptFiles>,
    pub(crate) checkpoints: Vec<Checkpoint>,
    /// Every call, oldest first.
    pub(crate) calls: Vec<Call>,
    faults: Vec<Fault>,
    /// It cannot tell what is different between two looks.
    pub(crate) blind: bool,
    /// After so many files a restore fails, as if its process had died.
    pub(crate) cut_after: Option<usize>,
    /// The trees whose files are not kept any more.
    pub(crate) forgotten: Vec<String>,
}

/// What counts as changed.
#[derive(Clone)]
enum Sees {
    /// What is different between two trees.
    Differences,
    /// What was applied, as new.
    Touched,
    /// These names, as new.
    Names(Vec<&'static str>),
}

/// Files that somebody else puts back.
pub(crate) type Restoring = Pin<Box<dyn Future<Output = Result<(), WorkspaceFault>> + Send>>;

#[derive(Clone)]
pub(crate) struct FakeFolder {
    pub(crate) files: Arc<Mutex<Files>>,
    pub(crate) kept: Arc<Mutex<Kept>>,
    pub(crate) git: Arc<Mutex<Git>>,
    sees: Sees,
    /// Where every run begins, if not on what is here.
    base: Option<Base>,
    versions: bool,
    looks: bool,
    restores: bool,
    binds: bool,
    keeps: bool,
    restored_by: Option<Arc<dyn Fn(Left, Permit) -> Restoring + Send + Sync>>,
    on_call: Arc<dyn Fn(Act) + Send + Sync>,
}

impl FakeFolder {
    fn new(files: &Arc<Mutex<Files>>, sees: Sees) -> Self {
        FakeFolder {
            files: Arc::clone(files),
            kept: Arc::default(),
            git: Arc::default(),
            sees,
            base: None,
            versions: true,
            looks: false,
            restores: false,
            binds: false,
            keeps: false,
            restored_by: None,
            on_call: Arc::new(|_| {}),
        }
    }

    /// Under version control: what is different is a change.
    pub(crate) fn of(files: &Arc<Mutex<Files>>) -> Self {
        FakeFolder::new(files, Sees::Differences)
    }

    /// Under version control: whatever was applied is a change.
    pub(crate) fn counting() -> Self {
        FakeFolder::new(&Arc::default(), Sees::Touched)
    }

    /// Without version control: whatever was applied is a change, and nothing is committed.
    pub(crate) fn plain() -> Self {
        FakeFolder { versions: false, ..FakeFolder::counting() }
    }

    /// Under version control: these are the names of what was changed, whatever is there.
    pub(crate) fn naming(names: Vec<&'static str>) -> Self {
        FakeFolder::new(&Arc::default(), Sees::Names(names))
    }

    /// Where runs begin.
    pub(crate) fn begun_on(self, base: Base) -> Self {
        FakeFolder { base: Some(base), ..self }
    }

    /// It is looked at around calls, and tells what a run itself has changed.
    pub(crate) fn looks(self) -> Self {
        FakeFolder { looks: true, ..self }
    }

    pub(crate) fn restores(self) -> Self {
        FakeFolder { restores: true, ..self }
    }

    /// Somebody else puts the files back when that is asked of it.
    pub(crate) fn restored_by(
        self,
        restored_by: impl Fn(Left, Permit) -> Restoring + Send + Sync + 'static,
    ) -> Self {
        FakeFolder { restored_by: Some(Arc::new(restored_by)), ..self.restores() }
    }

    /// Decisions are bound to the commits of its repository.
    pub(crate) fn binds(self) -> Self {
        FakeFolder { binds: true, ..self }
    }

    /// It keeps the files of checkpoints.
    pub(crate) fn keeps(self) -> Self {
        FakeFolder { keeps: true, ..self }
    }

    /// Something happens before each call.
    pub(crate) fn on_call(self, happens: impl Fn(Act) + Send + Sync + 'static) -> Self {
        FakeFolder { on_call: Arc::new(happens), ..self }
    }

    /// The next calls of these kinds fail, and nothing is done.
    pub(crate) fn fail(&self, acts: &'static [Act], times: usize, message: &'static str) {
        self.kept.lock().unwrap().faults.push(Fault { acts, times, done: false, message });
    }

    /// The next call of this kind does what it is asked for, and fails.
    pub(crate) fn fail_behind(&self, acts: &'static [Act], message: &'static str) {
        self.kept.lock().unwrap().faults.push(Fault { acts, times: 1, done: true, message });
    }

    /// Nothing fails any more.
    pub(crate) fn mend(&self) {
        self.kept.lock().unwrap().faults.clear();
    }

    pub(crate) fn now(&self) -> Files {
        self.files.lock().unwrap().clone()
    }

    /// Returns the files of a snapshot.
    pub(crate) fn tree(&self, name: &str) -> Files {
        self.kept.lock().unwrap().trees[usize::from_str_radix(name, 16).unwrap()].clone()
    }

    /// Returns how often this was asked.
    pub(crate) fn count(&self, act: Act) -> usize {
        self.kept.lock().unwrap().calls.iter().filter(|call| call.act == act).count()
    }

    fn keep(&self, files: Files) -> Option<String> {
        let mut kept = self.kept.lock().unwrap();
        let at = kept.trees.iter().position(|tree| *tree == files).unwrap_or_else(|| {
            kept.trees.push(files);
            kept.trees.len() - 1
        });
        self.versions.then(|| format!("{at:040x}"))
    }

    /// Notes a call, and fails if it is to.
    fn asked(&self, act: Act, base: Option<&Base>) -> Result<(), WorkspaceFault> {
        (self.on_call)(act);
        self.kept.lock().unwrap().calls.push(Call { act, base: base.cloned() });
        self.due(act, false)
    }

    fn due(&self, act: Act, done: bool) -> Result<(), WorkspaceFault> {
        let mut kept = self.kept.lock().unwrap();
        let due = |fault: &&mut Fault| fault.acts.contains(&act) && fault.done == done && fault.times > 0;
        let Some(fault) = kept.faults.iter_mut().find(due) else { return Ok(()) };
        fault.times -= 1;
        Err(WorkspaceFault { message: fault.message.to_owned() })
    }

    fn base_now(&self) -> Base {
        let found = || Base { commit: self.git.lock().unwrap().tip(), tree: self.keep(self.now()) };
        self.base.clone().unwrap_or_else(found)
    }

    fn changes_to(&self, base: &Base, after: Files, touched: &[Touched]) -> Changes {
        let added = |path: &str| ChangedFile {
            path: path.to_owned(),
            change: FileChange::Added,
            added: Some(1),
            deleted: Some(0),
        };
        let (files, diff) = match &self.sees {
            Sees::Differences => {
                let before = self.tree(base.tree.as_ref().unwrap());
                let change = |path: String| ChangedFile {
                    change: match (before.get(&path), after.get(&path)) {
                        (None, _) => FileChange::Added,
                        (_, None) => FileChange::Deleted,
                        _ => FileChange::Modified,
                    },
                    path,
                    added: None,
                    deleted: None,
                };
                (differing(&before, &after).into_iter().map(change).collect(), "")
            }
            Sees::Touched => (touched.iter().map(|file| added(&file.path)).collect(), "+new\n"),
            Sees::Names(names) => (names.iter().map(|name| added(name)).collect(), "+new\n"),
        };
        Changes { files, diff: diff.to_owned(), tree: self.keep(after) }
    }

    /// Compares the files with what a run left.
    pub(crate) fn compared(&self, left: &Left) -> Comparison {
        let now = self.now();
        let mut found = Comparison::default();
        for file in &left.files {
            match now.get(&file.path).map(|text| digest(text)) {
                same if same == file.before => {}
                same if same == file.after => found.files.push(ChangedFile {
                    path: file.path.clone(),
                    change: FileChange::Modified,
                    added: None,
                    deleted: None,
                }),
                _ => found.conflicts.push(format!("{} has been changed since", file.path)),
            }
        }
        found
    }

    /// Writes a file, or removes it.
    pub(crate) fn put(&self, path: &str, text: Option<&String>) {
        let mut files = self.files.lock().unwrap();
        match text {
            Some(text) => files.insert(path.to_owned(), text.clone()),
            None => files.remove(path),
        };
    }
}

pub(crate) fn differing(one: &Files, other: &Files) -> BTreeSet<String> {
    let all: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    all.into_iter().filter(|path| one.get(*path) != other.get(*path)).cloned().collect()
}

pub(crate) fn digest(content: &str) -> String {
    format!("sha256:{}", trunkline_runtime::decision_objects::Digest::of(content.as_bytes()))
}

pub(crate) fn files(of: &[(&str, &str)]) -> Files {
    of.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

#[async_trait]
impl Workspace for FakeFolder {
    async fn base(&self) -> Result<Base, WorkspaceFault> {
        self.asked(Act::Base, None)?;
        Ok(self.base_now())
    }

    async fn look(&self) -> Result<Option<Base>, WorkspaceFault> {
        self.asked(Act::Look, None)?;
        let sees = self.looks && !self.kept.lock().unwrap().blind;
        Ok(sees.then(|| self.base_now()))
    }

    async fn changes(&self, base: &Base, touched: &[Touched]) -> Result<Changes, WorkspaceFault> {
        self.asked(Act::Changes, Some(base))?;
        Ok(self.changes_to(base, self.now(), touched))
    }

    async fn own_changes(
        &self,
        base: &Base,
        touched: &[Touched],
        spans: &[Span],
    ) -> Result<OwnChanges, WorkspaceFault> {
        if !self.looks {
            let changes = self.changes(base, touched).await?;
            return Ok(OwnChanges { changes, ..OwnChanges::default() });
        }
        self.asked(Act::Changes, Some(base))?;
        let now = self.base_now();
        let tree = |base: &Base| self.tree(base.tree.as_ref().unwrap());
        let mut ours: BTreeSet<String> = touched.iter().map(|touch| touch.path.clone()).collect();
        for Span { from, to } in spans {
            ours.extend(differing(&tree(from), &tree(to.as_ref().unwrap_or(&now))));
        }
        let (mut after, now) = (tree(base), tree(&now));
        for path in &ours {
            match now.get(path) {
                Some(text) => after.insert(path.clone(), text.clone()),
                None => after.remove(path),
            };
        }
        let others = differing(&after, &now).into_iter().collect();
        let changes = self.changes_to(base, after, touched);
        Ok(OwnChanges { changes, others, made: Some(Vec::new()), ..OwnChanges::default() })
    }

    fn as_checkpoints(&self) -> Option<&dyn Checkpoints> {
        self.keeps.then_some(self)
    }

    fn as_commits(&self) -> Option<&dyn Commits> {
        Some(self)
    }

    fn as_restore(&self) -> Option<&dyn Restore> {
        self.restores.then_some(self)
    }

    fn as_git_binding(&self) -> Option<&dyn GitBinding> {
        self.binds.then_some(self)
    }
}

impl FakeFolder {
    fn committed(&self, deciding: &Deciding) -> Option<String> {
        let kept = self.kept.lock().unwrap();
        let at = kept.commits.iter().position(|made| made.patch_set == deciding.patch_set);
        at.map(|at| commit_name(at + 1))
    }
}

/// Returns the name of the n-th commit.
fn commit_name(number: usize) -> String {
    format!("{number:040x}")
}

#[async_trait]
impl Checkpoints for FakeFolder {
    async fn keep_files(&self, checkpoint: &Checkpoint) -> Result<KeptFiles, WorkspaceFault> {
        self.asked(Act::Keep, None)?;
        let tree = self.keep(self.now()).unwrap();
        let mut kept = self.kept.lock().unwrap();
        kept.checkpoints.push(checkpoint.clone());
        let files = KeptFiles {
            tree,
            commit: commit_name(kept.checkpoints.len()),
            reference: format!("refs/kept/{}", checkpoint.run),
        };
        kept.refs.insert(checkpoint.run.clone(), files.clone());
        drop(kept);
        self.due(Act::Keep, true)?;
        Ok(files)
    }
}

#[async_trait]
impl Commits for FakeFolder {
    async fn commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        assert!(!self.binds, "what is bound is only prepared");
        self.asked(Act::Commit, Some(&deciding.base))?;
        if self.versions && self.committed(deciding).is_none() {
            if matches!(self.sees, Sees::Differences) {
                let (tree, now) = (self.tree(&deciding.tree), self.now());
                let changed = differing(&self.tree(deciding.base.tree.as_ref().unwrap()), &tree);
                let stale = changed.iter().any(|path| tree.get(path) != now.get(path));
                assert!(!stale, "what is committed is in the folder");
            }
            self.kept.lock().unwrap().commits.push(deciding.clone());
        }
        self.due(Act::Commit, true)?;
        Ok(self.committed(deciding))
    }

    /// A commit that is bound does not name its patch set, so none of those is found.
    async fn find_commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        self.asked(Act::FindCommit, Some(&deciding.base))?;
        Ok(self.committed(deciding))
    }
}

#[async_trait]
impl Restore for FakeFolder {
    async fn states(
        &self,
        base: &Base,
        after: Option<&str>,
        touched: &[Touched],
        _spans: Option<&[Span]>,
        paths: &[String],
    ) -> Result<Vec<FileStates>, WorkspaceFault> {
        self.asked(Act::States, Some(base))?;
        let was = |path: &String| touched.iter().find(|touch| touch.path == *path)?.before.clone();
        let before = after.is_some().then(|| self.tree(base.tree.as_ref().unwrap()));
        let after = after.map_or_else(|| self.now(), |after| self.tree(after));
        let state = |path: &String| FileStates {
            path: path.clone(),
            before: match &before {
                Some(before) => before.get(path).map(|text| digest(text)),
                None => was(path),
            },
            after: after.get(path).map(|text| digest(text)),
            before_executable: None,
            after_executable: None,
        };
        Ok(paths.iter().map(state).collect())
    }

    async fn compare(&self, left: &Left, _: &[KeptFile]) -> Result<Comparison, WorkspaceFault> {
        self.asked(Act::Compare, Some(&left.base))?;
        Ok(self.compared(left))
    }

    async fn restore(&self, left: &Left, _: &[KeptFile], permit: &Permit) -> Result<(), WorkspaceFault> {
        self.asked(Act::Restore, Some(&left.base))?;
        if let Some(restored_by) = &self.restored_by {
            return restored_by(left.clone(), permit.clone()).await;
        }
        let fault = |message: &str| Err(WorkspaceFault { message: message.to_owned() });
        let tree = left.base.tree.as_ref().unwrap();
        if self.kept.lock().unwrap().forgotten.contains(tree) {
            return fault("nothing was put back: it is not kept");
        }
        let found = self.compared(left);
        if !found.conflicts.is_empty() {
            return fault(&found.conflicts.join("; "));
        }
        let before = self.tree(tree);
        let mut kept = self.kept.lock().unwrap();
        for file in &found.files {
            match kept.cut_after.as_mut() {
                Some(0) => {
                    kept.cut_after = None;
                    return fault("the power went out");
                }
                Some(more) => *more -= 1,
                None => {}
            }
            self.put(&file.path, before.get(&file.path));
        }
        Ok(())
    }
}
