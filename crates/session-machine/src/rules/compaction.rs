//! Compaction as a function of the log: whether one is due, and what is recorded of one that came to nothing.
//!
//! A compaction that was made needs no note: its node is in the tree. One that failed does, or every process that takes
//! the session up would ask for the same summary again.

use trunkline_message_tree::{MessageTree, Role, StopReason, Timestamp};
use trunkline_revert::{CompactPlan, CompactPolicy, Sent, is_far_from_compaction};
use trunkline_session_store::Record;

use crate::notes;
use crate::notes::revert::Failed;
use crate::setup::revert as reverts;
use crate::state::revert::Part;

/// Whether and how prompts are compacted.
pub(crate) type CompactSetting = Option<CompactPolicy>;

/// Returns the trunk as it is sent: without results that the model or a rule leaves out.
pub(crate) fn sent<'a>(reverts: &reverts::Setting, tree: &'a MessageTree, part: &'a Part) -> Sent<'a> {
    let rule = reverts.as_ref().and_then(|reverts| reverts.render.prune);
    Sent::whole(tree).without(&part.prunings).by_rule(rule)
}

/// Returns what has to be compacted before the model is asked again.
///
/// After a reply that ended because the window was full, that is tried once. After a failure it is tried again only when
/// the prompt has grown by the least that a span must have, and never twice at one head: between two failures stands
/// something that was sent or said, and that counts towards the limits of a drive.
pub(crate) fn compaction_due(
    (setting, reverts): (&CompactSetting, &reverts::Setting),
    tree: &MessageTree,
    part: &Part,
) -> Option<CompactPlan> {
    let sent = sent(reverts, tree, part);
    let policy = setting.as_ref()?;
    // A failure on a branch that was left says nothing of this prompt; one before a summary was forgotten when that came.
    let failed = part.failed.as_ref().filter(|failed| tree.is_on_trunk(failed.head));
    if failed.is_some_and(|failed| failed.head == tree.head()) {
        return None;
    }
    let head = tree.node(tree.head()).ok()?.message();
    if head.role == Role::Assistant && head.stop == Some(StopReason::ContextWindow) {
        return room(setting, reverts, tree, part);
    }
    let bytes = || tree.trunk().items().map(|item| part.prunings.token_bytes(item.id(), item.message()));
    let shown = || bytes().fold(0, u64::saturating_add);
    if is_far_from_compaction(tree, *part.bytes.get_or_init(shown), policy) {
        debug_assert_eq!(sent.compaction(&part.notes, policy), None, "what is far has no plan");
        return None;
    }
    let plan = sent.compaction(&part.notes, policy)?;
    let grown =
        |failed: &Failed| plan.tokens.tokens >= failed.tokens.saturating_add(policy.least_tokens().max(1));
    failed.is_none_or(grown).then_some(plan)
}

/// Returns what can be compacted for a prompt that the provider found too long, once for each head.
pub(crate) fn room(
    setting: &CompactSetting,
    reverts: &reverts::Setting,
    tree: &MessageTree,
    part: &Part,
) -> Option<CompactPlan> {
    let policy = setting.as_ref()?;
    let again = part.covered_at == Some(tree.head());
    if again { None } else { sent(reverts, tree, part).compaction_now(&part.notes, policy) }
}

/// Returns the record of a compaction that came to nothing.
pub(crate) fn compaction_failed(tree: &MessageTree, sent: Sent<'_>, reason: String, at: Timestamp) -> Record {
    let failed = Failed { head: tree.head(), tokens: sent.tokens().tokens, reason };
    notes::revert::compaction_failed(&failed, at)
}
