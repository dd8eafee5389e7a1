//! A drive from here to wherever it stops: what `run`, `resume` and `demo` have in common.
//!
//! stdout gets the answer and nothing else; all that happens on the way is told on stderr.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use clap::ValueEnum;
use serde_json::{Value, json};
use trunkline_message_tree::{Author, MessageTree};
use trunkline_providers::{ErrorKind, Provider, ProviderError};
use trunkline_runtime::decision_objects::Verdict;
use trunkline_runtime::orders::Order;
use trunkline_runtime::{
    Agent, Cancel, CloseRequest, GivenTask, ModelSummarizer, PlanRecord, RuntimeError, Session, Stop,
    decided_runs,
};
use trunkline_session_store::{SessionStore, StoreError};

use crate::args::going_back::SummaryLimits;
use crate::args::model::Model;
use crate::args::terms::{Policy, Terms};
use crate::desk::again::model_flags;
use crate::desk::cassette::Tape;
use crate::desk::model::{Asked, Named};
use crate::desk::place::Place;
use crate::desk::setup::{self, Folder};
use crate::desk::store;
use crate::live::approve::AtTerminal;
use crate::live::ended::Ended;
use crate::live::interrupt;
use crate::live::progress::Progress;
use crate::live::summaries::await_summaries;
use crate::reading::session::Reading;
use crate::shown::{close_request, plan, tree};
use crate::term::fault::{Exit, Fault};
use crate::term::style::{DIM, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::{out, screen, shell, text};

/// Everything that stays the same while one drive goes on.
pub(crate) struct Drive<'a> {
    place: &'a Place,
    model: &'a Model,
    terms: &'a Terms,
    policy: Policy,
    person: Option<Arc<AtTerminal>>,
    pub(crate) progress: Arc<Progress>,
    tape: Tape,
    draws: bool,
    /// Where the agent works, for commands that are printed.
    folder: OnceLock<String>,
    /// What somebody should know beforehand, also who reads no more than the result.
    notes: OnceLock<Vec<String>>,
    /// What variables have said of the model.
    named: OnceLock<Named>,
}

impl<'a> Drive<'a> {
    pub(crate) fn new(place: &'a Place, model: &'a Model, terms: &'a Terms, policy: Policy) -> Self {
        // Also where everything is approved: some things a person alone decides on.
        let person = if terms.non_interactive { None } else { AtTerminal::find().map(Arc::new) };
        let asks = matches!(policy, Policy::Person | Policy::Rules(_));
        let progress = Progress::of_run(terms.quiet, person.is_some() && asks);
        let (tape, folder, notes) = (Tape::None, OnceLock::new(), OnceLock::new());
        let named = OnceLock::new();
        Drive { place, model, terms, policy, person, progress, tape, draws: false, folder, notes, named }
    }

    /// Tells of what is recorded or played when the drive has ended.
    pub(crate) fn beside(self, tape: Tape) -> Self {
        Drive { tape, ..self }
    }

    /// Asks about the plan that a session needs, whoever decides on all else.
    pub(crate) fn asking_about_plans(mut self, needed: bool) -> Self {
        if needed && self.person.is_none() && !self.terms.non_interactive {
            self.person = AtTerminal::find().map(Arc::new);
        }
        self
    }

    /// Draws the tree when the drive has ended.
    pub(crate) fn drawing(self) -> Self {
        Drive { draws: true, ..self }
    }

    pub(crate) fn agent(
        &self,
        asked: Asked,
        folder: &Folder,
        instructions: Option<String>,
    ) -> Result<Agent, Fault> {
        let _ = self.named.set(asked.named);
        let (builder, about) = setup::agent(asked.provider, folder)?;
        let builder = setup::with_model(builder, self.model, asked.url);
        let mut builder = setup::with_terms(builder, folder, self.terms, &self.policy)?
            .retries(setup::retries(self.model))
            .on_event(self.progress.observer());
        if let Some(provider) = asked.summaries {
            builder = builder.summarizer(self.summarizer(provider));
        }
        if let Some(instructions) = instructions {
            builder = builder.system(instructions);
        }
        if let Some(person) = &self.person {
            builder = builder.decider(Arc::<AtTerminal>::clone(person));
        }
        if let Some(folder) = folder.as_str() {
            let _ = self.folder.set(folder.to_owned());
        }
        let mut notes = about.notes;
        if self.terms.commit {
            notes.extend(folder.before_commits());
        }
        if !self.terms.quiet {
            let told = |note: &String| paint(YELLOW, &format!("note: {}\n", text::one_line(note, 400)));
            notes.iter().for_each(|note| self.progress.begin_with(&told(note)));
        }
        let _ = self.notes.set(notes);
        if !self.terms.quiet {
            self.progress.begin_with(&paint(DIM, &format!("asking {}\n", text::one_line(&asked.words, 100))));
            if let Some(status) = about.commands {
                let about = setup::about_commands(&status);
                self.progress.begin_with(&paint(DIM, &format!("{}\n", text::safe(&about))));
            }
            if !about.declared.is_empty() {
                let names = text::one_line(&about.declared.join(", "), 200);
                self.progress.begin_with(&paint(DIM, &format!("tools of this project: {names}\n")));
            }
        }
        Ok(builder.build()?)
    }

