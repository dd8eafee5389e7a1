//! The box: all tools for one workspace folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trunkline_runtime::Tool;

use crate::CommandPolicy;
use crate::command::{RunCommand, Sandbox};
use crate::edit_file::EditFile;
use crate::list_files::ListFiles;
use crate::read_file::ReadFile;
use crate::root::Root;
use crate::search_text::SearchText;
use crate::write_file::WriteFile;

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

    /// Returns the folder, canonical.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Returns one line for people on what commands can write.
    pub fn sandbox_status(&self) -> String {
        self.sandbox.describe()
    }

    /// Returns the tools: `read_file`, `list_files`, `search_text`, `edit_file`, `write_file`, `run_command`.
    pub fn into_tools(self) -> Vec<Box<dyn Tool>> {
        let root = || Arc::clone(&self.root);
        vec![
            Box::new(ReadFile { root: root() }),
            Box::new(ListFiles { root: root() }),
            Box::new(SearchText { root: root() }),
            Box::new(EditFile { root: root() }),
            Box::new(WriteFile { root: root() }),
            Box::new(RunCommand { root: root(), policy: self.policy.clone(), sandbox: self.sandbox.clone() }),
        ]
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
}
