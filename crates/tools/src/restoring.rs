//! Makes files what they were before a run: all of them or none, and only what the run itself has left so.
//!
//! Each file is looked at by itself: as the run left it, as it was before, or somebody else's. So whoever was killed in
//! the middle is followed by one who does the rest, from the same data.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use trunkline_agent_traits::resolve_queue::{Outcome, SubjectState};
use trunkline_agent_traits::{
    ChangedFile, Comparison, FileChange, FileStates, KeptFile, Left, Permit, Touched, WorkspaceFault,
};

use crate::folder::fault;
use crate::payload::approved_place;
use crate::picture::{Pictured, picture};
use crate::replace::{Change, Guise, clear, replace_while};
use crate::root::{FileRead, Inside, Root};
use crate::{fingerprint, shown};

/// The bit by which git tells a program from other files: the owner may execute it.
const OWNER_EXECUTES: u32 = 0o100;

/// What a file was before a run.
pub(crate) struct Old {
    /// `None` if there was no file.
    pub(crate) bytes: Option<Vec<u8>>,
    /// So many of its folders were not there either.
    pub(crate) folders: usize,
}

/// What files were before a run, by path.
pub(crate) type Olds = BTreeMap<String, Old>;

/// Returns what a session has kept; of a path that is named twice the first counts.
pub(crate) fn olds(kept: &[KeptFile]) -> Olds {
    let mut olds = Olds::new();
    for file in kept {
        olds.entry(file.path.clone()).or_insert_with(|| Old { bytes: file.bytes.clone(), folders: 0 });
    }
    olds
}

/// How one file stands next to what a run has done to it.
enum Standing<'a> {
    /// It is as it was before the run.
    Before,
    /// It is as the run left it, and can be made what it was.
    After { inside: Inside, old: &'a Old, now: Option<FileRead> },
    /// It is neither, or cannot be made what it was.
    InTheWay(String),
}

/// Says what would be done, and what stands in the way.
pub(crate) fn compare(root: &Path, left: &Left, olds: &Olds) -> Result<Comparison, WorkspaceFault> {
    let root = open(root)?;
    let mut comparison = Comparison { conflicts: unknown(left), ..Comparison::default() };
    let mut texts: Vec<(&str, Option<String>, Option<String>)> = Vec::new();
    for file in &left.files {
        match standing(&root, file, olds) {
            Standing::Before => {}
            Standing::InTheWay(why) => comparison.conflicts.push(why),
            Standing::After { old, now, .. } => {
                let change = match (&file.before, &file.after) {
                    (None, _) => FileChange::Deleted,
                    (_, None) => FileChange::Added,
                    _ => FileChange::Modified,
                };
                let changed = ChangedFile { path: file.path.clone(), change, added: None, deleted: None };
                comparison.files.push(changed);
                let text = |bytes: Option<Vec<u8>>| bytes.map(String::from_utf8).transpose();
                // What is not text is named, and not shown.
                if let (Ok(now), Ok(old)) = (text(now.map(|now| now.bytes)), text(old.bytes.clone())) {
                    texts.push((&file.path, now, old));
                }
            }
        }
    }
    let pictured: Vec<Pictured<'_>> = texts
        .iter()
        .map(|(path, now, old)| Pictured {
            path,
            old: now.as_deref(),
            new: old.as_deref(),
            verb: match (now, old) {
                (_, None) => "remove",
                (None, _) => "create",
                _ => "restore",
            },
        })
        .collect();
    if !pictured.is_empty() {
        comparison.diff = picture("restore", &pictured).preview().diff.unwrap_or_default();
    }
    Ok(comparison)
}

/// Makes every file what it was. What is so already stays. Without the permit nothing more is written, nor put back.
pub(crate) fn restore(root: &Path, left: &Left, olds: &Olds, permit: &Permit) -> Result<(), WorkspaceFault> {
    let root = open(root)?;
    let (mut changes, mut in_the_way) = (Vec::new(), unknown(left));
    for file in &left.files {
        match standing(&root, file, olds) {
            Standing::Before => {
                // Whoever was killed in the middle may have left something beside it.
                if let Ok(inside) = approved_place(&root, &file.path) {
                    clear(&root, &inside);
                }
            }
            Standing::InTheWay(why) => in_the_way.push(why),
            Standing::After { inside, old, now } => changes.push(Change {
                inside,
                before: file.after.clone(),
                content: old.bytes.clone(),
                guise: guise(file, now.as_ref()).or_else(|| moved_guise(&root, left, file)),
                folders: old.folders,
            }),
        }
    }
    if !in_the_way.is_empty() {
        return Err(fault(format!("nothing was put back: {}", in_the_way.join("; "))));
    }
    match replace_while(&root, &changes, &|| permit.stands()) {
        Outcome::Applied => Ok(()),
        Outcome::Failed { reason } => Err(fault(format!("nothing was put back: {reason}"))),
        Outcome::Unknown { reason } => Err(fault(reason)),
    }
}

