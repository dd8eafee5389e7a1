//! A call of a tool: where it stands, what its tool declares, and what it gave.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_message_tree::{NodeId, Part};
use trunkline_resolve_queue::{Effect, Fingerprint};

/// A staged action: what a tool wants done, as data.
///
/// Its `source_tool` is the name of the tool that will be asked to apply it.
pub type Proposal = trunkline_resolve_queue::Proposal<Value>;

/// Where a call stands. Ids of calls repeat in a session, places do not.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallPlace {
    /// The assistant message that holds the call.
    pub node: NodeId,
    /// The number of the call among the calls of the message, from 0.
    pub index: u32,
    /// The provider's id for it.
    pub id: String,
}

/// What was at a place before something was written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// How it looked, as `Executor::observe` would say it.
    pub fingerprint: Fingerprint,
    /// What it was; `None` if nothing was there.
    pub bytes: Option<Vec<u8>>,
}

/// What a tool does to the world.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// It only looks: calls may run side by side, and run again after a crash.
    ReadOnly,
    /// It looks and stages proposals: its calls run alone, in order, and run again after a crash.
    Proposes,
    /// It may change something: its calls run alone, in order, and never a second time by themselves.
    Exclusive,
}

/// What has to be decided before a call may run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Gate {
    /// One line: what would be done.
    pub label: String,
    /// Everything that helps to decide.
    pub preview: String,
    /// What it would take to undo it.
    pub effect: Effect,
    /// The command that would be run, as a shell gets it: rules for commands go by it.
    pub command: Option<String>,
    /// Whether the call runs unasked, unless a rule forbids it: of a tool that only reads or proposes.
    pub runs_unasked: bool,
}

impl Gate {
    /// A gate for something that nothing undoes, and that rules know only by its tool.
    pub fn new(label: impl Into<String>, preview: impl Into<String>) -> Self {
        let (label, preview) = (label.into(), preview.into());
        Gate { label, preview, effect: Effect::Irreversible, command: None, runs_unasked: false }
    }

    /// A gate for a command.
    #[must_use]
    pub fn of_command(mut self, command: impl Into<String>) -> Self {
        self.command = Some(command.into());
        self
    }

    /// A gate for what changes nothing: nobody is asked about it, and it does not begin if a rule forbids it.
    #[must_use]
    pub fn unasked(mut self) -> Self {
        (self.effect, self.runs_unasked) = (Effect::Pure, true);
        self
    }
}

/// What has to be approved before a call may run, or what its model is told because that cannot be known.
pub type Declared = Result<Option<Gate>, String>;

/// What a call gave.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model is told.
    pub content: Vec<Part>,
    /// Whether the tool reports a failure.
    pub is_error: bool,
    /// What the tool wants done.
    pub proposals: Vec<Proposal>,
    /// What the call proves, for the verdict of the run.
    pub finding: Option<Finding>,
}

impl ToolOutput {
    /// Returns words for the model.
    pub fn text(text: impl Into<String>) -> Self {
        ToolOutput { content: vec![Part::text(text)], ..ToolOutput::default() }
    }

    /// Returns a failure in words.
    pub fn error(text: impl Into<String>) -> Self {
        ToolOutput { is_error: true, ..ToolOutput::text(text) }
    }
}

/// What a command proved: evidence for the verdict of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// `test`, `lint`, `build`, or another lower-case word.
    pub kind: String,
    /// What was run, on one line.
    pub command: String,
    /// How it ended; `None` if a signal or a limit ended it.
    pub exit_code: Option<i32>,
    /// One line on what it showed.
    pub summary: String,
    /// The SHA-256 of all that it printed, as 64 hexadecimal digits: whoever kept the output can show that it is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}
