//! `list_files`: the files of the workspace, sorted and bounded.

use std::sync::Arc;

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{Access, Cancel, EffectClass, Effects, Tool, ToolContext, ToolOutput};

use crate::root::Root;
use crate::{call, shown, walk};

const MAX_LISTED: usize = 1_000;

pub(crate) struct ListFiles {
    pub(crate) root: Arc<Root>,
}

#[derive(Deserialize)]
struct Arguments {
    path: Option<String>,
    pattern: Option<String>,
}

#[async_trait]
impl Tool for ListFiles {
    fn spec(&self) -> ToolSpec {
        call::spec(
            "list_files",
            "Lists the files of the workspace, one path a line, sorted, at most 1000. Files that git ignores are left \
             out.",
            json!({
                "path": {"type": "string", "description": "the folder to list; the whole workspace if not given"},
                "pattern": {
                    "type": "string",
                    "description": "a glob such as `*.rs` (in every folder) or `src/**/*.rs`; `!` in front turns it round",
                },
            }),
            &[],
        )
    }

    fn access(&self) -> Access {
        Access::ReadOnly
    }

    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Pure);
        call::text(arguments, "path").into_iter().fold(effects, Effects::reading)
    }

    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput {
        let (root, cancel) = (Arc::clone(&self.root), context.cancel.clone());
        call::blocking(move || list(&root, &call::arguments(arguments)?, &cancel).map(ToolOutput::text)).await
    }
}

fn list(root: &Root, arguments: &Arguments, cancel: &Cancel) -> Result<String, String> {
    let start = root.folder(arguments.path.as_deref().unwrap_or("."))?;
    let found = walk::files(root, &start, arguments.pattern.as_deref(), cancel)?;
    let mut listed = String::new();
    for file in found.files.iter().take(MAX_LISTED) {
        // A line end in a name would make two files of one.
        listed.push_str(&shown::name(file.as_str()));
        listed.push('\n');
    }
    if found.files.is_empty() {
        listed.push_str("[no files]\n");
    }
    if found.files.len() > MAX_LISTED {
        let more = found.files.len() - MAX_LISTED;
        listed
            .push_str(&format!("[{more} more files; name a folder with `path` or a glob with `pattern`]\n"));
    }
    Ok(listed + &found.remarks())
}
