#![doc = include_str!("../README.md")]
#![expect(
    clippy::exhaustive_enums,
    reason = "who drives a session has to do each step and answer each question: with a new one it must not compile"
)]

pub mod acts;
pub mod next;
pub mod notes;
pub mod reading;
pub mod request;
pub mod rules;
pub mod setup;
pub mod state;
pub mod words;

pub use notes::close_request::CloseRequest;
pub use notes::plan::{PlanRecord, StepRecord};
pub use trunkline_resolve_queue::Approval;
pub use words::asked::Asked;
pub use words::attempt::Attempt;
pub use words::bound::{Binding, BindingState, Bound, Prepared};
pub use words::call::{Access, CallPlace, Declared, Finding, Gate, Kept, Proposal, ToolOutput};
pub use words::checkpoint::{Checkpoint, KeptFiles};
pub use words::close_as::CloseAs;
pub use words::compacted::Compacted;
pub use words::error::{AgentError, RuntimeError};
pub use words::event::Event;
pub use words::files::{
    Base, ChangedFile, Changes, Comparison, Deciding, FileChange, FileStates, KeptFile, Left, OwnChanges,
    Span, Touched, WorkspaceFault,
};
pub use words::hook::HookEnded;
pub use words::late::Late;
pub use words::lease::{APPLY_LEASE, LEASE_MS};
pub use words::plan_text::{PlanStepText, PlanText, PlanTextError};
pub use words::retries::{Cause, Retries};
pub use words::reverts::{OnStall, Reverts};
pub use words::said::Said;
pub use words::stop::{Limit, Stop};
pub use words::task::{Bounds, EndTask, NewTask};
