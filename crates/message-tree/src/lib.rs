#![doc = include_str!("../README.md")]

mod content;
mod draft;
mod head_move;
mod message;
mod node_id;
pub mod notation;
mod outcome;
mod tool;
mod tree;

pub use content::{Content, Media, MediaSource, Part, ToolCall, ToolResult};
pub use draft::Draft;
pub use head_move::{HeadMove, MoveId, MoveKind};
pub use message::{Author, Message, Origin, Role, StopReason, Timestamp, Usage};
pub use node_id::{NodeId, ParseNodeIdError};
pub use outcome::CallOutcome;
pub use tool::{ToolChoice, ToolSpec};
pub use tree::{Entry, MessageTree, Node, TreeError, Trunk};
