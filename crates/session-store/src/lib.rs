#![doc = include_str!("../README.md")]

mod error;
mod interchange;
mod memory;
mod record;
mod session;
#[cfg(feature = "sqlite")]
mod sqlite;
mod store;
mod tally;

pub use error::StoreError;
pub use interchange::{FORMAT_VERSION, ImportError, export, import};
pub use memory::MemoryStore;
pub use record::{Batch, InboxId, Letter, Log, Note, Position, Receipt, Record};
pub use session::{NewSession, ParseSessionIdError, SessionId, SessionInfo};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteStore;
pub use store::{SessionStore, WriterLock};
