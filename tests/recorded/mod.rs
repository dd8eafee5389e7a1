//! Recorded exchanges with model services: read from their files, and read into our words.
//!
//! The recordings are no part of this repository; they are read at run time.

mod anthropic;
mod bedrock;
mod exchange;
mod fields;
mod gemini;
mod history;
mod ollama;
mod openai_chat;
mod openai_responses;
mod packing;
mod protocol;
mod wires;

pub use exchange::{Exchange, Recordings, read_folder, read_text};
pub use gemini::{camel, lower_types};
pub use history::{History, Read, Reading};
pub use protocol::Protocol;
pub use wires::{asked_in_path, read, wire};
