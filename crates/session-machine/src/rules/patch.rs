//! What a run changed, as its verdict names it.

use std::collections::BTreeSet;

use trunkline_decision_objects::{Change, Diff, PatchSet, PatchSetId, RelativePath, TouchedFile};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::Record;

use crate::notes;
use crate::notes::decision::{DecidingNote, unfit};
use crate::state::decision::OpenRun;
use crate::words::error::RuntimeError;
use crate::words::files::{Changes, Deciding, FileChange};

/// The longest diff that is kept in a patch set; a longer one is named by its digest.
const DIFF_KEPT_BYTES: usize = 256 * 1024;

/// Returns the records of what is about to be committed: the patch set, and the note that names it.
pub(crate) fn announce(
    run: &OpenRun,
    deciding: &Deciding,
    changes: &Changes,
    head: NodeId,
    at: Timestamp,
) -> Result<Vec<Record>, RuntimeError> {
    let id = deciding.patch_set.parse().map_err(unfit)?;
    let patch_set = patch_set(run, id, changes)?;
    let names = || changes.files.iter().map(|file| &file.path);
    let plain = names().all(|name| RelativePath::new(name.as_str()).is_ok());
    let paths = if plain { Vec::new() } else { names().cloned().collect() };
    let note = DecidingNote { head, deciding: deciding.clone(), paths };
    Ok(vec![notes::decision::patch_set(&patch_set, at), notes::decision::deciding(&note, at)])
}

pub(super) fn patch_set(run: &OpenRun, id: PatchSetId, changes: &Changes) -> Result<PatchSet, RuntimeError> {
    let files = changes.files.iter().map(|file| {
        Ok(TouchedFile {
            path: relative_path(&file.path)?,
            change: match file.change {
                FileChange::Added => Change::Added,
                FileChange::Modified => Change::Modified,
                FileChange::Deleted => Change::Deleted,
            },
            added_lines: file.added,
            deleted_lines: file.deleted,
        })
    });
    let mut files = files.collect::<Result<Vec<_>, RuntimeError>>()?;
    // Names that are no UTF-8 can become the same path, and a run must be decidable all the same.
    let mut seen = BTreeSet::new();
    files.retain(|file| seen.insert(file.path.clone()));
    let diff = &changes.diff;
    let diff = if diff.len() <= DIFF_KEPT_BYTES {
        Diff::kept(diff.clone())
    } else {
        Diff::named(trunkline_decision_objects::Digest::of(diff.as_bytes()))
    };
    PatchSet::new(id, run.record.id(), run.record.opening().base.commit, files, diff).map_err(unfit)
}

/// Returns a path as a verdict can hold it; characters that it cannot hold are written `%` and their bytes in hex.
pub(crate) fn relative_path(path: &str) -> Result<RelativePath, RuntimeError> {
    let escaped = || -> String {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
        path.bytes()
            .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
            .collect()
    };
    RelativePath::new(path).or_else(|_| RelativePath::new(escaped())).map_err(unfit)
}
