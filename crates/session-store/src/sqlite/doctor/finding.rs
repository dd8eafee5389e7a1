//! What can be wrong with a database, in words for people and in kinds for programs.

use std::fmt;

use crate::SessionId;

/// Something that is not as it was written, or that somebody should know of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The session that it is in, if it is in one.
    pub session: Option<SessionId>,
    /// The record of the session, or the first of them.
    pub seq: Option<u64>,
    /// What was found, in words and on one line.
    pub what: String,
    /// What [`mend`](super::mend) does about it.
    pub remedy: Remedy,
}

/// How bad a finding is. Later ones are worse.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Severity {
    /// Nothing that was acknowledged is missing, and nothing has to be done.
    Notice,
    /// What can be made anew from the logs is wrong; the logs are whole.
    Derived,
    /// Something that was written is changed or missing.
    Loss,
}

/// What can be done about a finding. Later ones go further.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Remedy {
    /// Nothing is needed.
    Nothing,
    /// It is made anew from the logs, in the database, in one transaction.
    InPlace,
    /// A new database takes over whatever proves to be as it was written; the old one is kept under another name.
    Salvage,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Notice => "notice",
            Severity::Derived => "derived",
            Severity::Loss => "loss",
        })
    }
}

impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Remedy::Nothing => "nothing needs to be done",
            Remedy::InPlace => "can be made anew from the logs, in place",
            Remedy::Salvage => "a new database can take over what is whole",
        })
    }
}

impl Finding {
    pub(in crate::sqlite) fn new(severity: Severity, remedy: Remedy, what: impl Into<String>) -> Self {
        // One line, whatever the database wrote.
        let what = what.into().replace(['\n', '\r'], " ");
        Finding { severity, session: None, seq: None, what, remedy }
    }

    pub(in crate::sqlite) fn notice(what: impl Into<String>) -> Self {
        Finding::new(Severity::Notice, Remedy::Nothing, what)
    }

    pub(in crate::sqlite) fn derived(what: impl Into<String>) -> Self {
        Finding::new(Severity::Derived, Remedy::InPlace, what)
    }

    pub(in crate::sqlite) fn loss(what: impl Into<String>) -> Self {
        Finding::new(Severity::Loss, Remedy::Salvage, what)
    }

    pub(in crate::sqlite) fn of(mut self, session: &SessionId, seq: Option<u64>) -> Self {
        self.session = Some(session.clone());
        self.seq = seq;
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity)?;
        match (&self.session, self.seq) {
            (Some(session), Some(seq)) => write!(f, "session {session}, record {seq}: ")?,
            (Some(session), None) => write!(f, "session {session}: ")?,
            (None, _) => {}
        }
        f.write_str(&self.what)
    }
}
