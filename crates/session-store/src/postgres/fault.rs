//! What the server says, in words for the one who must act, and what may be done about it.

use crate::StoreError;

/// What follows when a role may not do something.
pub(super) const RIGHTS: &str =
    "its role needs rights that are listed in docs/postgres.md under \"Roles and rights\"";

/// How the words begin with which a trigger of ours refuses what is over a limit.
pub(super) const QUOTA: &str = "the quota of ";

/// Why a statement did not end well.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) error: StoreError,
    pub(super) kind: FaultKind,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum FaultKind {
    /// No connection could be had: nothing was sent.
    Unreachable,
    /// The connection broke: what was sent may have been done or not.
    Lost,
    /// Nobody answered in time: as when it broke, but trying again would only wait again.
    Silent,
    /// The server only takes reading, so nothing was done: another one may have become the primary.
    ReadOnly,
    /// It was rolled back because of somebody else: trying again helps.
    Collision,
    /// It was refused, and will be again.
    Refused,
    /// The server cannot do it in this way; another may be there.
    Unsupported,
}

impl Fault {
    /// Returns the fault of a statement.
    pub(super) fn of(place: &str, error: &tokio_postgres::Error) -> Self {
        if let Some(said) = error.as_db_error() {
            return Fault::said(place, said.code().code(), said.message());
        }
        let place = place.to_owned();
        let mut reason = one_line(error);
        let mut source = std::error::Error::source(error);
        let broken = error.is_closed() || source.is_some_and(|source| source.is::<std::io::Error>());
        while let Some(because) = source {
            reason = format!("{reason}: {}", one_line(&because));
            source = because.source();
        }
        match broken {
            true => Fault { error: StoreError::Io { place, reason }, kind: FaultKind::Lost },
            false => Fault { error: StoreError::Database { place, reason }, kind: FaultKind::Refused },
        }
    }

    /// Returns the fault of what the server says, by its code (postgresql.org/docs/15/errcodes-appendix.html).
    fn said(place: &str, code: &str, words: &str) -> Self {
        let place = place.to_owned();
        let reason = one_line(&words);
        let fault = |error, kind| Fault { error, kind };
        let (class, _) = code.split_at_checked(2).unwrap_or_default();
        match (class, code) {
            (_, "40001" | "40P01" | "55P03" | "42P06" | "42P07") => {
                fault(StoreError::Busy { place }, FaultKind::Collision)
            }
            (_, "57P03" | "53300" | "53200" | "53400") => {
                fault(StoreError::Busy { place }, FaultKind::Unreachable)
            }
            (_, "53100") => {
                // The words of our own triggers; those of the server name a file of its own.
                let quota = reason.starts_with(QUOTA).then_some(reason);
                fault(StoreError::Full { place, quota }, FaultKind::Refused)
            }
            // PgBouncer has one code for all that it says itself.
            (_, "08P01") if words.contains("statement pooling mode") => {
                let reason = "the pooler gives each statement another connection to the server (statement pooling), and a \
                              batch is kept whole by a transaction: it has to be in transaction or session mode";
                fault(StoreError::Database { place, reason: reason.to_owned() }, FaultKind::Refused)
            }
            // 40003: nobody knows whether it was done.
            (_, "40003" | "57P01" | "57P02" | "57P05" | "25P03") | ("08", _) => {
                fault(StoreError::Io { place, reason }, FaultKind::Lost)
            }
            // Its own words name the user.
            ("28", _) => {
                let reason = "the server does not let us in: look at user and password of the URL and at what \
                              pg_hba.conf allows";
                fault(StoreError::Database { place, reason: reason.to_owned() }, FaultKind::Refused)
            }
            // `BEGIN … READ WRITE` on a standby.
            (_, "0A000") if words.contains("during recovery") => Fault::read_only(&place),
            (_, "0A000") => fault(StoreError::Database { place, reason }, FaultKind::Unsupported),
            (_, "42501") => {
                let reason = format!("{reason}; {RIGHTS}");
                fault(StoreError::Database { place, reason }, FaultKind::Refused)
            }
            (_, "57014") if words.contains("statement timeout") => {
                let reason = format!(
                    "{reason}: the `statement_timeout` of the role or the database is too short for it; raise it for this \
                     program with PGOPTIONS='-c statement_timeout=0'"
                );
                fault(StoreError::Database { place, reason }, FaultKind::Refused)
            }
            (_, "25006") => Fault::read_only(&place),
            (_, "3D000") | ("58", _) => fault(StoreError::Io { place, reason }, FaultKind::Refused),
            // Citus, when a server with a shard was lost at the commit: it may have been done there.
            (_, "XX000") if words.starts_with("could not commit transaction") => {
                fault(StoreError::Io { place, reason }, FaultKind::Lost)
            }
            ("XX", "XX001" | "XX002") => fault(StoreError::Corrupt { place, reason }, FaultKind::Refused),
            _ => fault(StoreError::Database { place, reason }, FaultKind::Refused),
        }
    }

    /// Returns the fault of a server that only takes reading.
    pub(super) fn read_only(place: &str) -> Self {
        let reason = "the server is a standby, or was set to take only reading: name the primary, or several hosts, of which \
                      the one that takes writing is found";
        let error = StoreError::Io { place: place.to_owned(), reason: reason.to_owned() };
        Fault { error, kind: FaultKind::ReadOnly }
    }

    /// Returns the fault of what can never be sent.
    pub(super) fn refused(place: &str, reason: String) -> Self {
        Fault { error: StoreError::Database { place: place.to_owned(), reason }, kind: FaultKind::Refused }
    }

    /// Returns the fault of rows that say what cannot be.
    pub(super) fn corrupt(place: &str, reason: String) -> Self {
        Fault { error: StoreError::Corrupt { place: place.to_owned(), reason }, kind: FaultKind::Refused }
    }
}

/// Returns the same error for somebody else whom it hit too.
pub(super) fn same(error: &StoreError) -> StoreError {
    match error {
        StoreError::Busy { place } => StoreError::Busy { place: place.clone() },
        StoreError::Full { place, quota } => StoreError::Full { place: place.clone(), quota: quota.clone() },
        StoreError::Io { place, reason } => StoreError::Io { place: place.clone(), reason: reason.clone() },
        StoreError::Corrupt { place, reason } => {
            StoreError::Corrupt { place: place.clone(), reason: reason.clone() }
        }
        StoreError::Database { place, reason } => {
            StoreError::Database { place: place.clone(), reason: reason.clone() }
        }
        other => StoreError::Database { place: "PostgreSQL".to_owned(), reason: other.to_string() },
    }
}

fn one_line(text: &dyn std::fmt::Display) -> String {
    text.to_string().replace(['\n', '\r'], " ")
}
