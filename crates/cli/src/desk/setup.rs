//! Agents as this command puts them together: the coding tools on one folder, and all layers on.
//!
//! A session keeps its instructions and its folder, so what takes it up later has to bring only the tools and a model;
//! commands that don't ask a model bring [`NoModel`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use trunkline_git_binding::Repository;
use trunkline_providers::Provider;
use trunkline_runtime::revert::{CompactPolicy, Prompts};
use trunkline_runtime::{Agent, AgentBuilder, Approval, Bounds, Compaction, Limits, Retries, Reverts};
use trunkline_session_store::SessionInfo;
use trunkline_tools::{CodingTools, GitWorkspace, workspace_for};

use crate::args::going_back::{GoingBack, Summaries};
use crate::args::model::Model;
use crate::args::terms::{LeftPrompts, Moves, OnStall, Policy, Terms};
use crate::desk::declared;
use crate::desk::no_model::NoModel;
use crate::desk::{policy, repository, settings};
use crate::reading::session::Reading;
use crate::term::fault::Fault;

/// What a model is told first, unless a file says otherwise.
pub(crate) const INSTRUCTIONS: &str = "\
You work on the files of one folder, together with the person who owns it, through the tools that you are given.

Look before you change anything: list, search and read what the task touches. Make the smallest change that does the job, \
in the style of what is there.

The tools that edit, write, move and delete files only propose: a change is made when it was approved, and you are told. What \
belongs together in several files goes into one `edit_files`, and the same change of code in many places into one `ast_edit`. `run_command` runs in the folder and may have to be approved \
too. After a change, check it the way the project checks itself, and say what you saw, not what you expect.

When you are done, answer in a few sentences: what you changed, how you checked it, and what is left to do.";

const ABOUT_REVERT: &str = "

When a way has turned out to be wrong, don't pile further attempts on top of it: put the files back if they were changed, \
then call `revert_to_state` with the last node to keep and one line on what you learned.";

const ABOUT_PLAN: &str = "

Nothing may be changed before a plan is approved, and commands do not run before that either. First look at what the task touches, then call \
`propose_plan` with what you will do, step by step. Once it is approved, work by the text that the call returns.";

/// The folder that a session works in, and whether it is there.
pub(crate) struct Folder {
    path: Option<PathBuf>,
}

impl Folder {
    /// Returns an existing folder by its canonical name.
    pub(crate) fn named(path: &Path) -> Result<Self, Fault> {
        let found = path
            .canonicalize()
            .map_err(|error| Fault::usage(format!("cannot use {}: {error}", path.display())))?;
        if !found.is_dir() {
            return Err(Fault::usage(format!("{} is not a folder", found.display())));
        }
        if found.to_str().is_none() {
            return Err(Fault::usage(format!("the name of {} is not UTF-8", found.display())));
        }
        Ok(Folder { path: Some(found) })
    }

    /// Returns the folder of a session, or the one that was named instead.
    ///
    /// A session that has none, such as an imported one, gets no tools. `again` is the command that takes another folder, if
    /// that is not `resume`.
    pub(crate) fn of(info: &SessionInfo, instead: Option<&Path>, again: Option<&str>) -> Result<Self, Fault> {
        match (instead, &info.workspace) {
            (Some(path), _) => Folder::named(path),
            (None, None) => Ok(Folder { path: None }),
            (None, Some(path)) => Folder::named(Path::new(path)).map_err(|_| {
                let resume = || format!("trunkline resume {} -C DIR", info.id);
                let again = again.map_or_else(resume, str::to_owned);
                Fault::usage(format!("the session's folder {path} is not there"))
                    .hint(format!("if it has moved, name it: {again}"))
            }),
        }
    }

    /// Returns whether there is one.
    pub(crate) const fn is_there(&self) -> bool {
        self.path.is_some()
    }

