//! The bytes from before a write: read before it, put back after a crash, offered as an undo.

use serde_json::Value;
use trunkline_agent_traits::Kept;
use trunkline_agent_traits::resolve_queue::{Entry, Fingerprint, Outcome, Preview, SubjectState};

use crate::payload::{StagedFile, StagedFiles, approved_place};
use crate::picture::{Picture, Pictured, moved, not_text, picture};
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
///
/// What was there comes back before what was not there goes, so that a file that was moved is never nowhere.
pub(crate) fn put_back(root: &Root, entry: &Entry<Value>, mut kept: Vec<Kept>) -> Outcome {
    let files = StagedFiles::read(&entry.proposal.payload).map(|staged| staged.files).unwrap_or_default();
    let (mut stuck, mut unsure) = (Vec::new(), Vec::new());
    let was_there: Vec<Fingerprint> =
        kept.iter().filter(|kept| kept.bytes.is_some()).map(|kept| kept.fingerprint.clone()).collect();
    let comes = |subject: &&str| was_there.iter().any(|one| one.subject == *subject);
    let (coming, going): (Vec<&str>, Vec<&str>) = entry.part().partition(comes);
    for subject in coming.into_iter().chain(going) {
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
        if let Some(source) = staged.and_then(|file| file.from.as_ref())
            && !was_there.contains(&fingerprint::observe(root, source))
        {
            let source = shown::name(source);
            stuck.push(format!("{name} stays, since what was moved there could not come back to {source}"));
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
    let mut undos = Vec::with_capacity(done.len());
    for file in done {
        let at = kept.iter().position(|kept| kept.fingerprint.subject == file.path)?;
        let Kept { fingerprint, bytes: old } = kept.swap_remove(at);
        if looks(&file.path, old.as_deref()) != fingerprint {
            return None;
        }
        let after = entry.proposal.after.iter().find(|after| after.subject == file.path)?;
        let before_digest = match &after.state {
            SubjectState::Digest(digest) => Some(digest.clone()),
            SubjectState::Absent => None,
        };
        let mode = match (file.goes(), &old) {
            (false, None) => root.place(&file.path).ok().and_then(|inside| root.mode(&inside)),
            (true, Some(_)) => file.mode,
            _ => None,
        };
        let new = file.bytes().ok()?;
        let undo = StagedFile { before_digest, mode, folders: file.folders, ..StagedFile::at(file.path) };
        undos.push(Undo { undo, from: file.from, new, old });
    }
    let preview = pictured(&undos)?.preview();
    // What was moved goes back by a move, and comes to its old place before it leaves the other.
    let ends: Vec<(String, String)> =
        undos.iter().filter_map(|undo| Some((undo.from.clone()?, undo.undo.path.clone()))).collect();
    let (coming, going): (Vec<Undo>, Vec<Undo>) = if ends.is_empty() {
        (undos, Vec::new())
    } else {
        undos.into_iter().partition(|undo| undo.old.is_some())
    };
    let files = coming.into_iter().chain(going).map(|Undo { undo, old, .. }| {
        match (ends.iter().find(|(from, _)| *from == undo.path), old) {
            (Some((_, to)), _) => StagedFile { from: Some(to.clone()), mode: None, ..undo },
            (None, Some(old)) => undo.holding(old),
            (None, None) => undo,
        }
    });
    Some((serde_json::to_value(StagedFiles { files: files.collect() }).ok()?, preview))
}

/// One file that an undo changes.
struct Undo {
    undo: StagedFile,
    /// Where the proposal has moved it from.
    from: Option<String>,
    /// What the proposal has put there, and what was there before.
    new: Option<Vec<u8>>,
    old: Option<Vec<u8>>,
}

/// Draws an undo; `None` for what no tool of this crate stages.
fn pictured(undos: &[Undo]) -> Option<Picture> {
    let text = |bytes: &Option<Vec<u8>>| match bytes {
        Some(bytes) => std::str::from_utf8(bytes).ok().map(|text| Some(text.to_owned())),
        None => Some(None),
    };
    match undos {
        [to, from] if to.from.as_ref() == Some(&from.undo.path) => {
            return Some(moved(&to.undo.path, &from.undo.path));
        }
        [from, to] if to.from.as_ref() == Some(&from.undo.path) => {
            return Some(moved(&to.undo.path, &from.undo.path));
        }
        [Undo { undo, new: None, old: Some(old), .. }] if std::str::from_utf8(old).is_err() => {
            return Some(not_text(&undo.path, "create", old.len(), true));
        }
        [Undo { undo, new: Some(new), old: None, .. }] if std::str::from_utf8(new).is_err() => {
            return Some(not_text(&undo.path, "remove", new.len(), false));
        }
        _ => {}
    }
    let texts: Vec<(Option<String>, Option<String>)> =
        undos.iter().map(|undo| Some((text(&undo.new)?, text(&undo.old)?))).collect::<Option<_>>()?;
    let pictured: Vec<Pictured<'_>> = undos
        .iter()
        .zip(&texts)
        .map(|(undo, (new, old))| Pictured {
            path: &undo.undo.path,
            old: new.as_deref(),
            new: old.as_deref(),
            verb: match (new, old) {
                (_, None) => "remove",
                (None, _) => "create",
                _ => "restore",
            },
        })
        .collect();
    Some(picture("restore", &pictured))
}

fn looks(subject: &str, bytes: Option<&[u8]>) -> Fingerprint {
    match bytes {
        Some(bytes) => Fingerprint::digest(subject, fingerprint::digest(bytes)),
        None => Fingerprint::absent(subject),
    }
}
