//! Tables of which state may follow which.

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
