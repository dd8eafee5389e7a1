//! How often leases are looked after.
//!
//! Whoever is taken over may be in the middle of writing files, and hears of it a moment later. So what it has begun has a
//! lease, and whoever has the session now leaves it alone until that is over.

use std::time::Duration;

/// How often it is looked whether a lease has to be renewed, or is over: a machine may have slept meanwhile.
pub(crate) const TICK: Duration = Duration::from_millis(500);

/// How long a renewal may take. What it is for is not given time meanwhile.
pub(crate) const RENEWAL_TIME: Duration = Duration::from_secs(5);
