//! A step back that somebody may take: policy, the model or a person.
//!
//! A proposal moves nothing and stops nothing. What became of it is recorded in every case, also if nobody answered, so
//! that it can be seen later whether proposals are worth making.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Author, MessageTree, MoveId, NodeId};

use crate::mark::PROPOSAL_LABEL;
use crate::one_line::one_line;
use crate::targets::newest_working;
use crate::{Category, Mover, Record, Request, Stall, Watch, Why};

/// The longest reason for an answer that is kept, in characters.
const MAX_REASON_CHARS: usize = 200;

/// Why a text is not the name of a proposal.
#[derive(Copy, Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a proposal is named like p3")]
#[non_exhaustive]
pub struct ProposalIdError {}

impl FromStr for ProposalId {
    type Err = ProposalIdError;

    /// Reads `p3` or `3`, and nothing that only looks like it.
    fn from_str(text: &str) -> Result<Self, ProposalIdError> {
        let text = text.trim();
        let digits = text.strip_prefix(['p', 'P']).unwrap_or(text);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(ProposalIdError {});
        }
        digits.parse().map(ProposalId).map_err(|_| ProposalIdError {})
    }
}

/// The name of a proposal in one session, printed `p3`, counted from 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[expect(clippy::exhaustive_structs, reason = "a name")]
pub struct ProposalId(pub u32);

impl fmt::Display for ProposalId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}

/// Where a proposal comes from.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// A watch noticed that the run gets nowhere.
    Stall,
    /// A model asked for a step that needs a person; see [`Prompts::Ask`](crate::Prompts::Ask).
    Ask,
}

/// A step back that is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Proposal {
    /// Its name.
    pub id: ProposalId,
    /// What to ask for; `None` if there is nowhere to go back to, as right after a prompt. Then the reason is all that
    /// there is to say, and a person is the one to say it to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// Why.
    pub because: Why,
    /// Where the head was.
    pub head: NodeId,
    /// How many turns the watch had seen.
    pub at_turn: u32,
}

impl Proposal {
    /// Returns what to propose to a person when a model's request was refused with
    /// [`Reason::NeedsPerson`](crate::Reason::NeedsPerson).
    ///
    /// `head` is where the head is once the results of the turn stand.
    pub fn asked(request: &Request, prompts: &[NodeId], head: NodeId, id: ProposalId, at_turn: u32) -> Self {
        let because = Why::Asked { prompts: prompts.to_vec() };
        Proposal { id, request: Some(request.clone()), because, head, at_turn }
    }

    /// Returns where it comes from.
    pub fn source(&self) -> Source {
        match self.because {
            Why::Asked { .. } => Source::Ask,
            _ => Source::Stall,
        }
    }
}

impl Stall {
    /// Returns the proposal to go back to before the stall began.
    ///
    /// The target is the newest one that works for this mover and is not newer than the start of the stall; if words of
    /// a person bar the way there, the one right after them. After reverts that taught nothing it is older than the
    /// place to which they went back. Costs one step per node that would leave.
    pub fn propose(&self, tree: &MessageTree, mover: Mover, id: ProposalId) -> Proposal {
        let head = tree.head();
        let target = self.target(tree, mover);
        let summary = format!("no progress: {}; go on in another way", self.because);
        let request = target.map(|target| Request::new(Category::Failure, target, Some(&summary)));
        Proposal { id, request, because: self.because.clone(), head, at_turn: self.at_turn }
    }

    fn target(&self, tree: &MessageTree, mover: Mover) -> Option<NodeId> {
        if !tree.is_on_trunk(self.since) {
            return None;
        }
        let depth_of = |node: NodeId| tree.node(node).map_or(0, |node| node.depth());
        let since = depth_of(self.since);
        // There is at most one target at each depth, so the last of these is old enough if any is.
        let most = depth_of(tree.head()).saturating_sub(since).max(1);
        let works = newest_working(tree, mover, None, most);
        let old_enough = works.iter().rev().find(|node| depth_of(**node) <= since);
        old_enough.or(works.first()).copied()
    }
}

