//! `write_file`: a whole file, new or overwritten, staged.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{Cancel, EffectClass, Effects, ToolOutput};

use crate::root::Root;
use crate::stage::{Draft, admit_size, stage};
use crate::staging_tool::Editor;
use crate::{call, line_ends};

const NAME: &str = "write_file";

pub(crate) struct WriteFile;

#[derive(Deserialize)]
struct Arguments {
    path: String,
    content: String,
}

impl Editor for WriteFile {
    fn spec() -> ToolSpec {
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

    fn effects(arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Reversible);
        call::text(arguments, "path").into_iter().fold(effects, Effects::writing)
    }

    fn stage(root: &Root, arguments: Map<String, Value>, _: &Cancel) -> Result<ToolOutput, String> {
        let arguments: Arguments = call::arguments(arguments)?;
        let inside = root.place(&arguments.path)?;
        admit_size(arguments.content.len())?;
        // A file that is not text is not overwritten either: nobody could see in a diff what is lost.
        let old = root.read_text(&inside)?;
        let verb = if old.is_some() { "overwrite" } else { "create" };
        let folders = root.missing_folders(&inside);
        let new = line_ends::following(old.as_deref(), &arguments.content);
        stage(NAME, vec![Draft { inside, old, new, verb, folders }])
    }
}
