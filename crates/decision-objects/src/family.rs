//! Objects side by side, and everything that does not fit between them.
//!
//! One object can only be well formed. Whether a decision's evidence is of its run, whether a parent exists, whether an
//! event came in its turn, shows beside the others. Nothing is refused here, since what is wrong has happened already
//! and must be seen; and all of it is told, since somebody who mends the first fault wants to know of the rest.

mod candidates;
mod consequences;
mod cycles;
mod names;
mod order;
mod references;
mod rule;
mod runs;
mod standing;
mod verdicts;

use std::collections::{BTreeMap, HashMap, btree_map, hash_map};

pub use rule::{Relation, Rule, Violation};
pub use standing::{
    IntentStanding, PlanStanding, PlanState, RunStanding, Standing, StepStanding, TaskStanding,
};

use crate::{Digest, Object, ObjectName};

/// What became of an object that was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an object is new, or known, or another one of the same name")]
pub enum Added {
    /// It is new.
    New,
    /// The same object is already there; nothing changed.
    Known,
    /// Another object has its name. Both are kept, the rules look at the first, and [`Rule::NameTwice`] tells.
    Clash,
}

/// A set of objects, in the order in which they were added.
///
/// The order counts in two ways only: events are looked at in it (clocks cannot be trusted with that), and of two
/// objects with one name the first stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Family {
    objects: Vec<Object>,
    /// Where each name stands in `objects`.
    places: HashMap<ObjectName, usize>,
    /// What has the name of an object that came earlier, by its digest.
    clashes: BTreeMap<(ObjectName, Digest), Object>,
}

impl Family {
    /// Starts with none.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an object; the same one again changes nothing.
    pub fn add(&mut self, object: impl Into<Object>) -> Added {
        let object = object.into();
        match self.places.entry(object.name()) {
            hash_map::Entry::Vacant(free) => {
                free.insert(self.objects.len());
                self.objects.push(object);
                Added::New
            }
            hash_map::Entry::Occupied(taken) if self.objects.get(*taken.get()) == Some(&object) => {
                Added::Known
            }
            hash_map::Entry::Occupied(taken) => match self.clashes.entry((*taken.key(), object.digest())) {
                btree_map::Entry::Occupied(_) => Added::Known,
                btree_map::Entry::Vacant(free) => {
                    free.insert(object);
                    Added::Clash
                }
            },
        }
    }

    /// The object of that name; of several, the first.
    #[must_use]
    pub fn get(&self, name: impl Into<ObjectName>) -> Option<&Object> {
        self.objects.get(*self.places.get(&name.into())?)
    }

    /// All objects in the order of adding, without those of [`clashes`](Self::clashes).
    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.objects.iter()
    }

    /// The objects whose name another one had before them.
    pub fn clashes(&self) -> impl Iterator<Item = &Object> {
        self.clashes.values()
    }

    /// Everything that does not fit, in the order of the objects' kinds and names; empty if all is well.
    ///
    /// Each violation stands under the object that could have been written otherwise: a decision that names the patch
    /// set of another run, not that patch set. Takes `n log n` steps for `n` objects and names in them, and no more stack
    /// for a longer chain of parents.
    #[must_use]
    pub fn violations(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        self.names(&mut found);
        self.references(&mut found);
        self.verdicts(&mut found);
        self.consequences(&mut found);
        self.runs(&mut found);
        self.candidates(&mut found);
        self.order(&mut found);
        self.cycles(&mut found);
        found.sort_unstable();
        found.dedup();
        found
    }

    fn names(&self, found: &mut Vec<Violation>) {
        // A hostile first may be as long as all the others together: its digest is made once.
        let mut last: Option<(ObjectName, Digest)> = None;
        for &(object, other) in self.clashes.keys() {
            let known = last.filter(|(name, _)| *name == object).map(|(_, first)| first);
            if let Some(first) = known.or_else(|| self.get(object).map(Object::digest)) {
                last = Some((object, first));
                found.push(Violation { object, rule: Rule::NameTwice { first, other } });
            }
        }
    }
}

impl<O: Into<Object>> Extend<O> for Family {
    fn extend<I: IntoIterator<Item = O>>(&mut self, objects: I) {
        for object in objects {
            self.add(object);
        }
    }
}

impl<O: Into<Object>> FromIterator<O> for Family {
    fn from_iter<I: IntoIterator<Item = O>>(objects: I) -> Self {
        let mut family = Self::new();
        family.extend(objects);
        family
    }
}
