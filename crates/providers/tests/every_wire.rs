//! Every wire that there is, for laws that hold on all of them; those with settings come more than once.

use trunkline_providers::{Anthropic, Bedrock, Dialect, Gemini, Ollama, OpenAiChat, OpenAiResponses, Wire};

/// Each wire with its name for people, in the order of the table in the README.
pub(crate) fn wires() -> Vec<(&'static str, Box<dyn Wire>)> {
    vec![
        ("Anthropic", Box::new(Anthropic::new())),
        ("Chat", Box::new(OpenAiChat::new(Dialect::default()))),
        ("Chat: OpenAI", Box::new(OpenAiChat::new(Dialect::openai()))),
        ("Chat: OpenRouter", Box::new(OpenAiChat::new(Dialect::openrouter()))),
        ("Chat: DeepSeek", Box::new(OpenAiChat::new(Dialect::deepseek()))),
        ("Chat: Mistral", Box::new(OpenAiChat::new(Dialect::mistral()))),
        ("Chat: llama.cpp", Box::new(OpenAiChat::new(Dialect::llama_cpp()))),
        ("Responses", Box::new(OpenAiResponses::new())),
        ("Gemini", Box::new(Gemini::new())),
        ("Ollama", Box::new(Ollama::new())),
        ("Bedrock", Box::new(Bedrock::behind("anthropic.claude-haiku-4-5-20251001-v1:0"))),
    ]
}
