//! The append-only arena and the line from its root to its head.
//!
//! A change is made in two steps: a [`Draft`] says what would be added, and [`MessageTree::record`] adds it. Between the
//! two a store can accept the entries, so that memory never knows more than the disk.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::cover::Covers;
use crate::line::Lines;
use crate::{
    BareNode, Draft, HeadMove, Link, Message, MoveId, MoveKind, Node, NodeId, Reflog, Role, Timestamp,
    TreeError, Trunk, link::MOST_MERGED,
};

/// One thing that happened to a tree: a node came or the head moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "a store that skipped an entry would lose it")]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all entries are nodes: a box would be one more allocation for each"
)]
pub enum Entry {
    /// A message came.
    Node {
        /// Its name: the next free one.
        id: NodeId,
        /// The node it continues; `None` for the root.
        parent: Option<NodeId>,
        /// When it came.
        at: Timestamp,
        /// How it hangs on its parent.
        #[serde(flatten)]
        link: Link,
        /// The message.
        message: Message,
    },
    /// The head moved.
    Move(HeadMove),
}

/// An append-only tree of messages with a head.
///
/// Nothing is ever removed or changed. The line from the root to the head, the trunk, is what a model is sent.
#[derive(Clone, Debug)]
pub struct MessageTree {
    nodes: Vec<Node>,
    // What walks need of each node, apart from the messages: a walk then reads a few bytes a step, next to each other.
    lines: Lines,
    moves: Vec<HeadMove>,
    // For each move the one that it first was, and whether it still holds.
    first_made: Vec<MoveId>,
    holds: Vec<bool>,
    // For each move the number of nodes there were, so that the order of everything can be told.
    moved_at: Vec<u32>,
    // Invariant: the path from the root to the head; `trunk[depth(n)] == n` exactly for nodes on it.
    trunk: Vec<NodeId>,
    covers: Covers,
    // Moves that can be undone, newest last, and undos that can be redone, newest last.
    done: Vec<MoveId>,
    undone: Vec<MoveId>,
    epoch: u32,
    replies: u32,
}

impl MessageTree {
    /// Returns a tree that holds only its root, usually the session's instructions.
    ///
    /// The root exists so that there always is a head and a place before the first prompt. It may be empty.
    pub fn new(root: Message, at: Timestamp) -> Self {
        let root = named(root, NodeId::ROOT);
        let replies = u32::from(root.role == Role::Assistant);
        MessageTree {
            lines: Lines::with_root(),
            nodes: vec![Node::new(None, 0, at, Link::Next, Arc::new(root))],
            moves: Vec::new(),
            first_made: Vec::new(),
            holds: Vec::new(),
            moved_at: Vec::new(),
            trunk: vec![NodeId::ROOT],
            covers: Covers::default(),
            done: Vec::new(),
            undone: Vec::new(),
            epoch: 0,
            replies,
        }
    }

    /// Rebuilds a tree from everything that happened to it, root first.
    ///
    /// # Errors
    ///
    /// Any [`TreeError`]: the entries are not those of one tree, or not all, or not in order.
    pub fn replay(entries: impl IntoIterator<Item = Entry>) -> Result<Self, TreeError> {
        let mut entries = entries.into_iter();
        let Some(Entry::Node { id: NodeId::ROOT, parent: None, at, link: Link::Next, message }) =
            entries.next()
        else {
            return Err(TreeError::NoRoot);
        };
        let mut tree = MessageTree::new(message, at);
        for entry in entries {
            tree.record(entry)?;
        }
        Ok(tree)
    }

