//! The patch sets of a run side by side, each with a place of its own.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use super::{Family, Rule, Violation};
use crate::{Object, PatchSetId, RunId};

impl Family {
    /// No two candidates of one run have one place. A patch set says no time, so of several the one with the least name stands.
    pub(super) fn candidates(&self, found: &mut Vec<Violation>) {
        let mut places: BTreeMap<(RunId, NonZeroU32), Vec<PatchSetId>> = BTreeMap::new();
        for object in self.iter() {
            if let Object::PatchSet(patch_set) = object
                && let Some(sequence) = patch_set.sequence()
            {
                places.entry((patch_set.run(), sequence)).or_default().push(patch_set.id());
            }
        }
        for ((run, sequence), mut patch_sets) in places {
            patch_sets.sort_unstable();
            if let Some((&first, later)) = patch_sets.split_first() {
                let rule = Rule::SequenceTwice { run, sequence: sequence.get(), first };
                found.extend(later.iter().map(|&id| Violation { object: id.into(), rule: rule.clone() }));
            }
        }
    }
}
