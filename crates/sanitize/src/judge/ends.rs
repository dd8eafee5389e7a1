//! Judges the order of turns, the head, the tail, and the tool loop that runs at the tail.

use trunkline_message_tree::{Content, Message, Role, StopReason};

use super::Case;
use super::layout::Turn;
use crate::{Alternate, Head, Place, SystemPlace, Tail, Thinking, ViolationKind};

/// Judges what the list is as a whole.
pub(super) fn judge(case: &mut Case<'_>, messages: &[Message], turns: &[Turn<'_>]) {
    instructions(case, messages);
    order(case, turns);
    head(case, messages, turns);
    tail(case, messages, turns);
    thinking(case, messages, turns);
}

fn instructions(case: &mut Case<'_>, messages: &[Message]) {
    if case.rules.system != SystemPlace::One {
        return;
    }
    let leading = messages.iter().enumerate().take_while(|(_, message)| message.role == Role::System);
    let spoken = leading.filter(|(_, message)| !message.text().trim().is_empty());
    for (index, message) in spoken.skip(1) {
        case.find(Place::message(index, message), ViolationKind::SecondSystem);
    }
}

fn order(case: &mut Case<'_>, turns: &[Turn<'_>]) {
    for turn in turns {
        if turn.role == Role::System && case.rules.system != SystemPlace::Anywhere {
            case.find(turn.at, ViolationKind::SystemNotLeading);
        }
    }
    for pair in turns.windows(2) {
        if let [earlier, later] = pair
            && earlier.role == later.role
            && match case.rules.alternate {
                Alternate::Free => false,
                Alternate::NoCalls => {
                    later.role == Role::Assistant
                        && later.blocks.iter().any(|(_, block)| block.as_call().is_some())
                }
                Alternate::Strict => matches!(later.role, Role::User | Role::Assistant),
            }
        {
            case.find(later.at, ViolationKind::SameRole);
        }
    }
}

fn head(case: &mut Case<'_>, messages: &[Message], turns: &[Turn<'_>]) {
    match turns.first() {
        Some(first) if first.role == Role::Assistant && case.rules.head == Head::User => {
            case.find(first.at, ViolationKind::HeadNotUser);
        }
        Some(_) => {}
        None => {
            let must_be_user = case.rules.head == Head::User || case.rules.tail == Tail::User;
            // Instructions that say nothing are not sent.
            let silent = messages.iter().all(|message| message.text().trim().is_empty());
            if silent || must_be_user {
                case.find(Place::end(messages.len()), ViolationKind::NoMessages);
            }
        }
    }
}

fn tail(case: &mut Case<'_>, messages: &[Message], turns: &[Turn<'_>]) {
    // Instructions at the end are nobody's turn: who spoke before them spoke last.
    let spoken = turns.iter().rfind(|turn| turn.role != Role::System);
    if let Some(last) = spoken.filter(|turn| turn.role == Role::Assistant)
        && case.rules.tail == Tail::User
    {
        let last_message = last.blocks.last().map_or(last.at.message, |(at, _)| at.message);
        let paused = messages.get(last_message).is_some_and(|one| one.stop == Some(StopReason::Pause));
        if !paused {
            case.find(last.at, ViolationKind::TailAssistant);
        }
    }
    let Some(turn) = turns.last().filter(|turn| turn.role == Role::Assistant) else { return };
    if let Some((at, Content::Text { text })) = turn.blocks.last()
        && case.rules.final_white_space_refused
        && (text.is_empty() || text.trim_end() != text)
    {
        case.find(*at, ViolationKind::FinalWhiteSpace);
    }
    let thinks = turn.blocks.iter().find(|(_, block)| is_thinking(block));
    if let Some((at, _)) = thinks
        && case.rules.final_thinking_needs_thinking
        && case.facts.thinking == Thinking::Off
    {
        case.find(*at, ViolationKind::FinalThinking);
    }
}

fn thinking(case: &mut Case<'_>, messages: &[Message], turns: &[Turn<'_>]) {
    let thinks = case.facts.thinking == Thinking::On;
    if thinks && case.facts.choice_forced && case.rules.forced_choice_stops_thinking {
        case.find(Place::end(messages.len()), ViolationKind::ForcedWhileThinking);
    }
    if case.facts.thinking != Thinking::On || !case.rules.thinking_leads_tool_loop {
        return;
    }
    // The loop: answers of the assistant and nothing but results since the user's last words. An answer in the last place
    // is one that the model goes on with.
    let only_results = |turn: &Turn<'_>| turn.blocks.iter().all(|(_, block)| block.as_result().is_some());
    let is_words = |turn: &Turn<'_>| turn.role == Role::User && !only_results(turn);
    let start = turns.iter().rposition(is_words).map_or(0, |words| words + 1);
    let Some(running) = turns.get(start..) else { return };
    let first = running.iter().find(|turn| turn.role == Role::Assistant);
    let paused = |last: &Message| last.role == Role::Assistant && last.stop == Some(StopReason::Pause);
    if let Some(first) = first
        && !messages.last().is_some_and(paused)
        && !first.blocks.first().is_some_and(|(_, block)| is_thinking(block))
    {
        case.find(first.at, ViolationKind::LoopWithoutThinking);
    }
}

fn is_thinking(block: &Content) -> bool {
    matches!(block, Content::Thinking { .. } | Content::RedactedThinking { .. })
}
