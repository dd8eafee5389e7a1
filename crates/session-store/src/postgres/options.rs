//! How a database is reached.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::connect::{Password, Target};
use crate::StoreError;

/// Where a PostgreSQL database is and how it is used.
///
/// What is secret in the URL is never printed, neither by `Debug` nor in an error.
#[derive(Clone)]
pub struct PostgresOptions {
    url: String,
    password: Password,
    pub(super) schema: String,
    pub(super) connections: usize,
    pub(super) lease_ttl: Duration,
    pub(super) patience: Duration,
    pub(super) statement_timeout: Duration,
    pub(super) name: String,
}

impl PostgresOptions {
    /// Returns the options for a URL such as `postgres://user@host:5432/database?sslmode=verify-full`. It means what it
    /// means to PostgreSQL's own programs; what it does not say is taken from the variables and files that they read, such as
    /// `PGPASSWORD` and `~/.pgpass`. Of several hosts, `postgres://user@one,two/database`, the first that can be written to
    /// is used, unless `target_session_attrs` says otherwise.
    pub fn new(url: impl Into<String>) -> Self {
        PostgresOptions {
            url: url.into(),
            password: Password::None,
            schema: "trunkline".to_owned(),
            connections: 8,
            lease_ttl: Duration::from_secs(10),
            patience: Duration::from_secs(5),
            statement_timeout: Duration::from_secs(30),
            name: format!("process {}", std::process::id()),
        }
    }

    /// Takes the password from a file, all of it but the end of its line. It is read again for each connection, so that a
    /// new password needs no restart.
    #[must_use]
    pub fn password_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.password = Password::File(path.into());
        self
    }

    /// Takes the password from what a command prints, one line, within 10 seconds. It is run again when the server does not
    /// take that password any more, as with the short-lived tokens of clouds. Nothing that it prints is shown.
    #[must_use]
    pub fn password_command<A: Into<OsString>>(
        mut self,
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        self.password = Password::Command { program: program.into(), arguments };
        self
    }

    /// Sets the schema that holds the tables, `trunkline` otherwise. Each schema is a store of its own.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets how many connections are open at once at most, 8 otherwise, at least 1; one more renews leases, and one more
    /// listens while somebody waits.
    #[must_use]
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections.max(1);
        self
    }

    /// Sets for how long leases last after the last sign of life of their store, 10 seconds otherwise. They are renewed
    /// three times as often.
    #[must_use]
    pub fn lease_ttl(mut self, ttl: Duration) -> Self {
        // Less than a millisecond could not be renewed in time.
        self.lease_ttl = ttl.max(Duration::from_millis(1));
        self
    }

    /// Sets how long to wait for a connection before a call fails with [`StoreError::Busy`], 5 seconds otherwise: a server
    /// that is restarted within that time is not noticed.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets how long one statement may take before its connection is given up, 30 seconds otherwise.
    #[must_use]
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout = timeout;
        self
    }

    /// Sets what others are told of who holds a lease, `process 4711` otherwise. Where stores are on many machines, the
    /// machine belongs into it.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        // PostgreSQL has no place for NUL.
        self.name = name.into().replace('\0', "");
        self
    }

    /// Connects once and says how: the server, its version, and what of its certificate was judged. Nothing is made or
    /// changed there.
    ///
    /// Needs a tokio runtime with time and IO.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if the options cannot be used, or the server does not let us in; [`StoreError::Io`] if it
    /// cannot be reached, or its certificate is not as asked for.
    pub async fn probe(&self) -> Result<String, StoreError> {
        self.target()?.probe().await.map_err(|fault| fault.error)
    }

    /// Returns what connects.
    pub(super) fn target(&self) -> Result<Target, StoreError> {
        Target::new(&self.url, self.password.clone())
    }

    /// Returns what connects, and the name of the place without anything secret.
    pub(super) fn connect(&self) -> Result<(Target, String), StoreError> {
        let target = self.target()?;
        let place = target.place();
        let first = |byte: u8| byte.is_ascii_lowercase() || byte == b'_';
        let fits = |byte: u8| first(byte) || byte.is_ascii_digit();
        let schema = self.schema.as_bytes();
        // 63 bytes: the longest name that PostgreSQL keeps whole; `pg_` is its own.
        if !schema.first().is_some_and(|byte| first(*byte))
            || !schema.iter().all(|byte| fits(*byte))
            || schema.len() > 63
            || self.schema.starts_with("pg_")
        {
            let reason = format!("{:?} is not a name for a schema: use a-z, 0-9 and _", self.schema);
            return Err(StoreError::Database { place, reason });
        }
        Ok((target, place))
    }
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let target = self.target();
        let target: &dyn fmt::Debug = match &target {
            Ok(target) => target,
            Err(error) => error,
        };
        f.debug_struct("PostgresOptions")
            .field("target", target)
            .field("schema", &self.schema)
            .field("connections", &self.connections)
            .field("lease_ttl", &self.lease_ttl)
            .field("patience", &self.patience)
            .field("statement_timeout", &self.statement_timeout)
            .field("name", &self.name)
            .finish()
    }
}
