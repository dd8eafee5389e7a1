//! What an administrator does with a store in PostgreSQL: look at it, bring it to a newer version, tidy it up.
//!
//! Nothing here is done by opening a store. A role that may only use the tables can look; for the rest one has to own them.

mod distribute;
mod migrate;
mod owners;
mod status;
mod teams;
mod vacuum;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

pub use self::distribute::Distributed;
pub use self::migrate::{Migrate, Migration, MigrationProgress};
pub use self::owners::StoreOwner;
pub use self::status::{StoreStatus, StoreTable};
pub use self::teams::{Granted, Team, TeamLimits};
pub use self::vacuum::Vacuumed;
use super::PostgresOptions;
use super::links::Links;
use crate::StoreError;

/// How long a statement on whole tables may take.
const LONG: Duration = Duration::from_secs(24 * 3600);

/// A store in PostgreSQL as its administrator sees it.
///
/// Connecting changes nothing, whatever is there: an empty schema, one of an older or a newer version, or tables of
/// another program.
pub struct PostgresAdmin {
    links: Arc<Links>,
    /// For what takes as long as the tables are large.
    patient: Arc<Links>,
    options: PostgresOptions,
}

impl PostgresAdmin {
    /// Connects to the database of a store. The store need not be there yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotAStore`] if the database is not in UTF-8; [`StoreError::Io`] if the server cannot be reached;
    /// [`StoreError::Busy`], [`StoreError::Database`].
    pub async fn connect(options: PostgresOptions) -> Result<Self, StoreError> {
        let (target, place) = options.connect()?;
        let (patient, _) = options.connect()?;
        let runtime = Handle::try_current().map_err(|error| StoreError::Database {
            place: place.clone(),
            reason: format!("a tokio runtime is needed: {error}"),
        })?;
        let long = options.clone().statement_timeout(LONG);
        let admin = PostgresAdmin {
            links: Arc::new(Links::new(target, place.clone(), &options, runtime.clone())),
            patient: Arc::new(Links::new(patient.notice_silence(), place, &long, runtime)),
            options,
        };
        let (mut link, encoding) = admin.links.first().await.map_err(|fault| fault.error)?;
        link.must_allow_transactions().await.map_err(|fault| fault.error)?;
        if encoding != "UTF8" {
            let reason = format!("the database is encoded in {encoding}; it has to be UTF8");
            return Err(StoreError::NotAStore { place: admin.place().to_owned(), reason });
        }
        link.keep();
        Ok(admin)
    }

    /// Returns where the database is, without user and password.
    pub fn place(&self) -> &str {
        self.links.place()
    }

    /// Returns the schema that the store is in.
    pub fn schema(&self) -> &str {
        &self.options.schema
    }

    /// Closes all connections.
    pub async fn close(self) {
        self.links.close().await;
        self.patient.close().await;
    }
}

impl std::fmt::Debug for PostgresAdmin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresAdmin").field("options", &self.options).finish_non_exhaustive()
    }
}
