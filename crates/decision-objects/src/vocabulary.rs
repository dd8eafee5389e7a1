//! Words with a meaning: closed lists, and lists that a [`Label`](crate::Label) may extend.
//!
//! A label never stands where a word of the list could: in JSON it has a key of its own beside `other`, and a word that
//! is written alone is refused if it is one slip of the pen away from the list.

use crate::Invalid;
use crate::invalid::excerpt;
use crate::label::{letters, nearly};

/// Refuses a label that is a word of the list in other dress.
pub(crate) fn beside(words: &[&'static str], label: &str) -> Result<(), Invalid> {
    match words.iter().find(|word| letters(word) == letters(label)) {
        Some(word) => Err(Invalid::ReservedLabel { text: excerpt(label), word }),
        None => Ok(()),
    }
}

/// Refuses a text that was probably meant to be a word of the list.
pub(crate) fn no_slip(words: &[&'static str], text: &str) -> Result<(), Invalid> {
    match words.iter().find(|word| nearly(word, text)) {
        Some(word) => Err(Invalid::ReservedLabel { text: excerpt(text), word }),
        None => Ok(()),
    }
}

/// Makes an enum of words that cannot be extended: `as_str`, `Display`, `FromStr`, `TryFrom` of texts.
macro_rules! closed_vocabulary {
    (
        $(#[$about:meta])*
        $name:ident, $expected:literal, $reason:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(clippy::exhaustive_enums, reason = $reason)]
        pub enum $name { $($(#[$doc])* $variant,)+ }

        impl $name {
            /// All of them, in the order of this page.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The words of the list, for an error.
            pub(crate) const EXPECTED: &'static str = $expected;

            /// The word for it, as it is written in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }

            /// `None` for every word but those of the list, in exactly this spelling.
            pub(crate) fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }

            #[allow(dead_code, reason = "not every word is read from JSON by itself")]
            pub(crate) fn read(raw: $crate::json::Raw<'_>) -> Result<Self, $crate::ParseError> {
                $crate::json::read::word(raw, Self::EXPECTED, Self::of_word)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            /// Takes the word in exactly its spelling; anything else is [`Invalid::Word`](crate::Invalid::Word).
            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                let word = || $crate::Invalid::Word {
                    text: $crate::invalid::excerpt(text),
                    expected: Self::EXPECTED,
                };
                Self::of_word(text).ok_or_else(word)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: &str) -> Result<Self, $crate::Invalid> {
                text.parse()
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: String) -> Result<Self, $crate::Invalid> {
                text.parse()
            }
        }
    };
}
pub(crate) use closed_vocabulary;

/// Makes an enum of words with an `Other(Label)` at its end.
macro_rules! open_vocabulary {
    (
        $(#[$about:meta])*
        $name:ident, $expected:literal { $($(#[$doc:meta])* $variant:ident = $word:literal,)+ }
        $(#[$other:meta])* Other
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(
            clippy::exhaustive_enums,
            reason = "`Other` takes what comes later; a reader shows each word in its own way"
        )]
        pub enum $name { $($(#[$doc])* $variant,)+ $(#[$other])* Other($crate::Label) }

        impl $name {
            const WORDS: &'static [&'static str] = &[$($word),+];

            /// The word for it; for `Other` the label.
            #[must_use]
            pub fn as_str(&self) -> &str {
                match self { $(Self::$variant => $word,)+ Self::Other(label) => label.as_str() }
            }

            /// `None` for every word but those of the list, in exactly this spelling.
            pub(crate) fn of_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }

            /// Refuses a label that reads like a word of the list.
            pub(crate) fn checked(&self) -> Result<(), $crate::Invalid> {
                match self {
                    Self::Other(label) => $crate::vocabulary::beside(Self::WORDS, label.as_str()),
                    _ => Ok(()),
                }
            }

            /// Writes the word, and beside `other` the label under a key of its own.
            pub(crate) fn print(
                &self,
                object: $crate::json::Object,
                key: &'static str,
                label_key: &'static str,
            ) -> $crate::json::Object {
                match self {
                    Self::Other(label) => object.text(key, "other").text(label_key, label.as_str()),
                    known => object.text(key, known.as_str()),
                }
            }

            /// Reads the word, and its label where it is `other`.
            #[allow(dead_code, reason = "some words may not be left out")]
            pub(crate) fn optional(
                fields: &mut $crate::json::Fields<'_>,
                key: &'static str,
                label_key: &'static str,
            ) -> Result<Option<Self>, $crate::ParseError> {
                match fields.optional(key, Self::known)? {
                    Some(known) => Self::or_labelled(known, fields, label_key).map(Some),
                    None => Ok(None),
                }
            }

            #[allow(dead_code, reason = "some words may be left out")]
            pub(crate) fn required(
                fields: &mut $crate::json::Fields<'_>,
                key: &'static str,
                label_key: &'static str,
            ) -> Result<Self, $crate::ParseError> {
                let known = fields.required(key, Self::known)?;
                Self::or_labelled(known, fields, label_key)
            }

            /// A word of the list, or `None` for `other`.
            fn known(raw: $crate::json::Raw<'_>) -> Result<Option<Self>, $crate::ParseError> {
                $crate::json::read::word(raw, $expected, |word| match word {
                    "other" => Some(None),
                    word => Self::of_word(word).map(Some),
                })
            }

            fn or_labelled(
                known: Option<Self>,
                fields: &mut $crate::json::Fields<'_>,
                label_key: &'static str,
            ) -> Result<Self, $crate::ParseError> {
                let label = |raw: $crate::json::Raw<'_>| {
                    let other = Self::Other($crate::json::read::canonical(raw)?);
                    other.checked()?;
                    Ok(other)
                };
                known.map_or_else(|| fields.required(label_key, label), Ok)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            /// Takes a word of the list, or a label that nobody could take for one.
            ///
            /// [`Invalid::ReservedLabel`](crate::Invalid::ReservedLabel) for a word that is misspelt by one letter; who
            /// means such a label writes `Other` themselves.
            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                if let Some(known) = Self::of_word(text) {
                    return Ok(known);
                }
                $crate::vocabulary::no_slip(Self::WORDS, text)?;
                Ok(Self::Other($crate::Label::new(text)?))
            }
        }

        impl TryFrom<&str> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: &str) -> Result<Self, $crate::Invalid> {
                text.parse()
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::Invalid;

            fn try_from(text: String) -> Result<Self, $crate::Invalid> {
                text.parse()
            }
        }
    };
}
pub(crate) use open_vocabulary;
