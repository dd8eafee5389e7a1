//! The bytes from before a write: read before it, put back after a crash, offered as an undo.

use serde_json::Value;
use trunkline_agent_traits::Kept;
use trunkline_agent_traits::resolve_queue::{Entry, Fingerprint, Outcome, Preview, SubjectState};

use crate::payload::{StagedFile, StagedFiles, approved_place};
use crate::picture::{Pictured, picture};
use crate::replace::{Change, Guise, clear, prune, replace};
use crate::root::Root;
use crate::{fingerprint, shown};

/// Reads what is at each place; all of it, or nothing.
pub(crate) fn keep(root: &Root, subjects: &[String]) -> Vec<Kept> {
    let kept: Option<Vec<Kept>> = subjects
        .iter()
        .map(|subject| {
            let inside = approved_place(root, subject).ok()?;
            let bytes = root.read(&inside).ok()?.map(|read| read.bytes);
            Some(Kept { fingerprint: looks(subject, bytes.as_deref()), bytes })
        })
        .collect();
    kept.unwrap_or_default()
}

/// Puts back what a cut-off apply has written, file by file; doing it again does the rest.
pub(crate) fn put_back(root: &Root, entry: &Entry<Value>, mut kept: Vec<Kept>) -> Outcome {
    let files = StagedFiles::read(&entry.proposal.payload).map(|staged| staged.files).unwrap_or_default();
    let (mut stuck, mut unsure) = (Vec::new(), Vec::new());
    for subject in entry.part() {
        let name = shown::name(subject);
        let inside = match approved_place(root, subject) {
            Ok(inside) => inside,
            Err(why) => {
                stuck.push(why);
                continue;
            }
        };
        clear(root, &inside);
        let Some(at) = kept.iter().position(|kept| kept.fingerprint.subject == subject) else {
            stuck.push(format!("of {name} nothing was kept"));
            continue;
        };
        let Kept { fingerprint, bytes } = kept.swap_remove(at);
        let now = fingerprint::observe(root, subject);
        let staged = files.iter().find(|file| file.path == subject);
        let folders = staged.map_or(0, |file| file.folders);
        if now == fingerprint {
            if bytes.is_none() {
                prune(root, &inside, folders);
            }
            continue;
        }
        if !entry.proposal.after.contains(&now) {
            stuck.push(format!(
                "{name} is neither as before nor as after, so it is somebody else's and stays"
            ));
            continue;
        }
        if looks(subject, bytes.as_deref()) != fingerprint {
            stuck.push(format!("what was kept of {name} is not what was there"));
            continue;
        }
        let before = match now.state {
            SubjectState::Digest(digest) => Some(digest),
            SubjectState::Absent => None,
        };
        // Only what the apply removed has lost its mode.
        let mode = staged.and_then(|file| file.mode);
        let guise = mode.filter(|_| before.is_none()).map(Guise::of_mode);
        match replace(root, &[Change { inside, before, content: bytes, guise, folders }], &|| false) {
            Outcome::Applied => {}
            Outcome::Failed { reason } => stuck.push(format!("{name} could not be put back: {reason}")),
            Outcome::Unknown { reason } => unsure.push(format!("{name}: {reason}")),
        }
    }
    match (stuck.is_empty(), unsure.is_empty()) {
        (true, true) => Outcome::Applied,
        (true, false) => Outcome::Unknown { reason: unsure.join("; ") },
        (false, _) => {
            stuck.extend(unsure);
            Outcome::Failed { reason: stuck.join("; ") }
        }
    }
}

/// Makes what takes an applied proposal back: a payload like any other, and what it looks like.
pub(crate) fn undo(root: &Root, entry: &Entry<Value>, mut kept: Vec<Kept>) -> Option<(Value, Preview)> {
    let done = StagedFiles::read(&entry.proposal.payload).ok()?.approved(entry).ok()?;
    let mut files = Vec::with_capacity(done.len());
    for file in &done {
        let at = kept.iter().position(|kept| kept.fingerprint.subject == file.path)?;
        let Kept { fingerprint, bytes } = kept.swap_remove(at);
        if looks(&file.path, bytes.as_deref()) != fingerprint {
            return None;
        }
        // What a tool of this crate replaces is text: it shows it.
        let content = bytes.map(String::from_utf8).transpose().ok()?;
        let mode = match (&file.content, &content) {
            (Some(_), None) => root.place(&file.path).ok().and_then(|inside| root.mode(&inside)),
            (None, Some(_)) => file.mode,
            _ => None,
        };
        files.push(StagedFile {
            path: file.path.clone(),
            before_digest: file.after_digest(),
            content,
            mode,
            folders: file.folders,
        });
    }
    let pictured: Vec<Pictured<'_>> = done
        .iter()
        .zip(&files)
        .map(|(done, undo)| Pictured {
            path: &undo.path,
            old: done.content.as_deref(),
            new: undo.content.as_deref(),
            verb: match (&done.content, &undo.content) {
                (_, None) => "remove",
                (None, _) => "create",
                _ => "restore",
            },
        })
        .collect();
    let preview = picture("restore", &pictured).preview();
    Some((serde_json::to_value(StagedFiles { files }).ok()?, preview))
}

fn looks(subject: &str, bytes: Option<&[u8]>) -> Fingerprint {
    match bytes {
        Some(bytes) => Fingerprint::digest(subject, fingerprint::digest(bytes)),
        None => Fingerprint::absent(subject),
    }
}
