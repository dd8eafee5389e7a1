//! A header and a content, checked together and never changed again.
//!
//! An object is built from both and gives both back by reference; there is no way to a part of it that could be written to.

use std::collections::BTreeSet;
use std::fmt::Display;

use crate::Invalid;

/// Makes a sealed object: `new`, accessors, its canonical form.
///
/// Its content must have `checked(self, id) -> Result<Self, Invalid>`, `print(&self, Object) -> Object` and
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
                let content = content.checked(header.id)?;
                Ok(Self { header, content })
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
                Ok(Self::new(header, content)?)
            }
        }
    };
}
pub(crate) use sealed;

/// Refuses a list that names something twice; `what` is the thing, for the error.
pub(crate) fn unique<T: Ord + Display>(what: &'static str, names: &[T]) -> Result<(), Invalid> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| !seen.insert(*name)) {
        Some(twice) => Err(Invalid::Twice { what, name: twice.to_string() }),
        None => Ok(()),
    }
}

/// Refuses a list that names the object which it stands in; `what` is what it would be of itself.
pub(crate) fn not_itself<T: PartialEq + Display>(
    what: &'static str,
    names: impl IntoIterator<Item = T>,
    id: T,
) -> Result<(), Invalid> {
    match names.into_iter().find(|name| *name == id) {
        Some(_) => Err(Invalid::OfItself { what, name: id.to_string() }),
        None => Ok(()),
    }
}
