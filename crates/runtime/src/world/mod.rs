//! The calls into what others implement, contained: tools, models, handlers.

pub(crate) mod ask_beside;
pub(crate) mod contained;
pub(crate) mod model_summarizer;
pub(crate) mod schema;
pub(crate) mod spans;
