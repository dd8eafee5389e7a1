//! A run, from its goal to its verdict.
//!
//! Deciding uses the open run up, so a second verdict does not compile.
//! What survives a restart is the [`RunRecord`]; it becomes an open run again only beside the stored [`Decisions`].

use crate::decision::Content;
use crate::json::{Canonical, Fields, Object, ParseError, Raw, canonical_form, read};
use crate::sealed::Faults;
use crate::{
    Actor, AlreadyDecided, Citations, Considered, Decision, DecisionId, Decisions, Evidence, GitOid,
    GroundsError, IntentId, Invalid, NonBlank, PatchSet, PlanId, RunId, SnapshotId, TaskId, Timestamp,
    Verdict,
};

/// Where a run starts from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Base {
    /// The commit that was checked out.
    pub commit: Option<GitOid>,
    /// A name for the files as they were, whatever the caller uses to tell one state from another.
    pub tree: Option<NonBlank>,
}

/// The machine that a run works on, in the words of whoever runs it.
///
/// No folder and no variables: they name people and hold secrets, and a record travels.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Environment {
    /// Its operating system, such as `linux`.
    pub os: NonBlank,
    /// Its processor, such as `x86_64`.
    pub arch: NonBlank,
}

impl Environment {
    fn print(&self) -> Object {
        Object::new().text("os", self.os.as_str()).text("arch", self.arch.as_str())
    }

    fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let environment = Self {
            os: fields.required("os", read::canonical)?,
            arch: fields.required("arch", read::canonical)?,
        };
        fields.close()?;
        Ok(environment)
    }
}

/// The run that this one follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "each way to follow a run needs a verdict that allows it")]
pub enum Predecessor {
    /// Tries again what that run was decided to retry.
    RetryOf(RunId),
    /// Takes up what that run put down at a checkpoint.
    Continues(RunId),
}

impl Predecessor {
    /// The run that is followed.
    #[must_use]
    pub const fn run(self) -> RunId {
        match self {
            Self::RetryOf(run) | Self::Continues(run) => run,
        }
    }
}

/// How a run was opened; the content of a [`RunRecord`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The run's name.
    pub id: RunId,
    /// When it was opened.
    pub at: Timestamp,
    /// Who opened it.
    pub actor: Actor,
    /// What it is for: the text of the prompt.
    pub goal: String,
    /// Where it starts from.
    pub base: Base,
    /// The run that it follows.
    pub predecessor: Option<Predecessor>,
    /// What the work is for.
    pub intent: Option<IntentId>,
    /// The piece of work that it does.
    pub task: Option<TaskId>,
    /// The plan that it follows.
    pub plan: Option<PlanId>,
    /// What the model was shown at the start.
    pub snapshot: Option<SnapshotId>,
    /// Where it works.
    pub environment: Option<Environment>,
}

impl Opening {
    /// Says which run it is, who opened it, when and what for; the other fields are there to be filled.
    #[must_use]
    pub fn new(id: RunId, at: Timestamp, actor: Actor, goal: impl Into<String>) -> Self {
        Self {
            id,
            at,
            actor,
            goal: goal.into(),
            base: Base::default(),
            predecessor: None,
            intent: None,
            task: None,
            plan: None,
            snapshot: None,
            environment: None,
        }
    }
}

/// How a run was opened, sealed; this is what a store keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRecord {
    opening: Opening,
}

canonical_form!(RunRecord);

impl Opening {
    fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        if self.predecessor.is_some_and(|predecessor| predecessor.run() == self.id) {
            faults.add(&["id", "retry_of", "continues"], Invalid::FollowsItself { run: self.id });
        }
        faults
            .check(&["base_commit"], self.base.commit.map_or(Ok(()), |commit| commit.checked().map(|_| ())));
        faults
    }
}

impl RunRecord {
    pub(crate) fn seal(opening: Opening) -> Result<Self, Invalid> {
        opening.faults().first()?;
        Ok(Self { opening })
    }

    /// The run's name.
    #[must_use]
    pub const fn id(&self) -> RunId {
        self.opening.id
    }

    /// How it was opened.
    #[must_use]
    pub const fn opening(&self) -> &Opening {
        &self.opening
    }
}

/// A run that has no verdict yet.
#[derive(Debug, PartialEq, Eq)]
pub struct Open(());

/// A run that has its verdict.
#[derive(Debug, PartialEq, Eq)]
pub struct Closed {
    decision: DecisionId,
}

/// A run; `State` is [`Open`] or [`Closed`].
///
/// It cannot be cloned: two open runs of one name could both be decided.
#[derive(Debug, PartialEq, Eq)]
pub struct Run<State> {
    record: RunRecord,
    state: State,
}

impl<State> Run<State> {
    /// Its name.
    #[must_use]
    pub const fn id(&self) -> RunId {
        self.record.id()
    }

    /// What a store keeps of it.
    #[must_use]
    pub const fn record(&self) -> &RunRecord {
        &self.record
    }
}

impl Run<Closed> {
    /// The decision that closed it.
    #[must_use]
    pub const fn decision(&self) -> DecisionId {
        self.state.decision
    }
}

/// All that a decision says beside its verdict.
#[derive(Debug, Clone)]
pub struct Closing<'a> {
    /// The decision's name.
    pub id: DecisionId,
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub decided_by: Actor,
    /// Who approved it.
    pub approved_by: Option<Actor>,
    /// Why, at length.
    pub rationale: Option<NonBlank>,
    /// The patch sets that the verdict or `considered` name; more do no harm.
    pub patch_sets: &'a [PatchSet],
    /// What the decision rests on.
    pub evidence: &'a [Evidence],
    /// What was considered and not done.
    pub considered: Vec<Considered>,
    /// What it points at: nodes, proposals, files, cost.
    pub cites: Citations,
}

