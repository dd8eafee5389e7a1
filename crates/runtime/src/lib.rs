#![doc = include_str!("../README.md")]

#[cfg(any(feature = "resolve-queue", feature = "decision-objects"))]
pub mod across;
mod agent;
#[cfg(feature = "resolve-queue")]
mod applying;
mod asking_again;
#[cfg(feature = "revert")]
mod asking_beside;
mod attempts;
#[cfg_attr(not(feature = "decision-objects"), path = "binding_absent.rs")]
mod binding;
#[cfg(feature = "decision-objects")]
mod bound;
mod calls;
mod cancel;
mod catalogue;
#[cfg_attr(not(feature = "resolve-queue"), path = "choices_absent.rs")]
mod choices;
#[cfg(feature = "decision-objects")]
mod citing;
#[cfg_attr(not(feature = "decision-objects"), path = "closing_absent.rs")]
mod closing;
#[cfg(feature = "decision-objects")]
mod commit_message;
#[cfg(feature = "revert")]
mod compaction;
mod contained;
#[cfg(feature = "decision-objects")]
mod decided;
#[cfg(feature = "resolve-queue")]
mod deciding;
mod driver;
mod error;
mod event;
#[cfg(feature = "resolve-queue")]
mod expiring;
mod journal;
mod late;
mod layers;
pub mod letters;
#[cfg(feature = "decision-objects")]
mod looking;
mod moves;
#[cfg(all(feature = "revert", feature = "resolve-queue", feature = "decision-objects"))]
mod opening;
mod outlining;
#[cfg(feature = "decision-objects")]
mod own_changes;
mod pending;
#[cfg(feature = "decision-objects")]
mod permit;
mod prefixes;
mod prompt;
#[cfg_attr(not(feature = "resolve-queue"), path = "proposals_absent.rs")]
mod proposals;
mod rare;
#[cfg(feature = "resolve-queue")]
mod recovering;
mod rendering;
#[cfg(feature = "resolve-queue")]
mod resolving;
#[cfg(feature = "decision-objects")]
mod restoring;
mod retries;
#[cfg(feature = "revert")]
mod reverts;
#[cfg(feature = "decision-objects")]
mod rolling_back;
mod session;
mod shelf;
#[cfg(all(feature = "revert", feature = "resolve-queue", feature = "decision-objects"))]
mod spine;
#[cfg(feature = "resolve-queue")]
mod staging;
#[cfg_attr(not(feature = "revert"), path = "stalls_absent.rs")]
mod stalls;
mod state;
#[cfg(feature = "revert")]
mod summaries;
#[cfg(any(feature = "resolve-queue", feature = "decision-objects"))]
mod tenure;
mod tool;
#[cfg(all(feature = "revert", feature = "resolve-queue", feature = "decision-objects"))]
mod trimming;
mod turn;
#[cfg(feature = "resolve-queue")]
mod undoing;
mod view;
mod wants;
#[cfg(feature = "decision-objects")]
mod workspace;

pub use agent::{Agent, AgentBuilder, Limits};
pub use attempts::Attempt;
#[cfg(feature = "decision-objects")]
pub use bound::{Binding, BindingState, Bound, Prepared};
pub use cancel::Cancel;
#[cfg(feature = "resolve-queue")]
pub use choices::Standing;
#[cfg(feature = "decision-objects")]
pub use closing::CloseAs;
#[cfg(feature = "revert")]
pub use compaction::{Compacted, Compaction, CompactionSummary, Compactor};
#[cfg(feature = "decision-objects")]
pub use decided::{
    DecidedRun, DecidedRuns, FoundEvidence, GivenVerdict, OpenedRun, Unreadable, decided_runs, family,
    recorded_objects,
};
pub use error::{AgentError, RuntimeError};
pub use event::Event;
pub use late::Late;
#[cfg(feature = "resolve-queue")]
pub use layers::resolve::Approval;
pub use pending::{PendingAction, PendingActionError};
#[cfg(feature = "decision-objects")]
pub use permit::Permit;
#[cfg(feature = "resolve-queue")]
pub use proposals::{Decider, Said, distrust};
pub use retries::{Cause, Retries};
#[cfg(feature = "revert")]
pub use reverts::{OnStall, Reverts};
pub use session::{Limit, Session, Stop};
#[cfg(feature = "revert")]
pub use summaries::{LeftBranch, ModelSummarizer, Summarizer, SummaryError};
#[cfg(any(feature = "resolve-queue", feature = "decision-objects"))]
pub use tenure::APPLY_LEASE;
#[cfg(feature = "decision-objects")]
pub use tool::Finding;
pub use tool::{Access, CallPlace, Tool, ToolContext, ToolOutput};
#[cfg(feature = "resolve-queue")]
pub use tool::{Gate, Kept, Proposal};
#[cfg(feature = "decision-objects")]
pub use trunkline_decision_objects as decision_objects;
pub use trunkline_message_tree as message_tree;
pub use trunkline_providers as providers;
#[cfg(feature = "resolve-queue")]
pub use trunkline_resolve_queue as resolve_queue;
#[cfg(feature = "revert")]
pub use trunkline_revert as revert;
#[cfg(feature = "revert")]
pub use trunkline_revert::{EffectClass, Effects};
pub use trunkline_sanitize as sanitize;
pub use trunkline_session_store as session_store;
pub use view::View;
pub use wants::Asked;
#[cfg(feature = "decision-objects")]
pub use workspace::{
    Base, ChangedFile, Changes, Comparison, Deciding, FileChange, FileStates, KeptFile, Left, OwnChanges,
    Span, Touched, Workspace, WorkspaceFault,
};
