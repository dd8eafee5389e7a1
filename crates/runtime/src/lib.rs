#![doc = include_str!("../README.md")]

mod agent;
mod applying;
mod asking_again;
mod asking_beside;
mod binding;
mod calls;
mod cancel;
mod choices;
mod closing;
mod compaction;
mod contained;
mod deciding;
mod driver;
mod expiring;
mod late;
pub mod letters;
mod looking;
mod moves;
mod opening;
mod outlining;
mod pending;
mod performing;
mod permit;
mod proposals;
mod recovering;
mod resolving;
mod restoring;
mod rolling_back;
mod schema;
mod session;
mod shelf;
mod stalls;
mod summaries;
mod tenure;
mod tool;
mod undoing;
mod view;
mod wants;
mod workspace;

pub use agent::{Agent, AgentBuilder, Limits};
pub use cancel::Cancel;
pub use choices::Standing;
pub use compaction::{Compaction, CompactionSummary, Compactor};
pub use pending::{PendingAction, PendingActionError};
pub use permit::Permit;
pub use proposals::{Decider, distrust};
pub use session::{Limit, Session, Stop};
pub use summaries::{LeftBranch, ModelSummarizer, Summarizer, SummaryError};
pub use tool::{Tool, ToolContext};
pub use trunkline_decision_objects as decision_objects;
pub use trunkline_message_tree as message_tree;
pub use trunkline_providers as providers;
pub use trunkline_resolve_queue as resolve_queue;
pub use trunkline_revert as revert;
pub use trunkline_revert::{EffectClass, Effects};
pub use trunkline_sanitize as sanitize;
pub use trunkline_session_machine as session_machine;
pub use trunkline_session_machine::across;
pub use trunkline_session_machine::decided::{
    DecidedRun, DecidedRuns, FoundEvidence, GivenVerdict, OpenedRun, Unreadable, decided_runs, family,
    recorded_objects,
};
pub use trunkline_session_machine::{
    APPLY_LEASE, Access, AgentError, Approval, Asked, Attempt, Base, Binding, BindingState, Bound, CallPlace,
    Cause, ChangedFile, Changes, CloseAs, Compacted, Comparison, Deciding, Event, FileChange, FileStates,
    Finding, Gate, Kept, KeptFile, Late, Left, OnStall, OwnChanges, Prepared, Proposal, Retries, Reverts,
    RuntimeError, Said, Span, ToolOutput, Touched, WorkspaceFault,
};
pub use trunkline_session_store as session_store;
pub use view::View;
pub use workspace::Workspace;
