//! The verdict on a run, with who gave it and what it rests on.
//!
//! There is no public constructor: a decision comes out of [`Run::decide`](crate::Run::decide), which uses the run up,
//! or out of a stored text.

use crate::json::{Canonical, Fields, Object, ParseError, Raw, canonical_form, read};
use crate::sealed::{Faults, twice};
use crate::{
    Actor, Citations, DecisionId, EvidenceId, Invalid, NonBlank, PatchSetId, RunId, Timestamp, Verdict,
};

/// Something that was considered and not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Considered {
    /// What it was.
    pub alternative: Alternative,
    /// Why it was not done.
    pub reason: NonBlank,
}

/// What was considered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an alternative got as far as a patch set, as a branch, or it has only a name"
)]
pub enum Alternative {
    /// Changes of the same run that were not chosen.
    PatchSet(PatchSetId),
    /// A branch of the conversation that was left, by the name of its node, such as `n12`.
    Branch(NonBlank),
    /// A way that was not taken, in a few words.
    Named(NonBlank),
}

impl Alternative {
    /// The changes that it is, if it got so far.
    #[must_use]
    pub const fn patch_set(&self) -> Option<PatchSetId> {
        match self {
            Self::PatchSet(patch_set) => Some(*patch_set),
            Self::Branch(_) | Self::Named(_) => None,
        }
    }
}

/// The one verdict of a run, sealed.
///
/// What it shows of itself is borrowed, and cannot be written to:
///
/// ```compile_fail,E0596
/// # use trunkline_decision_objects::Decision;
/// fn edited(decision: &mut Decision) {
///     decision.cites().nodes.clear();
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    content: Content,
}

canonical_form!(Decision);

/// Everything in a decision, before it is checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) id: DecisionId,
    pub(crate) run: RunId,
    pub(crate) at: Timestamp,
    pub(crate) decided_by: Actor,
    pub(crate) approved_by: Option<Actor>,
    pub(crate) verdict: Verdict,
    pub(crate) rationale: Option<NonBlank>,
    pub(crate) evidence: Vec<EvidenceId>,
    pub(crate) considered: Vec<Considered>,
    pub(crate) cites: Citations,
}

impl Content {
    /// What it breaks as a whole; what it cites is judged by itself.
    fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        for &&evidence in &twice(&self.evidence) {
            faults.add(&["evidence"], Invalid::EvidenceTwice { evidence });
        }
        match self.verdict {
            Verdict::Rollback { of, .. } if of == self.id => {
                faults.add(&["id", "verdict"], Invalid::UndoesItself);
            }
            _ => {}
        }
        match self.verdict {
            Verdict::Commit { commit, .. } | Verdict::Rollback { reverted_to: Some(commit), .. } => {
                faults.check(&["verdict"], commit.checked());
            }
            Verdict::Checkpoint { state: Some(ref state), .. } => faults.extend(state.faults()),
            _ => {}
        }
        let rejected: Vec<PatchSetId> =
            self.considered.iter().filter_map(|considered| considered.alternative.patch_set()).collect();
        faults.unique(&["considered"], "rejected patch set", &rejected);
        if let Some(patch_set) = self.verdict.patch_set()
            && rejected.contains(&patch_set)
        {
            faults.add(&["verdict", "considered"], Invalid::ChosenAndRejected { patch_set });
        }
        faults
    }
}

impl Decision {
    /// Checks what a decision must hold by itself; what it must hold beside its run is checked where both are at hand.
    pub(crate) fn seal(mut content: Content) -> Result<Self, Invalid> {
        content.faults().first()?;
        content.cites.faults().first()?;
        content.cites.files.sort();
        Ok(Self { content })
    }

    /// Its name.
    #[must_use]
    pub const fn id(&self) -> DecisionId {
        self.content.id
    }

    /// The run that it ends.
    #[must_use]
    pub const fn run(&self) -> RunId {
        self.content.run
    }

    /// When it was made.
    #[must_use]
    pub const fn at(&self) -> Timestamp {
        self.content.at
    }

