//! Decides what a request would do.
//!
//! A plan is made while the head is still the message that holds the call, because the outcome has to stand in that
//! call's own result. The results of the turn are appended after the plan and leave together with everything else.

use std::collections::HashSet;

use trunkline_message_tree::{Author, MessageTree, MoveId, MoveKind, NodeId};

use crate::boundary::{group_end, is_prompt, message_at};
use crate::one_line::one_line;
use crate::refusal::LISTED;
use crate::targets::newest_working;
use crate::{CallPlace, Price, PromptCopy, Reason, Refusal, Request, Uncovered, is_conversation_tool};

/// Who moves the head, and what that may take along.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Mover {
    /// Who asks.
    pub author: Author,
    /// What happens if words of a person would be left behind.
    pub prompts: Prompts,
}

impl Mover {
    /// A model, which may not leave words of a person behind.
    pub const MODEL: Mover = Mover { author: Author::Model, prompts: Prompts::Refuse };

    /// A person, whose own revert may cross prompts.
    pub const PERSON: Mover = Mover { author: Author::Person, prompts: Prompts::Leave };
}

/// What happens to words of a person that stand between the target and the head.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prompts {
    /// The revert is refused.
    Refuse,
    /// They leave with the rest.
    Leave,
    /// They leave with the rest, and copies of them follow after the target, in order: nothing that a person asked for is
    /// forgotten.
    Rebase,
    /// The revert is refused for now, with [`Reason::NeedsPerson`]: the caller asks whose words they are.
    Ask,
}

impl Prompts {
    /// Returns whether words of a person may leave the trunk.
    pub(crate) const fn may_leave(self) -> bool {
        matches!(self, Prompts::Leave | Prompts::Rebase)
    }
}

/// What a revert would do. Nothing has happened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// What was asked for.
    pub request: Request,
    /// Who asked.
    pub author: Author,
    /// The node on which the head will be; after the requested one if that is inside a group of calls and results.
    pub target: NodeId,
    /// Where the head was when the plan was made.
    pub head: NodeId,
    /// The nodes between, oldest first; results that are appended later leave too.
    pub leaving: Vec<NodeId>,
    /// Those of them that are words of a person.
    pub prompts: Vec<NodeId>,
    /// The copies of those words that follow after the target; empty unless the mover's rule is [`Prompts::Rebase`].
    pub copies: Vec<PromptCopy>,
    /// The names of the tools that were called there, each once, without those for reverts.
    pub tools: Vec<String>,
    /// The name that the head move will have.
    pub move_id: MoveId,
    /// What it costs, to be stated in the call's own result; not stated unless set.
    pub price: Option<Price>,
    /// What is shown again that a compaction stood for; `None` if that is nothing.
    pub uncovered: Option<Uncovered>,
    /// The nodes that come back to the trunk, oldest first; empty unless the model goes back to a branch that it left, see
    /// [`plan_return`](crate::plan_return).
    pub back: Vec<NodeId>,
    /// The last node that stays: the target, or where the branch parts that comes back.
    pub(crate) stays: NodeId,
}

impl Plan {
    /// Returns what the call's own result says.
    pub fn result_text(&self) -> String {
        let Plan { request, target, .. } = self;
        let note = request.category.note_kind();
        let snapped = if request.target == *target {
            String::new()
        } else {
            format!(" ({} belongs to a group of calls that ends there)", request.target)
        };
        let rebased = match self.copies.len() {
            0 => String::new(),
            1 => ", followed by a copy of the user message that was left".to_owned(),
            count => format!(", followed by copies of the {count} user messages that were left"),
        };
        let price = self.price.as_ref().map(|price| format!("; {}", price.text())).unwrap_or_default();
        if let Some(first) = self.back.first() {
            return format!(
                "return applied ({}): the conversation goes on from {target}, the end of the branch that begins with \
                 {first}; what came after {} was left, and a note ({note}) stands behind {target}{}{price}",
                request.category,
                self.stays,
                self.uncovered.map(|shown| format!("; {shown}")).unwrap_or_default()
            );
        }
        format!(
            "revert applied ({}): the conversation goes on from {target}{snapped}; what came after it was left, \
             and a note ({note}) stands there{rebased}{}{price}",
            request.category,
            self.uncovered.map(|shown| format!("; {shown}")).unwrap_or_default()
        )
    }

    /// Says how many tokens a prompt may have, so that the plan tells whether what it shows again still fits.
    #[must_use]
    pub fn in_window(mut self, window_tokens: u64) -> Self {
        if let Some(uncovered) = &mut self.uncovered {
            uncovered.window_tokens = Some(window_tokens);
        }
        self
    }

    /// Returns the last node that stays: the target, or where the branch parts that comes back.
    pub fn stays(&self) -> NodeId {
        self.stays
    }

