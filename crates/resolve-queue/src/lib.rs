#![doc = include_str!("../README.md")]

mod attempt;
mod command;
mod entry;
mod error;
mod event;
mod fingerprint;
mod id;
mod proposal;
mod queue;
pub mod resolve_tool;
mod state;

pub use attempt::{Start, Step};
pub use command::{Answer, Check, Offer, Ruling};
pub use entry::Entry;
pub use error::{QueueError, ReplayError};
pub use event::{Change, Decision, Event, Lease, Outcome, Supersession, Unanswered, Verdict, discard_text};
pub use fingerprint::{Difference, Fingerprint, Observation, SubjectState, differences, observe};
pub use id::{Attempt, ParseIdError, ProposalId};
pub use proposal::{Actor, ActorKind, CUSTOM_TOOL, CallRef, Effect, Preview, Proposal};
pub use queue::Queue;
pub use state::{MOVES, Move, State, Verb};
