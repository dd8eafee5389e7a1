//! A request to revert whose arguments could not be read.
//!
//! It names no node and no category that could stand in a [`Record`](crate::Record), so it has a record of its own: what the
//! model tried is in the log either way.

use serde::{Deserialize, Serialize};

use crate::CallPlace;
use crate::one_line::one_line;

/// The most characters that are kept of the arguments: enough to see what was meant, whatever the model wrote.
const MAX_ARGUMENTS_CHARS: usize = 300;
/// The most characters that are kept of the fault.
const MAX_FAULT_CHARS: usize = 500;

/// A request to revert that came to nothing because its arguments could not be read, for the log and for observers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UnreadRequest {
    /// The call that asked.
    pub call: CallPlace,
    /// What is wrong, as the model was told, on one line.
    pub fault: String,
    /// The arguments as the model wrote them, on one line of at most 300 characters; the whole of them stands in the call.
    pub arguments: String,
}

impl UnreadRequest {
    /// Returns the record of a call that could not be read, with what is wrong and what the model wrote.
    pub fn new(call: CallPlace, fault: &str, arguments: &str) -> Self {
        UnreadRequest {
            call,
            fault: one_line(fault, MAX_FAULT_CHARS),
            arguments: one_line(arguments, MAX_ARGUMENTS_CHARS),
        }
    }
}
