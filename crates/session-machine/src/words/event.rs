//! What an observer is told while a session goes on.
//!
//! Events follow the log: whatever names a node, a proposal or a verdict was stored before it is told.

use std::time::Duration;

use trunkline_message_tree::{HeadMove, Message, NodeId, ToolResult};
use trunkline_sanitize::Repair;

use crate::words::call::CallPlace;
use crate::words::hook::HookEnded;

/// One thing that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Event {
    /// A message was recorded.
    Message {
        /// Its node.
        node: NodeId,
        /// The message.
        message: Message,
        /// Whether it was only filed, off the trunk.
        filed: bool,
    },
    /// The model is asked.
    Asking {
        /// The number of this request in the present drive, from 1.
        turn: u32,
        /// How many messages it is sent.
        messages: usize,
        /// What had to be changed in the copy that is sent.
        repairs: Vec<Repair>,
    },
    /// The service wants this otherwise than others of its wire, and is asked so from now on.
    Learned {
        /// What it wants.
        wants: trunkline_providers::Trait,
        /// Whether it refused a request for it, which is sent again; else an answer showed it.
        refused: bool,
    },
    /// What was learned of the service did not help, and is not believed any more.
    Unlearned {
        /// What it was believed to want.
        wants: trunkline_providers::Trait,
    },
    /// Something arrived from the model. After `Retrying` the answer begins anew: what was shown of it is void.
    Stream(trunkline_providers::Event),
    /// An attempt to ask the model came to nothing. Words and calls of it that were streamed are void: what had come is kept
    /// beside the trunk.
    AttemptFailed {
        /// What was recorded of it; of what is asked beside the conversation, as for a summary, nothing is.
        attempt: crate::words::attempt::Attempt,
        /// How long is waited before the model is asked again; `None` if it is not by itself.
        wait: Option<Duration>,
    },
    /// The model is waited for before it is asked again, as an attempt that was recorded says: one of this drive, or of a
    /// process before it.
    AwaitingModel {
        /// How long.
        wait: Duration,
    },
    /// A call is about to run.
    CallStarted {
        /// Its place.
        call: CallPlace,
        /// The tool.
        tool: String,
        /// What people are shown for it.
        label: String,
        /// The arguments as the model wrote them.
        arguments: String,
    },
    /// A call has its result.
    CallFinished {
        /// Its place.
        call: CallPlace,
        /// What the model will be told.
        result: ToolResult,
        /// How long it ran; `None` if it never did.
        elapsed: Option<Duration>,
    },
    /// Something happened to a proposal.
    Proposal(trunkline_resolve_queue::Event<serde_json::Value>),
    /// A tool was told that its proposal has ended without having been applied, or is not told any more.
    DiscardHook {
        /// The proposal.
        proposal: trunkline_resolve_queue::ProposalId,
        /// What came of it.
        ended: HookEnded,
    },
    /// An attempt to apply a proposal was under way when this session was taken over, and whoever began it may still write.
    /// Nothing goes on before it is over, which is at most [`APPLY_LEASE`](crate::words::lease::APPLY_LEASE) after that.
    AwaitingApply {
        /// Which.
        attempt: trunkline_resolve_queue::Attempt,
        /// Who, and until when.
        lease: trunkline_resolve_queue::Lease,
    },
    /// Files were being put back by a rollback when this session was taken over, and whoever does it may still write.
    /// Nothing goes on before that is over, which is at most [`APPLY_LEASE`](crate::words::lease::APPLY_LEASE) after that.
    AwaitingRollback {
        /// The decision that is taken back.
        of: trunkline_decision_objects::DecisionId,
        /// Until when at the latest.
        until: trunkline_message_tree::Timestamp,
    },
    /// A rule was given, used or taken back.
    Rule(trunkline_resolve_queue::RuleEvent),
    /// The model decided, and it was carried out as well as it could be.
    Resolved {
        /// The call with which it decided.
        call: CallPlace,
        /// What it wanted, and of what.
        details: trunkline_resolve_queue::ResolutionDetails,
    },
    /// Something happened to what a turn was held to.
    Choice(trunkline_resolve_queue::Notice),
    /// The head moved, other than by growing.
    HeadMoved(HeadMove),
    /// A revert was asked for, and applied or refused.
    Reverted(trunkline_revert::Record),
    /// A revert was asked for in a way that could not be read, so nothing was done.
    RevertUnread(trunkline_revert::UnreadRequest),
    /// The model brought back what came of branches that it had left; of a person's merge only the message is told.
    Merged(Box<trunkline_revert::MergeRecord>),
    /// The model asked for a merge that was refused.
    MergeRefused(trunkline_revert::MergeRefused),
    /// The model leaves results out of later requests, or was refused to.
    Pruned(trunkline_revert::PruneRecord),
    /// The first reply after a revert read less from the provider's cache than an unchanged prefix should have given.
    CacheMissed {
        /// The revert.
        head_move: trunkline_message_tree::MoveId,
        /// How much was expected, and what came.
        miss: trunkline_revert::CacheMiss,
    },
    /// The summarizer is asked what a branch came to. `LateSummary` or `SummaryFailed` says what came of it, unless an undo was
    /// faster.
    SummaryAsked {
        /// The revert.
        head_move: trunkline_message_tree::MoveId,
    },
    /// What a branch came to was said after it was left, by the summarizer.
    LateSummary(Box<trunkline_revert::Note>),
    /// The summarizer had nothing to say. Nothing else comes of that.
    SummaryFailed {
        /// The revert.
        head_move: trunkline_message_tree::MoveId,
        /// Why.
        reason: String,
    },
    /// A step back was proposed, or a proposal of one was answered.
    StepBack(trunkline_revert::ProposalEvent),
    /// A summary is asked for that will stand for a span of the trunk.
    Compacting(trunkline_revert::CompactPlan),
    /// A summary stands for a span of the trunk.
    Compacted(crate::words::compacted::Compacted),
    /// A summary could not be made; nothing has changed, and it is tried again when the prompt has grown.
    CompactionFailed {
        /// Why not.
        reason: String,
    },
    /// The next request does not continue the one before it: the provider's cache is lost from there on.
    CacheBroken(trunkline_revert::Break),
    /// Notes that have had their time are shown all the same, because their going would lose the cache behind them.
    DecayDelayed {
        /// How many notes.
        notes: usize,
        /// How many messages behind the first of them stay in the cache for that.
        messages: usize,
    },
    /// Nothing but reading is done from now on, until a person approves a plan.
    PlanAsked,
    /// A run was opened.
    RunOpened,
    /// A run has its verdict.
    Decided(Box<trunkline_decision_objects::Decision>),
    /// Files that somebody else has changed while the run went on: they are not in its patch set, and not in its commit.
    LeftAlone {
        /// Which, by path. May be very many, and are named as they are on the disk.
        files: Vec<String>,
    },
    /// Files of the commit that a run has just made of which something else is staged, as somebody has left it: the next commit
    /// of what is staged takes back there what the run has done.
    StillStaged {
        /// Which, by path. May be very many, and are named as they are on the disk.
        files: Vec<String>,
    },
    /// Files that changed in the open run while or after calls that were cut off, until somebody looked again: whoever wrote
    /// them, they count as the run's.
    TakenIn {
        /// Which, by path. May be very many, and are named as they are on the disk.
        files: Vec<String>,
    },
    /// The files could not be looked at around calls that may change some: until that works again, all that changes counts as
    /// the run's.
    LookFailed {
        /// Why not.
        why: String,
    },
    /// The decision of a run is bound to the repository.
    Bound {
        /// The run.
        run: String,
        /// Where the decision stands.
        reference: String,
    },
    /// A decision that was to be bound is not. It is recorded all the same, and bound at the next chance.
    NotBound {
        /// The run.
        run: String,
        /// Why not, and what to do.
        why: String,
    },
    /// A letter could have no effect and was put aside.
    LetterRefused {
        /// What it asked for.
        kind: String,
        /// Why not.
        reason: String,
    },
}
