//! The box: all tools for one workspace folder.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trunkline_agent_traits::Tool;

use crate::command::{RunCommand, Sandbox, room};
use crate::delete_file::DeleteFile;
use crate::edit_file::EditFile;
use crate::edit_files::EditFiles;
use crate::list_files::ListFiles;
use crate::move_file::MoveFile;
use crate::read_file::ReadFile;
use crate::root::Root;
use crate::search_text::SearchText;
use crate::staging_tool::Staging;
use crate::write_file::WriteFile;
use crate::{CommandPolicy, Declarations, declared};

/// The coding tools for one workspace folder.
#[derive(Debug)]
pub struct CodingTools {
    root: Arc<Root>,
    policy: CommandPolicy,
    sandbox: Sandbox,
}

impl CodingTools {
    /// Opens a folder for the tools, with the default policy for commands.
    ///
    /// The folder stays open: renaming it does not lead the file tools elsewhere.
    ///
    /// # Errors
    ///
    /// [`ToolsError::Root`] if the folder cannot be opened, [`ToolsError::NotAFolder`] if it is something else.
    pub fn new(root: impl AsRef<Path>) -> Result<Self, ToolsError> {
        let root = Arc::new(Root::open(root.as_ref())?);
        let policy = CommandPolicy::default();
        let sandbox = Sandbox::choose(root.path(), &policy);
        Ok(CodingTools { root, policy, sandbox })
    }

    /// Runs commands by another policy.
    #[must_use]
    pub fn commands(mut self, policy: CommandPolicy) -> Self {
        self.sandbox = Sandbox::choose(self.root.path(), &policy);
        self.policy = policy;
        self
    }

    /// Lets a test step in before each thing that a write does to the disk: it may return an error, which is taken as that
    /// of the disk, or end the process. Told what is done and to which file, such as `replace src/a.rs`.
    #[cfg(feature = "steps")]
    #[doc(hidden)]
    #[must_use]
    pub fn each_step(mut self, each: impl Fn(&str) -> io::Result<()> + Send + Sync + 'static) -> Self {
        if let Some(root) = Arc::get_mut(&mut self.root) {
            root.steps = crate::steps::Steps::told(Box::new(each));
        }
        self
    }

    /// Returns the folder, canonical.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns one line for people on what commands can write.
    pub fn sandbox_status(&self) -> String {
        self.sandbox.describe()
    }

    /// Reads which tools the folder declares in `.trunkline/tools`; `taken` are names that are taken beside those of the box.
    ///
    /// Once, at the start: what changes later counts with the next start. None of them runs before a person has trusted it, which
    /// [`TrustedTools`](crate::TrustedTools) keeps.
    pub fn declared(&self, taken: impl IntoIterator<Item = String>) -> Declarations {
        let mut names: BTreeSet<String> = taken.into_iter().collect();
        let here = CodingTools {
            root: Arc::clone(&self.root),
            policy: self.policy.clone(),
            sandbox: self.sandbox.clone(),
        };
        names.extend(here.into_tools().iter().map(|tool| tool.spec().name));
        declared::find(&self.root, &self.sandbox, &names)
    }

    /// Returns the tools: `read_file`, `list_files`, `search_text`, `edit_file`, `edit_files`,
    /// `write_file`, `move_file`, `delete_file`, `run_command`, and with a feature of a language `ast_edit`.
    ///
    /// `edit_files` stages edits of several files as one proposal, which is written as a whole or not at all, or the part
    /// of it that was approved: at most 100 edits of 64 files, and 10 MB of old and of new text.
    pub fn into_tools(self) -> Vec<Box<dyn Tool>> {
        let root = || Arc::clone(&self.root);
        let tools: Vec<Box<dyn Tool>> = vec![
            Box::new(ReadFile { root: root() }),
            Box::new(ListFiles { root: root() }),
            Box::new(SearchText { root: root() }),
            Box::new(Staging::<EditFile>::new(root())),
            Box::new(Staging::<EditFiles>::new(root())),
            Box::new(Staging::<WriteFile>::new(root())),
            Box::new(Staging::<MoveFile>::new(root())),
            Box::new(Staging::<DeleteFile>::new(root())),
            Box::new(RunCommand {
                root: root(),
                policy: self.policy.clone(),
                sandbox: self.sandbox.clone(),
                room: room(),
            }),
        ];
        #[cfg(feature = "ast-edit")]
        let structural = crate::ast_edit::AstEdit::speaks()
            .then(|| Box::new(Staging::<crate::ast_edit::AstEdit>::new(root())) as Box<dyn Tool>);
        #[cfg(feature = "ast-edit")]
        let tools = tools.into_iter().chain(structural).collect();
        tools
    }
}

/// Why the tools cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolsError {
    /// The folder cannot be opened.
    #[error("cannot open the workspace folder {}", path.display())]
    Root {
        /// As it was given.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is not a folder.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// What was found there.
        path: PathBuf,
    },
    /// It is the folder in which a project keeps its tools, or lies in it.
    #[error("{} lies in .trunkline, where a project keeps what later runs go by; work in the project's folder", path.display())]
    InDeclarations {
        /// The folder.
        path: PathBuf,
    },
}
