//! What an examination and a mending come to.

use std::fmt;
use std::path::PathBuf;

use super::{Finding, Remedy, Severity};
use crate::SessionId;

/// What a database was found to be. Printed, it is one line for each finding and one for the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Examination {
    /// The database, without links.
    pub path: PathBuf,
    /// The version of its schema, as far as that can be read.
    pub schema: Option<usize>,
    /// How many sessions it has.
    pub sessions: u64,
    /// How many records were verified.
    pub records: u64,
    /// What was found: the worst first, then in the order of sessions and records.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// Returns whether everything is as it was written: at most there are notices.
    pub fn is_sound(&self) -> bool {
        self.severity().is_none_or(|severity| severity == Severity::Notice)
    }

    /// Returns how bad the worst finding is.
    pub fn severity(&self) -> Option<Severity> {
        self.findings.iter().map(|finding| finding.severity).max()
    }

    /// Returns what [`mend`](super::mend) would do.
    pub fn remedy(&self) -> Remedy {
        self.findings.iter().map(|finding| finding.remedy).max().unwrap_or(Remedy::Nothing)
    }
}

impl fmt::Display for Examination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.findings {
            writeln!(f, "{finding}")?;
        }
        let (sessions, records) = (self.sessions, self.records);
        write!(f, "{sessions} sessions, {records} verified records: ")?;
        match self.is_sound() {
            true => f.write_str("sound"),
            false => write!(f, "damaged; {}", self.remedy()),
        }
    }
}

/// What was done to mend a database. Printed, it is one line for each thing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mended {
    /// What it was before.
    pub before: Examination,
    /// What was done.
    pub remedy: Remedy,
    /// The sessions that are not whole, and those of which nothing was found; only a salvage has any.
    pub saved: Vec<Saved>,
    /// The files that were kept of the old database.
    pub set_aside: Vec<PathBuf>,
    /// What it is now.
    pub after: Examination,
}

/// What became of a session that was damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved {
    /// The session.
    pub session: SessionId,
    /// How many of its records were taken over, from the first on; none if it could not be saved.
    pub kept: u64,
    /// How many it should have, as far as that is known.
    pub expected: Option<u64>,
    /// Why no more.
    pub reason: String,
}

impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Saved { session, kept, expected, reason } = self;
        write!(f, "session {session}: kept {kept} ")?;
        if let Some(expected) = expected {
            write!(f, "of {expected} ")?;
        }
        write!(f, "records: {reason}")
    }
}

impl Mended {
    /// Returns whether it is sure that nothing was lost. After a salvage it is not if what was damaged could have held
    /// sessions of which nothing is known, such as the list of sessions.
    pub fn is_whole(&self) -> bool {
        let unknown = |finding: &Finding| finding.severity == Severity::Loss && finding.session.is_none();
        let certain = self.remedy != Remedy::Salvage || !self.before.findings.iter().any(unknown);
        self.saved.is_empty() && self.after.is_sound() && certain
    }
}

impl fmt::Display for Mended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for finding in &self.before.findings {
            writeln!(f, "{finding}")?;
        }
        for saved in &self.saved {
            writeln!(f, "{saved}")?;
        }
        for file in &self.set_aside {
            writeln!(f, "kept as it was: {}", file.display())?;
        }
        let (sessions, records) = (self.after.sessions, self.after.records);
        let done = match self.remedy {
            Remedy::Nothing => "nothing needed to be done",
            Remedy::InPlace => "made anew from the logs",
            Remedy::Salvage => "a new database has taken over what was whole",
        };
        write!(f, "{done}: {sessions} sessions, {records} verified records")
    }
}
