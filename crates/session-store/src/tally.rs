//! Counts records and refuses those that no tree could replay.
//!
//! Both stores and the import use it, so that a log that was accepted anywhere can be read everywhere. It holds four
//! numbers, not the tree: whether an undo names the right move is for the tree to say.

use serde_json::value::RawValue;
use trunkline_message_tree::{Entry, NodeId, Timestamp, TreeError};

use crate::{Note, Position, Record, SessionInfo};

/// How far a log has come, with what is needed to judge the next record.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) seq: u64,
    pub(crate) nodes: u64,
    pub(crate) head: NodeId,
    pub(crate) updated_at: Timestamp,
}

/// Why a record cannot come next.
#[derive(Debug)]
pub(crate) enum Misfit {
    Tree(TreeError),
    Body { kind: String, reason: &'static str },
}

impl Tally {
    /// Returns the tally of a log without records.
    pub(crate) fn new(created_at: Timestamp) -> Self {
        Tally { seq: 0, nodes: 0, head: NodeId::ROOT, updated_at: created_at }
    }

    /// Returns the tally that a session's row claims.
    pub(crate) fn of(info: &SessionInfo) -> Self {
        Tally { seq: info.records, nodes: info.nodes, head: info.head, updated_at: info.updated_at }
    }

    pub(crate) fn position(self) -> Position {
        Position { seq: self.seq, head: self.head }
    }

    /// Counts one more record.
    pub(crate) fn add(&mut self, record: &Record) -> Result<(), Misfit> {
        match record {
            Record::Entry(entry) => self.add_entry(entry).map_err(Misfit::Tree)?,
            // Nothing may stand before the root.
            Record::Note(_) if self.seq == 0 => return Err(Misfit::Tree(TreeError::NoRoot)),
            Record::Note(Note { kind, body, .. }) => {
                check_body(body).map_err(|reason| Misfit::Body { kind: kind.clone(), reason })?;
            }
        }
        self.seq += 1;
        self.updated_at = self.updated_at.max(record.at());
        Ok(())
    }

    fn add_entry(&mut self, entry: &Entry) -> Result<(), TreeError> {
        match entry {
            Entry::Node { id: NodeId::ROOT, parent: None, .. } if self.nodes == 0 => {}
            _ if self.nodes == 0 => return Err(TreeError::NoRoot),
            Entry::Node { id, parent, filed, .. } => {
                let expected = u32::try_from(self.nodes).map(NodeId::new).map_err(|_| TreeError::Full)?;
                let parent = parent.filter(|_| *id == expected);
                let parent = parent.ok_or(TreeError::OutOfOrder { found: *id, expected })?;
                self.check_exists(parent)?;
                if !filed {
                    self.check_head(parent)?;
                    self.head = *id;
                }
            }
            Entry::Move(head_move) => {
                self.check_head(head_move.from)?;
                self.check_exists(head_move.to)?;
                self.head = head_move.to;
                return Ok(());
            }
        }
        self.nodes += 1;
        Ok(())
    }

    fn check_head(&self, expected: NodeId) -> Result<(), TreeError> {
        if expected == self.head {
            return Ok(());
        }
        Err(TreeError::HeadMoved { expected, actual: self.head })
    }

    fn check_exists(&self, node: NodeId) -> Result<(), TreeError> {
        if (node.index() as u64) < self.nodes {
            return Ok(());
        }
        let newest = u32::try_from(self.nodes.saturating_sub(1)).unwrap_or(u32::MAX);
        Err(TreeError::UnknownNode { node, newest: NodeId::new(newest) })
    }
}

/// Checks that a body can stand inside a line of the interchange form without a byte being changed.
pub(crate) fn check_body(body: &str) -> Result<&RawValue, &'static str> {
    let raw: &RawValue = serde_json::from_str(body).map_err(|_| "it is not JSON")?;
    if raw.get().len() != body.len() {
        return Err("there is white space around the JSON");
    }
    if body.contains(['\n', '\r']) {
        return Err("the JSON is not on one line");
    }
    Ok(raw)
}