impl Closing<'_> {
    /// Says who decided and when, and nothing more; the other fields are there to be filled.
    #[must_use]
    pub const fn new(id: DecisionId, at: Timestamp, decided_by: Actor) -> Self {
        Self {
            id,
            at,
            decided_by,
            approved_by: None,
            rationale: None,
            patch_sets: &[],
            evidence: &[],
            considered: Vec::new(),
            cites: Citations::NONE,
        }
    }
}

/// Why a run could not be decided so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecideError {
    /// The decision contradicts itself.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The decision names something that is not its run's.
    #[error(transparent)]
    Grounds(#[from] GroundsError),
}

/// The run, still open, and why it could not be decided so.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("run {} is still open: {cause}", run.id())]
pub struct Undecided {
    /// The run, to be decided otherwise.
    pub run: Run<Open>,
    /// What was wrong.
    pub cause: DecideError,
}

impl Run<Open> {
    /// Opens a run.
    ///
    /// # Errors
    ///
    /// [`Invalid::FollowsItself`], [`Invalid::NilGitOid`].
    pub fn open(opening: Opening) -> Result<Self, Invalid> {
        Ok(Self { record: RunRecord::seal(opening)?, state: Open(()) })
    }

    /// Opens a run again from what a store kept of it, if no stored decision has closed it.
    ///
    /// # Errors
    ///
    /// [`AlreadyDecided`] with the decision that has.
    pub fn reopen(record: RunRecord, decisions: &Decisions) -> Result<Self, AlreadyDecided> {
        match decisions.of_run(record.id()) {
            Some(first) => Err(AlreadyDecided { run: record.id(), first: first.id() }),
            None => Ok(Self { record, state: Open(()) }),
        }
    }

    /// Ends the run with its verdict.
    ///
    /// # Errors
    ///
    /// [`Undecided`], which gives the run back: with [`DecideError::Invalid`] if the decision contradicts itself, and
    /// [`DecideError::Grounds`] if it names something of another run, or a patch set that was not handed over.
    pub fn decide(
        self,
        verdict: Verdict,
        closing: Closing<'_>,
    ) -> Result<(Run<Closed>, Decision), Box<Undecided>> {
        match decision(self.id(), verdict, closing) {
            Ok(decision) => {
                let state = Closed { decision: decision.id() };
                Ok((Run { record: self.record, state }, decision))
            }
            Err(cause) => Err(Box::new(Undecided { run: self, cause })),
        }
    }
}

fn decision(run: RunId, verdict: Verdict, closing: Closing<'_>) -> Result<Decision, DecideError> {
    let decision = Decision::seal(Content {
        id: closing.id,
        run,
        at: closing.at,
        decided_by: closing.decided_by,
        approved_by: closing.approved_by,
        verdict,
        rationale: closing.rationale,
        evidence: closing.evidence.iter().map(Evidence::id).collect(),
        considered: closing.considered,
        cites: closing.cites,
    })?;
    decision.check_grounds(closing.patch_sets, closing.evidence)?;
    Ok(decision)
}

impl Canonical for RunRecord {
    const TYPE: &'static str = "run";

    fn print_fields(&self, object: Object) -> Object {
        let opening = &self.opening;
        let object = object
            .show("id", &opening.id)
            .show("at", &opening.at)
            .object("actor", opening.actor.print())
            .text("goal", &opening.goal)
            .maybe_show("base_commit", opening.base.commit.as_ref())
            .maybe_text("base_tree", opening.base.tree.as_ref().map(NonBlank::as_str));
        let object = match &opening.predecessor {
            Some(Predecessor::RetryOf(run)) => object.show("retry_of", run),
            Some(Predecessor::Continues(run)) => object.show("continues", run),
            None => object,
        };
        let object = object
            .maybe_show("intent", opening.intent.as_ref())
            .maybe_show("task", opening.task.as_ref())
            .maybe_show("plan", opening.plan.as_ref())
            .maybe_show("snapshot", opening.snapshot.as_ref());
        match &opening.environment {
            Some(environment) => object.object("environment", environment.print()),
            None => object,
        }
    }

    fn read_fields(fields: &mut Fields<'_>) -> Result<Self, ParseError> {
        let opening = Opening {
            id: fields.required("id", read::canonical)?,
            at: fields.required("at", read::canonical)?,
            actor: fields.required("actor", Actor::read)?,
            goal: fields.required("goal", read::text)?,
            base: Base {
                commit: fields.optional("base_commit", read::canonical)?,
                tree: fields.optional("base_tree", read::canonical)?,
            },
            // Beside `retry_of`, `continues` is not asked for, and so it is an unknown key.
            predecessor: match fields.optional("retry_of", read::canonical)? {
                Some(run) => Some(Predecessor::RetryOf(run)),
                None => fields.optional("continues", read::canonical)?.map(Predecessor::Continues),
            },
            intent: fields.optional("intent", read::canonical)?,
            task: fields.optional("task", read::canonical)?,
            plan: fields.optional("plan", read::canonical)?,
            snapshot: fields.optional("snapshot", read::canonical)?,
            environment: fields.optional("environment", Environment::read)?,
        };
        fields.refuse(opening.faults())?;
        Ok(Self { opening })
    }
}
