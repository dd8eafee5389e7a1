//! Made-up answers and refusals, streamed and whole: words, reasoning, calls.

use std::time::Duration;

use serde_json::json;
use trunkline_message_tree::{Content, Message, StopReason, ToolCall, ToolSpec};
use trunkline_providers::conformance::{Answer, Refusal, Samples};
use trunkline_providers::{ErrorKind, Request};

const ANTHROPIC: &str = concat!(
    "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_A\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\r\n\r\n",
    ": keep-alive\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm, \"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"so\"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"EqQB==\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\r\r",
    "data: {\"type\":\"ping\"}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"grüße \"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"🦀\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_A\",\"name\":\"f\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"a\\\": \"}}\n\n",
    "data: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"1}\"}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "data: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"toolu_B\",\"name\":\"f\",\"input\":{}}}\n\n",
    "data: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":19}}\n\n",
    "data: {\"type\":\"message_stop\"}\n\n",
);

const ANTHROPIC_WHOLE: &str = r#" {"type":"message","id":"msg_B","model":"m","content":[{"type":"redacted_thinking","data":"Er8B=="},{"type":"text","text":"gr\u00fc\u00dfe"}],"stop_reason":"end_turn","usage":{"input_tokens":9,"cache_read_input_tokens":4,"output_tokens":3}}
"#;

const CHAT: &str = concat!(
    ": PROCESSING\n\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"reasoning\":\"hm\"}}]}\r\n\r\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"grüße \"}}]}\r\r",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"🦀\"}}]}\n\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call12345\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\\\"\"}}]}}]}\n\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\": 1}\"}}]}}]}\n\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call67890\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}}]}\n\n",
    "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n",
    "data: [DONE]\n\n",
);

const CHAT_WHOLE: &str = r#"  {"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"gr\u00fc\u00dfe"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;

const REASONING: &str = r#"{"type":"reasoning","id":"rs_A", "encrypted_content":"gAAA","summary":[{"type":"summary_text","text":"hm"}]}"#;

const CALL: &str =
    r#"{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":"{\"a\": 1}"}"#;

fn responses_stream() -> String {
    [
        r#"{"type":"response.created","response":{"id":"resp_A","model":"m","output":[]}}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_A","summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"item_id":"rs_A","summary_index":0,"delta":"hm"}"#,
        &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{REASONING}}}"#),
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"msg_A","content":[]}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"item_id":"msg_A","content_index":0,"delta":"grüße "}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"item_id":"msg_A","content_index":0,"delta":"🦀"}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"msg_A","content":[{"type":"output_text","text":"grüße 🦀"}]}}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc_A","call_id":"call_A","name":"f","arguments":""}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":2,"item_id":"fc_A","delta":"{\"a\": 1}"}"#,
        &format!(r#"{{"type":"response.output_item.done","output_index":2,"item":{CALL}}}"#),
        r#"{"type":"response.completed","response":{"id":"resp_A","status":"completed","usage":{"input_tokens":1,"output_tokens":2}}}"#,
    ]
    .map(|data| format!("data: {data}\n\n"))
    .concat()
}

fn request(stream: bool) -> Request {
    let mut request = Request::new("m", vec![Message::system("be brief"), Message::user("what is in a.rs?")]);
    request.tools = vec![ToolSpec::new("f", "looks", json!({"type": "object", "properties": {}}))];
    request.stream = stream;
    request
}

fn call(id: &str, arguments: &str) -> Content {
    let (name, arguments) = ("f".to_owned(), arguments.to_owned());
    Content::ToolCall(ToolCall { id: id.to_owned(), name, arguments, signature: None })
}

fn thinking(signature: Option<&str>, text: &str) -> Content {
    Content::Thinking { text: text.to_owned(), signature: signature.map(str::to_owned) }
}

