//! A session under DBOS, and workers that are killed and paused.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![expect(clippy::print_stderr, reason = "a test says what it tried, and what it left out")]

mod kills;
mod scene;
