//! Our decision objects beside git-internal's: one binary.

mod grammar;
mod keys;
mod laws;
mod written;
