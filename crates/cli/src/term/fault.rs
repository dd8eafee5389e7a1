//! What went wrong, said once: a line, its causes, what to do next, and the exit code.
//!
//! Everything that ends the program early comes through here, so no other place prints errors or ends the process.

use std::error::Error;
use std::io;

use trunkline_providers::{ErrorKind, ProviderError};
use trunkline_runtime::{AgentError, RuntimeError};
use trunkline_session_store::StoreError;
use trunkline_tools::{ToolsError, TrustError};

use crate::term::screen::{command_line, page};
use crate::term::style::{BOLD, CYAN, DIM, PLAIN, RED, paint};
use crate::term::tell::tell;
use crate::term::{shell, text};

/// How the program ends.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is done.
    Done = 0,
    /// Something failed, or waits for a person.
    Failure = 1,
    /// It was asked for in a way that cannot work.
    Usage = 2,
    /// What was checked is broken.
    Broken = 3,
    /// A person stopped it.
    Interrupted = 130,
}

impl Exit {
    /// Returns how two things end together: as the later one, unless that is done.
    pub(crate) fn worse(self, later: Exit) -> Exit {
        if later == Exit::Done { self } else { later }
    }
}

/// A line of what was found.
#[derive(Debug)]
enum Line {
    Words(String),
    /// Words that are safe already, with their colours.
    Painted(String),
    /// What can be typed, after what it is for.
    Command(&'static str, String),
}

/// Why a command ends before its work is done.
#[derive(Debug)]
pub(crate) struct Fault {
    exit: Exit,
    message: String,
    causes: Vec<String>,
    lines: Vec<Line>,
    hints: Vec<String>,
    /// Nobody reads any more; there is nothing to say and nothing went wrong.
    silent: bool,
}

impl Fault {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Fault {
            exit: Exit::Failure,
            message: message.into(),
            causes: Vec::new(),
            lines: Vec::new(),
            hints: Vec::new(),
            silent: false,
        }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Fault { exit: Exit::Usage, ..Fault::new(message) }
    }

    /// Returns the fault of a write to stdout.
    pub(crate) fn stdout(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Fault { exit: Exit::Done, silent: true, ..Fault::new("") },
            _ => Fault::new(format!("cannot write to stdout: {error}")),
        }
    }

    /// Returns the fault of a print that told what was done: nobody should take that for undone, or for told.
    pub(crate) fn after_acts(self) -> Self {
        let fault = match self.silent {
            true => Fault::new("stdout was closed before everything was told"),
            false => self,
        };
        fault.line("what was asked for was done to its end all the same")
    }

    /// Adds a line of what was found.
    pub(crate) fn line(mut self, line: impl Into<String>) -> Self {
        self.lines.push(Line::Words(line.into()));
        self
    }

    /// Adds a line of what was found that is safe already and has its colours, as what is listed elsewhere.
    pub(crate) fn painted(mut self, line: impl Into<String>) -> Self {
        self.lines.push(Line::Painted(line.into()));
        self
    }

    /// Adds a line with what can be typed, after what it is for.
    pub(crate) fn command(mut self, what: &'static str, command: String) -> Self {
        self.lines.push(Line::Command(what, command));
        self
    }

    /// Returns it with its causes on one line, where it is not what ends the program.
    pub(crate) fn as_line(&self) -> String {
        let said = std::iter::once(&self.message).chain(&self.causes);
        text::one_line(&said.map(String::as_str).collect::<Vec<_>>().join(": "), 300)
    }

    /// Adds what to do next.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Prints it on stderr.
    pub(crate) fn show(&self) {
        if self.silent {
            return;
        }
        let error = format!("{} {}\n", paint(RED.bold(), "error:"), paint(BOLD, &text::safe(&self.message)));
        let mut shown = page(&error).into_owned();
        for cause in &self.causes {
            shown.push_str(&page(&format!("  {} {}\n", paint(DIM, "caused by:"), text::safe(cause))));
        }
        for line in &self.lines {
            shown.push_str(&match line {
                Line::Words(words) => page(&format!("  {}\n", text::safe(words))).into_owned(),
                Line::Painted(words) => page(&format!("  {words}\n")).into_owned(),
                Line::Command(what, command) => command_line(PLAIN, what, &text::safe(command)),
            });
        }
        for hint in &self.hints {
            shown.push_str(&page(&format!("  {} {}\n", paint(CYAN, "hint:"), text::safe(hint))));
        }
        tell(&shown);
    }

    pub(crate) fn of(error: &dyn Error) -> Self {
        let mut fault = Fault::new(error.to_string());
        let mut cause = error.source();
        while let Some(error) = cause {
            fault.causes.push(error.to_string());
            cause = error.source();
        }
        fault
    }
}

