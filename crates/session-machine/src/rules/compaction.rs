//! Compaction as a function of the log: whether one is due, and what is recorded of one that came to nothing.
//!
//! A compaction that was made needs no note: its node is in the tree. One that failed does, or every process that takes
//! the session up would ask for the same summary again.

use trunkline_message_tree::{MessageTree, Role, StopReason, Timestamp};
use trunkline_revert::{
    CompactPlan, CompactPolicy, is_far_from_compaction, plan_compaction, plan_compaction_now, prompt_tokens,
    token_bytes,
};
use trunkline_session_store::Record;

use crate::notes;
use crate::notes::revert::Failed;
use crate::state::revert::Part;

/// Whether and how prompts are compacted.
pub(crate) type CompactSetting = Option<CompactPolicy>;

/// Returns what has to be compacted before the model is asked again.
///
/// After a reply that ended because the window was full, that is tried once. After a failure it is tried again only when
/// the prompt has grown by the least that a span must have, and never twice at one head: between two failures stands
/// something that was sent or said, and that counts towards the limits of a drive.
pub(crate) fn compaction_due(
    setting: &CompactSetting,
    tree: &MessageTree,
    part: &Part,
) -> Option<CompactPlan> {
    let policy = setting.as_ref()?;
    // A failure on a branch that was left says nothing of this prompt; one before a summary was forgotten when that came.
    let failed = part.failed.as_ref().filter(|failed| tree.is_on_trunk(failed.head));
    if failed.is_some_and(|failed| failed.head == tree.head()) {
        return None;
    }
    let head = tree.node(tree.head()).ok()?.message();
    if head.role == Role::Assistant && head.stop == Some(StopReason::ContextWindow) {
        return room(setting, tree, part);
    }
    let shown = || tree.trunk().items().map(|item| token_bytes(item.message())).fold(0, u64::saturating_add);
    if is_far_from_compaction(tree, *part.bytes.get_or_init(shown), policy) {
        debug_assert_eq!(plan_compaction(tree, &part.notes, policy), None, "what is far has no plan");
        return None;
    }
    let plan = plan_compaction(tree, &part.notes, policy)?;
    let grown =
        |failed: &Failed| plan.tokens.tokens >= failed.tokens.saturating_add(policy.least_tokens().max(1));
    failed.is_none_or(grown).then_some(plan)
}

/// Returns what can be compacted for a prompt that the provider found too long, once for each head.
pub(crate) fn room(setting: &CompactSetting, tree: &MessageTree, part: &Part) -> Option<CompactPlan> {
    let policy = setting.as_ref()?;
    if part.covered_at == Some(tree.head()) { None } else { plan_compaction_now(tree, &part.notes, policy) }
}

/// Returns the record of a compaction that came to nothing.
pub(crate) fn compaction_failed(tree: &MessageTree, reason: String, at: Timestamp) -> Record {
    let failed = Failed { head: tree.head(), tokens: prompt_tokens(tree).tokens, reason };
    notes::revert::compaction_failed(&failed, at)
}
