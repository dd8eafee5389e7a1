//! `edit_file`: an exact replacement in one file, staged.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{Cancel, EffectClass, Effects, ToolOutput};

use crate::call;
use crate::replacement::Replacement;
use crate::root::{PathError, Root};
use crate::stage::{Draft, stage};
use crate::staging_tool::Editor;

const NAME: &str = "edit_file";

pub(crate) struct EditFile;

#[derive(Deserialize)]
struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl Editor for EditFile {
    fn spec() -> ToolSpec {
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

    fn effects(arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Reversible);
        let file = call::text(arguments, "path").into_iter();
        file.fold(effects, |effects, file| effects.reading(file).writing(file))
    }

    fn stage(root: &Root, arguments: Map<String, Value>, _: &Cancel) -> Result<ToolOutput, String> {
        let arguments: Arguments = call::arguments(arguments)?;
        let inside = root.place(&arguments.path)?;
        let old =
            root.read_text(&inside)?.ok_or_else(|| PathError::Missing { path: arguments.path.clone() })?;
        if arguments.old_text.is_empty() {
            return Err("old_text is empty; use write_file to write a whole file".to_owned());
        }
        let replacement = Replacement {
            old_text: &arguments.old_text,
            new_text: &arguments.new_text,
            replace_all: arguments.replace_all,
        };
        let new = replacement.apply(&old, inside.as_str())?;
        stage(NAME, vec![Draft { inside, old: Some(old), new, verb: "edit", folders: 0 }])
    }
}
