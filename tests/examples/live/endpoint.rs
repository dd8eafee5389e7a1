//! Where each wire is spoken, and what it takes there to make a small model call a tool.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use trunkline_message_tree::Origin;
use trunkline_providers::{
    Anthropic, Dialect, HttpProvider, OpenAiChat, OpenAiResponses, ProviderError, Secret, Wire,
};

use crate::relay::Relay;
use crate::steered::Steered;

/// What both servers call the model, and what the proxy calls it when a call is wanted.
const MODEL: &str = "smollm2-135m";
const CALLING_MODEL: &str = "smollm2-calls";

/// One wire at one server, behind a relay that sees its bytes.
pub(crate) struct Endpoint {
    /// The wire, and the server if there are two.
    pub(crate) name: &'static str,
    /// Whether the model can be brought to call a tool here.
    pub(crate) calls: bool,
    /// Everything that is said here goes through it.
    pub(crate) relay: Relay,
    wire: fn() -> Box<dyn Wire>,
    provider: &'static str,
    key: Option<Secret>,
    calling_model: &'static str,
    calling_extra: Map<String, Value>,
}

impl Endpoint {
    /// Chat Completions of llama.cpp.
    pub(crate) fn chat(model: SocketAddr, folder: &Path) -> std::io::Result<Self> {
        let relay = Relay::to(model, &folder.join("wire-chat.log"))?;
        Ok(Endpoint::of_llama("chat", relay, || Box::new(OpenAiChat::new(Dialect::llama_cpp()))))
    }

    /// Responses of llama.cpp.
    pub(crate) fn responses(model: SocketAddr, folder: &Path) -> std::io::Result<Self> {
        let relay = Relay::to(model, &folder.join("wire-responses.log"))?;
        // The model does not reason, and nothing here can encrypt reasoning.
        Ok(Endpoint::of_llama("responses", relay, || Box::new(OpenAiResponses::without_reasoning())))
    }

    /// Messages of the proxy, which speaks Chat to llama.cpp.
    pub(crate) fn messages(proxy: SocketAddr, folder: &Path) -> std::io::Result<Self> {
        Ok(Endpoint {
            name: "messages",
            calls: true,
            relay: Relay::to(proxy, &folder.join("wire-messages.log"))?,
            wire: || Box::new(Anthropic::new()),
            provider: "litellm",
            key: Some(Secret::new("sk-local")),
            calling_model: CALLING_MODEL,
            calling_extra: Map::new(),
        })
    }

    /// Messages of llama.cpp itself. It ignores `logit_bias`, without which this model calls nothing.
    pub(crate) fn native_messages(model: SocketAddr, folder: &Path) -> std::io::Result<Self> {
        let relay = Relay::to(model, &folder.join("wire-messages-llama.log"))?;
        let name = "messages, llama.cpp";
        Ok(Endpoint { calls: false, ..Endpoint::of_llama(name, relay, || Box::new(Anthropic::new())) })
    }

    fn of_llama(name: &'static str, relay: Relay, wire: fn() -> Box<dyn Wire>) -> Self {
        // The brace that begins a call becomes the likeliest first token. Only a grammar for calls makes use of it:
        // without one the server fails on what comes.
        let calling_extra = Map::from_iter([("logit_bias".to_owned(), json!([["{", 12]]))]);
        let (provider, calling_model) = ("llama-cpp", MODEL);
        Endpoint { name, calls: true, relay, wire, provider, key: None, calling_model, calling_extra }
    }

    /// Returns a provider with connections of its own.
    pub(crate) fn provider(&self) -> Result<Steered, ProviderError> {
        let origin = Origin::new(self.provider, MODEL);
        let base = self.relay.base_url();
        Ok(Steered {
            inner: HttpProvider::new((self.wire)(), base, self.key.as_ref(), origin)?,
            calling_model: self.calling_model,
            calling_extra: self.calling_extra.clone(),
            strays_to: None,
            demands: Arc::default(),
        })
    }
}
