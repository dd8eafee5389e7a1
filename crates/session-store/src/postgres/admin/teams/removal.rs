//! The end of a team, with all that it had.

use std::time::Duration;

use tokio::time::Instant;

use super::rights::{self, Roles};
use super::{Link, PostgresAdmin};
use crate::StoreError;
use crate::postgres::bind::Bind;
use crate::postgres::fault::{Fault, FaultKind};

/// How long connections of a team are waited for after they were told to end.
const LEAVE: Duration = Duration::from_secs(10);

impl PostgresAdmin {
    /// Removes the team whose schema this is: its connections, its sessions, its tables and its roles.
    ///
    /// Nothing of it can be had back from the database. What backups and the server's archive of its log hold of it stays
    /// there for as long as they are kept. One that was cut off is finished by calling it again.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if there is no such team, if this role may not remove it, or if the roles own something
    /// elsewhere; [`StoreError::Busy`] if its connections do not end; those of connections.
    pub async fn revoke(&self) -> Result<(), StoreError> {
        let (mut link, roles) = self.look_at_roles().await?;
        if roles.is_unknown() {
            let reason = format!("there is no team {:?}", self.schema());
            return Err(StoreError::Database { place: self.place().to_owned(), reason });
        }
        remove(&mut link, &roles).await.map_err(|fault| fault.error)?;
        link.keep();
        Ok(())
    }
}

async fn remove(link: &mut Link, roles: &Roles) -> Result<(), Fault> {
    let Roles { team, .. } = roles;
    if roles.has_team() {
        // Before its connections are ended, so that none comes after them.
        link.run(&format!("ALTER ROLE \"{team}\" NOLOGIN")).await?;
    }
    let end = Instant::now() + LEAVE;
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND pid <> pg_backend_pid()";
    while !link.rows(sql, Bind::new().with(team)).await?.is_empty() {
        if Instant::now() >= end {
            let error = StoreError::Busy { place: link.place().to_owned() };
            return Err(Fault { error, kind: FaultKind::Refused });
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    rights::begin(link, roles).await?;
    // With all that was ever put there: the schema was the team's.
    link.run(&format!("DROP SCHEMA IF EXISTS \"{team}\" CASCADE")).await?;
    for role in roles.there() {
        link.run(&format!("DROP OWNED BY \"{role}\"; DROP ROLE \"{role}\"")).await?;
    }
    link.finish(Vec::new()).await.map(drop)
}
