//! What opening a database found and did.

use std::fmt;
use std::path::PathBuf;

use super::doctor::Finding;

/// What opening a database found and did. Printed, it is one line for each thing that people should know, and empty
/// where all was as it was left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opened {
    /// The version that it had before, if that was an older one.
    pub migrated_from: Option<usize>,
    /// Why it can only be read, if that is so; every write fails with
    /// [`StoreError::ReadOnly`](crate::StoreError::ReadOnly).
    pub read_only: Option<String>,
    /// What is not as it was left.
    pub findings: Vec<Finding>,
    /// The copies of what was set aside.
    pub set_aside: Vec<PathBuf>,
}

impl fmt::Display for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines = Vec::new();
        if let Some(version) = self.migrated_from {
            lines.push(format!("brought to the current schema from version {version}"));
        }
        lines.extend(self.read_only.iter().map(|reason| format!("can only be read: {reason}")));
        lines.extend(self.findings.iter().map(Finding::to_string));
        lines.extend(self.set_aside.iter().map(|file| format!("set aside: {}", file.display())));
        f.write_str(&lines.join("\n"))
    }
}
