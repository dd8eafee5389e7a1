//! Session files of Claude Code.
//!
//! A file is a log of records chained by `uuid` and `parentUuid`, and not the list of messages: one message of the
//! model spans several lines, results hang beside the line that the next one continues, and hooks, compaction and
//! resuming leave forks that nobody made.

mod conversation;
mod ends;
mod links;
mod met;
mod read;
mod record;
mod tree;
mod write;

pub(crate) use read::{File, is_whole_record, read};
pub(crate) use write::write;
