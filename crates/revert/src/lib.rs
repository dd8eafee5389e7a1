#![doc = include_str!("../README.md")]

mod boundary;
mod digest;
mod mark;
mod note;
mod observation;
mod one_line;
mod plan;
mod proposal;
mod record;
mod refusal;
mod render;
mod request;
mod stall;
mod targets;
mod tool;

pub use digest::Digest;
pub use mark::mark;
pub use note::{Note, NoteKind};
pub use observation::{Observation, Seen, StallEvent, Tests};
pub use plan::{Mover, Plan, Prompts, drain, plan};
pub use proposal::{Answer, Proposal, ProposalError, ProposalEvent, ProposalId, Proposals};
pub use record::{Outcome, Record};
pub use refusal::{Reason, Refusal};
pub use render::{NoteState, RenderPolicy, note_states, render, turn};
pub use request::{ArgumentError, CallPlace, Category, Request, requests};
pub use stall::{Stall, StallPolicy, Watch, Why};
pub use targets::{Target, targets};
pub use tool::{TOOL_DESCRIPTION, TOOL_LABEL, TOOL_NAME, tool_spec};
