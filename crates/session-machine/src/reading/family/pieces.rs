//! What is cut to a length that a record can carry.

use trunkline_decision_objects::NonBlank;

/// The most characters of a summary.
const SUMMARY: usize = 4000;

/// Returns the beginning of a text, if it says anything.
pub(super) fn summary(text: &str) -> Option<NonBlank> {
    NonBlank::new(text.trim().chars().take(SUMMARY).collect::<String>()).ok()
}
