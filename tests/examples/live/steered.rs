//! A provider that says of each request whether a tool must be called.
//!
//! The runtime leaves that to the model, and this one is too small to know. After a prompt it must call, after a result
//! it must answer; a request without tools goes through as it is.

use async_trait::async_trait;
use serde_json::{Map, Value};
use trunkline_message_tree::{Origin, Role, ToolChoice};
use trunkline_providers::{HttpProvider, Provider, ProviderError, Reply, Request};

pub(crate) struct Steered {
    pub(crate) inner: HttpProvider,
    pub(crate) calling_model: &'static str,
    pub(crate) calling_extra: Map<String, Value>,
}

#[async_trait]
impl Provider for Steered {
    fn origin(&self) -> &Origin {
        self.inner.origin()
    }

    fn wire(&self) -> &str {
        self.inner.wire()
    }

    async fn send(&self, mut request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let prompted = request
            .messages
            .last()
            .is_some_and(|last| last.role == Role::User && last.results().next().is_none());
        if request.tools.is_empty() {
            return self.inner.send(request).await;
        }
        if prompted {
            request.tool_choice = ToolChoice::Any;
            // Several calls one after another it would never end either.
            request.parallel_calls = Some(false);
            request.model = self.calling_model.to_owned();
            request.extra.extend(self.calling_extra.clone());
        } else {
            request.tool_choice = ToolChoice::None;
        }
        self.inner.send(request).await
    }
}
