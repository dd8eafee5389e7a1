//! What the database says, in words for the one who must act.

use std::path::Path;

use crate::StoreError;

/// Returns our error for one of the database.
pub(super) fn store_error(path: &Path, error: sqlx::Error) -> StoreError {
    let place = path.display().to_string();
    // One line, whatever the database wrote.
    let reason = |text: &dyn std::fmt::Display| text.to_string().replace(['\n', '\r'], " ");
    match &error {
        sqlx::Error::Database(fault) => {
            let code = fault.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or(0);
            let reason = reason(&fault.message());
            // The low byte is the primary code: sqlite.org/rescode.html, read 2026-11.
            match code & 0xff {
                5 | 6 => StoreError::Busy { place },
                8 => StoreError::ReadOnly { place },
                10 | 14 => StoreError::Io { place, reason },
                11 => StoreError::Corrupt { place, reason },
                13 => StoreError::Full { place, quota: None },
                26 => StoreError::NotAStore { place, reason },
                _ => StoreError::Database { place, reason },
            }
        }
        sqlx::Error::WorkerCrashed => {
            let reason = "the driver's thread died over what it read; its schema may be damaged".to_owned();
            StoreError::Corrupt { place, reason }
        }
        sqlx::Error::PoolTimedOut => StoreError::Busy { place },
        sqlx::Error::Io(fault) => StoreError::Io { place, reason: reason(fault) },
        sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::ColumnNotFound(_) => {
            StoreError::Corrupt { place, reason: reason(&error) }
        }
        _ => StoreError::Database { place, reason: reason(&error) },
    }
}

/// Returns the words of an error of the database, on one line.
pub(super) fn words(error: &sqlx::Error) -> String {
    let text = match error {
        sqlx::Error::Database(fault) => fault.message().to_owned(),
        error => error.to_string(),
    };
    text.replace(['\n', '\r'], " ")
}

/// Returns our error for one of the operating system.
pub(super) fn io_error(path: &Path, error: &std::io::Error) -> StoreError {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            StoreError::Full { place: path.display().to_string(), quota: None }
        }
        _ => StoreError::Io { place: path.display().to_string(), reason: error.to_string() },
    }
}
