//! A map that can be brought back to what it was.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// What the passes remember, and what was there before each entry, where the caller may go back.
#[derive(Clone, Debug)]
pub(crate) struct Noted<K, V> {
    map: HashMap<K, V>,
    log: Option<Vec<(K, Option<V>)>>,
}

impl<K: Clone + Eq + Hash, V> Noted<K, V> {
    /// Returns an empty map; `goes_back` tells that [`go_back`](Noted::go_back) will be asked.
    pub(crate) fn new(goes_back: bool) -> Self {
        Noted { map: HashMap::new(), log: goes_back.then(Vec::new) }
    }

    pub(crate) fn get<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.map.get(key)
    }

    pub(crate) fn contains<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.map.contains_key(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    /// Notes a value; returns whether nothing was noted under that key.
    pub(crate) fn insert(&mut self, key: K, value: V) -> bool {
        let Some(log) = &mut self.log else { return self.map.insert(key, value).is_none() };
        let before = self.map.insert(key.clone(), value);
        let is_new = before.is_none();
        log.push((key, before));
        is_new
    }

    /// Forgets everything; this cannot be taken back.
    pub(crate) fn clear(&mut self) {
        self.map.clear();
        if let Some(log) = &mut self.log {
            log.clear();
        }
    }

    /// Returns where it stands.
    pub(crate) fn mark(&self) -> usize {
        self.log.as_ref().map_or(0, Vec::len)
    }

    /// Forgets what was noted since it stood there, at the cost of that.
    pub(crate) fn go_back(&mut self, mark: usize) {
        let Noted { map, log: Some(log) } = self else { return };
        while log.len() > mark
            && let Some((key, before)) = log.pop()
        {
            match before {
                Some(before) => drop(map.insert(key, before)),
                None => drop(map.remove(&key)),
            }
        }
    }
}