/// Returns how files were before the first write of a run, and how they are now; of those that applied proposals wrote.
pub(crate) fn states(
    root: &Path,
    touched: &[Touched],
    paths: &[String],
) -> Result<Vec<FileStates>, WorkspaceFault> {
    let root = open(root)?;
    let mut states: Vec<FileStates> = Vec::new();
    let paths: BTreeSet<&str> = paths.iter().map(String::as_str).collect();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for touch in touched.iter().filter(|touch| paths.contains(touch.path.as_str())) {
        let after = match fingerprint::observe(&root, &touch.path).state {
            SubjectState::Absent => None,
            SubjectState::Digest(digest) => Some(digest),
        };
        // What could not be read has another text in the place of its digest.
        let readable =
            |state: &Option<String>| state.as_ref().is_none_or(|digest| digest.starts_with("sha256:"));
        if readable(&after) && readable(&touch.before) && known.insert(&touch.path) {
            let (path, before) = (touch.path.clone(), touch.before.clone());
            states.push(FileStates { path, before, after, before_executable: None, after_executable: None });
        }
    }
    Ok(states)
}

fn open(root: &Path) -> Result<Root, WorkspaceFault> {
    Root::open(root).map_err(|error| fault(error.to_string()))
}

fn unknown(left: &Left) -> Vec<String> {
    let not_known = |path: &String| {
        format!("it is not known what the run did to {}: put it back by hand", shown::name(path))
    };
    left.unknown.iter().map(not_known).collect()
}

fn standing<'a>(root: &Root, file: &FileStates, olds: &'a Olds) -> Standing<'a> {
    let name = shown::name(&file.path);
    let inside = match approved_place(root, &file.path) {
        Ok(inside) => inside,
        Err(why) => return Standing::InTheWay(why),
    };
    let now = match root.read(&inside) {
        Ok(now) => now,
        Err(error) => return Standing::InTheWay(error.into()),
    };
    let digest = now.as_ref().map(|now| fingerprint::digest(&now.bytes));
    let executable = now.as_ref().map(|now| now.stat.st_mode & OWNER_EXECUTES != 0);
    let same = |wanted: Option<bool>| wanted.is_none() || executable.is_none() || wanted == executable;
    if digest == file.before && same(file.before_executable) {
        return Standing::Before;
    }
    if digest != file.after || !same(file.after_executable) {
        return Standing::InTheWay(match (&now, &file.after) {
            (Some(_), None) => {
                format!("{name} has been changed since: the run removed it, and there is a file again")
            }
            (Some(_), Some(_)) if digest != file.after => {
                format!("{name} has been changed since: its text is not what the run left")
            }
            (Some(_), Some(_)) => {
                format!("{name} has been changed since: only whether it may be executed, see `chmod`")
            }
            (None, _) => format!("{name} has been removed since: it is not there any more"),
        });
    }
    match olds.get(&file.path) {
        Some(old) if old.bytes.as_deref().map(fingerprint::digest) == file.before => {
            Standing::After { inside, old, now }
        }
        _ => Standing::InTheWay(format!(
            "what {name} was before is not kept anywhere any more: put it back by hand"
        )),
    }
}

/// Returns what a file gets that the run has moved, where version control does not know it: what its bytes have where they lie now.
fn moved_guise(root: &Root, left: &Left, file: &FileStates) -> Option<Guise> {
    if file.before_executable.is_some() || file.before.is_none() {
        return None;
    }
    let mut elsewhere =
        left.files.iter().filter(|other| other.path != file.path && other.after == file.before);
    let (Some(other), None) = (elsewhere.next(), elsewhere.next()) else { return None };
    let found = root.read(&approved_place(root, &other.path).ok()?).ok()??;
    (Some(fingerprint::digest(&found.bytes)) == file.before).then(|| Guise::for_old_bytes(&found.stat))
}

/// Returns what a file gets besides its bytes, where that is not what the present one has.
fn guise(file: &FileStates, now: Option<&FileRead>) -> Option<Guise> {
    let executable = file.before_executable?;
    match now {
        None => executable.then(|| Guise::of_mode(0o755)),
        Some(now) => {
            let mode = now.stat.st_mode;
            // Who may read it may execute it, as git has it.
            let wanted = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
            (wanted != mode).then(|| Guise::of_mode(wanted))
        }
    }
}
