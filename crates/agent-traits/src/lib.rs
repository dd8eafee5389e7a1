#![doc = include_str!("../README.md")]

mod cancel;
mod checkpoints;
mod compactor;
mod context;
mod decider;
mod discard_hook;
mod executor;
mod git;
#[cfg(feature = "typed")]
mod output;
mod pending;
mod restore;
mod standing;
mod summarizer;
mod tool;
#[cfg(feature = "typed")]
mod typed;
#[cfg(feature = "typed")]
mod typed_executor;
mod workspace;

pub use cancel::Cancel;
pub use checkpoints::Checkpoints;
pub use compactor::{CompactionSummary, Compactor};
pub use context::ToolContext;
pub use decider::Decider;
pub use discard_hook::DiscardHook;
pub use executor::Executor;
pub use git::{Commits, GitBinding};
#[cfg(feature = "typed")]
pub use output::{IntoToolOutput, Json};
pub use pending::{PendingAction, PendingActionError};
pub use restore::{Permit, Restore};
#[cfg(feature = "typed")]
pub use schemars;
pub use standing::Standing;
pub use summarizer::{LeftBranch, Meter, Summarizer, SummaryError};
pub use tool::Tool;
pub use trunkline_decision_objects as decision_objects;
pub use trunkline_message_tree as message_tree;
pub use trunkline_resolve_queue as resolve_queue;
pub use trunkline_revert::{EffectClass, Effects};
pub use trunkline_session_machine::{
    Access, Base, Binding, BindingState, Bound, CallPlace, ChangedFile, Changes, Checkpoint, Comparison,
    Deciding, FileChange, FileStates, Finding, Gate, Kept, KeptFile, KeptFiles, Left, OwnChanges, Prepared,
    Proposal, Said, Span, ToolOutput, Touched, WorkspaceFault,
};
pub use trunkline_session_store as session_store;
#[cfg(feature = "typed")]
pub use typed::{TypedTool, output_schema};
pub use workspace::Workspace;
