//! What time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use trunkline_message_tree::Timestamp;

/// Returns the time in milliseconds since 1970.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
