//! Lays messages out the way a wire groups them: its own messages, runs of tool messages, or whole turns.

use trunkline_message_tree::{Content, Message, Role};

use crate::{Place, ResultPlace, WireRules};

/// One message on the wire, one run of tool messages, or all that the assistant says in a row.
pub(super) struct Turn<'a> {
    pub(super) role: Role,
    pub(super) at: Place,
    pub(super) blocks: Vec<(Place, &'a Content)>,
    /// Whether only tool messages are in it so far.
    from_tools: bool,
}

/// Returns the turns after the leading instructions.
pub(super) fn turns<'a>(messages: &'a [Message], rules: &WireRules) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    let leading = messages.iter().take_while(|message| message.role == Role::System).count();
    for (index, message) in messages.iter().enumerate().skip(leading) {
        let at = Place::message(index, message);
        let blocks = message.content.iter().enumerate().map(|(block, content)| (at.block(block), content));
        let from_tools = message.role == Role::Tool;
        let role = match (rules.results, message.role) {
            (ResultPlace::UserMessage, Role::Tool) => Role::User,
            (_, role) => role,
        };
        let goes_on = rules.results == ResultPlace::AfterTurn && role == Role::Assistant;
        match turns.last_mut() {
            Some(turn) if (turn.from_tools || goes_on) && turn.role == role => {
                turn.from_tools = from_tools;
                turn.blocks.extend(blocks);
            }
            _ => turns.push(Turn { role, at, blocks: blocks.collect(), from_tools }),
        }
    }
    turns
}
