//! What can be wrong between objects that are each well formed.

use std::fmt;

use uuid::Uuid;

use crate::{
    DecisionId, Digest, EvidenceId, ObjectName, PatchSetId, PlanId, ProvenanceId, RunId, StepId, Timestamp,
    VerdictKind,
};

/// One thing that does not fit, and the object under which it stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Violation {
    /// The object that could have been written otherwise.
    pub object: ObjectName,
    /// What is wrong with it.
    pub rule: Rule,
}

impl Violation {
    /// Whether a name is only missing from the set.
    ///
    /// A part of a family has such violations, and no others as long as the events of each task, the events, the usages and
    /// the decision of each run, and the decision of the run that it follows, are in it.
    #[must_use]
    pub const fn is_dangling(&self) -> bool {
        matches!(self.rule, Rule::Dangling { .. } | Rule::UnknownStep { plan: None, .. })
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.object, self.rule)
    }
}

/// A rule that was broken, and by what.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// Two objects have one name and are not the same.
    #[error("two objects have this name: the first has the digest {first}, another one {other}")]
    NameTwice {
        /// The digest of the first that was added.
        first: Digest,
        /// The digest of another one.
        other: Digest,
    },
    /// A named object is not in the set.
    #[error("`{field}` names {to}, which is not here")]
    Dangling {
        /// The key that names it.
        field: &'static str,
        /// The name.
        to: ObjectName,
    },
    /// A named step is in no plan that could hold it.
    #[error("`{field}` names step {step}, which is not in {}", plan_or_any(*plan))]
    UnknownStep {
        /// The key that names it.
        field: &'static str,
        /// The step.
        step: StepId,
        /// The plan that should have it and is here; `None` if no plan here has it.
        plan: Option<PlanId>,
    },
    /// A named object belongs to another one than it should.
    #[error("`{field}` names {to}, which belongs to {owner}, not to {expected}")]
    Foreign {
        /// The key that names it.
        field: &'static str,
        /// The name.
        to: ObjectName,
        /// What it belongs to.
        owner: ObjectName,
        /// What it should belong to.
        expected: ObjectName,
    },
    /// The run has a decision already, an earlier one.
    #[error("run {run} was already decided, by {first}")]
    SecondDecision {
        /// The run.
        run: RunId,
        /// Its earliest decision.
        first: DecisionId,
    },
    /// The run has a provenance already, an earlier one.
    #[error("run {run} already has a provenance, {first}")]
    SecondProvenance {
        /// The run.
        run: RunId,
        /// Its earliest provenance.
        first: ProvenanceId,
    },
    /// Two patch sets have one place among the candidates of a run.
    #[error("run {run} already has a patch set with the sequence {sequence}, {first}")]
    SequenceTwice {
        /// The run.
        run: RunId,
        /// The place.
        sequence: u32,
        /// The one with the least name.
        first: PatchSetId,
    },
    /// The decision rests on evidence that names another decision.
    #[error("evidence {evidence} is named here, and itself names decision {names}")]
    EvidenceOfAnother {
        /// The evidence.
        evidence: EvidenceId,
        /// The decision that it names.
        names: DecisionId,
    },
    /// The evidence names a decision that does not name it.
    #[error("decision {decision} does not rest on this evidence, which names it")]
    UnnamedEvidence {
        /// The decision.
        decision: DecisionId,
    },
    /// The run follows one that has no decision.
    #[error("run {run} cannot be followed: it has no decision")]
    PredecessorUndecided {
        /// The run that is followed.
        run: RunId,
    },
    /// The run follows one whose verdict does not allow that.
    #[error("run {run} ended as {found}; only {needed} can be followed so")]
    PredecessorVerdict {
        /// The run that is followed.
        run: RunId,
        /// How it ended.
        found: VerdictKind,
        /// How it should have.
        needed: VerdictKind,
    },
    /// The run was opened before the run that it follows was decided.
    #[error("it was opened before run {run}, which it follows, was decided, at {decided}")]
    OpenedTooEarly {
        /// The run that is followed.
        run: RunId,
        /// When that was decided.
        decided: Timestamp,
    },
    /// The rollback names a decision that changed nothing.
    #[error("decision {of} cannot be rolled back: it ended its run as {found}, without changes")]
    NothingToUndo {
        /// The named decision.
        of: DecisionId,
        /// What it is.
        found: VerdictKind,
    },
    /// The rollback names a decision about its own run.
    #[error("decision {of} is about the same run; a rollback needs a run of its own")]
    UndoesItsRun {
        /// The named decision.
        of: DecisionId,
    },
    /// The rollback names a decision that an earlier one has undone.
    #[error("decision {of} was already rolled back, by {first}")]
    UndoneAlready {
        /// The named decision.
        of: DecisionId,
        /// The earliest rollback of it.
        first: DecisionId,
    },
    /// The rollback was decided before what it undoes.
    #[error("it was made before decision {of}, which it rolls back, was made, at {decided}")]
    UndoneTooEarly {
        /// The named decision.
        of: DecisionId,
        /// When that was made.
        decided: Timestamp,
    },
    /// Objects are, by way of each other, their own ancestors.
    #[error("the {relation} go in a circle of {}: {}", members.len(), listed(members))]
    Cycle {
        /// By which relation.
        relation: Relation,
        /// All that can be reached from each other, in the order of their names.
        members: Vec<Uuid>,
    },
    /// The event's state does not follow the one before.
    #[error("{of} becomes {state} {}; that is not a move it can make", from_state(*before))]
    OutOfOrder {
        /// What the event is about; for a step, its plan.
        of: ObjectName,
        /// The state before; `None` if this is the first event.
        before: Option<&'static str>,
        /// The state of this event.
        state: &'static str,
    },
    /// The event comes after the last one that there can be.
    #[error("{of} was already {end} and becomes {state}")]
    AfterTheEnd {
        /// What the event is about; for a step, its plan.
        of: ObjectName,
        /// The state in which it ended.
        end: &'static str,
        /// The state of this event, or `other`.
        state: &'static str,
    },
    /// The event says another end than the decision.
    #[error("{of} becomes {state}, and decision {decision} ended the run as {verdict}")]
    Contradicts {
        /// What the event is about.
        of: ObjectName,
        /// The state of this event.
        state: &'static str,
        /// The decision.
        decision: DecisionId,
        /// Its verdict.
        verdict: VerdictKind,
    },
    /// The usages of the run do not add up to what the decision says.
    #[error("`{count}` is {decided}, and the usages of the run add up to {summed}")]
    UsageSum {
        /// Which of the counts.
        count: &'static str,
        /// The sum of the usages.
        summed: u128,
        /// What the decision says.
        decided: u64,
    },
    /// The object is older than its run.
    #[error("it is older than run {run}, which was opened at {opened}")]
    BeforeItsRun {
        /// The run.
        run: RunId,
        /// When it was opened.
        opened: Timestamp,
    },
    /// A call ended before it started.
    #[error("it started at {started} and ended at {ended}")]
    EndedBeforeStart {
        /// When it started.
        started: Timestamp,
        /// When it ended.
        ended: Timestamp,
    },
}

