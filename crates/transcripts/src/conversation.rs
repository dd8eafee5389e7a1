//! What a file holds and what becomes of it, in the words of no format.
//!
//! Every format reads into these and writes from them, so they know none.

use trunkline_message_tree::{Message, NodeId, Timestamp};

/// A conversation by its name, before its messages are made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The session's id, the sub-agent's id, or empty where the format has none.
    pub id: String,
    /// What it is in its file.
    pub kind: Kind,
}

/// One conversation of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Conversation {
    /// The session's id, the sub-agent's id, or empty where the format has none.
    pub id: String,
    /// What it is in its file.
    pub kind: Kind,
    /// The title, if one was given.
    pub title: Option<String>,
    /// The folder that the agent worked in.
    pub cwd: Option<String>,
    /// The model that was asked last, if the file says so.
    pub model: Option<String>,
    /// When the first message was written.
    pub started: Option<Timestamp>,
    /// When the last message was written.
    pub ended: Option<Timestamp>,
    /// The messages that the next request would carry; `node` is the index in this list.
    pub messages: Vec<Message>,
}

/// What a conversation is in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The one that goes on when the session is resumed.
    Main,
    /// A sub-agent's.
    Sidechain {
        /// The call of the main conversation that started it, where the file tells.
        call_id: Option<String>,
    },
    /// What a compaction put a summary in place of.
    Covered,
    /// One that a person left by going back and typing something else, or by asking once more for an answer.
    Branch,
}

/// What a session file needs to be told that its messages do not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// The session's id; Claude Code, Codex, pi and Gemini CLI want a UUID.
    pub id: String,
    /// The title, or an empty text.
    pub title: String,
    /// The folder that the agent works in.
    pub cwd: String,
    /// When the first message was written.
    pub started: Timestamp,
}

/// A file to be, and what found no place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    /// What could not be carried over, in the order of the messages.
    pub losses: Vec<Loss>,
}

/// One thing that a format has no place for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The message's position in the list that was given.
    pub message: usize,
    /// The message's node, where it has one.
    pub node: Option<NodeId>,
    /// What was lost, in words.
    pub what: String,
}

/// How many records of a file are not in one of its conversations as it is written.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Records of what compactions put a summary in place of.
    pub covered: usize,
    /// Records of other conversations: sub-agents, and branches that were left.
    pub elsewhere: usize,
    /// Whatever else there is: hooks, progress, snapshots, repeated records.
    pub of_other_kinds: usize,
}
