//! A step back that is proposed, told in a line.

use trunkline_runtime::revert::Proposal;

use crate::term::text::one_line;

/// How much of a proposal is shown, in characters.
const SHOWN: usize = 300;

/// Returns an open proposal on one line.
pub(crate) fn shown(open: &Proposal) -> String {
    format!("⤺ {}", one_line(&open.text_for_person(), SHOWN))
}