    /// Returns the folder of a session for an act that touches no file: a missing one is only bad in the middle of a write.
    pub(crate) fn for_moves(reading: &Reading) -> Result<Self, Fault> {
        match Folder::of(&reading.info, None, None) {
            Err(fault) if reading.proposals().interrupted().next().is_some() => Err(fault),
            Err(_) => Ok(Folder { path: None }),
            found => found,
        }
    }

    /// Refuses a folder where no decision can be bound, before anything is done.
    pub(crate) fn check_binding(&self) -> Result<(), Fault> {
        match &self.path {
            Some(path) => repository::check(path),
            None => Err(Fault::usage("--bind needs the folder of a git repository").hint("name it with -C")),
        }
    }

    /// Refuses a folder where nothing can be committed, before anything is done.
    pub(crate) fn check_commit(&self) -> Result<(), Fault> {
        let without = "without --commit the files are changed all the same";
        let cannot = |why| Fault::usage(format!("nothing can be committed: {why}"));
        let Some(path) = &self.path else {
            return Err(Fault::usage("--commit needs the folder of a git repository").hint("name it with -C"));
        };
        match GitWorkspace::open(path).map_err(cannot)? {
            Some(_) => Ok(()),
            None => match Repository::open(path) {
                Ok(Some(repository)) if repository.facts().bare => {
                    Err(cannot_commit("it is a bare repository, which has no files to work on"))
                        .map_err(|fault: Fault| fault.hint("work in a worktree of it (`git worktree add`)"))
                }
                Ok(Some(_)) => Err(cannot_commit("it is git's own folder; name the one with the files")),
                _ => Err(Fault::usage("--commit needs a git repository, and this folder is in none")
                    .hint(format!("`git init` makes one; {without}"))),
            },
        }
    }

    /// Says what somebody should know before a run whose changes are to be committed.
    pub(crate) fn before_commits(&self) -> Vec<String> {
        match self.path.as_deref().map(GitWorkspace::open) {
            Some(Ok(Some(git))) => git.before_commits(),
            Some(Err(why)) => vec![format!("nothing can be committed: {why}")],
            Some(Ok(None)) => {
                vec!["nothing can be committed: this folder is in no git repository".to_owned()]
            }
            // An imported session has no folder, and may have nothing to do with files.
            None => Vec::new(),
        }
    }

    /// Returns which of some files git ignores.
    pub(crate) fn ignored<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Vec<String> {
        match self.path.as_deref().map(GitWorkspace::open) {
            Some(Ok(Some(git))) => git.ignored(paths),
            _ => Vec::new(),
        }
    }

    /// Returns whether git keeps its files. One that cannot be asked keeps none that could be committed now.
    pub(crate) fn is_in_git(&self) -> bool {
        let repository = self.path.as_deref().map(GitWorkspace::open);
        matches!(repository, Some(Ok(Some(_))))
    }

    pub(crate) fn as_str(&self) -> Option<&str> {
        self.path.as_deref().and_then(Path::to_str)
    }
}

fn cannot_commit(why: &str) -> Fault {
    Fault::usage(format!("nothing can be committed in this folder: {why}"))
}

/// Says in a sentence what commands may write, from the status of the tools.
pub(crate) fn about_commands(status: &str) -> String {
    if let Some((_, folders)) = status.split_once(": writes limited to ") {
        let folders = match folders.rsplit_once(", ") {
            Some((first, last)) => format!("{first} and {last}"),
            None => folders.to_owned(),
        };
        return format!("Commands may write only in {folders} (Landlock).");
    }
    match status.strip_suffix(": commands can write wherever you can") {
        Some(why) => format!("Commands can write wherever you can: {why}."),
        None => status.to_owned(),
    }
}

/// What people are told of the tools of an agent.
#[derive(Default)]
pub(crate) struct About {
    /// What commands can write, in one line; `None` where there are no tools.
    pub(crate) commands: Option<String>,
    /// The tools of the project that the model is offered.
    pub(crate) declared: Vec<String>,
    /// What there is to know of those that it is not offered, a line each.
    pub(crate) notes: Vec<String>,
}

