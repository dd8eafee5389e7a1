//! What can happen next.

use trunkline_message_tree::Timestamp;
use trunkline_resolve_queue::{Attempt, Lease};
use trunkline_revert::CompactPlan;

use crate::acts::recover::Sight;
use crate::state::decision::Unbound;
use crate::words::call::CallPlace;
use crate::words::close_as::CloseAs;
use crate::words::plan_text::PlanText;
use crate::words::runnable::{self, Runnable};
use crate::words::stop::Stop;
use crate::words::work::Id;

/// What happens next.
pub enum Step {
    /// These calls end without running; the text says why.
    Answer(Vec<(CallPlace, String)>),
    /// This call needs a decision before it may run: stage it.
    Gate(CallPlace, Box<runnable::Asked>),
    /// A plan is demanded for the open run: until one is approved, nothing but reading is done.
    AskForPlan,
    /// This call proposes a plan: stage it.
    ProposePlan(CallPlace, PlanText),
    /// This call asks for the end of the run: stage that.
    AskToClose(CallPlace, CloseAs),
    /// The open run is ended as its model asked and as was approved.
    CloseAsAsked,
    /// These calls run now, side by side.
    Run(Vec<Runnable>),
    /// The model decides on a proposal.
    Resolve(CallPlace, String),
    /// Nothing can go on before a person decides on one of these.
    Ask(Vec<Id>),
    /// Every call of the turn has its result: write them, and carry out what the turn asked for.
    Settle,
    /// An approved proposal is applied.
    Apply(Id),
    /// A proposal whose files had changed is compared again.
    Check(Id),
    /// A rule, or the set-up, approves a proposal.
    Approve(Id),
    /// A rule forbids a proposal.
    Forbid(Id),
    /// A proposal that could not be applied is given up.
    GiveUp(Id),
    /// The model is told something by the harness.
    Nudge(String),
    /// A run has to be opened before the model is asked.
    OpenRun,
    /// A summary has to take the place of older messages before the model is asked.
    Compact(CompactPlan),
    /// The model is asked.
    Request,
    /// The model is asked again, and not before this.
    Wait(Timestamp),
    /// The run is over and gets its verdict.
    Conclude,
    /// The drive ends, and why.
    Stop(Stop),
    /// The inbox is read: all of it, or only what closes the run and what was posted before that.
    ReadInbox {
        /// Whether the drive was cancelled, so that only what closes the run counts.
        closing: bool,
    },
    /// What is past its time is noted.
    Expire,
    /// A tool is told that its proposal has ended without having been applied, or where it is not here the model of a person's discard.
    CallHook(Id),
    /// The model is told what happened while its turn was open.
    TellUntold,
    /// Another writer may still be applying a proposal: wait until its lease is over, and ask again.
    AwaitApply(Attempt, Lease),
    /// What an attempt left behind is looked up, and settled in this way.
    LookUp(Id, Sight),
    /// Git was to answer for the end of the open run and has not: it is asked again before anything else.
    AskGit,
    /// What is recorded and not bound yet is bound.
    Bind(Vec<Unbound>),
    /// A summary has to take the place of older messages before the model goes on in a reply that filled its window.
    MakeRoom(CompactPlan),
}
