//! What a tool that stages has printed, and the proposal that comes of it.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::Part;
use trunkline_agent_traits::{Cancel, ToolOutput};

use crate::edit_files::EditFiles;
use crate::root::Root;
use crate::shown;
use crate::staging_tool::Editor;

/// So much of what it says beside its edits reaches the model.
const LONGEST_TEXT: usize = 4_000;
/// More is not read: as much as `edit_files` takes, in the longest way that JSON can say it, would be more, and nobody writes so.
pub(super) const LARGEST: usize = 20_000_000;

/// What it has to print.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Printed {
    edits: Vec<Value>,
    #[serde(default)]
    text: String,
}

/// Stages what was printed, as `edit_files` would.
pub(super) fn stage(root: &Root, printed: &[u8], cancel: &Cancel) -> Result<ToolOutput, String> {
    let form = "it has to be {\"edits\": […], \"text\": \"…\"}, with edits as edit_files takes them";
    let text = std::str::from_utf8(printed)
        .map_err(|error| format!("what it printed is not UTF-8 from byte {} on", error.valid_up_to()))?;
    let whole: Value = serde_json::from_str(text)
        .map_err(|error| format!("what it printed is no JSON ({error}); {form}"))?;
    if !whole.is_object() {
        return Err(format!("what it printed is no object; {form}"));
    }
    let Printed { edits, text } = Printed::deserialize(whole)
        .map_err(|error| format!("what it printed does not fit ({error}); {form}"))?;
    let mut output = match edits.is_empty() {
        true => ToolOutput::text("nothing staged: it proposes no edit"),
        false => EditFiles::stage(root, Map::from_iter([("edits".to_owned(), json!(edits))]), cancel)?,
    };
    if !text.trim().is_empty() {
        output.content.insert(0, Part::text(shown::cut(&shown::safe(&text), LONGEST_TEXT) + "\n"));
    }
    Ok(output)
}
