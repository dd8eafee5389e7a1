//! What can be asked of a session.

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{PatchSetId, RunId};
use trunkline_message_tree::{Naming, NodeId, Part, ToolResult};
use trunkline_resolve_queue::{Policy, ProposalId, Rule, RuleId};
use trunkline_revert::ProposalId as StepId;
use trunkline_session_machine::{Bounds, CallPlace, CloseAs, EndTask, NewTask, Said};

/// What a person, or another process, asks of a session. [`Session::order`](crate::Session::order) carries it out in the process that
/// writes the session; [`post`](crate::orders::post) leaves it for that one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Words for the model.
    Prompt {
        /// The words.
        text: String,
    },
    /// Words for the model with pictures and documents, in the order in which they are to be read.
    PromptWith {
        /// What is said and shown; at least one.
        parts: Vec<Part>,
    },
    /// End the present turn. If none goes on though somebody holds the session, the one that begins next: a run that has
    /// just started is stopped too.
    Cancel,
    /// Close the open run. The drive that goes on ends with that, as by a cancel; a run that is closed as
    /// [`CloseAs::Retry`] is followed by one that waits for the next
    /// [`resume`](crate::Session::resume). See [`Session::close_run`](crate::Session::close_run).
    CloseRun {
        /// Which: if another one is open by then, nothing is done.
        run: RunId,
        /// How, and why.
        close: CloseAs,
    },
    /// Decide on a proposal.
    Verdict {
        /// Which.
        proposal: ProposalId,
        /// What was said to it.
        said: Said,
        /// How often the sender had seen it put aside:
        /// [`Entry::put_aside`](trunkline_resolve_queue::Entry::put_aside) of what they were shown. An answer that was given
        /// on a branch that was left decides nothing on another.
        seen: Option<u32>,
    },
    /// Offer to take back what an applied proposal did; see [`Session::take_back`](crate::Session::take_back).
    TakeBack {
        /// Which.
        proposal: ProposalId,
    },
    /// Give a rule, as a person: anybody else who is named as its giver is refused.
    GiveRule {
        /// Which.
        rule: Rule,
    },
    /// Take a rule back, as a person.
    RevokeRule {
        /// Which.
        rule: RuleId,
        /// Why; may be empty.
        reason: String,
    },
    /// Store with the session how the model is brought to decide on proposals in it, from now on.
    ToolChoice {
        /// How.
        policy: Policy,
    },
    /// Void everything that waits or was approved, and every rule: the session came from elsewhere, and so did they.
    Distrust,
    /// Move the head.
    Move {
        /// How.
        act: MoveAct,
        /// Where the sender saw the head. It may have grown since, as it does while a run goes on; if it went elsewhere,
        /// nothing is done, and an undo or redo takes effect only on the move that was the latest then.
        expected_head: NodeId,
    },
    /// Give a name to a node or a branch, or take it away. Where the head is does not matter for it.
    Name {
        /// Which name, and to what.
        naming: Naming,
    },
    /// What a call gave that ended outside of the loop; see [`Session::late_result`](crate::Session::late_result).
    LateResult {
        /// The place of the call.
        call: CallPlace,
        /// What it gave.
        result: ToolResult,
    },
    /// Give the session a task: the runs that are opened from now on work on it. One at a time.
    GiveTask {
        /// Which.
        task: NewTask,
    },
    /// Say how much may be spent on the session's task, over all its runs. What is not named stays as it was.
    BoundTask {
        /// How much.
        bounds: Bounds,
    },
    /// End the session's task, as a person. No answer of a model and no commit does.
    EndTask {
        /// How.
        end: EndTask,
    },
    /// Choose one of the patch sets that a run has made or proposed. Nothing is applied by it; the newest choice for a run counts.
    Select {
        /// The run.
        run: RunId,
        /// Which of its [`candidates`](crate::candidates).
        patch_set: PatchSetId,
        /// Why; may be empty.
        reason: String,
    },
    /// Answer a step back that is proposed.
    StepBack {
        /// Which.
        proposal: StepId,
        /// What.
        answer: StepAnswer,
        /// Where the sender saw the head. It may have grown since, as it does while a run goes on; if it went elsewhere,
        /// nothing is done.
        expected_head: NodeId,
    },
}

/// How the head is to be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MoveAct {
    /// Back to a node.
    Revert {
        /// The last node to keep.
        to: NodeId,
        /// What the model is told about the branch that is left.
        lesson: Option<String>,
    },
    /// To any node, with nothing to say about what is left.
    Go {
        /// The node; the head is put at the end of the calls that it belongs to.
        to: NodeId,
    },
    /// Nowhere: what came of branches is brought here.
    Merge {
        /// The ends of the branches.
        tips: Vec<NodeId>,
    },
    /// Take back the latest move.
    Undo,
    /// Make it again.
    Redo,
}

/// What becomes of a step back that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepAnswer {
    /// It is carried out.
    Accept,
    /// It is not.
    Decline {
        /// Why.
        reason: Option<String>,
    },
}