    /// Returns the kind of head move that the plan makes.
    pub fn move_kind(&self) -> MoveKind {
        match self.author {
            Author::Person => MoveKind::PersonRevert,
            _ => MoveKind::ModelRevert,
        }
    }
}

/// Decides what a request would do to this tree, which stays as it is.
///
/// Works on the tree before the results of the turn are appended, and just as well after. Costs one step per node that
/// leaves, whatever the length of the conversation.
///
/// # Errors
///
/// A [`Refusal`] with its [`Reason`] and targets that would work.
pub fn plan(tree: &MessageTree, request: &Request, mover: Mover) -> Result<Plan, Refusal> {
    let refuse =
        |reason| Refusal { works: newest_working(tree, mover, request.call.as_ref(), LISTED), reason };
    let target = request.target;
    let call_depth = match &request.call {
        None => None,
        Some(CallPlace { node, .. }) if !tree.is_on_trunk(*node) => {
            return Err(refuse(Reason::CallLeft { call: *node }));
        }
        Some(CallPlace { node, .. }) => tree.node(*node).ok().map(|node| node.depth()),
    };

    let depth = tree.node(target).map_err(|_| refuse(Reason::NotFound { target }))?.depth();
    if !tree.is_on_trunk(target) {
        return Err(refuse(Reason::OffTrunk { target }));
    }
    let end = group_end(tree, depth);
    if call_depth.is_some_and(|call| end >= call) {
        return Err(refuse(Reason::NotOlder { target }));
    }

    let ids = tree.trunk().ids();
    let leaving = ids.get(end + 1..).unwrap_or_default();
    if leaving.is_empty() {
        return Err(refuse(Reason::NothingToLeave { target }));
    }
    let prompts: Vec<NodeId> = (end + 1..ids.len())
        .filter(|depth| message_at(tree, *depth).is_some_and(is_prompt))
        .map(|depth| ids[depth])
        .collect();
    match mover.prompts {
        Prompts::Refuse if !prompts.is_empty() => {
            return Err(refuse(Reason::CrossesPrompt { target, prompts }));
        }
        Prompts::Ask if !prompts.is_empty() => return Err(refuse(Reason::NeedsPerson { target, prompts })),
        // All of it would come back.
        Prompts::Rebase if prompts.len() == leaving.len() => {
            return Err(refuse(Reason::AllComesBack { target }));
        }
        _ => {}
    }
    let copied = prompts.iter().filter(|_| mover.prompts == Prompts::Rebase);
    let copies = copied.filter_map(|id| PromptCopy::of(tree, *id)).collect();
    Ok(Plan {
        request: request.clone(),
        author: mover.author,
        target: ids[end],
        head: tree.head(),
        leaving: leaving.to_vec(),
        prompts,
        copies,
        tools: tool_names(tree, leaving),
        move_id: next_move(tree),
        price: None,
        uncovered: Uncovered::by(tree, ids[end]),
        back: Vec::new(),
        stays: ids[end],
    })
}

/// Decides what the requests of one turn do, and returns the answers in the order in which they were given.
///
/// The first one that can be carried out wins, in the order of their calls; every later one is refused with
/// [`Reason::OtherApplied`], because it was written for a branch that is gone.
pub fn drain(tree: &MessageTree, requests: &[Request], mover: Mover) -> Vec<Result<Plan, Refusal>> {
    // Tools run side by side, so a queue may not hold them in the order in which the model wrote them.
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by(|a, b| requests[*a].call.cmp(&requests[*b].call));

    let mut applied: Option<NodeId> = None;
    let mut answers: Vec<(usize, Result<Plan, Refusal>)> = Vec::with_capacity(requests.len());
    for index in order {
        let answer = match applied {
            Some(target) => Err(Refusal { reason: Reason::OtherApplied { target }, works: Vec::new() }),
            None => plan(tree, &requests[index], mover),
        };
        if let Ok(plan) = &answer {
            applied = Some(plan.target);
        }
        answers.push((index, answer));
    }
    answers.sort_by_key(|(index, _)| *index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// Returns the name that the next head move of the tree will have.
pub(crate) fn next_move(tree: &MessageTree) -> MoveId {
    MoveId(tree.moves().len() as u32)
}

/// Returns the names of the tools that were called in these nodes, each once, in order.
pub(crate) fn tool_names(tree: &MessageTree, nodes: &[NodeId]) -> Vec<String> {
    let mut seen = HashSet::new();
    let messages = nodes.iter().filter_map(|id| tree.node(*id).ok()).map(|node| node.message());
    let names = messages.flat_map(|message| message.calls()).map(|call| call.name.as_str());
    names
        .filter(|name| !is_conversation_tool(name) && seen.insert(*name))
        .map(|name| one_line(name, 64))
        .filter(|name| !name.is_empty())
        .collect()
}
