//! What this store knows of the decisions of runs, beside what a repository holds.

use std::collections::HashMap;
use std::path::Path;

use serde_json::value::RawValue;
use trunkline_git_binding::{BoundDecision, By, Held, Repository};
use trunkline_runtime::across;
use trunkline_runtime::decision_objects::{Decision, Digest, RunId};
use trunkline_session_store::{FoundNote, SessionInfo};

use crate::commands::decisions::bound::lines::{Line, as_line, first_lines, key, rationale, stands};
use crate::desk::place::Place;
use crate::desk::repository::same_repository;
use crate::shown::session::short;
use crate::shown::verdict::short_commit;
use crate::term::fault::Fault;
use crate::term::screen;
use crate::term::style::{GREEN, RED, YELLOW, paint};

/// How a run stands with a repository: its decision is to be bound, or was.
pub(super) const TO_BIND: &str = "to_bind";
const IS_BOUND: &str = "bound";

/// What this store knows of the decisions of runs.
#[derive(Default)]
pub(super) struct Known {
    sessions: Vec<SessionInfo>,
    /// The verdicts, by their runs.
    pub(super) verdicts: HashMap<String, FoundNote>,
    /// The runs that have none yet, likewise.
    pub(super) open: HashMap<String, FoundNote>,
    /// How runs stand with a repository: to be bound, or bound, by their runs.
    bindings: HashMap<String, FoundNote>,
}

/// How a ref stands to this store.
pub(super) enum Standing<'a> {
    Same(&'a FoundNote),
    Differs(&'a FoundNote),
    Absent,
}

impl Known {
    pub(super) async fn of(place: &Place) -> Result<Self, Fault> {
        // A repository can be read where no session was ever made.
        if !place.exists() {
            return Ok(Known::default());
        }
        let store = place.open().await?;
        let by_run =
            |notes: Vec<FoundNote>| notes.into_iter().map(|note| (note.key.key.clone(), note)).collect();
        Ok(Known {
            sessions: store.sessions().await?,
            verdicts: by_run(store.notes(&across::verdicts()).await?),
            open: by_run(store.notes(&across::open_runs()).await?),
            bindings: by_run(store.notes(&across::bindings()).await?),
        })
    }

    pub(super) fn standing(&self, decision: &Decision) -> Standing<'_> {
        match self.verdicts.get(&decision.run().to_string()) {
            None => Standing::Absent,
            Some(note) if Digest::of(note.body.as_bytes()) == decision.digest() => Standing::Same(note),
            Some(note) => Standing::Differs(note),
        }
    }

    pub(super) fn name<'a>(&self, note: &'a FoundNote) -> &'a str {
        short(&note.session, &self.sessions)
    }

    /// The folder that the session of a note works in.
    pub(super) fn folder_of(&self, note: &FoundNote) -> Option<&str> {
        self.sessions.iter().find(|info| info.id == note.session)?.workspace.as_deref()
    }

    /// The runs of sessions in this repository that should have a ref and have none.
    pub(super) fn missing<'a>(
        &'a self,
        bound: &[BoundDecision],
        repository: &Repository,
    ) -> Vec<(&'a str, &'a FoundNote)> {
        let there: std::collections::HashSet<String> =
            bound.iter().map(|bound| bound.decision.run().to_string()).collect();
        // A store may have sessions of many folders, each of which is looked up once.
        let mut folders: HashMap<&str, bool> = HashMap::new();
        let worked_in: HashMap<&str, &str> = self
            .sessions
            .iter()
            .filter_map(|info| Some((info.id.as_str(), info.workspace.as_deref()?)))
            .collect();
        let mut missing: Vec<(&str, &FoundNote)> = Vec::new();
        for (run, note) in &self.bindings {
            if there.contains(run) || !matches!(note.key.state.as_str(), TO_BIND | IS_BOUND) {
                continue;
            }
            // An import can call a run anything, and its name becomes part of a command.
            if run.parse::<RunId>().is_err() {
                continue;
            }
            let Some(path) = worked_in.get(note.session.as_str()).copied() else { continue };
            if *folders.entry(path).or_insert_with(|| same_repository(repository, Path::new(path))) {
                missing.push((run, note));
            }
        }
        missing.sort_unstable_by_key(|(run, _)| *run);
        missing
    }

    /// Tells of one, in lines that fit the screen.
    pub(super) fn told(
        &self,
        bound: &BoundDecision,
        by: Option<By>,
        held: Option<&Held>,
        standing: &Standing<'_>,
        place: &Place,
    ) -> String {
        let decision = &bound.decision;
        let mut head = first_lines(decision, by);
        if let Some(commit) = &bound.link.commit {
            let stands = stands(held, bound.link.branch.as_deref());
            head.push_str(&format!("  commit {}{stands}\n", short_commit(commit)));
        }
        head.push_str(&rationale(decision));
        let standing = match standing {
            Standing::Same(note) => {
                let show = place.command(&format!("decisions {} -s {}", decision.run(), self.name(note)));
                let line = screen::command_line(GREEN, "as in this store  ", &show);
                return format!("{}{line}", screen::page(&head));
            }
            Standing::Differs(note) => format!(
                "  {} session {} has another decision of this run, with the digest {}; this one has {}\n",
                paint(RED, "differs from this store:"),
                self.name(note),
                Digest::of(note.body.as_bytes()),
                decision.digest()
            ),
            Standing::Absent => format!("  {}\n", paint(YELLOW, "not in this store")),
        };
        screen::page(&(head + &standing)).into_owned()
    }
}

pub(super) fn line(
    bound: &BoundDecision,
    by: Option<By>,
    held: Option<&Held>,
    standing: &Standing<'_>,
) -> String {
    let link = &bound.link;
    let (store, session) = match standing {
        Standing::Same(note) => ("same", Some(note.session.as_str())),
        Standing::Differs(note) => ("differs", Some(note.session.as_str())),
        Standing::Absent => ("absent", None),
    };
    as_line(&Line {
        version: 1,
        reference: Some(&bound.reference),
        run_id: bound.decision.run().to_string(),
        found_by: by.map(key),
        decision: RawValue::from_string(bound.decision.print()).ok(),
        digest: bound.decision.digest().to_string(),
        commit: link.commit.map(|oid| oid.to_string()),
        tree: link.tree.map(|oid| oid.to_string()),
        base: link.base.map(|oid| oid.to_string()),
        patch_id: link.patch_id.map(|oid| oid.to_string()),
        branch: link.branch.as_deref(),
        held: held.map(|held| match held {
            Held::NoBranch => "none",
            Held::Gone => "gone",
            _ => "branch",
        }),
        held_by: held.and_then(|held| match held {
            Held::Branch(name) => Some(name.as_str()),
            _ => None,
        }),
        store,
        session,
    })
}
