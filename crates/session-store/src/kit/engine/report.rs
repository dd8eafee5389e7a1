//! What an engine has done to its clients.

use std::collections::BTreeMap;
use std::fmt;

use super::profile::Feature;

/// What was done so far. A test that relies on something going wrong looks whether it did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EngineReport {
    /// Clients that connected.
    pub connections: u64,
    /// Transactions that ended, single statements among them.
    pub transactions: u64,
    /// Transactions that were on another backend than the one before them of the same client.
    pub swaps: u64,
    /// What was asked for and is not there, refused or ignored.
    pub lacking: BTreeMap<Feature, u64>,
    /// Commits that were answered with 40001.
    pub commit_conflicts: u64,
    /// Statements that were answered with 40001.
    pub conflicts: u64,
    /// Connections that were cut after a commit was done.
    pub cuts_after_commit: u64,
    /// Connections that were cut before a commit was done.
    pub cuts_before_commit: u64,
    /// Answers that came late.
    pub delays: u64,
}

impl fmt::Display for EngineReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EngineReport { connections, transactions, swaps, commit_conflicts, conflicts, delays, .. } = self;
        write!(
            f,
            "{connections} connections, {transactions} transactions, {swaps} swaps, {commit_conflicts} commits and \
             {conflicts} statements with 40001, {} cuts after and {} before a commit, {delays} delays",
            self.cuts_after_commit, self.cuts_before_commit
        )?;
        for (feature, count) in &self.lacking {
            write!(f, ", {count} × {feature:?} lacking")?;
        }
        Ok(())
    }
}
