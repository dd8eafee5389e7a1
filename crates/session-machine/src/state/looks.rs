//! When calls of a run could change files, as it is recorded: a look before them, and one after.

use trunkline_revert::Digest;

use crate::notes::look::{LookNote, When};
use crate::state::written::Written;
use crate::words::files::{Base, Span};

/// The spans in which calls of a run could change files.
pub struct Looks {
    /// `None` if they are not known: everything that is different counts then.
    spans: Option<Vec<Span>>,
    /// How the files were when the run began.
    base: Base,
    /// The files at the newest look, or when the run began; `None` if that look failed.
    seen: Option<Base>,
    /// What applies had written by then.
    written: Written,
    /// Whether the open span is longer than its calls: a commit that came in it may be anybody's.
    vague: bool,
    /// Whether it was told in this process that a look failed, and none has worked since.
    told: bool,
}

impl Looks {
    /// Nothing ran yet, or nobody looks.
    pub(crate) fn new(taken: bool, base: Base, written: Written) -> Self {
        let seen = Some(base.clone());
        Looks { spans: taken.then(Vec::new), base, seen, written, vague: false, told: false }
    }

    /// Takes in a look, and what applies had written by then.
    pub(crate) fn record(&mut self, note: LookNote, written: Written) {
        (self.seen, self.written) = (note.files.clone(), written);
        let Some(spans) = &mut self.spans else { return };
        let Some(files) = note.files else {
            // Nobody could look: from the look before it on, everything may be the run's.
            if spans.last().is_none_or(|span| span.to.is_some()) {
                let known = spans.last().and_then(|span| span.to.clone());
                spans.push(Span { from: known.unwrap_or_else(|| self.base.clone()), to: None });
            }
            self.vague = true;
            return;
        };
        self.told = false;
        // Without the look after them, calls lasted until now for all that is known.
        let vague = std::mem::take(&mut self.vague) || !matches!(note.when, When::After);
        if let Some(span) = spans.last_mut().filter(|span| span.to.is_none()) {
            let commit = if vague { span.from.commit.clone() } else { files.commit.clone() };
            span.to = Some(Base { commit, tree: files.tree.clone() });
        }
        if let When::Before = note.when {
            spans.push(Span { from: files, to: None });
        }
    }

    /// Returns whether it was told in this process that a look failed, and none has worked since.
    pub(crate) fn is_fault_told(&self) -> bool {
        self.told
    }

    /// Takes in that it was told that a look failed.
    pub fn tell_fault(&mut self) {
        self.told = true;
    }

    /// Returns what state the files are in, given what applies have written by now; `None` where that is not known: where no look
    /// is taken, the last one failed, calls may have changed something since, or there is no version control to tell what they
    /// have changed.
    pub(crate) fn files(&self, written: Written) -> Option<Digest> {
        let spans = self.spans.as_ref()?;
        let tree = self.seen.as_ref()?.tree.as_deref();
        let is_known = match spans.last() {
            Some(span) => span.to.is_some() && tree.is_some(),
            None => true,
        };
        is_known.then(|| Digest::of_all([Digest::of(tree.unwrap_or_default()), written.since(self.written)]))
    }

    /// Returns them, oldest first; the last may have no end. `None` if they are not known.
    pub fn spans(&self) -> Option<&[Span]> {
        self.spans.as_deref()
    }
}
