//! Where a head may stand.
//!
//! Calls and their results belong together. A head between them would show a model calls that it has seen answered as
//! unanswered, and whoever drives the session would run them again; so it is put behind the last result.

use crate::{Link, Message, MessageTree, Node, NodeId, Role, TreeError};

/// Why a head cannot be put on a node.
///
/// `nearest` is the closest node above on which it can; `None` if there is none, as where the root itself has open calls.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LandingError {
    /// There is no such node.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// It never was on a trunk.
    #[error("{node} was only filed under {under}, and nothing follows it{}", go_to(.nearest))]
    Filed {
        /// The node.
        node: NodeId,
        /// Its parent.
        under: NodeId,
        /// Where the head can stand instead.
        nearest: Option<NodeId>,
    },
    /// It stands for others.
    #[error("{node} stands for {from} to {to}, and nothing follows it{}", go_to(.nearest))]
    Covers {
        /// The node.
        node: NodeId,
        /// The first node that it stands for.
        from: NodeId,
        /// The last one.
        to: NodeId,
        /// Where the head can stand instead.
        nearest: Option<NodeId>,
    },
    /// The line ends in calls to which no result came, and the head is not there already.
    #[error("the calls of {node} never got their results{}", go_to(.nearest))]
    OpenCalls {
        /// The message that calls.
        node: NodeId,
        /// Where the head can stand instead.
        nearest: Option<NodeId>,
    },
}

impl MessageTree {
    /// Returns where a head comes to stand that is to be put on `to`: on `to` itself, or, if that is a message of a model with
    /// calls or one of their results, on the last of the results.
    ///
    /// Where results came on several lines those on the trunk count, if `to` is on it, and otherwise those that came first. A
    /// group whose calls got only some of their results is taken as it is: who sends it closes it. A head that is on open calls
    /// already may stay there, since to go nowhere runs nothing.
    ///
    /// Goes by messages: of a node that [is bare](Node::is_bare) it is not known that it calls anything. Costs a step per node
    /// that is younger than `to`, if that is in such a group.
    ///
    /// # Errors
    ///
    /// [`LandingError`] says why not, and which node above is the nearest on which a head can stand.
    pub fn landing(&self, to: NodeId) -> Result<NodeId, LandingError> {
        let node = self.node(to)?;
        let refused = match self.stand(to, node) {
            Ok(end) => return Ok(end),
            Err(refused) => refused,
        };
        let mut above = self.ancestry(to)?.skip(1);
        Err(refused.or_go_to(above.find(|(id, node)| self.stand(*id, node).is_ok()).map(|(id, _)| id)))
    }

    /// Returns the end of the calls and results around a node, if a head can stand there.
    fn stand(&self, id: NodeId, node: &Node) -> Result<NodeId, LandingError> {
        let (under, nearest) = (node.parent().unwrap_or(NodeId::ROOT), None);
        match *node.link() {
            Link::Next | Link::Merge { .. } => {}
            Link::Filed => return Err(LandingError::Filed { node: id, under, nearest }),
            Link::Cover { from } => return Err(LandingError::Covers { node: id, from, to: under, nearest }),
        }
        let mut end = id;
        if has_calls(node.message()) || node.message().brings_results() {
            // Children are younger, so one look at each finds the whole group. The trunk knows which of several goes on.
            let on_trunk = self.is_on_trunk(id);
            for (younger, later) in self.nodes_after(id) {
                let follows =
                    later.parent() == Some(end) && !later.is_filed() && later.message().brings_results();
                if follows && (!on_trunk || self.is_on_trunk(younger)) {
                    end = younger;
                }
            }
        }
        // A head on open calls would have them run: nobody asked for that.
        if end != self.head() && has_calls(self.at(end).message()) {
            return Err(LandingError::OpenCalls { node: end, nearest });
        }
        Ok(end)
    }
}

impl LandingError {
    fn or_go_to(mut self, found: Option<NodeId>) -> Self {
        match &mut self {
            LandingError::Filed { nearest, .. }
            | LandingError::Covers { nearest, .. }
            | LandingError::OpenCalls { nearest, .. } => *nearest = found,
            LandingError::Tree(_) => {}
        }
        self
    }
}

#[expect(clippy::ref_option, reason = "a derived text hands over references to fields")]
fn go_to(nearest: &Option<NodeId>) -> String {
    nearest.map_or_else(String::new, |node| format!("; go to {node}"))
}

fn has_calls(message: &Message) -> bool {
    message.role == Role::Assistant && message.calls().next().is_some()
}
