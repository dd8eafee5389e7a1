//! What a person says at the terminal.

use trunkline_runtime::Said;
use trunkline_runtime::resolve_queue::Verdict;

use crate::desk::person::user;

/// Returns a decision of whoever types.
pub(super) fn says(verdict: Verdict, reason: &str) -> Said {
    let mut said = Said::new(verdict, reason);
    said.name = user();
    said
}
