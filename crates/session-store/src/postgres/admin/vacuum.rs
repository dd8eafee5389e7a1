//! Makes the space of deleted rows usable again.

use super::PostgresAdmin;
use super::status::tables;
use super::teams::table_names;
use crate::StoreError;
use crate::postgres::bind::{Bind, get};
use crate::postgres::fault::Fault;

/// What [`PostgresAdmin::vacuum`] has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Vacuumed {
    /// The tables.
    pub tables: u32,
    /// How many bytes they took before.
    pub before: u64,
    /// How many bytes they take now.
    pub after: u64,
}

impl PostgresAdmin {
    /// Runs `VACUUM (ANALYZE)` on each table: what was deleted can be written over, and the planner knows how much there
    /// is. Others may go on; `progress` is told of each table before its turn.
    ///
    /// The files of the tables become smaller only by what was free at their ends. What imports and damage have left
    /// over is removed by [`collect`](crate::SessionStore::collect), before this.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if a table belongs to another role, and then nothing was done; those of connections.
    pub async fn vacuum(&self, mut progress: impl FnMut(&str)) -> Result<Vacuumed, StoreError> {
        self.made().await?;
        let fault = |fault: Fault| fault.error;
        let mut link = self.patient.take().await.map_err(fault)?;
        let before = tables(&mut link, self.schema()).await.map_err(fault)?;
        // The server itself would only warn.
        let query =
            "SELECT c.relname::text AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                     WHERE n.nspname = $1 AND c.relkind IN ('r', 'p')
                     AND NOT pg_has_role(c.relowner, 'USAGE') ORDER BY 1";
        let others = link.rows(query, Bind::new().with(self.schema())).await.map_err(fault)?;
        if let Some(row) = others.first() {
            let name: String =
                get(row, "name").map_err(|reason| Fault::corrupt(self.place(), reason).error)?;
            let reason = format!("the table {name:?} belongs to another role: connect as its owner");
            return Err(StoreError::Database { place: self.place().to_owned(), reason });
        }
        for table in &before {
            progress(&table.name);
            // A name of ours has nothing in it that could end the quotes.
            link.run(&format!("VACUUM (ANALYZE) @\"{}\"", table.name.replace('"', "")))
                .await
                .map_err(fault)?;
        }
        let after = tables(&mut link, self.schema()).await.map_err(fault)?;
        link.keep();
        let bytes = |tables: &[super::StoreTable]| tables.iter().map(|table| table.bytes).sum();
        Ok(Vacuumed {
            tables: u32::try_from(before.len()).unwrap_or(u32::MAX),
            before: bytes(&before),
            after: bytes(&after),
        })
    }

    /// Gives what is free in the files of the tables back to the system, with `VACUUM FULL`: until that is done, no other
    /// program can use a table, and both the old and the new file of it are there. A team that was over its quota is below it after
    /// it has deleted enough and this was done.
    ///
    /// # Errors
    ///
    /// [`StoreError::Database`] if a table belongs to another role; those of connections.
    pub async fn shrink(&self) -> Result<(), StoreError> {
        self.made().await?;
        let fault = |fault: Fault| fault.error;
        let mut link = self.patient.take().await.map_err(fault)?;
        for table in table_names(&mut link, self.schema()).await.map_err(fault)? {
            link.run(&format!("VACUUM (FULL, ANALYZE) @{table}")).await.map_err(fault)?;
        }
        link.keep();
        Ok(())
    }
}
