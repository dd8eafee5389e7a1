//! Results that come after their call was answered.

use trunkline_message_tree::NodeId;

/// What became of a result that somebody brought.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Late {
    /// It is the call's result: the call was still open.
    Recorded,
    /// The call had its result, so it is quoted in a message of the harness where it arrived.
    Quoted {
        /// The message.
        node: NodeId,
    },
    /// The call is not on the trunk, so it was filed under it.
    Filed {
        /// The filed message.
        node: NodeId,
    },
    /// Other calls are open, and between them and their results is no place: it waits in the session's inbox.
    Waiting,
}
