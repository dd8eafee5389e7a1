//! What a command works with: the place and its store, the agent and its model, the rules, the letters to a writer.
//!
//! Nothing here is a verb that people type.

pub(crate) mod again;
pub(crate) mod asked;
pub(crate) mod cassette;
pub(crate) mod clock;
pub(crate) mod declared;
pub(crate) mod letters;
pub(crate) mod model;
pub(crate) mod no_model;
pub(crate) mod person;
pub(crate) mod place;
pub(crate) mod playback;
pub(crate) mod policy;
pub(crate) mod removal;
pub(crate) mod repository;
pub(crate) mod services;
pub(crate) mod settings;
pub(crate) mod setup;
pub(crate) mod sound;
pub(crate) mod standing;
pub(crate) mod store;
pub(crate) mod summaries;
pub(crate) mod task;
