//! What a run changed, as its verdict names it.

use std::collections::{BTreeMap, BTreeSet};

use trunkline_decision_objects::{Change, Diff, PatchSet, PatchSetId, RelativePath, TouchedFile};
use trunkline_message_tree::{NodeId, Timestamp};
use trunkline_session_store::Record;

use crate::notes;
use crate::notes::decision::{DecidingNote, unfit};
use crate::state::decision::OpenRun;
use crate::words::error::RuntimeError;
use crate::words::files::{ChangedFile, Changes, Deciding, FileChange, Left};
use crate::words::path::relative_path;

/// The longest diff that is kept in a patch set; a longer one is named by its digest.
const DIFF_KEPT_BYTES: usize = 256 * 1024;

/// What was moved: by the new path, the one that each file had when the run began.
pub(crate) type Moved = BTreeMap<String, String>;

/// Returns the records of what is about to be committed: the patch set, and the note that names it.
pub(crate) fn announce(
    run: &OpenRun,
    deciding: &Deciding,
    changes: &Changes,
    (moved, left): (&Moved, Option<&Left>),
    head: NodeId,
    at: Timestamp,
) -> Result<Vec<Record>, RuntimeError> {
    let id = deciding.patch_set.parse().map_err(unfit)?;
    let patch_set = patch_set(run, id, changes, moved, left)?;
    let names = || changes.files.iter().map(|file| &file.path);
    let plain = names().all(|name| RelativePath::new(name.as_str()).is_ok());
    let paths = if plain { Vec::new() } else { names().cloned().collect() };
    let note = DecidingNote { head, deciding: deciding.clone(), paths };
    Ok(vec![notes::decision::patch_set(&patch_set, at), notes::decision::deciding(&note, at)])
}

pub(super) fn patch_set(
    run: &OpenRun,
    id: PatchSetId,
    changes: &Changes,
    moved: &Moved,
    left: Option<&Left>,
) -> Result<PatchSet, RuntimeError> {
    let renamed = renamed(changes, moved);
    let gone: BTreeSet<&str> = renamed.values().map(|from| from.path.as_str()).collect();
    let files = changes.files.iter().filter(|file| !gone.contains(file.path.as_str())).map(|file| {
        let (mut added, mut deleted) = (file.added, file.deleted);
        let change = match (renamed.get(file.path.as_str()), file.change) {
            (Some(from), _) => {
                // The diff shows both ends whole; what is only moved has no line more or less.
                let same = left.is_some_and(|left| is_only_moved(left, &from.path, &file.path));
                (added, deleted) = if same { (Some(0), Some(0)) } else { (added, from.deleted) };
                Change::Renamed { from: relative_path(&from.path).map_err(unfit)? }
            }
            (None, FileChange::Added) => Change::Added,
            (None, FileChange::Modified) => Change::Modified,
            (None, FileChange::Deleted) => Change::Deleted,
        };
        Ok(TouchedFile {
            path: relative_path(&file.path).map_err(unfit)?,
            change,
            added_lines: added,
            deleted_lines: deleted,
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

/// Returns the new files that were moved from one that is gone, with that one. Names that a verdict cannot hold stay two changes.
fn renamed<'c>(changes: &'c Changes, moved: &'c Moved) -> BTreeMap<&'c str, &'c ChangedFile> {
    let find = |path: &str, change| {
        let is_it = |file: &&ChangedFile| file.path == path && file.change == change;
        changes.files.iter().find(is_it).filter(|file| RelativePath::new(file.path.as_str()).is_ok())
    };
    let pairs = moved.iter().filter_map(|(to, from)| {
        find(to, FileChange::Added)?;
        Some((to.as_str(), find(from, FileChange::Deleted)?))
    });
    pairs.collect()
}

/// Returns whether a file has in its new place the bytes that it had in the old one.
fn is_only_moved(left: &Left, from: &str, to: &str) -> bool {
    let state = |path: &str| left.files.iter().find(|file| file.path == path);
    match (state(from), state(to)) {
        (Some(from), Some(to)) => from.before.is_some() && from.before == to.after,
        _ => false,
    }
}
