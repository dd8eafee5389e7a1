//! `move_file`: another path for a file, staged.
//!
//! The payload names the digest of the file and not its bytes, so what is no text can be moved as well. The file comes to its new
//! place before it leaves the old one: a kill in between leaves both, and never none.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::resolve_queue::Fingerprint;
use trunkline_agent_traits::{Cancel, EffectClass, Effects, ToolOutput};

use crate::payload::StagedFile;
use crate::picture::moved;
use crate::root::{PathError, Root};
use crate::stage::propose;
use crate::staging_tool::Editor;
use crate::{call, fingerprint, shown};

const NAME: &str = "move_file";

pub(crate) struct MoveFile;

#[derive(Deserialize)]
struct Arguments {
    from: String,
    to: String,
}

impl Editor for MoveFile {
    fn spec() -> ToolSpec {
        call::spec(
            NAME,
            "Proposes to move or rename one file, of any kind; missing folders are made. There must be no file at `to`. \
             Nothing is written until the proposal is approved.",
            json!({
                "from": {"type": "string", "description": "the file, relative to the workspace"},
                "to": {"type": "string", "description": "its whole new path, with its name"},
            }),
            &["from", "to"],
        )
    }

    fn effects(arguments: &Map<String, Value>) -> Effects {
        let ends = ["from", "to"].into_iter().filter_map(|end| call::text(arguments, end));
        ends.fold(Effects::new(EffectClass::Reversible), Effects::writing)
    }

    fn stage(root: &Root, arguments: Map<String, Value>, _: &Cancel) -> Result<ToolOutput, String> {
        let Arguments { from, to } = call::arguments(arguments)?;
        let source = root.place(&from).map_err(|error| match error {
            PathError::NotAFile { .. } => format!("{}; move its files one by one", String::from(error)),
            error => error.into(),
        })?;
        let target = root.place(&to).map_err(|error| match error {
            PathError::NotAFile { .. } => {
                format!("{}; give the whole new path, with the name of the file", String::from(error))
            }
            error => error.into(),
        })?;
        if source == target {
            return Err(format!("{} is where it is already", shown::name(source.as_str())));
        }
        let found = root.read(&source)?.ok_or(PathError::Missing { path: from })?;
        let identity = root.identity(&source);
        if identity.is_some() && root.identity(&target) == identity {
            return Err(format!(
                "{} and {} are one file here, where names that differ so are the same; move it to a third name first, and \
                 then to this one",
                shown::name(source.as_str()),
                shown::name(target.as_str()),
            ));
        }
        if root.read(&target)?.is_some() {
            let target = shown::name(target.as_str());
            return Err(format!(
                "{target} exists already; choose another path, or delete it first with delete_file"
            ));
        }
        let digest = fingerprint::digest(&found.bytes);
        let (from, to) = (source.as_str(), target.as_str());
        let before = vec![Fingerprint::absent(to), Fingerprint::digest(from, &digest)];
        let after = vec![Fingerprint::digest(to, &digest), Fingerprint::absent(from)];
        let files = vec![
            StagedFile {
                from: Some(from.to_owned()),
                folders: root.missing_folders(&target),
                ..StagedFile::at(to.to_owned())
            },
            StagedFile {
                before_digest: Some(digest),
                mode: root.mode(&source),
                ..StagedFile::at(from.to_owned())
            },
        ];
        propose(NAME, &moved(from, to), (before, after), files, false)
    }
}
