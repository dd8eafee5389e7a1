//! What a verdict points at: the nodes that it rests on, the proposals that were applied, the files, and the bill.
//!
//! All of it follows from the log, but for the files: their digests are the workspace's to tell, and one that it cannot
//! tell is left out.

use std::collections::BTreeSet;

use trunkline_decision_objects::{Citations, Cost, FileState, NonBlank};
use trunkline_message_tree::{Author, NodeId, Role};

use crate::rules::closing::digest;
use crate::rules::written;
use crate::state::State;
use crate::state::decision::OpenRun;
use crate::words::bill::bill;
use crate::words::files::FileStates;
use crate::words::path::relative_path;

/// Returns what the verdict of a run cites. `files` are those that it changed, as far as is known how they were and are.
pub(crate) fn citations(state: &State, run: &OpenRun, files: &[FileStates]) -> Citations {
    let applied = written::applied(&state.resolve, run.opened);
    let prompt = prompt(state, run);
    let mut nodes = vec![prompt];
    nodes.extend(joined(state, prompt));
    nodes.extend(answer(state, run));
    nodes.extend(applied.iter().filter_map(|(_, call)| *call));
    nodes.extend(run.proofs());
    let mut seen = BTreeSet::new();
    nodes.retain(|node| seen.insert(*node));
    let name = |name: String| NonBlank::new(name).ok();
    Citations {
        nodes: nodes.into_iter().filter_map(|node| name(node.to_string())).collect(),
        proposals: applied.into_iter().filter_map(|(id, _)| name(id)).collect(),
        files: file_states(files),
        cost: cost(state, run),
    }
}

/// The prompt of a run, or the copy of it that stands on the trunk.
pub(crate) fn prompt(state: &State, run: &OpenRun) -> NodeId {
    run.prompts().find(|prompt| state.tree.is_on_trunk(*prompt)).unwrap_or(run.prompt)
}

/// What a person has said in a run after its prompt, as far as it stands on the trunk.
fn joined(state: &State, prompt: NodeId) -> impl Iterator<Item = NodeId> {
    let trunk = state.tree.trunk();
    let later = trunk.ids().iter().zip(trunk.messages()).rev().take_while(move |(id, _)| **id > prompt);
    let said = later.filter(|(_, message)| message.role == Role::User && message.author == Author::Person);
    let said: Vec<NodeId> = said.map(|(id, _)| *id).collect();
    said.into_iter().rev()
}

/// The model's last words in a run, if they stand on the trunk.
fn answer(state: &State, run: &OpenRun) -> Option<NodeId> {
    let trunk = state.tree.trunk();
    let ours = trunk.ids().iter().zip(trunk.messages()).rev().take_while(|(id, _)| **id > run.prompt);
    ours.filter(|(_, message)| message.role == Role::Assistant).map(|(id, _)| *id).next()
}

fn file_states(files: &[FileStates]) -> Vec<FileState> {
    let mut seen = BTreeSet::new();
    let known = |text: &Option<String>| match text {
        Some(text) => digest(text).map(Some),
        None => Some(None),
    };
    let cited = files.iter().filter_map(|file| {
        let path = relative_path(&file.path).ok()?;
        let (before, after) = (known(&file.before)?, known(&file.after)?);
        let state = FileState { path, before, after };
        // Two names may have become one by being written so that a verdict can hold them.
        let is = state.before.is_some() || state.after.is_some();
        (is && seen.insert(state.path.as_str().to_owned())).then_some(state)
    });
    cited.collect()
}

/// Adds up what was paid for a run, on whatever branch; `None` where no provider has counted. What a summary of older messages
/// cost stands at the node that has it, which is no reply.
///
/// Where a run goes on from an older message, the replies between that and its opening were other runs' to pay.
fn cost(state: &State, run: &OpenRun) -> Option<Cost> {
    let paid = state.tree.nodes_after(run.newest).filter_map(|(_, node)| node.message().usage);
    paid.map(|usage| bill(&usage)).reduce(|sum, one| Cost {
        input_tokens: sum.input_tokens.saturating_add(one.input_tokens),
        output_tokens: sum.output_tokens.saturating_add(one.output_tokens),
        cache_read_tokens: sum.cache_read_tokens.saturating_add(one.cache_read_tokens),
        cache_write_tokens: sum.cache_write_tokens.saturating_add(one.cache_write_tokens),
        microdollars: None,
    })
}
