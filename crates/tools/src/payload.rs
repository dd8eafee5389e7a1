//! What a staged write carries: the whole new files.
//!
//! What was approved is therefore what is written; nothing is computed again.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_agent_traits::resolve_queue::{Entry, Fingerprint, SubjectState};

use crate::replace::{Change, Guise};
use crate::root::{Inside, Root};
use crate::{fingerprint, shown};

/// At most so many files are written at once: each is open until all are in their places.
pub(crate) const MAX_FILES: usize = 64;

/// What a proposal of the staging tools carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StagedFiles {
    pub(crate) files: Vec<StagedFile>,
}

/// One file of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StagedFile {
    pub(crate) path: String,
    /// `None` if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before_digest: Option<String>,
    /// The whole new file; `None` if it is to be gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// The permission bits of a file that is made anew; of one that is to be gone, those it has.
    ///
    /// In an undo alone. A file that is replaced keeps its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<u32>,
    /// How many of the folders that a new file lies in were not there: an undo takes them away again, if they are empty.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) folders: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What the logs of 0.1 before `edit_files` hold: one file, never a removal.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StagedWrite {
    path: String,
    #[serde(default)]
    before_digest: Option<String>,
    content: String,
}

impl StagedFiles {
    /// Reads a payload.
    pub(crate) fn read(payload: &Value) -> Result<Self, String> {
        let read = if payload.get("files").is_some() {
            StagedFiles::deserialize(payload)
        } else {
            StagedWrite::deserialize(payload).map(|StagedWrite { path, before_digest, content }| {
                let file = StagedFile { path, before_digest, content: Some(content), mode: None, folders: 0 };
                StagedFiles { files: vec![file] }
            })
        };
        let read = read.map_err(|error| {
            format!("the payload is not one of this tool: {}", shown::line(&error.to_string(), 300))
        })?;
        match read.files.len() {
            count if count > MAX_FILES => Err(format!("it holds {count} files; the limit is {MAX_FILES}")),
            _ => Ok(read),
        }
    }

    /// Returns the files of the part that was approved.
    ///
    /// The decider saw the fingerprints and a diff made from the same bytes; a payload that says something else than the
    /// fingerprints is none that anybody approved.
    pub(crate) fn approved(self, entry: &Entry<Value>) -> Result<Vec<StagedFile>, String> {
        let part: BTreeSet<&str> = entry.part().collect();
        let mut seen = BTreeSet::new();
        let mut files = Vec::with_capacity(part.len());
        for file in self.files {
            let name = shown::name(&file.path);
            if !seen.insert(file.path.clone()) {
                return Err(format!("the payload holds {name} twice"));
            }
            if !entry.proposal.after.iter().any(|after| after.subject == file.path) {
                return Err(format!("the payload holds {name}, which is not in the proposal"));
            }
            let (before, after) = (state(file.before_digest.clone()), state(file.after_digest()));
            let agrees = |list: &[Fingerprint], state: &SubjectState| {
                list.iter().all(|one| one.subject != file.path || one.state == *state)
            };
            if !agrees(&entry.proposal.fingerprints, &before) || !agrees(&entry.proposal.after, &after) {
                return Err(format!("the payload for {name} is not the one that was proposed"));
            }
            if before == SubjectState::Absent && after == SubjectState::Absent {
                return Err(format!("the payload says nothing of {name}"));
            }
            if part.contains(file.path.as_str()) {
                files.push(file);
            }
        }
        match part.iter().find(|subject| !seen.contains(**subject)) {
            Some(subject) => Err(format!("the payload does not hold {}", shown::name(subject))),
            None if files.is_empty() => Err("the payload holds no file".to_owned()),
            None => Ok(files),
        }
    }
}

impl StagedFile {
    pub(crate) fn after_digest(&self) -> Option<String> {
        self.content.as_deref().map(|content| fingerprint::digest(content.as_bytes()))
    }

    /// Finds the file's place, which must still be the one that was approved.
    pub(crate) fn change(self, root: &Root) -> Result<Change, String> {
        let inside = approved_place(root, &self.path)?;
        // A file that is replaced keeps its mode.
        let mode = if self.before_digest.is_none() { self.mode } else { None };
        Ok(Change {
            inside,
            before: self.before_digest,
            content: self.content.map(String::into_bytes),
            guise: mode.map(Guise::of_mode),
            folders: self.folders,
        })
    }
}

/// Finds a place by the name that a proposal gives it; a link on the way may have made another place of it.
pub(crate) fn approved_place(root: &Root, path: &str) -> Result<Inside, String> {
    match root.place(path) {
        Ok(inside) if inside.as_str() == path => Ok(inside),
        Ok(inside) => Err(format!("{} leads to {} now", shown::name(path), shown::name(inside.as_str()))),
        Err(error) => Err(error.into()),
    }
}

fn state(digest: Option<String>) -> SubjectState {
    digest.map_or(SubjectState::Absent, SubjectState::Digest)
}
