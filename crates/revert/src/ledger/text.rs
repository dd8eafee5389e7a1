//! A ledger in words.
//!
//! Every name in it comes from a model, a tool or a store. What is not plain is put in quotation marks that it cannot
//! end itself, so that no name reads like a second entry or a heading.

use super::{LastError, Ledger, LedgerEntry, Listed, MOST_ENTRIES, QUOTED_CHARS, WHAT_CHARS, harmless};
use crate::EffectClass;
use crate::refusal::LISTED;

impl Ledger {
    /// Returns the ledger as a model reads it: a line for each heading, at most `limit_chars` characters in all.
    ///
    /// Empty if nothing happened. The headings stand in the order of what it costs to forget them and get room in turn,
    /// one entry each, newest first; what is left out is counted. Where not even the counts fit, the text ends in `…`.
    pub fn text(&self, limit_chars: usize) -> String {
        let mut lines: Vec<Line> = self.lines().into_iter().filter(|line| line.total > 0).collect();
        let mut lengths: Vec<usize> = lines.iter().map(|line| line.print().chars().count() + 1).collect();
        // The last line ends without a line break.
        let limit = limit_chars.saturating_add(1);
        let mut open: Vec<usize> = (0..lines.len()).collect();
        while !open.is_empty() {
            open.retain(|index| {
                let line = &mut lines[*index];
                line.shown += 1;
                let longer = line.print().chars().count() + 1;
                let rest: usize = lengths.iter().sum::<usize>() - lengths[*index];
                let fits = line.shown <= line.items.len() && rest + longer <= limit;
                if fits {
                    lengths[*index] = longer;
                } else {
                    line.shown -= 1;
                }
                fits
            });
        }
        let text = lines.iter().map(Line::print).collect::<Vec<String>>().join("\n");
        shortened(text, limit_chars)
    }

    fn lines(&self) -> [Line; 8] {
        let others = |class: fn(EffectClass) -> bool| {
            let of_class = |entry: &&LedgerEntry| class(entry.class);
            self.others.newest.iter().filter(of_class).cloned().collect::<Vec<LedgerEntry>>()
        };
        let still = others(|class| !matches!(class, EffectClass::Pure | EffectClass::Unknown));
        let pure = others(|class| class == EffectClass::Pure);
        // Of those that were left out the class is not known either.
        let unknown =
            Listed { newest: others(|class| class == EffectClass::Unknown), earlier: self.others.earlier };
        let told = self.told.newest.iter().map(|told| quoted(&harmless(&told.text, QUOTED_CHARS)));
        // Headings are nouns: of what is only counted, some may have failed.
        [
            Line::new("Cannot be undone", "act", &self.lasting, lasting),
            Line {
                heading: "Told the user",
                noun: "message",
                items: newest(told.collect()),
                total: self.told.total(),
                shown: 0,
            },
            Line::new("Writes", "file", &self.written, file),
            Line::new("Commands", "command", &self.ran, act),
            Line::new("Still in effect", "tool", &Listed { newest: still, earlier: 0 }, act),
            Line::new("Effects unknown", "tool", &unknown, act),
            Line::new("Reads", "file", &self.read, file),
            Line::new("Also called", "tool", &Listed { newest: pure, earlier: 0 }, act),
        ]
    }
}

/// Returns one line that says what happened, at most `limit_chars` characters, for a revert that has no summary.
///
/// It names tools with counts, files that were written or read, and the first line of the last error; if no tool was
/// called, how the last words to the user begin. Empty if nothing happened.
pub fn mechanical(ledger: &Ledger, limit_chars: usize) -> String {
    let list = |listed: &Listed<LedgerEntry>, print: fn(&LedgerEntry) -> String| {
        let shown = &listed.newest[listed.newest.len().saturating_sub(LISTED)..];
        let mut items: Vec<String> = shown.iter().map(print).collect();
        if listed.total() > items.len() {
            items.push(format!("and {} more", listed.total() - items.len()));
        }
        items.join(", ")
    };
    let mut parts = Vec::new();
    if !ledger.tools.is_empty() {
        parts.push(format!("called {}", list(&ledger.tools, act)));
    }
    if !ledger.lasting.is_empty() {
        parts.push(format!("cannot be undone: {}", list(&ledger.lasting, lasting)));
    }
    if !ledger.written.is_empty() {
        parts.push(format!("writes: {}", list(&ledger.written, file)));
    }
    if let Some(LastError { tool, line, .. }) = &ledger.last_error {
        let said = harmless(line, QUOTED_CHARS);
        let said = if said.is_empty() { "no text".to_owned() } else { quoted(&said) };
        parts.push(format!("last error, of {}: {said}", shown(&harmless(tool, WHAT_CHARS))));
    }
    if !ledger.read.is_empty() {
        parts.push(format!("reads: {}", list(&ledger.read, file)));
    }
    if let (true, Some(told)) = (parts.is_empty(), ledger.told.newest.last()) {
        parts.push(format!("told the user {}", quoted(&harmless(&told.text, QUOTED_CHARS))));
    }
    shortened(parts.join("; "), limit_chars)
}