/// Refusals that every HTTP service may give, in the form that most use.
fn refusals() -> Vec<Refusal> {
    let said = |status, kind: &str, message: &str, means, retryable| {
        let body = json!({"error": {"type": kind, "message": message}});
        Refusal::new(status, body.to_string(), means, retryable)
    };
    vec![
        said(400, "invalid_request_error", "no result for a call", ErrorKind::InvalidRequest, false),
        said(401, "authentication_error", "invalid key", ErrorKind::Auth, false),
        said(400, "invalid_request_error", "prompt is too long: 9 > 8", ErrorKind::ContextTooLong, false),
        said(429, "rate_limit_error", "slow down", ErrorKind::RateLimited, true)
            .with_header("retry-after-ms", "250")
            .asking_for(Duration::from_millis(250)),
        said(529, "overloaded_error", "Overloaded", ErrorKind::Overloaded, true),
        said(500, "api_error", "Internal server error", ErrorKind::Server, true).with_header("x-a", "b"),
    ]
}

fn samples(answers: [Answer; 2]) -> Samples {
    let mut samples = Samples::new(answers);
    samples.refusals = refusals();
    samples
}

pub(crate) fn anthropic() -> Samples {
    let stream = Answer::new("stream", request(true), ANTHROPIC).saying(
        [
            thinking(Some("EqQB=="), "hm, so"),
            Content::text("grüße 🦀"),
            call("toolu_A", "{\"a\": 1}"),
            call("toolu_B", ""),
        ],
        StopReason::ToolUse,
    );
    let redacted = Content::RedactedThinking { data: "Er8B==".to_owned() };
    let whole = Answer::new("whole", request(false), ANTHROPIC_WHOLE)
        .saying([redacted, Content::text("grüße")], StopReason::EndTurn);
    samples([stream, whole])
}

pub(crate) fn chat() -> Samples {
    let stream = Answer::new("stream", request(true), CHAT).saying(
        [
            thinking(None, "hm"),
            Content::text("grüße 🦀"),
            call("call12345", "{\"a\": 1}"),
            call("call67890", "{}"),
        ],
        StopReason::ToolUse,
    );
    let whole = Answer::new("whole", request(false), CHAT_WHOLE)
        .saying([Content::text("grüße")], StopReason::EndTurn);
    samples([stream, whole])
}

/// A whole body with a letter of two bytes and a number with a point in it.
pub(crate) fn whole_with_letters_and_numbers() -> Samples {
    let body = CHAT_WHOLE.replace("\\u00fc", "ü").replace("\"id\"", "\"queue_time\":0.5,\"id\"");
    Samples::new([Answer::new("whole", request(false), body)])
}

/// A router that describes what a model thought, encrypted parts included.
pub(crate) fn openrouter() -> Samples {
    let details = r#"[{"type":"reasoning.encrypted", "data":"gAAA==","id":"rs_A","format":"openai-responses-v1","index":0}]"#;
    let body = CHAT_WHOLE.replace("\"content\"", &format!("\"reasoning_details\":{details},\"content\""));
    Samples::new([Answer::new("described", request(false), body)])
}

pub(crate) fn responses() -> Samples {
    let carried = Content::Opaque { wire: "openai-responses".to_owned(), json: REASONING.to_owned() };
    let said = [carried, Content::text("grüße 🦀"), call("call_A", "{\"a\": 1}")];
    let stream =
        Answer::new("stream", request(true), responses_stream()).saying(said.clone(), StopReason::ToolUse);
    let text = r#"{"type":"message","id":"msg_A","content":[{"type":"output_text","text":"gr\u00fc\u00dfe \ud83e\udd80"}]}"#;
    let whole = format!(
        r#"{{"id":"resp_B","object":"response","model":"m","status":"completed","output":[{REASONING},{text},{CALL}],"usage":{{"input_tokens":1,"output_tokens":2}}}}"#
    );
    let whole = Answer::new("whole", request(false), whole).saying(said, StopReason::ToolUse);
    samples([stream, whole])
}

