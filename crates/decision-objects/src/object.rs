//! Any object of the family, and its name among all of them.
//!
//! The word of a kind is what stands under `type` in JSON, in errors and in names: there is one spelling of it.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::invalid::excerpt;
use crate::json::{self, Fault, Fields, ParseError, read};
use crate::vocabulary::closed_vocabulary;
use crate::{
    Choice, ContextFrame, ContextSnapshot, Decision, DecisionId, Digest, Evidence, EvidenceId, FrameId,
    Intent, IntentEvent, IntentId, Invalid, PatchSet, PatchSetId, Plan, PlanId, Provenance, ProvenanceId,
    RunEvent, RunId, RunRecord, Selection, SnapshotId, StepEvent, Task, TaskEvent, TaskId, ToolInvocation,
    Usage,
};

closed_vocabulary! {
    /// What sort of object something is.
    ObjectKind, "intent, plan, task, run, patch_set, context_snapshot, provenance, \
    intent_event, task_event, run_event, step_event, usage, tool_invocation, context_frame, selection, evidence or decision",
    "whoever reads a family must know every kind in it" {
        /// [`Intent`].
        Intent = "intent",
        /// [`Plan`].
        Plan = "plan",
        /// [`Task`].
        Task = "task",
        /// [`RunRecord`].
        Run = "run",
        /// [`PatchSet`].
        PatchSet = "patch_set",
        /// [`ContextSnapshot`].
        ContextSnapshot = "context_snapshot",
        /// [`Provenance`].
        Provenance = "provenance",
        /// [`IntentEvent`].
        IntentEvent = "intent_event",
        /// [`TaskEvent`].
        TaskEvent = "task_event",
        /// [`RunEvent`].
        RunEvent = "run_event",
        /// [`StepEvent`].
        StepEvent = "step_event",
        /// [`Usage`].
        Usage = "usage",
        /// [`ToolInvocation`].
        ToolInvocation = "tool_invocation",
        /// [`ContextFrame`].
        ContextFrame = "context_frame",
        /// [`Selection`].
        Selection = "selection",
        /// [`Evidence`].
        Evidence = "evidence",
        /// [`Decision`].
        Decision = "decision",
    }
}

/// The word under which an object is shown: its kind, unless git-internal calls it otherwise.
macro_rules! shown {
    ($kind:ident) => {
        stringify!($kind)
    };
    ($kind:ident $shown:literal) => {
        $shown
    };
}

macro_rules! objects {
    ($($kind:ident($type:ty) $(= $shown:literal)?,)+) => {
        /// Any object of the family.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(clippy::exhaustive_enums, reason = "whoever reads a family must know every kind in it")]
        pub enum Object {
            $(
                #[doc = concat!("A [`", stringify!($type), "`].")]
                $kind($type),
            )+
        }

        impl Object {
            /// What sort of object it is.
            #[must_use]
            pub const fn kind(&self) -> ObjectKind {
                match self {
                    $(Self::$kind(_) => ObjectKind::$kind,)+
                }
            }

            /// Its name among all objects.
            #[must_use]
            pub const fn name(&self) -> ObjectName {
                let id = match self {
                    $(Self::$kind(object) => object.id().uuid(),)+
                };
                ObjectName { kind: self.kind(), id }
            }

            /// Prints the canonical JSON: compact, keys in their fixed order.
            #[must_use]
            pub fn print(&self) -> String {
                match self {
                    $(Self::$kind(object) => object.print(),)+
                }
            }

            fn parse_body(kind: ObjectKind, fields: Fields<'_>) -> Result<Self, ParseError> {
                match kind {
                    $(ObjectKind::$kind => json::parse_body::<$type>(fields).map(Self::$kind),)+
                }
            }
        }

        $(
            impl From<$type> for Object {
                fn from(object: $type) -> Self {
                    Self::$kind(object)
                }
            }

            #[doc = concat!("For people: `", shown!($kind $($shown)?), ": 01900000-0000-7000-8000-000000000001`.")]
            impl fmt::Display for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!(shown!($kind $($shown)?), ": {}"), self.id())
                }
            }
        )+

        /// As the object that it is: `Decision: 01900000-0000-7000-8000-000000000001`.
        impl fmt::Display for Object {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind(object) => object.fmt(f),)+
                }
            }
        }
    };
}

