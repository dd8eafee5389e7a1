//! Whether a run gets anywhere: what a watch is told of a turn, and what becomes of the steps back that were proposed.

use trunkline_message_tree::{Author, Message, MessageTree, NodeId, ToolResult};
use trunkline_revert::{
    Answer, Observation, Proposal, ProposalEvent, ProposalId, Proposals, Record, Request, Seen, Source,
    Tests, Watch, Why,
};

/// Returns what a watch sees of a turn; `tests` are the lines that sum up the tests in it.
pub(crate) fn observation<'a>(
    node: NodeId,
    message: &Message,
    results: &[&ToolResult],
    tests: impl Iterator<Item = &'a str>,
) -> Observation {
    let calls = message.calls().enumerate();
    let turn = Observation::new(node, calls.map(|(at, call)| Seen::of(call, results.get(at).copied())));
    let sum = |a: Tests, b: Tests| Tests {
        passed: a.passed.saturating_add(b.passed),
        failed: a.failed.saturating_add(b.failed),
    };
    match tests.filter_map(Tests::read).reduce(sum) {
        Some(tests) => turn.with_tests(tests),
        None => turn,
    }
}

/// Returns the events that answer open proposals at the end of a turn.
///
/// A model that goes back has taken the step that was proposed, even if it chose another node. The watch has seen the
/// turn.
pub(crate) fn answers(open: &Proposals, leaving: Option<&Record>, watch: &Watch) -> Vec<ProposalEvent> {
    let answered = |proposal: &Proposal| {
        let left = |node: NodeId| leaving.is_some_and(|record| record.abandoned.contains(&node));
        let target = proposal.request.as_ref().map(|request| request.target);
        let gone = left(proposal.head) || target.is_some_and(left);
        let stall = proposal.source() == Source::Stall;
        let taken = leaving.and_then(|record| record.move_id).filter(|_| stall && target.is_some());
        let (answer, by) = match taken {
            Some(move_id) => (Answer::Accepted { move_id }, Author::Model),
            None if gone || (stall && watch.outdates(proposal)) => (Answer::Overtaken, Author::Harness),
            None => return None,
        };
        Some(ProposalEvent::Answered { id: proposal.id, answer, by })
    };
    open.open().filter_map(answered).collect()
}

/// Returns the events that answer open proposals whose head or target leaves the trunk, but for the one that is `taken`.
pub(crate) fn left_behind(
    open: &Proposals,
    left: &[NodeId],
    taken: Option<ProposalId>,
) -> Vec<ProposalEvent> {
    let leaves = |proposal: &&Proposal| {
        let target = proposal.request.as_ref().map(|request| request.target);
        left.contains(&proposal.head) || target.is_some_and(|target| left.contains(&target))
    };
    let gone = open.open().filter(leaves).map(|proposal| proposal.id).filter(|id| Some(*id) != taken);
    gone.map(|id| ProposalEvent::Answered { id, answer: Answer::Overtaken, by: Author::Harness }).collect()
}

/// Returns whether a model has asked a person for this step before, and they can still take it as it was asked for.
pub(crate) fn is_asked(open: &Proposals, tree: &MessageTree, request: &Request, prompts: &[NodeId]) -> bool {
    open.open().any(|proposal| {
        let asked = proposal.request.as_ref();
        let same =
            asked.is_some_and(|asked| (asked.target, asked.category) == (request.target, request.category));
        // With more words of a person to leave it is another question.
        let of_same = matches!(&proposal.because, Why::Asked { prompts: words } if words == prompts);
        same && of_same && proposal.stands(tree)
    })
}
