//! Session files of Gemini CLI.
//!
//! Up to 0.39 a file is one JSON document, since 0.40 a log of JSON lines that later lines change: a message is written
//! again when its calls have run, `$rewindTo` takes messages back, and `$set` puts another list in place of all (its
//! source of 2026-08, read 2026-11, and 0.61.0, run 2026-11).

mod answers;
mod header;
mod message;
mod part;
mod read;
mod said;
mod same;
mod units;
mod words;
mod write;

pub(crate) use read::read;
pub(crate) use write::write;

/// The wire that the parts of these files are of.
const WIRE: &str = "gemini";
