//! `delete_file`: a file that is to be gone, staged.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::resolve_queue::Fingerprint;
use trunkline_agent_traits::{Cancel, EffectClass, Effects, ToolOutput};

use crate::payload::StagedFile;
use crate::picture::{Pictured, not_text, picture};
use crate::root::{PathError, Root};
use crate::stage::propose;
use crate::staging_tool::Editor;
use crate::{call, fingerprint};

const NAME: &str = "delete_file";

pub(crate) struct DeleteFile;

#[derive(Deserialize)]
struct Arguments {
    path: String,
}

impl Editor for DeleteFile {
    fn spec() -> ToolSpec {
        call::spec(
            NAME,
            "Proposes to delete one file, of any kind. Nothing is deleted until the proposal is approved.",
            json!({"path": {"type": "string", "description": "the file, relative to the workspace"}}),
            &["path"],
        )
    }

    fn effects(arguments: &Map<String, Value>) -> Effects {
        let effects = Effects::new(EffectClass::Reversible);
        call::text(arguments, "path").into_iter().fold(effects, Effects::writing)
    }

    fn stage(root: &Root, arguments: Map<String, Value>, _: &Cancel) -> Result<ToolOutput, String> {
        let Arguments { path } = call::arguments(arguments)?;
        let inside = root.place(&path).map_err(|error| match error {
            PathError::NotAFile { .. } => format!("{}; delete its files one by one", String::from(error)),
            error => error.into(),
        })?;
        let found = root.read(&inside)?.ok_or(PathError::Missing { path })?;
        let path = inside.as_str();
        let digest = fingerprint::digest(&found.bytes);
        let picture = match std::str::from_utf8(&found.bytes) {
            Ok(text) => picture("delete", &[Pictured { path, old: Some(text), new: None, verb: "delete" }]),
            Err(_) => not_text(path, "delete", found.bytes.len(), false),
        };
        let states = (vec![Fingerprint::digest(path, &digest)], vec![Fingerprint::absent(path)]);
        let file = StagedFile {
            before_digest: Some(digest),
            mode: root.mode(&inside),
            ..StagedFile::at(path.to_owned())
        };
        propose(NAME, &picture, states, vec![file], false)
    }
}
