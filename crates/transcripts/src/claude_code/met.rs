//! Which ids and which words stood already.
//!
//! A file is full of both. Ids are short; of words only those are hashed that are as long as others.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The places of one id, in order; nearly all have one.
#[derive(Debug)]
pub(super) enum Places {
    One(usize),
    Several(Vec<usize>),
}

impl Places {
    /// Adds a place behind all others.
    pub(super) fn push(&mut self, place: usize) {
        match self {
            Places::One(first) => *self = Places::Several(vec![*first, place]),
            Places::Several(all) => all.push(place),
        }
    }

    pub(super) fn as_slice(&self) -> &[usize] {
        match self {
            Places::One(one) => std::slice::from_ref(one),
            Places::Several(all) => all,
        }
    }
}

/// Adds a place to an id.
pub(super) fn note<K: Hash + Eq>(ids: &mut HashMap<K, Places>, id: K, place: usize) {
    match ids.entry(id) {
        Entry::Vacant(slot) => {
            slot.insert(Places::One(place));
        }
        Entry::Occupied(mut slot) => slot.get_mut().push(place),
    }
}

/// The words of records that were met, each kept apart by what it belongs to.
#[derive(Debug)]
pub(super) struct Said<'r, 'a, K> {
    /// The first words of each length.
    first: HashMap<(K, usize), &'r [&'a str]>,
    /// Others that are as long. All are hashed, so that a file of equally long words takes no longer.
    others: HashSet<(K, &'r [&'a str])>,
}

impl<'r, 'a, K: Copy + Eq + Hash> Said<'r, 'a, K> {
    pub(super) fn nothing() -> Self {
        Said { first: HashMap::new(), others: HashSet::new() }
    }

    /// Notes words; tells whether it is the first time.
    pub(super) fn is_new(&mut self, of: K, words: &'r [&'a str]) -> bool {
        match self.first.entry((of, words.iter().map(|part| part.len()).sum())) {
            Entry::Vacant(slot) => {
                slot.insert(words);
                true
            }
            Entry::Occupied(slot) => *slot.get() != words && self.others.insert((of, words)),
        }
    }
}
