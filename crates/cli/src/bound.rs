//! `trunkline decisions --git` and `--commit`: what a repository holds of decisions, beside what this store knows.
//!
//! Reads both, and writes neither. A repository is open to whoever may write to it, so what its refs say is compared with
//! the store where that has the run, and said to be unknown where it has not.

use std::collections::HashMap;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use trunkline_git_binding::{BindError, BoundDecision, By, Found, Repository};
use trunkline_runtime::Event;
use trunkline_runtime::across;
use trunkline_runtime::decision_objects::{Decision, Digest};
use trunkline_session_store::{FoundNote, SessionInfo};

use crate::args::Decisions;
use crate::fault::{Exit, Fault};
use crate::paint::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, tell};
use crate::place::{Place, quoted};
use crate::progress::verdict_style;
use crate::reading::{outcome, short_commit};
use crate::store::{ago, now, short};
use crate::text::{count, one_line};

/// What this store knows of the decisions of runs.
#[derive(Default)]
struct Known {
    sessions: Vec<SessionInfo>,
    /// The verdicts, by their runs.
    verdicts: HashMap<String, FoundNote>,
    /// How runs stand with a repository: to be bound, or bound, by their runs.
    bindings: HashMap<String, FoundNote>,
}

/// How a ref stands to this store.
enum Standing<'a> {
    Same(&'a FoundNote),
    Differs(&'a FoundNote),
    Absent,
}

#[derive(Serialize)]
struct Line<'a> {
    version: u32,
    reference: &'a str,
    run_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    found_by: Option<&'static str>,
    decision: Option<Box<RawValue>>,
    digest: String,
    commit: Option<String>,
    tree: Option<String>,
    base: Option<String>,
    patch_id: Option<String>,
    branch: Option<&'a str>,
    /// `same`, `differs` or `absent`.
    store: &'static str,
    session: Option<&'a str>,
}

#[derive(Serialize)]
struct Lost<'a> {
    version: u32,
    reference: &'a str,
    unreadable: &'a str,
}

/// Lists what the refs of a folder's repository hold.
pub(crate) async fn list(args: &Decisions, place: &Place) -> Result<Exit, Fault> {
    let repository = open(&args.cwd)?;
    let all = repository.all().map_err(unbound)?;
    let known = Known::of(place).await?;
    let mut printed = String::new();
    let mut differ = 0;
    for bound in &all.decisions {
        let standing = known.standing(&bound.decision);
        differ += usize::from(matches!(standing, Standing::Differs(_)));
        printed.push_str(&match args.json {
            true => line(bound, None, &standing),
            false => known.told(bound, None, &standing, place),
        });
    }
    if args.json {
        for lost in &all.unreadable {
            printed.push_str(&as_line(&Lost {
                version: 1,
                reference: &lost.reference,
                unreadable: &lost.why,
            }));
        }
        paint::print_lines(printed.as_bytes())?;
    } else {
        paint::print(&printed)?;
        for lost in &all.unreadable {
            let (name, why) = (one_line(&lost.reference, 120), one_line(&lost.why, 200));
            tell(&format!("{} {name}: {why}\n", paint(YELLOW, "holds no decision:")));
        }
        if all.decisions.is_empty() {
            tell("no decision is bound to this repository; `trunkline run --commit --bind` binds them\n");
        }
    }
    let missing = known.missing(&all.decisions, &repository);
    for (run, note) in &missing {
        let session = known.name(note);
        let (what, next) = match note.key.state.as_str() {
            "to_bind" => ("is not bound yet", format!("resume {session} --bind")),
            _ => ("was bound, and its ref is gone", format!("decisions {}", one_line(run, 36))),
        };
        let run = one_line(run, 36);
        tell(&format!("{} the decision of run {run} {what}\n", paint(YELLOW, "only in this store:")));
        tell(&paint(DIM, &format!("  look:  {}\n", place.command(&next))));
    }
    if differ > 0 {
        let refs = count(differ, "ref");
        tell(&format!("{} {refs} and this store name different decisions\n", paint(RED, "broken:")));
    }
    let broken = differ > 0 || !all.unreadable.is_empty() || !missing.is_empty();
    Ok(if broken { Exit::Broken } else { Exit::Done })
}

