//! What a team does not keep for ever: its sessions, by the rule that was set for it.

use trunkline_message_tree::Timestamp;

use super::PostgresAdmin;
use crate::postgres::PostgresStore;
use crate::postgres::fault::Fault;
use crate::{Expired, NoteQuery, SessionStore, StoreError};

/// What [`PostgresAdmin::retain`] has done, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retained {
    /// The sessions whose time had come, the oldest first.
    pub expired: Vec<Expired>,
    /// How many of them are gone. The others were come back to in the meantime.
    pub deleted: u64,
}

impl PostgresAdmin {
    /// Deletes the sessions of this team whose time has come by its own rule, [`TeamLimits::retention`](super::TeamLimits).
    /// Sessions with a key that one of `keep` finds stay, as do those that somebody writes or has left a letter for.
    ///
    /// The room is used again by what comes next; the files of the tables become smaller by [`vacuum`](Self::vacuum) or
    /// [`shrink`](Self::shrink).
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if this is no team; those of [`PostgresStore::open`](crate::PostgresStore::open).
    pub async fn retain(
        &self,
        keep: &[NoteQuery],
        now: Timestamp,
        dry_run: bool,
    ) -> Result<Retained, StoreError> {
        let Some(team) = self.team().await? else {
            let reason = format!("there is no team {:?}", self.schema());
            return Err(StoreError::Database { place: self.place().to_owned(), reason });
        };
        let mut retention = team.limits.retention;
        retention.keep_notes = keep.to_vec();
        let store = PostgresStore::open(self.options.clone()).await?;
        let mut retained = Retained { expired: retention.plan(&store, now).await?, deleted: 0 };
        if !dry_run {
            for expired in &retained.expired {
                match store.delete_idle(&expired.info).await {
                    Ok(()) => retained.deleted += 1,
                    // Somebody came back to it, or has deleted it.
                    Err(
                        StoreError::Locked { .. }
                        | StoreError::Changed { .. }
                        | StoreError::UnknownSession { .. },
                    ) => {}
                    Err(error) => return Err(error),
                }
            }
            store.collect(false).await?;
        }
        store.close().await;
        Ok(retained)
    }

    /// Gives what is free in the files of the tables back to the system, with `VACUUM FULL`: until that is done, nobody else
    /// can use a table, and both the old and the new file of it are there. A team that was over its quota is below it after
    /// it has deleted enough and this was done.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if a table belongs to another role; those of connections.
    pub async fn shrink(&self) -> Result<(), StoreError> {
        self.made().await?;
        let fault = |fault: Fault| fault.error;
        let mut link = self.patient.take().await.map_err(fault)?;
        for table in super::limits::tables(&mut link, self.schema()).await.map_err(fault)? {
            link.run(&format!("VACUUM (FULL, ANALYZE) @{table}")).await.map_err(fault)?;
        }
        link.keep();
        Ok(())
    }
}
