//! When a run ends: by its answer, by a person, by a letter. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::close).

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{Decision, RunId, Verdict};
use trunkline_session_machine::CloseAs;
use trunkline_session_store::{InboxId, Letter};

use crate::{Cancel, Session, Stop, letters};
use trunkline_session_machine::acts::bind::{Settled, not_committed};
use trunkline_session_machine::acts::changes;
use trunkline_session_machine::acts::close::{self, Ended};
use trunkline_session_machine::{Event, Prepared, RuntimeError};

/// How often a commit is prepared anew because somebody has moved the branch meanwhile.
const TRIES: u32 = 5;

pub(crate) const CLOSE_RUN: &str = "close_run";

/// The body of a letter that asks for it.
#[derive(Serialize, Deserialize)]
pub(crate) struct CloseBody {
    /// The run that its sender saw.
    pub(crate) run: String,
    pub(crate) close: CloseAs,
}

impl Session {
    /// Ends the open run as a person, with what it changed until now. Calls that have not run do not run.
    ///
    /// A run that is closed as [`CloseAs::Retry`] is followed at once by another one, whose prompt is the reason; after
    /// [`CloseAs::Checkpoint`] the next prompt, or the next [`resume`](Session::resume), begins the one that continues it.
    /// After [`CloseAs::Abandon`] nothing goes on before there is a prompt. Files are left as they are.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::NoOpenRun`]; [`RuntimeError::Unsettled`] while proposals wait to be decided or carried out;
    /// [`RuntimeError::Refused`] if nothing was said with it, or if its changes are committed already;
    /// [`RuntimeError::Workspace`] if it cannot be computed what it changed, as without the folder in which it began;
    /// [`RuntimeError::AlreadyDecided`]; [`RuntimeError::Store`]; [`RuntimeError::TakenOver`]. Then the run goes on.
    pub async fn close_run(&mut self, how: CloseAs) -> Result<Decision, RuntimeError> {
        self.catch_up_to_close(&how).await?;
        close::check(&self.view(), &how, self.rollback_lease().is_some())?;
        self.look_late().await?;
        self.close_for(&how, None).await
    }

    /// Returns which files the open run has changed until now, by path; empty if that is nothing, or no run is open.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Workspace`] if that cannot be computed.
    pub async fn changed_files(&self) -> Result<Vec<String>, RuntimeError> {
        let changes = self.find_out(changes::find).await?.changes;
        Ok(changes.into_iter().flat_map(|changes| changes.files).map(|file| file.path).collect())
    }

    /// Returns the open run, if there is one.
    pub fn open_run(&self) -> Option<RunId> {
        self.state.decision.run.as_ref().map(|run| run.record.id())
    }

    pub(crate) async fn take_close_letter(&mut self, letter: &Letter) -> Result<(), RuntimeError> {
        let CloseBody { run, close } = letters::body(letter)?;
        let open = self.open_run().map(|open| open.to_string());
        if open.is_some_and(|open| open != run) {
            let reason = format!("run {} is over, and another one is open", one_line(&run));
            return Err(RuntimeError::Refused { reason });
        }
        // What does not work now would stand in the way of every letter after it.
        let closed = self.close_for(&close, Some(letter.id)).await.map_err(|fault| match fault {
            RuntimeError::Workspace(ref cause) => {
                RuntimeError::Refused { reason: format!("{fault}: {}", cause.message) }
            }
            RuntimeError::Verdict { .. } => RuntimeError::Refused { reason: fault.to_string() },
            fault => fault,
        });
        let decision = closed?;
        self.closed = Some(Box::new(decision));
        Ok(())
    }

    /// Takes in what asks to close the run, and what was posted before it: that may be what the run has to wait for. Words
    /// and cancels have their own time.
    pub(crate) async fn take_close_letters(&mut self) -> Result<(), RuntimeError> {
        let inbox = self.read_inbox().await?;
        let last = inbox.iter().rposition(|letter| letter.kind == CLOSE_RUN);
        for letter in inbox.iter().take(last.map_or(0, |last| last + 1)) {
            if !matches!(letter.kind.as_str(), letters::PROMPT | letters::CANCEL) {
                self.take_or_refuse(letter, &Cancel::new()).await?;
            }
        }
        Ok(())
    }