/// Finds the decisions behind a commit.
pub(crate) async fn find(args: &Decisions, revision: &str, place: &Place) -> Result<Exit, Fault> {
    let repository = open(&args.cwd)?;
    let found = repository.find(revision).map_err(unbound)?;
    let all = repository.all().map_err(unbound)?;
    let of = |found: &Found| all.decisions.iter().find(|bound| bound.decision.run() == found.run);
    let known = Known::of(place).await?;
    let mut printed = String::new();
    for one in &found {
        // Gone since it was found.
        let Some(bound) = of(one) else { continue };
        let standing = known.standing(&bound.decision);
        printed.push_str(&match args.json {
            true => line(bound, Some(one.by), &standing),
            false => known.told(bound, Some(one.by), &standing, place),
        });
    }
    if args.json {
        paint::print_lines(printed.as_bytes())?;
    } else {
        paint::print(&printed)?;
    }
    if found.is_empty() {
        let revision = one_line(revision, 60);
        return Err(Fault::new(format!("no decision is known to stand behind {revision}")).hint(format!(
            "found are: its id, a line Trunkline-Decision in its message, the same change, the same files; \
             `{}` lists all that are bound",
            place.command("decisions --git")
        )));
    }
    Ok(Exit::Done)
}

/// Refuses what cannot be bound in a folder, before a model is asked.
pub(crate) fn check(folder: &Path) -> Result<(), Fault> {
    let shown = quoted(&one_line(&folder.display().to_string(), 200));
    let without = "or leave --bind out: decisions are kept in the session store either way";
    match Repository::open(folder) {
        Ok(Some(repository)) if repository.facts().bare => {
            Err(Fault::usage(format!("{shown} is a bare repository: it has no files to work on"))
                .hint(format!("work in a worktree of it (`git worktree add`), {without}")))
        }
        Ok(Some(_)) => Ok(()),
        Ok(None) => Err(Fault::usage(format!("--bind needs a git repository, and {shown} is in none"))
            .hint(format!("`git init` makes one, {without}"))),
        Err(error) => Err(unbound(error).hint(without)),
    }
}

/// Tells what was bound, or was not.
pub(crate) fn told(event: &Event) -> Option<String> {
    match event {
        Event::Bound { reference, .. } => {
            Some(format!("{}\n", paint(DIM, &format!("  bound: {}", one_line(reference, 120)))))
        }
        Event::NotBound { run, why } => {
            let (run, why) = (one_line(run, 36), one_line(why, 400));
            Some(format!("{} run {run}: {why}\n", paint(YELLOW, "not bound:")))
        }
        _ => None,
    }
}

fn open(folder: &Path) -> Result<Repository, Fault> {
    let shown = quoted(&one_line(&folder.display().to_string(), 200));
    let found = Repository::open(folder).map_err(unbound)?;
    found.ok_or_else(|| {
        Fault::usage(format!("{shown} is in no git repository")).hint("name the folder of one with -C")
    })
}

fn unbound(error: BindError) -> Fault {
    let usage = matches!(error, BindError::NoSuchRevision { .. });
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        text.push_str(&format!(": {error}"));
        cause = error.source();
    }
    let text = one_line(&text, 500);
    if usage { Fault::usage(text) } else { Fault::new(text) }
}

