//! The files of a proposal, as a person chooses among them.

use std::collections::HashMap;

use serde_json::Value;
use trunkline_runtime::resolve_queue::Entry;

use crate::term::fault::Fault;
use crate::term::style::{DIM, GREEN, RED, paint};
use crate::term::text::one_line;

/// How many names are repeated to somebody who named another.
const NAMED: usize = 12;

/// A file that an apply would write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) subject: String,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

/// Returns what an apply would write, with the lines that its diff adds and takes away.
pub(crate) fn parts(entry: &Entry<Value>) -> Vec<Part> {
    let counted = entry.proposal.preview.diff.as_deref().map(counts).unwrap_or_default();
    let part = |subject: &str| {
        let (added, removed) = counted.get(subject).copied().unwrap_or_default();
        Part { subject: subject.to_owned(), added, removed }
    };
    entry.part().map(part).collect()
}

/// Returns whether there is something to choose among.
pub(crate) fn is_divisible(entry: &Entry<Value>) -> bool {
    entry.proposal.divisible && entry.part().nth(1).is_some()
}

/// Returns the parts as a numbered list.
pub(crate) fn numbered(parts: &[Part], indent: &str) -> String {
    let width = parts.len().to_string().len();
    let line = |(number, part): (usize, &Part)| {
        let mut line = format!("{indent}{number:>width$}  {}", one_line(&part.subject, 160));
        if part.added > 0 {
            line.push_str(&paint(GREEN, &format!("  +{}", part.added)));
        }
        if part.removed > 0 {
            line.push_str(&paint(RED, &format!("  −{}", part.removed)));
        }
        line + "\n"
    };
    (1..).zip(parts).map(line).collect()
}

/// Finds the parts that are meant, by name or by number; returns them and what is left out.
pub(crate) fn chosen<'a>(
    parts: &'a [Part],
    named: impl IntoIterator<Item = &'a str>,
) -> Result<(Vec<String>, Vec<String>), Fault> {
    let mut meant = vec![false; parts.len()];
    for name in named {
        let plain = name.trim();
        let plain = plain.strip_prefix("./").unwrap_or(plain);
        let by_name = parts.iter().position(|part| part.subject == plain);
        let by_number = || plain.parse::<usize>().ok()?.checked_sub(1).filter(|place| *place < parts.len());
        match by_name.or_else(by_number).and_then(|place| meant.get_mut(place)) {
            Some(found) => *found = true,
            None => return Err(no_such_part(parts, name)),
        }
    }
    let (taken, left): (Vec<_>, Vec<_>) = parts.iter().zip(meant).partition(|(_, meant)| *meant);
    let names = |some: Vec<(&Part, bool)>| some.into_iter().map(|(part, _)| part.subject.clone()).collect();
    Ok((names(taken), names(left)))
}

fn no_such_part(parts: &[Part], name: &str) -> Fault {
    let known: Vec<String> = parts.iter().take(NAMED).map(|part| one_line(&part.subject, 80)).collect();
    let more = if parts.len() > NAMED { ", …" } else { "" };
    Fault::usage(format!("it does not write {:?}; it writes {}{more}", one_line(name, 80), known.join(", ")))
}

/// Says what does not happen.
pub(crate) fn left_out(left: &[String]) -> String {
    let named: Vec<String> = left.iter().take(NAMED).map(|subject| one_line(subject, 80)).collect();
    let more = if left.len() > NAMED { ", …" } else { "" };
    paint(DIM, &format!("counts as discarded: {}{more}\n", named.join(", ")))
}

/// Counts the lines that a unified diff adds and takes away, by the name of the file.
///
/// Goes by the counts in the heads of hunks, so that a line of a file that looks like the head of another is not one.
pub(crate) fn counts(diff: &str) -> HashMap<String, (usize, usize)> {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    let (mut old, mut name) = (String::new(), String::new());
    let mut left = (0_usize, 0_usize);
    for line in diff.lines() {
        if left != (0, 0) {
            let count = counts.entry(name.clone()).or_default();
            match line.as_bytes().first() {
                Some(b'+') => (left.1, count.0) = (left.1.saturating_sub(1), count.0 + 1),
                Some(b'-') => (left.0, count.1) = (left.0.saturating_sub(1), count.1 + 1),
                Some(b'\\') => {}
                _ => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            }
        } else if let Some(head) = line.strip_prefix("--- ") {
            old = head.strip_prefix("a/").unwrap_or(head).to_owned();
        } else if let Some(head) = line.strip_prefix("+++ ") {
            // What is deleted has its name before it.
            name = match head {
                "/dev/null" => std::mem::take(&mut old),
                head => head.strip_prefix("b/").unwrap_or(head).to_owned(),
            };
        } else if let Some(head) = line.strip_prefix("@@ -") {
            left = spans(head).unwrap_or_default();
        }
    }
    counts
}

/// Returns how many lines of the old and of the new file a hunk has, from `1,2 +1,3 @@`.
fn spans(head: &str) -> Option<(usize, usize)> {
    let mut words = head.split(' ');
    let length = |span: &str| match span.split_once(',') {
        Some((_, length)) => length.parse().ok(),
        None => Some(1),
    };
    Some((length(words.next()?)?, length(words.next()?.strip_prefix('+')?)?))
}