    /// Returns who says what branches came to, within what it may cost.
    fn summarizer(&self, provider: Box<dyn Provider>) -> ModelSummarizer {
        let limits = self.terms.going_back.summary_limits.as_ref();
        let (tokens, bytes) = limits.map_or(SummaryLimits::DEFAULT, |limits| limits.value);
        let progress = Arc::clone(&self.progress);
        let summarizer = ModelSummarizer::new(provider).max_output_tokens(tokens).quoted_bytes(bytes);
        summarizer.on_usage(move |usage| progress.spent(usage))
    }

    pub(crate) async fn go(
        &self,
        mut session: Session,
        store: &dyn SessionStore,
        prompt: Option<&str>,
    ) -> Result<Exit, Fault> {
        self.progress.know(session.tree());
        self.progress.know_plans(session.proposals());
        if let Some(how) = self.terms.tool_choice {
            session.order(Order::ToolChoice { policy: how.policy() }).await?;
        }
        // Something will happen, so it need not be waited for.
        if prompt.is_some() || session.proposals().unsettled().next().is_some() {
            self.progress.open();
        }
        let known = session.tree().nodes().count();
        let cancel = Cancel::new();
        let watching = interrupt::watch(&cancel);
        let stop = match prompt {
            Some(prompt) => session.prompt(prompt, &cancel).await,
            None => session.resume(&cancel).await,
        };
        self.progress.end_line();
        if stop.is_ok() {
            await_summaries(&self.progress, &mut session, &cancel).await;
        }
        watching.abort();
        let name = store::short_name(store, session.id()).await;
        let changed = match &stop {
            Err(
                RuntimeError::Provider(_) | RuntimeError::NothingCame { .. } | RuntimeError::NotAskedAgain(_),
            ) => session.changed_files().await.unwrap_or_default(),
            _ => Vec::new(),
        };
        if self.terms.json {
            out::print_json(&self.as_json(&session, &stop, &changed))?;
        }
        let (trouble, account) = self.tape.told();
        if let Some(trouble) = trouble {
            self.progress.open();
            tell(&trouble);
        }
        let stop = stop.map_err(|fault| {
            self.progress.open();
            if matches!(fault, RuntimeError::TakenOver { .. }) {
                let see = self.place.command(&format!("follow {name}"));
                return Fault::from(fault).hint(format!("it goes on there; see it with: {see}"));
            }
            let ended = matches!(fault, RuntimeError::Provider(ProviderError::NotRecorded { .. }));
            // What the recording does not have, a service may answer.
            let tape = if ended { None } else { self.tape.flag() };
            let next = self.place.command(&format!("resume {name}{}{}", self.again(false), flag(tape)));
            let too_long = matches!(&fault, RuntimeError::Provider(fault) if fault.kind() == Some(ErrorKind::ContextTooLong));
            let is_torn = matches!(fault, RuntimeError::Store(StoreError::Torn { .. }));
            let mut fault = Fault::from(fault);
            if !changed.is_empty() {
                fault = fault.line(format!("changed until then, kept and in no commit: {}", named(&changed)));
            }
            if too_long {
                let compact = self.place.command(&format!("compact {name}{}", model_flags(self.model, self.named())));
                return fault.hint(format!("the session is kept; sum up what is older: {compact}, then: {next}"));
            }
            // Then the next command needs the store in one piece first, and that is said already.
            if is_torn {
                return fault;
            }
            // Where the store itself has gone, nothing of it is certain.
            if !self.place.exists() {
                return fault.hint(
                    "the store is no longer where it was; nothing that it acknowledged was written elsewhere",
                );
            }
            fault.hint(format!("the session is kept; go on with: {next}"))
        })?;
        if !self.terms.json && matches!(stop, Stop::Decided(_)) {
            self.answer(&session)?;
        }
        let idle = stop == Stop::Idle;
        if self.draws || idle {
            let reading = Reading::load(store, &store.info(session.id()).await?).await?;
            let said =
                |tree: &MessageTree| tree.nodes().any(|(_, node)| node.message().author == Author::Person);
            if idle && !said(reading.tree()) {
                return Err(self.ended(&name).nothing_said(&reading));
            }
            match idle {
                true if self.terms.quiet => {}
                // Before all that only says what could be done.
                true => tell(&format!("{}\n", self.ended(&name).nothing_to_do(&reading))),
                false => out::print(&format!("\n{}", tree::picture(&reading, screen::width(), false)))?,
            }
        }
        self.tell_ignored(&session, &stop, store).await;
        let task = self.open_task(&session, &stop, store).await;
        if matches!(stop, Stop::Waiting(_))
            && prompt.is_some_and(|prompt| !is_said(session.tree(), known, prompt))
        {
            self.progress.open();
            tell("what you said is kept; the model reads it when this is decided\n");
        }
        self.ended(&name).tell(&session, &stop, task.as_ref(), account.as_deref());
        Ok(exit_of(&stop))
    }

