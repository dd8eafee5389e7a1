//! Teams that share a database and cannot see each other: each has a schema and a role of its own.
//!
//! The tables belong to a second role that only administrators have, so that the team's own role can change what is in
//! them and nothing about them. What a team may take is kept in a table beside its sessions, and held by triggers that run
//! as the owner.

mod limits;
mod list;
mod removal;
mod rights;
mod ways;

pub use self::limits::TeamLimits;
pub(super) use self::limits::{LIMITS, quota, tables as table_names};
pub use self::list::Team;
use self::rights::Roles;
use super::PostgresAdmin;
use crate::StoreError;
use crate::postgres::fault::{Fault, FaultKind};
use crate::postgres::link::{Level, Link};
use crate::postgres::schema;

/// What [`PostgresAdmin::grant`] has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Granted {
    /// The team: the name of its schema, and of the role with which it logs in.
    pub team: String,
    /// Whether the role was made now; then it has no password yet, see [`PostgresAdmin::set_password`].
    pub is_new: bool,
    /// What this administrator cannot close, in sentences that say who can and how.
    pub warnings: Vec<String>,
}

impl PostgresAdmin {
    /// Makes the schema of this administrator that of a team, or gives the team other limits.
    ///
    /// Two roles are made: one with the name of the schema, with which the team logs in and may read and write sessions and
    /// nothing else, and one that owns the tables, which only administrators have. The schema is made if it does not exist; a
    /// store that is there becomes the team's with all its sessions. In the whole database nobody but a superuser keeps what
    /// leads around limits: temporary tables, large objects, advisory locks, new tables in the schema `public`. So a database
    /// with teams is best one of its own.
    ///
    /// What was cut off is finished by calling it again.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if this role may not make roles and schemas, if a role of that name is not this team's, if the
    /// schema has functions or triggers of others, or if the name is longer than 57 bytes; [`StoreError::NotAStore`],
    /// [`StoreError::Newer`] or [`StoreError::Older`] if the schema holds something that is no store of this version; those of
    /// connections.
    pub async fn grant(&self, limits: &TeamLimits) -> Result<Granted, StoreError> {
        let (mut link, roles) = self.look_at_roles().await?;
        let fault = |fault: Fault| fault.error;
        drop(schema::look(&mut link, self.schema()).await.map_err(fault)??);
        rights::refuse_programs(&mut link, &roles).await.map_err(fault)??;
        rights::make_roles(&mut link, &roles, limits).await.map_err(fault)?;
        drop(schema::prepare(&mut link, self.schema()).await.map_err(fault)??);
        rights::give(&mut link, &roles, Some(limits)).await.map_err(fault)?;
        let warnings = ways::close(&mut link, &roles).await.map_err(fault)?;
        link.keep();
        Ok(Granted { team: self.schema().to_owned(), is_new: !roles.has_team(), warnings })
    }

    /// Gives the role of this team a password; the one it had is no longer taken, and connections that are open go on.
    ///
    /// The server is sent what proves the password (SCRAM-SHA-256) and not the password, so it is in no log there.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if there is no such team, if the password is empty, or if this role may not set it; those of
    /// connections.
    pub async fn set_password(&self, password: &str) -> Result<(), StoreError> {
        let refused = |reason| StoreError::Database { place: self.place().to_owned(), reason };
        if password.is_empty() {
            return Err(refused("an empty password is none".to_owned()));
        }
        let (mut link, roles) = self.look_at_roles().await?;
        if !roles.has_team() {
            return Err(refused(format!("there is no team {:?}", self.schema())));
        }
        // It has digits, letters and `$:+/=`.
        let verifier = postgres_protocol::password::scram_sha_256(password.as_bytes());
        let sql = format!("ALTER ROLE \"{}\" PASSWORD '{verifier}'", roles.team);
        rights::begin(&mut link, &roles).await.map_err(|fault| fault.error)?;
        link.run(&sql).await.map_err(|fault| fault.error)?;
        link.finish(Vec::new()).await.map_err(|fault| fault.error)?;
        link.keep();
        Ok(())
    }

    /// Gives a team what it needs of tables that were made since, if the schema is a team's and this role owns it.
    pub(super) async fn settle_team(&self) -> Result<(), StoreError> {
        let fault = |fault: Fault| fault.error;
        let mut link = self.patient.make(self.options.patience).await.map_err(fault)?;
        let is_team = match limits::has_limits(&mut link).await {
            // An engine without roles and their comments has no teams either.
            Err(Fault { kind: FaultKind::Refused | FaultKind::Unsupported, .. }) => return Ok(()),
            found => found.map_err(fault)?,
        };
        if is_team
            && let Ok(roles) = Roles::look(&mut link, self.schema()).await.map_err(fault)?
            && roles.is_made()
            && roles.owns
        {
            rights::give(&mut link, &roles, None).await.map_err(fault)?;
        }
        link.keep();
        Ok(())
    }

    /// Returns the roles of the team, on a connection of its own: what is cut off must not be found on another one.
    async fn look_at_roles(&self) -> Result<(Link, Roles), StoreError> {
        let mut link = self.patient.make(self.options.patience).await.map_err(|fault| fault.error)?;
        let roles = Roles::look(&mut link, self.schema()).await.map_err(|fault| fault.error)??;
        Ok((link, roles))
    }
}
