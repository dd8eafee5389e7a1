//! The trunk, borrowed: as it is, and as compactions make it read.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;

use crate::{Link, Message, MessageTree, Node, NodeId};

/// The line from the root to the head, borrowed.
#[derive(Copy, Clone, Debug)]
pub struct Trunk<'a> {
    tree: &'a MessageTree,
    ids: &'a [NodeId],
}

/// One step of the trunk as a model reads it.
#[derive(Copy, Clone, Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever renders a trunk must know everything that can stand in it"
)]
pub enum TrunkItem<'a> {
    /// A node of the trunk.
    Node(NodeId, &'a Node),
    /// A node that stands for a span of the trunk.
    Cover {
        /// Its name.
        id: NodeId,
        /// The node; its parent is the last one that it stands for.
        node: &'a Node,
        /// The depths of the first and the last node that it stands for.
        span: (usize, usize),
    },
}

impl<'a> TrunkItem<'a> {
    /// Returns the name of the node that is shown.
    pub fn id(self) -> NodeId {
        match self {
            TrunkItem::Node(id, _) | TrunkItem::Cover { id, .. } => id,
        }
    }

    /// Returns the node that is shown.
    pub fn node(self) -> &'a Node {
        match self {
            TrunkItem::Node(_, node) | TrunkItem::Cover { node, .. } => node,
        }
    }

    /// Returns the message that is shown.
    pub fn message(self) -> &'a Message {
        self.node().message()
    }
}

impl<'a> Trunk<'a> {
    pub(crate) fn new(tree: &'a MessageTree, ids: &'a [NodeId]) -> Self {
        Trunk { tree, ids }
    }

    /// Returns the names, root first.
    pub fn ids(self) -> &'a [NodeId] {
        self.ids
    }

    /// Returns the nodes with their names, root first.
    pub fn nodes(self) -> impl DoubleEndedIterator<Item = (NodeId, &'a Node)> + ExactSizeIterator {
        self.ids.iter().map(move |id| (*id, self.tree.at(*id)))
    }

    /// Returns the messages, root first.
    pub fn messages(self) -> impl DoubleEndedIterator<Item = &'a Message> + ExactSizeIterator {
        self.nodes().map(|(_, node)| node.message())
    }

    /// Returns the trunk with covering nodes in place of what they stand for, root first.
    ///
    /// A covering node is shown as soon as the trunk goes on behind its span; on a trunk that ends inside the span or at
    /// its end, the nodes themselves are, and so they are while a move that landed there is in force, see
    /// [`MessageTree::lifted_by`]. Which of several is shown, [`Trunk::covers`] says. Costs one step per covering node of the
    /// tree, beside the items themselves.
    pub fn items(self) -> impl DoubleEndedIterator<Item = TrunkItem<'a>> {
        Items { trunk: self, depths: 0..self.ids.len(), covers: self.covers().into() }
    }

    /// Returns the spans that are shown covered, in the order of the trunk; no two have a node in common.
    ///
    /// Of spans that overlap the one that was covered last is shown, unless it lies inside of another one: then that one is.
    /// Costs one step per covering node of the tree.
    pub fn covers(self) -> Vec<Covered> {
        self.covers_before(self.ids.len(), None)
    }

    /// Returns the spans that would be shown covered if the trunk ended before that depth, and only nodes older than `newer`
    /// had come. What was lifted counts as it does now.
    pub fn covers_before(self, end: usize, newer: Option<NodeId>) -> Vec<Covered> {
        let covering = self.tree.covering().iter().rev();
        let stand = covering.filter(|by| newer.is_none_or(|newer| **by < newer)).filter_map(|by| {
            let node = self.tree.at(*by);
            let (Link::Cover { from }, Some(parent)) = (node.link(), node.parent()) else { return None };
            let (first, last) = (self.tree.at(*from).depth(), self.tree.at(parent).depth());
            // Whoever put the head on the covering node itself sees it there, after the span.
            let passed = last + 1 < end && self.ids.get(last + 1).is_some_and(|next| next != by);
            let stands = passed && self.ids[last] == parent && self.tree.lifted_by(*by).is_none();
            stands.then_some(Covered { first, last, by: *by })
        });
        let stand: Vec<Covered> = stand.collect();
        // An undo can bring back a wider one that is older.
        let mut widest: Vec<&Covered> = stand.iter().collect();
        widest.sort_by_key(|cover| (cover.first, Reverse(cover.last)));
        let mut inside = BTreeSet::new();
        let mut outer: Option<&Covered> = None;
        for cover in widest {
            match outer {
                Some(outer) if cover.last <= outer.last => {
                    if (cover.first, cover.last) != (outer.first, outer.last) {
                        inside.insert(cover.by);
                    }
                }
                _ => outer = Some(cover),
            }
        }
        let mut shown: BTreeMap<usize, Covered> = BTreeMap::new();
        for cover in stand.iter().filter(|cover| !inside.contains(&cover.by)) {
            let before = shown.range(..=cover.last).next_back();
            if before.is_none_or(|(_, before)| before.last < cover.first) {
                shown.insert(cover.first, *cover);
            }
        }
        shown.into_values().collect()
    }
}

struct Items<'a> {
    trunk: Trunk<'a>,
    // What was not given yet, and the spans that are covered in it.
    depths: Range<usize>,
    covers: VecDeque<Covered>,
}

impl<'a> Items<'a> {
    fn node(&self, depth: usize) -> TrunkItem<'a> {
        let id = self.trunk.ids[depth];
        TrunkItem::Node(id, self.trunk.tree.at(id))
    }

    fn cover(&self, cover: Covered) -> TrunkItem<'a> {
        TrunkItem::Cover { id: cover.by, node: self.trunk.tree.at(cover.by), span: (cover.first, cover.last) }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = TrunkItem<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let depth = self.depths.next()?;
        match self.covers.pop_front_if(|cover| cover.first == depth) {
            Some(cover) => {
                self.depths.start = cover.last + 1;
                Some(self.cover(cover))
            }
            None => Some(self.node(depth)),
        }
    }
}

impl DoubleEndedIterator for Items<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        let depth = self.depths.next_back()?;
        match self.covers.pop_back_if(|cover| cover.last == depth) {
            Some(cover) => {
                self.depths.end = cover.first;
                Some(self.cover(cover))
            }
            None => Some(self.node(depth)),
        }
    }
}

/// A span of the trunk that is shown covered.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Covered {
    /// The depth of its first node.
    pub first: usize,
    /// The depth of its last node.
    pub last: usize,
    /// The node that stands for it.
    pub by: NodeId,
}
