//! What a person does with the head and with branches. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::moves).

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Name, NameKind, Names, Naming, NodeId};
use trunkline_session_store::InboxId;

use crate::Session;
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::acts::moves;

/// How the head is to be moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum MoveAct {
    /// Back to a node.
    Revert {
        /// The last node to keep.
        to: NodeId,
        /// What the model is told about the branch that is left.
        lesson: Option<String>,
    },
    /// To any node, with nothing to say about what is left.
    Go {
        /// The node; the head is put at the end of the calls that it belongs to.
        to: NodeId,
    },
    /// Nowhere: what came of branches is brought here.
    Merge {
        /// The ends of the branches.
        tips: Vec<NodeId>,
    },
    /// Take back the latest move.
    Undo,
    /// Make it again.
    Redo,
}

impl Session {
    /// Puts the head on any node that stands in a conversation, as a person, with nothing to say about what is left.
    ///
    /// Where that is on a branch that was left, the model is told that the branch is back, as after an undo.
    ///
    /// Returns where the head was put: `to`, or the last result of the calls that `to` belongs to, because a conversation
    /// cannot go on between a call and its result. [`undo`](Session::undo) takes it back. While a run is open, a head that
    /// ends in words of the model is followed by words of the harness, so that the model can be asked.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if there is no such node, it was only filed under another one, its calls never got their
    /// results, or the head is there already; [`RuntimeError::Store`].
    pub async fn go(&mut self, to: NodeId) -> Result<NodeId, RuntimeError> {
        self.catch_up().await?;
        self.go_for(to, None).await
    }

    /// Merges branches into the trunk: what came of them follows the head as words of the harness.
    ///
    /// `tips` are the ends of the branches. What it would say without doing it: [`trunkline_revert::merge`] on
    /// [`tree`](Session::tree) and [`notes`](Session::notes), after [`load_whole`](Session::load_whole). Calls of an open turn that have not run do not run.
    /// [`undo`](Session::undo) takes it back together with what came after it.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] with branches that could be merged; [`RuntimeError::Store`].
    pub async fn merge(&mut self, tips: &[NodeId]) -> Result<trunkline_revert::MergeRecord, RuntimeError> {
        self.catch_up().await?;
        self.merge_for(tips, None).await
    }

    /// Gives a name to a node, or to the line that goes through it. A name that is taken moves there.
    ///
    /// A bookmark stays at its node. A branch leads to the head as long as its node is on the trunk, and then to where the
    /// head left that line.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if the text cannot be a name, as `n12`, or there is no such node; [`RuntimeError::Store`].
    pub async fn name(&mut self, name: &str, kind: NameKind, node: NodeId) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        self.name_for(Naming { name: checked(name)?, kind, node: Some(node) }, None).await
    }

    /// Takes a name away; what it named stays.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] if nothing is called so; [`RuntimeError::Store`].
    pub async fn unname(&mut self, name: &str) -> Result<(), RuntimeError> {
        self.catch_up().await?;
        let name = checked(name)?;
        self.name_for(Naming { name, kind: NameKind::Branch, node: None }, None).await
    }

    /// Returns the names that nodes and branches were given.
    pub fn names(&self) -> &Names {
        &self.state.names
    }

    /// Returns every merge, oldest first, also those that were undone: see
    /// [`MessageTree::is_in_force`](trunkline_message_tree::MessageTree::is_in_force) of their move.
    pub fn merges(&self) -> &[trunkline_revert::MergeRecord] {
        &self.state.revert.merges
    }

    pub(crate) async fn go_for(
        &mut self,
        to: NodeId,
        letter: Option<InboxId>,
    ) -> Result<NodeId, RuntimeError> {
        self.load_whole().await?;
        let to = self.perform_for(letter, |view, asked| moves::go(view, asked, to)).await?;
        self.keep_snapshot().await;
        Ok(to)
    }

    pub(crate) async fn merge_for(
        &mut self,
        tips: &[NodeId],
        letter: Option<InboxId>,
    ) -> Result<trunkline_revert::MergeRecord, RuntimeError> {
        self.load_whole().await?;
        self.perform_for(letter, |view, _| moves::merge(view, tips)).await
    }

    pub(crate) async fn name_for(
        &mut self,
        naming: Naming,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.perform_for(letter, |view, _| moves::name(view, &naming)).await
    }

    pub(crate) async fn revert_for(
        &mut self,
        to: NodeId,
        lesson: Option<&str>,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        self.perform_for(letter, |view, asked| moves::go_back(view, asked, to, lesson)).await?;
        self.start_summaries();
        self.keep_snapshot().await;
        Ok(())
    }

    pub(crate) async fn undo_for(&mut self, letter: Option<InboxId>) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        self.perform_for(letter, moves::undo).await?;
        self.keep_snapshot().await;
        Ok(())
    }

    pub(crate) async fn redo_for(&mut self, letter: Option<InboxId>) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        self.perform_for(letter, moves::redo).await?;
        self.keep_snapshot().await;
        Ok(())
    }
}

fn refused(reason: String) -> RuntimeError {
    RuntimeError::Refused { reason }
}

fn checked(name: &str) -> Result<Name, RuntimeError> {
    Name::parse(name).map_err(|fault| refused(fault.to_string()))
}
