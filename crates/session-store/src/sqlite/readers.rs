//! The connections that read.
//!
//! Each looks at the schema before anybody reads through it. Where one finds it damaged, or dies, all of them are given up:
//! the file is not what it was when the store was opened, and whoever asks is told so at once.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqlitePoolOptions};

use super::shape::Shape;
use super::{answer, schema};

/// How many read at once.
const READERS: u32 = 3;

/// Connections that are made when somebody reads, and closed when nobody has for a while.
#[derive(Clone, Debug)]
pub(super) struct Readers(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    // Set when it is made. The pool holds what looks at its new connections, and that must not hold the pool.
    pool: OnceLock<SqlitePool>,
    damage: OnceLock<String>,
}

impl Readers {
    /// Returns readers without a connection, of a database whose schema is of that version.
    pub(super) fn new(options: SqliteConnectOptions, version: usize) -> Self {
        let inner = Arc::new(Inner::default());
        let looking = Arc::downgrade(&inner);
        let pool = SqlitePoolOptions::new()
            .max_connections(READERS)
            // A connection is a thread: whoever does not read has none.
            .min_connections(0)
            .idle_timeout(Duration::from_secs(30))
            .test_before_acquire(false)
            .after_connect(move |connection, _| {
                let looking = looking.clone();
                Box::pin(async move {
                    let shape = Shape::read(connection).await?;
                    match (shape.damage(schema::statements(version)), looking.upgrade()) {
                        (Some(reason), Some(inner)) => {
                            inner.give_up(reason);
                            Err(sqlx::Error::PoolClosed)
                        }
                        _ => Ok(()),
                    }
                })
            })
            .connect_lazy_with(options);
        let _ = inner.pool.set(pool);
        Readers(inner)
    }

    pub(super) fn pool(&self) -> &SqlitePool {
        self.0.pool.get().expect("it is set when it is made")
    }

    /// Returns why they were given up, if they were.
    pub(super) fn damage(&self) -> Option<String> {
        self.0.damage.get().cloned()
    }

    /// Reads nothing any more.
    pub(super) fn give_up(&self, reason: &str) {
        self.0.give_up(reason.to_owned());
    }

    /// Closes the connections when nobody reads any more.
    pub(super) async fn close(&self) {
        // One that has died may not come back.
        let _ = answer::in_time(async {
            self.pool().close().await;
            Ok(())
        })
        .await;
    }
}

impl Inner {
    fn give_up(&self, reason: String) {
        // Whoever comes second found the same.
        let _ = self.damage.set(reason);
        if let Some(pool) = self.pool.get() {
            // From now on nobody gets a connection; nobody waits here for those who have one.
            drop(pool.close());
        }
    }
}
