//! What a tool is.
//!
//! A tool never asks a person and never writes what was not approved: it says what it wants done ([`Tool::gate`],
//! [`ToolOutput::proposals`]); what was decided its [`Executor`] does, perhaps in another process.

use async_trait::async_trait;
use serde_json::{Map, Value};
use trunkline_message_tree::{ToolSpec, tool_label};
use trunkline_revert::Effects;
use trunkline_session_machine::{Access, Gate, ToolOutput};

use crate::context::ToolContext;
use crate::executor::Executor;

/// Something that a model may call.
///
/// Most tools are a function: the feature `typed` makes one of it, `TypedTool`. Others implement this, with the
/// attribute of `async-trait`:
///
/// ```
/// use serde_json::{Map, Value, json};
/// use trunkline_agent_traits::message_tree::ToolSpec;
/// use trunkline_agent_traits::{Tool, ToolContext, ToolOutput};
///
/// struct Greet;
///
/// #[async_trait::async_trait]
/// impl Tool for Greet {
///     fn spec(&self) -> ToolSpec {
///         let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } } });
///         ToolSpec::new("greet", "Greets.", schema)
///     }
///
///     async fn run(&self, arguments: Map<String, Value>, _: &ToolContext) -> ToolOutput {
///         // Not `arguments["name"]`: that panics where it is left out.
///         let name = arguments.get("name").and_then(Value::as_str).unwrap_or("you");
///         ToolOutput::text(format!("Hello, {name}."))
///     }
/// }
/// ```
///
/// A panic in a call, in its gate or in its proposal ends neither the drive nor the session: it counts as a call that failed,
/// as files that nobody looked at, or as an apply whose outcome is unknown.
#[async_trait]
pub trait Tool: Send + Sync {
    /// Returns what the model is told. Must not change while an agent lives: it is part of the cached prompt.
    fn spec(&self) -> ToolSpec;

    /// Returns what people are shown for it, beside the name that the model knows: `edit_file` is `Edit file`, unless told. No
    /// request has it. Another one is recorded when the tool first runs in a session, so that whoever reads the log later
    /// sees it too.
    fn label(&self) -> String {
        tool_label(&self.spec().name)
    }

    /// Returns whether the tool reads its arguments itself and answers what does not fit, as a
    /// `TypedTool` does. Then its schema may demand what is only
    /// checked with the feature `json-schema`; of any other tool that is refused when the agent is built. It does not, unless told.
    fn reads_arguments(&self) -> bool {
        false
    }

    /// Returns what the tool does to the world. [`Access::Exclusive`] unless told: never run again by itself.
    fn access(&self) -> Access {
        Access::Exclusive
    }

    /// Returns what must be approved before a call may run; `None` if it may run at once.
    ///
    /// The arguments have been checked against the schema.
    fn gate(&self, arguments: &Map<String, Value>) -> Option<Gate> {
        let _ = arguments;
        None
    }

    /// Returns what a call does to the world if it succeeds; that nobody knows, unless told.
    ///
    /// A note on a branch that was left says it, so that the model neither repeats nor contradicts what was done there.
    /// Asked when a call begins, and what it says is recorded with the result; of calls of which nothing was recorded it is asked when
    /// their branch is left, so the arguments may be anything. A tool that proposes names what its
    /// proposals would write; those count once they are applied.
    fn effects(&self, arguments: &Map<String, Value>) -> Effects {
        let _ = arguments;
        Effects::default()
    }

    /// Runs one call. The arguments have been checked against the schema.
    ///
    /// When `context.cancel` is given, the tool stops what it started and returns soon; a tool that does not is dropped.
    async fn run(&self, arguments: Map<String, Value>, context: &ToolContext) -> ToolOutput;

    /// Returns who applies what this tool stages: most often the tool itself. None unless told, and then a proposal in its
    /// name fails when it is approved.
    fn as_executor(&self) -> Option<&dyn Executor> {
        None
    }
}