impl From<RuntimeError> for Fault {
    fn from(error: RuntimeError) -> Self {
        match error {
            // The layer in between would say less than its cause.
            RuntimeError::Store(error) => error.into(),
            RuntimeError::Provider(error) => error.into(),
            RuntimeError::NothingCame { .. } => Fault::of(&error)
                .hint("the model was told so and asked once more; say something with -p, or ask another one with --model"),
            RuntimeError::Workspace(error) => Fault::new(error.to_string()),
            other => Fault::of(&other),
        }
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        let mut fault = Fault::of(&error);
        if let StoreError::Corrupt { .. }
        | StoreError::Torn { .. }
        | StoreError::BrokenChain { .. }
        | StoreError::BadRecord { .. }
        | StoreError::Misfit { .. } = error
        {
            fault.exit = Exit::Broken;
        }
        match error {
            StoreError::Newer { .. } => fault.hint("a newer trunkline can read it"),
            StoreError::Older { .. } => fault.hint("`trunkline store migrate --dry-run` tells what it would do"),
            StoreError::NotAStore { .. } => fault.hint("name another file with --store; this one was not touched"),
            StoreError::Corrupt { .. } => fault.hint(
                "nothing was changed; `trunkline doctor` tells what is damaged, and --store names another one to go on with",
            ),
            StoreError::Torn { place, database, log, .. } => torn(fault, &place, database.as_deref(), log.as_deref()),
            StoreError::Full { .. } => fault.hint("make room and try again; everything that was acknowledged is kept"),
            StoreError::Locked { .. } => fault.hint("wait for it, or end it with `trunkline cancel`"),
            StoreError::BrokenChain { .. } | StoreError::BadRecord { .. } | StoreError::Misfit { .. } => {
                fault.hint("`trunkline doctor` tells what is damaged, and what can be done")
            }
            StoreError::Busy { .. } => fault.hint("nothing was changed; another process kept it busy, or the server is away"),
            _ => fault,
        }
    }
}

/// Says how a database and its log come together again.
fn torn(fault: Fault, place: &str, database: Option<&str>, log: Option<&str>) -> Fault {
    let command =
        |store: &str, rest: &str| format!("{} --store {} {rest}", shell::program(), shell::quoted(store));
    match (database, log) {
        (Some(database), Some(_)) => {
            let join = format!("doctor --fix --database {}", shell::quoted(database));
            fault.command("bring both together there", command(place, &join)).hint(format!(
                "or move the database back to {place}, if nothing is there, and go on as before"
            ))
        }
        (None, Some(_)) => fault
            .command("if it was moved", command(place, "doctor --fix --database FILE"))
            .hint(format!("FILE is where the database is now; it can be moved back to {place} as well")),
        (Some(database), None) => fault.command("look at it there", command(database, "doctor")),
        (None, None) => {
            fault.hint("nothing that was acknowledged was written elsewhere; a backup may have it")
        }
    }
}

impl From<ProviderError> for Fault {
    fn from(error: ProviderError) -> Self {
        let fault = Fault::of(&error);
        match (&error, error.kind()) {
            (_, Some(ErrorKind::Auth)) => fault.hint("check the key: ANTHROPIC_API_KEY, OPENAI_API_KEY, or the variable of whoever was asked"),
            (_, Some(ErrorKind::NotFound)) => fault.hint("check --model and --base-url"),
            (_, Some(ErrorKind::Quota)) => fault.hint("the account has nothing left; waiting does not help"),
            (ProviderError::Html { .. }, _) => {
                fault.hint("a base URL looks like https://api.openai.com/v1 or http://localhost:11434/v1")
            }
            (ProviderError::NotRecorded { .. }, _) => fault
                .hint("replay it with the prompt, the files and the flags of the recording, or record anew with --record"),
            (ProviderError::Proxy { .. }, _) => fault.hint(
                "is the proxy right? HTTPS_PROXY, HTTP_PROXY and ALL_PROXY name it, and NO_PROXY the hosts that need none",
            ),
            (ProviderError::Decode(fault_of_answer), _) if fault_of_answer.is_bound() => {
                fault.hint("a model may be caught in a loop; --max-answer BYTES takes more of one reply")
            }
            (ProviderError::Transport { .. }, _) => {
                fault.hint("is the server running, and --base-url right?")
            }
            _ => fault,
        }
    }
}

impl From<AgentError> for Fault {
    fn from(error: AgentError) -> Self {
        Fault::of(&error)
    }
}

impl From<ToolsError> for Fault {
    fn from(error: ToolsError) -> Self {
        Fault { exit: Exit::Usage, ..Fault::of(&error) }
    }
}

impl From<TrustError> for Fault {
    fn from(error: TrustError) -> Self {
        let fault = Fault::of(&error);
        match &error {
            TrustError::OpenToOthers { path, .. } => fault.hint(format!(
                "if nobody else has: chmod go-w {}",
                shell::quoted(&path.display().to_string())
            )),
            TrustError::Damaged { path, .. } => fault.hint(format!(
                "nothing was changed; once {} is removed, each tool has to be trusted again",
                text::one_line(&path.display().to_string(), 200)
            )),
            TrustError::InProject { .. } => fault.hint("set XDG_DATA_HOME to a folder outside of it"),
            _ => fault,
        }
    }
}

impl From<trunkline_session_store::ImportError> for Fault {
    fn from(error: trunkline_session_store::ImportError) -> Self {
        Fault::of(&error)
    }
}
