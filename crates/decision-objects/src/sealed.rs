//! A header and a content, checked together and never changed again.
//!
//! An object is built from both and gives both back by reference; there is no way to a part of it that could be written to.
//! What it breaks as a whole is told in full to whoever reads leniently; a constructor tells the first of it.

use std::collections::BTreeSet;
use std::fmt::Display;

use crate::Invalid;

/// All that a whole breaks, in the order in which it is told.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<Broken>);

/// One rule that is broken.
#[derive(Debug)]
pub(crate) struct Broken {
    /// The keys that the rule looks at: where one of them could not be read, it is not judged.
    pub(crate) keys: &'static [&'static str],
    pub(crate) why: Invalid,
}

impl Faults {
    pub(crate) fn add(&mut self, keys: &'static [&'static str], why: Invalid) {
        self.0.push(Broken { keys, why });
    }

    /// Adds what is wrong with one of several, if anything is.
    pub(crate) fn check<T>(&mut self, keys: &'static [&'static str], checked: Result<T, Invalid>) {
        if let Err(why) = checked {
            self.add(keys, why);
        }
    }

    /// Adds what a list names twice; `what` is the thing, for the error.
    pub(crate) fn unique<T: Ord + Display>(
        &mut self,
        keys: &'static [&'static str],
        what: &'static str,
        names: &[T],
    ) {
        for name in twice(names) {
            self.add(keys, Invalid::Twice { what, name: name.to_string() });
        }
    }

    /// Adds that a list names the object which it stands in; `what` is what it would be of itself.
    pub(crate) fn not_itself<T: PartialEq + Display>(
        &mut self,
        keys: &'static [&'static str],
        what: &'static str,
        names: impl IntoIterator<Item = T>,
        id: T,
    ) {
        if names.into_iter().any(|name| name == id) {
            self.add(keys, Invalid::OfItself { what, name: id.to_string() });
        }
    }

    pub(crate) fn extend(&mut self, more: Self) {
        self.0.extend(more.0);
    }

    /// The first, as an error.
    pub(crate) fn first(self) -> Result<(), Invalid> {
        self.0.into_iter().next().map_or(Ok(()), |broken| Err(broken.why))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Faults {
    type Item = Broken;
    type IntoIter = std::vec::IntoIter<Broken>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Up to here each is compared with each.
const SHORT: usize = 8;

/// What a list names more than once, each of it once, where it is first named again.
pub(crate) fn twice<T: Ord>(names: &[T]) -> Vec<&T> {
    // Most lists are short and sound: no set is made for them.
    let is_new = |(at, name): (usize, &T)| !names.iter().take(at).any(|before| before == name);
    if names.len() <= SHORT && names.iter().enumerate().all(is_new) {
        return Vec::new();
    }
    let (mut seen, mut told) = (BTreeSet::new(), BTreeSet::new());
    names.iter().filter(|name| !seen.insert(*name) && told.insert(*name)).collect()
}

/// Makes a sealed object: `new`, accessors, its canonical form.
///
/// Its content must have `faults(&self, id) -> Faults`, `print(&self, Object) -> Object` and
/// `read(&mut Fields) -> Result<Self, ParseError>`.
macro_rules! sealed {
    (
        $(#[$about:meta])*
        $name:ident($id:ty, $content:ty) is $tag:literal;
        $(#[$new:meta])*
        new
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            header: $crate::Header<$id>,
            content: $content,
        }

        $crate::json::canonical_form!($name);

        impl $name {
            $(#[$new])*
            pub fn new(header: $crate::Header<$id>, content: $content) -> Result<Self, $crate::Invalid> {
                content.faults(header.id).first()?;
                Ok(Self { header, content })
            }

            /// Seals as `new` does, or tells all that is broken.
            #[allow(dead_code, reason = "what has no form in git-internal's is never sealed so")]
            pub(crate) fn seal(
                header: $crate::Header<$id>,
                content: $content,
            ) -> Result<Self, $crate::sealed::Faults> {
                let faults = content.faults(header.id);
                if faults.is_empty() { Ok(Self { header, content }) } else { Err(faults) }
            }

            /// Its name.
            #[must_use]
            pub const fn id(&self) -> $id {
                self.header.id
            }

            /// Which one it is, when it came to be, and who made it.
            #[must_use]
            pub const fn header(&self) -> &$crate::Header<$id> {
                &self.header
            }

            /// What it says.
            #[must_use]
            pub const fn content(&self) -> &$content {
                &self.content
            }
        }

        impl $crate::json::Canonical for $name {
            const TYPE: &'static str = $tag;

            fn print_fields(&self, object: $crate::json::Object) -> $crate::json::Object {
                self.content.print($crate::header::print(&self.header, object))
            }

            fn read_fields(fields: &mut $crate::json::Fields<'_>) -> Result<Self, $crate::ParseError> {
                let header = $crate::header::read(fields)?;
                let content = <$content>::read(fields)?;
                fields.refuse(content.faults(header.id))?;
                Ok(Self { header, content })
            }
        }
    };
}
pub(crate) use sealed;
