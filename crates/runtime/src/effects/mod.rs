//! What is done for a step: a file for each thing that is waited for. None decides anything, and none uses another.

pub(crate) mod apply;
pub(crate) mod ask_model;
pub(crate) mod ask_person;
pub(crate) mod ask_summarizer;
pub(crate) mod calls;
pub(crate) mod discard_hook;
pub(crate) mod restore;
pub(crate) mod standing;
pub(crate) mod summarize;
pub(crate) mod wait;
