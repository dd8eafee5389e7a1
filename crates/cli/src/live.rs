//! What goes on while a session is written from here: it is driven, told of, and a person is asked.

pub(crate) mod approve;
pub(crate) mod drive;
pub(crate) mod ended;
pub(crate) mod interrupt;
pub(crate) mod moving;
pub(crate) mod progress;
pub(crate) mod rollback;
pub(crate) mod summaries;
pub(crate) mod unbound;
