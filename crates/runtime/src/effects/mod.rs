//! What is done for a step: asks a model, a tool, a person or git, and hands what they say to the act that decides.

pub(crate) mod apply;
pub(crate) mod ask_model;
pub(crate) mod ask_person;
pub(crate) mod bind;
pub(crate) mod calls;
pub(crate) mod close;
pub(crate) mod compact;
pub(crate) mod look;
pub(crate) mod recover;
pub(crate) mod resolve;
pub(crate) mod restore;
pub(crate) mod roll_back;
pub(crate) mod service;
pub(crate) mod summarize;
pub(crate) mod wait;