    /// Prints the answer, unless the same person has just seen it come.
    fn answer(&self, session: &Session) -> Result<(), Fault> {
        let answer = session.answer();
        if answer.is_empty() || (self.progress.has_shown_answer() && screen::one_screen()) {
            return Ok(());
        }
        match std::io::stdout().is_terminal() {
            true => out::print(&format!("{}\n", text::safe(&answer))),
            false => out::print_raw(format!("{answer}\n").as_bytes()),
        }
    }

    /// Says which files of a run that may commit are in no commit, because git ignores them.
    async fn tell_ignored(&self, session: &Session, stop: &Stop, store: &dyn SessionStore) {
        let Stop::Decided(decision) = stop else { return };
        let Some(patch_set) = decision.verdict().patch_set().filter(|_| self.terms.commit) else { return };
        // What cannot be read is told by whoever needs it.
        let Ok(log) = store.load(session.id()).await else { return };
        let decided = decided_runs(&log);
        let run = decided.of_decision(decision.id());
        let Some(patch_set) = run.and_then(|run| run.patch_set_named(patch_set)) else { return };
        let Some(Ok(folder)) = self.folder.get().map(|folder| Folder::named(Path::new(folder))) else {
            return;
        };
        let ignored = folder.ignored(patch_set.files().iter().map(|file| file.path.as_str()));
        if !ignored.is_empty() && !self.terms.quiet {
            self.progress.open();
            tell(&paint(YELLOW, &format!("not committed, because git ignores it: {}\n", named(&ignored))));
        }
    }

    /// Returns the task that is still open after a run, or whose bound has stopped one.
    async fn open_task(&self, session: &Session, stop: &Stop, store: &dyn SessionStore) -> Option<GivenTask> {
        if self.terms.quiet || !matches!(stop, Stop::Decided(_) | Stop::Limit(_)) {
            return None;
        }
        // What cannot be read is told by whoever needs it.
        // What was spent is counted on what was said.
        let reading = Reading::load(store, &store.info(session.id()).await.ok()?).await.ok()?;
        reading.task().filter(|task| !task.has_ended()).cloned()
    }

    fn ended<'b>(&'b self, name: &'b str) -> Ended<'b> {
        Ended {
            place: self.place,
            name,
            again: self.again(false),
            unbounded: self.again(true),
            tape: flag(self.tape.flag()),
            folder: self.folder.get().map(String::as_str),
            asks: self.person.is_some(),
            quiet: self.terms.quiet,
            usage: self.progress.has_cost().then(|| self.progress.usage()),
        }
    }

    /// Returns the flag of a file of rules, if one decides.
    fn rules_file(&self) -> Option<(&str, &Path)> {
        match &self.policy {
            Policy::Rules(path) => Some(("--policy", path)),
            _ => None,
        }
    }

