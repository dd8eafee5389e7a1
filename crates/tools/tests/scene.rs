//! A workspace folder with the tools on it.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tempfile::TempDir;
use trunkline_agent_traits::message_tree::{NodeId, Part};
use trunkline_agent_traits::resolve_queue::{Entry, Fingerprint, Outcome};
use trunkline_agent_traits::{CallPlace, Cancel, Gate, Kept, Proposal, Tool, ToolContext, ToolOutput};
use trunkline_tools::{CodingTools, CommandPolicy};

/// A workspace in a temporary folder, and a place beside it that is outside.
pub(crate) struct Scene {
    home: TempDir,
    tools: Vec<Box<dyn Tool>>,
}

impl Scene {
    pub(crate) fn new() -> Self {
        Scene::with(CommandPolicy::default())
    }

    pub(crate) fn with(policy: CommandPolicy) -> Self {
        Scene::of(|tools| tools.commands(policy))
    }

    /// A workspace whose writes are watched, or disturbed, step by step.
    #[cfg(feature = "steps")]
    pub(crate) fn stepping(each: impl Fn(&str) -> std::io::Result<()> + Send + Sync + 'static) -> Self {
        Scene::of(|tools| tools.each_step(each))
    }

    fn of(made: impl FnOnce(CodingTools) -> CodingTools) -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("folder");
        fs::create_dir(&root).unwrap();
        let tools = made(CodingTools::new(&root).unwrap()).into_tools();
        Scene { home, tools }
    }

    /// The workspace folder.
    pub(crate) fn root(&self) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join("folder")
    }

    /// A path outside the workspace.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        fs::canonicalize(self.home.path()).unwrap().join(name)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.root().join(path)).ok()
    }

    pub(crate) fn tool(&self, name: &str) -> &dyn Tool {
        self.tools.iter().find(|tool| tool.spec().name == name).unwrap().as_ref()
    }

    pub(crate) fn call(&self, name: &str, arguments: Value) -> ToolOutput {
        self.call_until(name, arguments, &Cancel::new())
    }

    pub(crate) fn call_until(&self, name: &str, arguments: Value, cancel: &Cancel) -> ToolOutput {
        block_on(self.tool(name).run(object(arguments), &context(cancel)))
    }

    /// What a call says, with the temporary folder's name taken out.
    pub(crate) fn said(&self, name: &str, arguments: Value) -> String {
        self.words(&self.call(name, arguments))
    }

    pub(crate) fn words(&self, output: &ToolOutput) -> String {
        let said: String = output.content.iter().map(text).collect();
        let home = fs::canonicalize(self.home.path()).unwrap();
        let said = said.replace(&home.display().to_string(), "");
        if output.is_error { format!("error: {said}\n") } else { said }
    }

    /// Stages one proposal.
    pub(crate) fn stage(&self, name: &str, arguments: Value) -> Proposal {
        let output = self.call(name, arguments);
        assert_eq!(output.proposals.len(), 1, "{output:?}");
        output.proposals.into_iter().next().unwrap()
    }

    pub(crate) fn apply(&self, proposal: &Proposal) -> String {
        let tool = self.tool(&proposal.source_tool);
        let (outcome, output) = block_on(
            tool.as_executor().unwrap().apply(&Entry::in_attempt(proposal.clone()), &context(&Cancel::new())),
        );
        assert_eq!(outcome == Outcome::Applied, !output.is_error);
        self.words(&output)
    }

    /// Applies an entry; a part of it, if that is what was approved.
    pub(crate) fn apply_entry(&self, entry: &Entry<Value>) -> Outcome {
        let tool = self.tool(&entry.proposal.source_tool);
        let (outcome, output) = block_on(tool.as_executor().unwrap().apply(entry, &context(&Cancel::new())));
        assert_eq!(outcome == Outcome::Applied, !output.is_error);
        outcome
    }

    pub(crate) fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        block_on(self.tool(&entry.proposal.source_tool).as_executor().unwrap().keep(entry))
    }

    pub(crate) fn put_back(&self, entry: &Entry<Value>, kept: &[Kept]) -> Outcome {
        block_on(self.tool(&entry.proposal.source_tool).as_executor().unwrap().put_back(entry, kept))
    }

    /// The proposal that takes back what an entry did, as a queue would make it.
    pub(crate) fn undo(&self, entry: &Entry<Value>, kept: &[Kept]) -> Option<Proposal> {
        let (payload, preview) =
            block_on(self.tool(&entry.proposal.source_tool).as_executor().unwrap().undo(entry, kept))?;
        let label = format!("undo p1: {}", entry.proposal.label);
        let mut undo = Proposal::new(label, &entry.proposal.source_tool, payload);
        let part: Vec<&str> = entry.part().collect();
        let after = entry.proposal.after.iter().filter(|one| part.contains(&one.subject.as_str()));
        undo.fingerprints = after.cloned().collect();
        undo.after = kept.iter().map(|kept| kept.fingerprint.clone()).collect();
        undo.preview = preview;
        undo.divisible = entry.proposal.divisible;
        Some(undo)
    }

    /// Every file in the workspace with its bytes and mode, temporary ones too, and every folder with its mode.
    pub(crate) fn files(&self) -> BTreeMap<String, (Vec<u8>, u32)> {
        let mut files = BTreeMap::new();
        collect(&self.root(), "", &mut files);
        files
    }

    /// As [`Scene::files`], without what links lead to.
    pub(crate) fn files_but_links(&self) -> BTreeMap<String, (Vec<u8>, u32)> {
        let mut files = self.files();
        files.retain(|path, _| !self.root().join(path).is_symlink());
        files
    }

    pub(crate) fn observe(&self, subject: &str) -> Vec<Fingerprint> {
        block_on(self.tool("edit_file").as_executor().unwrap().observe(&[subject.to_owned()]))
    }

    pub(crate) fn gate(&self, arguments: Value) -> Gate {
        self.tool("run_command").gate(&object(arguments)).unwrap()
    }
}

fn collect(folder: &Path, inside: &str, files: &mut BTreeMap<String, (Vec<u8>, u32)>) {
    for name in names(folder) {
        let (path, below) = (folder.join(&name), format!("{inside}{name}"));
        let found = fs::symlink_metadata(&path).unwrap();
        if found.is_dir() {
            collect(&path, &format!("{below}/"), files);
            files.insert(format!("{below}/"), (Vec::new(), found.permissions().mode() & 0o7777));
        } else {
            files.insert(below, (fs::read(&path).unwrap_or_default(), found.permissions().mode() & 0o7777));
        }
    }
}

/// The entry of a proposal of which only some was approved.
pub(crate) fn part_of(proposal: Proposal, only: &[&str]) -> Entry<Value> {
    let mut entry = Entry::in_attempt(proposal);
    let left: Vec<String> = entry.part().filter(|path| !only.contains(path)).map(String::from).collect();
    entry.left_out.extend(left);
    entry
}

pub(crate) fn object(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

pub(crate) fn context(cancel: &Cancel) -> ToolContext {
    let call = CallPlace { node: NodeId::ROOT, index: 0, id: "c1".to_owned() };
    ToolContext::new(cancel.clone(), call)
}

pub(crate) fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn text(part: &Part) -> String {
    match part {
        Part::Text { text } => text.clone(),
        other => panic!("not text: {other:?}"),
    }
}

/// Draws a border around each line: white space at either end is eaten by editors, tidy tools and expectations.
pub(crate) fn framed(text: &str) -> String {
    text.lines().map(|line| format!("|{line}|\n")).collect()
}