    /// Who made it.
    #[must_use]
    pub const fn decided_by(&self) -> &Actor {
        &self.content.decided_by
    }

    /// Who approved it, if that was somebody else's to do.
    #[must_use]
    pub const fn approved_by(&self) -> Option<&Actor> {
        self.content.approved_by.as_ref()
    }

    /// How the run ended.
    #[must_use]
    pub const fn verdict(&self) -> &Verdict {
        &self.content.verdict
    }

    /// Whether its run has changed files: what it brought about can be taken back.
    ///
    /// So it is also where the verdict has no place for the changes: of what was given up, put down or is tried again they are
    /// a rejected patch set, or cited files.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        let rejected =
            self.considered().iter().any(|considered| considered.alternative.patch_set().is_some());
        self.verdict().patch_set().is_some() || rejected || !self.cites().files.is_empty()
    }

    /// Why, at length.
    #[must_use]
    pub const fn rationale(&self) -> Option<&NonBlank> {
        self.content.rationale.as_ref()
    }

    /// What it rests on, in the order in which it was given.
    #[must_use]
    pub fn evidence(&self) -> &[EvidenceId] {
        &self.content.evidence
    }

    /// What was considered and not done.
    #[must_use]
    pub fn considered(&self) -> &[Considered] {
        &self.content.considered
    }

    /// What it points at: nodes, proposals, files, cost.
    #[must_use]
    pub const fn cites(&self) -> &Citations {
        &self.content.cites
    }
}

impl Canonical for Decision {
    const TYPE: &'static str = "decision";

    fn print_fields(&self, object: Object) -> Object {
        let content = &self.content;
        let object = object
            .show("id", &content.id)
            .show("run", &content.run)
            .show("at", &content.at)
            .object("decided_by", content.decided_by.print());
        let object = match &content.approved_by {
            Some(actor) => object.object("approved_by", actor.print()),
            None => object,
        };
        let object = object
            .object("verdict", content.verdict.print())
            .maybe_text("rationale", content.rationale.as_ref().map(NonBlank::as_str))
            .ids("evidence", &content.evidence)
            .list(
                "considered",
                content.considered.iter().map(|considered| print_considered(considered).finish()),
            );
        if content.cites.is_empty() { object } else { object.object("cites", content.cites.print()) }
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let mut content = Content {
            id: fields.required("id", read::canonical)?,
            run: fields.required("run", read::canonical)?,
            at: fields.required("at", read::canonical)?,
            decided_by: fields.required("decided_by", Actor::read)?,
            approved_by: fields.optional("approved_by", Actor::read)?,
            verdict: fields.required("verdict", Verdict::read)?,
            rationale: fields.optional("rationale", read::canonical)?,
            evidence: fields.required("evidence", read::canonical_list)?,
            considered: fields.required("considered", |raw| read::list(raw, read_considered))?,
            cites: fields.optional("cites", Citations::read)?.unwrap_or_default(),
        };
        fields.refuse(content.faults())?;
        content.cites.files.sort();
        Ok(Self { content })
    }
}

fn print_considered(considered: &Considered) -> Object {
    let object = match &considered.alternative {
        Alternative::PatchSet(id) => Object::new().show("patch_set", id),
        Alternative::Branch(node) => Object::new().text("branch", node.as_str()),
        Alternative::Named(name) => Object::new().text("named", name.as_str()),
    };
    object.text("reason", considered.reason.as_str())
}

fn read_considered(raw: Raw<'_>) -> Result<Considered, ParseError> {
    let mut fields = Fields::open(raw)?;
    // Beside the first of the three, the others are not asked for, and so they are unknown keys.
    let alternative = if let Some(id) = fields.optional("patch_set", read::canonical)? {
        Alternative::PatchSet(id)
    } else if let Some(node) = fields.optional("branch", read::canonical)? {
        Alternative::Branch(node)
    } else {
        Alternative::Named(fields.required("named", read::canonical)?)
    };
    let reason = fields.required("reason", read::canonical)?;
    fields.close()?;
    Ok(Considered { alternative, reason })
}
