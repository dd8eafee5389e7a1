//! What was checked, and what was found.

use std::fmt;

// What is kept of each promise; the first violation is the one to mend.
const KEPT: usize = 8;

/// Something that others rely on.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Promise {
    /// What is asked for is answered, and the answer ends.
    Answered,
    /// Events come in the order that is documented on [`Event`](crate::Event).
    Order,
    /// After its end or its error a reply gives nothing more.
    Over,
    /// The events fold to one message that says what was said.
    Fold,
    /// The reason for the stop fits what was said; a reply that was cut is an error and no reason.
    Stop,
    /// Counts are what [`Usage`](trunkline_message_tree::Usage) says: parts are no larger than the whole, and what was
    /// written does not become less.
    Usage,
    /// The pieces in which a body comes do not matter.
    Pieces,
    /// A body that was cut short is told as cut and is never a shorter answer.
    Cut,
    /// No bytes are fatal, and none that are no answer become one.
    Hostile,
    /// What the model said can be said back to it.
    RoundTrip,
    /// The same request is written the same.
    Deterministic,
    /// What a memo knows changes no byte.
    Memo,
    /// A feature that is said to be there makes a difference, and one that is not is refused.
    Features,
    /// A history that no service takes is refused, before anything is sent.
    Shapes,
    /// Refusals are told by their kind, on one line, with the wait that the service asks for.
    Refusals,
    /// The key is in its header and nowhere else.
    Key,
    /// A future of `next` that is dropped loses no event.
    CancelSafe,
    /// A reply that is dropped on its way leaves the provider usable.
    Dropped,
    /// Two answers at once do not mix.
    Apart,
    /// Each attempt is told, and none is made that cannot succeed.
    Attempts,
    /// After the first word of an answer nothing is asked again.
    NoRepeat,
    /// Silence ends in a timeout that says what it waited for.
    Silence,
    /// A reply that is dropped closes its connection.
    Closed,
}

impl Promise {
    /// All of them.
    pub const ALL: [Promise; 23] = [
        Promise::Answered,
        Promise::Order,
        Promise::Over,
        Promise::Fold,
        Promise::Stop,
        Promise::Usage,
        Promise::Pieces,
        Promise::Cut,
        Promise::Hostile,
        Promise::RoundTrip,
        Promise::Deterministic,
        Promise::Memo,
        Promise::Features,
        Promise::Shapes,
        Promise::Refusals,
        Promise::Key,
        Promise::CancelSafe,
        Promise::Dropped,
        Promise::Apart,
        Promise::Attempts,
        Promise::NoRepeat,
        Promise::Silence,
        Promise::Closed,
    ];

    pub(super) const OF_WIRES: [Promise; 16] = [
        Promise::Answered,
        Promise::Order,
        Promise::Fold,
        Promise::Stop,
        Promise::Usage,
        Promise::Pieces,
        Promise::Cut,
        Promise::Hostile,
        Promise::Apart,
        Promise::RoundTrip,
        Promise::Deterministic,
        Promise::Memo,
        Promise::Features,
        Promise::Shapes,
        Promise::Refusals,
        Promise::Key,
    ];

    pub(super) const OF_PROVIDERS: [Promise; 10] = [
        Promise::Answered,
        Promise::Order,
        Promise::Over,
        Promise::Fold,
        Promise::Stop,
        Promise::Usage,
        Promise::CancelSafe,
        Promise::Dropped,
        Promise::Apart,
        Promise::Shapes,
    ];

    pub(super) const OVER_HTTP: [Promise; 18] = [
        Promise::Answered,
        Promise::Order,
        Promise::Over,
        Promise::Fold,
        Promise::Stop,
        Promise::Usage,
        Promise::CancelSafe,
        Promise::Dropped,
        Promise::Apart,
        Promise::Shapes,
        Promise::Pieces,
        Promise::Cut,
        Promise::Refusals,
        Promise::Attempts,
        Promise::NoRepeat,
        Promise::Silence,
        Promise::Closed,
        Promise::Key,
    ];
}

