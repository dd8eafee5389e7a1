//! The tests of trunkline-session-store: one binary.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod interchange;
#[cfg(feature = "kit")]
mod kit;
mod material;

#[cfg(feature = "sqlite")]
mod damage;
#[cfg(feature = "sqlite")]
mod files;
#[cfg(feature = "sqlite")]
mod kill;
#[cfg(feature = "sqlite")]
mod laws;
#[cfg(feature = "sqlite")]
mod seed;
