//! The list that a model is sent, kept from one request to the next.
//!
//! Rendering and marking a long conversation anew for every request costs more than everything else that happens between
//! two requests. What is kept here is brought up to date instead, at the cost of what changed. Messages that stay are
//! the same allocations, so whoever has encoded one by its address need not do it again.

mod answered;
mod standing;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use trunkline_message_tree::{Covered, Message, MessageList, MessageTree, Node, NodeId, Role, ToolCall};

use self::answered::Answered;
use self::standing::{Changes, Standing};
use crate::cache::cache_break_after;
use crate::prune::left_out;
use crate::render::{is_reply, shown_cover};
use crate::{Break, Clock, Note, Prunings, RenderPolicy, mark};

/// What [`render_at`](crate::render_at) and [`mark`] give for one session, kept up to date.
///
/// ```
/// use trunkline_message_tree::{Entry, Message, MessageTree, Timestamp};
/// use trunkline_revert::{LiveContext, RenderPolicy};
///
/// let mut tree = MessageTree::new(Message::system("be brief"), Timestamp(0));
/// let mut live = LiveContext::new(RenderPolicy::default());
/// assert_eq!(live.refresh(&tree, &[], &[]), 0);
///
/// let mut draft = tree.draft();
/// draft.append(Message::user("is 91 prime?"), Timestamp(1))?;
/// for entry in draft.into_entries() {
///     tree.record(entry)?;
/// }
/// assert_eq!(live.refresh(&tree, &[], &[]), 1, "the first message is what it was");
/// assert_eq!(live.messages()[1].text(), "[n1]\nis 91 prime?");
/// # Ok::<(), trunkline_message_tree::TreeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LiveContext {
    policy: RenderPolicy,
    standing: Standing,
    // What models wrote, which is what the turn clock counts, and the first node whose results stay whatever their size.
    replies: Vec<NodeId>,
    cut: Option<NodeId>,
    // What the model asked to leave out, and what of that came since the last time.
    prunings: Prunings,
    asked: Vec<NodeId>,
    // How much of the tree was read.
    nodes: usize,
    moves: usize,
    covering: usize,
    // The last nodes of all spans that anything stands for.
    ends: HashSet<NodeId>,
    // The trunk as it is rendered, and what is shown covered there.
    ids: Vec<NodeId>,
    covers: Vec<Covered>,
    // Invariant: one more than `ids`; the messages of what begins at a depth are from its place to the next one's. Inside of
    // a covered span it is the end of the span's.
    starts: Vec<usize>,
    messages: Vec<Arc<Message>>,
    // What they say, for requests. What was put there again and says the same is the message from before.
    list: MessageList,
    // Nothing if what was sent before the newest reply was not looked at, as after a restart.
    answered: Option<Box<Answered>>,
}

/// What stands at some depth of the trunk: a node, or one that covers a span.
#[derive(Copy, Clone)]
struct Item {
    first: usize,
    last: usize,
    id: NodeId,
    covers: bool,
}

impl LiveContext {
    /// Returns the context of a session that was not looked at yet.
    pub fn new(policy: RenderPolicy) -> Self {
        LiveContext {
            policy,
            standing: Standing::default(),
            replies: Vec::new(),
            cut: None,
            prunings: Prunings::default(),
            asked: Vec::new(),
            nodes: 0,
            moves: 0,
            covering: 0,
            ends: HashSet::new(),
            ids: Vec::new(),
            covers: Vec::new(),
            starts: vec![0],
            messages: Vec::new(),
            list: MessageList::new(),
            answered: None,
        }
    }

    /// Returns the messages as they were brought up to date last, notes and marks included.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the session's turn clock as it was then: what [`turn`](crate::turn) counts.
    pub fn turn(&self) -> u32 {
        self.replies.len() as u32
    }

    /// Returns the same messages as a list that costs nothing to hand over.
    pub fn list(&self) -> &MessageList {
        &self.list
    }

    /// What [`cache_break`](crate::cache_break) returns. Bring it up to date first.
    ///
    /// Costs what changed since the newest reply, if it was brought up to date right before that reply came; else, as after a
    /// restart, what [`cache_break`](crate::cache_break) costs.
    pub fn cache_break(&self, tree: &MessageTree, notes: &[Note], breaks: &[Break]) -> Option<Break> {
        let reply = *self.replies.last()?;
        let known =
            self.answered.as_ref().and_then(|answered| answered.cache_break(self, tree, notes, breaks));
        let clock = Clock::new(self.turn()).with_breaks(breaks).with_prunings(&self.prunings);
        known.unwrap_or_else(|| cache_break_after(tree, notes, &self.policy, &clock, reply))
    }

