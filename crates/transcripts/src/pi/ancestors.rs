//! Looks up a line of entries without going through all of it.
//!
//! Each entry knows one that is further up, at distances that double: a file of compactions that all keep the same
//! entry would otherwise be read in the square of its length.

use crate::log::Log;

/// For each entry, how deep it stands and an entry above it.
#[derive(Debug, Default)]
pub(super) struct Ancestors(Vec<(usize, usize)>);

impl Ancestors {
    /// Notes the next entry of a log.
    pub(super) fn push(&mut self, parent: Option<usize>) {
        let place = self.0.len();
        let Some((parent, (depth, jump))) = parent.and_then(|at| Some((at, *self.0.get(at)?))) else {
            self.0.push((0, place));
            return;
        };
        let (far, further) = self.0.get(jump).copied().unwrap_or((0, jump));
        let further_depth = self.0.get(further).map_or(0, |(depth, _)| *depth);
        let doubles = depth.saturating_sub(far) == far.saturating_sub(further_depth);
        self.0.push((depth.saturating_add(1), if doubles { further } else { parent }));
    }

    /// Returns the highest entry on the way up from one of which `is` holds; it must hold of all that are below it.
    pub(super) fn highest(&self, log: &Log, from: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        let mut at = Some(from).filter(|at| is(*at))?;
        loop {
            let parent = log.entries.get(at).and_then(|entry| entry.parent);
            let Some(parent) = parent.filter(|parent| is(*parent)) else { return Some(at) };
            let jump = self.0.get(at).map_or(parent, |(_, jump)| *jump);
            at = if jump < at && is(jump) { jump } else { parent };
        }
    }
}
