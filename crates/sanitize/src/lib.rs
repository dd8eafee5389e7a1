#![doc = include_str!("../README.md")]

mod account;
mod bound;
mod facts;
mod fields;
mod json;
mod judge;
mod passes;
mod place;
mod prefix;
mod repair;
mod rules;
mod sanitize;
mod sound;
mod violation;
mod wires;

pub use account::Account;
pub use facts::{CallFact, Fate, ForeignReasoning, RequestFacts, Thinking};
pub use fields::{FieldFact, FieldHolder, TakenFields};
pub use judge::violations;
pub use place::Place;
pub use prefix::{ParsePrefixError, Prefix, PrefixDigest, Prefixes};
pub use repair::{BlockKind, QuoteCause, Repair, RepairKind, ThinkingLoss, ThinkingOffCause};
pub use rules::{
    Alternate, BlankText, CallSignatures, Head, IdAlphabet, IdRule, IdScope, MediaAddresses, MediaTypes,
    NameRule, Reasoning, ResultPlace, SystemPlace, Tail, TakenMedia, WireRules,
};
pub use sanitize::{BRIDGE_STUB, HEAD_STUB, SIGNATURE_STUB, Sanitized, TAIL_STUB, sanitize};
pub use sound::{LiveCheck, LiveList};
pub use violation::{Violation, ViolationKind};
