#![doc = include_str!("../README.md")]

mod actor;
mod citations;
mod decision;
mod decisions;
mod digest;
mod events;
mod evidence;
pub mod git_internal;
mod git_oid;
mod grounds;
mod header;
mod ids;
mod invalid;
mod json;
mod label;
mod non_blank;
mod patch_set;
mod path;
mod run;
mod timestamp;
mod verdict;

pub use actor::{Actor, ActorKind};
pub use citations::{Citations, Cost, FileState};
pub use decision::{Alternative, Considered, Decision};
pub use decisions::{Admission, AlreadyDecided, Decisions, LedgerError};
pub use digest::Digest;
pub use events::{
    Artifact, ContextFrame, ContextFrameContent, FrameKind, IntentEvent, IntentEventContent, IntentEventKind,
    IntentState, RunEvent, RunEventContent, RunState, StepEvent, StepEventContent, StepState, TaskEvent,
    TaskEventContent, TaskState, ToolInvocation, ToolInvocationContent, ToolStatus, Usage, UsageContent,
};
pub use evidence::{Evidence, EvidenceKind, Finding};
pub use git_oid::GitOid;
pub use grounds::GroundsError;
pub use header::Header;
pub use ids::{
    DecisionId, EventId, EvidenceId, FrameId, IntentId, PatchSetId, PlanId, ProvenanceId, RunId, SnapshotId,
    StepId, TaskId,
};
pub use invalid::Invalid;
pub use json::{Fault, ParseError};
pub use label::Label;
pub use non_blank::NonBlank;
pub use patch_set::{Change, Diff, PatchSet, TouchedFile};
pub use path::RelativePath;
pub use run::{Base, Closed, Closing, DecideError, Open, Opening, Predecessor, Run, RunRecord, Undecided};
pub use timestamp::Timestamp;
pub use verdict::{Verdict, VerdictKind};
