//! What a run's verdict rests on: a test, a build, a lint, with what it returned.
//!
//! Evidence names the patch set that it looked at; a test that passed before the last edit is evidence for another one.

use crate::json::{Canonical, Fields, Object, ParseError, canonical_form, read};
use crate::vocabulary::open_vocabulary;
use crate::{DecisionId, Digest, EvidenceId, NonBlank, PatchSetId, RunId, Timestamp};

open_vocabulary! {
    /// What was looked at.
    EvidenceKind, "test, lint, build or other" {
        /// Tests ran.
        Test = "test",
        /// A linter ran.
        Lint = "lint",
        /// A build ran.
        Build = "build",
    }
    /// Something else, such as `benchmark`.
    Other
}

/// What was found; the content of an [`Evidence`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What was looked at.
    pub kind: EvidenceKind,
    /// The tool that looked.
    pub tool: NonBlank,
    /// The command line.
    pub command: Option<String>,
    /// How the command ended; `None` if it did not, or was killed.
    pub exit_code: Option<i32>,
    /// What it said, in short.
    pub summary: Option<String>,
    /// The SHA-256 of what the command printed, so that whoever kept the output can show that it is this one.
    pub output: Option<Digest>,
}

/// A finding of one run, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    id: EvidenceId,
    run: RunId,
    at: Timestamp,
    patch_set: Option<PatchSetId>,
    decision: Option<DecisionId>,
    finding: Finding,
}

canonical_form!(Evidence);

impl Evidence {
    /// Seals what `run` found at `at`, about `patch_set` if the changes had a name by then.
    ///
    /// `decision` is the one that rests on it, if its name is known already: then each names the other, and
    /// [`Decision::check_grounds`](crate::Decision::check_grounds) refuses one that does not.
    #[must_use]
    pub const fn new(
        id: EvidenceId,
        run: RunId,
        at: Timestamp,
        patch_set: Option<PatchSetId>,
        decision: Option<DecisionId>,
        finding: Finding,
    ) -> Self {
        Self { id, run, at, patch_set, decision, finding }
    }

    /// Its name.
    #[must_use]
    pub const fn id(&self) -> EvidenceId {
        self.id
    }

    /// The run that looked.
    #[must_use]
    pub const fn run(&self) -> RunId {
        self.run
    }

    /// When the finding was complete.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.at
    }

    /// The changes that were looked at.
    #[must_use]
    pub const fn patch_set(&self) -> Option<PatchSetId> {
        self.patch_set
    }

    /// The decision that rests on it; `None` where that was not known yet.
    #[must_use]
    pub const fn decision(&self) -> Option<DecisionId> {
        self.decision
    }

    /// What was found.
    #[must_use]
    pub const fn finding(&self) -> &Finding {
        &self.finding
    }
}

impl Canonical for Evidence {
    const TYPE: &'static str = "evidence";

    fn print_fields(&self, object: Object) -> Object {
        let object = object
            .show("id", &self.id)
            .show("run", &self.run)
            .show("at", &self.at)
            .maybe_show("patch_set", self.patch_set.as_ref())
            .maybe_show("decision", self.decision.as_ref());
        self.finding
            .kind
            .print(object, "kind", "label")
            .text("tool", self.finding.tool.as_str())
            .maybe_text("command", self.finding.command.as_deref())
            .maybe_bare("exit_code", self.finding.exit_code)
            .maybe_text("summary", self.finding.summary.as_deref())
            .maybe_show("output", self.finding.output.as_ref())
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let id = fields.required("id", read::canonical)?;
        let run = fields.required("run", read::canonical)?;
        let at = fields.required("at", read::canonical)?;
        let patch_set = fields.optional("patch_set", read::canonical)?;
        let decision = fields.optional("decision", read::canonical)?;
        let kind = EvidenceKind::required(fields, "kind", "label")?;
        let finding = Finding {
            kind,
            tool: fields.required("tool", read::canonical)?,
            command: fields.optional("command", read::text)?,
            exit_code: fields.optional("exit_code", read::signed)?,
            summary: fields.optional("summary", read::text)?,
            output: fields.optional("output", read::canonical)?,
        };
        Ok(Self { id, run, at, patch_set, decision, finding })
    }
}
