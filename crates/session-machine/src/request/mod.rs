//! From the tree to a request: what is rendered, what of it may be sent, and behind what the answer is written.

pub mod live;
pub mod prefixes;
pub mod prompt;
pub mod rendering;
