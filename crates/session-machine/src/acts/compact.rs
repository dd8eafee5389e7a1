//! A summary that takes the place of a span of the trunk.

use trunkline_message_tree::Usage;
use trunkline_revert::{CompactPlan, CompactPolicy, Sent, estimate_tokens};

use crate::acts::plan::Plan;
use crate::acts::view::View;
use crate::notes::record::entries;
use crate::notes::task::{self, Beside};
use crate::rules::compaction;
use crate::words::compacted::Compacted;
use crate::words::error::RuntimeError;
use crate::words::event::Event;

/// What came of a plan to compact.
pub enum Made {
    /// The summary stands for the span.
    Covered(Compacted),
    /// There is no summary that could; the reason, which is recorded.
    Failed(String),
    /// The head was moved out of the span meanwhile: nothing is recorded.
    Nothing,
}

/// Returns what could be covered now, however small the prompt is; `None` if the agent does not compact, a turn is open, or there is
/// nothing to cover.
pub fn coverable(view: &View<'_>) -> Option<CompactPlan> {
    let policy = view.setup.compaction.as_ref()?;
    if view.state.open_turn().is_some() {
        return None;
    }
    sent(view).compaction_now(&view.state.revert.notes, policy)
}

/// Returns what to cover where the service says that there is too much.
pub fn room(view: &View<'_>) -> Option<CompactPlan> {
    // Whoever named no window means the prompt as it is: that was too long.
    let unset = || Some(CompactPolicy::new(sent(view).tokens().tokens));
    let setting = view.setup.compaction.or_else(unset);
    compaction::room(&setting, &view.setup.revert, &view.state.tree, &view.state.revert)
}

fn sent<'a>(view: &View<'a>) -> Sent<'a> {
    compaction::sent(&view.setup.revert, &view.state.tree, &view.state.revert)
}

/// Puts a summary, with what the provider counted for it, in the place of what it stands for. The summary comes first and the
/// boundary with it, in one batch: a kill, a cancel or a failure at any moment leaves either all of it or nothing. What one has cost
/// that is put nowhere is spent on the task of the open run all the same.
///
/// # Errors
///
/// [`RuntimeError::Tree`] if the plan is not one for this tree.
pub fn cover(
    view: &View<'_>,
    plan: CompactPlan,
    summary: Result<&str, String>,
    usage: Option<Usage>,
) -> Result<Plan<Made>, RuntimeError> {
    let tree = &view.state.tree;
    let passed = tree.is_on_trunk(plan.from) && tree.is_on_trunk(plan.to) && tree.head() != plan.to;
    if !passed {
        return Ok(given_up(view, usage));
    }
    let failed = |reason: String| {
        let mut plan = given_up(view, usage);
        plan.records.insert(0, compaction::compaction_failed(tree, sent(view), reason.clone(), view.at));
        plan.then = Made::Failed(reason);
        Ok(plan)
    };
    let text = match summary {
        Ok(text) if text.trim().is_empty() => return failed("the summary is empty".to_owned()),
        Ok(text) => text,
        Err(reason) => return failed(reason),
    };
    let mut message = plan.message(text);
    let size = estimate_tokens(tree, &message.text());
    if size >= plan.leaving {
        return failed(format!(
            "the summary is no shorter than what it stands for ({size} tokens for {}, by estimate)",
            plan.leaving
        ));
    }
    message.usage = usage;
    let mut draft = tree.draft();
    let node = draft.cover(plan.from, plan.to, message, view.at)?;
    let compacted = Compacted { node, plan, summary_tokens: size };
    let events = vec![Event::Compacted(compacted.clone())];
    Ok(Plan { records: entries(draft), events, then: Made::Covered(compacted) })
}

/// Says what a summary has cost that is put nowhere.
pub fn given_up(view: &View<'_>, usage: Option<Usage>) -> Plan<Made> {
    let spent = view.state.tasks.worked_on().zip(usage);
    let spent = spent.map(|(id, usage)| task::spent(id, Beside::Compaction, usage, view.at));
    Plan::of(spent.into_iter().collect()).then(Made::Nothing)
}
