//! Conversations as text, for tests and for people.
//!
//! Parsing ignores white space at the head of a line, so an indented string in a test reads as it stands.
//! Printing and parsing are inverse for everything but usage and time, which the text does not carry.
//!
//! ```
//! use trunkline_message_tree::notation;
//!
//! let tree = notation::parse_tree(
//!     r#"
//!     n0 system: be brief
//!     n1 user: what does a.rs say?
//!     n2 assistant: let me look
//!        + call c1 read_file {"path":"a.rs"}
//!     n3 result c1: 42
//!     n4 < n1 assistant: I would rather guess
//!     "#,
//! )?;
//! assert_eq!(tree.trunk().ids().len(), 3, "n2 and n3 were left, not lost");
//! assert_eq!(tree.len(), 5);
//! # Ok::<(), notation::NotationError>(())
//! ```
//!
//! | line | meaning |
//! |---|---|
//! | `system: …` `user: …` `harness: …` `assistant: …` `tool:` | a message; text after the colon is its first block |
//! | `result ID: …` `result ID!: …` | a tool message with one result; `!` marks a failure |
//! | `+ text: …` `+ thinking: …` `+ thinking SIG: …` `+ redacted: …` | a further block of the message above |
//! | `+ call ID NAME ARGS` `+ result ID: …` | likewise |
//! | `+ image TYPE base64 DATA` `+ document TYPE url URL` | likewise |
//! | `+ server-call ID JSON` `+ server-result ID JSON` `+ opaque WIRE JSON` | likewise |
//! | `+ origin PROVIDER MODEL [ADDRESS]` `+ stop REASON` `+ author WHO` | an attribute of the message above |
//! | `++ text: …` `++ image …` `++ signature SIG` | a further part of the result, the signature of the call above |
//! | `n3 …` | in a tree: the message continues the head |
//! | `n3 < n1 …` `n3 * n1 …` | the head first moves to n1; or the message is only filed under n1 |
//! | `n9 & n4,n7 …` `n9 # n3..n8 …` | the message continues the head and merges n4 and n7; or it stands for n3 to n8 |
//! | `head n2` `head n2 by model` `undo` `redo` | the head moves |
//! | `head n2 as fork` `… as import` `… as merge` | likewise |
//!
//! In text `\n`, `\r`, `\t`, `\\` are escapes and `\s` is a space at either end. Words that are empty or hold other
//! than letters, digits and `_.|/-` are written as JSON strings.

mod parse;
mod print;

pub use parse::{NotationError, parse, parse_tree};
pub use print::{print, print_tree};
