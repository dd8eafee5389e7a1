//! One call of a tool.
//!
//! The arguments are kept as the text that the caller had; nothing here reads them.

use std::collections::BTreeSet;

use crate::json::{Fields, Object, ParseError, Raw, quoted, read};
use crate::sealed::{Faults, sealed};
use crate::vocabulary::closed_vocabulary;
use crate::{Digest, EventId, NonBlank, RelativePath, RunId, Timestamp};

closed_vocabulary! {
    /// How a call ended.
    ToolStatus, "ok, error, denied, cancelled or timed_out",
    "whoever counts failures must know every way to fail" {
        /// The tool did what it was asked to.
        Ok = "ok",
        /// The tool says that it could not.
        Error = "error",
        /// Somebody, or a rule, did not allow it.
        Denied = "denied",
        /// It was stopped.
        Cancelled = "cancelled",
        /// It took too long, and was stopped.
        TimedOut = "timed_out",
    }
}

/// Something that a tool left in a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Artifact {
    /// The store.
    pub store: NonBlank,
    /// Its name there.
    pub key: NonBlank,
    /// The SHA-256 of its bytes.
    pub digest: Option<Digest>,
}

/// What a [`ToolInvocation`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolInvocationContent {
    /// The run that called.
    pub run: RunId,
    /// The tool.
    pub tool: NonBlank,
    /// The name of the call in its conversation.
    pub call: Option<NonBlank>,
    /// The files that were read.
    pub reads: BTreeSet<RelativePath>,
    /// The files that were written.
    pub writes: BTreeSet<RelativePath>,
    /// The arguments, as they were given.
    pub args: String,
    /// How the call ended.
    pub status: ToolStatus,
    /// What came of it, in short.
    pub summary: Option<String>,
    /// What it left, in its order.
    pub artifacts: Vec<Artifact>,
    /// When it began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
}

sealed! {
    /// One call of a tool, sealed.
    ToolInvocation(EventId, ToolInvocationContent) is "tool_invocation";
    /// Seals the call.
    ///
    /// That it ended before it started is not refused, since clocks go backwards; a [`Family`](crate::Family) says so.
    ///
    /// # Errors
    ///
    /// None yet: what must hold of each field is held by its type.
    new
}

impl ToolInvocationContent {
    fn faults(&self, _id: EventId) -> Faults {
        Faults::default()
    }

    fn print(&self, object: Object) -> Object {
        object
            .show("run", &self.run)
            .text("tool", self.tool.as_str())
            .maybe_text("call", self.call.as_ref().map(NonBlank::as_str))
            .list("reads", self.reads.iter().map(|path| quoted(path.as_str())))
            .list("writes", self.writes.iter().map(|path| quoted(path.as_str())))
            .text("args", &self.args)
            .text("status", self.status.as_str())
            .maybe_text("summary", self.summary.as_deref())
            .list("artifacts", self.artifacts.iter().map(|artifact| print_artifact(artifact).finish()))
            .maybe_show("started", self.started.as_ref())
            .maybe_show("ended", self.ended.as_ref())
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        Ok(Self {
            run: fields.required("run", read::canonical)?,
            tool: fields.required("tool", read::canonical)?,
            call: fields.optional("call", read::canonical)?,
            reads: fields.required("reads", paths)?,
            writes: fields.required("writes", paths)?,
            args: fields.required("args", read::text)?,
            status: fields
                .required("status", |raw| read::word(raw, ToolStatus::EXPECTED, ToolStatus::of_word))?,
            summary: fields.optional("summary", read::text)?,
            artifacts: fields.required("artifacts", |raw| read::list(raw, read_artifact))?,
            started: fields.optional("started", read::canonical)?,
            ended: fields.optional("ended", read::canonical)?,
        })
    }
}

fn paths(raw: Raw<'_>) -> Result<BTreeSet<RelativePath>, ParseError> {
    Ok(read::distinct_list(raw, "path")?.into_iter().collect())
}

fn print_artifact(artifact: &Artifact) -> Object {
    Object::new()
        .text("store", artifact.store.as_str())
        .text("key", artifact.key.as_str())
        .maybe_show("digest", artifact.digest.as_ref())
}

fn read_artifact(raw: Raw<'_>) -> Result<Artifact, ParseError> {
    let mut fields = Fields::open(raw)?;
    let artifact = Artifact {
        store: fields.required("store", read::canonical)?,
        key: fields.required("key", read::canonical)?,
        digest: fields.optional("digest", read::canonical)?,
    };
    fields.close()?;
    Ok(artifact)
}
