//! A session as its log tells it, with the names that people gave.

pub(crate) mod marks;
pub(crate) mod names;
pub(crate) mod purpose;
pub(crate) mod session;
