//! Goes back to a branch that the model has left itself.
//!
//! What was done since is left as by a revert, with a note, and can be gone back to in turn. The note stands at the end of the
//! branch: that end may be a result that says that the branch was left.

use std::fmt;

use trunkline_message_tree::{MessageTree, NodeId};

use crate::boundary::{is_prompt, message_at};
use crate::merge_refusal::names;
use crate::own_branches::MOST_TRIED;
use crate::plan::{next_move, tool_names};
use crate::refusal::{LISTED, listed};
use crate::{CallPlace, LeftBy, Mover, NotOwn, OwnBranches, Plan, Record, Request, Uncovered};

/// A return to a branch that was not made; the tree stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("return refused: {reason}{}", cure(reason, works))]
#[non_exhaustive]
pub struct ReturnRefusal {
    /// Why.
    pub reason: ReturnReason,
    /// The ends of the newest branches to which the model could go back, at most eight, oldest first.
    pub works: Vec<NodeId>,
}

/// Why a return is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReturnReason {
    /// The node names no branch that the model left itself.
    NotOwn {
        /// The node that was named.
        node: NodeId,
        /// Why.
        why: NotOwn,
    },
    /// The branch ends in calls that never got their results.
    OpenCalls {
        /// Its end.
        tip: NodeId,
    },
    /// Words of a person would be left behind, and this mover may not do that.
    CrossesPrompt {
        /// The messages in the way, oldest first.
        prompts: Vec<NodeId>,
    },
    /// The call that asked is no longer on the trunk, so what it asked for is out of date.
    CallLeft {
        /// The message that holds the call.
        call: NodeId,
    },
    /// Another request of the same turn changed the conversation.
    OtherMove,
}

impl fmt::Display for ReturnReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReturnReason::NotOwn { node, why } => why_not_own(f, *node, *why),
            ReturnReason::OpenCalls { tip } => write!(f, "{tip} ends in calls that never got their results"),
            ReturnReason::CrossesPrompt { prompts } => {
                write!(f, "what would be left contains a user message ({})", listed(prompts))
            }
            ReturnReason::CallLeft { call } => {
                write!(f, "{call}, whose call asked for it, is not on the current branch")
            }
            ReturnReason::OtherMove => {
                f.write_str("another request of this turn changed the conversation first")
            }
        }
    }
}

/// Says why a node names no branch of the model.
pub(crate) fn why_not_own(f: &mut fmt::Formatter<'_>, node: NodeId, why: NotOwn) -> fmt::Result {
    match why {
        NotOwn::NotFound => write!(f, "{node} not found"),
        NotOwn::OnTrunk => write!(f, "{node} is on the current branch"),
        NotOwn::Left { by: LeftBy::NeverOnTrunk } => write!(f, "{node} never was part of the conversation"),
        NotOwn::Left { by } => write!(f, "you did not leave the branch of {node}; {by} did"),
        NotOwn::Behind { node: behind, by: LeftBy::NeverOnTrunk } => {
            write!(f, "the branch of {node} starts at {behind}, which never was part of the conversation")
        }
        NotOwn::Behind { node: behind, by } => {
            write!(f, "the branch of {node} starts at {behind}, and {by} left {behind}, not you")
        }
    }
}

/// Returns the second half of a refusal: what to name instead.
fn cure(reason: &ReturnReason, works: &[NodeId]) -> String {
    match reason {
        ReturnReason::CallLeft { .. } | ReturnReason::OtherMove => String::new(),
        _ if works.is_empty() => "; there is no branch that you could go back to now".to_owned(),
        _ => format!("; branches that you could go back to: {} (newest last)", names(works)),
    }
}