    /// Returns everything that happened, root first: what [`MessageTree::replay`] reads.
    ///
    /// A node that [is bare](Node::is_bare) comes out with an empty message, and a replay takes that for all that was said: of
    /// a tree with such nodes keep the log, not these.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let mut moves = self.moved_at.iter().zip(&self.moves).peekable();
        let mut nodes = self.nodes.iter().enumerate();
        std::iter::from_fn(move || {
            if let Some((_, head_move)) =
                moves.next_if(|(count, _)| **count as usize == self.nodes.len() - nodes.len())
            {
                return Some(Entry::Move(head_move.clone()));
            }
            nodes.next().map(|(index, _)| self.entry(index))
        })
    }

    /// Returns the root as an entry, for a log that starts here.
    pub fn root_entry(&self) -> Entry {
        self.entry(0)
    }

    fn entry(&self, index: usize) -> Entry {
        let node = &self.nodes[index];
        Entry::Node {
            id: NodeId::new(index as u32),
            parent: node.parent(),
            at: node.at(),
            link: node.link().clone(),
            message: node.message().clone(),
        }
    }

    /// Adds what a [`Draft`] or a store gave.
    ///
    /// # Errors
    ///
    /// Any [`TreeError`] but `NoRoot`; then nothing was changed.
    pub fn record(&mut self, entry: Entry) -> Result<(), TreeError> {
        match entry {
            Entry::Node { id, parent, at, link, message } => {
                self.record_node(id, parent, at, link, Arc::new(named(message, id)))
            }
            Entry::Move(head_move) => self.record_move(head_move),
        }
    }

    /// Adds a node and leaves its message out. It takes some fifty bytes, and all that needs no words works on it as on
    /// others. Who moves the head to it, or renders it, has to make the tree again with its message.
    ///
    /// # Errors
    ///
    /// Those of [`record`](MessageTree::record); then nothing was changed.
    pub fn record_bare(&mut self, bare: BareNode) -> Result<(), TreeError> {
        let message = bare.message();
        let BareNode { id, parent, at, link, .. } = bare;
        self.record_node(id, Some(parent), at, link, message)
    }

    /// Puts the message of a node in its place that [was left out](MessageTree::record_bare), with the role and the author that it
    /// says. A node that has its message keeps it.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if there is none of that name.
    pub fn fill(&mut self, node: NodeId, message: Message) -> Result<(), TreeError> {
        self.depth(node)?;
        let place = &mut self.nodes[node.index()];
        if place.is_bare() {
            place.fill(Arc::new(named(message, node)));
        }
        Ok(())
    }

    fn record_node(
        &mut self,
        id: NodeId,
        parent: Option<NodeId>,
        at: Timestamp,
        link: Link,
        message: Arc<Message>,
    ) -> Result<(), TreeError> {
        let expected = self.next_id().ok_or(TreeError::Full)?;
        if id != expected {
            return Err(TreeError::OutOfOrder { found: id, expected });
        }
        // Only the root has no parent, and it is there already.
        let parent = parent.ok_or(TreeError::OutOfOrder { found: id, expected })?;
        let depth = self.depth(parent)? + 1;
        if !link.is_filed() && parent != self.head() {
            return Err(TreeError::HeadMoved { expected: parent, actual: self.head() });
        }
        match &link {
            Link::Next | Link::Filed => {}
            Link::Merge { with } => self.check_merge(id, with)?,
            Link::Cover { from } => self.check_span(*from, parent)?,
        }
        if let Link::Cover { .. } = link {
            self.covers.push(id);
        }
        if !link.is_filed() {
            self.trunk.push(id);
            self.replies += u32::from(message.role == Role::Assistant);
        }
        self.lines.push(parent, depth);
        self.nodes.push(Node::new(Some(parent), depth, at, link, message));
        Ok(())
    }

    fn check_merge(&self, id: NodeId, with: &[NodeId]) -> Result<(), TreeError> {
        if with.is_empty() || with.len() > MOST_MERGED {
            return Err(TreeError::NotMergeable { node: id });
        }
        for (place, node) in with.iter().enumerate() {
            self.node(*node)?;
            if self.is_on_trunk(*node) || with[..place].contains(node) {
                return Err(TreeError::NotMergeable { node: *node });
            }
        }
        Ok(())
    }

    /// Checks that `from` lies between the root and `to`, or is `to`.
    fn check_span(&self, from: NodeId, to: NodeId) -> Result<(), TreeError> {
        let first = self.depth(from)?;
        if from == NodeId::ROOT || !self.is_within(from, first, to) {
            return Err(TreeError::NotASpan { from, to });
        }
        Ok(())
    }

    /// Returns whether `node`, which is that deep, lies on the line from the root to `end`. Costs nothing on the trunk,
    /// elsewhere one step per node between.
    fn is_within(&self, node: NodeId, depth: u32, end: NodeId) -> bool {
        for at in self.lines.up_from(end) {
            let Some(at_depth) = self.lines.depth(at) else { return false };
            if self.trunk.get(at_depth as usize) == Some(&at) {
                return depth <= at_depth && self.trunk.get(depth as usize) == Some(&node);
            }
            if at == node || at_depth <= depth {
                return at == node;
            }
        }
        false
    }

    fn record_move(&mut self, head_move: HeadMove) -> Result<(), TreeError> {
        if head_move.from != self.head() {
            return Err(TreeError::HeadMoved { expected: head_move.from, actual: self.head() });
        }
        self.node(head_move.to)?;
        let id = MoveId(self.moves.len() as u32);
        let first = match head_move.kind {
            MoveKind::Undo { of } => {
                let undoes = self.done.last() == Some(&of) && self.moves[of.index()].from == head_move.to;
                undoes.then_some(()).ok_or(TreeError::NotTheLatest { of })?;
                self.done.pop();
                self.undone.push(id);
                self.take_back(of, false)
            }
            MoveKind::Redo { of } => {
                let redoes = self.undone.last() == Some(&of) && self.moves[of.index()].from == head_move.to;
                redoes.then_some(()).ok_or(TreeError::NotTheLatest { of })?;
                self.undone.pop();
                self.done.push(id);
                self.take_back(of, true)
            }
            MoveKind::ModelRevert
            | MoveKind::PersonRevert
            | MoveKind::Fork
            | MoveKind::Import
            | MoveKind::Merge => {
                self.done.push(id);
                self.undone.clear();
                self.lift_covers(&head_move, id);
                id
            }
        };
        if self.move_trunk(head_move.to, id) > 0 {
            self.epoch += 1;
        }
        self.first_made.push(first);
        self.holds.push(true);
        self.moved_at.push(self.nodes.len() as u32);
        self.moves.push(head_move);
        Ok(())
    }

    /// Notes that a move no longer holds, and whether the one that it first was does now. Returns that one.
    fn take_back(&mut self, of: MoveId, first_holds: bool) -> MoveId {
        let first = self.first_made[of.index()];
        self.holds[of.index()] = false;
        self.holds[first.index()] = first_holds;
        self.covers.set_holds(first, first_holds);
        first
    }

    /// Lifts the covers of the spans on which a move lands. Costs one step per cover, and for each that is off the trunk and
    /// may be meant one per node of its span that is younger than the target.
    fn lift_covers(&mut self, made: &HeadMove, id: MoveId) {
        if !matches!(made.kind, MoveKind::ModelRevert | MoveKind::PersonRevert | MoveKind::Fork) {
            return;
        }
        let mut covers = std::mem::take(&mut self.covers);
        covers.lift(id, |by| {
            let node = self.at(by);
            let (Link::Cover { from }, Some(end)) = (node.link(), node.parent()) else { return false };
            // Along a line names only grow.
            let between = *from <= made.to && made.to <= end;
            between
                && self
                    .lines
                    .up_from(end)
                    .find(|at| *at <= made.to || self.is_on_trunk(*at))
                    .is_some_and(|at| at == made.to || at > made.to && self.is_on_trunk(made.to))
        });
        self.covers = covers;
    }

    /// Puts the head on an existing node and returns how many nodes left the trunk. Costs one step per node that differs.
    fn move_trunk(&mut self, to: NodeId, by: MoveId) -> usize {
        let line = self.lines.up_from(to);
        let mut joining: Vec<NodeId> = line.take_while(|at| !self.is_on_trunk(*at)).collect();
        joining.reverse();
        let depth = self.lines.depth(to).map_or(0, |depth| depth as usize);
        let shared = depth + 1 - joining.len();
        let left = self.trunk.split_off(shared);
        left.iter().for_each(|id| self.lines.set_left(*id, by));
        self.trunk.append(&mut joining);
        left.len()
    }

    /// Returns the end of the trunk, where the next message goes.
    pub fn head(&self) -> NodeId {
        *self.trunk.last().expect("the trunk always has the root: `new` puts it there")
    }

    /// Returns the node.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if there is none of that name.
    pub fn node(&self, node: NodeId) -> Result<&Node, TreeError> {
        self.nodes.get(node.index()).ok_or_else(|| TreeError::UnknownNode { node, newest: self.newest() })
    }

    /// Returns the node that came last, wherever it is.
    pub fn newest(&self) -> NodeId {
        NodeId::new((self.nodes.len() - 1) as u32)
    }

    /// Returns the number of nodes, the root included.
    #[expect(clippy::len_without_is_empty, reason = "a tree always has its root")]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns how many nodes are not on the trunk. Costs nothing.
    pub fn beside(&self) -> usize {
        self.nodes.len() - self.trunk.len()
    }

    /// Returns the name that the next node will get; `None` if there are no more.
    pub fn next_id(&self) -> Option<NodeId> {
        let newest = self.newest();
        (newest != NodeId::new(u32::MAX)).then(|| newest.next())
    }

    /// Returns all nodes in order of arrival, wherever they are.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = (NodeId, &Node)> + ExactSizeIterator {
        self.nodes.iter().enumerate().map(|(index, node)| (NodeId::new(index as u32), node))
    }

    /// Returns the nodes that came after this one, in order of arrival, wherever they are. Costs no step for those before.
    pub fn nodes_after(&self, id: NodeId) -> impl Iterator<Item = (NodeId, &Node)> {
        let younger = self.nodes.iter().enumerate().skip(id.index().saturating_add(1));
        younger.map(|(index, node)| (NodeId::new(index as u32), node))
    }

    /// Returns the children of a node in order of arrival. Costs one step per node that came after it.
    pub fn children(&self, of: NodeId) -> impl Iterator<Item = NodeId> {
        self.nodes_after(of).filter(move |(_, node)| node.parent() == Some(of)).map(|(id, _)| id)
    }

    /// Returns the line from the root to the head. Costs nothing; nothing is copied.
    pub fn trunk(&self) -> Trunk<'_> {
        Trunk::new(self, &self.trunk)
    }

    /// Returns whether the node lies between root and head. Costs one step.
    pub fn is_on_trunk(&self, node: NodeId) -> bool {
        self.lines.depth(node).is_some_and(|depth| self.trunk.get(depth as usize) == Some(&node))
    }

    /// Returns the line from `node` up to the root, node first: the path to it, read backwards. Nothing is copied.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if there is none of that name.
    pub fn ancestry(&self, node: NodeId) -> Result<impl Iterator<Item = (NodeId, &Node)>, TreeError> {
        self.depth(node)?;
        Ok(self.lines.up_from(node).map(|id| (id, self.at(id))))
    }

    /// Returns the last node that the trunk and the line to `node` have in common. Costs one step per node of that line
    /// that is off the trunk.
    ///
    /// # Errors
    ///
    /// [`TreeError::UnknownNode`] if there is none of that name.
    pub fn fork_of(&self, node: NodeId) -> Result<NodeId, TreeError> {
        let mut line = self.ancestry(node)?.map(|(id, _)| id);
        Ok(line.find(|id| self.is_on_trunk(*id)).unwrap_or(NodeId::ROOT))
    }

    /// Returns the end of the line that goes through `node`: the head if it is on the trunk, otherwise the place where the
    /// head was when it last left that line, and the node itself if the head never was there. Costs one step.
    pub fn tip(&self, node: NodeId) -> NodeId {
        if self.is_on_trunk(node) {
            return self.head();
        }
        // The head was below a node for the last time when the node left the trunk for the last time.
        let left = self.lines.left_by(node);
        left.and_then(|by| self.moves.get(by.index())).map_or(node, |head_move| head_move.from)
    }

    /// Returns whether a result of a call of `node` belongs on the trunk when it comes: only if the call itself is there.
    /// Otherwise it is filed under its call, where it is seen and never sent.
    pub fn takes_results_of(&self, node: NodeId) -> bool {
        self.is_on_trunk(node)
    }

    /// Returns the nodes that stand for others, in order of arrival.
    pub fn covering(&self) -> &[NodeId] {
        self.covers.ids()
    }

    /// Returns the move by which a covering node was lifted: the trunk shows again what it stands for. `None` while it
    /// stands, and of what covers nothing.
    ///
    /// That is the oldest move in force that was made after the node came and put the head on a node of its span, the last
    /// one included. A revert does, whoever made it, and so does a fork. A merge does not, because it goes there only to
    /// add to it, and neither does an import, which finds things as they were. Undo makes it stand again. Costs a few
    /// steps, however many moves there were.
    pub fn lifted_by(&self, cover: NodeId) -> Option<MoveId> {
        self.covers.lifted_by(cover)
    }

    fn depth(&self, node: NodeId) -> Result<u32, TreeError> {
        self.lines.depth(node).ok_or_else(|| TreeError::UnknownNode { node, newest: self.newest() })
    }

    /// Returns a node that is known to exist.
    pub(crate) fn at(&self, node: NodeId) -> &Node {
        &self.nodes[node.index()]
    }

    /// Returns every move of the head, oldest first.
    pub fn moves(&self) -> &[HeadMove] {
        &self.moves
    }

    /// Returns every move of the head with what came of it, oldest first.
    pub fn reflog(&self) -> Reflog<'_> {
        Reflog::new(self, &self.moved_at)
    }

    /// Returns whether a move still holds. One that was taken back does not; of a revert that was made again, the revert
    /// holds and not the undo. Costs one step.
    pub fn is_in_force(&self, id: MoveId) -> bool {
        self.holds.get(id.index()).is_some_and(|holds| *holds)
    }

    /// Returns the move that was first made: what an undo or redo takes back, in the end, and for any other the move itself.
    /// Costs one step, however often it was taken back. `None` if there is no such move.
    pub fn first_made(&self, id: MoveId) -> Option<MoveId> {
        self.first_made.get(id.index()).copied()
    }

    /// Returns how often nodes have left the trunk. A result of an older epoch may no longer belong to it.
    pub fn epoch(&self) -> u32 {
        self.epoch
    }

    /// Returns how many messages models wrote, on all branches. What was only [filed](Node::is_filed) is not counted.
    pub fn replies(&self) -> u32 {
        self.replies
    }

    /// Returns the move that would take back the latest revert or redo; `None` if there is none.
    pub fn plan_undo(&self, at: Timestamp) -> Option<HeadMove> {
        let of = *self.done.last()?;
        let to = self.moves[of.index()].from;
        Some(HeadMove { from: self.head(), to, kind: MoveKind::Undo { of }, at })
    }

    /// Returns the move that would take back the latest undo; `None` if a revert came after it.
    pub fn plan_redo(&self, at: Timestamp) -> Option<HeadMove> {
        let of = *self.undone.last()?;
        let to = self.moves[of.index()].from;
        Some(HeadMove { from: self.head(), to, kind: MoveKind::Redo { of }, at })
    }

    /// Begins a change that a store can accept before the tree does.
    pub fn draft(&self) -> Draft<'_> {
        Draft::new(self)
    }
}

/// Returns a message as the tree keeps it at a node.
fn named(mut message: Message, node: NodeId) -> Message {
    message.node = Some(node);
    message.shrink_to_fit();
    message
}
