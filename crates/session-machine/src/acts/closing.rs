//! The end of a run while it is under way: what is done, and in which order, until the run has its verdict or has none.
//!
//! A commit is prepared, its end is recorded, and git is asked to bind it; when somebody has moved the branch meanwhile another one is
//! prepared. What git has said of it so far is no part of the log: after a kill it is asked again.

use trunkline_decision_objects::Decision;

use crate::acts::asked::Asked;
use crate::acts::bind::{Settled, not_committed};
use crate::acts::changes::{self, Found};
use crate::acts::close::{self, Ended};
use crate::acts::plan::Plan;
use crate::acts::question::Pause;
use crate::acts::view::View;
use crate::words::bound::Prepared;
use crate::words::error::RuntimeError;

/// How often a commit is prepared anew because somebody has moved the branch meanwhile.
const TRIES: u32 = 5;

/// The end of a run while it is under way.
///
/// First [`still_stands`](Closing::still_stands) tells whether what an earlier process has prepared is bound as it is, and git is asked
/// what it knows ([`settle`](crate::acts::bind::settle)), which is [`heard`](Closing::heard). Then, as long as there is no decision: a try
/// [begins](Closing::begin_try), is [announced](Closing::announce) and [concluded](Closing::conclude), and where that has to be bound git
/// is asked, and heard, again.
#[derive(Debug, Default)]
pub struct Closing {
    commits: bool,
    tries: u32,
    /// Which commit of it somebody has taken off the branch.
    taken_back: Option<String>,
    /// What could not be bound just now, and why.
    failed: Option<(Prepared, String)>,
}

impl Closing {
    /// Begins to end the open run; `None` if none is open. Whether a rollback commits was said when it was asked for, and not by who
    /// finishes it.
    pub fn of(view: &View<'_>) -> Option<Self> {
        let run = view.state.decision.run.as_ref()?;
        let said = run.restoring.as_ref().and_then(|restoring| restoring.commits);
        Some(Closing { commits: said.unwrap_or(view.setup.files.commits), ..Closing::default() })
    }

    /// Returns whether what an earlier process has prepared is what is committed: not if the branch or the files were changed since.
    ///
    /// # Errors
    ///
    /// [`Pause`]: what it has to know first, or why it cannot be done.
    pub fn still_stands(&self, view: &View<'_>, asked: &mut Asked<'_>) -> Result<bool, Pause> {
        Ok(view.setup.files.binds && self.commits && changes::still_stands(view, asked)?)
    }

    /// Takes in what git says of the run, and of what was `prepared` just now. Returns the decision if it has one.
    pub fn heard(&mut self, settled: Settled, prepared: Option<Prepared>) -> Option<Box<Decision>> {
        match settled {
            Settled::Decided(decision) => return Some(decision),
            Settled::TakenBack(why) => self.taken_back = Some(why),
            Settled::Open(why) => {
                self.failed =
                    prepared.map(|prepared| (prepared, why.unwrap_or_default())).or(self.failed.take());
            }
        }
        None
    }

    /// Begins another try.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Workspace`] if there were five.
    pub fn begin_try(&mut self, view: &View<'_>) -> Result<(), RuntimeError> {
        self.tries += 1;
        if self.tries <= TRIES {
            return Ok(());
        }
        let why = self.failed.as_ref().map(|(_, why)| why.as_str()).unwrap_or_default();
        Err(not_committed(view, &format!("somebody else keeps moving the branch: {why}")))
    }

    /// Finds out what the run has changed, and records what is about to be committed of it.
    ///
    /// # Errors
    ///
    /// [`Pause`]: what it has to know first, or why it cannot be done.
    pub fn announce(&self, view: &View<'_>, asked: &mut Asked<'_>) -> Result<Plan<Found>, Pause> {
        close::announce(view, asked, self.commits_now())
    }

    /// Gives the run its verdict, or records its end to be bound.
    ///
    /// # Errors
    ///
    /// [`Pause`]: what it has to know first, or why it cannot be done.
    pub fn conclude(
        &self,
        view: &View<'_>,
        asked: &mut Asked<'_>,
        found: &Found,
    ) -> Result<Plan<Ended>, Pause> {
        let told = (self.commits_now(), self.taken_back.as_deref());
        close::conclude(view, asked, found, told, self.failed.as_ref())
    }

    /// A commit that somebody has taken off the branch is not made again.
    fn commits_now(&self) -> bool {
        self.commits && self.taken_back.is_none()
    }
}