    /// Takes in what the model asked to leave out; the next [`refresh`](LiveContext::refresh) leaves it out. Give all of it each
    /// time; like the other lists it may only have grown.
    pub fn leave_out(&mut self, prunings: &Prunings) {
        if prunings.len() == self.prunings.len() {
            return;
        }
        let new = prunings.iter().map(|(node, _)| node).filter(|node| !self.prunings.contains(*node));
        self.asked.extend(new);
        self.prunings = prunings.clone();
    }

    /// Returns the notes that have had their time and are shown all the same, as [`Rendered::delayed`](crate::Rendered::delayed) has
    /// them: for each its place in the list that was given, and how many messages stand behind it. Give the notes of the last
    /// [`refresh`](LiveContext::refresh).
    ///
    /// Costs what is shown of the notes that decay; nothing with [`Decay::Exact`](crate::Decay::Exact).
    pub fn delayed(&self, notes: &[Note]) -> Vec<(usize, usize)> {
        let delayed = self.standing.delayed(notes, &self.policy);
        let place = |(depth, index)| {
            let item = self.item(depth);
            self.starts[item.first] + 1 + self.standing.shown_before(item.first, (depth, index))
        };
        delayed.into_iter().map(|note| (note.1, self.messages.len() - place(note) - 1)).collect()
    }

    /// Brings the messages up to date and returns how many of them, from the first, are what they were.
    ///
    /// Always give the same tree, all notes in the order in which they were made, and all breaks of the cache, oldest first;
    /// each may only have grown. One that is shorter than before is taken for another session's, and all is rendered
    /// anew. Afterwards the messages are `mark(render_at(tree, notes, policy, clock).messages)`, with the turn clock of
    /// the tree and what [`leave_out`](LiveContext::leave_out) was given.
    ///
    /// Costs one step per node that came, that left the trunk or that joined it, and per note that these concern or that
    /// decays, plus one very small step per message behind a note that comes or goes. After a compaction everything
    /// behind its beginning is put together again. Each step of pruning looks at the nodes that it is about. With
    /// [`Decay::CacheMinding`](crate::Decay::CacheMinding) every note in force is looked at when the head moves, a note
    /// comes or the cache breaks, and each time while one is from a later turn than this.
    pub fn refresh(&mut self, tree: &MessageTree, notes: &[Note], breaks: &[Break]) -> usize {
        let shrank = tree.len() < self.nodes || tree.moves().len() < self.moves;
        if shrank || notes.len() < self.standing.len() {
            let prunings = std::mem::take(&mut self.prunings);
            *self = LiveContext { prunings, ..LiveContext::new(self.policy) };
        }
        let ids = tree.trunk().ids();
        let moves = &tree.moves()[self.moves..];
        let shared = if moves.is_empty() { self.ids.len() } else { on_trunk(tree, &self.ids) };
        let (seen, turns) = (self.nodes, self.replies.len());
        self.read_nodes(tree);
        match self.replies[turns..] {
            [] => {}
            [reply] => self.answered = Answered::by(reply, seen, self, tree).map(Box::new),
            _ => self.answered = None,
        }
        let changes = Changes { from: shared, left: &self.ids[shared..], joined: &ids[shared..], moves };
        let clock = Clock::new(self.turn()).with_breaks(breaks);
        let dirty = self.standing.refresh(tree, notes, &self.policy, &clock, &changes);

        let covers = self.covers_now(tree, shared);
        let same = covers.iter().zip(&self.covers).take_while(|(new, old)| new == old).count();
        let other =
            [&covers, &self.covers].into_iter().filter_map(|covers| Some(covers.get(same)?.first)).min();
        let from = other.map_or(shared, |first| first.min(shared));
        if let Some(answered) = &mut self.answered {
            answered.keep(from, &self.ids, &self.starts);
        }
        let tail = Tail {
            ids: self.ids.split_off(from),
            covers: std::mem::replace(&mut self.covers, covers),
            messages: self.messages.split_off(self.starts[from]),
            starts: self.starts[from..].to_vec(),
            from,
        };
        self.starts.truncate(from + 1);
        self.ids.extend_from_slice(&ids[from..]);
        self.moves = tree.moves().len();

        let pruned = self.prune(tree, from);
        let items = self.items_before(from, &dirty);
        if let (Some(answered), Some(first)) = (&mut self.answered, items.last()) {
            answered.keep(*first, &self.ids, &self.starts);
        }
        let mut changed = None;
        for first in items {
            // The last of them comes first, so a later one is further ahead.
            changed = self.redraw_notes(tree, notes, first, from).or(changed);
        }
        let kept = self.draw(tree, notes, &tail);
        let kept = changed.into_iter().chain(pruned).min().unwrap_or(kept);
        self.list.truncate(kept);
        self.list.extend(self.messages[kept..].iter().cloned());
        if let Some(answered) = &mut self.answered {
            answered.stays(kept);
        }
        kept
    }