pub(crate) fn ollama() -> Samples {
    let said = |id: &str| [thinking(None, "hm, so"), Content::text("grüße 🦀"), call(id, "{\"a\": 1}")];
    let stream = [
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"hm, "},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"","thinking":"so"},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"grüße "},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"🦀"},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_A","function":{"name":"f","arguments":{"a": 1}}}]},"done":false}"#,
        r#"{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","prompt_eval_count":4,"eval_count":8}"#,
    ];
    let stream = Answer::new("stream", request(true), stream.map(|line| format!("{line}\n")).concat())
        .saying(said("call_A"), StopReason::ToolUse);
    let whole = r#"{"model":"m","message":{"role":"assistant","content":"grüße 🦀","thinking":"hm, so","tool_calls":[{"function":{"name":"f","arguments":{"a": 1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":4,"eval_count":8}"#;
    let whole = Answer::new("whole", request(false), whole).saying(said("call_0"), StopReason::ToolUse);
    samples([stream, whole])
}

pub(crate) fn gemini() -> Samples {
    let stream = [
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"hm","thought":true}]},"index":0}],"usageMetadata":{"promptTokenCount":70},"modelVersion":"m-3","responseId":"R1"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"grüße "}]},"index":0}],"modelVersion":"m-3"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"🦀"}]},"index":0}],"modelVersion":"m-3"}"#,
        r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"f","args":{"a": 1},"id":"x7"},"thoughtSignature":"c2ln"},{"functionCall":{"name":"f","args":{},"id":"x8"}}]},"index":0}]}"#,
        r#"{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":70,"candidatesTokenCount":9,"thoughtsTokenCount":21}}"#,
    ];
    let stream = stream.map(|data| format!("data: {data}\r\n\r\n")).concat();
    let whole = r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"gr\u00fc\u00dfe","thoughtSignature":"c2ln"}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":70,"candidatesTokenCount":9},"modelVersion":"m-3"}"#;
    samples([Answer::new("stream", request(true), stream), Answer::new("whole", request(false), whole)])
}

pub(crate) fn bedrock() -> Samples {
    let stream = crate::bedrock_frames::stream(
        r#"messageStart {"role":"assistant"}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"hm"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"text":", so"}}}
           contentBlockDelta {"contentBlockIndex":0,"delta":{"reasoningContent":{"signature":"ErIB+/="}}}
           contentBlockStop {"contentBlockIndex":0}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"grüße "},"p":"abc"}
           contentBlockDelta {"contentBlockIndex":1,"delta":{"text":"🦀"},"p":"abc"}
           contentBlockStop {"contentBlockIndex":1}
           contentBlockStart {"contentBlockIndex":2,"start":{"toolUse":{"toolUseId":"t1","name":"f"}}}
           contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":"{\"a\":"}}}
           contentBlockDelta {"contentBlockIndex":2,"delta":{"toolUse":{"input":" 1}"}}}
           contentBlockStop {"contentBlockIndex":2}
           messageStop {"stopReason":"tool_use"}
           metadata {"usage":{"inputTokens":4,"outputTokens":7,"totalTokens":11}}"#,
    );
    let mut stream = Answer::new("stream", request(true), stream).saying(
        [thinking(Some("ErIB+/="), "hm, so"), Content::text("grüße 🦀"), call("t1", "{\"a\": 1}")],
        StopReason::ToolUse,
    );
    stream.content_type = "application/vnd.amazon.eventstream".to_owned();
    let whole = r#"{"metrics":{"latencyMs":9},"output":{"message":{"content":[{"text":"gr\u00fc\u00dfe"}],"role":"assistant"}},"stopReason":"end_turn","usage":{"inputTokens":4,"outputTokens":7,"totalTokens":11}}"#;
    let whole =
        Answer::new("whole", request(false), whole).saying([Content::text("grüße")], StopReason::EndTurn);
    samples([stream, whole])
}
