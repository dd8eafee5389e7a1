//! What a person does with the head and with branches: go back or anywhere, merge, name.
//!
//! Each is one batch, so a kill leaves all of it or nothing: also of what leaves or comes back on the way, which is
//! proposals, the run whose prompt is left, the turn that is open.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{
    Draft, HeadMove, Link, Message, MessageTree, MoveKind, Name, NameKind, Names, Naming, Node, NodeId, Role,
    Timestamp,
};
use trunkline_session_store::{InboxId, Note as StoredNote, Record};

use crate::acts::turn::{close_turn, say_after_assistant};
use crate::journal::entries;
use crate::layers::revert::Leaving;
use crate::layers::{resolve, revert};
use crate::{RuntimeError, Session, journal};

/// The layer of what the tree keeps beside its entries.
pub(crate) const LAYER: &str = "tree";
pub(crate) const NAME: &str = "name";

/// The state of a name that was taken away.
const GONE: &str = "gone";

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
    /// [`MessageTree::is_in_force`] of their move.
    pub fn merges(&self) -> &[trunkline_revert::MergeRecord] {
        &self.state.revert.merges
    }

    pub(crate) async fn go_for(
        &mut self,
        to: NodeId,
        letter: Option<InboxId>,
    ) -> Result<NodeId, RuntimeError> {
        self.load_whole().await?;
        let tree = &self.state.tree;
        let (from, to) = (tree.head(), landing(tree, to)?);
        if from == to {
            return Err(refused(format!("the head is at {to} already")));
        }
        let fork = HeadMove { from, to, kind: MoveKind::Fork, at: self.settings().now() };
        self.go_elsewhere(fork, "a move of a person", letter).await?;
        Ok(to)
    }

    pub(crate) async fn merge_for(
        &mut self,
        tips: &[NodeId],
        letter: Option<InboxId>,
    ) -> Result<trunkline_revert::MergeRecord, RuntimeError> {
        use crate::layers::{resolve, revert};

        self.load_whole().await?;
        let at = self.settings().now();
        let mut merge = trunkline_revert::merge(&self.state.tree, &self.state.revert.notes, tips)
            .map_err(|refusal| refused(refusal.to_string()))?;
        let mut draft = self.state.tree.draft();
        // Nothing leaves the trunk here, so what waited for a decision is put aside call by call.
        let open: Vec<_> = self
            .state
            .open_turn()
            .into_iter()
            .flat_map(|turn| turn.calls().map(|(place, _)| place).collect::<Vec<_>>())
            .collect();
        let waited: Vec<Record> = open
            .iter()
            .filter(|place| !self.state.is_finished(place))
            .flat_map(|place| resolve::drop_gate(&self.state.resolve, place, at))
            .collect();
        close_turn(
            (&self.state, &self.settings().setup),
            &mut draft,
            "not run: a person merged other branches here first",
            at,
        )?;
        merge.into = draft.head();
        let outcome = merge.outcome(at);
        draft.move_head(outcome.head_move)?;
        let node = draft.merge(outcome.with, outcome.message, at)?;
        let record = merge.record(node);
        let mut records = entries(draft);
        records.extend(waited);
        records.push(journal::note(revert::LAYER, revert::MERGE, at, &record));
        self.commit(records, letter).await?;
        Ok(record)
    }

    /// Returns the end of the open run, if a person's move takes its prompt off the trunk.
    async fn abandoning(&self, left: &[NodeId], back: &[NodeId]) -> Result<Vec<Record>, RuntimeError> {
        match &self.state.decision.run {
            // Its files may be half put back, and somebody else may be at it.
            Some(run) if run.restoring.is_some() && run.is_left(left, back) => Err(refused(
                "files are being put back here: resume the session so that it ends, or abandon the run, and then move"
                    .to_owned(),
            )),
            Some(run) if run.is_left(left, back) => self.leave_run(trunkline_message_tree::Author::Person).await,
            _ => Ok(Vec::new()),
        }
    }

    /// Returns whether these steps back, made one after the other at the end of a turn, take the prompt of the open run off
    /// the trunk and leave no copy of it.
    pub(crate) fn leave_the_prompt(&self, steps: &[&Leaving]) -> bool {
        let Some(run) = &self.state.decision.run else { return false };
        let mut known: Vec<NodeId> = run.prompts().collect();
        let mut standing: Vec<NodeId> =
            known.iter().copied().filter(|prompt| self.state.tree.is_on_trunk(*prompt)).collect();
        let stood = !standing.is_empty();
        for step in steps {
            let copied = step.copies().into_iter().filter(|(original, _)| known.contains(original));
            let copies: Vec<NodeId> = copied.map(|(_, copy)| copy).collect();
            standing.retain(|prompt| !step.left().contains(prompt));
            standing.extend(&copies);
            known.extend(copies);
        }
        stood && standing.is_empty()
    }

    pub(crate) async fn name_for(
        &mut self,
        naming: Naming,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        let known = self.state.names.get(naming.name.as_str());
        match naming.node {
            Some(node) => {
                let found = self.state.tree.node(node).map_err(|fault| refused(fault.to_string()))?;
                if naming.kind == NameKind::Branch && found.is_filed() {
                    return Err(refused(format!(
                        "no branch goes through {node}, which was only filed; a bookmark can name it"
                    )));
                }
            }
            None if known.is_none() => {
                return Err(refused(format!("nothing is called {:?}", naming.name.as_str())));
            }
            None => {}
        }
        let state = naming.node.map_or_else(|| GONE.to_owned(), |_| naming.kind.to_string());
        let at = self.settings().now();
        let note =
            StoredNote::new(LAYER, NAME, at, journal::json(&naming)).about(naming.name.as_str(), state);
        self.commit(vec![Record::Note(note)], letter).await
    }
}