    /// Takes in the nodes that came, for the turn clock and for what they stand for.
    fn read_nodes(&mut self, tree: &MessageTree) {
        let came = (self.nodes..tree.len()).map(|index| NodeId::new(index as u32));
        // Also one whose message is left out: the clock counts it.
        self.replies.extend(came.filter(|id| tree.node(*id).is_ok_and(is_reply)));
        self.nodes = tree.len();
    }

    /// Returns what is shown covered; looks for it only if that can have changed.
    fn covers_now(&mut self, tree: &MessageTree, shared: usize) -> Vec<Covered> {
        let covering = &tree.covering()[self.covering..];
        self.ends.extend(covering.iter().filter_map(|id| tree.node(*id).ok().and_then(Node::parent)));
        self.covering = tree.covering().len();
        // A span is covered as soon as the trunk goes on behind it.
        let passed = &tree.trunk().ids()[shared.saturating_sub(1)..];
        let moved = tree.moves().len() > self.moves;
        if moved || !covering.is_empty() || passed.iter().any(|id| self.ends.contains(id)) {
            tree.trunk().covers()
        } else {
            self.covers.clone()
        }
    }

    /// Returns the first depths of the items before `from` whose notes may read otherwise now, the last of them first.
    fn items_before(&self, from: usize, dirty: &BTreeSet<usize>) -> Vec<usize> {
        let dirty = dirty.range(..from).rev().copied();
        // Whether a stub stands between two items depends on the second one.
        let mut items: Vec<usize> =
            from.checked_sub(1).into_iter().chain(dirty).map(|depth| self.item(depth).first).collect();
        items.dedup();
        items
    }

    /// Puts the notes after an item that stays anew, and returns the place of the first message that is another one now.
    fn redraw_notes(
        &mut self,
        tree: &MessageTree,
        notes: &[Note],
        first: usize,
        from: usize,
    ) -> Option<usize> {
        let item = self.item(first);
        let (begin, end) = (self.starts[item.first] + 1, self.starts[item.last + 1]);
        let now = self.notes_after(tree, notes, item);
        let same =
            self.messages[begin..end].iter().zip(&now).take_while(|(old, new)| ***old == **new).count();
        if same == now.len() && begin + same == end {
            return None;
        }
        let count = now.len();
        self.messages.splice(begin + same..end, now.into_iter().skip(same).map(Arc::new));
        for start in &mut self.starts[item.first + 1..=from] {
            *start = *start + begin + count - end;
        }
        Some(begin + same)
    }

    /// Puts everything from `tail.from` on anew, and returns how many messages are what they were if those before it are.
    fn draw(&mut self, tree: &MessageTree, notes: &[Note], tail: &Tail) -> usize {
        let begin = self.messages.len();
        let mut depth = tail.from;
        while depth < self.ids.len() {
            let item = self.item(depth);
            let before = tail.message(item);
            let message = match (self.pruned(tree, item), before) {
                (Some(pruned), Some(before)) if *before == pruned => before,
                (Some(pruned), _) => Arc::new(pruned),
                (None, Some(before)) => before,
                (None, None) => shown(tree, item),
            };
            self.messages.push(message);
            let notes = self.notes_after(tree, notes, item);
            self.messages.extend(notes.into_iter().map(Arc::new));
            depth = item.last + 1;
            self.starts.resize(depth + 1, self.messages.len());
        }
        let pairs = self.messages[begin..].iter().zip(&tail.messages);
        begin + pairs.take_while(|(new, old)| new == old).count()
    }

    /// Leaves out the results before `from` whose time came or that the model asked for, and returns the place of the first
    /// message that is another one now.
    fn prune(&mut self, tree: &MessageTree, from: usize) -> Option<usize> {
        let turns = self.policy.prune.and_then(|prune| prune.pruned_turns(self.turn()));
        let cut = turns.and_then(|turns| self.replies.get(turns).copied());
        let was = std::mem::replace(&mut self.cut, cut);
        let asked = std::mem::take(&mut self.asked);
        let mut depths = Vec::new();
        if cut != was {
            let before = |cut: NodeId| self.ids[..from].partition_point(|id| *id < cut);
            depths.extend(was.map_or(0, before)..cut.map_or(0, before));
        }
        let depth_of =
            |id: NodeId| tree.node(id).ok().filter(|_| tree.is_on_trunk(id)).map(|node| node.depth());
        depths.extend(asked.into_iter().filter_map(depth_of).filter(|depth| *depth < from));
        let mut changed = None;
        for depth in depths {
            let item = self.item(depth);
            // Whoever is covered is not shown, and neither is its result.
            let pruned = if item.covers { None } else { self.pruned(tree, item) };
            let place = self.starts[depth];
            if let Some(pruned) = pruned.filter(|pruned| *self.messages[place] != *pruned) {
                self.messages[place] = Arc::new(pruned);
                changed = Some(changed.map_or(place, |first: usize| first.min(place)));
            }
        }
        changed
    }

