//! Which tool applies a proposal, found again from what is stored.

use crate::setup::catalogue::Catalogue;
use crate::state::State;
use crate::words::call::Proposal;

/// Returns the tool that applies a proposal: the one that it names, else the one whose call staged it. An undo is applied by
/// the tool that applied what it takes back.
pub fn executor_of<'a>(state: &'a State, catalogue: &Catalogue, proposal: &'a Proposal) -> Option<&'a str> {
    let mut proposal = proposal;
    let mut under = None;
    loop {
        let named = [Some(&proposal.source_tool), proposal.staged_by.as_ref()];
        let mut named = named.into_iter().flatten().map(String::as_str);
        let tool = named.find(|name| catalogue.has(name));
        // Logs of earlier versions name it nowhere but in the call.
        if let Some(tool) = tool.or_else(|| called(state, proposal).filter(|name| catalogue.has(name))) {
            return Some(tool);
        }
        // What is taken back is older; whatever a log says, this comes to an end.
        let undone = proposal.undo_of.filter(|id| under.is_none_or(|under| *id < under))?;
        under = Some(undone);
        proposal = &state.resolve.queue.get(undone)?.proposal;
    }
}

/// Returns the tool that was called where a proposal was staged.
fn called<'a>(state: &'a State, proposal: &Proposal) -> Option<&'a str> {
    let staged = proposal.call.as_ref().filter(|call| !call.call_id.is_empty())?;
    let node = state.tree.node(staged.node.parse().ok()?).ok()?;
    let mut calls = node.message().calls();
    calls.find(|call| call.id == staged.call_id).map(|call| call.name.as_str())
}
