//! The order of events as it is documented on `Event`, and an account of what they say that is not the fold's own.

use trunkline_message_tree::{Content, Message, Origin, StopReason, ToolCall};

use super::{Promise, Report};
use crate::error::one_line;
use crate::{Event, Fold};

/// Checks everything about the events of one reply that can be seen from them alone. `complete` says that it ended well.
pub(super) fn check(report: &mut Report, at: &str, events: &[Event], complete: bool) {
    report.check(Promise::Order, order(events, complete).err().map(|fault| format!("{at}: {fault}")));
    let (spelled, folded) = (blocks(events), fold(events).content);
    let differs =
        (spelled != folded).then(|| format!("{at}: {} instead of {}", show(&folded), show(&spelled)));
    report.check(Promise::Fold, differs);
    let faults = [(Promise::Usage, usage(events).err()), (Promise::Stop, stop(events).err())];
    for (promise, fault) in faults {
        report.check(promise, fault.map(|fault| format!("{at}: {fault}")));
    }
}

/// Folds events; who wrote them does not matter here.
pub(super) fn fold(events: &[Event]) -> Message {
    let mut fold = Fold::new(Origin::new("kit", "kit"));
    events.iter().for_each(|event| fold.push(event));
    fold.finish()
}

/// Prints something for a finding, on one line.
pub(super) fn show(value: &impl std::fmt::Debug) -> String {
    one_line(&format!("{value:?}"), 300)
}

/// Says where the events of a reply leave the documented order.
fn order(events: &[Event], complete: bool) -> Result<(), String> {
    #[derive(PartialEq)]
    enum Open {
        Nothing,
        Text,
        /// Whether it is signed.
        Reasoning(bool),
    }
    let (mut open, mut started, mut stopped, mut attempts) = (Open::Nothing, false, false, 0);
    // Each call, with whether it is done.
    let mut calls: Vec<bool> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let fits = match event {
            Event::Retrying { attempt, .. } => {
                attempts += 1;
                // Who was allowed to begin again, begins anew; attempts are counted on.
                (open, started) = (Open::Nothing, false);
                calls.clear();
                !stopped && *attempt == attempts
            }
            Event::Started { .. } => !std::mem::replace(&mut started, true),
            Event::Unread { .. } => !stopped,
            _ if !started || stopped => false,
            Event::TextDelta(text) => {
                let fits = matches!(open, Open::Nothing | Open::Text) && !text.is_empty();
                open = Open::Text;
                fits
            }
            Event::ThinkingDelta(text) => {
                let fits = matches!(open, Open::Nothing | Open::Reasoning(false)) && !text.is_empty();
                open = Open::Reasoning(false);
                fits
            }
            Event::Signature(_) => {
                let fits = matches!(open, Open::Nothing | Open::Reasoning(false));
                open = Open::Reasoning(true);
                fits
            }
            Event::BlockDone => std::mem::replace(&mut open, Open::Nothing) != Open::Nothing,
            Event::CallStarted { index, .. } => {
                calls.push(false);
                open == Open::Nothing && *index + 1 == calls.len()
            }
            Event::ArgumentsDelta { index, text } => calls.get(*index) == Some(&false) && !text.is_empty(),
            Event::CallName { index, name } => calls.get(*index) == Some(&false) && !name.is_empty(),
            Event::CallSignature { index, signature } => {
                calls.get(*index) == Some(&false) && !signature.is_empty()
            }
            Event::CallDone { index } => {
                calls.get_mut(*index).is_some_and(|done| !std::mem::replace(done, true))
            }
            Event::Block(_) => open == Open::Nothing,
            Event::Replace { blocks: replaced, .. } => {
                let before = blocks(events.get(..at).unwrap_or_default());
                // Only reasoning that was shown and is not proven yet can turn out to be something else.
                before.get(replaced.clone()).is_some_and(|replaced| {
                    replaced.iter().all(|block| matches!(block, Content::Thinking { signature: None, .. }))
                })
            }
            Event::Stopped(_) => {
                stopped = true;
                open == Open::Nothing && calls.iter().all(|done| *done)
            }
            Event::Usage(_) | Event::Wants(_) | Event::Ping => true,
            Event::Remark(words) => !words.is_empty(),
        };
        if !fits {
            return Err(format!("{} cannot be event {at} of {}", show(event), events.len()));
        }
    }
    if complete && !stopped {
        return Err(format!("complete without a reason to stop, after {} events", events.len()));
    }
    Ok(())
}

