#![doc = include_str!("../README.md")]

mod batch;
#[cfg(feature = "store")]
mod bell;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod cut;
mod digest;
mod error;
#[cfg(feature = "store")]
mod exporting;
#[cfg(feature = "store")]
mod find;
mod inbox;
#[cfg(feature = "store")]
mod interchange;
#[cfg(feature = "kit")]
pub mod kit;
mod log;
#[cfg(feature = "store")]
mod memory;
mod notes;
#[cfg(feature = "store")]
mod pointers;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "store")]
mod reading;
mod record;
#[cfg(feature = "store")]
mod restoring;
#[cfg(feature = "store")]
mod retention;
mod session;
#[cfg(feature = "store")]
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite;
#[cfg(feature = "store")]
mod store;
mod tally;

pub use batch::{Batch, Durability, Receipt};
pub use digest::{Digest, ParseDigestError};
pub use error::StoreError;
#[cfg(feature = "store")]
pub use exporting::{Export, ExportError, export, write_header, write_record};
#[cfg(feature = "store")]
pub use find::{Find, Found, Hit, find};
pub use inbox::{Activity, InboxId, Letter, LetterState};
#[cfg(feature = "store")]
pub use inbox::{Arrived, arrived, consumed};
#[cfg(feature = "store")]
pub use interchange::{FORMAT_VERSION, Import, ImportError, Rows, import};
pub use log::Log;
#[cfg(feature = "store")]
pub use memory::MemoryStore;
pub use notes::{FoundNote, NoteQuery};
#[cfg(feature = "postgres")]
pub use postgres::{
    Distributed, Granted, Migrate, Migration, MigrationProgress, PostgresAdmin, PostgresOptions,
    PostgresStore, StoreOwner, StoreStatus, StoreTable, Team, TeamLimits, Vacuumed,
};
#[cfg(feature = "store")]
pub use reading::{Follower, Outline, Resumed, Verified};
pub use record::{Blob, Kept, Note, NoteKey, Position, Record, Spine};
#[cfg(feature = "store")]
pub use restoring::Restoring;
#[cfg(feature = "store")]
pub use retention::{Collected, Expired, ExpiryReason, Retention};
pub use session::{Amend, Header, NewSession, ParseSessionIdError, SessionId, SessionInfo};
#[cfg(feature = "store")]
pub use snapshot::Snapshot;
#[cfg(feature = "sqlite")]
pub use sqlite::{Opened, SqliteOptions, SqliteStore, doctor};
#[cfg(feature = "store")]
pub use store::{Claim, Holder, Lease, SessionStore};
pub use tally::Tally;
