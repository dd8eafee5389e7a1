//! What was checked, and what was found.

use std::fmt;

// What is kept of each promise; the first violation is the one to mend.
const KEPT: usize = 8;

/// What is said of a check that relies on one that failed.
pub(super) const NOT_TRIED: &str = "not tried, because waiting is broken";

macro_rules! promises {
    ($($(#[$doc:meta])* $name:ident $words:literal)*) => {
        /// Something that others rely on.
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Promise {
            $($(#[$doc])* $name,)*
        }

        impl Promise {
            /// All of them, in the order in which a report shows them.
            pub const ALL: &[Promise] = &[$(Promise::$name),*];
        }

        impl fmt::Display for Promise {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    $(Promise::$name => $words,)*
                })
            }
        }
    };
}

promises! {
    /// What was acknowledged is read again through any handle, byte for byte.
    Kept "what was appended is read again, byte for byte"
    /// A batch that is refused, or that nobody waits for, is there whole or not at all.
    Whole "a batch is kept whole or not at all"
    /// A batch that is repeated, late or early is refused.
    Expected "a batch is kept only where it was made for"
    /// What no tree could replay, and what not every store can carry, is refused.
    Fits "what could not be read again is refused"
    /// What is not there is named in the error, by every method.
    Named "what does not exist is named in the error"
    /// Receipts and records carry the digests that follow from what was written.
    Chain "every record carries the digest that follows"
    /// A receipt names the level that was asked for, or a higher one, as far as the store can reach.
    Level "a receipt says the level that was reached"
    /// One session has one writer.
    OneWriter "a session has one writer"
    /// Who was taken over can write nothing more, and tokens grow.
    Fenced "who was taken over can write nothing more"
    /// Letters are consumed in order and exactly once, with the batch that says so.
    Inbox "a letter is consumed once, with its batch"
    /// Waiting ends when something happens, and only then; nothing is missed.
    Waiting "who waits is told, and misses nothing"
    /// Followers see every record once and in order while others write.
    Followed "followers see each record once, in order"
    /// A key that may be noted once is noted once, and keys are found by how they stand.
    Keys "notes are found by key and state, and once means once"
    /// Reading in pages of any size is reading, and so is reading by number.
    Pages "pages of any size come to the same"
    /// The outline, messages and what a long session resumes with say what the log says.
    Shape "the shape of a session is that of its log"
    /// Blobs are found by their digest.
    Blobs "blobs are found by their digest"
    /// A snapshot is given back as it was kept, beside the log that it was made from, and changes nothing.
    Snapshots "a snapshot is given back beside its own log only"
    /// Lists show how sessions are called and how far they have come.
    Listed "lists show sessions as they are"
    /// A session that was deleted is gone, and no other one with it.
    Deleted "deleting takes a session and nothing else"
    /// An import is there whole or not at all.
    Restored "a session that comes from elsewhere is there whole or not at all"
    /// A session moves between stores without a byte being changed.
    Moved "a session moves between stores byte for byte"
    /// All of it is there after the store was opened again.
    Reopened "all is there after opening again"
    /// The store answers as the memory store does.
    SameAsMemory "the answers are those of the memory store"
    /// Writers that fight for a session lose nothing that was acknowledged and write nothing that was not.
    Fought "writers who fight lose nothing and write nothing twice"
    /// What was acknowledged survives the death of its process.
    Killed "what was acknowledged survives kill -9"
    /// A full medium is told as such and harms nothing that was there.
    Full "a full disk is told and harms nothing"
    /// A medium that fails is told as such and harms nothing that was there.
    Broken "a failing disk is told and harms nothing"
    /// What past versions wrote is read.
    Older "what past versions wrote is read"
}

/// A promise that was not kept, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Which promise.
    pub promise: Promise,
    /// What was done, what was expected, and what was found.
    pub detail: String,
}

/// How much was tried.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// Calls in random lists of operations.
    pub operations: u64,
    /// Batches that were acknowledged while others wrote, or before the medium or the process failed.
    pub acknowledged: u64,
    /// Letters that were consumed while others wrote.
    pub letters: u64,
    /// Places at which a process was killed or a medium failed.
    pub cut_points: u64,
    /// Acknowledged batches that were gone and should not have been.
    pub lost: u64,
    /// Batches that were acknowledged as buffered and died with their process, as they may.
    pub buffered_lost: u64,
}

/// What was checked, and what was found. Its `Display` is a table with one promise a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    subject: String,
    rows: Vec<Row>,
    pub(super) figures: Figures,
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
    pub(super) fn new(subject: String) -> Self {
        let row = |promise: &Promise| Row { promise: *promise, checks: 0, broken: 0, findings: Vec::new() };
        Report { subject, rows: Promise::ALL.iter().map(row).collect(), figures: Figures::default() }
    }

    /// Returns whether nothing was found.
    pub fn is_ok(&self) -> bool {
        self.rows.iter().all(|row| row.broken == 0)
    }

    /// Returns what was found: of each promise the first few violations.
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        self.rows.iter().flat_map(|row| &row.findings)
    }

    /// Returns the promises that could not be checked, because the subject has no means to.
    pub fn unchecked(&self) -> impl Iterator<Item = Promise> {
        self.rows.iter().filter(|row| row.checks == 0).map(|row| row.promise)
    }

    /// Returns how often a promise was checked.
    pub fn checks(&self, promise: Promise) -> usize {
        self.rows.iter().filter(|row| row.promise == promise).map(|row| row.checks).sum()
    }

    /// Returns how much was tried.
    pub fn figures(&self) -> Figures {
        self.figures
    }

    /// Returns whether a promise can be tried: who follows a store whose waiting is broken may do so for ever, without
    /// ever giving way to anything that could end it.
    pub(super) fn may_try(&self, promise: Promise) -> bool {
        let broken = self.rows.iter().any(|row| row.promise == Promise::Waiting && row.broken > 0);
        !broken || !matches!(promise, Promise::Waiting | Promise::Followed)
    }

    /// Counts a check. `broken` says how it failed.
    pub(super) fn check(&mut self, promise: Promise, broken: Option<String>) {
        let Some(row) = self.rows.iter_mut().find(|row| row.promise == promise) else { return };
        row.checks += 1;
        if let Some(detail) = broken {
            row.broken += 1;
            if row.findings.len() < KEPT {
                row.findings.push(Finding { promise, detail });
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
                writeln!(f, "               {}", first.detail.replace('\n', "\n               "))?;
                if row.broken > 1 {
                    writeln!(f, "               and {} more", row.broken - 1)?;
                }
            }
        }
        let Figures { operations, acknowledged, letters, cut_points, lost, buffered_lost } = self.figures;
        writeln!(
            f,
            "  {operations} operations, {acknowledged} batches acknowledged, {letters} letters consumed, \
             {cut_points} cut points, {lost} lost, {buffered_lost} buffered lost"
        )
    }
}
