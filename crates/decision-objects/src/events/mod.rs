//! What happened to the objects of the family.
//!
//! An event is written once and never changed; how an intent, a task, a run or a step stands is read off its events.
//! Which state may follow which is data ([`TaskState::MOVES`] and its likes): one event alone cannot be out of order, so
//! the order is looked at where all of them are at hand, in a [`Family`](crate::Family).

mod context_frame;
mod intent_event;
mod run_event;
mod selection;
mod states;
mod step_event;
mod task_event;
mod tool_invocation;
mod usage;

pub use context_frame::{ContextFrame, ContextFrameContent, FrameKind};
pub use intent_event::{IntentEvent, IntentEventContent, IntentEventKind, IntentState};
pub use run_event::{RunEvent, RunEventContent, RunState};
pub use selection::{Choice, Selection, SelectionContent};
pub use step_event::{StepEvent, StepEventContent, StepState};
pub use task_event::{TaskEvent, TaskEventContent, TaskState};
pub use tool_invocation::{Artifact, ToolInvocation, ToolInvocationContent, ToolStatus};
pub use usage::{Usage, UsageContent};
