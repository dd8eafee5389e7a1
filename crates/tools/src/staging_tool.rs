//! What the tools that stage writes have in common: all but how the new files are computed.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Map, Value};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::resolve_queue::{Entry, Fingerprint, Outcome, Preview};
use trunkline_agent_traits::{Access, Cancel, Effects, Executor, Kept, Tool, ToolContext, ToolOutput};

use crate::payload::{StagedFiles, approved_place};
use crate::replace::{Change, replace};
use crate::root::Root;
use crate::{call, fingerprint, preimage};

/// How a call becomes new files.
pub(crate) trait Editor: Send + Sync + 'static {
    fn spec() -> ToolSpec;

    fn effects(arguments: &Map<String, Value>) -> Effects;

    /// Reads, computes and stages, until it is cancelled; writes nothing.
    fn stage(root: &Root, arguments: Map<String, Value>, cancel: &Cancel) -> Result<ToolOutput, String>;
}

/// A tool that stages writes below a root.
pub(crate) struct Staging<E> {
    root: Arc<Root>,
    editor: std::marker::PhantomData<fn() -> E>,
}

impl<E: Editor> Staging<E> {
    pub(crate) fn new(root: Arc<Root>) -> Self {
        Staging { root, editor: std::marker::PhantomData }
    }

    /// Works on a thread that may block; `None` if that broke.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Root) -> T + Send + 'static,
    ) -> Result<T, tokio::task::JoinError> {
        let root = Arc::clone(&self.root);
        tokio::task::spawn_blocking(move || work(&root)).await
    }
}

#[async_trait]
impl<E: Editor> Tool for Staging<E> {
    fn spec(&self) -> ToolSpec {
        E::spec()
    }

    /// Staging only looks; it is applying that changes something, and that has its own gate.
    fn access(&self) -> Access {
        Access::Proposes
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        E::effects(arguments)
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let (root, cancel) = (Arc::clone(&self.root), context.cancel.clone());
        call::blocking(move || E::stage(&root, arguments, &cancel)).await
    }

    fn as_executor(&self) -> Option<&dyn Executor> {
        Some(self)
    }
}

#[async_trait]
impl<E: Editor> Executor for Staging<E> {
    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        let subjects = subjects.to_vec();
        let look =
            move |root: &Root| subjects.iter().map(|subject| fingerprint::observe(root, subject)).collect();
        // An empty answer counts as "nobody looked", which is stale: the safe side.
        self.blocking(look).await.unwrap_or_default()
    }

    async fn keep(&self, entry: &Entry<Value>) -> Vec<Kept> {
        let subjects: Vec<String> = entry.part().map(String::from).collect();
        self.blocking(move |root| preimage::keep(root, &subjects)).await.unwrap_or_default()
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        let label = entry.proposal.label.clone();
        let (entry, cancel) = (entry.clone(), context.cancel.clone());
        let outcome = self
            .blocking(move |root| match changes(root, &entry) {
                Ok(changes) => replace(root, &changes, &|| cancel.is_cancelled()),
                Err(reason) => Outcome::Failed { reason },
            })
            .await
            .unwrap_or_else(|error| Outcome::Unknown { reason: format!("the tool broke: {error}") });
        let output = match &outcome {
            Outcome::Applied => ToolOutput::text(format!("Done: {label}.")),
            Outcome::Failed { reason } => ToolOutput::error(format!("Not applied: {label}: {reason}")),
            Outcome::Unknown { reason } => ToolOutput::error(format!("Perhaps applied: {label}: {reason}")),
        };
        (outcome, output)
    }

    async fn put_back(&self, entry: &Entry<Value>, kept: &[Kept]) -> Outcome {
        let (entry, kept) = (entry.clone(), kept.to_vec());
        self.blocking(move |root| preimage::put_back(root, &entry, kept))
            .await
            .unwrap_or_else(|error| Outcome::Unknown { reason: format!("the tool broke: {error}") })
    }

    async fn undo(&self, entry: &Entry<Value>, kept: &[Kept]) -> Option<(Value, Preview)> {
        let (entry, kept) = (entry.clone(), kept.to_vec());
        self.blocking(move |root| preimage::undo(root, &entry, kept)).await.ok().flatten()
    }
}

/// Finds the places of everything that was approved.
fn changes(root: &Root, entry: &Entry<Value>) -> Result<Vec<Change>, String> {
    let staged = StagedFiles::read(&entry.proposal.payload)?;
    // A path that no tool of this crate would stage condemns all of it, also what was approved.
    staged.files.iter().try_for_each(|file| approved_place(root, &file.path).map(drop))?;
    let files = staged.approved(entry)?;
    files.iter().map(|file| file.change(root, &files)).collect()
}
