//! What an engine does otherwise than a PostgreSQL server to which one is connected directly.

/// Something that not every engine has.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Feature {
    /// `LISTEN` and `UNLISTEN`.
    Listen,
    /// `NOTIFY` and `pg_notify`.
    Notify,
    /// The functions `pg_advisory_…` and `pg_try_advisory_…`.
    AdvisoryLock,
    /// `SAVEPOINT`, `RELEASE` and `ROLLBACK TO`.
    Savepoint,
    /// `SET` without `LOCAL`, `set_config(…, false)`, `RESET` and `DISCARD`.
    SessionSetting,
    /// Prepared statements with a name, in the protocol or by `PREPARE`.
    NamedStatement,
    /// `CREATE TEMPORARY TABLE` and what makes one by the way.
    TemporaryTable,
    /// A second statement of DDL in one transaction.
    SecondDefinition,
    /// DDL in a transaction that changes rows too.
    MixedDefinition,
}

/// How an engine answers to what it does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Answer {
    /// With an error: its SQLSTATE and its words.
    Refused(&'static str, &'static str),
    /// With success and a warning of these words, and nothing is done. Of functions within another statement, such as
    /// `pg_notify`, nothing is ignored: they are done.
    Ignored(&'static str),
}

/// How often something goes wrong: each is one in so many, and 0 is never.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Chances {
    /// A `COMMIT` is answered with 40001, and the transaction is rolled back.
    pub commit_conflicts: u64,
    /// A commit is done, and the connection is cut in the place of an answer. A statement that changes rows outside of a
    /// transaction block is a commit too.
    pub cuts_after_commit: u64,
    /// The connection is cut before the commit reaches the server.
    pub cuts_before_commit: u64,
    /// A statement is answered with 40001 and not done.
    pub conflicts: u64,
    /// An answer comes up to [`Profile::delay_ms`] late.
    pub delays: u64,
}

/// What an engine is like.
///
/// The named ones are what the makers of an engine or a pooler write about it. They are **profiles, not engines that were
/// tried**: each says what of the engine it plays, and where that was read. What follows from an engine's own grammar,
/// types, limits and clocks is not played.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// What a report calls it.
    pub name: &'static str,
    /// Whether each transaction of a client may be on another backend, as behind a pooler in transaction mode. Settings of
    /// the session, named statements, temporary tables and what is listened to are then lost, or found by others.
    pub swaps: bool,
    /// How many backends it has at most if it swaps them, at least 1. Transactions wait for one that is free.
    pub backends: usize,
    /// Which parameters a client may send when it connects, besides user and database; `None` is any. If it swaps, they are
    /// accepted and not applied.
    pub startup: Option<&'static [&'static str]>,
    /// The isolation level of transactions that do not name one; `None` is what the server has.
    pub isolation: Option<&'static str>,
    /// Words of a statement whose transaction is not cut off: the client does not send it again, and says so. None by
    /// default.
    pub spares: Option<&'static str>,
    /// What it does not have, and how it answers to that.
    pub lacks: Vec<(Feature, Answer)>,
    /// The words of its serialization failures, whose SQLSTATE is 40001.
    pub conflict: &'static str,
    /// How often what goes wrong.
    pub chances: Chances,
    /// How late an answer may come, in milliseconds.
    pub delay_ms: u64,
}

impl Profile {
    /// Returns an engine that does nothing otherwise: what is sent is passed on, and each client has a backend of its own.
    pub fn plain() -> Self {
        Profile {
            name: "plain",
            swaps: false,
            backends: 4,
            startup: None,
            isolation: None,
            spares: None,
            lacks: Vec::new(),
            conflict: "could not serialize access due to concurrent update",
            chances: Chances::default(),
            delay_ms: 5,
        }
    }

    /// Returns everything that any of the others does, at once, and all that goes wrong at random.
    pub fn hardest() -> Self {
        let refused = |words| Answer::Refused(UNSUPPORTED, words);
        Profile {
            name: "hardest",
            swaps: true,
            startup: Some(POOLED),
            lacks: vec![
                (Feature::Listen, refused("LISTEN is not supported")),
                (Feature::Notify, refused("NOTIFY is not supported")),
                (Feature::AdvisoryLock, refused("advisory locks are not supported")),
                (Feature::Savepoint, refused("SAVEPOINT is not supported")),
                (Feature::SessionSetting, refused("SET of a session is not supported")),
                (Feature::NamedStatement, refused("named prepared statements are not supported")),
                (Feature::TemporaryTable, refused("temporary tables are not supported")),
                (Feature::SecondDefinition, refused(ONE_DEFINITION)),
                (Feature::MixedDefinition, refused(NO_MIX)),
            ],
            chances: Chances {
                commit_conflicts: 12,
                cuts_after_commit: 60,
                cuts_before_commit: 60,
                conflicts: 60,
                delays: 20,
            },
            ..Profile::plain()
        }
    }

