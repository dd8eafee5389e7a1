//! What can go wrong, said to the one who must act.

use trunkline_message_tree::TreeError;
use trunkline_providers::ProviderError;
use trunkline_session_store::{SessionId, StoreError};

/// Why an agent could not be put together.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Two tools have one name.
    #[error("two tools are called {tool:?}")]
    ToolTwice {
        /// The name.
        tool: String,
    },
    /// A name is taken by a layer.
    #[error("a tool is called {tool:?}, which is the name of a tool of the harness; rename it")]
    ReservedName {
        /// The name.
        tool: String,
    },
    /// A rule cannot be kept outside of sessions.
    #[error("rule {number} of this agent cannot be kept: {fault}")]
    Rule {
        /// Which, from 1.
        number: usize,
        /// What is wrong with it.
        fault: String,
    },
    /// It is to commit or to bind, and was not told where.
    #[error(
        "`AgentBuilder::{asked}` needs a workspace: name the folder with `AgentBuilder::workspace`, as in \
         `.workspace(trunkline_tools::workspace_for(folder).into())`"
    )]
    NoWorkspace {
        /// What it is to do: `commits` or `binds`.
        asked: &'static str,
    },
    /// A tool's schema is none.
    #[error("the schema of tool {tool:?} is not valid: {fault}")]
    Schema {
        /// The tool.
        tool: String,
        /// What is wrong with it.
        fault: String,
    },
}

/// Why a session could not go on. What was recorded before is kept, and a resume takes it up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// The store could not keep or give something.
    #[error("the session store failed")]
    Store(#[from] StoreError),
    /// Another process took the session over. Nothing more can be written from here.
    #[error("session {session} was taken over by {by}; nothing more is written here, open it again to go on")]
    TakenOver {
        /// The session.
        session: SessionId,
        /// Who has it now, as far as that is known.
        by: String,
    },
    /// The model could not be asked, or its answer not read.
    #[error("the model could not be asked")]
    Provider(#[from] ProviderError),
    /// The answer broke off after the service had run tools of its own for it, which it would run again.
    #[error(
        "the answer broke off after the service had run tools of its own; it is not asked for again by itself, as they \
         would run again"
    )]
    NotAskedAgain(#[source] ProviderError),
    /// The model's answer came to its end and brought nothing, also when it was told so and asked again.
    #[error("the model has answered without words and without a call: {words}")]
    NothingCame {
        /// What came instead, with the service's words if it gave any.
        words: String,
    },
    /// The log does not make a tree.
    #[error("the log of this session does not fit together")]
    Tree(#[from] TreeError),
    /// A note in the log cannot be read.
    #[error("a note {kind:?} of layer {layer:?} in the log cannot be read: {fault}")]
    BadNote {
        /// The layer that wrote it.
        layer: String,
        /// What the layer calls it.
        kind: String,
        /// What is wrong with it.
        fault: String,
    },
    /// A proposal was approved, and the tool that made it is not here. Said once: the proposal has failed by then, with the
    /// same words for the model, and waits for a decision again.
    #[error("{proposal} was staged by the tool {tool:?}, which this agent does not have")]
    NoExecutor {
        /// The proposal.
        proposal: String,
        /// The tool.
        tool: String,
    },
    /// A proposal cannot be decided or moved so. Says what was decided first, or what would be possible.
    #[error(transparent)]
    Proposal(#[from] trunkline_resolve_queue::QueueError),
    /// A rule cannot be given or taken back so.
    #[error(transparent)]
    Rule(#[from] trunkline_resolve_queue::RuleError),
    /// The order cannot be carried out.
    #[error("{reason}")]
    Refused {
        /// Why, and what would work.
        reason: String,
    },
    /// The files could not be read or committed.
    #[error("the workspace cannot be used")]
    Workspace(#[from] crate::words::files::WorkspaceFault),
    /// There is no run to close.
    #[error("no run is open here: the last one has its verdict, and the next prompt opens another")]
    NoOpenRun,
    /// A run cannot be closed while something in it may still be carried out.
    #[error("{} in this run: decide on what is proposed, or discard it, first", waiting(.proposals))]
    Unsettled {
        /// The proposals, as they are shown: `p1`.
        proposals: Vec<String>,
    },
    /// Files that a rollback would restore are not what the run has left. Nothing was changed.
    #[error("{decision} cannot be rolled back: {}", listed(.conflicts))]
    Conflicts {
        /// The decision.
        decision: String,
        /// What is in the way, one line for each file.
        conflicts: Vec<String>,
    },
    /// Somebody else gave the run its verdict first. That one stands.
    #[error("run {run} was decided already, by record {seq}: {verdict}")]
    AlreadyDecided {
        /// The run.
        run: String,
        /// The record of its verdict.
        seq: u64,
        /// What was decided, such as `commit` or `other: answered`.
        verdict: String,
    },
    /// A record of the verdict cannot be made.
    #[error("the verdict cannot be recorded: {fault}")]
    Verdict {
        /// What is wrong.
        fault: String,
    },
}

fn waiting(proposals: &[String]) -> String {
    let verb = if proposals.len() == 1 { "is" } else { "are" };
    format!("{} {verb} unsettled", listed(proposals))
}

/// Names some of them, on one line.
fn listed(names: &[String]) -> String {
    const NAMED: usize = 20;
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMED { " and more" } else { "" };
    format!("{named}{more}")
}
