#![doc = include_str!("../README.md")]

mod content;
mod cover;
mod draft;
mod head_move;
mod landing;
mod line;
mod link;
mod message;
mod message_list;
mod names;
mod node;
mod node_id;
pub mod notation;
mod outcome;
mod reflog;
mod tool;
mod tree;
mod tree_error;
mod trunk;

pub use content::{Content, Media, MediaSource, Part, ToolCall, ToolResult};
pub use draft::Draft;
pub use head_move::{HeadMove, MoveId, MoveKind};
pub use landing::LandingError;
pub use link::{Link, MOST_MERGED};
pub use message::{Author, Message, Origin, Role, StopReason, Timestamp, Usage};
pub use message_list::{MessageList, Messages};
pub use names::{Name, NameError, NameKind, Names, Naming};
pub use node::{BareNode, Node};
pub use node_id::{NodeId, ParseNodeIdError};
pub use outcome::CallOutcome;
pub use reflog::{Reflog, ReflogEntry};
pub use tool::{ToolChoice, ToolSpec, tool_label};
pub use tree::{Entry, MessageTree};
pub use tree_error::TreeError;
pub use trunk::{Covered, Trunk, TrunkItem};
