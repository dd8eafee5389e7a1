//! What follows for calls of tools: each is told when it has its result, with how it ended.

use std::collections::HashMap;

use trunkline_decision_objects::{
    EventId, NonBlank, RelativePath, Timestamp as RunTime, ToolInvocation, ToolInvocationContent, ToolStatus,
};
use trunkline_message_tree::{Author, Link, Message, NodeId, Origin, Role, Timestamp, ToolCall, ToolResult};
use trunkline_revert::Effects;
use trunkline_session_store::Note;

use super::made::{Made, harness, header, model, name, not_before};
use super::pieces::summary;
use super::runs::OpenRun;
use crate::notes::journal::{CALL_FINISHED, CALL_STARTED, CallFinished, CallStarted};
use crate::notes::record::read;

/// How the result of a call begins that was stopped, or that never began because something came first.
const STOPPED: [&str; 9] = [
    "not run: the turn was cancelled",
    "not done: the turn was cancelled",
    "not run: a person",
    "not run: the run was ended",
    "not run: a revert",
    "not run: it was put aside",
    "not run: the reply was cut off",
    "cut off:",
    "outcome unknown:",
];

/// A call by its message and its place in it.
type Place = (NodeId, u32);

/// The calls so far that have no result yet.
#[derive(Default)]
pub(super) struct Calls {
    turn: Option<Turn>,
    /// What is recorded of calls of the turn.
    begun: HashMap<Place, Timestamp>,
    ended: HashMap<Place, (Timestamp, Option<Box<Effects>>)>,
}

/// A message with calls whose results have not all come.
struct Turn {
    node: NodeId,
    calls: Vec<ToolCall>,
    origin: Option<Origin>,
    /// The call whose result comes next.
    next: usize,
}

impl Calls {
    pub(super) fn note(&mut self, note: &Note) {
        match note.kind.as_str() {
            CALL_STARTED => {
                if let Ok(CallStarted { call, .. }) = read(note) {
                    self.begun.entry((call.node, call.index)).or_insert(note.at);
                }
            }
            CALL_FINISHED => {
                if let Ok(CallFinished { call, effects, .. }) = read(note) {
                    self.ended.entry((call.node, call.index)).or_insert((note.at, effects));
                }
            }
            _ => {}
        }
    }

    pub(super) fn node(
        &mut self,
        made: &mut Made,
        run: Option<&OpenRun>,
        (id, at): (NodeId, Timestamp),
        (link, message): (&Link, &Message),
        denied: impl Fn(&Place) -> bool,
    ) {
        if link.is_filed() {
            return;
        }
        if message.role != Role::Tool {
            self.turn = None;
            if message.role == Role::Assistant {
                self.begun.clear();
                self.ended.clear();
                let calls: Vec<ToolCall> = message.calls().cloned().collect();
                let origin = message.origin.clone();
                self.turn = (!calls.is_empty()).then_some(Turn { node: id, calls, origin, next: 0 });
            }
            return;
        }
        let Some(turn) = &mut self.turn else { return };
        for result in message.results() {
            let Some(call) = turn.calls.get(turn.next) else { return };
            let index = u32::try_from(turn.next).unwrap_or(u32::MAX);
            turn.next += 1;
            let Some(run) = run else { continue };
            let place = (turn.node, index);
            let status = status_of(message.author, result, denied(&place));
            let (begun, ended) = (self.begun.get(&place).copied(), self.ended.get(&place));
            let effects = ended.and_then(|(_, effects)| effects.as_deref());
            let started = begun.map(|begun| not_before(run.at, begun));
            let times =
                (started, not_before(started.unwrap_or(run.at), ended.map_or(at, |(ended, _)| *ended)));
            made.push(invocation(
                made.seq,
                run,
                turn.origin.as_ref(),
                (call, index),
                (result, status),
                times,
                effects,
            ));
        }
    }
}

fn invocation(
    seq: u64,
    run: &OpenRun,
    origin: Option<&Origin>,
    (call, index): (&ToolCall, u32),
    (result, status): (&ToolResult, ToolStatus),
    (started, ended): (Option<RunTime>, RunTime),
    effects: Option<&Effects>,
) -> Result<ToolInvocation, trunkline_decision_objects::Invalid> {
    let paths = |paths: Option<&Vec<String>>| {
        // What is no path in the folder has no place there.
        paths.into_iter().flatten().filter_map(|path| RelativePath::new(path.as_str()).ok()).collect()
    };
    let text: Vec<&str> = result
        .content
        .iter()
        .filter_map(|part| match part {
            trunkline_message_tree::Part::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    let content = ToolInvocationContent {
        run: run.id,
        tool: NonBlank::new(call.name.as_str())?,
        call: NonBlank::new(call.id.as_str()).ok(),
        reads: paths(effects.map(|effects| &effects.reads)),
        writes: paths(effects.map(|effects| &effects.writes)),
        args: call.arguments.clone(),
        status,
        summary: summary(&text.join("\n")).map(|text| text.as_str().to_owned()),
        artifacts: Vec::new(),
        started,
        ended: started.map(|_| ended),
    };
    let by = origin.map_or_else(harness, model).or_else(|_| harness())?;
    let id = EventId::new(name("tool_invocation", run.id.uuid(), seq, index));
    ToolInvocation::new(header(id, ended, by)?, content)
}

/// Says how a call ended. What no tool gave, the harness has said in its own words.
fn status_of(author: Author, result: &ToolResult, is_denied: bool) -> ToolStatus {
    let text = result.content.iter().find_map(|part| match part {
        trunkline_message_tree::Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    let stopped = STOPPED.iter().any(|begin| text.is_some_and(|text| text.starts_with(begin)));
    match (result.is_error, author) {
        (false, _) => ToolStatus::Ok,
        (true, Author::Harness) if is_denied => ToolStatus::Denied,
        (true, Author::Harness) if stopped => ToolStatus::Cancelled,
        (true, _) => ToolStatus::Error,
    }
}