/// Returns the events of the last attempt; those before are void.
fn last_attempt(events: &[Event]) -> &[Event] {
    let retried = events.iter().rposition(|event| matches!(event, Event::Retrying { .. }));
    events.get(retried.map_or(0, |at| at + 1)..).unwrap_or_default()
}

/// Returns the blocks that the events spell.
fn blocks(events: &[Event]) -> Vec<Content> {
    // Each block with its number among the calls, if it is one.
    let mut blocks: Vec<(Option<usize>, Content)> = Vec::new();
    let mut open = false;
    for event in last_attempt(events) {
        match event {
            Event::TextDelta(more) => match blocks.last_mut() {
                Some((_, Content::Text { text })) if open => text.push_str(more),
                _ => blocks.push((None, Content::text(more))),
            },
            Event::ThinkingDelta(more) => match blocks.last_mut() {
                Some((_, Content::Thinking { text, signature: None })) if open => text.push_str(more),
                _ => blocks.push((None, Content::Thinking { text: more.clone(), signature: None })),
            },
            Event::Signature(whole) => match blocks.last_mut() {
                Some((_, Content::Thinking { signature, .. })) if open => *signature = Some(whole.clone()),
                _ => blocks
                    .push((None, Content::Thinking { text: String::new(), signature: Some(whole.clone()) })),
            },
            Event::CallStarted { index, id, name } => {
                let (id, name) = (id.clone(), name.clone());
                let call = ToolCall { id, name, arguments: String::new(), signature: None };
                blocks.push((Some(*index), Content::ToolCall(call)));
            }
            Event::ArgumentsDelta { index, text } => {
                let call = blocks.iter_mut().find(|(number, _)| *number == Some(*index));
                if let Some((_, Content::ToolCall(call))) = call {
                    call.arguments.push_str(text);
                }
            }
            Event::CallName { index, name } => {
                let call = blocks.iter_mut().find(|(number, _)| *number == Some(*index));
                if let Some((_, Content::ToolCall(call))) = call {
                    call.name.clone_from(name);
                }
            }
            Event::CallSignature { index, signature } => {
                let call = blocks.iter_mut().find(|(number, _)| *number == Some(*index));
                if let Some((_, Content::ToolCall(call))) = call {
                    call.signature = Some(signature.clone());
                }
            }
            Event::Block(block) => blocks.push((None, block.clone())),
            Event::Replace { blocks: replaced, with } if blocks.get(replaced.clone()).is_some() => {
                blocks.splice(replaced.clone(), [(None, with.clone())]);
            }
            _ => {}
        }
        open = match event {
            Event::TextDelta(_) | Event::ThinkingDelta(_) | Event::Signature(_) => true,
            // The others end a block or stand beside it.
            Event::ArgumentsDelta { .. } | Event::CallName { .. } => open,
            Event::CallSignature { .. } | Event::CallDone { .. } => open,
            Event::Usage(_) | Event::Wants(_) | Event::Ping | Event::Unread { .. } | Event::Remark(_) => open,
            _ => false,
        };
    }
    blocks.into_iter().map(|(_, block)| block).collect()
}

fn usage(events: &[Event]) -> Result<(), String> {
    let mut written = 0;
    for event in last_attempt(events) {
        let Event::Usage(usage) = event else { continue };
        let cached = usage.cache_read_tokens.saturating_add(usage.cache_write_tokens);
        if cached > usage.input_tokens || usage.reasoning_tokens > usage.output_tokens {
            return Err(format!("a part is more than the whole in {}", show(usage)));
        }
        if usage.output_tokens < written {
            return Err(format!("{written} tokens were written and then {}", usage.output_tokens));
        }
        written = usage.output_tokens;
    }
    Ok(())
}

fn stop(events: &[Event]) -> Result<(), String> {
    let events = last_attempt(events);
    let calls = events.iter().any(|event| matches!(event, Event::CallStarted { .. }));
    let stop = events.iter().find_map(|event| match event {
        Event::Stopped(stop) => Some(stop),
        _ => None,
    });
    match stop {
        Some(StopReason::EndTurn) if calls => {
            Err("the model asked for tools and is said to be done".to_owned())
        }
        Some(StopReason::ToolUse) if !calls => {
            Err("the model is said to wait for tools and called none".to_owned())
        }
        Some(StopReason::Cut | StopReason::Cancelled) => {
            Err(format!("{} is for the one who asked to say", show(&stop)))
        }
        _ => Ok(()),
    }
}
