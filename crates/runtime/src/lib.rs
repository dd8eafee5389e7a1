#![doc = include_str!("../README.md")]

mod driver;
mod effects;
pub mod orders;
mod session;
mod world;
mod writer;

pub use driver::orders::Done;
pub use orders::{Order, Prompt, distrust};
pub use session::Session;
pub use session::agent::{Agent, AgentBuilder};
pub use session::children::{Parent, children_of};
pub use session::compaction::Compaction;
pub use session::view::View;
pub use trunkline_agent_traits as agent_traits;
pub use trunkline_agent_traits::{
    Cancel, Checkpoints, Commits, CompactionSummary, Compactor, Decider, DiscardHook, Executor, GitBinding,
    LeftBranch, Meter, PendingAction, PendingActionError, Permit, Restore, Standing, Summarizer,
    SummaryError, Tool, ToolContext, Workspace,
};
#[cfg(feature = "typed")]
pub use trunkline_agent_traits::{IntoToolOutput, Json, TypedTool, schemars};
pub use trunkline_decision_objects as decision_objects;
pub use trunkline_message_tree as message_tree;
pub use trunkline_providers as providers;
pub use trunkline_resolve_queue as resolve_queue;
pub use trunkline_revert as revert;
pub use trunkline_revert::{EffectClass, Effects};
pub use trunkline_sanitize as sanitize;
pub use trunkline_session_machine as session_machine;
pub use trunkline_session_machine::notes::family::taken_in;
pub use trunkline_session_machine::reading::across;
pub use trunkline_session_machine::reading::decided::{
    DecidedRun, DecidedRuns, FoundEvidence, GivenVerdict, OpenedRun, Unreadable, decided_runs, family,
    recorded_objects,
};
pub use trunkline_session_machine::reading::family::{
    Candidate, CandidateOf, Selected, candidates, family_of, projected_objects, selections,
};
pub use trunkline_session_machine::reading::taken_in::objects_taken_in;
pub use trunkline_session_machine::setup::Limits;
pub use trunkline_session_machine::state::task::GivenTask;
pub use trunkline_session_machine::{
    APPLY_LEASE, Access, AgentError, Approval, Asked, Attempt, Base, Binding, BindingState, Bound, Bounds,
    CallPlace, Cause, ChangedFile, Changes, Checkpoint, CloseAs, CloseRequest, Compacted, Comparison,
    Deciding, EndTask, Event, FileChange, FileStates, Finding, Gate, HookEnded, Kept, KeptFile, KeptFiles,
    Late, Left, Limit, NewTask, OnStall, OwnChanges, PlanRecord, PlanStepText, PlanText, PlanTextError,
    Prepared, Proposal, Retries, Reverts, RuntimeError, Said, Span, StepRecord, Stop, ToolOutput, Touched,
    WorkspaceFault,
};
pub use trunkline_session_store as session_store;
pub use world::model_summarizer::ModelSummarizer;
pub use writer::events::{Events, SessionEvent};
