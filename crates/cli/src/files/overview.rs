//! The sessions of all agents on this machine, a line for each.

use std::cmp::Reverse;
use std::time::{SystemTime, UNIX_EPOCH};

use trunkline_message_tree::Timestamp;

use crate::args::foreign::SortBy;
use crate::shown::time::ago;
use crate::term::limits::size;
use crate::term::style::{BOLD, DIM, paint};
use crate::term::text::{count, one_line};

/// What a list shows of a session beside its verdicts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The agent in whose folder it was found, or else the name of its format.
    pub(crate) agent: &'static str,
    /// When its last message was written, or else its file.
    pub(crate) at: Option<Timestamp>,
    /// How many branches were left in it.
    pub(crate) branches: usize,
    /// What all answers took: prompts and answers, each counted once.
    pub(crate) tokens: u64,
    /// The bytes of its file.
    pub(crate) bytes: u64,
}

/// What is known of a session as soon as it was judged, so that many can be sorted.
#[derive(Debug)]
pub(crate) struct Row {
    /// Its facts.
    pub(crate) facts: Facts,
    /// How many messages it has.
    pub(crate) messages: usize,
    /// How many problems it has.
    pub(crate) problems: usize,
    /// What is printed.
    pub(crate) text: String,
}

/// Puts rows in order; equal ones keep theirs.
pub(crate) fn sort(rows: &mut [Row], by: SortBy) {
    rows.sort_by_key(|row| {
        Reverse(match by {
            SortBy::Age => row.facts.at.map_or(0, |at| at.0),
            SortBy::Size => row.facts.bytes,
            SortBy::Tokens => row.facts.tokens,
            SortBy::Messages => row.messages as u64,
            SortBy::Problems => row.problems as u64,
        })
    });
}

/// Returns when a file was written last, if the system tells.
pub(crate) fn written(about: &std::fs::Metadata) -> Option<Timestamp> {
    let since = about.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok().map(Timestamp)
}

/// Returns the columns of a session before its verdict.
pub(crate) fn columns(facts: &Facts, messages: usize, title: Option<&str>) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok();
    let now = Timestamp(now.and_then(|now| u64::try_from(now.as_millis()).ok()).unwrap_or(0));
    let age = facts.at.map(|at| ago(at, now)).unwrap_or_default();
    let title = title.map(|title| one_line(title, 40)).filter(|title| !title.is_empty());
    let title = title.map(|title| format!("“{title}”")).unwrap_or_default();
    let branches = match facts.branches {
        0 => String::new(),
        some => count(some, "branch"),
    };
    format!(
        "{:<11} {age:>12}  {:>13}  {branches:>11}  {:>12}  {:>8}  {}",
        facts.agent,
        count(messages, "message"),
        tokens(facts.tokens),
        size(facts.bytes),
        paint(BOLD, &title),
    )
}

/// Prints a path so that it can be typed.
pub(crate) fn path(path: &str) -> String {
    paint(DIM, &one_line(path, usize::MAX))
}

fn tokens(tokens: u64) -> String {
    match tokens {
        0 => String::new(),
        1..10_000 => format!("{tokens} tokens"),
        10_000..10_000_000 => format!("{} k tokens", tokens / 1_000),
        _ => format!("{} M tokens", tokens / 1_000_000),
    }
}