/// By what objects are ancestors of each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Relation {
    /// The parents of intents.
    IntentParents,
    /// The parents of plans.
    PlanParents,
    /// The parents of tasks.
    TaskParents,
    /// The dependencies of tasks.
    TaskDependencies,
    /// The runs that runs retry or continue.
    RunPredecessors,
    /// The decisions that decisions roll back.
    Rollbacks,
}

impl fmt::Display for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::IntentParents => "parents of intents",
            Self::PlanParents => "parents of plans",
            Self::TaskParents => "parents of tasks",
            Self::TaskDependencies => "dependencies of tasks",
            Self::RunPredecessors => "predecessors of runs",
            Self::Rollbacks => "rollbacks of decisions",
        })
    }
}

fn plan_or_any(plan: Option<PlanId>) -> String {
    plan.map_or_else(|| "any plan here".into(), |plan| format!("plan {plan}"))
}

fn from_state(before: Option<&'static str>) -> String {
    before.map_or_else(|| "first of all".into(), |before| format!("after {before}"))
}

/// The first few: a circle may be as long as the family is large.
fn listed(members: &[Uuid]) -> String {
    const SHOWN: usize = 4;
    let shown: Vec<String> = members.iter().take(SHOWN).map(Uuid::to_string).collect();
    let more = if members.len() > SHOWN { ", …" } else { "" };
    format!("{}{more}", shown.join(", "))
}
