//! What a run's verdict rests on: a test, a build, a lint, with what it returned.
//!
//! Evidence names the patch set that it looked at; a test that passed before the last edit is evidence for another one.

use crate::json::{Canonical, Fields, Object, ParseError, canonical_form, read};
use crate::{EvidenceId, Label, NonBlank, PatchSetId, RunId, Timestamp};

/// What was looked at.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "`Other` takes what comes later")]
pub enum EvidenceKind {
    /// Tests ran.
    Test,
    /// A linter ran.
    Lint,
    /// A build ran.
    Build,
    /// Something else, such as `benchmark`.
    Other(Label),
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
}

/// A finding of one run, sealed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    id: EvidenceId,
    run: RunId,
    at: Timestamp,
    patch_set: Option<PatchSetId>,
    finding: Finding,
}

canonical_form!(Evidence);

impl Evidence {
    /// Seals what `run` found at `at`, about `patch_set` if the changes had a name by then.
    #[must_use]
    pub const fn new(
        id: EvidenceId,
        run: RunId,
        at: Timestamp,
        patch_set: Option<PatchSetId>,
        finding: Finding,
    ) -> Self {
        Self { id, run, at, patch_set, finding }
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
            .maybe_show("patch_set", self.patch_set.as_ref());
        let object = match &self.finding.kind {
            EvidenceKind::Test => object.text("kind", "test"),
            EvidenceKind::Lint => object.text("kind", "lint"),
            EvidenceKind::Build => object.text("kind", "build"),
            EvidenceKind::Other(label) => object.text("kind", "other").text("label", label.as_str()),
        };
        object
            .text("tool", self.finding.tool.as_str())
            .maybe_text("command", self.finding.command.as_deref())
            .maybe_bare("exit_code", self.finding.exit_code)
            .maybe_text("summary", self.finding.summary.as_deref())
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let id = fields.required("id", read::canonical)?;
        let run = fields.required("run", read::canonical)?;
        let at = fields.required("at", read::canonical)?;
        let patch_set = fields.optional("patch_set", read::canonical)?;
        let kind = fields.required("kind", |raw| {
            read::word(raw, "test, lint, build or other", |word| match word {
                "test" => Some(Some(EvidenceKind::Test)),
                "lint" => Some(Some(EvidenceKind::Lint)),
                "build" => Some(Some(EvidenceKind::Build)),
                "other" => Some(None),
                _ => None,
            })
        })?;
        let kind = match kind {
            Some(kind) => kind,
            None => EvidenceKind::Other(fields.required("label", read::canonical)?),
        };
        let finding = Finding {
            kind,
            tool: fields.required("tool", read::canonical)?,
            command: fields.optional("command", read::text)?,
            exit_code: fields.optional("exit_code", read::signed)?,
            summary: fields.optional("summary", read::text)?,
        };
        Ok(Self { id, run, at, patch_set, finding })
    }
}
