//! What a tool made of functions does of what was approved, and behind what was not.

use std::future::Future;
use std::pin::Pin;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trunkline_message_tree::ToolResult;
use trunkline_resolve_queue::{End, Entry, Fingerprint, Outcome};
use trunkline_session_machine::ToolOutput;

use crate::context::ToolContext;
use crate::discard_hook::DiscardHook;
use crate::executor::Executor;
use crate::output::IntoToolOutput;

type Apply = dyn Fn(Value, ToolContext) -> Pin<Box<dyn Future<Output = ToolOutput> + Send>> + Send + Sync;
type Observe = dyn Fn(Vec<String>) -> Pin<Box<dyn Future<Output = Vec<Fingerprint>> + Send>> + Send + Sync;

type Discarded =
    dyn Fn(Value, End, ToolContext) -> Pin<Box<dyn Future<Output = ToolOutput> + Send>> + Send + Sync;

/// The functions that apply what a tool has staged, and look at what it was computed from.
#[derive(Default)]
pub(crate) struct TypedExecutor {
    apply: Option<Box<Apply>>,
    observe: Option<Box<Observe>>,
    discarded: Option<Box<Discarded>>,
}

impl TypedExecutor {
    pub(crate) fn apply_with<P, F, R, O>(&mut self, apply: F)
    where
        P: DeserializeOwned,
        F: Fn(P, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        self.apply =
            Some(Box::new(move |payload, context| match serde_path_to_error::deserialize(payload) {
                Ok(payload) => {
                    let applying = apply(payload, context);
                    Box::pin(async move { applying.await.into_output() })
                }
                Err(fault) => {
                    let words =
                        format!("not applied: what was staged does not fit the tool any more: {fault}");
                    Box::pin(async move { ToolOutput::error(words) })
                }
            }));
    }

    pub(crate) fn observe_with<F, R>(&mut self, observe: F)
    where
        F: Fn(Vec<String>) -> R + Send + Sync + 'static,
        R: Future<Output = Vec<Fingerprint>> + Send + 'static,
    {
        self.observe = Some(Box::new(move |subjects| Box::pin(observe(subjects))));
    }

    pub(crate) fn discarded_with<P, F, R, O>(&mut self, discarded: F)
    where
        P: DeserializeOwned,
        F: Fn(P, End, ToolContext) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
        O: IntoToolOutput,
    {
        self.discarded =
            Some(Box::new(move |payload, end, context| match serde_path_to_error::deserialize(payload) {
                Ok(payload) => {
                    let cleaning = discarded(payload, end, context);
                    Box::pin(async move { cleaning.await.into_output() })
                }
                Err(fault) => {
                    let words =
                        format!("not cleaned up: what was staged does not fit the tool any more: {fault}");
                    Box::pin(async move { ToolOutput::error(words) })
                }
            }));
    }

    /// Returns whether anything can be applied, or is cleaned up.
    pub(crate) fn does_anything(&self) -> bool {
        self.apply.is_some() || self.discarded.is_some()
    }
}

#[async_trait]
impl Executor for TypedExecutor {
    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        let output = match &self.apply {
            Some(apply) => {
                let context = context.clone().after(entry.decision.as_ref());
                apply(entry.proposal.payload.clone(), context).await
            }
            None => ToolOutput::error("this tool has nothing to apply"),
        };
        if !output.is_error {
            return (Outcome::Applied, output);
        }
        let told = ToolResult { call_id: String::new(), content: output.content.clone(), is_error: true };
        (Outcome::Failed { reason: told.text() }, output)
    }

    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        match &self.observe {
            Some(observe) => observe(subjects.to_vec()).await,
            None => Vec::new(),
        }
    }

    fn as_discard_hook(&self) -> Option<&dyn DiscardHook> {
        self.discarded.as_ref().map(|_| self as &dyn DiscardHook)
    }
}

#[async_trait]
impl DiscardHook for TypedExecutor {
    async fn discarded(&self, entry: &Entry<Value>, end: &End, context: &ToolContext) -> Option<ToolOutput> {
        let context = context.clone().after(entry.decision.as_ref());
        let discarded = self.discarded.as_ref()?;
        let output = discarded(entry.proposal.payload.clone(), end.clone(), context).await;
        (!output.content.is_empty() || output.is_error).then_some(output)
    }
}
