//! `trunkline run` and `trunkline resume`: a drive from here to wherever it stops.
//!
//! stdout gets the answer and nothing else; all that happens on the way is told on stderr.

use std::io::{IsTerminal, Read};
use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};
use trunkline_providers::Provider;
use trunkline_runtime::decision_objects::Verdict;
use trunkline_runtime::letters::Request;
use trunkline_runtime::{Agent, Cancel, Limit, RuntimeError, Session, Stop};
use trunkline_session_store::{SessionStore, SqliteStore};

use crate::approve::AtTerminal;
use crate::args::{MAX_OUTPUT_TOKENS, Model, Policy, Resume, Run, Terms};
use crate::fault::{Exit, Fault};
use crate::letters::{self, Entrance};
use crate::paint::{self, BOLD, DIM, YELLOW, paint, tell};
use crate::progress::{Progress, cost};
use crate::reading::Reading;
use crate::setup::{self, Folder};
use crate::store::{self, Place};
use crate::{demo, interrupt, model, text, tree_view};

/// `trunkline run`.
pub(crate) async fn run(args: &Run, place: &Place) -> Result<Exit, Fault> {
    let choice = model::choose(&args.model, None, variable)?;
    let prompt = match args.prompt.as_str() {
        "-" => read_stdin()?,
        typed => typed.to_owned(),
    };
    if prompt.trim().is_empty() {
        return Err(Fault::usage("the prompt is empty"));
    }
    let folder = Folder::named(&args.cwd)?;
    let instructions = match &args.system {
        Some(path) => std::fs::read_to_string(path)
            .map_err(|error| Fault::usage(format!("cannot read {}: {error}", path.display())))?,
        None => setup::instructions(&args.terms),
    };
    let terms = &args.terms;
    let drive = Drive::new(place, &args.model, terms, policy_of(terms));
    let agent = drive.agent(choice.provider()?, &folder, Some(instructions), &choice.words())?;
    let store = place.open().await?;
    let title = text::one_line(&prompt, 80);
    let session = agent.start(Arc::<SqliteStore>::clone(&store), &title, folder.as_str()).await?;
    drive.go(session, &store, Some(&prompt)).await
}

/// `trunkline resume`.
pub(crate) async fn resume(args: &Resume, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let mut prompt = match args.prompt.as_deref() {
        Some("-") => Some(read_stdin()?),
        typed => typed.map(str::to_owned),
    };
    if let Some(prompt) = &prompt
        && store.is_locked(&info.id).await?
    {
        let request = Request::Prompt { text: prompt.clone() };
        return letters::leave(&store, &info, "another process", &request).await;
    }
    let mut terms = args.terms.clone();
    let played = demo::part_of(&info);
    let draws = played.is_some();
    let (provider, words): (Box<dyn Provider>, String) = match played {
        // The demo's own terms: its model decides, and its run ends in a commit.
        Some(part) => {
            terms = Terms { json: terms.json, quiet: terms.quiet, ..part.terms };
            prompt = prompt.or(part.prompt.map(str::to_owned));
            (part.provider, part.words.to_owned())
        }
        None => {
            let reading = Reading::load(store.as_ref(), &info).await?;
            let last = reading.tree().trunk().messages().rev().find_map(|message| message.origin.clone());
            let choice = model::choose(&args.model, last.as_ref(), variable)?;
            (choice.provider()?, choice.words())
        }
    };
    let folder = Folder::of(&info, args.cwd.as_deref())?;
    let drive = Drive::new(place, &args.model, &terms, policy_of(&terms));
    let drive = if draws && !terms.json { drive.drawing() } else { drive };
    let agent = drive.agent(provider, &folder, None, &words)?;
    match letters::enter(&agent, &store, &info).await? {
        Entrance::Mine(session) => drive.go(*session, &store, prompt.as_deref()).await,
        Entrance::Theirs(holder) => {
            let name = store::short_name(store.as_ref(), &info.id).await;
            Err(Fault::new(format!("session {name} is being written by {holder}")).hint(format!(
                "stop it with `{}`, or say something to it with `{}`",
                place.command(&format!("cancel {name}")),
                place.command(&format!("resume {name} -p \"…\""))
            )))
        }
    }
}

/// Everything that stays the same while one drive goes on.
pub(crate) struct Drive<'a> {
    place: &'a Place,
    model: &'a Model,
    terms: &'a Terms,
    policy: Policy,
    person: Option<Arc<AtTerminal>>,
    progress: Arc<Progress>,
    draws: bool,
}

