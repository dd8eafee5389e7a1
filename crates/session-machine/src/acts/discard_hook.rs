//! A tool is told that its proposal has ended without having been applied, so that it can clean up.
//!
//! The end is recorded first, and then that its hook is called. Who finds the second without an end calls it again, with the same
//! key; what ends the whole process each time is given up. Whatever becomes of a hook holds nothing up.

use trunkline_message_tree::{Part, ToolResult};
use trunkline_resolve_queue::{End, ProposalId};

use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::notes::discard_hook::{HookChange, note};
use crate::rules::hooks;
use crate::rules::staged::discard_words;
use crate::words::call::{CallPlace, ToolOutput};
use crate::words::hook::HookEnded;

/// How often a hook is begun that does not come to an end because its process does.
const MOST_BEGUN: u32 = 3;

/// How much of what a tool says is kept with the hook, in characters.
const WORDS: usize = 2000;

/// What came of a hook: what it returned, or why it returned nothing.
pub type Came = Result<Option<ToolOutput>, String>;

/// Records that the hook of a proposal is called. Returns for which end; `None` if it is not, and what becomes of it is recorded: where
/// its tool is not here, the model is told of a discard without it.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn begin(view: &View<'_>, id: ProposalId, call: Option<&CallPlace>) -> Result<Plan<Option<End>>, Pause> {
    let part = &view.state.resolve;
    let end = part.queue.get(id).and_then(|entry| entry.end.clone());
    let (Some(end), Some(hook)) = (end, part.hooks.of(id)) else { return Ok(Plan::nothing().then(None)) };
    if !hooks::can_be_called(view.state, view.setup, id) {
        let mut plan = Plan::nothing();
        if let Some(entry) = part.queue.get(id).filter(|_| hooks::is_untold(view.state, id)) {
            plan.records = view.telling(&format!("A person declined {id}. {}", discard_words(entry)))?;
            plan.records.push(note(&end, HookChange::Told, view.at));
        }
        return Ok(plan.then(None));
    }
    if hook.begun >= MOST_BEGUN {
        let why = format!("it was begun {} times and never came to an end", hook.begun);
        return Ok(finish(view, &end, &Err(why), call)?.then(None));
    }
    Ok(Plan::of(vec![note(&end, HookChange::Began, view.at)]).then(Some(end)))
}

/// Records how a hook has ended, together with what the model is told of a discard.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn finish(view: &View<'_>, end: &End, came: &Came, call: Option<&CallPlace>) -> Result<Plan, Pause> {
    let part = &view.state.resolve;
    let Some(entry) = part.queue.get(end.proposal) else { return Ok(Plan::nothing()) };
    let said = came.as_ref().ok().and_then(Option::as_ref);
    let words = said.map(text_of).filter(|text| !text.is_empty());
    let ended = match (came, said.is_some_and(|said| said.is_error)) {
        (Err(why), _) => HookEnded { words: None, failed: Some(why.clone()) },
        (Ok(_), true) => {
            let failed = words.unwrap_or_else(|| "it says that it failed".to_owned());
            HookEnded { words: None, failed: Some(failed) }
        }
        (Ok(_), false) => HookEnded { words, failed: None },
    };
    let mut plan = Plan::of(vec![note(end, HookChange::Ended(ended), view.at)]);
    let mut default = discard_words(entry);
    if let Err(why) = came {
        default = format!("{}. Its tool did not clean up: {why}.", default.trim_end_matches('.'));
    }
    let own = said.filter(|said| !said.content.is_empty());
    if let Some(place) = call {
        let (content, is_error) = match own {
            Some(own) => (own.content.clone(), own.is_error),
            None => (vec![Part::text(default)], said.is_some_and(|said| said.is_error)),
        };
        plan.finish(place, (content, is_error), part.choices.meant(place).cloned(), view.at);
        return Ok(plan);
    }
    // A model that has discarded it is told in the result of its call, and of every other end when that is recorded.
    if hooks::is_untold(view.state, end.proposal) {
        let failed = if said.is_some_and(|said| said.is_error) { "Its tool reports a failure: " } else { "" };
        let words = own.map_or(default, |own| result_of(own).text());
        let text = format!("A person declined {}. {failed}{words}", end.proposal);
        let shown = own.map(|own| own.content.clone()).unwrap_or_default();
        plan.records.extend(view.telling_with(&text, shown)?);
    }
    Ok(plan)
}

fn text_of(output: &ToolOutput) -> String {
    let text = result_of(output).text();
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

fn result_of(output: &ToolOutput) -> ToolResult {
    ToolResult { call_id: String::new(), content: output.content.clone(), is_error: output.is_error }
}