impl Proposal {
    /// Returns whether its target and the head at which it was made are still on the trunk.
    pub fn stands(&self, tree: &MessageTree) -> bool {
        let target = self.request.as_ref().map(|request| request.target);
        tree.is_on_trunk(self.head) && target.is_none_or(|target| tree.is_on_trunk(target))
    }

    /// Whether its head or its target is among these nodes.
    fn is_left(&self, left: &[NodeId]) -> bool {
        let target = self.request.as_ref().map(|request| request.target);
        left.contains(&self.head) || target.is_some_and(|target| left.contains(&target))
    }

    /// Returns what the model is told, once: what was noticed, what it may do, and that it may go on.
    ///
    /// Two lines. It is a question and no order: an order to go back that stays in the prompt is followed again.
    pub fn text_for_model(&self) -> String {
        let offer = match &self.request {
            Some(request) => format!(
                "You may go back with revert_to_state (category {}, step \"{}\") and take another way, or go on if you \
                 expect something new.",
                request.category, request.target
            ),
            None => {
                "Take another way, say what you are missing, or go on if you expect something new.".to_owned()
            }
        };
        format!("{PROPOSAL_LABEL} {}.\n{offer} Nothing was stopped.", self.because)
    }

    /// Returns what a person is told, on one line.
    pub fn text_for_person(&self) -> String {
        match &self.request {
            Some(request) => {
                format!("{}: {}; proposed: go back to {}", self.id, self.because, request.target)
            }
            None => format!("{}: {}; there is nowhere to go back to", self.id, self.because),
        }
    }
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "became")]
#[non_exhaustive]
pub enum Answer {
    /// It was carried out.
    Accepted {
        /// By this move.
        move_id: MoveId,
    },
    /// Somebody said no.
    Declined {
        /// Why, on one line of at most 200 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// It was out of date before somebody answered: there was progress, the head moved, or a newer one was made.
    Overtaken,
}

impl Answer {
    /// Returns a no, with a reason that is folded to one line.
    pub fn declined(reason: Option<&str>) -> Self {
        let reason = reason.map(|text| one_line(text, MAX_REASON_CHARS)).filter(|line| !line.is_empty());
        Answer::Declined { reason }
    }
}

/// What to store of proposals, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProposalEvent {
    /// One was made.
    Made(Proposal),
    /// One was answered.
    Answered {
        /// Which.
        id: ProposalId,
        /// What became of it.
        answer: Answer,
        /// Who answered; the harness if a policy did, or nobody.
        by: Author,
    },
}

/// Why an event does not fit what is known of a session's proposals.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProposalError {
    /// Proposals are named in order.
    #[error("{given} is not the next proposal, {next} is")]
    NotNext {
        /// The name that was given.
        given: ProposalId,
        /// The name that would fit.
        next: ProposalId,
    },
    /// There is none of that name, or it was answered.
    #[error("{id} is not an open proposal")]
    NotOpen {
        /// The name that was given.
        id: ProposalId,
    },
    /// Something was accepted that proposes no step.
    #[error("{id} proposes no step that could be accepted")]
    NothingToAccept {
        /// The name that was given.
        id: ProposalId,
    },
}

/// The proposals of a session: a fold of what is stored. Holds those that are open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposals {
    made: u32,
    open: BTreeMap<ProposalId, Proposal>,
}

impl Proposals {
    /// Returns the name that the next proposal has.
    pub fn next_id(&self) -> ProposalId {
        ProposalId(self.made)
    }