/// A heading with its entries, as far as they are shown.
struct Line {
    heading: &'static str,
    noun: &'static str,
    /// Oldest first; the newest are shown first.
    items: Vec<String>,
    total: usize,
    shown: usize,
}

impl Line {
    fn new(
        heading: &'static str,
        noun: &'static str,
        listed: &Listed<LedgerEntry>,
        print: fn(&LedgerEntry) -> String,
    ) -> Self {
        let items = newest(listed.newest.iter().map(print).collect());
        Line { heading, noun, items, total: listed.total(), shown: 0 }
    }

    fn print(&self) -> String {
        let Line { heading, noun, items, total, shown } = self;
        if *shown == 0 {
            let plural = if *total == 1 { "" } else { "s" };
            return format!("{heading}: {total} {noun}{plural}");
        }
        let listed = items[items.len().saturating_sub(*shown)..].join("; ");
        match total.saturating_sub(*shown) {
            0 => format!("{heading}: {listed}"),
            more => format!("{heading}: {listed}; and {more} more"),
        }
    }
}

/// Returns how often the calls failed or had no result, as `(×3, 2 failed)`; nothing for one call that did neither.
fn act(entry: &LedgerEntry) -> String {
    noted(entry, counts(entry))
}

/// Returns whether a file was read or written at least once. How often does not matter.
fn file(entry: &LedgerEntry) -> String {
    let LedgerEntry { calls, failed, unanswered, .. } = *entry;
    let notes = match (calls.saturating_sub(failed).saturating_sub(unanswered), unanswered) {
        (1.., _) => Vec::new(),
        (0, 1..) => vec!["outcome unknown".to_owned()],
        (0, 0) => vec!["failed".to_owned()],
    };
    noted(entry, notes)
}

fn lasting(entry: &LedgerEntry) -> String {
    let mut notes = counts(entry);
    if entry.class == EffectClass::Compensable {
        notes.push("can be made up for".to_owned());
    }
    noted(entry, notes)
}

fn counts(entry: &LedgerEntry) -> Vec<String> {
    let mut notes = Vec::new();
    let LedgerEntry { calls, failed, unanswered, last_failed, .. } = *entry;
    if calls <= 1 {
        notes.extend((failed > 0).then(|| "failed".to_owned()));
        notes.extend((unanswered > 0).then(|| "outcome unknown".to_owned()));
        return notes;
    }
    notes.push(format!("×{calls}"));
    if failed == calls {
        notes.push("all failed".to_owned());
    } else if failed > 0 {
        notes.push(format!("{failed} failed{}", if last_failed { ", the last too" } else { "" }));
    }
    if unanswered == calls {
        notes.push("outcomes unknown".to_owned());
    } else if unanswered > 0 {
        notes.push(format!("outcome of {unanswered} unknown"));
    }
    notes
}

fn noted(entry: &LedgerEntry, notes: Vec<String>) -> String {
    // A ledger from a store may hold anything, so it is made harmless once more.
    let what = shown(&harmless(&entry.what, WHAT_CHARS));
    if notes.is_empty() { what } else { format!("{what} ({})", notes.join(", ")) }
}

/// Returns a plain name as it is, and anything else in quotation marks.
fn shown(what: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "._-/\\@~+=%#…".contains(c);
    if !what.is_empty() && what.chars().all(is_plain) { what.to_owned() } else { quoted(what) }
}

/// Puts a line in quotation marks. Those that commands are full of stay as they are inside.
fn quoted(line: &str) -> String {
    format!("“{}”", line.replace(['“', '”'], "\""))
}

/// Keeps as many items as a ledger holds; one from a store may hold more.
fn newest(mut items: Vec<String>) -> Vec<String> {
    items.split_off(items.len().saturating_sub(MOST_ENTRIES))
}

/// Cuts a text that is already harmless.
fn shortened(text: String, limit_chars: usize) -> String {
    if text.chars().count() <= limit_chars {
        return text;
    }
    let Some(kept) = limit_chars.checked_sub(1) else { return String::new() };
    text.chars().take(kept).chain(['…']).collect()
}
