//! What most sessions never need, kept so that it costs them one word.

use std::ops::{Deref, DerefMut};

/// A value that was not changed yet is shared by all who have it.
pub trait Unchanged: Default + 'static {
    /// Returns the value that is shared by all that have not changed.
    fn unchanged() -> &'static Self;
}

/// A value that is seldom anything but its default.
pub struct Rare<T>(Option<Box<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Rare(None)
    }
}

impl<T> Rare<T> {
    /// Returns the value if it was changed.
    pub fn changed(&mut self) -> Option<&mut T> {
        self.0.as_deref_mut()
    }
}

impl<T: Unchanged> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match &self.0 {
            Some(value) => value,
            None => T::unchanged(),
        }
    }
}

impl<T: Unchanged> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}
