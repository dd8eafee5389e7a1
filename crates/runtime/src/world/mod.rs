//! What others implement, with the calls into it contained: tools, files, people, summaries; and the signal that ends them.

pub(crate) mod ask_beside;
pub(crate) mod cancel;
pub(crate) mod compactor;
pub(crate) mod contained;
pub(crate) mod decider;
pub(crate) mod model_summarizer;
pub(crate) mod pending;
pub(crate) mod permit;
pub(crate) mod schema;
pub(crate) mod spans;
pub(crate) mod standing;
pub(crate) mod summarizer;
pub(crate) mod tool;
#[cfg(feature = "typed")]
pub(crate) mod typed;
pub(crate) mod workspace;
