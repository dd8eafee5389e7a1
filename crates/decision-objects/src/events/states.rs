//! States as words, and tables of which may follow which.

/// Declares words that stand for themselves: an enum, its spelling, and how it is read back.
macro_rules! words {
    (
        $(#[$doc:meta])* $name:ident, $expected:literal, reason = $reason:literal,
        $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)+
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(clippy::exhaustive_enums, reason = $reason)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $name {
            /// All of them, in their order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];
            pub(crate) const EXPECTED: &'static str = $expected;

            /// The word for it, as it is written in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }

            /// `None` for every other word, and for every other spelling.
            pub(crate) fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> Result<Self, $crate::Invalid> {
                let refused = || $crate::Invalid::Word {
                    text: $crate::invalid::excerpt(text),
                    expected: Self::EXPECTED,
                };
                Self::of_word(text).ok_or_else(refused)
            }
        }
    };
}
pub(crate) use words;

/// Gives states their table: what may come first, and what may follow each.
macro_rules! moves {
    ($name:ident, first [$($first:ident),+], $($from:ident -> [$($to:ident),*],)+) => {
        impl $name {
            /// What may come first (after `None`), and what may follow each state; nothing follows a terminal one.
            pub const MOVES: &'static [(Option<Self>, &'static [Self])] = &[
                (None, &[$(Self::$first),+]),
                $((Some(Self::$from), &[$(Self::$to),*]),)+
            ];

            /// Whether an event into this state may follow an event into `before`, or come first.
            #[must_use]
            pub fn may_follow(self, before: Option<Self>) -> bool {
                Self::MOVES.iter().any(|(from, to)| *from == before && to.contains(&self))
            }

            /// Whether nothing may follow.
            #[must_use]
            pub fn is_terminal(self) -> bool {
                Self::MOVES.iter().all(|(from, to)| *from != Some(self) || to.is_empty())
            }
        }
    };
}
pub(crate) use moves;

/// Gives a sealed event its canonical form and what every event answers.
macro_rules! sealed {
    ($name:ident, $id:ident, $content:ident) => {
        $crate::json::canonical_form!($name);

        impl $name {
            /// Its name.
            #[must_use]
            pub const fn id(&self) -> $id {
                self.header.id
            }

            /// Its name, when it came to be, and who made it.
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
    };
}
pub(crate) use sealed;
