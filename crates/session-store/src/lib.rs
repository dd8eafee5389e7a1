#![doc = include_str!("../README.md")]

mod batch;
mod bell;
#[cfg(any(feature = "sqlite", feature = "postgres"))]
mod cut;
mod digest;
mod error;
mod exporting;
mod find;
mod inbox;
mod interchange;
#[cfg(feature = "kit")]
pub mod kit;
mod memory;
mod notes;
mod pointers;
#[cfg(feature = "postgres")]
mod postgres;
mod reading;
mod record;
mod restoring;
mod retention;
mod session;
mod snapshot;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod tally;

pub use batch::{Batch, Durability, Receipt};
pub use digest::{Digest, ParseDigestError};
pub use error::StoreError;
pub use exporting::{Export, ExportError, export, write_header, write_record};
pub use find::{Find, Found, Hit, find};
pub use inbox::{Activity, InboxId, Letter, LetterState, consumed};
pub use interchange::{FORMAT_VERSION, Import, ImportError, Rows, import};
pub use memory::MemoryStore;
pub use notes::{FoundNote, NoteQuery};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
pub use reading::{Follower, Log, Outline, Resumed, Verified};
pub use record::{Blob, Kept, Note, NoteKey, Position, Record, Spine};
pub use restoring::Restoring;
pub use retention::{Collected, Expired, ExpiryReason, Retention};
pub use session::{Amend, Header, NewSession, ParseSessionIdError, SessionId, SessionInfo};
pub use snapshot::Snapshot;
#[cfg(feature = "sqlite")]
pub use sqlite::{Opened, SqliteOptions, SqliteStore, doctor};
pub use store::{Claim, Holder, Lease, SessionStore};
pub use tally::Tally;
