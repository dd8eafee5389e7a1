//! The terminal and the shell around it: what is written there, how it looks, what went wrong, and what a person agrees to.
//!
//! Data goes to stdout by [`out`], everything else to stderr by [`tell`].

pub(crate) mod confirm;
pub(crate) mod counter;
pub(crate) mod editor;
pub(crate) mod fault;
pub(crate) mod fit;
pub(crate) mod limits;
pub(crate) mod nearest;
pub(crate) mod out;
pub(crate) mod screen;
pub(crate) mod shell;
pub(crate) mod stdin;
pub(crate) mod style;
pub(crate) mod tell;
pub(crate) mod text;
