#![doc = include_str!("../README.md")]

mod facts;
mod json;
mod judge;
mod passes;
mod place;
mod repair;
mod rules;
mod sanitize;
mod sound;
mod violation;

pub use facts::{CallFact, Fate, RequestFacts, Thinking};
pub use judge::violations;
pub use place::Place;
pub use repair::{BlockKind, QuoteCause, Repair, RepairKind, ThinkingLoss, ThinkingOffCause};
pub use rules::{
    BlankText, Head, IdAlphabet, IdRule, IdScope, Reasoning, ResultPlace, SystemPlace, Tail, WireRules,
};
pub use sanitize::{HEAD_STUB, Sanitized, TAIL_STUB, sanitize};
pub use violation::{Violation, ViolationKind};