/// Begins an agent on a folder: its tools, with those of the project that a person has trusted, and the workspace that verdicts
/// are computed from.
pub(crate) fn agent(provider: Box<dyn Provider>, folder: &Folder) -> Result<(AgentBuilder, About), Fault> {
    let mut builder = Agent::builder(provider);
    let Some(path) = &folder.path else { return Ok((builder, About::default())) };
    let tools = CodingTools::new(path)?;
    let declared = declared::offer(&tools);
    let about =
        About { commands: Some(tools.sandbox_status()), declared: declared.names, notes: declared.told };
    builder =
        builder.tools(tools.into_tools()).tools(declared.tools).workspace(Arc::from(workspace_for(path)));
    Ok((builder, about))
}

/// Says how often the model is asked again.
pub(crate) fn retries(model: &Model) -> Retries {
    let mut retries = Retries::default();
    retries.times = model.retries.unwrap_or(retries.times);
    retries.time = model.retry_for.map_or(retries.time, Duration::from_millis);
    retries.waits = model.replay.is_none();
    retries
}

/// Says how much the model may write, what else stands in each request, and where it is asked.
pub(crate) fn with_model(builder: AgentBuilder, model: &Model, url: Option<String>) -> AgentBuilder {
    let fields = model.set.iter().cloned().collect();
    let builder = builder.max_output_tokens(model.max_output_tokens).extra(fields);
    match url {
        Some(url) => builder.asked_at(url),
        None => builder,
    }
}

/// Returns an agent that can do everything but ask a model.
pub(crate) fn without_model(folder: &Folder) -> Result<AgentBuilder, Fault> {
    // With no turns to spend, a drive carries out what was decided and stops before the first request.
    let mut limits = Limits::default();
    limits.turns = 0;
    let (builder, _) = agent(Box::new(NoModel::new()), folder)?;
    Ok(builder.with_revert().limits(limits))
}

/// Returns an agent for an act that touches no file.
pub(crate) fn for_moves(reading: &Reading) -> Result<Agent, Fault> {
    Ok(without_model(&Folder::for_moves(reading)?)?.build()?)
}

/// Refuses terms that ask for something that nothing comes of.
pub(crate) fn check_terms(terms: &Terms) -> Result<(), Fault> {
    let GoingBack { summaries, summary_model, summary_limits, .. } = &terms.going_back;
    let needs_model = match (summary_model, summary_limits) {
        (Some(_), _) => Some("--summary-model"),
        (None, Some(_)) => Some("--summary-limits"),
        (None, None) => None,
    };
    // Settings may say both, and a flag that no model is asked.
    if let (Some(flag), true) =
        (needs_model, *summaries != Some(Summaries::Model) && terms.settings.is_none())
    {
        return Err(Fault::usage(format!("{flag} is about summaries that a model writes, and none does"))
            .hint("say --summaries model too"));
    }
    let missing: Vec<&str> = [(terms.commit, "--commit"), (terms.bind, "--bind")]
        .into_iter()
        .filter_map(|(given, name)| (!given).then_some(name))
        .collect();
    if !terms.trailer || missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(" and ");
    Err(Fault::usage(format!(
        "--trailer names the bound decision in the message of a commit, so it needs {missing} too"
    ))
    .hint("say `--commit --bind --trailer`; without --trailer a commit names its run"))
}

