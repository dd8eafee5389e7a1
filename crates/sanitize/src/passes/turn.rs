//! The assistant's turn: messages in a row, and the calls in them.
//!
//! Some recorders store one answer as several messages, a block each. Results follow the last of them, so calls are
//! gathered before anyone asks what answers them.

use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Content, Message, NodeId, Origin, Role};

use super::call_ids::{CallIds, Given};
use super::names::Names;
use super::provenance::is_native;
use super::{Asked, Item};
use crate::json;
use crate::sound::FEW_CALLS;
use crate::{Alternate, Place, Repair, RepairKind, RequestFacts, ResultPlace, WireRules};

/// A call that waits for its result.
pub(super) struct OpenCall {
    /// The id under which it was stored.
    pub(super) stored_id: String,
    /// The id by which it goes.
    pub(super) id: String,
    /// The tool.
    pub(super) name: String,
    pub(super) at: Place,
    /// Its position among the calls of the message that it was stored in.
    pub(super) position: usize,
    /// What the model wrote for arguments, where that was no object and not merely empty.
    pub(super) raw: Option<String>,
    /// Where its result stands: item of the slot and block.
    pub(super) answer: Option<(usize, usize)>,
}

/// An assistant message, and where each of its calls was stored, in order.
pub(super) struct Gathered {
    pub(super) item: Item,
    stored: Vec<(Place, usize)>,
    /// Whether it was made of several messages.
    joined: bool,
}

/// Joins assistant messages in a row where a wire would miss the results of the earlier ones.
pub(super) fn gather(
    run: Vec<Item>,
    rules: &WireRules,
    facts: &RequestFacts,
    repairs: &mut Vec<Repair>,
) -> Vec<Gathered> {
    let mut gathered: Vec<Gathered> = Vec::new();
    let apart = match rules.alternate {
        Alternate::Free => true,
        Alternate::NoCalls => run.iter().all(|item| !calls(item)),
        Alternate::Strict => false,
    };
    for item in run {
        let at = item.at;
        let stored = (0..item.message.calls().count()).map(|position| (at, position));
        match gathered.last_mut() {
            Some(earlier) if rules.results != ResultPlace::AfterTurn && (calls(&earlier.item) || !apart) => {
                repairs.push(Repair { at, kind: RepairKind::Joined { role: Role::Assistant } });
                earlier.stored.extend(stored);
                earlier.joined = true;
                join(&mut earlier.item.message, item.message, facts);
            }
            _ => gathered.push(Gathered { stored: stored.collect(), item, joined: false }),
        }
    }
    for Gathered { item, joined, .. } in &mut gathered {
        let calls = item.message.calls().count();
        let moves = *joined || !rules.words_after_calls;
        if moves && put_calls_last(&mut item.message) && !*joined {
            repairs.push(Repair { at: item.at, kind: RepairKind::CallsMovedBack { calls } });
        }
    }
    gathered
}

/// Puts words and reasoning before the calls, so that results follow these directly; returns whether any stood behind one.
///
/// Where messages are joined anyway the order of their blocks is free, and some services of every wire miss results that do
/// not follow directly.
fn put_calls_last(message: &mut Message) -> bool {
    let is_call = |block: &Content| block.as_call().is_some();
    let first = message.content.iter().position(is_call).unwrap_or(message.content.len());
    if message.content.iter().skip(first).all(is_call) {
        return false;
    }
    let (calls, words): (Vec<_>, Vec<_>) = message.content.drain(first..).partition(is_call);
    message.content.extend(words);
    message.content.extend(calls);
    true
}

fn calls(item: &Item) -> bool {
    item.message.calls().next().is_some()
}

fn join(earlier: &mut Message, later: Message, facts: &RequestFacts) {
    let closeness = |origin: &Option<Origin>| match (origin, &facts.origin) {
        (Some(wrote), Some(reads)) if wrote.is_from(reads) => 4,
        (Some(wrote), Some(reads)) if wrote.agrees_with(reads) => 3,
        (Some(_), Some(_)) if is_native(origin.as_ref(), facts) => 2,
        (None, _) | (_, None) => 1,
        _ => 0,
    };
    // Blocks that were kept because of where they come from must still be seen to come from there.
    if closeness(&later.origin) > closeness(&earlier.origin) {
        earlier.origin = later.origin;
    }
    earlier.stop = later.stop;
    earlier.content.extend(later.content);
}

/// Opens the calls of a message: drops replays, gives ids, replaces arguments that no wire takes.
///
/// `elsewhere` knows the ids of calls that never came to the passes.
pub(super) fn open_calls(
    gathered: &mut Gathered,
    ids: &mut CallIds,
    names: &mut Names,
    elsewhere: &dyn Fn(&str) -> bool,
    asked: &Asked<'_>,
    repairs: &mut Vec<Repair>,
) -> Vec<OpenCall> {
    let Gathered { item, stored, .. } = gathered;
    let Asked { rules, facts, .. } = *asked;
    let mut calls: Vec<OpenCall> = Vec::new();
    let mut said: HashMap<String, HashSet<(String, String)>> = HashMap::new();
    let ids_differ = ids_differ(item);
    let mut stored = stored.iter();
    item.message.content.retain_mut(|block| {
        let Content::ToolCall(call) = block else { return true };
        let (at, position) = stored.next().copied().unwrap_or((item.at, 0));
        if !ids_differ {
            let words = (call.name.clone(), call.arguments.clone());
            if !said.entry(call.id.clone()).or_default().insert(words) {
                let call_id = call.id.clone();
                repairs.push(Repair { at, kind: RepairKind::ReplayDropped { call_id } });
                return false;
            }
        }

        let stored_id = call.id.clone();
        if let Given::New { id, taken } = ids.give(&call.id, elsewhere) {
            let from = std::mem::replace(&mut call.id, id.clone());
            repairs.push(Repair { at, kind: RepairKind::Renamed { from, to: id, taken } });
        }
        if let Some(name) = names.give(&call.name, rules, facts) {
            let from = std::mem::replace(&mut call.name, name.clone());
            let call_id = stored_id.clone();
            repairs.push(Repair { at, kind: RepairKind::NameReplaced { call_id, from, to: name } });
        }
        let mut raw = None;
        if !json::are_arguments(&call.arguments, rules.null_arguments) {
            let written = std::mem::replace(&mut call.arguments, "{}".to_owned());
            let call_id = stored_id.clone();
            raw = (!json::is_empty_value(&written)).then(|| written.clone());
            repairs.push(Repair { at, kind: RepairKind::ArgumentsReplaced { call_id, raw: written } });
        }
        let (id, name) = (call.id.clone(), call.name.clone());
        calls.push(OpenCall { stored_id, id, name, at, position, raw, answer: None });
        true
    });
    calls
}

/// Whether the calls of a message are few and no two of one id, so that none can be a replay.
fn ids_differ(item: &Item) -> bool {
    let mut seen: Vec<&str> = Vec::new();
    item.message.calls().all(|call| {
        let differs = seen.len() < FEW_CALLS && !seen.contains(&call.id.as_str());
        seen.push(&call.id);
        differs
    })
}

impl OpenCall {
    pub(super) fn node(&self) -> Option<NodeId> {
        self.at.node
    }
}
