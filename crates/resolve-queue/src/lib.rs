#![doc = include_str!("../README.md")]

mod command;
mod error;
mod event;
mod fingerprint;
mod id;
mod proposal;
mod queue;
pub mod resolve_tool;
mod state;

pub use command::{Answer, Check, Step};
pub use error::{QueueError, ReplayError};
pub use event::{Change, Decision, Event, Outcome, Supersession, Verdict, discard_text};
pub use fingerprint::{Difference, Fingerprint, Observation, SubjectState, differences, observe};
pub use id::{Attempt, ParseIdError, ProposalId};
pub use proposal::{Actor, ActorKind, CallRef, Effect, Preview, Proposal};
pub use queue::{Entry, Queue};
pub use state::{MOVES, Move, State, Verb};
