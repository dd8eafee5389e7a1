#![doc = include_str!("../README.md")]

mod anthropic;
mod beside;
mod claude_code;
mod conversation;
mod convert;
mod fault;
mod format;
mod json;
mod list;
mod mend;
mod openai_chat;
mod salvage;
mod sniff;
mod source;
mod time;
mod transcript;

pub use beside::{FieldHolder, MessageField};
pub use conversation::{Conversation, Heading, Kind, LeftOut, Listed, Loss, Written};
pub use convert::OtherFields;
pub use fault::{Fault, FaultKind};
pub use format::{Format, ParseFormatError};
pub use sniff::{sniff, sniff_only};
pub use transcript::{ReadError, Transcript, WriteError, export, read, read_as};
