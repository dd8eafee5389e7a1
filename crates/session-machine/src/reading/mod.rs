//! For who only looks at a session, or keeps a snapshot of it: none of this is needed to go on.

pub mod across;
pub mod decided;
pub mod family;
pub mod spine;
pub mod taken_in;
pub mod trimming;
pub mod unanswered;
