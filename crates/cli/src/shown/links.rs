//! What is to be said of nodes beside their parents: merges, spans that one node stands for, names, results that are left out.

use std::collections::HashMap;

use anstyle::Style;
use trunkline_message_tree::{Link, NameKind, Node, NodeId, Role};

use crate::reading::session::Reading;
use crate::shown::nodes::listed;
use crate::term::style::{CYAN, DIM, MAGENTA, YELLOW, paint};
use crate::term::text::count;

/// The links of a session, looked up by node.
pub(crate) struct Links {
    /// What nodes merge.
    merges: HashMap<NodeId, Vec<NodeId>>,
    /// Where branches end that were merged, and the nodes that did.
    merged_by: HashMap<NodeId, Vec<NodeId>>,
    /// The nodes of the trunk that are shown covered, and the node that stands for each.
    covered_by: HashMap<NodeId, NodeId>,
    names: HashMap<NodeId, Vec<(NameKind, String)>>,
    /// The results that the model has left out of its requests, and where the head was then.
    left_out: HashMap<NodeId, NodeId>,
}

impl Links {
    pub(crate) fn of(reading: &Reading) -> Self {
        let tree = reading.tree();
        let mut links = Links {
            merges: HashMap::new(),
            merged_by: HashMap::new(),
            covered_by: HashMap::new(),
            names: HashMap::new(),
            left_out: reading.view().going_back().prunings.iter().collect(),
        };
        for (id, node) in tree.nodes() {
            if let Link::Merge { with } = node.link() {
                links.merges.insert(id, with.clone());
            }
            for tip in node.link().further_parents() {
                links.merged_by.entry(*tip).or_default().push(id);
            }
        }
        let trunk = tree.trunk();
        for item in trunk.items() {
            if let trunkline_message_tree::TrunkItem::Cover { id, span: (first, last), .. } = item {
                let covered = trunk.ids().get(first..=last).unwrap_or_default();
                links.covered_by.extend(covered.iter().map(|covered| (*covered, id)));
            }
        }
        for (name, kind, node) in reading.names().all(tree) {
            links.names.entry(node).or_default().push((kind, name.as_str().to_owned()));
        }
        links
    }

    /// Returns the node that stands for this one on the trunk as it is.
    pub(crate) fn covered_by(&self, id: NodeId) -> Option<NodeId> {
        self.covered_by.get(&id).copied()
    }

    /// Returns whether a covering node stands for what it covers on the trunk as it is.
    pub(crate) fn is_in_use(&self, covering: NodeId, end: Option<NodeId>) -> bool {
        end.is_some_and(|end| self.covered_by(end) == Some(covering))
    }

    /// Returns what the names of a node look like.
    pub(crate) fn names(&self, id: NodeId) -> Vec<String> {
        let names = self.names.get(&id).into_iter().flatten();
        names.map(|(kind, name)| format!("{} {name}", mark(*kind))).collect()
    }

    /// Says which branches a node merges.
    pub(crate) fn merges(&self, id: NodeId) -> Option<String> {
        self.merges.get(&id).map(|with| format!("merges {}", listed(with)))
    }

    /// Says by which nodes the branch was merged that ends here.
    pub(crate) fn merged_by(&self, id: NodeId) -> Option<String> {
        self.merged_by.get(&id).map(|by| format!("merged by {}", listed(by)))
    }

    /// Says that the model has left a result out of its requests.
    pub(crate) fn pruned(&self, id: NodeId) -> Option<String> {
        self.left_out.get(&id).map(|since| format!("pruned since {since}"))
    }

    /// Says everything that binds a node, a line each.
    pub(crate) fn lines(&self, id: NodeId, node: &Node, reading: &Reading) -> Vec<(Style, String)> {
        let mut lines: Vec<(Style, String)> =
            self.names(id).into_iter().map(|name| (name_style(), name)).collect();
        let under = node.parent().unwrap_or(NodeId::ROOT);
        match node.link() {
            Link::Next => {}
            Link::Filed if node.message().role == Role::Assistant => {
                let told = format!("brought to no end, the model was asked again at {under}");
                lines.push((YELLOW, told));
            }
            Link::Filed => lines.push((YELLOW, format!("came late, filed under {under}"))),
            Link::Merge { .. } => lines.extend(self.merges(id).map(|merges| (MAGENTA, merges))),
            Link::Cover { from } => {
                let depth = |id| reading.tree().node(id).map_or(0, Node::depth);
                let messages = count(depth(under) + 1 - depth(*from), "message");
                let unused = if self.is_in_use(id, Some(under)) { "" } else { ", not on this trunk" };
                lines.push((MAGENTA, format!("stands for {from} to {under}, {messages}{unused}")));
            }
        }
        lines.extend(self.merged_by(id).map(|merged| (MAGENTA, merged)));
        lines.extend(
            self.pruned(id)
                .map(|pruned| (DIM, format!("{pruned}: the model reads a line that says how long it was"))),
        );
        lines.extend(
            self.covered_by(id).map(|by| (DIM, format!("covered by {by}: the model reads that instead"))),
        );
        lines
    }
}

pub(crate) fn name_style() -> Style {
    CYAN
}

/// Returns the painted sign before a name of that kind.
pub(crate) fn name_mark(kind: NameKind) -> String {
    paint(name_style(), mark(kind))
}

fn mark(kind: NameKind) -> &'static str {
    if kind == NameKind::Branch { "⟂" } else { "⚑" }
}