    /// Returns an item's own message as it is sent, if a result of it is left out.
    fn pruned(&self, tree: &MessageTree, item: Item) -> Option<Message> {
        if item.covers {
            return None;
        }
        let asked = self.prunings.contains(item.id);
        let prune = self.policy.prune.filter(|_| self.cut.is_some_and(|cut| item.id < cut));
        if !asked && prune.is_none() {
            return None;
        }
        let message = tree.node(item.id).ok()?.message();
        message.results().next()?;
        let mut at = item.first;
        let earlier = std::iter::from_fn(|| {
            let item = self.item(at.checked_sub(1)?);
            at = item.first;
            tree.node(item.id).ok().map(Node::message)
        });
        let called = std::iter::once(message).chain(earlier).find(|message| message.role == Role::Assistant);
        let calls: Vec<&ToolCall> = called.into_iter().flat_map(Message::calls).collect();
        let shorter =
            if asked { left_out(message, &calls, |_| true) } else { prune?.pruned(message, &calls) };
        mark(vec![shorter?.0]).pop()
    }

    /// Returns what stands at a depth.
    fn item(&self, depth: usize) -> Item {
        match covered_at(&self.covers, depth) {
            Some(cover) => Item { first: cover.first, last: cover.last, id: cover.by, covers: true },
            None => Item { first: depth, last: depth, id: self.ids[depth], covers: false },
        }
    }

    /// Returns the notes that stand after an item, or what takes their place.
    fn notes_after(&self, tree: &MessageTree, notes: &[Note], item: Item) -> Vec<Message> {
        let role = |item: Item| tree.node(item.id).ok().map(|node| node.message().role);
        let between_assistants = || {
            let next = (item.last + 1 < self.ids.len()).then(|| self.item(item.last + 1));
            role(item) == Some(Role::Assistant) && next.and_then(role) == Some(Role::Assistant)
        };
        self.standing.after(notes, item.first..=item.last, item.covers, between_assistants)
    }
}

/// Returns how many nodes of a line that began at the root are on the trunk. Looks at the end first: most reverts are short.
fn on_trunk(tree: &MessageTree, line: &[NodeId]) -> usize {
    let mut back = 1;
    while back < line.len() && !tree.is_on_trunk(line[line.len() - back]) {
        back *= 2;
    }
    let place = line.len().saturating_sub(back);
    // Whoever is on the trunk has everything above on it.
    place + line[place..].partition_point(|id| tree.is_on_trunk(*id))
}

/// Returns an item's own message as it is sent: the tree's own where nothing of it is changed for that.
fn shown(tree: &MessageTree, item: Item) -> Arc<Message> {
    let node = tree.node(item.id).expect("an item is a node of the tree");
    let message = if item.covers { shown_cover(node.message()) } else { node.message().clone() };
    let marked = mark(vec![message]).pop().expect("marking keeps every message");
    if marked == *node.message() { Arc::clone(node.shared()) } else { Arc::new(marked) }
}

fn covered_at(covers: &[Covered], depth: usize) -> Option<Covered> {
    let place = covers.partition_point(|cover| cover.last < depth);
    covers.get(place).copied().filter(|cover| cover.first <= depth)
}

/// What stood behind some depth before, from which messages are taken over.
struct Tail {
    from: usize,
    ids: Vec<NodeId>,
    covers: Vec<Covered>,
    starts: Vec<usize>,
    messages: Vec<Arc<Message>>,
}

impl Tail {
    /// Returns the message of an item that was shown before, at the same depth and by the same node.
    fn message(&self, item: Item) -> Option<Arc<Message>> {
        let place = item.first - self.from;
        let was = match covered_at(&self.covers, item.first) {
            Some(cover) => (cover.by, cover.first == item.first),
            None => (*self.ids.get(place)?, true),
        };
        (was == (item.id, true))
            .then(|| self.messages.get(self.starts.get(place)? - self.starts[0]).cloned())?
    }
}
