//! `write_file`: a whole file, new or overwritten, staged.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::resolve_queue::{Entry, Fingerprint, Outcome};
use trunkline_runtime::{Access, EffectClass, Effects, Tool, ToolContext, ToolOutput};

use crate::root::Root;
use crate::{call, stage};

const NAME: &str = "write_file";

pub(crate) struct WriteFile {
    pub(crate) root: Arc<Root>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        call::spec(
            NAME,
            "Proposes to write a whole text file, new or in place of the old one; missing folders are made. Nothing is \
             written until the proposal is approved. To change a part of a file, use edit_file.",
            json!({
                "path": {"type": "string", "description": "the file, relative to the workspace"},
                "content": {"type": "string", "description": "the whole new content"},
            }),
            &["path", "content"],
        )
    }

    /// Staging only looks; it is applying that changes something, and that has its own gate.
    fn access(&self) -> Access {
        Access::Proposes
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Reversible);
        call::text(arguments, "path").into_iter().fold(effects, Effects::writing)
    }

    async fn run(&self, arguments: Map<String, Value>, _context: &ToolContext) -> ToolOutput {
        stage::staging(&self.root, move |root| write(root, call::arguments(arguments)?)).await
    }

    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        stage::observe(&self.root, subjects).await
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        stage::apply(&self.root, &entry.proposal, context).await
    }
}

fn write(root: &Root, arguments: Arguments) -> Result<ToolOutput, String> {
    let inside = root.place(&arguments.path)?;
    stage::admit_size(arguments.content.len())?;
    // A file that is not text is not overwritten either: nobody could see in a diff what is lost.
    let old = root.read_text(&inside)?;
    let verb = if old.is_some() { "overwrite" } else { "create" };
    stage::stage(NAME, verb, &inside, old.as_deref(), arguments.content)
}
