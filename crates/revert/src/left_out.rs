//! The trunk without what is left out of requests: how large it is, and what can be compacted.
//!
//! A result that is left out is one line of the prompt, whoever left it out. What a provider counted before that tells of a larger
//! prompt, and its bytes make no tokens any more.

use trunkline_message_tree::{Message, MessageTree, NodeId, ToolResult};

use crate::compact::{compaction, compaction_now, tokens};
use crate::price::{bytes_of, result_bytes};
use crate::render::is_reply;
use crate::{CompactPlan, CompactPolicy, Note, PromptTokens, PrunePolicy, Prunings, turn};

/// About how long the line is that stands in place of a result.
const LINE_BYTES: u64 = 100;

/// The trunk of a tree as it is sent.
#[derive(Copy, Clone, Debug)]
pub struct Sent<'a> {
    tree: &'a MessageTree,
    prunings: Option<&'a Prunings>,
    rule: Option<PrunePolicy>,
}

impl<'a> Sent<'a> {
    /// Returns the trunk with all of its results.
    pub fn whole(tree: &'a MessageTree) -> Self {
        Sent { tree, prunings: None, rule: None }
    }

    /// Leaves out what the model asked to leave out.
    #[must_use]
    pub fn without(self, prunings: &'a Prunings) -> Self {
        Sent { prunings: Some(prunings).filter(|prunings| !prunings.is_empty()), ..self }
    }

    /// Leaves out what a rule leaves out.
    #[must_use]
    pub fn by_rule(self, rule: Option<PrunePolicy>) -> Self {
        Sent { rule, ..self }
    }

    /// Returns how large the next prompt is, see [`prompt_tokens`](crate::prompt_tokens).
    pub fn tokens(&self) -> PromptTokens {
        tokens(self.tree, &self.left_out())
    }

    /// Decides whether the prompt is compacted now, see [`plan_compaction`](crate::plan_compaction).
    pub fn compaction(&self, notes: &[Note], policy: &CompactPolicy) -> Option<CompactPlan> {
        compaction(self.tree, &self.left_out(), notes, policy)
    }

    /// Decides what is compacted if somebody wants it now, see [`plan_compaction_now`](crate::plan_compaction_now).
    pub fn compaction_now(&self, notes: &[Note], policy: &CompactPolicy) -> Option<CompactPlan> {
        compaction_now(self.tree, &self.left_out(), notes, policy)
    }

    fn left_out(&self) -> LeftOut<'a> {
        let mut since: Vec<NodeId> =
            self.prunings.into_iter().flat_map(Prunings::iter).map(|(_, since)| since).collect();
        since.sort_unstable();
        // Until the rule leaves anything out there is nothing to look for.
        let rule = self.rule.filter(|rule| rule.pruned_turns(turn(self.tree)).is_some());
        let replies = self.tree.nodes().filter(|(_, node)| rule.is_some() && is_reply(node));
        let replies: Vec<NodeId> = replies.map(|(id, _)| id).collect();
        let mut left_out = LeftOut { prunings: self.prunings, since, rule, replies, now: (0, None) };
        left_out.now = (left_out.since.len(), left_out.cut(left_out.replies.len()));
        left_out
    }
}

impl Prunings {
    /// Returns how many bytes of the message in a node become tokens, see [`token_bytes`](crate::token_bytes): of a result that is
    /// left out only those of the line in its place.
    pub fn token_bytes(&self, node: NodeId, message: &Message) -> u64 {
        shown_bytes(message, |_| self.contains(node))
    }
}

fn shown_bytes(message: &Message, is_left_out: impl Fn(&ToolResult) -> bool) -> u64 {
    let saved = message.results().filter(|result| is_left_out(result));
    let saved = saved.map(|result| result_bytes(result).saturating_sub(LINE_BYTES)).sum();
    bytes_of(message).saturating_sub(saved)
}

/// How much was left out of a request: how many results that were asked for, and the node before which the rule looks.
pub(crate) type State = (usize, Option<NodeId>);

/// What is left out of the next request, and what was left out of those before.
pub(crate) struct LeftOut<'a> {
    prunings: Option<&'a Prunings>,
    /// Where the head was at each pruning, in order.
    since: Vec<NodeId>,
    rule: Option<PrunePolicy>,
    /// All that the clock of turns counts, in order; none without a rule.
    replies: Vec<NodeId>,
    now: State,
}

impl LeftOut<'_> {
    pub(crate) fn nothing() -> Self {
        LeftOut { prunings: None, since: Vec::new(), rule: None, replies: Vec::new(), now: (0, None) }
    }

    /// Returns how much is left out of the next request.
    pub(crate) fn now(&self) -> State {
        self.now
    }

    /// Returns how much was left out of the request that a message of the model answers.
    pub(crate) fn at(&self, reply: NodeId) -> State {
        let asked = self.since.partition_point(|since| *since < reply);
        (asked, self.cut(self.replies.partition_point(|one| *one < reply)))
    }

    /// Returns the bytes of a message that become tokens in the next request.
    pub(crate) fn bytes(&self, node: NodeId, message: &Message) -> u64 {
        let asked = self.prunings.is_some_and(|prunings| prunings.contains(node));
        let old = self.now.1.is_some_and(|cut| node < cut);
        match asked || old {
            true => shown_bytes(message, |result| asked || self.by_rule(result)),
            false => bytes_of(message),
        }
    }

    /// Returns the bytes that the request had which a message of the model answers, and that the next one has not.
    pub(crate) fn since(&self, tree: &MessageTree, reply: NodeId) -> u64 {
        let trunk = tree.trunk();
        let covers = trunk.covers();
        let (_, then) = self.at(reply);
        // Both kinds are older than the reply, and few of them are older than the reply before it.
        let asked = self.prunings.into_iter().flat_map(Prunings::iter);
        let asked = asked.filter(|(node, since)| *since >= reply && *node < reply && tree.is_on_trunk(*node));
        let place = |cut: Option<NodeId>| cut.map_or(0, |cut| trunk.ids().partition_point(|id| *id < cut));
        let (first, end) = (place(then), place(self.now.1));
        let by_rule = trunk.ids().get(first..end).unwrap_or_default().iter().copied();
        let by_rule = by_rule.filter(|node| self.prunings.is_none_or(|prunings| !prunings.contains(*node)));
        let saved = asked.map(|(node, _)| node).chain(by_rule).filter_map(|id| {
            let node = tree.node(id).ok()?;
            let depth = node.depth();
            let covered = covers.iter().any(|cover| cover.first <= depth && depth <= cover.last);
            let message = node.message();
            (!covered).then(|| bytes_of(message).saturating_sub(self.bytes(id, message)))
        });
        saved.fold(0, u64::saturating_add)
    }

    fn by_rule(&self, result: &ToolResult) -> bool {
        self.rule.is_some_and(|rule| rule.leaves_out(result))
    }

    /// Returns the first node whose result stayed after so many turns.
    fn cut(&self, turns: usize) -> Option<NodeId> {
        let pruned = self.rule?.pruned_turns(u32::try_from(turns).unwrap_or(u32::MAX))?;
        self.replies.get(pruned).copied()
    }
}