    /// Takes in what asks to abandon the run, and nothing else.
    pub(crate) async fn take_abandon_letters(&mut self) -> Result<(), RuntimeError> {
        for letter in self.store.inbox(self.lease.session()).await? {
            let abandons =
                |body: CloseBody| matches!(body.close, CloseAs::Abandon { .. }) && letter.kind == CLOSE_RUN;
            if letters::body(&letter).is_ok_and(abandons) {
                self.take_or_refuse(&letter, &Cancel::new()).await?;
            }
        }
        Ok(())
    }

    /// Returns the verdict that a letter gave in this drive, once: then the drive is over.
    pub(crate) fn take_closed(&mut self) -> Option<Stop> {
        self.closed.take().map(Stop::Decided)
    }

    async fn close_for(&mut self, how: &CloseAs, letter: Option<InboxId>) -> Result<Decision, RuntimeError> {
        close::check(&self.view(), how, self.rollback_lease().is_some())?;
        let closed = self.perform_for(letter, |view, asked| close::close(view, asked, how));
        let (decision, others) = closed.await?;
        self.tell_others(others);
        self.bind_decided().await?;
        Ok(decision)
    }

    /// Gives the open run its verdict: computes what changed, commits it if that is wanted, and records the decision.
    pub(crate) async fn conclude(&mut self) -> Result<Stop, RuntimeError> {
        if self.state.decision.run.is_none() {
            return Ok(Stop::Idle);
        }
        let commits = self.commits();
        // What an earlier process has prepared is what is committed, unless the branch or the files were changed since.
        let again =
            self.settings().setup.files.binds && commits && self.find_out(changes::still_stands).await?;
        let mut taken_back = match self.settle_binding(again).await? {
            Settled::Decided(decision) => return Ok(Stop::Decided(decision)),
            Settled::TakenBack(why) => Some(why),
            Settled::Open(_) => None,
        };
        let mut failed: Option<(Prepared, String)> = None;
        for _ in 0..TRIES {
            let commits = commits && taken_back.is_none();
            let found = self.perform(|view, asked| close::announce(view, asked, commits)).await?;
            let why = taken_back.as_deref();
            let ended = self
                .perform(|view, asked| close::conclude(view, asked, &found, (commits, why), failed.as_ref()));
            let (decision, bound) = match ended.await? {
                Ended::Not => return Ok(Stop::Idle),
                Ended::Decided(decision) => (decision, false),
                Ended::ToBind(prepared) => match self.settle_binding(true).await? {
                    Settled::Decided(decision) => (decision, true),
                    Settled::TakenBack(why) => {
                        taken_back = Some(why);
                        continue;
                    }
                    Settled::Open(why) => {
                        failed = Some((prepared, why.unwrap_or_default()));
                        continue;
                    }
                },
            };
            self.tell_others(found.others);
            if !bound {
                self.tell_staged(&decision).await;
                self.bind_decided().await?;
            }
            return Ok(Stop::Decided(decision));
        }
        let why = failed.map(|(_, why)| why).unwrap_or_default();
        let why = format!("somebody else keeps moving the branch: {why}");
        Err(not_committed(&self.view(), &why))
    }

    /// Returns whether the open run may commit. Of a rollback that was said when it was asked for, and not by who finishes it.
    fn commits(&self) -> bool {
        let restoring = self.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
        restoring.and_then(|restoring| restoring.commits).unwrap_or(self.settings().commits)
    }

    /// Tells which files were left alone because somebody else has changed them.
    fn tell_others(&self, files: Vec<String>) {
        if !files.is_empty() {
            self.tell(&Event::LeftAlone { files });
        }
    }

    /// Tells of which files of the commit of a decision something else is staged. Where that cannot be asked nothing is lost.
    pub(crate) async fn tell_staged(&self, decision: &Decision) {
        let commit = match decision.verdict() {
            Verdict::Commit { commit, .. } => commit,
            Verdict::Rollback { reverted_to: Some(commit), .. } => commit,
            _ => return,
        };
        let Some(workspace) = &self.settings().workspace else { return };
        let files = workspace.still_staged(&commit.to_string()).await.unwrap_or_default();
        if !files.is_empty() {
            self.tell(&Event::StillStaged { files });
        }
    }
}

/// Returns what a letter says, fit for one line.
fn one_line(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