impl Known {
    async fn of(place: &Place) -> Result<Self, Fault> {
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
            bindings: by_run(store.notes(&across::bindings()).await?),
        })
    }

    fn standing(&self, decision: &Decision) -> Standing<'_> {
        match self.verdicts.get(&decision.run().to_string()) {
            None => Standing::Absent,
            Some(note) if Digest::of(note.body.as_bytes()) == decision.digest() => Standing::Same(note),
            Some(note) => Standing::Differs(note),
        }
    }

    fn name<'a>(&self, note: &'a FoundNote) -> &'a str {
        short(&note.session, &self.sessions)
    }

    /// The runs of sessions in this repository that should have a ref and have none.
    fn missing<'a>(
        &'a self,
        bound: &[BoundDecision],
        repository: &Repository,
    ) -> Vec<(&'a str, &'a FoundNote)> {
        let there: std::collections::HashSet<String> =
            bound.iter().map(|bound| bound.decision.run().to_string()).collect();
        // A store may have sessions of many folders, each of which is looked up once.
        let mut folders: HashMap<&str, bool> = HashMap::new();
        let mut missing: Vec<(&str, &FoundNote)> = Vec::new();
        for (run, note) in &self.bindings {
            if there.contains(run) || !matches!(note.key.state.as_str(), "to_bind" | "bound") {
                continue;
            }
            let session = self.sessions.iter().find(|info| info.id == note.session);
            let Some(path) = session.and_then(|info| info.workspace.as_deref()) else { continue };
            if *folders.entry(path).or_insert_with(|| same_repository(repository, Path::new(path))) {
                missing.push((run, note));
            }
        }
        missing.sort_unstable_by_key(|(run, _)| *run);
        missing
    }

    fn told(&self, bound: &BoundDecision, by: Option<By>, standing: &Standing<'_>, place: &Place) -> String {
        let decision = &bound.decision;
        let at = u64::try_from(decision.at().milliseconds()).unwrap_or(0);
        let mut head = format!(
            "{}  {}  {}\n",
            paint(BOLD, &decision.id().to_string()),
            paint(verdict_style(decision.verdict()), &outcome(decision)),
            paint(DIM, &ago(trunkline_message_tree::Timestamp(at), now())),
        );
        if let Some(by) = by {
            head.push_str(&format!("  found by {}\n", words(by)));
        }
        if let Some(commit) = &bound.link.commit {
            let branch = bound.link.branch.as_deref().map(|name| format!(" on {}", one_line(name, 80)));
            head.push_str(&format!("  commit {}{}\n", short_commit(commit), branch.unwrap_or_default()));
        }
        if let Some(words) = decision.rationale() {
            head.push_str(&format!("  {}\n", paint(DIM, &one_line(words.as_str(), 100))));
        }
        head.push_str(&match standing {
            Standing::Same(note) => {
                let show = place.command(&format!("decisions {} -s {}", decision.run(), self.name(note)));
                format!("  {}  {}\n", paint(GREEN, "as in this store"), paint(DIM, &show))
            }
            Standing::Differs(note) => format!(
                "  {} session {} has another decision of this run, with the digest {}; this one has {}\n",
                paint(RED, "differs from this store:"),
                self.name(note),
                Digest::of(note.body.as_bytes()),
                decision.digest()
            ),
            Standing::Absent => format!("  {}\n", paint(YELLOW, "not in this store")),
        });
        head
    }
}

/// Whether another folder is in the same repository, also by another worktree.
fn same_repository(repository: &Repository, folder: &Path) -> bool {
    folder.is_dir() && Repository::open(folder).ok().flatten().is_some_and(|other| other.is_same(repository))
}

fn words(by: By) -> &'static str {
    match by {
        By::Commit => "its id",
        By::Trailer => "the line in its message (a claim: anybody can write it)",
        By::PatchId => "the change that it makes",
        By::Tree => "the files that it has",
        By::Mention => "its message, which names it in passing (a claim: anybody can write it)",
        _ => "a way that this release does not know",
    }
}

fn key(by: By) -> &'static str {
    match by {
        By::Commit => "commit",
        By::Trailer => "trailer",
        By::PatchId => "patch_id",
        By::Tree => "tree",
        By::Mention => "mention",
        _ => "other",
    }
}

fn line(bound: &BoundDecision, by: Option<By>, standing: &Standing<'_>) -> String {
    let link = &bound.link;
    let (store, session) = match standing {
        Standing::Same(note) => ("same", Some(note.session.as_str())),
        Standing::Differs(note) => ("differs", Some(note.session.as_str())),
        Standing::Absent => ("absent", None),
    };
    as_line(&Line {
        version: 1,
        reference: &bound.reference,
        run_id: bound.decision.run().to_string(),
        found_by: by.map(key),
        decision: RawValue::from_string(bound.decision.print()).ok(),
        digest: bound.decision.digest().to_string(),
        commit: link.commit.map(|oid| oid.to_string()),
        tree: link.tree.map(|oid| oid.to_string()),
        base: link.base.map(|oid| oid.to_string()),
        patch_id: link.patch_id.map(|oid| oid.to_string()),
        branch: link.branch.as_deref(),
        store,
        session,
    })
}

fn as_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it is plain data with text keys") + "\n"
}
