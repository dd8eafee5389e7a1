//! Answers of the database, whole or not at all.
//!
//! Every connection is a thread of the driver, and where that dies over what it reads, the rows of an answer just end. But a
//! whole answer ends with how many rows were changed, so one without that was broken off, and is an error.

use futures_util::future::{BoxFuture, ready};
use futures_util::stream::{BoxStream, StreamExt, TryStreamExt, once};
use sqlx::sqlite::SqliteRow;
use sqlx::{Connection, Decode, Either, Execute, Executor, Row, Sqlite, SqliteConnection, Type};

use super::PATIENCE;

/// Asks a database for rows. What sqlx calls `fetch` takes an answer that was broken off for a short one.
pub(super) trait Ask<'q>: Execute<'q, Sqlite> + Sized + 'q {
    /// Returns the rows of the answer as they come.
    fn rows<'a, 'c: 'a>(
        self,
        from: impl Executor<'c, Database = Sqlite>,
    ) -> BoxStream<'a, sqlx::Result<SqliteRow>>
    where
        'q: 'a,
    {
        let answer = from.fetch_many(self).map(Some).chain(once(ready(None)));
        let rows = answer.scan(false, |whole, next| {
            ready(Some(match next {
                Some(Ok(Either::Right(row))) => {
                    *whole = false;
                    Some(Ok(row))
                }
                Some(Ok(Either::Left(_))) => {
                    *whole = true;
                    None
                }
                Some(Err(error)) => {
                    *whole = true;
                    Some(Err(error))
                }
                None => (!*whole).then_some(Err(sqlx::Error::WorkerCrashed)),
            }))
        });
        rows.filter_map(ready).boxed()
    }

    /// Returns all rows of the answer.
    fn all_rows<'a, 'c: 'a>(
        self,
        from: impl Executor<'c, Database = Sqlite>,
    ) -> BoxFuture<'a, sqlx::Result<Vec<SqliteRow>>>
    where
        'q: 'a,
    {
        Box::pin(self.rows(from).try_collect())
    }

    /// Returns the row of an answer that has one at most.
    fn maybe_row<'a, 'c: 'a>(
        self,
        from: impl Executor<'c, Database = Sqlite>,
    ) -> BoxFuture<'a, sqlx::Result<Option<SqliteRow>>>
    where
        'q: 'a,
    {
        let rows = self.all_rows(from);
        Box::pin(async move { Ok(rows.await?.into_iter().next()) })
    }

    /// Returns the row of an answer that has one.
    fn one_row<'a, 'c: 'a>(
        self,
        from: impl Executor<'c, Database = Sqlite>,
    ) -> BoxFuture<'a, sqlx::Result<SqliteRow>>
    where
        'q: 'a,
    {
        let row = self.maybe_row(from);
        Box::pin(async move { row.await?.ok_or(sqlx::Error::RowNotFound) })
    }

    /// Returns the first column of the row of an answer that has one.
    fn value<'a, 'c: 'a, T>(
        self,
        from: impl Executor<'c, Database = Sqlite>,
    ) -> BoxFuture<'a, sqlx::Result<T>>
    where
        'q: 'a,
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
    {
        let row = self.one_row(from);
        Box::pin(async move { row.await?.try_get(0) })
    }

    /// Returns the first column of the row of an answer that has one at most.
    fn maybe_value<'a, 'c: 'a, T>(
        self,
        from: impl Executor<'c, Database = Sqlite>,
    ) -> BoxFuture<'a, sqlx::Result<Option<T>>>
    where
        'q: 'a,
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite>,
    {
        let row = self.maybe_row(from);
        Box::pin(async move { row.await?.map(|row| row.try_get(0)).transpose() })
    }

    /// Returns the first column of all rows of the answer.
    fn values<'a, 'c: 'a, T>(
        self,
        from: impl Executor<'c, Database = Sqlite>,
    ) -> BoxFuture<'a, sqlx::Result<Vec<T>>>
    where
        'q: 'a,
        T: for<'r> Decode<'r, Sqlite> + Type<Sqlite> + Send,
    {
        let rows = self.all_rows(from);
        Box::pin(async move { rows.await?.iter().map(|row| row.try_get(0)).collect() })
    }
}

impl<'q, Q: Execute<'q, Sqlite> + 'q> Ask<'q> for Q {}

/// Closes a connection.
pub(super) async fn close(connection: SqliteConnection) -> sqlx::Result<()> {
    in_time(connection.close()).await
}

/// Waits for what takes no time where the driver's thread is alive. One that is dying may never answer, and nobody waits for
/// it for ever.
pub(super) async fn in_time<T>(answer: impl Future<Output = sqlx::Result<T>>) -> sqlx::Result<T> {
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or(Err(sqlx::Error::WorkerCrashed))
}
