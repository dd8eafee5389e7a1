//! `edit_file`: an exact replacement in one file, staged.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_runtime::message_tree::ToolSpec;
use trunkline_runtime::resolve_queue::{Entry, Fingerprint, Outcome};
use trunkline_runtime::{Access, EffectClass, Effects, Tool, ToolContext, ToolOutput};

use crate::root::{PathError, Root};
use crate::{call, shown, stage};

const NAME: &str = "edit_file";

pub(crate) struct EditFile {
    pub(crate) root: Arc<Root>,
}

#[derive(Deserialize)]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

#[async_trait]
impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        call::spec(
            NAME,
            "Proposes to replace `old_text` by `new_text` in a text file. `old_text` must be there exactly once, white \
             space included, unless `replace_all` is true. Nothing is written until the proposal is approved; until \
             then the file is read as it was.",
            json!({
                "path": {"type": "string", "description": "the file, relative to the workspace"},
                "old_text": {"type": "string", "minLength": 1, "description": "the exact text to replace, without line numbers"},
                "new_text": {"type": "string", "description": "the text to put in its place"},
                "replace_all": {"type": "boolean", "description": "replace every occurrence"},
            }),
            &["path", "old_text", "new_text"],
        )
    }

    /// Staging only looks; it is applying that changes something, and that has its own gate.
    fn access(&self) -> Access {
        Access::Proposes
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Reversible);
        let file = call::text(arguments, "path").into_iter();
        file.fold(effects, |effects, file| effects.reading(file).writing(file))
    }

    async fn run(&self, arguments: Map<String, Value>, _context: &ToolContext) -> ToolOutput {
        stage::staging(&self.root, move |root| edit(root, &call::arguments(arguments)?)).await
    }

    async fn observe(&self, subjects: &[String]) -> Vec<Fingerprint> {
        stage::observe(&self.root, subjects).await
    }

    async fn apply(&self, entry: &Entry<Value>, context: &ToolContext) -> (Outcome, ToolOutput) {
        stage::apply(&self.root, &entry.proposal, context).await
    }
}

fn edit(root: &Root, arguments: &Arguments) -> Result<ToolOutput, String> {
    let inside = root.place(&arguments.path)?;
    let old = root.read_text(&inside)?.ok_or_else(|| PathError::Missing { path: arguments.path.clone() })?;
    if arguments.old_text.is_empty() {
        return Err("old_text is empty; use write_file to write a whole file".to_owned());
    }
    let found = old.matches(&arguments.old_text).count();
    match found {
        0 => {
            return Err(format!(
                "old_text is not in {}; {}",
                inside.as_str(),
                hint(&old, &arguments.old_text)
            ));
        }
        1 => {}
        _ if arguments.replace_all => {}
        _ => {
            return Err(format!(
                "old_text occurs {found} times in {}; add lines around it until it is there once, or set replace_all",
                inside.as_str()
            ));
        }
    }
    // Reckoned before it is done: a short text in a large file may stand for a very large one.
    let grown = arguments.new_text.len().saturating_sub(arguments.old_text.len()).saturating_mul(found);
    stage::admit_size(old.len().saturating_add(grown))?;
    let new = old.replace(&arguments.old_text, &arguments.new_text);
    stage::stage(NAME, "edit", &inside, Some(&old), new)
}

/// Says why a text may not have been found.
fn hint(file: &str, wanted: &str) -> String {
    if file.contains("\r\n") && file.replace("\r\n", "\n").contains(wanted) {
        return "its lines end with \\r\\n; write them so in old_text and new_text".to_owned();
    }
    let first = wanted.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    match (1_u64..).zip(file.lines()).find(|(_, line)| !first.is_empty() && line.trim() == first) {
        Some((number, line)) => {
            format!(
                "its first line is like line {number}, compare white space and what follows: {}",
                shown::cut(line, 200)
            )
        }
        None => "read the file again and copy the text exactly, without line numbers".to_owned(),
    }
}
