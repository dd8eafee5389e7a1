//! What a staged write carries: the whole new files, and where a file is moved the one that it comes from.
//!
//! What was approved is therefore what is written; nothing is computed again.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
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
    /// The whole new file, if it is text; it is to be gone if this, `base64` and `from` are `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) content: Option<String>,
    /// The whole new file, if it is no text. In an undo alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base64: Option<String>,
    /// The file that is moved here: one that is to be gone, and is in the payload too. Its bytes are those of its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<String>,
    /// The permission bits of a file that is made anew; of one that is to be gone, those it has.
    ///
    /// A file that is replaced or moved keeps its own.
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
                let file = StagedFile { before_digest, content: Some(content), ..StagedFile::at(path) };
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
        let gone: BTreeMap<String, Option<String>> =
            self.files.iter().filter(|file| file.goes()).map(StagedFile::before).collect();
        for file in self.files {
            let name = shown::name(&file.path);
            if !seen.insert(file.path.clone()) {
                return Err(format!("the payload holds {name} twice"));
            }
            if !entry.proposal.after.iter().any(|after| after.subject == file.path) {
                return Err(format!("the payload holds {name}, which is not in the proposal"));
            }
            let after = match &file.from {
                None => file.own_digest()?,
                Some(from) => file.moved_digest(from, &gone, &part)?,
            };
            let (before, after) = (state(file.before_digest.clone()), state(after));
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
    /// A file of which nothing is known but its path.
    pub(crate) fn at(path: String) -> Self {
        let (before_digest, content, base64, from, mode) = (None, None, None, None, None);
        StagedFile { path, before_digest, content, base64, from, mode, folders: 0 }
    }

    /// Puts bytes into it, as text if they are some.
    pub(crate) fn holding(self, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => StagedFile { content: Some(text), ..self },
            Err(error) => StagedFile { base64: Some(STANDARD.encode(error.as_bytes())), ..self },
        }
    }

    /// Whether it is to be gone.
    pub(crate) fn goes(&self) -> bool {
        self.content.is_none() && self.base64.is_none() && self.from.is_none()
    }

    fn before(&self) -> (String, Option<String>) {
        (self.path.clone(), self.before_digest.clone())
    }

    /// Returns the bytes that it holds itself; `None` if they are another file's, or it is to be gone.
    pub(crate) fn bytes(&self) -> Result<Option<Vec<u8>>, String> {
        let name = || shown::name(&self.path);
        match (&self.content, &self.base64, &self.from) {
            (Some(text), None, None) => Ok(Some(text.clone().into_bytes())),
            (None, Some(packed), None) => STANDARD
                .decode(packed)
                .map(Some)
                .map_err(|error| format!("what the payload holds of {} cannot be read: {error}", name())),
            (None, None, _) => Ok(None),
            _ => Err(format!("the payload says more than one thing of {}", name())),
        }
    }

    fn own_digest(&self) -> Result<Option<String>, String> {
        Ok(self.bytes()?.map(|bytes| fingerprint::digest(&bytes)))
    }

    /// Returns the digest of what is moved here, which goes away in its old place by the same approval.
    fn moved_digest(
        &self,
        from: &str,
        gone: &BTreeMap<String, Option<String>>,
        part: &BTreeSet<&str>,
    ) -> Result<Option<String>, String> {
        self.bytes()?;
        let (name, source) = (shown::name(&self.path), shown::name(from));
        if part.contains(self.path.as_str()) != part.contains(from) {
            return Err(format!(
                "{source} and {name} are the two ends of one move, and only one was approved"
            ));
        }
        match (gone.get(from), &self.before_digest) {
            (Some(Some(digest)), None) => Ok(Some(digest.clone())),
            _ => Err(format!("the payload moves {source} to {name}, and does not say so of both")),
        }
    }

    /// Finds the file's place, which must still be the one that was approved; `all` are the files that are changed with it.
    pub(crate) fn change(&self, root: &Root, all: &[StagedFile]) -> Result<Change, String> {
        let inside = approved_place(root, &self.path)?;
        let (content, guise) = match &self.from {
            None => {
                // A file that is replaced keeps its mode.
                let mode = if self.before_digest.is_none() { self.mode } else { None };
                (self.bytes()?, mode.map(Guise::of_mode))
            }
            Some(from) => {
                let before =
                    all.iter().find(|file| file.path == *from).and_then(|file| file.before_digest.as_ref());
                let found = root.read(&approved_place(root, from)?)?;
                let found = found.ok_or_else(|| format!("{} is gone", shown::name(from)))?;
                if before != Some(&fingerprint::digest(&found.bytes)) {
                    return Err(format!("{} has changed since the proposal was made", shown::name(from)));
                }
                let guise = Guise::for_old_bytes(&found.stat);
                (Some(found.bytes), Some(guise))
            }
        };
        Ok(Change { inside, before: self.before_digest.clone(), content, guise, folders: self.folders })
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
