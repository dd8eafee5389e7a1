//! The repairs of one request as figures, for whoever shows them.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Repair;

/// How many repairs there were, of which kinds, and how many of them lost something.
///
/// ```
/// use trunkline_message_tree::Message;
/// use trunkline_sanitize::{Account, RequestFacts, WireRules, sanitize};
///
/// let list = [Message::assistant("I begin"), Message::user(" ")];
/// let sanitized = sanitize(&list, &WireRules::anthropic(), &RequestFacts::default());
/// let account = Account::of(&sanitized.repairs);
/// assert_eq!(account.to_string(), "3 repairs");
/// assert_eq!(account.by_kind["head_added"], 1);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Account {
    /// All repairs.
    pub repairs: usize,
    /// Those that lost something that the model could have used; see [`Repair::is_loss`].
    pub losses: usize,
    /// How many of each kind, by the name that the kind has in JSON.
    pub by_kind: BTreeMap<String, usize>,
}

impl Account {
    /// Counts repairs.
    pub fn of(repairs: &[Repair]) -> Self {
        let mut account = Account::default();
        for repair in repairs {
            account.repairs += 1;
            account.losses += usize::from(repair.is_loss());
            *account.by_kind.entry(repair.kind.name().to_owned()).or_default() += 1;
        }
        account
    }
}

impl fmt::Display for Account {
    /// Prints such as `3 repairs, 1 loss`; the second half only if something was lost.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        f.write_str(&s(self.repairs, "repair", "repairs"))?;
        if self.losses > 0 {
            write!(f, ", {}", s(self.losses, "loss", "losses"))?;
        }
        Ok(())
    }
}
