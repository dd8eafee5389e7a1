//! A piece of context that a model was given, or that it left for later.
//!
//! A frame belongs to something: one that names neither intent nor run, plan or step could never be found again.

use super::states::sealed;
use super::usage::count;
use crate::json::{Canonical, Fields, Object, ParseError, read};
use crate::label::check_beside;
use crate::{FrameId, Header, IntentId, Invalid, Label, NonBlank, PlanId, RunId, StepId};

/// What a frame is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "`Other` takes what comes later")]
pub enum FrameKind {
    /// What an intent asks for.
    IntentAnalysis,
    /// What a step came to.
    StepSummary,
    /// What was changed.
    CodeChange,
    /// How the world stands around the run.
    SystemState,
    /// What was done about a fault.
    ErrorRecovery,
    /// What to go on from.
    Checkpoint,
    /// What a tool was asked, and said.
    ToolCall,
    /// Something else.
    Other(Label),
}

impl FrameKind {
    /// The kinds that have a word of their own.
    pub const KNOWN: [Self; 7] = [
        Self::IntentAnalysis,
        Self::StepSummary,
        Self::CodeChange,
        Self::SystemState,
        Self::ErrorRecovery,
        Self::Checkpoint,
        Self::ToolCall,
    ];

    /// The word for it, as it is written in JSON; for [`FrameKind::Other`] the label.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Other(label) => label.as_str(),
            known => known.word(),
        }
    }

    const fn word(&self) -> &'static str {
        match self {
            Self::IntentAnalysis => "intent_analysis",
            Self::StepSummary => "step_summary",
            Self::CodeChange => "code_change",
            Self::SystemState => "system_state",
            Self::ErrorRecovery => "error_recovery",
            Self::Checkpoint => "checkpoint",
            Self::ToolCall => "tool_call",
            Self::Other(_) => "other",
        }
    }
}

/// What a [`ContextFrame`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFrameContent {
    /// The intent that it belongs to.
    pub intent: Option<IntentId>,
    /// The run that it belongs to.
    pub run: Option<RunId>,
    /// The plan that it belongs to.
    pub plan: Option<PlanId>,
    /// The step that it belongs to.
    pub step: Option<StepId>,
    /// What it is about.
    pub kind: FrameKind,
    /// What it says, in short.
    pub summary: NonBlank,
    /// What it says at length, as text in a form of the caller's own.
    pub data: Option<String>,
    /// About how many tokens it takes in a prompt.
    pub token_estimate: Option<u64>,
}

/// A piece of context, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFrame {
    header: Header<FrameId>,
    content: ContextFrameContent,
}

sealed!(ContextFrame, FrameId, ContextFrameContent);

impl ContextFrame {
    /// Seals a piece of context.
    ///
    /// # Errors
    ///
    /// [`Invalid::OrphanFrame`] if it belongs to nothing, and [`Invalid::ReservedLabel`] if the word of
    /// [`FrameKind::Other`] reads like one of the known ones.
    pub fn new(header: Header<FrameId>, content: ContextFrameContent) -> Result<Self, Invalid> {
        let ContextFrameContent { intent, run, plan, step, .. } = content;
        if intent.is_none() && run.is_none() && plan.is_none() && step.is_none() {
            return Err(Invalid::OrphanFrame);
        }
        if let FrameKind::Other(label) = &content.kind {
            check_beside(label, &FrameKind::KNOWN.each_ref().map(FrameKind::word))?;
        }
        Ok(Self { header, content })
    }
}

impl Canonical for ContextFrame {
    const TYPE: &'static str = "context_frame";

    fn print_fields(&self, object: Object) -> Object {
        let content = &self.content;
        let object = self
            .header
            .print_fields(object)
            .maybe_show("intent", content.intent.as_ref())
            .maybe_show("run", content.run.as_ref())
            .maybe_show("plan", content.plan.as_ref())
            .maybe_show("step", content.step.as_ref())
            .text("kind", content.kind.word());
        let object = match &content.kind {
            FrameKind::Other(label) => object.text("label", label.as_str()),
            _ => object,
        };
        object
            .text("summary", content.summary.as_str())
            .maybe_text("data", content.data.as_deref())
            .maybe_bare("token_estimate", content.token_estimate)
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        const EXPECTED: &str = "intent_analysis, step_summary, code_change, system_state, error_recovery, \
                                checkpoint, tool_call or other";
        let header = Header::read_fields(fields)?;
        let intent = fields.optional("intent", read::canonical)?;
        let run = fields.optional("run", read::canonical)?;
        let plan = fields.optional("plan", read::canonical)?;
        let step = fields.optional("step", read::canonical)?;
        let kind = fields.required("kind", |raw| {
            read::word(raw, EXPECTED, |word| match word {
                "other" => Some(None),
                word => FrameKind::KNOWN.into_iter().find(|kind| kind.word() == word).map(Some),
            })
        })?;
        let kind = match kind {
            Some(kind) => kind,
            None => FrameKind::Other(fields.required("label", read::canonical)?),
        };
        let content = ContextFrameContent {
            intent,
            run,
            plan,
            step,
            kind,
            summary: fields.required("summary", read::canonical)?,
            data: fields.optional("data", read::text)?,
            token_estimate: fields.optional("token_estimate", count)?,
        };
        Ok(Self::new(header, content)?)
    }
}