    /// Returns PgBouncer in transaction mode, up to 1.20 or with `max_prepared_statements = 0`: nothing is refused but
    /// startup parameters, and what a session has is lost or leaks.
    ///
    /// - `SET`, `LISTEN`, `PREPARE`, `WITH HOLD`, temporary tables that are kept and session-level advisory locks: "never" in
    ///   this mode; named statements of the protocol only with `max_prepared_statements` (pgbouncer.org/features, read
    ///   2026-11-29).
    /// - Startup parameters other than five are refused, if `ignore_startup_parameters` does not name them; `application_name`
    ///   is one of the five (pgbouncer.org/config, read 2026-11-29).
    ///
    /// The five are not tracked here, as they are by PgBouncer.
    pub fn pgbouncer() -> Self {
        Profile {
            name: "PgBouncer in transaction mode",
            swaps: true,
            startup: Some(POOLED),
            ..Profile::plain()
        }
    }

    /// Returns the pooled address of Neon: PgBouncer in transaction mode, before a server that goes to sleep, and then cuts
    /// its connections.
    ///
    /// - `SET`, `LISTEN`, `PREPARE`, temporary tables across transactions and session-level advisory locks do not work through
    ///   the pooled address (neon.com/docs/connect/connection-pooling, read 2026-11-29).
    /// - Compute is suspended when it is idle, which ends its connections (neon.com/docs, "Autosuspend", read 2026-11-29).
    ///   It is played as cuts around commits, which is where they hurt.
    ///
    /// Harder than Neon: it supports named statements of the protocol, and this profile does not.
    pub fn neon() -> Self {
        Profile {
            name: "Neon, pooled",
            chances: Chances {
                cuts_after_commit: 60,
                cuts_before_commit: 60,
                delays: 60,
                ..Chances::default()
            },
            ..Profile::pgbouncer()
        }
    }

    /// Returns an older YugabyteDB: `LISTEN` and `NOTIFY` are accepted and ignored, advisory locks are refused, and
    /// conflicts are told at any statement and at commit.
    ///
    /// - "LISTEN not supported yet and will be ignored", and "advisory locks feature is currently in preview" (Voyager's
    ///   known issues, docs.yugabyte.com/stable/yugabyte-voyager/known-issues/postgresql, read 2026-11-29). Newer versions
    ///   have `LISTEN`.
    /// - "Restart read required", conflicts with other transactions and an expired transaction are 40001 and can be retried
    ///   (support.yugabyte.com, article 4409627048461, read 2026-11-29).
    pub fn yugabytedb() -> Self {
        Profile {
            name: "YugabyteDB without LISTEN",
            lacks: vec![
                (Feature::Listen, Answer::Ignored("LISTEN not supported yet and will be ignored")),
                (Feature::Notify, Answer::Ignored("NOTIFY not supported yet and will be ignored")),
                (
                    Feature::AdvisoryLock,
                    Answer::Refused(UNSUPPORTED, "advisory locks feature is currently in preview"),
                ),
            ],
            chances: Chances { commit_conflicts: 25, conflicts: 60, delays: 40, ..Chances::default() },
            ..Profile::plain()
        }
    }