impl<'a> Drive<'a> {
    pub(crate) fn new(place: &'a Place, model: &'a Model, terms: &'a Terms, policy: Policy) -> Self {
        let person = if policy == Policy::Always { None } else { AtTerminal::find().map(Arc::new) };
        let progress = Progress::of_run(terms.quiet, person.is_some() && policy == Policy::Person);
        Drive { place, model, terms, policy, person, progress, draws: false }
    }

    /// Draws the tree when the drive has ended.
    pub(crate) fn drawing(self) -> Self {
        Drive { draws: true, ..self }
    }

    pub(crate) fn agent(
        &self,
        provider: Box<dyn Provider>,
        folder: &Folder,
        instructions: Option<String>,
        words: &str,
    ) -> Result<Agent, Fault> {
        let (builder, sandbox) = setup::agent(provider, folder)?;
        let mut builder = setup::with_terms(builder, self.terms, self.policy)
            .max_output_tokens(self.model.max_output_tokens)
            .on_event(self.progress.observer());
        if let Some(instructions) = instructions {
            builder = builder.system(instructions);
        }
        if let Some(person) = &self.person {
            builder = builder.decider(Arc::<AtTerminal>::clone(person));
        }
        if !self.terms.quiet {
            let sandbox = sandbox.map(|status| format!("; {status}")).unwrap_or_default();
            tell(&paint(DIM, &format!("asking {}{}\n", text::one_line(words, 100), text::safe(&sandbox))));
        }
        Ok(builder.build()?)
    }

    pub(crate) async fn go(
        &self,
        mut session: Session,
        store: &SqliteStore,
        prompt: Option<&str>,
    ) -> Result<Exit, Fault> {
        self.progress.know(session.tree());
        let cancel = Cancel::new();
        let watching = interrupt::watch(&cancel);
        let stop = match prompt {
            Some(prompt) => session.prompt(prompt, &cancel).await,
            None => session.resume(&cancel).await,
        };
        watching.abort();
        self.progress.end_line();
        let name = store::short_name(store, session.id()).await;
        if self.terms.json {
            paint::print_json(&self.as_json(&session, &stop))?;
        }
        let stop = stop.map_err(|fault| {
            let next = self.place.command(&format!("resume {name}{}", self.again()));
            Fault::from(fault).hint(format!("what was recorded is kept; go on with: {next}"))
        })?;
        if !self.terms.json && matches!(stop, Stop::Answered | Stop::Decided(_)) {
            self.answer(&session)?;
        }
        if self.draws {
            let reading = Reading::load(store, &store.info(session.id()).await?).await?;
            paint::print(&format!("\n{}", tree_view::picture(&reading, paint::width(), false)))?;
        }
        self.tell_end(&session, &stop, &name);
        Ok(exit_of(&stop))
    }

    /// Prints the answer, unless the same person has just seen it come.
    fn answer(&self, session: &Session) -> Result<(), Fault> {
        let answer = session.answer();
        if answer.is_empty() || (self.progress.has_shown_answer() && paint::one_screen()) {
            return Ok(());
        }
        match std::io::stdout().is_terminal() {
            true => paint::print(&format!("{}\n", text::safe(&answer))),
            false => paint::print_raw(format!("{answer}\n").as_bytes()),
        }
    }

    fn tell_end(&self, session: &Session, stop: &Stop, name: &str) {
        if self.terms.quiet && !matches!(stop, Stop::Waiting(_)) {
            return;
        }
        let mut end = String::from("\n");
        let mut next = Vec::new();
        let resume = format!("resume {name}{}", self.again());
        match stop {
            Stop::Waiting(waiting) => {
                end.push_str(&paint(YELLOW, "waiting for you; nothing of this is done yet\n"));
                for id in waiting {
                    let label =
                        session.proposals().get(*id).map(|entry| text::one_line(&entry.proposal.label, 100));
                    end.push_str(&format!(
                        "  {} {}\n",
                        paint(BOLD, &id.to_string()),
                        label.unwrap_or_default()
                    ));
                }
                if let Some(id) = waiting.first() {
                    next.push(("look", format!("resolve {id} -s {name}")));
                    next.push(("decide", format!("resolve {id} apply -s {name}")));
                }
                next.push(("go on", resume));
            }
            Stop::Cancelled => {
                end.push_str(&paint(YELLOW, "cancelled; what the model had written is kept\n"));
                next.push(("go on", resume));
            }
            Stop::Limit(limit) => {
                let reached = match limit {
                    Limit::Turns => "the limit of turns is reached (--max-turns)",
                    Limit::Tokens => "the limit of tokens is reached (--max-tokens)",
                    Limit::Time => "the time is up",
                    Limit::Output => "the model's replies keep running into --max-output-tokens",
                    _ => "a limit is reached",
                };
                end.push_str(&paint(YELLOW, &format!("{reached}; the run is open\n")));
                next.push(("go on", resume));
            }
            Stop::Idle => end.push_str(&paint(DIM, "nothing to do: the session is where it should be\n")),
            _ => {}
        }
        if !matches!(stop, Stop::Waiting(_)) {
            next.push(("see it", format!("tree {name}")));
        }
        if matches!(stop, Stop::Answered | Stop::Decided(_) | Stop::Idle) {
            next.push(("say more", format!("resume {name}{} -p \"…\"", self.again())));
        }
        let usage = self.progress.usage();
        if usage.input_tokens + usage.output_tokens > 0 {
            end.push_str(&paint(DIM, &format!("{}\n", cost(usage))));
        }
        end.push_str(&paint(DIM, &format!("session {name} in {}\n", self.place.path.display())));
        for (what, command) in next {
            end.push_str(&paint(DIM, &format!("  {what:<9}{}\n", self.place.command(&command))));
        }
        tell(&end);
    }