/// Decides what going back to a branch would do to this tree, which stays as it is. The target of the request is any node of
/// the branch; the conversation goes on from its end.
///
/// Works like [`plan`](crate::plan), before the results of the turn are appended or after. Where the mover's rule lets words of
/// a person leave they do; copies of them are never made here, so every other rule refuses.
///
/// # Errors
///
/// A [`ReturnRefusal`] with its [`ReturnReason`] and branches that would work.
///
/// ```
/// use trunkline_message_tree::{Message, MessageTree, Timestamp};
/// use trunkline_revert::{Mover, OwnBranches, Request, plan, plan_return, turn, Category};
///
/// let mut tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
/// let mut draft = tree.draft();
/// let asked = draft.append(Message::user("which parser?"), Timestamp(1))?;
/// let tried = draft.append(Message::assistant("The hand-written one."), Timestamp(1))?;
/// draft.into_entries().into_iter().try_for_each(|entry| tree.record(entry))?;
///
/// // The model leaves n2, takes another way, and thinks better of it.
/// let outcome = plan(&tree, &Request::new(Category::Tangent, asked, Some("300 lines")), Mover::MODEL)?
///     .outcome(&[], Timestamp(2), turn(&tree));
/// let mut draft = tree.draft();
/// draft.move_head(outcome.head_move)?;
/// let other = draft.append(Message::assistant("A generated one."), Timestamp(2))?;
/// draft.into_entries().into_iter().try_for_each(|entry| tree.record(entry))?;
///
/// let own = OwnBranches::of(&tree, &[outcome.note], &[outcome.record]);
/// let back = Request::new(Category::Failure, tried, Some("it is slow"));
/// let plan = plan_return(&tree, &own, &back, Mover::MODEL)?;
/// assert_eq!((plan.target, plan.leaving, plan.back), (tried, vec![other], vec![tried]));
///
/// // What nobody left is no branch to go back to.
/// let refused = plan_return(&tree, &own, &Request::new(Category::Failure, asked, None), Mover::MODEL).unwrap_err();
/// assert_eq!(
///     refused.to_string(),
///     "return refused: n1 is on the current branch; branches that you could go back to: n2 (newest last)"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan_return(
    tree: &MessageTree,
    own: &OwnBranches<'_>,
    request: &Request,
    mover: Mover,
) -> Result<Plan, ReturnRefusal> {
    let found = planned(tree, own, request, mover);
    found.map_err(|reason| ReturnRefusal { reason, works: working(tree, own, request.call.as_ref(), mover) })
}

fn planned(
    tree: &MessageTree,
    own: &OwnBranches<'_>,
    request: &Request,
    mover: Mover,
) -> Result<Plan, ReturnReason> {
    if let Some(CallPlace { node: call, .. }) = request.call.as_ref()
        && !tree.is_on_trunk(*call)
    {
        return Err(ReturnReason::CallLeft { call: *call });
    }
    let node = request.target;
    let not_own = |why| ReturnReason::NotOwn { node, why };
    let tip = own.tip_of(node).map_err(not_own)?;
    // The head stood there, so a log that was not forged has the results.
    if tree.landing(tip) != Ok(tip) {
        return Err(ReturnReason::OpenCalls { tip });
    }
    let stays = tree.fork_of(tip).map_err(|_| not_own(NotOwn::NotFound))?;
    let depth = tree.node(stays).map_err(|_| not_own(NotOwn::NotFound))?.depth();
    let leaving = tree.trunk().ids().get(depth + 1..).unwrap_or_default();
    let prompts: Vec<NodeId> = (depth + 1..tree.trunk().ids().len())
        .filter(|depth| message_at(tree, *depth).is_some_and(is_prompt))
        .filter_map(|depth| tree.trunk().ids().get(depth).copied())
        .collect();
    if !prompts.is_empty() && mover.prompts != crate::Prompts::Leave {
        return Err(ReturnReason::CrossesPrompt { prompts });
    }
    Ok(Plan {
        request: request.clone(),
        author: mover.author,
        target: tip,
        head: tree.head(),
        leaving: leaving.to_vec(),
        prompts,
        copies: Vec::new(),
        tools: tool_names(tree, leaving),
        move_id: next_move(tree),
        price: None,
        uncovered: Uncovered::by(tree, stays),
        back: own.span(tip),
        stays,
    })
}

/// Returns the ends of the newest branches to which the model could go back, oldest first.
fn working(tree: &MessageTree, own: &OwnBranches<'_>, call: Option<&CallPlace>, mover: Mover) -> Vec<NodeId> {
    let mut works = Vec::new();
    for tip in own.newest().into_iter().take(MOST_TRIED) {
        let mut request = Request::new(crate::Category::Failure, tip, None);
        request.call = call.cloned();
        if works.len() < LISTED && planned(tree, own, &request, mover).is_ok() {
            works.push(tip);
        }
    }
    works.reverse();
    works
}

impl Record {
    /// Returns the record of a return to a branch that was refused.
    pub fn not_returned(request: &Request, refusal: &ReturnRefusal, mover: Mover) -> Self {
        Record::not_applied(request, refusal.to_string(), mover)
    }
}