impl fmt::Display for Promise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Promise::Answered => "what is asked for is answered, and the answer ends",
            Promise::Order => "events come in the documented order",
            Promise::Over => "after the end of a reply nothing follows",
            Promise::Fold => "events fold to one message that says what was said",
            Promise::Stop => "the reason for the stop fits what was said",
            Promise::Usage => "counts are no less than their parts and do not shrink",
            Promise::Pieces => "the pieces of a body do not matter",
            Promise::Cut => "a body that was cut short is told as cut",
            Promise::Hostile => "no bytes are fatal or become an answer",
            Promise::RoundTrip => "what the model said can be said back to it",
            Promise::Deterministic => "the same request is written the same",
            Promise::Memo => "what a memo knows changes no byte",
            Promise::Features => "features are there or refused",
            Promise::Shapes => "a history that no service takes is refused",
            Promise::Refusals => "refusals are told by their kind",
            Promise::Key => "the key is in its header and nowhere else",
            Promise::CancelSafe => "a dropped future of next loses no event",
            Promise::Dropped => "a dropped reply leaves the provider usable",
            Promise::Apart => "two answers at once do not mix",
            Promise::Attempts => "attempts are told, and none is made in vain",
            Promise::NoRepeat => "after the first word nothing is asked again",
            Promise::Silence => "silence ends in a timeout",
            Promise::Closed => "a dropped reply closes its connection",
        })
    }
}

/// A promise that was not kept, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Which promise.
    pub promise: Promise,
    /// The sample, what was done with it, and what came of it.
    pub detail: String,
}

/// What was checked, and what was found. Its `Display` is a table with one promise a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    subject: String,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    promise: Promise,
    checks: usize,
    broken: usize,
    // The first of them.
    findings: Vec<Finding>,
}

impl Report {
    pub(super) fn new(subject: &str, promises: &[Promise]) -> Self {
        let row = |promise: &Promise| Row { promise: *promise, checks: 0, broken: 0, findings: Vec::new() };
        Report { subject: subject.to_owned(), rows: promises.iter().map(row).collect() }
    }

    /// Returns whether nothing was found.
    pub fn is_ok(&self) -> bool {
        self.rows.iter().all(|row| row.broken == 0)
    }

    /// Returns what was found: of each promise the first few violations.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.rows.iter().flat_map(|row| &row.findings)
    }

    /// Returns the promises that there was nothing to check with: a kind of sample is missing, or answers differ each
    /// time and cannot be compared.
    pub fn unchecked(&self) -> impl Iterator<Item = Promise> {
        self.rows.iter().filter(|row| row.checks == 0).map(|row| row.promise)
    }

    /// Returns how often a promise was checked.
    pub fn checks(&self, promise: Promise) -> usize {
        self.rows.iter().filter(|row| row.promise == promise).map(|row| row.checks).sum()
    }

    /// Counts a check. `broken` says how it failed.
    pub(super) fn check(&mut self, promise: Promise, broken: Option<String>) {
        let row = match self.rows.iter().position(|row| row.promise == promise) {
            Some(at) => self.rows.get_mut(at),
            None => {
                self.rows.push(Row { promise, checks: 0, broken: 0, findings: Vec::new() });
                self.rows.last_mut()
            }
        };
        let Some(row) = row else { return };
        row.checks += 1;
        if let Some(detail) = broken {
            row.broken += 1;
            if row.findings.len() < KEPT {
                row.findings.push(Finding { promise, detail });
            }
        }
    }

    /// Adds what another report found.
    pub(super) fn absorb(&mut self, other: Report) {
        for theirs in other.rows {
            match self.rows.iter_mut().find(|row| row.promise == theirs.promise) {
                Some(ours) => {
                    ours.checks += theirs.checks;
                    ours.broken += theirs.broken;
                    ours.findings.extend(theirs.findings);
                    ours.findings.truncate(KEPT);
                }
                None => self.rows.push(theirs),
            }
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let broken = self.rows.iter().filter(|row| row.broken > 0).count();
        writeln!(f, "{}: {broken} of {} promises broken", self.subject, self.rows.len())?;
        for row in &self.rows {
            let word = match (row.broken, row.checks) {
                (0, 0) => "–",
                (0, _) => "ok",
                _ => "FAIL",
            };
            writeln!(f, "  {word:<4} {:>6}  {}", row.checks, row.promise)?;
            if let Some(first) = row.findings.first() {
                writeln!(f, "               {}", first.detail)?;
                if row.broken > 1 {
                    writeln!(f, "               and {} more", row.broken - 1)?;
                }
            }
        }
        Ok(())
    }
}