    /// Returns the flags that a next command needs to go on under the same terms; `unbounded` leaves out how much it may take.
    fn again(&self, unbounded: bool) -> String {
        let mut flags = String::new();
        match &self.policy {
            Policy::Person => {}
            Policy::Model => flags.push_str(" --policy model"),
            Policy::Always => flags.push_str(" --yes"),
            Policy::Rules(_) => {}
        }
        flags.push_str(&flag(self.rules_file()));
        if self.terms.non_interactive {
            flags.push_str(" --non-interactive");
        }
        if self.terms.commit {
            flags.push_str(" --commit");
        }
        if self.terms.bind {
            flags.push_str(" --bind");
        }
        if self.terms.trailer {
            flags.push_str(" --trailer");
        }
        if self.terms.no_revert {
            flags.push_str(" --no-revert");
        }
        // Settings may say what a model may do when it goes back, and that it may not is typed: typed together they are refused.
        let goes_back = !self.terms.no_revert;
        let left_prompts = self.terms.left_prompts.filter(|_| goes_back);
        if let Some(how) = left_prompts.and_then(|how| how.to_possible_value()) {
            flags.push_str(&format!(" --left-prompts {}", how.get_name()));
        }
        let on_stall = self.terms.on_stall.filter(|_| goes_back);
        if let Some(who) = on_stall.and_then(|who| who.to_possible_value()) {
            flags.push_str(&format!(" --on-stall {}", who.get_name()));
        }
        for (name, value) in self.terms.going_back.flags() {
            flags.push_str(&format!(" {name} {}", shell::quoted(&text::one_line(&value, 200))));
        }
        let moves = self.terms.moves.iter().filter_map(ValueEnum::to_possible_value);
        let moves: Vec<String> = moves.map(|moves| moves.get_name().to_owned()).collect();
        if goes_back && !moves.is_empty() {
            flags.push_str(&format!(" --moves {}", moves.join(",")));
        }
        if let Some(window) = self.terms.window {
            flags.push_str(&format!(" --window {window}"));
        }
        // With none it would stop where it is.
        let usual = self.terms.usual;
        if let (Some(turns @ 1..), false) = (self.terms.max_turns, unbounded || usual.turns) {
            flags.push_str(&format!(" --max-turns {turns}"));
        }
        if let (Some(tokens @ 1..), false) = (self.terms.max_tokens, unbounded || usual.tokens) {
            flags.push_str(&format!(" --max-tokens {tokens}"));
        }
        flags.push_str(&model_flags(self.model, self.named()));
        flags
    }

    /// What no reply in the session tells: with one, a later command goes to the service that wrote it, or refuses.
    fn named(&self) -> Option<&Named> {
        self.named.get().filter(|_| !self.progress.has_cost())
    }

    pub(crate) fn as_json(
        &self,
        session: &Session,
        stop: &Result<Stop, RuntimeError>,
        changed: &[String],
    ) -> Value {
        let (word, verdict, waiting, error) = match stop {
            Ok(Stop::Decided(decision)) => {
                ("decided", serde_json::from_str(&decision.print()).unwrap_or(Value::Null), Vec::new(), None)
            }
            Ok(Stop::Waiting(ids)) => ("waiting", Value::Null, ids.clone(), None),
            Ok(Stop::Cancelled) => ("cancelled", Value::Null, Vec::new(), None),
            Ok(Stop::Limit(_)) => ("limit", Value::Null, Vec::new(), None),
            Ok(_) => ("idle", Value::Null, Vec::new(), None),
            Err(fault) => ("error", Value::Null, Vec::new(), Some(error_line(fault))),
        };
        let mut told = json!({
            "version": 1,
            "session": session.id(),
            "stop": word,
            "verdict": verdict,
            "waiting": waiting,
            "answer": session.answer(),
            "head": session.tree().head(),
            "usage": self.progress.usage(),
            "failed_attempts": self.progress.failed_attempts(),
            "changed": changed,
            "error": error,
        });
        if let (Ok(Stop::Waiting(_)), Some(entry)) = (stop, plan::waiting(session.proposals())) {
            told["plan"] = json!(PlanRecord::of_proposal(&entry.proposal));
        } else if let (Ok(Stop::Waiting(_)), Some(entry)) =
            (stop, close_request::waiting(session.proposals()))
        {
            told["request"] = json!(CloseRequest::of_proposal(&entry.proposal));
        }
        if let Some(notes) = self.notes.get().filter(|notes| !notes.is_empty()) {
            told["notes"] = json!(notes);
        }
        told
    }
}

/// Names some files.
fn named(files: &[String]) -> String {
    const NAMED: usize = 5;
    let named: Vec<String> = files.iter().take(NAMED).map(|file| text::one_line(file, 60)).collect();
    match files.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn error_line(fault: &RuntimeError) -> String {
    let mut line = fault.to_string();
    let mut cause = std::error::Error::source(fault);
    while let Some(error) = cause {
        line.push_str(&format!(": {error}"));
        cause = error.source();
    }
    line
}

fn flag(named: Option<(&str, &Path)>) -> String {
    let Some((flag, path)) = named else { return String::new() };
    format!(" {flag} {}", shell::quoted(&text::one_line(&path.display().to_string(), 200)))
}

fn exit_of(stop: &Stop) -> Exit {
    match stop {
        Stop::Decided(decision) if matches!(decision.verdict(), Verdict::Abandon { .. }) => Exit::Failure,
        Stop::Waiting(_) | Stop::Limit(_) => Exit::Failure,
        Stop::Cancelled => Exit::Interrupted,
        _ => Exit::Done,
    }
}

/// Returns whether a person has said these words in a node behind the first `known` ones.
fn is_said(tree: &MessageTree, known: usize, words: &str) -> bool {
    let new = tree.nodes().skip(known).map(|(_, node)| node.message());
    new.into_iter().any(|message| message.author == Author::Person && message.text() == words)
}
