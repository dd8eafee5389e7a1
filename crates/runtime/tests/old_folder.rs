//! A folder with a repository that can be written down, and tools that work on it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use trunkline_runtime::decision_objects::Digest;
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::resolve_queue::{Effect, Entry, Fingerprint, Outcome, Preview};
use trunkline_runtime::{
    Access, Base, Binding, BindingState, Bound, ChangedFile, Changes, Commits, Comparison, Deciding,
    Executor, FileChange, FileStates, Finding, Gate, GitBinding, Kept, KeptFile, Left, Permit, Prepared,
    Proposal, Restore, Span, Tool, ToolContext, ToolOutput, Touched, Workspace, WorkspaceFault,
};

use crate::old_rare::hang;

/// The folder and the repository, and what was done to them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Disk {
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) done: Vec<String>,
    trees: Vec<BTreeMap<String, String>>,
    commits: Vec<Commit>,
    tip: Option<String>,
    /// The decision of each run that is bound.
    refs: BTreeMap<String, String>,
    /// How often the service has failed.
    pub(crate) failed: u32,
    /// How much later it is than clocks that begin anew say, in milliseconds.
    #[serde(default, skip_serializing_if = "is_none")]
    pub(crate) late: u64,
    /// Where the next apply hangs, if anywhere: see `old_rare`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) hangs: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde asks for")]
fn is_none(number: &u64) -> bool {
    *number == 0
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Commit {
    name: String,
    parent: Option<String>,
    patch_set: String,
}

impl Disk {
    pub(crate) fn with(path: &str, text: String) -> Self {
        Disk { files: [(path.to_owned(), text)].into(), ..Disk::default() }
    }

    /// Says how everything is, on some lines.
    pub(crate) fn told(&self) -> String {
        let short = |text: &String| text.lines().next().unwrap_or_default().to_owned();
        let files = self.files.iter().map(|(path, text)| format!(" {path}={}", short(text)));
        let files: String = files.collect();
        let committed = self.line().len();
        format!(
            "files{files}\ndone {}\n{committed} committed, {} bound\n",
            self.done.join(", "),
            self.refs.len()
        )
    }

    fn line(&self) -> Vec<&Commit> {
        let of =
            |name: &Option<String>| self.commits.iter().find(|commit| Some(&commit.name) == name.as_ref());
        std::iter::successors(of(&self.tip), |commit| of(&commit.parent)).collect()
    }

    fn snapshot(&mut self) -> String {
        let place = self.trees.iter().position(|tree| *tree == self.files).unwrap_or_else(|| {
            self.trees.push(self.files.clone());
            self.trees.len() - 1
        });
        format!("{place:040x}")
    }

    fn tree(&self, name: &str) -> BTreeMap<String, String> {
        self.trees[usize::from_str_radix(name, 16).unwrap()].clone()
    }

    fn fingerprint(&self, path: &str) -> Fingerprint {
        match self.files.get(path) {
            Some(text) => Fingerprint::digest(path, text),
            None => Fingerprint::absent(path),
        }
    }

    pub(crate) fn put(&mut self, path: &str, text: Option<&str>) {
        match text {
            Some(text) => self.files.insert(path.to_owned(), text.to_owned()),
            None => self.files.remove(path),
        };
    }

    fn state(&self, binding: &Binding) -> BindingState {
        let run: Value = serde_json::from_str(&binding.run).unwrap();
        let held = self.refs.get(run["id"].as_str().unwrap());
        match (held, &binding.prepared) {
            (Some(held), _) if *held != binding.decision => {
                BindingState::OtherDecision { first: "another".to_owned() }
            }
            (held, None) => {
                if held.is_some() {
                    BindingState::Both
                } else {
                    BindingState::Neither
                }
            }
            (held, Some(prepared)) => {
                let moved = self.line().iter().any(|commit| commit.name == prepared.commit);
                match (held.is_some(), moved, self.tip == prepared.from) {
                    (true, true, _) => BindingState::Both,
                    (true, false, _) => BindingState::RefOnly,
                    (false, true, _) => BindingState::BranchOnly,
                    (false, false, true) => BindingState::Neither,
                    (false, false, false) => BindingState::Elsewhere,
                }
            }
        }
    }
}

#[derive(Clone)]
pub(crate) struct Folder(pub(crate) Arc<Mutex<Disk>>);

impl Folder {
    fn did(&self, what: String) {
        self.0.lock().unwrap().done.push(what);
    }
}

fn digest(text: &str) -> String {
    format!("sha256:{}", Digest::of(text.as_bytes()))
}

#[async_trait]
impl Workspace for Folder {
    async fn base(&self) -> Result<Base, WorkspaceFault> {
        let mut disk = self.0.lock().unwrap();
        Ok(Base { commit: disk.tip.clone(), tree: Some(disk.snapshot()) })
    }

    async fn look(&self) -> Result<Option<Base>, WorkspaceFault> {
        self.base().await.map(Some)
    }

    async fn changes(&self, base: &Base, _: &[Touched]) -> Result<Changes, WorkspaceFault> {
        let mut disk = self.0.lock().unwrap();
        let before = disk.tree(base.tree.as_ref().unwrap());
        let mut paths: Vec<String> = before.keys().chain(disk.files.keys()).cloned().collect();
        paths.sort();
        paths.dedup();
        paths.retain(|path| before.get(path) != disk.files.get(path));
        let files = paths.into_iter().map(|path| ChangedFile {
            change: match (before.get(&path), disk.files.get(&path)) {
                (None, _) => FileChange::Added,
                (_, None) => FileChange::Deleted,
                _ => FileChange::Modified,
            },
            path,
            added: None,
            deleted: None,
        });
        let files = files.collect();
        Ok(Changes { files, diff: String::new(), tree: Some(disk.snapshot()) })
    }

    fn as_commits(&self) -> Option<&dyn Commits> {
        Some(self)
    }

    fn as_git_binding(&self) -> Option<&dyn GitBinding> {
        Some(self)
    }

    fn as_restore(&self) -> Option<&dyn Restore> {
        Some(self)
    }
}

#[async_trait]
impl Commits for Folder {
    async fn commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        let prepared = self.write_commit(deciding).await?;
        self.0.lock().unwrap().tip = prepared.as_ref().map(|prepared| prepared.commit.clone());
        Ok(prepared.map(|prepared| prepared.commit))
    }

    async fn find_commit(&self, deciding: &Deciding) -> Result<Option<String>, WorkspaceFault> {
        let disk = self.0.lock().unwrap();
        let made = disk.line().into_iter().find(|commit| commit.patch_set == deciding.patch_set);
        Ok(made.map(|commit| commit.name.clone()))
    }
}