/// Lays the terms of a run on an agent.
pub(crate) fn with_terms(
    builder: AgentBuilder,
    folder: &Folder,
    terms: &Terms,
    chosen: &Policy,
) -> Result<AgentBuilder, Fault> {
    let mut limits = Limits::default();
    limits.turns = terms.max_turns.unwrap_or(limits.turns);
    limits.tokens = terms.max_tokens.unwrap_or(limits.tokens);
    // Those of a file that is not named this time count no more.
    let rules = match chosen {
        Policy::Rules(path) => policy::read(path, folder.path.as_deref())?,
        _ => Vec::new(),
    };
    check_terms(terms)?;
    settings::check_outside(terms.settings.as_deref(), folder.as_str())?;
    if terms.bind {
        folder.check_binding()?;
    }
    // A session without a folder has nothing to commit.
    let commits = terms.commit && folder.path.is_some();
    let builder = builder.rules(rules).limits(limits).commits(commits).keeps_intents(true);
    let builder = builder.plan_mode(terms.plan).binds(terms.bind).names_decisions(terms.trailer).approval(
        match chosen {
            Policy::Person | Policy::Rules(_) => Approval::Person,
            Policy::Model => Approval::Model,
            Policy::Always => Approval::Always,
        },
    );
    let builder = match terms.window {
        Some(window) => builder.with_compaction(Compaction::new(CompactPolicy::new(window))),
        None => builder,
    };
    Ok(if terms.no_revert { builder } else { builder.with_reverts(reverts(terms)) })
}

fn reverts(terms: &Terms) -> Reverts {
    let mut reverts = Reverts::default();
    let GoingBack { lessons, prune, revert_price, stall, .. } = &terms.going_back;
    if let Some(lessons) = lessons {
        reverts.render = lessons.value;
    }
    reverts.render.prune = prune.as_ref().and_then(|prune| prune.value);
    reverts.rates = revert_price.as_ref().map(|price| price.value.clone());
    if let Some(stall) = stall {
        reverts.stall = stall.value.clone();
    }
    let reverts = match terms.left_prompts {
        None => reverts,
        Some(LeftPrompts::Refuse) => reverts.prompts(Prompts::Refuse),
        Some(LeftPrompts::Rebase) => reverts.prompts(Prompts::Rebase),
        Some(LeftPrompts::Ask) => reverts.prompts(Prompts::Ask),
    };
    let reverts = terms.moves.iter().fold(reverts, |reverts, offered| match offered {
        Moves::Merge => reverts.offer_merge(),
        Moves::Go => reverts.offer_return(),
        Moves::Prune => reverts.offer_pruning(),
        Moves::Decide => reverts.offer_decisions(),
        Moves::None => reverts,
    });
    match terms.on_stall {
        None => reverts,
        Some(OnStall::Model) => reverts.on_stall(trunkline_runtime::OnStall::TellModel),
        Some(OnStall::Person) => reverts.on_stall(trunkline_runtime::OnStall::TellPerson),
        Some(OnStall::Accept) => reverts.on_stall(trunkline_runtime::OnStall::Accept),
    }
}

/// Returns which bounds a person gives an open task when they go on with it. What is only usual bounds nothing that a person has
/// bounded already.
pub(crate) fn typed_bounds(terms: &Terms, typed: &[String]) -> Bounds {
    let is_typed = |flag: &str| typed.iter().any(|one| one == flag);
    let mut bounds = Bounds::default();
    bounds.turns = terms.max_turns.filter(|_| is_typed("--max-turns"));
    bounds.tokens = terms.max_tokens.filter(|_| is_typed("--max-tokens"));
    bounds
}

/// Returns what of the terms holds for a new task over all its runs.
pub(crate) fn bounds(terms: &Terms, retries: Option<u32>) -> Bounds {
    let mut bounds = Bounds::default();
    (bounds.retries, bounds.turns, bounds.tokens) = (retries, terms.max_turns, terms.max_tokens);
    bounds
}

/// Returns the instructions of a new session.
pub(crate) fn instructions(terms: &Terms) -> String {
    let about_revert = if terms.no_revert { "" } else { ABOUT_REVERT };
    let about_plan = if terms.plan { ABOUT_PLAN } else { "" };
    format!("{INSTRUCTIONS}{about_revert}{about_plan}")
}
