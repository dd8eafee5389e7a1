//! What each service answers to a list: the encoder and the validator of its wire, one after the other.
//!
//! The names are those of the rule sets, so that nothing is forgotten when there is one more.

use serde_json::{Value, json};
use trunkline_message_tree::{Message, Role, ToolChoice, ToolSpec};
use trunkline_providers::{
    Anthropic, Bedrock, Dialect, Gemini, Ollama, OpenAiChat, OpenAiResponses, Request, Wire,
};
use trunkline_sanitize::{RequestFacts, Thinking};

use crate::validators::openai_chat::{Ids, Order};
use crate::validators::{Verdict, anthropic, bedrock, gemini, ollama, openai_chat, openai_responses};

/// Says what the service of that rule set does not like, if anything.
pub(crate) fn answer(name: &str, messages: &[Message], facts: &RequestFacts) -> Verdict {
    let chat = |host: &str, taste| openai_chat::check(&chat_body(messages, facts, host)?, taste);
    let plain = openai_chat::Taste::default();
    let thinks = facts.thinking == Thinking::On;
    match name {
        "anthropic" | "anthropic-strict" | "anthropic-prefill" | "anthropic-mid-system" => {
            let taste = anthropic::Taste {
                alternate: name == "anthropic-strict",
                prefill: name == "anthropic-prefill",
                system_in_list: name == "anthropic-mid-system",
            };
            anthropic::check(&anthropic_body(messages, facts)?, taste)
        }
        "openai-chat" | "vllm" => chat("", plain),
        "llama-cpp" => {
            let mut dialect = Dialect::default();
            dialect.images_in_results = true;
            let body = body(&OpenAiChat::new(dialect), &request(messages.to_vec(), facts))?;
            openai_chat::check(&body, openai_chat::Taste { pictures_in_results: true, ..plain })
        }
        "openrouter" => chat("openrouter.ai", plain),
        "cerebras" => chat("api.cerebras.ai", plain),
        "groq" => chat("api.groq.com", openai_chat::Taste { null_arguments: true, ..plain }),
        "deepseek" if thinks && facts.choice_forced => {
            Err("Thinking mode does not support this tool_choice".to_owned())
        }
        "deepseek" => {
            let taste = openai_chat::Taste { pictures: false, reasoning_beside_calls: thinks, ..plain };
            chat("api.deepseek.com", taste)
        }
        "mistral" | "mistral-strict" => {
            let order = Order::Mistral { user_after_tool: name == "mistral" };
            chat("api.mistral.ai", openai_chat::Taste { ids: Ids::Nine, order, ..plain })
        }
        "strict-template" => chat("", openai_chat::Taste { order: Order::Template, ..plain }),
        "openai-responses" => {
            openai_responses::check(&body(&OpenAiResponses::new(), &request(messages.to_vec(), facts))?)
        }
        "gemini-2" | "gemini-3" => {
            let newer = name == "gemini-3";
            let model = if newer { "gemini-3-pro-preview" } else { "gemini-2.5-flash" };
            body(&Gemini::new(), &asked(model, messages, facts))?;
            gemini::check(messages, gemini::Taste { signed: newer, pictures_in_results: newer })
        }
        "bedrock" | "bedrock-claude" => {
            let claude = name == "bedrock-claude";
            let model = if claude { "anthropic.claude-haiku-4-5" } else { "amazon.nova-2-lite-v1:0" };
            body(&Bedrock::new(), &asked(model, messages, facts))?;
            bedrock::check(messages, facts, claude)
        }
        "ollama" => {
            body(&Ollama::new(), &request(messages.to_vec(), facts))?;
            ollama::check(messages)
        }
        _ => Err(format!("nobody has told what {name} refuses")),
    }
}

fn request(messages: Vec<Message>, facts: &RequestFacts) -> Request {
    let mut request = Request::new("m", messages);
    if facts.tools_offered != Some(false) {
        let input_schema = json!({"type": "object"});
        request.tools = vec![ToolSpec {
            name: "read".to_owned(),
            description: "reads".to_owned(),
            input_schema,
            strict: None,
        }];
    }
    if facts.choice_forced {
        request.tool_choice = ToolChoice::Any;
    }
    if facts.thinking == Thinking::On {
        request.thinking = trunkline_providers::Thinking::Budget(1024);
    }
    request
}

/// Returns the request to a model whose name the wire looks at.
fn asked(model: &str, messages: &[Message], facts: &RequestFacts) -> Request {
    let mut request = request(messages.to_vec(), facts);
    request.model = model.to_owned();
    request
}

fn body(wire: &dyn Wire, request: &Request) -> Result<Value, String> {
    let encoded = wire.encode(request).map_err(|fault| format!("the encoder refuses: {fault}"))?;
    serde_json::from_slice(&encoded.body.to_vec()).map_err(|fault| fault.to_string())
}

/// The encoder does not send an assistant message in the last place; a guard behind it is taken away again.
fn anthropic_body(messages: &[Message], facts: &RequestFacts) -> Result<Value, String> {
    let prefill = messages.last().is_some_and(|last| last.role == Role::Assistant);
    let mut messages = messages.to_vec();
    if prefill {
        messages.push(Message::user("guard"));
    }
    let mut request = request(messages, facts);
    if facts.thinking == Thinking::Adaptive {
        request.extra.insert("thinking".to_owned(), json!({"type": "adaptive"}));
    }
    let mut body = body(&Anthropic::new(), &request)?;
    if let Some(list) = body["messages"].as_array_mut().filter(|_| prefill) {
        list.pop();
    }
    Ok(body)
}

fn chat_body(messages: &[Message], facts: &RequestFacts, host: &str) -> Result<Value, String> {
    body(&OpenAiChat::new(Dialect::for_host(host)), &request(messages.to_vec(), facts))
}
