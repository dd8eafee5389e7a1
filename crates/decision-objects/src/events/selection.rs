//! Which of several candidates a person, or an explicit rule, has chosen.
//!
//! A selection says what is preferred and does nothing: no patch is applied, no plan is begun, no run is decided.
//! Of several about one run, or one intent, the last that was added stands, as with every event; so a choice is changed by
//! writing another one, and the earlier ones stay readable.

use crate::json::{Fields, Object, ParseError, read};
use crate::sealed::{Faults, sealed};
use crate::{EventId, IntentId, NonBlank, PatchSetId, PlanId, RunId};

/// What was chosen, and among the candidates of what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "what shows a selection must know what can be selected")]
pub enum Choice {
    /// One of the patch sets of a run.
    PatchSet {
        /// The run.
        run: RunId,
        /// One of its patch sets; that it is one, a set of objects shows.
        patch_set: PatchSetId,
    },
    /// One of the plans for an intent.
    Plan {
        /// The intent.
        intent: IntentId,
        /// One of the plans for it; that it is one, a set of objects shows.
        plan: PlanId,
    },
}

/// What a [`Selection`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionContent {
    /// What was chosen.
    pub choice: Choice,
    /// Why.
    pub reason: Option<NonBlank>,
}

sealed! {
    /// A choice among candidates, sealed.
    ///
    /// A session writes one record for one choice, when it is made, and derives the id from the place of that record, so that
    /// the same record gives the same selection each time it is read. Who chose stands in the header
    /// ([`Header::by`](crate::Header::by)). The choice may come before the decision of the run or after it; where both say
    /// something, the decision stands ([`Family::standing`](crate::Family::standing)).
    ///
    /// git-internal has no such object: [`git_internal::project`](crate::git_internal::project) refuses it, and there the
    /// choice is read off `chosen_patchset_id` of the decision.
    ///
    /// ```
    /// use trunkline_decision_objects::{Choice, EventId, Header, PatchSetId, RunId, Selection, SelectionContent};
    /// # use trunkline_decision_objects::{Actor, ActorKind, NonBlank};
    /// # use uuid::Uuid;
    ///
    /// let by = Actor::new(ActorKind::Human, "kim")?;
    /// let header = Header { id: EventId::new(Uuid::from_u128(9))?, at: "2026-11-21T20:49:30Z".parse()?, by };
    /// let run = RunId::new(Uuid::from_u128(1))?;
    /// let choice = Choice::PatchSet { run, patch_set: PatchSetId::new(Uuid::from_u128(2))? };
    /// let reason = Some(NonBlank::new("it keeps the lock")?);
    /// let selection = Selection::new(header, SelectionContent { choice, reason })?;
    /// assert_eq!(Selection::parse(selection.print().as_bytes())?, selection);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    Selection(EventId, SelectionContent) is "selection";
    /// Seals a choice.
    ///
    /// # Errors
    ///
    /// None yet: what must hold of each field is held by its type.
    new
}

impl SelectionContent {
    fn faults(&self, _id: EventId) -> Faults {
        Faults::default()
    }

    fn print(&self, object: Object) -> Object {
        let object = match &self.choice {
            Choice::PatchSet { run, patch_set } => object.show("run", run).show("patch_set", patch_set),
            Choice::Plan { intent, plan } => object.show("intent", intent).show("plan", plan),
        };
        object.maybe_text("reason", self.reason.as_ref().map(NonBlank::as_str))
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        // Beside the keys of the one, those of the other are not asked for, and so they are unknown keys.
        let choice = match fields.optional("plan", read::canonical)? {
            Some(plan) => Choice::Plan { intent: fields.required("intent", read::canonical)?, plan },
            None => Choice::PatchSet {
                run: fields.required("run", read::canonical)?,
                patch_set: fields.required("patch_set", read::canonical)?,
            },
        };
        Ok(Self { choice, reason: fields.optional("reason", read::canonical)? })
    }
}
