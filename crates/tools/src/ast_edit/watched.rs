//! A syntax tree that has no more nodes once the time is over.
//!
//! The engine asks nobody while it compares, and what it has to compare can grow with the power of the pattern's depth. All that it
//! sees it gets from here, so that it comes to an end by itself and no thread is left behind.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};

use ast_grep_core::source::{Doc, Edit, SgNode};
use ast_grep_core::{AstGrep, Position};
use tree_sitter::{Node, Tree, TreeCursor};
use trunkline_agent_traits::Cancel;

use super::grammar::{Grammar, Parsed};

/// The clock is looked at once in so many nodes.
const NODES: u32 = 256;

/// When a search has to end.
pub(crate) struct Watch {
    over: Instant,
    cancel: Cancel,
    nodes: Cell<u32>,
    is_over: Cell<bool>,
}

impl Watch {
    pub(crate) fn new(time: Duration, cancel: &Cancel) -> Rc<Self> {
        let over = Instant::now() + time;
        Rc::new(Watch { over, cancel: cancel.clone(), nodes: Cell::new(0), is_over: Cell::new(false) })
    }

    /// Whether it has to end; it stays so.
    pub(crate) fn is_over(&self) -> bool {
        if !self.is_over.get() && (self.cancel.is_cancelled() || Instant::now() > self.over) {
            self.is_over.set(true);
        }
        self.is_over.get()
    }

    /// The same, for what asks at every node.
    fn is_over_at_node(&self) -> bool {
        self.nodes.set(self.nodes.get().wrapping_add(1));
        match self.nodes.get().is_multiple_of(NODES) {
            true => self.is_over(),
            false => self.is_over.get(),
        }
    }
}

/// A text and its tree.
#[derive(Clone)]
pub(crate) struct Watched {
    text: String,
    lang: Parsed,
    tree: Tree,
    watch: Rc<Watch>,
}

impl Watched {
    pub(crate) fn of(grammar: &'static Grammar, text: &str, tree: Tree, watch: &Rc<Watch>) -> AstGrep<Self> {
        AstGrep::doc(Watched { text: text.to_owned(), lang: Parsed(grammar), tree, watch: Rc::clone(watch) })
    }
}

impl Doc for Watched {
    type Source = String;
    type Lang = Parsed;
    type Node<'r> = Seen<'r>;

    fn get_lang(&self) -> &Parsed {
        &self.lang
    }

    fn get_source(&self) -> &String {
        &self.text
    }

    fn do_edit(&mut self, _: &Edit<String>) -> Result<(), String> {
        Err("the tree is only looked at".to_owned())
    }

    fn root_node(&self) -> Seen<'_> {
        Seen { node: self.tree.root_node(), watch: &self.watch }
    }

    fn get_node_text<'a>(&'a self, node: &Seen<'a>) -> Cow<'a, str> {
        Cow::Borrowed(self.text.get(node.range()).unwrap_or_default())
    }
}

/// A node of such a tree.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'r> {
    node: Node<'r>,
    watch: &'r Watch,
}

impl<'r> Seen<'r> {
    fn at(&self, node: Node<'r>) -> Self {
        Seen { node, watch: self.watch }
    }
}

/// The children of a node, as long as there is time.
struct Children<'r> {
    cursor: TreeCursor<'r>,
    left: usize,
    watch: &'r Watch,
}

impl<'r> Iterator for Children<'r> {
    type Item = Seen<'r>;

    fn next(&mut self) -> Option<Seen<'r>> {
        if self.watch.is_over_at_node() {
            self.left = 0;
        }
        self.left = self.left.checked_sub(1)?;
        let node = self.cursor.node();
        self.cursor.goto_next_sibling();
        Some(Seen { node, watch: self.watch })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Children<'_> {}

impl<'r> SgNode<'r> for Seen<'r> {
    fn parent(&self) -> Option<Self> {
        self.node.parent().map(|node| self.at(node))
    }

    fn children(&self) -> impl ExactSizeIterator<Item = Self> {
        let mut cursor = self.node.walk();
        let left = if cursor.goto_first_child() { self.node.child_count() } else { 0 };
        Children { cursor, left: usize::try_from(left).unwrap_or(0), watch: self.watch }
    }

    fn dfs(&self) -> impl Iterator<Item = Self> {
        SgNode::dfs(&self.node).map(|node| self.at(node)).take_while(|seen| !seen.watch.is_over_at_node())
    }

    fn kind(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.node.kind())
    }

    fn kind_id(&self) -> u16 {
        self.node.kind_id()
    }

    fn node_id(&self) -> usize {
        self.node.id()
    }

    fn range(&self) -> Range<usize> {
        self.node.byte_range()
    }

    fn start_pos(&self) -> Position {
        self.node.start_pos()
    }

    fn end_pos(&self) -> Position {
        self.node.end_pos()
    }

    fn is_named(&self) -> bool {
        self.node.is_named()
    }

    fn is_named_leaf(&self) -> bool {
        self.node.is_named_leaf()
    }

    fn is_leaf(&self) -> bool {
        self.node.is_leaf()
    }

    fn is_missing(&self) -> bool {
        self.node.is_missing()
    }

    fn is_error(&self) -> bool {
        self.node.is_error()
    }

    fn is_extra(&self) -> bool {
        self.node.is_extra()
    }

    fn field(&self, name: &str) -> Option<Self> {
        self.node.field(name).map(|node| self.at(node))
    }

    fn field_children(&self, field_id: Option<u16>) -> impl Iterator<Item = Self> {
        let found: Vec<Self> = self.node.field_children(field_id).map(|node| self.at(node)).collect();
        found.into_iter()
    }

    fn child_by_field_id(&self, field_id: u16) -> Option<Self> {
        SgNode::child_by_field_id(&self.node, field_id).map(|node| self.at(node))
    }
}
