//! A runtime without reverts: no tool, no marks, no notes. What other builds wrote stays in the log.

use std::sync::Arc;

use trunkline_message_tree::{
    Draft, Entry, HeadMove, Message, MessageList, MessageTree, NodeId, Timestamp, ToolSpec,
};
use trunkline_session_store::{Note as StoredNote, Record};

use crate::state::State;
use crate::turn::Setup;
use crate::{Event, RuntimeError, Session};

pub(crate) const LAYER: &str = "revert";

pub(crate) type Setting = Option<std::convert::Infallible>;

#[derive(Default)]
pub(crate) struct Part {}

impl Part {
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "the layer that is there needs both")]
    pub(crate) fn record(&mut self, _: &StoredNote) -> Result<(), RuntimeError> {
        Ok(())
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn entry(&mut self, _: &Entry, _: &MessageTree) {}

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn watch(&mut self, _: &Setting) {}

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn copies(&self, _: &StoredNote) -> Vec<(NodeId, NodeId)> {
        Vec::new()
    }
}

pub(crate) fn is_told(_: &str) -> bool {
    false
}

#[derive(Default)]
pub(crate) struct Drained {
    pub(crate) answers: Vec<(u32, String, bool)>,
}

pub(crate) enum Leaving {}

pub(crate) type StepId = std::convert::Infallible;

pub(crate) fn overtaken(_: &Part, _: &[NodeId], _: Option<StepId>, _: Timestamp) -> Vec<Record> {
    Vec::new()
}

pub(crate) struct Summaries {}

impl Summaries {
    pub(crate) fn new(_: &Part) -> Self {
        Summaries {}
    }
}

impl Session {
    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn start_summaries(&mut self) {}

    #[expect(clippy::unused_async, reason = "the layer that is there writes")]
    pub(crate) async fn tend_summaries(&mut self) -> Result<(), RuntimeError> {
        let Summaries {} = self.summaries;
        Ok(())
    }
}

pub(crate) fn missed(_: &State, _: &Message, _: NodeId, _: Timestamp) -> Option<Record> {
    None
}

pub(crate) fn is_call(_: &Setting, _: &str) -> bool {
    false
}

pub(crate) fn specs(_: &Setting) -> Vec<ToolSpec> {
    Vec::new()
}

pub(crate) fn rendered(_: &Setting, _: bool, tree: &MessageTree, _: &Part) -> Vec<Message> {
    tree.trunk().items().map(|item| item.message().clone()).collect()
}

pub(crate) struct Live;

impl Live {
    pub(crate) fn new(_: &Setting, _: bool) -> Self {
        Live
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn refresh(&mut self, _: &MessageTree, _: &Part) -> Option<usize> {
        None
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn messages(&self) -> Option<&[Arc<Message>]> {
        None
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn list(&self) -> Option<&MessageList> {
        None
    }
}

pub(crate) fn drain(
    _: &Setting,
    _: &MessageTree,
    _: NodeId,
    _: &Message,
    _: impl Fn(u32) -> bool,
) -> Drained {
    Drained::default()
}

impl Drained {
    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn leaves(&self) -> bool {
        false
    }

    pub(crate) fn priced(self, _: &State, _: &Setup) -> Self {
        self
    }

    #[expect(clippy::unused_self, reason = "the layer that is there needs it")]
    pub(crate) fn finish(
        &mut self,
        _: &MessageTree,
        _: &[NodeId],
        _: Timestamp,
    ) -> (Vec<Record>, Option<Leaving>) {
        (Vec::new(), None)
    }
}

impl Leaving {
    pub(crate) fn told(self, _: (&State, &MessageTree), _: &Setup, _: &Draft<'_>) -> Self {
        match self {}
    }

    pub(crate) fn move_head(
        &mut self,
        _: &MessageTree,
        _: &mut Draft<'_>,
        _: Timestamp,
    ) -> Result<(), RuntimeError> {
        match *self {}
    }

    pub(crate) fn head_move(&self) -> HeadMove {
        match *self {}
    }

    pub(crate) fn move_name(&self) -> String {
        match *self {}
    }

    pub(crate) fn left(&self) -> &[NodeId] {
        match *self {}
    }

    #[cfg(feature = "decision-objects")]
    pub(crate) fn copies(&self) -> Vec<(NodeId, NodeId)> {
        match *self {}
    }

    pub(crate) fn records(&self, _: Timestamp) -> Vec<Record> {
        match *self {}
    }
}

pub(crate) fn event(_: &StoredNote) -> Option<Event> {
    None
}

pub(crate) fn plan_by_person(_: &MessageTree, _: NodeId, _: Option<&str>) -> Result<Planned, RuntimeError> {
    Err(RuntimeError::LayerMissing { feature: "revert" })
}

pub(crate) type CompactSetting = Option<std::convert::Infallible>;

pub(crate) enum CompactPlan {}

pub(crate) fn compaction_due(_: &CompactSetting, _: &MessageTree, _: &Part) -> Option<CompactPlan> {
    None
}

pub(crate) fn window(_: &Setup) -> Option<u64> {
    None
}

pub(crate) fn set_window(_: &mut Setting, _: Option<u64>) {}

impl Session {
    #[expect(clippy::unused_async, reason = "the layer that is there waits")]
    pub(crate) async fn note_break(&mut self) -> Result<(), RuntimeError> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the layer that is there waits")]
    pub(crate) async fn make_room_for_more(&mut self, _: &crate::Cancel) -> Result<u64, RuntimeError> {
        Ok(0)
    }

    #[expect(clippy::unused_async, reason = "the layer that is there waits")]
    pub(crate) async fn make_room(
        &mut self,
        fault: RuntimeError,
        _: &crate::Cancel,
    ) -> Result<u64, RuntimeError> {
        Err(fault)
    }

    #[expect(clippy::unused_async, reason = "the layer that is there waits")]
    pub(crate) async fn compact_span(
        &mut self,
        plan: CompactPlan,
        _: &crate::Cancel,
    ) -> Result<u64, RuntimeError> {
        match plan {}
    }
}

pub(crate) enum Planned {}

impl Planned {
    pub(crate) fn in_window(self, _: Option<u64>) -> Self {
        match self {}
    }

    pub(crate) fn leaving(self, _: &MessageTree, _: &[NodeId], _: Timestamp) -> Leaving {
        match self {}
    }
}

pub(crate) fn undone(_: &State, _: &Setup, _: &HeadMove, _: &Draft<'_>, _: Timestamp) -> Option<Record> {
    None
}

#[cfg(feature = "decision-objects")]
pub(crate) fn lessons(_: &Part, _: &MessageTree, _: &[NodeId]) -> Vec<(Option<NodeId>, String)> {
    Vec::new()
}