impl Session {
    pub(crate) async fn revert_for(
        &mut self,
        to: NodeId,
        lesson: Option<&str>,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        let at = self.settings().now();
        let planned = revert::plan_by_person(&self.state.tree, to, lesson)?;
        let planned = planned.in_window(revert::window(&self.settings().setup));
        let mut draft = self.state.tree.draft();
        let results = close_turn(
            (&self.state, &self.settings().setup),
            &mut draft,
            "not run: a person left this branch first",
            at,
        )?;
        let leaving = planned.leaving(&self.state.tree, &results, at);
        let leaving = leaving.told((&self.state, &self.state.tree), &self.settings().setup, &draft);
        let notes = leaving.records(at);
        let moving = (leaving.head_move(), leaving.move_name());
        let records = self.moving(draft, notes, moving, &results, None, at).await?;
        self.commit(records, letter).await?;
        self.start_summaries();
        self.keep_snapshot().await;
        Ok(())
    }

    pub(crate) async fn undo_for(&mut self, letter: Option<InboxId>) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        let at = self.settings().now();
        let undo = self.state.tree.plan_undo(at).ok_or_else(|| RuntimeError::Refused {
            reason: "there is no move of the head to take back".to_owned(),
        })?;
        self.go_elsewhere(undo, "an undo", letter).await
    }

    pub(crate) async fn redo_for(&mut self, letter: Option<InboxId>) -> Result<(), RuntimeError> {
        self.load_whole().await?;
        let at = self.settings().now();
        let redo = self.state.tree.plan_redo(at).ok_or_else(|| RuntimeError::Refused {
            reason: "there is no move of the head to make again".to_owned(),
        })?;
        self.go_elsewhere(redo, "a redo", letter).await
    }

    pub(crate) async fn go_elsewhere(
        &mut self,
        head_move: HeadMove,
        name: &str,
        letter: Option<InboxId>,
    ) -> Result<(), RuntimeError> {
        let at = head_move.at;
        let mut draft = self.state.tree.draft();
        let results = close_turn(
            (&self.state, &self.settings().setup),
            &mut draft,
            "not run: a person went to another branch first",
            at,
        )?;
        let note = revert::undone(&self.state, &self.settings().setup, &head_move, &draft, at);
        let notes = note.into_iter().collect();
        let head_move = HeadMove { from: draft.head(), ..head_move };
        let records = self.moving(draft, notes, (head_move, name.to_owned()), &results, None, at).await?;
        self.commit(records, letter).await?;
        self.keep_snapshot().await;
        Ok(())
    }

    /// Returns the records of a person's move with everything that it carries: the end of an open turn, proposals that
    /// leave or come back, the end of a run whose prompt is left. `accepted` is the proposed step that it takes.
    pub(crate) async fn moving(
        &self,
        mut draft: Draft<'_>,
        notes: Vec<Record>,
        (head_move, name): (HeadMove, String),
        results: &[NodeId],
        accepted: Option<revert::StepId>,
        at: Timestamp,
    ) -> Result<Vec<Record>, RuntimeError> {
        let tree = &self.state.tree;
        let shared = tree.node(tree.fork_of(head_move.to)?)?.depth();
        let mut left: Vec<NodeId> = tree.trunk().ids()[shared + 1..].to_vec();
        left.extend_from_slice(results);
        let line = tree.ancestry(head_move.to)?.map(|(id, _)| id);
        let mut back: Vec<NodeId> = line.take_while(|id| !tree.is_on_trunk(*id)).collect();
        back.reverse();
        draft.move_head(head_move)?;
        let abandoned = self.abandoning(&left, &back).await?;
        if abandoned.is_empty() {
            say_after_assistant(&self.state, &mut draft, at)?;
        }
        let mut records = entries(draft);
        records.extend(notes);
        records.extend(revert::overtaken(&self.state.revert, &left, accepted, at));
        records.extend(resolve::supersede_left(&self.state.resolve, &left, &name, at));
        records.extend(resolve::restore_back(&self.state.resolve, &back, at));
        records.extend(abandoned);
        Ok(records)
    }
}

