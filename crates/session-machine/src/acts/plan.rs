//! What an act records, what is told of it, and what follows.

use trunkline_message_tree::{Part, Timestamp, ToolResult};
use trunkline_resolve_queue::ResolutionDetails;
use trunkline_session_store::Record;

use crate::notes::journal::{CallFinished, call_finished};
use crate::words::call::CallPlace;
use crate::words::event::Event;

/// What an act records, in one batch, what is told of it then, and what follows from it.
pub struct Plan<T = ()> {
    /// What is recorded, in this order, all or nothing.
    pub records: Vec<Record>,
    /// What is told once that is recorded.
    pub events: Vec<Event>,
    /// What follows.
    pub then: T,
}

impl Plan {
    /// Returns a plan of records of which nothing is told.
    pub fn of(records: Vec<Record>) -> Self {
        Plan { records, events: Vec::new(), then: () }
    }

    /// Nothing is recorded.
    pub(crate) fn nothing() -> Self {
        Plan::of(Vec::new())
    }

    pub(crate) fn then<T>(self, then: T) -> Plan<T> {
        Plan { records: self.records, events: self.events, then }
    }

    /// Adds the result of a call, and what the call meant.
    pub fn finish(
        &mut self,
        place: &CallPlace,
        (content, is_error): (Vec<Part>, bool),
        details: Option<ResolutionDetails>,
        at: Timestamp,
    ) {
        let (call, result) = (place.clone(), ToolResult { call_id: place.id.clone(), content, is_error });
        let told = details.as_ref().and_then(|details| serde_json::to_value(details).ok());
        let finished = CallFinished {
            call: call.clone(),
            result: result.clone(),
            ran: true,
            details: told,
            effects: None,
        };
        self.records.push(call_finished(&finished, at));
        self.events.push(Event::CallFinished { call: call.clone(), result, elapsed: None });
        self.events.extend(details.map(|details| Event::Resolved { call, details }));
    }
}
