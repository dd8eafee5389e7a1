#![doc = include_str!("../README.md")]

mod boundary;
mod mark;
mod merge;
mod merge_refusal;
mod note;
mod one_line;
mod plan;
mod record;
mod refusal;
mod render;
mod request;
mod sentences;
mod targets;
mod tool;

pub use mark::mark;
pub use merge::{Merge, MergeOutcome, MergeRecord, Sentence, merge};
pub use merge_refusal::{MergeReason, MergeRefusal};
pub use note::{Note, NoteKind};
pub use plan::{Mover, Plan, Prompts, drain, plan};
pub use record::{Outcome, Record};
pub use refusal::{Reason, Refusal};
pub use render::{NoteState, RenderPolicy, note_states, render, turn};
pub use request::{ArgumentError, CallPlace, Category, Request, requests};
pub use targets::{Target, targets};
pub use tool::{TOOL_DESCRIPTION, TOOL_LABEL, TOOL_NAME, tool_spec};
