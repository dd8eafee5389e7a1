#![doc = include_str!("../README.md")]

mod aftermath;
mod attempt;
mod choice;
mod choices;
mod command;
mod command_pattern;
mod end;
mod entry;
mod error;
mod event;
mod fingerprint;
mod gate;
mod global_options;
mod id;
mod judge;
mod path_pattern;
mod proposal;
mod queue;
mod resolution;
pub mod resolve_tool;
mod rule;
mod state;
mod words_from_elsewhere;
mod work;

pub use aftermath::Aftermath;
pub use attempt::{Start, Step};
pub use choice::{
    Choice, Directive, Forcing, Heard, Notice, Place, Plan, Policy, Reject, Reminder, Scene, TurnEnd,
    TurnUnreported, Wire,
};
pub use choices::{ChoiceQueue, InFlight};
pub use command::{Answer, Check, Offer, Ruling};
pub use command_pattern::{CommandPattern, plain_words};
pub use end::{End, EndCause};
pub use entry::{Entry, Trace};
pub use error::{QueueError, ReplayError};
pub use event::{Change, Decision, Event, Lease, Outcome, Supersession, Unanswered, Verdict, discard_text};
pub use fingerprint::{Difference, Fingerprint, Observation, SubjectState, differences, observe};
pub use gate::{FAILED_ATTEMPTS, Gate};
pub use id::{Attempt, ParseIdError, ProposalId};
pub use judge::{Fit, Judgement, On, Wanted};
pub use path_pattern::{BadPattern, PathPattern};
pub use proposal::{Actor, ActorKind, CUSTOM_TOOL, CallRef, Effect, Preview, Proposal};
pub use queue::Queue;
pub use resolution::{NOTHING_TO_DISCARD, ResolutionDetails, STORE_UNAVAILABLE, StandingHandler, Target};
pub use rule::{
    Rule, RuleChange, RuleEntry, RuleError, RuleEvent, RuleId, RuleTarget, RuleVerdict, Rules, Scope,
};
pub use state::{MOVES, Move, State, Verb};
pub use work::{Approval, Authority, NextDecision, Work, next_work};
