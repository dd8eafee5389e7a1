//! Laws of decoding: the pieces do not matter, and no input is fatal.

use proptest::prelude::*;
use trunkline_providers::{Anthropic, Gemini, Ollama, OpenAiChat, OpenAiResponses, Wire};

use crate::grammar;
use crate::replies::decode;

const ANTHROPIC: &str = concat!(
    "\u{feff}event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_A\",\"model\":\"m\",\"content\":[]}}\r\n\r\n",
    ": keep-alive\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\r\r",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"grüße 🦀\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\":1}\"}}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

const CHAT: &str = concat!(
    ": OPENROUTER PROCESSING\n\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning\":\"grüße\"}}]}\r\n\r\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"🦀\\n\"}}]}\r\r",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n",
);

const RESPONSES: &str = concat!(
    "event: response.created\r\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_A\",\"model\":\"m\",\"output\":[]}}\r\n\r\n",
    ": keepalive\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_A\",\"summary\":[]}}\r\r",
    "data: {\"type\":\"response.reasoning_summary_text.delta\",\"output_index\":0,\"item_id\":\"rs_A\",\"summary_index\":0,\"delta\":\"grüße 🦀\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"type\":\"reasoning\",\"id\":\"rs_A\",\"encrypted_content\":\"gAAA\",\"summary\":[{\"type\":\"summary_text\",\"text\":\"grüße 🦀\"}]}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":1,\"item\":{\"type\":\"message\",\"id\":\"msg_A\",\"content\":[]}}\n\n",
    "data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"item_id\":\"msg_A\",\"content_index\":0,\"delta\":\"süß\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"message\",\"id\":\"msg_A\",\"content\":[{\"type\":\"output_text\",\"text\":\"süß!\"}]}}\n\n",
    "data: {\"type\":\"response.output_item.added\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"id\":\"fc_A\",\"call_id\":\"call_A\",\"name\":\"f\",\"arguments\":\"\"}}\n\n",
    "data: {\"type\":\"response.function_call_arguments.delta\",\"output_index\":2,\"item_id\":\"fc_A\",\"delta\":\"{\\\"a\\\":1}\"}\n\n",
    "data: {\"type\":\"response.output_item.done\",\"output_index\":2,\"item\":{\"type\":\"function_call\",\"id\":\"fc_A\",\"call_id\":\"call_A\",\"name\":\"f\",\"arguments\":\"{\\\"a\\\":1}\"}}\n\n",
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_A\",\"status\":\"completed\",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n\n",
);

const OLLAMA: &str = concat!(
    "\u{feff}{\"model\":\"m\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"thinking\":\"grüße { \\\" \"},\"done\":false}\r\n",
    "{\"model\":\"m\",\"message\":{\"content\":\"🦀\\n\"},\"done\":false}\n\n",
    "{\"model\":\"m\",\"message\":{\"content\":\"\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{\"a\":1}}}]},\"done\":false}\n",
    "{\"model\":\"m\",\"message\":{\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"eval_count\":2}",
);

const GEMINI: &str = concat!(
    "\u{feff}data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"grüße\",\"thought\":true}]},\"index\":0}],\"modelVersion\":\"m\",\"responseId\":\"r\"}\r\n\r\n",
    ": keepalive\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"🦀\",\"thoughtSignature\":\"c2ln\"}]}}],\"usageMetadata\":{\"promptTokenCount\":1}}\r\r",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" süß\"},{\"functionCall\":{\"name\":\"f\",\"args\":{\"a\": 1}},\"thoughtSignature\":\"c2ln\"}]}}]}\n\n",
    "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\",\"thoughtSignature\":\"c2ln\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":2}}\n\n",
);

const ARRAY: &str = concat!(
    " [{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"grüße ]},{ \\\" \"}]}}]\n}\n,\r\n",
    "{\"candidates\": [{\"content\": {\"parts\": [{\"executableCode\": {\"code\": \"🦀\"}}]}, \"finishReason\": \"STOP\"}]}\n]\n",
);

const WHOLE: &str =
    r#"  {"id":"c","model":"m","choices":[{"message":{"content":"grüße"},"finish_reason":"stop"}]}"#;

