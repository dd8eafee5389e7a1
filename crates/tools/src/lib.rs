#![doc = include_str!("../README.md")]

#[cfg(not(unix))]
compile_error!("trunkline-tools needs a Unix system: it works with open folders and process groups");

#[cfg(feature = "ast-edit")]
mod ast_edit;
mod call;
mod coding_tools;
mod command;
mod declared;
mod delete_file;
mod diff;
mod edit_file;
mod edit_files;
mod fingerprint;
mod folder;
mod git;
mod hidden;
mod line_ends;
mod list_files;
mod move_file;
mod payload;
mod picture;
mod preimage;
mod read_file;
mod replace;
mod replacement;
mod restoring;
mod root;
mod search_text;
mod shown;
mod stage;
mod staging_tool;
mod steps;
mod walk;
mod write_file;

pub use coding_tools::{CodingTools, ToolsError};
pub use command::CommandPolicy;
pub use declared::{Declarations, DeclaredTool, Refused, Trust, TrustError, TrustedTools};
pub use folder::FolderWorkspace;
pub use git::{GitWorkspace, workspace_for};
pub use hidden::{replaced, spelled};
