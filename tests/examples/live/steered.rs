//! A provider that says of each request whether a tool must be called.
//!
//! The runtime leaves that to the model, and this one is too small to know. After a prompt it must call, after a result
//! it must answer; a request without tools goes through as it is. Where the runtime demands a call itself, that stands.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use trunkline_message_tree::{Origin, Role, ToolChoice};
use trunkline_providers::{Feature, HttpProvider, Provider, ProviderError, Reply, Request, Support};
use trunkline_runtime::resolve_queue::resolve_tool;

pub(crate) struct Steered {
    pub(crate) inner: HttpProvider,
    pub(crate) calling_model: &'static str,
    pub(crate) calling_extra: Map<String, Value>,
    /// What it calls beside what it was asked for, once, before it is brought back to what waits.
    pub(crate) strays_to: Option<&'static str>,
    /// How many requests came with a demand.
    pub(crate) demands: Arc<AtomicUsize>,
}

impl Steered {
    /// Makes the request one that the model must answer with a call.
    fn call(&self, request: &mut Request) {
        request.tool_choice = ToolChoice::Any;
        // Several calls one after another it would never end either.
        request.parallel_calls = Some(false);
        request.model = self.calling_model.to_owned();
        request.extra.extend(self.calling_extra.clone());
        for tool in request.tools.iter_mut().filter(|tool| tool.name == resolve_tool::NAME) {
            // The server holds the model to the schema token by token; a free string it might never end.
            if let Some(fields) = tool.input_schema["properties"].as_object_mut() {
                fields.retain(|name, _| name == "action" || name == "reason");
                fields.insert("reason".to_owned(), json!({ "type": "string", "enum": ["it is right"] }));
            }
        }
    }
}

#[async_trait]
impl Provider for Steered {
    fn origin(&self) -> &Origin {
        self.inner.origin()
    }

    fn wire(&self) -> &str {
        self.inner.wire()
    }

    /// llama.cpp is behind every wire here, and knows no demand of a named tool.
    fn support(&self, feature: Feature) -> Support {
        if feature == Feature::ChoiceNamed { Support::None } else { self.inner.support(feature) }
    }

    async fn send(&self, mut request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let last = request.messages.last();
        let prompted = last.is_some_and(|last| last.role == Role::User && last.results().next().is_none());
        let strayed = request.messages.iter().flat_map(|message| message.calls());
        let strayed = strayed.filter(|call| Some(call.name.as_str()) == self.strays_to).count() > 0;
        if request.tools.is_empty() {
            return self.inner.send(request).await;
        }
        if request.tool_choice != ToolChoice::Auto {
            self.demands.fetch_add(1, Ordering::Relaxed);
            self.call(&mut request);
        } else if prompted {
            let other = |name: &str| name != resolve_tool::NAME && Some(name) != self.strays_to;
            request.tools.retain(|tool| other(&tool.name));
            self.call(&mut request);
        } else if let (Some(name), false) = (self.strays_to, strayed) {
            request.tools.retain(|tool| tool.name == name);
            self.call(&mut request);
        } else {
            request.tool_choice = ToolChoice::None;
        }
        self.inner.send(request).await
    }
}