pub(crate) fn wires() -> [(Box<dyn Wire>, &'static str); 8] {
    [
        (Box::new(Anthropic::new()), ANTHROPIC),
        (Box::new(OpenAiChat::default()), CHAT),
        (Box::new(OpenAiResponses::new()), RESPONSES),
        (Box::new(Gemini::new()), GEMINI),
        (Box::new(Gemini::new()), ARRAY),
        (Box::new(OpenAiChat::default()), WHOLE),
        (Box::new(OpenAiChat::default()), "  <html>no</html>"),
        (Box::new(Ollama::new()), OLLAMA),
    ]
}

/// Cuts bytes into pieces of the given lengths, again and again.
pub(crate) fn cut<'a>(bytes: &'a [u8], lengths: &[usize]) -> Vec<&'a [u8]> {
    let mut pieces = Vec::new();
    let mut rest = bytes;
    for length in lengths.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, tail) = rest.split_at((*length).clamp(1, rest.len()));
        pieces.push(piece);
        rest = tail;
    }
    pieces
}

#[test]
fn each_example_is_read_byte_by_byte_as_at_once() {
    for (wire, body) in wires() {
        let whole = decode(wire.as_ref(), [body.as_bytes()]);
        assert_eq!(decode(wire.as_ref(), cut(body.as_bytes(), &[1])), whole);
    }
}

proptest! {
    #[test]
    fn events_do_not_depend_on_where_the_bytes_were_cut(
        example in 0_usize..8,
        missing in 0_usize..2000,
        lengths in prop::collection::vec(1_usize..90, 1..20),
    ) {
        let (wire, body) = wires().into_iter().nth(example).expect("an example");
        let body = &body.as_bytes()[..body.len().saturating_sub(missing)];
        let whole = decode(wire.as_ref(), [body]);
        prop_assert_eq!(decode(wire.as_ref(), cut(body, &lengths)), whole);
    }

    #[test]
    fn an_answer_that_was_cut_short_is_never_complete(example in 0_usize..4, missing in 1_usize..400) {
        let (wire, body) = wires().into_iter().nth(example).expect("an example");
        // The line that ends the stream, and for Chat the reason before it, must both be gone.
        let last = if example != 1 { body.len() } else { body.find("data: {\"choices\":[],").expect("the count") - 2 };
        let end = last.saturating_sub(missing);
        let (_, outcome) = decode(wire.as_ref(), [&body.as_bytes()[..end]]);
        prop_assert!(outcome.is_err());
    }

    #[test]
    fn lines_that_were_cut_short_are_never_complete(missing in 1_usize..400) {
        let end = OLLAMA.len().saturating_sub(missing);
        let (_, outcome) = decode(&Ollama::new(), [&OLLAMA.as_bytes()[..end]]);
        prop_assert!(outcome.is_err());
    }

    #[test]
    fn no_bytes_are_fatal(bytes in prop::collection::vec(any::<u8>(), 0..300), example in 0_usize..8) {
        let (wire, _) = wires().into_iter().nth(example).expect("an example");
        let _ = decode(wire.as_ref(), [bytes.as_slice()]);
        let _ = wire.error(500, &[], &bytes);
    }

    #[test]
    fn no_event_is_fatal(
        lines in prop::collection::vec(0_usize..9, 0..12),
        from in 0_usize..60,
        to in 0_usize..60,
        example in 0_usize..4,
    ) {
        // Events in any order, some with a piece replaced.
        let (wire, body) = wires().into_iter().nth(example).expect("an example");
        let events: Vec<&str> = body.split("data: ").skip(1).collect();
        let mut stream = String::new();
        for line in lines {
            let event: Vec<char> = events[line % events.len()].trim().chars().collect();
            let (from, to) = (from.min(event.len()), to.min(event.len()));
            let mut changed: String = event[..from].iter().collect();
            changed.extend(&event[to..]);
            stream.push_str(&format!("data: {changed}\n\n"));
        }
        let (events, outcome) = decode(wire.as_ref(), [stream.as_bytes()]);
        prop_assert_eq!(grammar::check(&events, &outcome), Ok(()));
    }
}