    /// Returns the flags that a next command needs to go on under the same terms.
    fn again(&self) -> String {
        let mut flags = String::new();
        match self.policy {
            Policy::Person => {}
            Policy::Model => flags.push_str(" --policy model"),
            Policy::Always => flags.push_str(" --yes"),
        }
        if self.terms.commit {
            flags.push_str(" --commit");
        }
        if self.terms.no_revert {
            flags.push_str(" --no-revert");
        }
        if let Some(turns) = self.terms.max_turns {
            flags.push_str(&format!(" --max-turns {turns}"));
        }
        if let Some(tokens) = self.terms.max_tokens {
            flags.push_str(&format!(" --max-tokens {tokens}"));
        }
        // The demo has no flags of this kind and leaves 0 here.
        if self.model.max_output_tokens != MAX_OUTPUT_TOKENS {
            flags.push_str(&format!(" --max-output-tokens {}", self.model.max_output_tokens));
        }
        if let Some(api) = self.model.provider.and_then(|api| api.to_possible_value()) {
            flags.push_str(&format!(" --provider {}", api.get_name()));
        }
        let named = [("--base-url", &self.model.base_url), ("--model", &self.model.model)];
        for (flag, value) in named {
            if let Some(value) = value {
                flags.push_str(&format!(" {flag} {}", store::quoted(&text::one_line(value, 200))));
            }
        }
        flags
    }

    fn as_json(&self, session: &Session, stop: &Result<Stop, RuntimeError>) -> Value {
        let (word, verdict, waiting, error) = match stop {
            Ok(Stop::Decided(decision)) => {
                ("decided", serde_json::from_str(&decision.print()).unwrap_or(Value::Null), Vec::new(), None)
            }
            Ok(Stop::Answered) => ("answered", Value::Null, Vec::new(), None),
            Ok(Stop::Waiting(ids)) => ("waiting", Value::Null, ids.clone(), None),
            Ok(Stop::Cancelled) => ("cancelled", Value::Null, Vec::new(), None),
            Ok(Stop::Limit(_)) => ("limit", Value::Null, Vec::new(), None),
            Ok(_) => ("idle", Value::Null, Vec::new(), None),
            Err(fault) => ("error", Value::Null, Vec::new(), Some(error_line(fault))),
        };
        json!({
            "version": 1,
            "session": session.id(),
            "stop": word,
            "verdict": verdict,
            "waiting": waiting,
            "answer": session.answer(),
            "head": session.tree().head(),
            "usage": self.progress.usage(),
            "error": error,
        })
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

fn exit_of(stop: &Stop) -> Exit {
    match stop {
        Stop::Decided(decision) if matches!(decision.verdict(), Verdict::Abandon { .. }) => Exit::Failure,
        Stop::Waiting(_) | Stop::Limit(_) => Exit::Failure,
        Stop::Cancelled => Exit::Interrupted,
        _ => Exit::Done,
    }
}

fn policy_of(terms: &Terms) -> Policy {
    if terms.yes { Policy::Always } else { terms.policy.unwrap_or(Policy::Person) }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn read_stdin() -> Result<String, Fault> {
    let mut text = String::new();
    let read = std::io::stdin().lock().read_to_string(&mut text);
    read.map_err(|error| Fault::usage(format!("cannot read the prompt from stdin: {error}")))?;
    Ok(text)
}