    /// Returns those that nobody answered, oldest first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Proposal> {
        self.open.values()
    }

    /// Returns what to store when everything that is open is out of date.
    pub fn overtake(&self) -> Vec<ProposalEvent> {
        self.open.keys().copied().map(overtaken).collect()
    }

    /// Returns what to store at the end of a turn; `leaving` is the move that it ends with, and the watch has seen the turn.
    ///
    /// A model that goes back has taken the step that was proposed after a stall, even if it chose another node. What has its
    /// head or its target on the branch that is left, or was made of a stall that is over, is overtaken.
    pub fn answered_by_turn(&self, leaving: Option<&Record>, watch: &Watch) -> Vec<ProposalEvent> {
        let answered = |proposal: &Proposal| {
            let gone = leaving.is_some_and(|record| proposal.is_left(&record.abandoned));
            let stall = proposal.source() == Source::Stall;
            // Going to a branch is no step back.
            let taken = leaving.filter(|record| record.back.is_empty()).and_then(|record| record.move_id);
            let taken = taken.filter(|_| stall && proposal.request.is_some());
            let (answer, by) = match taken {
                Some(move_id) => (Answer::Accepted { move_id }, Author::Model),
                None if gone || (stall && watch.outdates(proposal)) => (Answer::Overtaken, Author::Harness),
                None => return None,
            };
            Some(ProposalEvent::Answered { id: proposal.id, answer, by })
        };
        self.open().filter_map(answered).collect()
    }

    /// Returns what to store when these nodes leave the trunk: what has its head or its target there is overtaken, but for the
    /// one that is `taken` by it.
    pub fn overtaken_by_move(&self, left: &[NodeId], taken: Option<ProposalId>) -> Vec<ProposalEvent> {
        let gone = self.open().filter(|proposal| proposal.is_left(left)).map(|proposal| proposal.id);
        gone.filter(|id| Some(*id) != taken).map(overtaken).collect()
    }

    /// Returns whether a model has asked a person for this step before, and they can still take it as it was asked for: the
    /// same target and category, and the same words of a person to leave.
    pub fn is_asked(&self, tree: &MessageTree, request: &Request, prompts: &[NodeId]) -> bool {
        self.open().any(|proposal| {
            let asked = proposal.request.as_ref();
            let same = asked
                .is_some_and(|asked| (asked.target, asked.category) == (request.target, request.category));
            // With more words of a person to leave it is another question.
            let of_same = matches!(&proposal.because, Why::Asked { prompts: words } if words == prompts);
            same && of_same && proposal.stands(tree)
        })
    }

    /// Returns an open one by its name.
    pub fn get(&self, id: ProposalId) -> Option<&Proposal> {
        self.open.get(&id)
    }

    /// Returns what to store when a proposal is made: it overtakes those from the same source that are open.
    pub fn make(&self, proposal: Proposal) -> Vec<ProposalEvent> {
        let source = proposal.source();
        let mut events: Vec<ProposalEvent> =
            self.open().filter(|open| open.source() == source).map(|open| overtaken(open.id)).collect();
        events.push(ProposalEvent::Made(proposal));
        events
    }

    /// Takes note of a stored proposal that cannot be read or does not fit: its name is taken.
    pub fn pass_over(&mut self, id: ProposalId) {
        self.made = self.made.max(id.0.saturating_add(1));
    }

    /// Takes in what was stored.
    ///
    /// # Errors
    ///
    /// Any [`ProposalError`]; then nothing was changed.
    pub fn record(&mut self, event: &ProposalEvent) -> Result<(), ProposalError> {
        match event {
            ProposalEvent::Made(proposal) => {
                let (given, next) = (proposal.id, self.next_id());
                if given != next {
                    return Err(ProposalError::NotNext { given, next });
                }
                self.made = self.made.saturating_add(1);
                self.open.insert(given, proposal.clone());
            }
            ProposalEvent::Answered { id, answer, .. } => {
                let open = self.open.get(id).ok_or(ProposalError::NotOpen { id: *id })?;
                if matches!(answer, Answer::Accepted { .. }) && open.request.is_none() {
                    return Err(ProposalError::NothingToAccept { id: *id });
                }
                self.open.remove(id);
            }
        }
        Ok(())
    }
}

fn overtaken(id: ProposalId) -> ProposalEvent {
    ProposalEvent::Answered { id, answer: Answer::Overtaken, by: Author::Harness }
}
