//! A piece of context that a model was given, or that it left for later.
//!
//! A frame belongs to something: one that names neither intent nor run, plan or step could never be found again.

use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::open_vocabulary;
use crate::{FrameId, IntentId, Invalid, NonBlank, PlanId, RunId, StepId};

open_vocabulary! {
    /// What a frame is about; the words are git-internal's.
    FrameKind,
    "intent_analysis, step_summary, code_change, system_state, error_recovery, checkpoint, tool_call or other" {
        /// What an intent asks for.
        IntentAnalysis = "intent_analysis",
        /// What a step came to.
        StepSummary = "step_summary",
        /// What was changed.
        CodeChange = "code_change",
        /// How the world stands around the run.
        SystemState = "system_state",
        /// What was done about a fault.
        ErrorRecovery = "error_recovery",
        /// What to go on from.
        Checkpoint = "checkpoint",
        /// What a tool was asked, and said.
        ToolCall = "tool_call",
    }
    /// Something else; none of the words above in other dress.
    Other
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

sealed! {
    /// A piece of context, sealed.
    ContextFrame(FrameId, ContextFrameContent) is "context_frame";
    /// Seals a piece of context.
    ///
    /// # Errors
    ///
    /// [`Invalid::OrphanFrame`] if it belongs to nothing, and [`Invalid::ReservedLabel`] if the word of
    /// [`FrameKind::Other`] reads like one of the known ones.
    new
}

impl ContextFrameContent {
    fn faults(&self, _id: FrameId) -> Faults {
        let mut faults = Faults::default();
        let Self { intent, run, plan, step, .. } = self;
        if intent.is_none() && run.is_none() && plan.is_none() && step.is_none() {
            faults.add(&["intent", "run", "plan", "step"], Invalid::OrphanFrame);
        }
        faults.check(&["kind", "label"], self.kind.checked());
        faults
    }

    fn print(&self, object: Object) -> Object {
        let object = object
            .maybe_show("intent", self.intent.as_ref())
            .maybe_show("run", self.run.as_ref())
            .maybe_show("plan", self.plan.as_ref())
            .maybe_show("step", self.step.as_ref());
        self.kind
            .print(object, "kind", "label")
            .text("summary", self.summary.as_str())
            .maybe_text("data", self.data.as_deref())
            .maybe_whole("token_estimate", self.token_estimate)
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            intent: fields.optional("intent", read::canonical)?,
            run: fields.optional("run", read::canonical)?,
            plan: fields.optional("plan", read::canonical)?,
            step: fields.optional("step", read::canonical)?,
            kind: FrameKind::required(fields, "kind", "label")?,
            summary: fields.required("summary", read::canonical)?,
            data: fields.optional("data", read::text)?,
            token_estimate: fields.optional("token_estimate", read::whole)?,
        })
    }
}
