//! What the database says, in words for the one who must act.

use std::path::Path;

use crate::StoreError;

/// Returns our error for one of the database.
pub(super) fn store_error(path: &Path, error: sqlx::Error) -> StoreError {
    let path = path.to_owned();
    // One line, whatever the database wrote.
    let reason = |text: &dyn std::fmt::Display| text.to_string().replace(['\n', '\r'], " ");
    match &error {
        sqlx::Error::Database(fault) => {
            let code = fault.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
            let reason = reason(&fault.message());
            // The low byte is the primary code: sqlite.org/rescode.html, read 2026-11.
            match code & 0xff {
                5 | 6 => StoreError::Busy { path },
                8 | 10 | 14 => StoreError::Io { path, reason },
                11 => StoreError::Corrupt { path, reason },
                13 => StoreError::Full { path },
                26 => StoreError::NotAStore { path, reason },
                _ => StoreError::Database { path, reason },
            }
        }
        sqlx::Error::PoolTimedOut => StoreError::Busy { path },
        sqlx::Error::Io(fault) => StoreError::Io { path, reason: reason(fault) },
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
            StoreError::Corrupt { path, reason: reason(&error) }
        }
        _ => StoreError::Database { path, reason: reason(&error) },
    }
}

/// Returns our error for one of the operating system.
pub(super) fn io_error(path: &Path, error: &std::io::Error) -> StoreError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            StoreError::Full { path: path.to_owned() }
        }
        _ => StoreError::Io { path: path.to_owned(), reason: error.to_string() },
    }
}