objects! {
    Intent(Intent),
    Plan(Plan),
    Task(Task),
    Run(RunRecord),
    PatchSet(PatchSet),
    ContextSnapshot(ContextSnapshot),
    Provenance(Provenance),
    IntentEvent(IntentEvent),
    TaskEvent(TaskEvent),
    RunEvent(RunEvent),
    StepEvent(StepEvent) = "PlanStepEvent",
    Usage(Usage) = "RunUsage",
    ToolInvocation(ToolInvocation),
    ContextFrame(ContextFrame),
    Selection(Selection),
    Evidence(Evidence),
    Decision(Decision),
}

impl Object {
    /// The run that it is of: a run is of itself, an intent, a plan, a task and a snapshot are of none.
    #[must_use]
    pub fn run(&self) -> Option<RunId> {
        match self {
            Self::Run(run) => Some(run.id()),
            Self::PatchSet(patch_set) => Some(patch_set.run()),
            Self::Provenance(provenance) => Some(provenance.content().run),
            Self::TaskEvent(event) => event.content().run,
            Self::RunEvent(event) => Some(event.content().run),
            Self::StepEvent(event) => Some(event.content().run),
            Self::Usage(usage) => Some(usage.content().run),
            Self::ToolInvocation(call) => Some(call.content().run),
            Self::ContextFrame(frame) => frame.content().run,
            Self::Selection(selection) => match selection.content().choice {
                Choice::PatchSet { run, .. } => Some(run),
                Choice::Plan { .. } => None,
            },
            Self::Evidence(evidence) => Some(evidence.run()),
            Self::Decision(decision) => Some(decision.run()),
            Self::Intent(_)
            | Self::Plan(_)
            | Self::Task(_)
            | Self::ContextSnapshot(_)
            | Self::IntentEvent(_) => None,
        }
    }

    /// The SHA-256 of the canonical JSON.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(self.print().as_bytes())
    }

    /// Parses an object of whatever kind its `type` says, as strictly as that kind's own `parse`.
    ///
    /// # Errors
    ///
    /// [`ParseError`] with the path of the first fault found; [`Fault::UnknownWord`] at `$.type` for another kind.
    pub fn parse(json: &[u8]) -> Result<Self, ParseError> {
        Fields::read(json, Self::parse_fields)
    }

    pub(crate) fn parse_fields(mut fields: Fields<'_>) -> Result<Self, ParseError> {
        let kind =
            fields.required("type", |raw| read::word(raw, ObjectKind::EXPECTED, ObjectKind::of_word))?;
        Self::parse_body(kind, fields)
    }

    /// Parses like [`parse`](Self::parse) and compares the value's digest with the expected one.
    ///
    /// # Errors
    ///
    /// As [`parse`](Self::parse), and [`Fault::DigestMismatch`].
    pub fn parse_verified(json: &[u8], expected: Digest) -> Result<Self, ParseError> {
        let object = Self::parse(json)?;
        let found = object.digest();
        if found == expected { Ok(object) } else { Err(Fault::DigestMismatch { expected, found }.into()) }
    }
}

/// Names an object among all objects, whatever its kind; printed `run 01900000-0000-7000-8000-000000000001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// What sort of object it is.
    pub kind: ObjectKind,
    /// Its name among those of its kind.
    pub id: Uuid,
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.id.as_hyphenated())
    }
}

impl FromStr for ObjectName {
    type Err = Invalid;

    /// Reads what `Display` prints; the id may be spelled as any UUID may, and not be nil.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (kind, id) = text.split_once(' ').unwrap_or((text, ""));
        let kind = kind.parse()?;
        let id = Uuid::parse_str(id).map_err(|_| Invalid::Uuid { text: excerpt(id) })?;
        if id.is_nil() { Err(Invalid::NilId) } else { Ok(Self { kind, id }) }
    }
}

macro_rules! named {
    ($($id:ident: $kind:ident,)+) => {
        $(
            impl From<$id> for ObjectName {
                fn from(id: $id) -> Self {
                    Self { kind: ObjectKind::$kind, id: id.uuid() }
                }
            }
        )+
    };
}

named! {
    IntentId: Intent,
    PlanId: Plan,
    TaskId: Task,
    RunId: Run,
    PatchSetId: PatchSet,
    SnapshotId: ContextSnapshot,
    ProvenanceId: Provenance,
    FrameId: ContextFrame,
    EvidenceId: Evidence,
    DecisionId: Decision,
}
