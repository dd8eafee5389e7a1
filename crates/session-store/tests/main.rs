//! The tests of trunkline-session-store: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod closing;
#[cfg(feature = "sqlite")]
mod damage;
#[cfg(feature = "sqlite")]
mod ends;
#[cfg(feature = "sqlite")]
mod faults;
#[cfg(feature = "sqlite")]
mod files;
mod find;
mod inbox;
mod interchange;
#[cfg(feature = "kit")]
mod kit;
#[cfg(feature = "sqlite")]
mod laws;
mod material;
mod memory;
mod pointers;
#[cfg(feature = "sqlite")]
mod seed;

#[cfg(all(feature = "kit", feature = "sqlite"))]
mod sqlite;

#[cfg(all(feature = "kit", feature = "postgres"))]
mod postgres;
