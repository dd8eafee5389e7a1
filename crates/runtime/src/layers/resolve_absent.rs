//! A runtime without staged actions. Sessions that have unsettled ones are refused rather than misunderstood.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::{Note, Record};

use crate::turn::Step;
use crate::{CallPlace, Event, RuntimeError, Tool, journal};

pub(crate) const LAYER: &str = "resolve";
/// What came along with an import counts no more.
pub(crate) const DISTRUSTED: &str = "distrusted";

pub(crate) fn is_told(kind: &str) -> bool {
    kind == DISTRUSTED
}

pub(crate) type Setting = ();

#[derive(Clone, Copy, Debug)]
pub(crate) enum Id {}

pub(crate) enum Asked {}

#[expect(dead_code, reason = "the machine speaks of what here never happens")]
pub(crate) enum Gated {
    Free(Option<Id>),
    Ask(Box<Asked>),
    Waiting(Id),
    Approve(Id),
    Refused(String),
}

pub(crate) enum Work {}

impl Work {
    pub(crate) fn into_step(self, _: bool) -> Step {
        match self {}
    }
}

pub(crate) fn approve(id: Id) -> Step {
    match id {}
}

/// Which proposals of another build are not settled, and which of its rules ask or forbid: nobody here would heed them.
#[derive(Default)]
pub(crate) struct Part {
    open: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Seen {
    proposal: String,
    change: Value,
}

#[derive(Deserialize)]
struct Given {
    rule: String,
    change: Value,
}

impl Part {
    fn record_rule(&mut self, note: &Note) -> Result<(), RuntimeError> {
        let given: Given = journal::read(note)?;
        match given.change.pointer("/added/verdict").and_then(Value::as_str) {
            Some("allow") => {}
            Some(_) => drop(self.open.insert(given.rule)),
            None if given.change.get("revoked").is_some() => drop(self.open.remove(&given.rule)),
            None => {}
        }
        Ok(())
    }

    /// Without the layer it is not known what a proposal was for.
    #[cfg(feature = "decision-objects")]
    #[expect(clippy::unused_self, reason = "the layer that is there looks")]
    pub(crate) fn is_edit(&self, _: &str) -> bool {
        true
    }

    pub(crate) fn record(&mut self, note: &Note, _: u64, _: NodeId) -> Result<(), RuntimeError> {
        if note.kind == "rule" {
            return self.record_rule(note);
        }
        if note.kind != "event" {
            return Ok(());
        }
        let seen: Seen = journal::read(note)?;
        let is = |name: &str| seen.change.get(name).is_some() || seen.change.as_str() == Some(name);
        let discarded = seen.change.pointer("/decided/verdict").and_then(Value::as_str) == Some("discard");
        let applied = seen.change.pointer("/finished/outcome").and_then(Value::as_str) == Some("applied")
            || seen.change.pointer("/recovered/observation").and_then(Value::as_str) == Some("after");
        if is("staged") || is("restored") {
            self.open.insert(seen.proposal);
        } else if is("superseded") || discarded || applied {
            self.open.remove(&seen.proposal);
        }
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "the layer that is there keeps it")]
    pub(crate) fn finished(&self, _: &journal::CallFinished) {}

    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the layer that is there needs both")]
    pub(crate) fn complete(&self, _: &mut [Record]) -> Result<(), RuntimeError> {
        Ok(())
    }

    /// Refuses a session that another build has left with undecided work.
    pub(crate) fn check_settled(&self) -> Result<(), RuntimeError> {
        if self.open.is_empty() {
            Ok(())
        } else {
            Err(RuntimeError::LayerMissing { feature: "resolve-queue" })
        }
    }
}

pub(crate) fn gate(
    (): &Setting,
    _: &Part,
    _: (&str, &dyn Tool),
    _: &Map<String, Value>,
    _: &CallPlace,
    _: Timestamp,
) -> Gated {
    Gated::Free(None)
}

pub(crate) fn ahead((): &Setting, _: &Part, _: &CallPlace, _: Timestamp) -> Vec<Id> {
    Vec::new()
}

pub(crate) fn work_ahead((): &Setting, _: &Part, _: &[Id], _: Timestamp) -> Option<Work> {
    None
}

pub(crate) fn work((): &Setting, _: &Part, _: Timestamp) -> Option<Work> {
    None
}

pub(crate) fn drop_gate(_: &Part, _: &CallPlace, _: Timestamp) -> Option<Record> {
    None
}

pub(crate) fn supersede_left(_: &Part, _: &[NodeId], _: &str, _: Timestamp) -> Vec<Record> {
    Vec::new()
}

pub(crate) fn restore_back(_: &Part, _: &[NodeId], _: Timestamp) -> Vec<Record> {
    Vec::new()
}

#[cfg(feature = "revert")]
pub(crate) struct Written {
    pub(crate) subject: String,
    pub(crate) staged_by: NodeId,
    pub(crate) reversible: bool,
    pub(crate) known: bool,
}

#[cfg(feature = "revert")]
pub(crate) fn written_since(_: &Part, _: NodeId) -> Vec<Written> {
    Vec::new()
}

pub(crate) fn event(_: &Note) -> Option<Event> {
    None
}

#[cfg(feature = "decision-objects")]
pub(crate) fn applied(_: &Part, _: u64) -> Vec<(String, Option<NodeId>)> {
    Vec::new()
}

#[cfg(feature = "decision-objects")]
pub(crate) fn rejected(_: &Part, _: u64) -> Vec<(String, String)> {
    Vec::new()
}

#[cfg(feature = "decision-objects")]
pub(crate) fn approver(_: &Part, _: u64) -> Option<trunkline_decision_objects::Actor> {
    None
}

#[cfg(feature = "decision-objects")]
pub(crate) fn touched(_: &Part, _: u64) -> Vec<crate::Touched> {
    Vec::new()
}

#[cfg(feature = "decision-objects")]
pub(crate) fn names_what_it_wrote(_: &Part, _: u64) -> bool {
    true
}

#[cfg(feature = "decision-objects")]
pub(crate) fn unsettled(_: &Part) -> Vec<String> {
    Vec::new()
}

pub(crate) fn undecided(_: &Part) -> Vec<Id> {
    Vec::new()
}
