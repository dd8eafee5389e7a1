//! What people and other processes ask of a session: one value for the method, the letter and the command.
//!
//! As a letter an order is consumed in the batch that records its effect, so it takes effect exactly once. One that can have no
//! effect is consumed with a note that says why.

mod letter;
mod order;
mod posting;
mod prompt;

pub use self::letter::distrust;
pub(crate) use self::letter::{CANCEL, CLOSE_RUN, DISTRUST, PROMPT, abandons, closes_run, letter_of, read};
pub use self::order::{MoveAct, Order, StepAnswer};
pub use self::posting::{Settled, post, settled};
pub use self::prompt::Prompt;
pub(crate) use self::prompt::content_of;