#[async_trait]
impl GitBinding for Folder {
    async fn write_commit(&self, deciding: &Deciding) -> Result<Option<Prepared>, WorkspaceFault> {
        let found = self.find_commit(deciding).await?;
        let mut disk = self.0.lock().unwrap();
        let from = disk.tip.clone();
        let commit = found.unwrap_or_else(|| {
            let text = format!("{} {} {from:?}", deciding.patch_set, deciding.at);
            let name = Digest::of(text.as_bytes()).to_string()[..40].to_owned();
            let (parent, patch_set) = (from.clone(), deciding.patch_set.clone());
            if disk.commits.iter().all(|commit| commit.name != name) {
                disk.commits.push(Commit { name: name.clone(), parent, patch_set });
            }
            name
        });
        Ok(Some(Prepared { commit, branch: Some("refs/heads/main".to_owned()), from }))
    }

    async fn bind(&self, binding: &Binding) -> Result<Bound, WorkspaceFault> {
        let mut disk = self.0.lock().unwrap();
        match disk.state(binding) {
            BindingState::OtherDecision { first } => return Ok(Bound::OtherDecision { first }),
            BindingState::Elsewhere => return Ok(Bound::Overtaken { why: "it was moved".to_owned() }),
            BindingState::Neither => {
                if let Some(prepared) = &binding.prepared {
                    disk.tip = Some(prepared.commit.clone());
                }
            }
            _ => {}
        }
        let run: Value = serde_json::from_str(&binding.run).unwrap();
        disk.refs.insert(run["id"].as_str().unwrap().to_owned(), binding.decision.clone());
        Ok(Bound::Done { reference: "a ref".to_owned() })
    }

    async fn bound(&self, binding: &Binding) -> Result<BindingState, WorkspaceFault> {
        Ok(self.0.lock().unwrap().state(binding))
    }
}

#[async_trait]
impl Restore for Folder {
    async fn states(
        &self,
        base: &Base,
        after: Option<&str>,
        _: &[Touched],
        _: Option<&[Span]>,
        paths: &[String],
    ) -> Result<Vec<FileStates>, WorkspaceFault> {
        let disk = self.0.lock().unwrap();
        let before = disk.tree(base.tree.as_ref().unwrap());
        let after = after.map_or_else(|| disk.files.clone(), |after| disk.tree(after));
        let state = |path: &String| FileStates {
            path: path.clone(),
            before: before.get(path).map(|text| digest(text)),
            after: after.get(path).map(|text| digest(text)),
            before_executable: None,
            after_executable: None,
        };
        Ok(paths.iter().map(state).collect())
    }