    /// Returns CockroachDB: `LISTEN` does nothing, `NOTIFY` is not known, advisory locks and temporary tables are refused,
    /// and a commit may be answered with 40001 or with nothing.
    ///
    /// - `LISTEN` ends with a notice and does nothing, `pkg/sql/listen.go`; `NOTIFY` is missing,
    ///   cockroachdb/cockroach#41522 (read 2026-11-29). That `pg_notify` is answered with 42883 is an assumption.
    /// - Advisory locks are accepted and lock nothing (cockroachdb/docs#18154, cockroachdb/cockroach#13546 and #168353, read
    ///   2026-11-29). They are refused here, so that a store that relies on them is found out.
    /// - "temporary tables are only supported experimentally", `pkg/sql/create_table.go` (read 2026-11-29).
    /// - "restart transaction" and 40001 at any statement and at commit; a commit whose outcome is not known
    ///   (cockroachlabs.com/docs/stable/transaction-retry-error-reference, read 2026-11-29), which is played as a cut.
    pub fn cockroachdb() -> Self {
        Profile {
            name: "CockroachDB",
            isolation: Some("serializable"),
            lacks: vec![
                (Feature::Listen, Answer::Ignored("CRDB does not support LISTEN")),
                (Feature::Notify, Answer::Refused("42883", "unknown function: pg_notify()")),
                (Feature::AdvisoryLock, Answer::Refused(UNSUPPORTED, "advisory locks have no effect")),
                (
                    Feature::TemporaryTable,
                    Answer::Refused(UNSUPPORTED, "temporary tables are only supported experimentally"),
                ),
            ],
            conflict: "restart transaction: TransactionRetryWithProtoRefreshError: TransactionRetryError: retry txn \
                       (RETRY_SERIALIZABLE)",
            chances: Chances {
                commit_conflicts: 20,
                conflicts: 60,
                cuts_after_commit: 80,
                delays: 40,
                ..Chances::default()
            },
            ..Profile::plain()
        }
    }

    /// Returns Aurora DSQL: no locks, so that conflicts are told by `COMMIT`; one statement of DDL in a transaction, and no
    /// rows with it; no savepoints, no temporary tables; always `repeatable read`.
    ///
    /// Read in stored copies of the pages:
    ///
    /// - No `SAVEPOINT`, `TRUNCATE`, temporary tables; isolation is fixed (docs.aws.amazon.com/aurora-dsql, "Unsupported
    ///   PostgreSQL features in Aurora DSQL", read 2026-11-29). `LISTEN`, `NOTIFY` and advisory locks are not mentioned
    ///   there; they are taken as missing.
    /// - 40001 with "change conflicts with another transaction (OC000)" at commit (docs.aws.amazon.com/aurora-dsql,
    ///   "Concurrency control in Aurora DSQL", read 2026-11-29).
    /// - "multiple ddl statements not supported in a transaction", "ddl and dml are not supported in the same transaction",
    ///   0A000 (docs.aws.amazon.com/aurora-dsql, "DDL and distributed transactions", and pressly/goose#962, read
    ///   2026-11-29).
    ///
    /// Not played: indexes that must be made with `ASYNC`, tables without arrays and `COLLATE`, sequences that need an
    /// explicit cache, isolation levels that are refused, at most 3,000 rows and 10 MiB in a transaction, five minutes for
    /// it, and an hour for a connection. The store's tables cannot be made there.
    pub fn aurora_dsql() -> Self {
        let refused = |words| Answer::Refused(UNSUPPORTED, words);
        Profile {
            name: "Aurora DSQL",
            isolation: Some("repeatable read"),
            lacks: vec![
                (Feature::Listen, refused("LISTEN not supported")),
                (Feature::Notify, refused("NOTIFY not supported")),
                (Feature::AdvisoryLock, refused("advisory locks not supported")),
                (Feature::Savepoint, refused("SAVEPOINT not supported")),
                (Feature::TemporaryTable, refused("temporary tables not supported")),
                (Feature::SecondDefinition, refused(ONE_DEFINITION)),
                (Feature::MixedDefinition, refused(NO_MIX)),
            ],
            conflict: "change conflicts with another transaction (OC000)",
            chances: Chances { commit_conflicts: 10, delays: 40, ..Chances::default() },
            ..Profile::plain()
        }
    }

    /// Returns all that are not [`plain`](Profile::plain), the hardest first.
    pub fn all() -> Vec<Self> {
        vec![
            Profile::hardest(),
            Profile::pgbouncer(),
            Profile::neon(),
            Profile::yugabytedb(),
            Profile::cockroachdb(),
            Profile::aurora_dsql(),
        ]
    }

    /// Returns how it answers to something that it does not have.
    pub(super) fn answer(&self, feature: Feature) -> Option<&Answer> {
        self.lacks.iter().find(|(lacking, _)| *lacking == feature).map(|(_, answer)| answer)
    }
}

/// `feature_not_supported`.
const UNSUPPORTED: &str = "0A000";

const ONE_DEFINITION: &str = "multiple ddl statements not supported in a transaction";

const NO_MIX: &str = "ddl and dml are not supported in the same transaction";

/// What PgBouncer keeps the same for a client (pgbouncer.org/features, note 1, read 2026-11-29; before 1.20 without
/// `IntervalStyle`).
const POOLED: &[&str] =
    &["client_encoding", "datestyle", "timezone", "standard_conforming_strings", "application_name"];
