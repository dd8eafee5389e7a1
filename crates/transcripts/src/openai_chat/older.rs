//! Calls of the time before ids: `function_call`, answered by a message of the role `function`.
//!
//! Nothing but its place says which call such a result belongs to, and its name says it again. A call and its result are
//! of one form: where one of the two has to be written anew, the other goes along.

use trunkline_message_tree::{Content, Role};

use crate::source::Parsed;

/// The calls that nothing has answered yet, on the way through a list.
#[derive(Debug, Default)]
pub(crate) struct Awaited {
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    id: String,
    name: String,
    older: bool,
}

impl Awaited {
    /// Takes in the next message of the list; a result of the role `function` gets the id of the call that it answers.
    pub(crate) fn follow(&mut self, parsed: &mut Parsed<'_>) {
        let older = parsed.older;
        if parsed.message.role == Role::Assistant {
            let calls = parsed.message.calls();
            self.calls =
                calls.map(|call| Call { id: call.id.clone(), name: call.name.clone(), older }).collect();
        }
        let result = parsed.message.content.iter_mut().find_map(|block| match block {
            Content::ToolResult(result) => Some(result),
            _ => None,
        });
        let Some(result) = result else { return };
        let by_id = || self.calls.iter().position(|call| call.id == result.call_id);
        // Its own word for the call is the name; where that fits none, only one call can be meant.
        let by_name = || self.calls.iter().position(|call| call.name == result.call_id);
        let only = || (self.calls.len() == 1).then_some(0);
        let found = if older { by_name().or_else(only) } else { by_id() };
        let Some(call) = found.map(|at| self.calls.remove(at)) else { return };
        if older {
            // Words of another form, or about another name, are no answer on this wire.
            parsed.exact &= call.older && call.name == result.call_id;
            result.call_id = call.id;
        }
    }
}