    async fn compare(&self, left: &Left, _: &[KeptFile]) -> Result<Comparison, WorkspaceFault> {
        let disk = self.0.lock().unwrap();
        let mut found = Comparison::default();
        for file in &left.files {
            let now = disk.files.get(&file.path).map(|text| digest(text));
            if now == file.before {
                continue;
            }
            if now != file.after {
                found.conflicts.push(format!("{} has been changed since", file.path));
                continue;
            }
            let change = FileChange::Modified;
            found.files.push(ChangedFile { path: file.path.clone(), change, added: None, deleted: None });
        }
        Ok(found)
    }

    async fn restore(&self, left: &Left, kept: &[KeptFile], _: &Permit) -> Result<(), WorkspaceFault> {
        let found = self.compare(left, kept).await?;
        if !found.conflicts.is_empty() {
            return Err(WorkspaceFault { message: found.conflicts.join("; ") });
        }
        let mut disk = self.0.lock().unwrap();
        let before = disk.tree(left.base.tree.as_ref().unwrap());
        for file in &found.files {
            disk.put(&file.path, before.get(&file.path).map(String::as_str));
            disk.done.push(format!("put back {}", file.path));
        }
        Ok(())
    }
}

/// The tools `read`, `edit` and `sh`.
pub(crate) struct Named {
    pub(crate) name: &'static str,
    pub(crate) folder: Folder,
}

#[async_trait]
impl Tool for Named {
    fn spec(&self) -> ToolSpec {
        let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        ToolSpec::new(self.name, "a test", schema)
    }

    fn access(&self) -> Access {
        match self.name {
            "read" => Access::ReadOnly,
            "edit" => Access::Proposes,
            _ => Access::Exclusive,
        }
    }

    fn gate(&self, arguments: &Map<String, Value>) -> Option<Gate> {
        let path = arguments.get("path")?.as_str()?;
        (self.name == "sh").then(|| Gate::new(format!("run {path}"), path).of_command(path))
    }

    async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let path = text("path");
        match self.name {
            "read" => match self.folder.0.lock().unwrap().files.get(&path) {
                Some(content) => ToolOutput::text(content.clone()),
                None => ToolOutput::error(format!("no file {path}")),
            },
            "edit" => {
                let payload = json!({ "path": path, "text": text("text") });
                let mut proposal = Proposal::new(format!("edit {path}"), "edit", payload);
                proposal.fingerprints = vec![self.folder.0.lock().unwrap().fingerprint(&path)];
                proposal.after = vec![Fingerprint::digest(&path, text("text"))];
                proposal.effect = Effect::Reversible;
                let mut output = ToolOutput::text("a preview");
                output.proposals.push(proposal);
                output
            }
            _ => {
                self.folder.did(format!("ran {path}"));
                let mut output = ToolOutput::text("ok");
                output.finding = Some(Finding {
                    kind: "test".to_owned(),
                    command: path,
                    exit_code: Some(0),
                    summary: "all passed".to_owned(),
                    output: Some("5e".repeat(32)),
                });
                output
            }
        }
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl Executor for Named {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let disk = self.folder.0.lock().unwrap();
        subjects.iter().map(|path| disk.fingerprint(path)).collect()
    }

    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        let disk = self.folder.0.lock().unwrap();
        let kept = entry.part().map(|path| Kept {
            fingerprint: disk.fingerprint(path),
            bytes: disk.files.get(path).map(|text| text.clone().into_bytes()),
        });
        kept.collect()
    }

    async fn apply(&self, entry: &Entry<Value>, _: &ToolContext) -> (Outcome, ToolOutput) {
        let path = entry.proposal.payload["path"].as_str().unwrap();
        hang(&self.folder, "before").await;
        self.folder.0.lock().unwrap().put(path, entry.proposal.payload["text"].as_str());
        self.folder.did(format!("wrote {path}"));
        hang(&self.folder, "after").await;
        (Outcome::Applied, ToolOutput::text("Written."))
    }

    async fn put_back(&self, _: &Entry<Value>, kept: &[Kept]) -> Outcome {
        for kept in kept {
            let text = kept.bytes.clone().map(|bytes| String::from_utf8(bytes).unwrap());
            self.folder.0.lock().unwrap().put(&kept.fingerprint.subject, text.as_deref());
            self.folder.did(format!("put back {}", kept.fingerprint.subject));
        }
        Outcome::Applied
    }

    async fn undo(&self, _: &Entry<Value>, kept: &[Kept]) -> Option<(Value, Preview)> {
        let kept = kept.first()?;
        let text = kept.bytes.clone().map(|bytes| String::from_utf8(bytes).unwrap());
        let preview = Preview { text: format!("back to {text:?}"), diff: None };
        Some((json!({ "path": kept.fingerprint.subject, "text": text }), preview))
    }
}
