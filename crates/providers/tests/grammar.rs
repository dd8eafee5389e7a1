//! The order of events, as it is promised on `Event`, on every wire and for every input.

use proptest::prelude::*;
use serde_json::{Value, json};
use trunkline_message_tree::{Content, Message};
use trunkline_providers::{DecodeError, Event, OpenAiResponses};

use crate::replies::{decode, fold};

/// Says where the events of a reply break the promise.
pub(crate) fn check(events: &[Event], outcome: &Result<(), DecodeError>) -> Result<(), String> {
    #[derive(PartialEq)]
    enum Open {
        Nothing,
        Text,
        Reasoning,
    }
    let (mut open, mut started, mut stopped) = (Open::Nothing, false, false);
    // Each call, with whether it is done.
    let mut calls: Vec<bool> = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let fits = match event {
            Event::Started { .. } => !std::mem::replace(&mut started, true),
            Event::Unread { .. } => !stopped,
            _ if !started || stopped => false,
            Event::TextDelta(text) => {
                let fits = open != Open::Reasoning && !text.is_empty();
                open = Open::Text;
                fits
            }
            Event::ThinkingDelta(text) => {
                let fits = open != Open::Text && !text.is_empty();
                open = Open::Reasoning;
                fits
            }
            Event::Signature(_) => {
                let fits = open != Open::Text;
                open = Open::Reasoning;
                fits
            }
            Event::BlockDone => std::mem::replace(&mut open, Open::Nothing) != Open::Nothing,
            Event::CallStarted { index, .. } => {
                calls.push(false);
                open == Open::Nothing && *index + 1 == calls.len()
            }
            Event::ArgumentsDelta { index, text } => calls.get(*index) == Some(&false) && !text.is_empty(),
            Event::CallName { index, name } => calls.get(*index) == Some(&false) && !name.is_empty(),
            Event::CallSignature { index, .. } => calls.get(*index) == Some(&false),
            Event::CallDone { index } => {
                calls.get_mut(*index).is_some_and(|done| !std::mem::replace(done, true))
            }
            Event::Block(_) => open == Open::Nothing,
            Event::Replace { blocks, .. } => {
                let before = fold("p", &events[..at]).finish();
                let replaced = before.content.get(blocks.clone());
                replaced.is_some_and(|blocks| {
                    blocks.iter().all(|block| matches!(block, Content::Thinking { signature: None, .. }))
                })
            }
            Event::Stopped(_) => {
                stopped = true;
                open == Open::Nothing && calls.iter().all(|done| *done)
            }
            _ => true,
        };
        if !fits {
            return Err(format!("{event:?} cannot be event {at} of {events:#?}"));
        }
    }
    if outcome.is_ok() && !stopped {
        return Err(format!("complete without a reason: {events:#?}"));
    }
    Ok(())
}

/// An event of a Responses stream; its item is one of three, of any kind.
fn item_event() -> impl Strategy<Value = Value> {
    let kind = prop::sample::select(vec!["message", "reasoning", "function_call", "web_search_call"]);
    (0_usize..7, 0_u64..3, kind, any::<bool>(), 0_u64..2).prop_map(|(event, index, kind, numbered, part)| {
        let item = json!({
            "type": kind, "id": format!("i{index}"), "call_id": format!("c{index}"), "name": "f",
            "arguments": "{}", "summary": [{"text": "hm"}], "content": [{"type": "output_text", "text": "ab"}],
        });
        let mut event = match event {
            0 => json!({"type": "response.output_item.added", "item": item}),
            1 => json!({"type": "response.output_item.done", "item": item}),
            2 => json!({"type": "response.output_text.delta", "content_index": part, "delta": "a"}),
            3 => json!({"type": "response.reasoning_summary_text.delta", "summary_index": part, "delta": "h"}),
            4 => json!({"type": "response.function_call_arguments.delta", "delta": "{"}),
            5 => json!({"type": "response.refusal.delta", "delta": "b"}),
            _ => json!({"type": "response.in_progress", "response": {}}),
        };
        event["item_id"] = json!(format!("i{index}"));
        if numbered {
            event["output_index"] = json!(index);
        }
        event
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn items_in_any_order_keep_the_order_of_events(
        items in prop::collection::vec(item_event(), 0..14),
        output in prop::collection::vec(item_event(), 0..3),
    ) {
        let output: Vec<Value> = output.into_iter().filter_map(|event| event.get("item").cloned()).collect();
        let last = json!({"type": "response.completed", "response": {"status": "completed", "output": output}});
        let stream: String = items.iter().chain([&last]).map(|event| format!("data: {event}\n\n")).collect();
        let (events, outcome) = decode(&OpenAiResponses::new(), [stream.as_bytes()]);
        prop_assert_eq!(check(&events, &outcome), Ok(()), "{}", stream);

        // What is carried is carried as it came.
        let message: Message = fold("p", &events).finish();
        for block in &message.content {
            if let Content::Opaque { json, .. } = block {
                prop_assert!(stream.contains(json));
            }
        }
    }

    #[test]
    fn carried_items_stand_before_what_began_after_them(
        kinds in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
        order in prop::collection::vec(any::<prop::sample::Index>(), 6),
        shown in prop::collection::vec(any::<bool>(), 6),
    ) {
        let all = ["reasoning", "message", "function_call", "web_search_call"];
        let kinds: Vec<&str> = kinds.iter().map(|kind| *kind.get(&all)).collect();
        let item = |index: usize, end: bool| json!({
            "type": kinds[index], "id": format!("i{index}"), "call_id": format!("c{index}"), "name": "f",
            "arguments": "", "content": if end { json!([{"type": "output_text", "text": format!("i{index}")}]) } else { json!([]) },
        });
        let mut stream = String::new();
        let mut push = |event: Value| stream.push_str(&format!("data: {event}\n\n"));
        for (index, kind) in kinds.iter().enumerate() {
            push(json!({"type": "response.output_item.added", "output_index": index, "item": item(index, false)}));
            if shown[index] && *kind == "reasoning" {
                push(json!({"type": "response.reasoning_text.delta", "output_index": index, "delta": "hm"}));
            }
        }
        let mut waiting: Vec<usize> = (0..kinds.len()).collect();
        for turn in order {
            if waiting.is_empty() {
                break;
            }
            let index = waiting.remove(turn.index(waiting.len()));
            push(json!({"type": "response.output_item.done", "output_index": index, "item": item(index, true)}));
        }
        push(json!({"type": "response.completed", "response": {}}));

        let (events, outcome) = decode(&OpenAiResponses::new(), [stream.as_bytes()]);
        prop_assert_eq!(check(&events, &outcome), Ok(()));
        let message = fold("p", &events).finish();
        // The number of the item that each block came from, and whether it was carried.
        let numbers: Vec<(usize, bool)> = message.content.iter().filter_map(|block| {
            let (name, carried) = match block {
                Content::Opaque { json, .. } => {
                    let item: Value = serde_json::from_str(json).expect("it was JSON");
                    (item["id"].as_str().expect("an id").to_owned(), true)
                }
                Content::ToolCall(call) => (call.id.clone(), false),
                Content::Text { text } => (text.clone(), false),
                _ => return None,
            };
            Some((name.get(1..)?.parse().ok()?, carried))
        }).collect();
        prop_assert_eq!(numbers.len(), kinds.len(), "{:?}", message.content);
        for (at, (number, _)) in numbers.iter().enumerate() {
            for (later, carried) in &numbers[at + 1..] {
                prop_assert!(!carried || later > number, "{:?}", numbers);
            }
        }
    }
}
