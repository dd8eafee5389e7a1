//! The states of files that refs of a repository keep, beside the checkpoints of this store.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use trunkline_git_binding::{Checkpoint, Repository};
use trunkline_runtime::decision_objects::{CheckpointFiles, Decision, GitOid};
use trunkline_session_store::FoundNote;

use super::known::Known;
use super::lines::as_line;
use crate::desk::place::Place;
use crate::desk::repository::{same_repository, unbound};
use crate::shown::checkpoint::{kept_by, put_back};
use crate::shown::verdict::short_commit;
use crate::term::fault::Fault;
use crate::term::style::{BOLD, DIM, GREEN, RED, YELLOW, paint};
use crate::term::text::one_line;
use crate::term::{out, screen, tell};

/// The state in the key of a verdict that is a checkpoint.
const CHECKPOINT: &str = "checkpoint";

/// How a ref and a verdict stand to each other.
#[derive(Copy, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Standing {
    /// The ref keeps what the verdict names.
    Same,
    /// The ref holds another commit than the verdict names.
    Differs,
    /// The ref is there, and its files are not.
    FilesGone,
    /// The verdict is here, its files are there, and no ref keeps them.
    RefGone,
    /// The verdict is here, and neither ref nor files are.
    Gone,
    /// The ref is there, and the run is open: a try was cut off, and the next one writes it again.
    CutOff,
    /// The ref is there, and the run has ended otherwise: a try was cut off.
    LeftOver,
    /// This store does not know the run.
    Absent,
}

impl Standing {
    fn is_broken(self) -> bool {
        matches!(self, Standing::Differs | Standing::FilesGone | Standing::RefGone | Standing::Gone)
    }

    fn told(self) -> String {
        match self {
            Standing::Same => paint(GREEN, "kept"),
            Standing::Differs => paint(RED, "differs: the checkpoint names another commit"),
            Standing::FilesGone => paint(RED, "broken: its files are not in this repository any more"),
            Standing::RefGone => paint(YELLOW, "no ref keeps it any more: git will take its files"),
            Standing::Gone => paint(RED, "gone: neither its ref nor its files are here any more"),
            Standing::CutOff => {
                paint(YELLOW, "cut off: its run is open; the next `decide checkpoint` writes it again")
            }
            Standing::LeftOver => paint(YELLOW, "left over: its run has no such verdict"),
            Standing::Absent => paint(YELLOW, "not in this store"),
        }
    }
}

#[derive(Serialize)]
struct Line<'a> {
    version: u32,
    reference: &'a str,
    run_id: &'a str,
    checkpoint: Standing,
    commit: String,
    tree: Option<String>,
    session: Option<&'a str>,
}

/// A checkpoint of this store.
struct Ours<'a> {
    note: &'a FoundNote,
    decision: Decision,
    tree: GitOid,
}

/// Lists them. Returns whether any is not as it should be.
///
/// `folder` is what was typed with -C, so that what is printed works from where it is pasted.
pub(super) fn list(
    known: &Known,
    repository: &Repository,
    json: bool,
    (place, folder): (&Place, Option<&str>),
) -> Result<bool, Fault> {
    let refs = repository.checkpoints().map_err(unbound)?;
    let all = of_store(known);
    let told = Teller { known, json, place, folder };
    let mut broken = false;
    for one in &refs {
        let ours = all.get(one.reference.as_str());
        let standing = match ours {
            Some(ours) => of_ref(one, ours),
            None if known.open.contains_key(run_in(&one.reference)) => Standing::CutOff,
            None if known.verdicts.contains_key(run_in(&one.reference)) => Standing::LeftOver,
            None => Standing::Absent,
        };
        broken |= standing.is_broken();
        told.add(ours, (&one.reference, one.commit, one.tree), standing)?;
    }
    let mut folders: HashMap<&str, bool> = HashMap::new();
    let is_missing = |reference: &String| !refs.iter().any(|one| one.reference == *reference);
    let mut missing: Vec<_> = all.iter().filter(|(reference, _)| is_missing(reference)).collect();
    missing.sort_unstable_by_key(|(reference, _)| *reference);
    for (reference, ours) in missing {
        // A store may have sessions of many folders, each of which is looked up once.
        let Some(folder) = known.folder_of(ours.note) else { continue };
        let is_here = || same_repository(repository, Path::new(folder));
        let Some((_, commit)) = kept_by(&ours.decision) else { continue };
        if !*folders.entry(folder).or_insert_with(is_here) {
            continue;
        }
        let standing = match repository.has_state(commit, ours.tree).map_err(unbound)? {
            true => Standing::RefGone,
            false => Standing::Gone,
        };
        broken = true;
        told.add(Some(ours), (reference, commit, Some(ours.tree)), standing)?;
    }
    Ok(broken)
}

struct Teller<'a> {
    known: &'a Known,
    json: bool,
    place: &'a Place,
    folder: Option<&'a str>,
}

impl Teller<'_> {
    /// Prints one, as a line for programs or in lines for people.
    fn add(
        &self,
        ours: Option<&Ours<'_>>,
        (reference, commit, tree): (&str, GitOid, Option<GitOid>),
        standing: Standing,
    ) -> Result<(), Fault> {
        if self.json {
            let line = as_line(&Line {
                version: 1,
                reference,
                run_id: run_in(reference),
                checkpoint: standing,
                commit: commit.to_string(),
                tree: tree.map(|tree| tree.to_string()),
                session: ours.map(|ours| ours.note.session.as_str()),
            });
            return out::print_lines(line.as_bytes());
        }
        let words = ours.map(|ours| one_line(&ours.decision.verdict().to_string(), 100));
        let words = words.unwrap_or_else(|| "checkpoint".to_owned());
        let head = format!(
            "{}  {words}\n  {}  {}  {}\n",
            paint(BOLD, &one_line(run_in(reference), 40)),
            standing.told(),
            short_commit(&commit),
            paint(DIM, &one_line(reference, 120)),
        );
        let mut shown = screen::page(&head).into_owned();
        if let Some(ours) = ours {
            let show = format!("decisions {} -s {}", ours.decision.run(), self.known.name(ours.note));
            shown.push_str(&screen::command_line(DIM, "  look:  ", &self.place.command(&show)));
        }
        out::print(&shown)?;
        if let (Standing::RefGone, Some(kept)) = (standing, ours.and_then(|ours| kept_by(&ours.decision))) {
            tell::tell_command("keep it again:  ", &put_back(kept, self.folder));
        }
        Ok(())
    }
}

fn of_ref(one: &Checkpoint, ours: &Ours<'_>) -> Standing {
    match kept_by(&ours.decision) {
        Some((_, commit)) if commit != one.commit => Standing::Differs,
        _ if one.tree != Some(ours.tree) => Standing::FilesGone,
        _ => Standing::Same,
    }
}

/// The run in the name of a ref.
fn run_in(reference: &str) -> &str {
    reference.rsplit('/').next().unwrap_or_default()
}

/// The checkpoints of this store whose files were kept, by their refs. What an import calls otherwise is none of ours.
fn of_store(known: &Known) -> HashMap<String, Ours<'_>> {
    let checkpoints = known.verdicts.values().filter(|note| note.key.state == CHECKPOINT);
    let ours = checkpoints.filter_map(|note| {
        let decision = Decision::parse(note.body.as_bytes()).ok()?;
        let reference = kept_by(&decision)?.0.to_owned();
        let CheckpointFiles::Kept { tree, .. } = decision.verdict().checkpoint_state()?.files else {
            return None;
        };
        Some((reference, Ours { note, decision, tree }))
    });
    ours.collect()
}