fn refused(reason: String) -> RuntimeError {
    RuntimeError::Refused { reason }
}

fn checked(name: &str) -> Result<Name, RuntimeError> {
    Name::parse(name).map_err(|fault| refused(fault.to_string()))
}

/// Returns where a head has to be put that is to stand on a node, or says why not and what is next to it.
fn landing(tree: &MessageTree, to: NodeId) -> Result<NodeId, RuntimeError> {
    let line = tree.ancestry(to).map_err(|fault| refused(fault.to_string()))?;
    let mut reason = None;
    for (id, node) in line {
        match (end_at(tree, id, node), reason) {
            (Ok(end), None) => return Ok(end),
            (Ok(_), Some(why)) => return Err(refused(format!("{why}; go to {id}"))),
            (Err(why), first) => reason = first.or(Some(why)),
        }
    }
    Err(refused(reason.unwrap_or_else(|| format!("the head cannot stand on {to}"))))
}

/// Returns the end of the calls and results around a node, where a head can stand; otherwise says why it cannot.
fn end_at(tree: &MessageTree, id: NodeId, node: &Node) -> Result<NodeId, String> {
    let under = node.parent().unwrap_or(NodeId::ROOT);
    match node.link() {
        Link::Next | Link::Merge { .. } => {}
        Link::Filed => return Err(format!("{id} was only filed under {under}, and nothing follows it")),
        Link::Cover { from } => {
            return Err(format!("{id} stands for {from} to {under}, and nothing follows it"));
        }
    }
    let mut end = id;
    if asks(node.message()) || answers(node.message()) {
        // Children are younger, so one look at each finds the whole group. The trunk knows which of several goes on.
        let on_trunk = tree.is_on_trunk(id);
        for (younger, later) in tree.nodes_after(id) {
            let follows = later.parent() == Some(end) && !later.is_filed() && answers(later.message());
            if follows && (!on_trunk || tree.is_on_trunk(younger)) {
                end = younger;
            }
        }
    }
    // A head on open calls would have them run: nobody asked for that.
    if end != tree.head() && tree.node(end).is_ok_and(|node| asks(node.message())) {
        return Err(format!("the calls of {end} never got their results"));
    }
    Ok(end)
}

fn asks(message: &Message) -> bool {
    message.role == Role::Assistant && message.calls().next().is_some()
}

/// Returns whether the message brings results; imported histories have them in user messages.
fn answers(message: &Message) -> bool {
    message.role == Role::Tool || message.results().next().is_some()
}
