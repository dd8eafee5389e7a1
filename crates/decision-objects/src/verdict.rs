//! How a run ended.
//!
//! Each variant carries exactly what it needs, so there is no checkpoint id on a commit and no commit without its name.

use crate::json::{Fields, Object, ParseError, Raw, read};
use crate::vocabulary::closed_vocabulary;
use crate::{CheckpointState, DecisionId, GitOid, Label, NonBlank, PatchSetId};

/// The verdict on a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a new way to end a run must break every reader; `Other` is the open end"
)]
pub enum Verdict {
    /// The changes were accepted, and stand in a commit.
    Commit {
        /// The accepted changes.
        patch_set: PatchSetId,
        /// The commit that holds them.
        commit: GitOid,
    },
    /// The work was put down to be taken up again by a run that continues this one.
    Checkpoint {
        /// What to continue from, in the words of whoever made it.
        checkpoint: NonBlank,
        /// The conversation and the files at that moment; `None` where that was not said.
        state: Option<CheckpointState>,
    },
    /// The goal was given up.
    Abandon {
        /// Why.
        reason: NonBlank,
    },
    /// Another run shall try again.
    Retry {
        /// What to do otherwise.
        reason: NonBlank,
    },
    /// The run undid what an earlier decision had brought about.
    Rollback {
        /// That decision: one of another run, with changes.
        of: DecisionId,
        /// The commit whose content stands now; `None` where there is none, outside git or with changes not committed.
        reverted_to: Option<GitOid>,
        /// The changes that undid it, made by the run that this verdict ends.
        patch_set: Option<PatchSetId>,
    },
    /// The run ended in a way that has no word of its own, such as `answered` or `applied`.
    Other {
        /// The word.
        label: Label,
        /// The changes, if there are any.
        patch_set: Option<PatchSetId>,
        /// Why it ended so.
        reason: NonBlank,
    },
}

closed_vocabulary! {
    /// The verdict's name without what it carries.
    VerdictKind, "commit, checkpoint, abandon, retry, rollback or other", "it mirrors `Verdict`" {
        /// [`Verdict::Commit`].
        Commit = "commit",
        /// [`Verdict::Checkpoint`].
        Checkpoint = "checkpoint",
        /// [`Verdict::Abandon`].
        Abandon = "abandon",
        /// [`Verdict::Retry`].
        Retry = "retry",
        /// [`Verdict::Rollback`].
        Rollback = "rollback",
        /// [`Verdict::Other`].
        Other = "other",
    }
}

/// For people: `commit: 2d71…`, `abandon: goal impossible`, `other: answered`. A reason is printed as it is, line ends included.
impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Commit { commit, .. } => write!(f, "commit: {commit}"),
            Self::Checkpoint { checkpoint, .. } => write!(f, "checkpoint: {checkpoint}"),
            Self::Abandon { reason } => write!(f, "abandon: {reason}"),
            Self::Retry { reason } => write!(f, "retry: {reason}"),
            Self::Rollback { of, reverted_to: Some(commit), .. } => {
                write!(f, "rollback: of {of} to {commit}")
            }
            Self::Rollback { of, .. } => write!(f, "rollback: of {of}"),
            Self::Other { label, .. } => write!(f, "other: {label}"),
        }
    }
}

impl Verdict {
    /// Its name without what it carries.
    #[must_use]
    pub const fn kind(&self) -> VerdictKind {
        match self {
            Self::Commit { .. } => VerdictKind::Commit,
            Self::Checkpoint { .. } => VerdictKind::Checkpoint,
            Self::Abandon { .. } => VerdictKind::Abandon,
            Self::Retry { .. } => VerdictKind::Retry,
            Self::Rollback { .. } => VerdictKind::Rollback,
            Self::Other { .. } => VerdictKind::Other,
        }
    }

    /// The state that a checkpoint names, if it does.
    #[must_use]
    pub const fn checkpoint_state(&self) -> Option<&CheckpointState> {
        match self {
            Self::Checkpoint { state, .. } => state.as_ref(),
            _ => None,
        }
    }

    /// The changes that the verdict names.
    #[must_use]
    pub const fn patch_set(&self) -> Option<PatchSetId> {
        match self {
            Self::Commit { patch_set, .. } => Some(*patch_set),
            Self::Rollback { patch_set, .. } | Self::Other { patch_set, .. } => *patch_set,
            Self::Checkpoint { .. } | Self::Abandon { .. } | Self::Retry { .. } => None,
        }
    }

    /// Why, where the verdict itself says so.
    #[must_use]
    pub const fn reason(&self) -> Option<&NonBlank> {
        match self {
            Self::Abandon { reason } | Self::Retry { reason } | Self::Other { reason, .. } => Some(reason),
            Self::Commit { .. } | Self::Checkpoint { .. } | Self::Rollback { .. } => None,
        }
    }

    pub(crate) fn print(&self) -> Object {
        let object = Object::new().text("kind", self.kind().as_str());
        match self {
            Self::Commit { patch_set, commit } => object.show("patch_set", patch_set).show("commit", commit),
            Self::Checkpoint { checkpoint, state } => {
                let object = object.text("checkpoint", checkpoint.as_str());
                match state {
                    Some(state) => object.object("state", state.print()),
                    None => object,
                }
            }
            Self::Abandon { reason } | Self::Retry { reason } => object.text("reason", reason.as_str()),
            Self::Rollback { of, reverted_to, patch_set } => object
                .show("of", of)
                .maybe_show("reverted_to", reverted_to.as_ref())
                .maybe_show("patch_set", patch_set.as_ref()),
            Self::Other { label, patch_set, reason } => object
                .text("label", label.as_str())
                .maybe_show("patch_set", patch_set.as_ref())
                .text("reason", reason.as_str()),
        }
    }

    pub(crate) fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let kind = fields.required("kind", VerdictKind::read)?;
        let verdict = match kind {
            VerdictKind::Commit => Self::Commit {
                patch_set: fields.required("patch_set", read::canonical)?,
                commit: fields.required("commit", read::canonical)?,
            },
            VerdictKind::Checkpoint => Self::Checkpoint {
                checkpoint: fields.required("checkpoint", read::canonical)?,
                state: fields.optional("state", CheckpointState::read)?,
            },
            VerdictKind::Abandon => Self::Abandon { reason: fields.required("reason", read::canonical)? },
            VerdictKind::Retry => Self::Retry { reason: fields.required("reason", read::canonical)? },
            VerdictKind::Rollback => Self::Rollback {
                of: fields.required("of", read::canonical)?,
                reverted_to: fields.optional("reverted_to", read::canonical)?,
                patch_set: fields.optional("patch_set", read::canonical)?,
            },
            VerdictKind::Other => Self::Other {
                label: fields.required("label", read::canonical)?,
                patch_set: fields.optional("patch_set", read::canonical)?,
                reason: fields.required("reason", read::canonical)?,
            },
        };
        fields.close()?;
        Ok(verdict)
    }
}
