//! Holds every wire against a folder of recorded exchanges.
//!
//! Each recorded answer is decoded at once and under random splits, and folded. Each recorded request is read into our
//! words, written by our wire, and compared by meaning with what was recorded. What is not understood is listed.

pub mod answers;
pub mod chance;
pub mod compare;
pub mod decode;
mod known;
pub mod report;
pub mod rules;
pub mod run;

pub use report::Report;
pub use run::run;
