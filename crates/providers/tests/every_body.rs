//! An answer on each wire, made of pieces that a test writes byte by byte.

use trunkline_providers::{Anthropic, Bedrock, Gemini, Ollama, OpenAiChat, OpenAiResponses, Wire};

use crate::bedrock_frames::{frame, headers};

/// What the pieces are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Text,
    Reasoning,
    /// Of a call whose arguments come in pieces of a string.
    Arguments,
}

pub(crate) fn all_wires() -> Vec<Box<dyn Wire>> {
    vec![
        Box::new(OpenAiChat::default()),
        Box::new(Anthropic::new()),
        Box::new(OpenAiResponses::new()),
        Box::new(Gemini::new()),
        Box::new(Ollama::new()),
        Box::new(Bedrock::new()),
    ]
}

/// Whether calls come in pieces on this wire.
pub(crate) fn has_pieces_of_calls(wire: &dyn Wire) -> bool {
    !matches!(wire.name(), "gemini" | "ollama")
}

/// A complete stream. The pieces stand between quotes, and `odd` is the value of a field that nobody reads.
pub(crate) fn stream(wire: &dyn Wire, kind: Kind, pieces: &[&[u8]], odd: &[u8]) -> Vec<u8> {
    let parts = parts(wire, kind);
    let events = [vec![parts.begin], pieces.iter().map(|_| parts.piece).collect(), vec![parts.end]].concat();
    let mut pieces = pieces.iter();
    let mut body = Vec::new();
    for line in events.iter().flat_map(|events| events.lines()).map(str::trim).filter(|line| !line.is_empty())
    {
        let piece: &[u8] = if line.contains("PIECE") { pieces.next().expect("one for each") } else { b"" };
        body.extend(event(wire, &fill(line, piece, odd)));
    }
    body
}

/// One event, or one line, with these bytes as its data; for Bedrock with its name before them.
pub(crate) fn event(wire: &dyn Wire, data: &[u8]) -> Vec<u8> {
    match wire.name() {
        "ollama" => [data, b"\n"].concat(),
        "bedrock" => {
            let at = data.iter().position(|byte| *byte == b' ').expect("a name and a payload");
            let name = std::str::from_utf8(&data[..at]).expect("a name");
            let all = [(":event-type", name), (":message-type", "event")];
            frame(&headers(&all), &data[at + 1..])
        }
        _ => [b"data: ", data, b"\n\n"].concat(),
    }
}

struct Parts {
    begin: &'static str,
    piece: &'static str,
    end: &'static str,
}

fn parts(wire: &dyn Wire, kind: Kind) -> Parts {
    let (begin, piece, end) = match (wire.name(), kind) {
        ("openai-chat", Kind::Text) => (
            "",
            r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"PIECE"},"logprobs":ODD}]}"#,
            "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n[DONE]",
        ),
        ("openai-chat", Kind::Reasoning) => (
            "",
            r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"reasoning_content":"PIECE"},"logprobs":ODD}]}"#,
            "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n[DONE]",
        ),
        ("openai-chat", Kind::Arguments) => (
            r#"{"id":"c","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]}}]}"#,
            r#"{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"PIECE"}}]},"logprobs":ODD}]}"#,
            "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n[DONE]",
        ),
        ("anthropic", kind) => (
            match kind {
                Kind::Text => {
                    r#"{"type":"message_start","message":{"id":"i","model":"m","content":[]}}
                    {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#
                }
                Kind::Reasoning => {
                    r#"{"type":"message_start","message":{"id":"i","model":"m","content":[]}}
                    {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}"#
                }
                Kind::Arguments => {
                    r#"{"type":"message_start","message":{"id":"i","model":"m","content":[]}}
                    {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}"#
                }
            },
            match kind {
                Kind::Text => {
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"PIECE"},"x":ODD}"#
                }
                Kind::Reasoning => {
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"PIECE"},"x":ODD}"#
                }
                Kind::Arguments => {
                    r#"{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"PIECE"},"x":ODD}"#
                }
            },
            r#"{"type":"content_block_stop","index":0}
            {"type":"message_delta","delta":{}}
            {"type":"message_stop"}"#,
        ),
        ("openai-responses", kind) => (
            match kind {
                Kind::Text => {
                    r#"{"type":"response.created","response":{"id":"r","model":"m"}}
                    {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"i"}}"#
                }
                Kind::Reasoning => {
                    r#"{"type":"response.created","response":{"id":"r","model":"m"}}
                    {"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"i"}}"#
                }
                Kind::Arguments => {
                    r#"{"type":"response.created","response":{"id":"r","model":"m"}}
                    {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"i","call_id":"a","name":"f"}}"#
                }
            },
            match kind {
                Kind::Text => {
                    r#"{"type":"response.output_text.delta","output_index":0,"delta":"PIECE","logprobs":ODD}"#
                }
                Kind::Reasoning => {
                    r#"{"type":"response.reasoning_text.delta","output_index":0,"delta":"PIECE","x":ODD}"#
                }
                Kind::Arguments => {
                    r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"PIECE","x":ODD}"#
                }
            },
            r#"{"type":"response.completed","response":{"id":"r","status":"completed"}}"#,
        ),
        ("gemini", Kind::Reasoning) => (
            "",
            r#"{"candidates":[{"content":{"parts":[{"text":"PIECE","thought":true}]},"avgLogprobs":ODD}],"modelVersion":"m"}"#,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
        ),
        ("gemini", _) => (
            "",
            r#"{"candidates":[{"content":{"parts":[{"text":"PIECE"}]},"avgLogprobs":ODD}],"modelVersion":"m"}"#,
            r#"{"candidates":[{"finishReason":"STOP"}]}"#,
        ),
        ("ollama", Kind::Reasoning) => (
            "",
            r#"{"model":"m","message":{"thinking":"PIECE"},"done":false,"x":ODD}"#,
            r#"{"model":"m","done":true}"#,
        ),
        ("ollama", _) => (
            "",
            r#"{"model":"m","message":{"content":"PIECE"},"done":false,"x":ODD}"#,
            r#"{"model":"m","done":true}"#,
        ),
        ("bedrock", kind) => (
            match kind {
                Kind::Arguments => {
                    r#"messageStart {"role":"assistant"}
                    contentBlockStart {"contentBlockIndex":0,"start":{"toolUse":{"toolUseId":"a","name":"f"}}}"#
                }
                _ => r#"messageStart {"role":"assistant"}"#,
            },
            match kind {
                Kind::Text => r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"text":"PIECE"},"p":ODD}"#,
                Kind::Reasoning => {
                    r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"PIECE"}},"p":ODD}"#
                }
                Kind::Arguments => {
                    r#"contentBlockDelta {"contentBlockIndex":0,"delta":{"toolUse":{"input":"PIECE"}},"p":ODD}"#
                }
            },
            r#"contentBlockStop {"contentBlockIndex":0}
            messageStop {}
            metadata {}"#,
        ),
        (other, _) => panic!("{other} is not known here"),
    };
    Parts { begin, piece, end }
}

fn fill(line: &str, piece: &[u8], odd: &[u8]) -> Vec<u8> {
    let mut filled = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("PIECE").into_iter().chain(rest.find("ODD")).min() {
        filled.extend(&rest.as_bytes()[..at]);
        let mark = if rest[at..].starts_with("PIECE") { ("PIECE", piece) } else { ("ODD", odd) };
        filled.extend(mark.1);
        rest = &rest[at + mark.0.len()..];
    }
    filled.extend(rest.as_bytes());
    filled
}
