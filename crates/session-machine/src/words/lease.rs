//! How long what was begun is left to whoever began it.

use std::time::Duration;

/// For how long an apply, or a rollback, is left to whoever began it, after they were last heard of. They renew it every
/// third of that, and learn then at the latest that the session was taken over.
///
/// Whoever takes the session over waits for so long before they look what became of it; after a crash, where the one who
/// began it is known to be gone (`SessionStore::free_means_gone`), nobody waits.
pub const APPLY_LEASE: Duration = Duration::from_secs(60);

/// [`APPLY_LEASE`] as the log counts it, in milliseconds.
pub const LEASE_MS: u64 = APPLY_LEASE.as_secs() * 1000;
