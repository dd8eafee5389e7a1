//! What a model asks of its branches in one turn: to leave one, to go back to one, to merge some.
//!
//! One of these changes the conversation at most. Whatever else was asked for was written for a conversation that is gone.

use std::cell::OnceCell;
use std::fmt;

use trunkline_message_tree::{Message, MessageTree, NodeId};

use crate::plan::plan;
use crate::{
    ArgumentError, CallPlace, MERGE_TOOL_NAME, Merge, MergeReason, MergeRefusal, Mover, Note, OwnBranches,
    Plan, RETURN_TOOL_NAME, Reason, Record, Refusal, Request, ReturnReason, ReturnRefusal, TOOL_NAME,
    merge_own, parse_branches, plan_return,
};

/// What one call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ask {
    /// To go back to an earlier node.
    Revert(Request),
    /// To go back to a branch that was left.
    Return(Request),
    /// To bring back what came of branches.
    Merge {
        /// Nodes of them.
        branches: Vec<NodeId>,
        /// The call.
        call: CallPlace,
    },
}

impl Ask {
    /// Reads a call; `None` if it asks for nothing of this.
    pub fn read(name: &str, arguments: &str, call: CallPlace) -> Option<Result<Ask, ArgumentError>> {
        match name {
            TOOL_NAME => Some(Request::parse(arguments).map(|request| Ask::Revert(request.from_call(call)))),
            RETURN_TOOL_NAME => {
                Some(Request::parse_return(arguments).map(|request| Ask::Return(request.from_call(call))))
            }
            MERGE_TOOL_NAME => Some(parse_branches(arguments).map(|branches| Ask::Merge { branches, call })),
            _ => None,
        }
    }

    /// Returns all that the calls of a message ask for, in their order, each with its place.
    pub fn of(
        node: NodeId,
        message: &Message,
    ) -> impl Iterator<Item = (CallPlace, Result<Ask, ArgumentError>)> {
        message.calls().enumerate().filter_map(move |(index, call)| {
            let place = CallPlace { node, index, call_id: call.id.clone() };
            Some((place.clone(), Ask::read(&call.name, &call.arguments, place)?))
        })
    }
}

/// What is done of what a turn asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "who settles a turn has to carry each of them out")]
pub enum Granted {
    /// The head moves.
    Move(Box<Plan>),
    /// A message is added that merges branches.
    Merge(Box<Merge>),
}

/// Why what a call asks for is not done; its text is meant for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "each has a record of its own")]
pub enum AskRefusal {
    /// Of a revert.
    Revert(Refusal),
    /// Of a return to a branch.
    Return(ReturnRefusal),
    /// Of a merge.
    Merge(MergeRefusal),
}

impl fmt::Display for AskRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AskRefusal::Revert(refusal) => refusal.fmt(f),
            AskRefusal::Return(refusal) => refusal.fmt(f),
            AskRefusal::Merge(refusal) => refusal.fmt(f),
        }
    }
}

/// Decides what is done of what one turn asks for, in the order of its calls, and returns the answers in that order.
///
/// The first that can be carried out is. `notes` are all notes of the session, `records` its requests to revert as far as they
/// are known. Costs what the moves of the session have cost if a branch is named, else what [`plan`] costs.
pub fn drain_asks(
    tree: &MessageTree,
    (notes, records): (&[Note], &[Record]),
    asks: &[Ask],
    mover: Mover,
) -> Vec<Result<Granted, AskRefusal>> {
    let own = OnceCell::new();
    let own = || own.get_or_init(|| OwnBranches::of(tree, notes, records));
    let mut done: Option<Reason> = None;
    let mut answers = Vec::with_capacity(asks.len());
    for ask in asks {
        let answer = match &done {
            Some(done) => Err(too_late(ask, done)),
            None => decide(tree, notes, own, ask, mover),
        };
        match &answer {
            Ok(Granted::Move(plan)) if plan.back.is_empty() => {
                done = Some(Reason::OtherApplied { target: plan.target });
            }
            Ok(_) => done = Some(Reason::OtherMove),
            Err(_) => {}
        }
        answers.push(answer);
    }
    answers
}

fn decide<'a>(
    tree: &MessageTree,
    notes: &[Note],
    own: impl Fn() -> &'a OwnBranches<'a>,
    ask: &Ask,
    mover: Mover,
) -> Result<Granted, AskRefusal> {
    match ask {
        Ask::Revert(request) => {
            let planned = plan(tree, request, mover).map_err(AskRefusal::Revert)?;
            Ok(Granted::Move(Box::new(planned)))
        }
        Ask::Return(request) => {
            let planned = plan_return(tree, own(), request, mover).map_err(AskRefusal::Return)?;
            Ok(Granted::Move(Box::new(planned)))
        }
        Ask::Merge { branches, .. } => {
            let merge = merge_own(tree, notes, own(), branches).map_err(AskRefusal::Merge)?;
            Ok(Granted::Merge(Box::new(merge)))
        }
    }
}

fn too_late(ask: &Ask, done: &Reason) -> AskRefusal {
    match ask {
        Ask::Revert(_) => AskRefusal::Revert(Refusal { reason: done.clone(), works: Vec::new() }),
        Ask::Return(_) => {
            AskRefusal::Return(ReturnRefusal { reason: ReturnReason::OtherMove, works: Vec::new() })
        }
        Ask::Merge { .. } => {
            AskRefusal::Merge(MergeRefusal { reason: MergeReason::OtherMove, works: Vec::new() })
        }
    }
}
