#![doc = include_str!("../README.md")]

mod actor;
mod checkpoint;
mod citations;
mod consequences;
mod decision;
mod decisions;
mod digest;
mod events;
mod evidence;
mod family;
pub mod git_internal;
mod git_oid;
mod grounds;
mod header;
mod ids;
mod intent;
mod invalid;
mod json;
mod json_text;
mod label;
mod non_blank;
mod object;
mod patch_set;
mod path;
mod plan;
mod provenance;
mod run;
mod salvaged;
mod sealed;
mod snapshot;
mod task;
mod timestamp;
mod verdict;
mod vocabulary;

pub use actor::{Actor, ActorKind};
pub use checkpoint::{CheckpointFiles, CheckpointState};
pub use citations::{Citations, Cost, FileState};
pub use consequences::{Consequences, IntentEnd};
pub use decision::{Alternative, Considered, Decision};
pub use decisions::{Admission, AlreadyDecided, Decisions, LedgerError};
pub use digest::Digest;
pub use events::{
    Artifact, Choice, ContextFrame, ContextFrameContent, FrameKind, IntentEvent, IntentEventContent,
    IntentEventKind, IntentState, RunEvent, RunEventContent, RunState, Selection, SelectionContent,
    StepEvent, StepEventContent, StepState, TaskEvent, TaskEventContent, TaskState, ToolInvocation,
    ToolInvocationContent, ToolStatus, Usage, UsageContent,
};
pub use evidence::{Evidence, EvidenceKind, Finding};
pub use family::{
    Added, Family, IntentStanding, PlanStanding, PlanState, Relation, Rule, RunStanding, Standing,
    StepStanding, TaskStanding, Violation,
};
pub use git_oid::GitOid;
pub use grounds::GroundsError;
pub use header::Header;
pub use ids::{
    DecisionId, EventId, EvidenceId, FrameId, IntentId, PatchSetId, PlanId, ProvenanceId, RunId, SnapshotId,
    StepId, TaskId,
};
pub use intent::{Intent, IntentContent};
pub use invalid::Invalid;
pub use json::{Fault, ParseError};
pub use json_text::JsonText;
pub use label::Label;
pub use non_blank::NonBlank;
pub use object::{Object, ObjectKind, ObjectName};
pub use patch_set::{Change, Diff, PatchSet, TouchedFile};
pub use path::RelativePath;
pub use plan::{Plan, PlanContent, PlanStep};
pub use provenance::{Provenance, ProvenanceContent};
pub use run::{
    Base, Closed, Closing, DecideError, Environment, Open, Opening, Predecessor, Run, RunRecord, Undecided,
};
pub use salvaged::{Salvaged, salvage};
pub use snapshot::{ContextItem, ContextSnapshot, ItemKind, SelectionStrategy, SnapshotContent};
pub use task::{Task, TaskContent, TaskGoal};
pub use timestamp::Timestamp;
pub use verdict::{Verdict, VerdictKind};
