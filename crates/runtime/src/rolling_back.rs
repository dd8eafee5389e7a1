//! Taking back what a run has changed: a run of its own, which restores the files and decides about itself.
//!
//! A note says what is about to be restored, in the batch that opens the run and before the first byte is written. Each file
//! is compared with how it was and how it was left, so after a kill the rest is done by whoever comes next.

use trunkline_decision_objects::{Decision, DecisionId};
use trunkline_message_tree::Message;

use crate::agent::new_id;
use crate::layers::{decision, resolve};
#[cfg(not(feature = "resolve-queue"))]
use crate::letters;
use crate::session::entries;
use crate::{Comparison, KeptFile, Left, RuntimeError, Session, Stop, WorkspaceFault};

/// How many files the model is told of by name.
const TOLD_FILES: usize = 50;

impl Session {
    /// Says what [`rollback`](Session::rollback) would do to the files, and what stands in its way. Changes nothing.
    ///
    /// # Errors
    ///
    /// Those of [`rollback`](Session::rollback) that do not come of files that were changed since.
    pub async fn preview_rollback(&mut self, of: DecisionId) -> Result<Comparison, RuntimeError> {
        self.catch_up().await?;
        let (left, kept) = self.rollback_of(of).await?;
        self.compare(&left, &kept).await
    }

    /// Takes back what a decision brought about, as a person: the files that its run has changed become what they were
    /// before it, all of them or none. The conversation stays as it is; the model is told which files were restored.
    ///
    /// This is a run of its own. It is committed if the agent commits, and ends as
    /// [`Verdict::Rollback`](trunkline_decision_objects::Verdict::Rollback). One that is cut off is brought to its end when the
    /// session is opened again.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Refused`] while a run is open, if there is no such decision in this session, if it changed nothing or
    /// was rolled back already, or if it is not recorded how it left the files; [`RuntimeError::Unsettled`];
    /// [`RuntimeError::Conflicts`] if somebody has changed the files since; [`RuntimeError::Workspace`] if they cannot be
    /// read or written, and then nothing is changed or the next call of [`resume`](Session::resume) does the rest;
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`].
    pub async fn rollback(&mut self, of: DecisionId) -> Result<Decision, RuntimeError> {
        self.catch_up().await?;
        let (left, kept) = self.rollback_of(of).await?;
        let comparison = self.compare(&left, &kept).await?;
        if !comparison.conflicts.is_empty() {
            return Err(RuntimeError::Conflicts {
                decision: of.to_string(),
                conflicts: comparison.conflicts,
            });
        }
        if comparison.files.is_empty() {
            return Err(refused("the files are what they were before it; there is nothing to take back"));
        }
        let at = self.settings().now();
        let goal = format!("roll back {of}");
        let mut draft = self.state.tree.draft();
        let prompt = draft.append(Message::harness(told(&comparison)), at)?;
        let mut records = entries(draft);
        let base = self.base().await?;
        records.extend(decision::open(None, new_id(), &goal, prompt, base, at)?);
        records.push(decision::restoring(of, at));
        self.commit(records, None).await?;
        match self.finish_rollback().await? {
            Some(decision) => Ok(decision),
            None => Err(refused("the rollback has ended already")),
        }
    }

    /// Brings a rollback to its end that was begun: restores what is not restored yet, and decides. `None` if there is none.
    pub(crate) async fn finish_rollback(&mut self) -> Result<Option<Decision>, RuntimeError> {
        let Some(run) = &self.state.decision.run else { return Ok(None) };
        let Some(of) = run.restoring else { return Ok(None) };
        // What an import brought along was asked for elsewhere. Here is nobody who would take that letter in.
        #[cfg(not(feature = "resolve-queue"))]
        if self.store.inbox(self.lease.session()).await?.iter().any(|letter| letter.kind == letters::DISTRUST)
        {
            return Err(RuntimeError::LayerMissing { feature: "resolve-queue" });
        }
        // Where a commit was announced, the files had been restored by then.
        if run.deciding(self.state.tree.head()).is_none() {
            let Some(left) = self.left_by(of).cloned() else {
                return Err(refused("it is not recorded any more how the run left the files"));
            };
            let kept = self.kept_of(of).await?;
            let Some(workspace) = self.settings().workspace.clone() else {
                return Err(WorkspaceFault {
                    message:
                        "a rollback was cut off; open the session with its folder to bring it to its end"
                            .to_owned(),
                }
                .into());
            };
            if let Err(fault) = workspace.restore(&left, &kept).await {
                // Somebody else's bytes stay, and so does the rest: nobody knows what belongs together any more. What stands
                // in the way otherwise, such as a full disk, may be gone the next time.
                let found = workspace.compare(&left, &kept).await?;
                if !found.conflicts.is_empty() || found.files.len() == left.files.len() {
                    self.give_up_rollback(&fault).await?;
                }
                return Err(fault.into());
            }
        }
        match self.conclude().await? {
            Stop::Decided(decision) => Ok(Some(*decision)),
            _ => Ok(None),
        }
    }

    /// Gives up a rollback that was begun elsewhere: whoever asked for it meant other files.
    #[cfg(feature = "resolve-queue")]
    pub(crate) async fn distrust_rollback(&mut self) -> Result<(), RuntimeError> {
        if self.state.decision.run.as_ref().is_none_or(|run| run.restoring.is_none()) {
            return Ok(());
        }
        let message = "this session was brought here from elsewhere, and so was the wish to take them back";
        match self.give_up_rollback(&WorkspaceFault { message: message.to_owned() }).await {
            // A run that cannot be decided goes on as any other.
            Err(RuntimeError::Verdict { .. }) => Ok(()),
            given_up => given_up,
        }
    }

    async fn give_up_rollback(&mut self, fault: &WorkspaceFault) -> Result<(), RuntimeError> {
        let Some(run) = &self.state.decision.run else { return Ok(()) };
        let at = self.settings().now();
        let mut draft = self.state.tree.draft();
        let text = format!("The files were not taken back: {}", fault.message);
        // Only a log that nobody here has written has open calls in a rollback; nothing may stand before their results.
        let head = match self.state.open_turn() {
            Some(_) => draft.head(),
            None => draft.append(Message::harness(text), at)?,
        };
        let mut records = entries(draft);
        records.extend(decision::give_up(run, &fault.message, head, new_id(), at)?);
        self.commit(records, None).await
    }

    async fn compare(&self, left: &Left, kept: &[KeptFile]) -> Result<Comparison, RuntimeError> {
        match &self.settings().workspace {
            Some(workspace) => Ok(workspace.compare(left, kept).await?),
            None => Err(refused("this session has no folder whose files could be restored")),
        }
    }

    /// Returns what is needed to take a decision back, if that can be asked for now.
    async fn rollback_of(&self, of: DecisionId) -> Result<(Left, Vec<KeptFile>), RuntimeError> {
        if self.state.decision.is_open() {
            return Err(refused("a run is open: let it end, or close it, and then roll back"));
        }
        let waiting = resolve::unsettled(&self.state.resolve);
        if !waiting.is_empty() {
            return Err(RuntimeError::Unsettled { proposals: waiting });
        }
        if self.state.open_turn().is_some() {
            return Err(refused("calls of the model have no results yet: resume the session first"));
        }
        let decisions = &self.state.decision.decisions;
        if decisions.get(of).is_none() {
            return Err(refused(&format!("there is no decision {of} in this session")));
        }
        decisions.check_rollback(of).map_err(|fault| refused(&fault.to_string()))?;
        let left = self.left_by(of).cloned().ok_or_else(|| {
            refused(
                "it is not recorded here how its run left the files: it was decided by an earlier version, or the session \
                 was brought here from elsewhere",
            )
        })?;
        Ok((left, self.kept_of(of).await?))
    }

    pub(crate) fn left_by(&self, of: DecisionId) -> Option<&Left> {
        let run = self.state.decision.decisions.get(of)?.run();
        self.state.decision.left.get(&run.to_string())
    }

    /// Reads what the session has kept of files from before the run that a decision ended.
    #[cfg(feature = "resolve-queue")]
    async fn kept_of(&self, of: DecisionId) -> Result<Vec<KeptFile>, RuntimeError> {
        let Some(decision) = self.state.decision.decisions.get(of) else { return Ok(Vec::new()) };
        let mut kept: Vec<KeptFile> = Vec::new();
        for name in &decision.cites().proposals {
            let Ok(id) = name.as_str().parse() else { continue };
            let Some(entry) = self.state.resolve.queue.get(id).cloned() else { continue };
            // What was before the run is what its first write has found.
            for one in self.kept(&entry).await?.unwrap_or_default() {
                let path = one.fingerprint.subject;
                if kept.iter().all(|known| known.path != path) {
                    kept.push(KeptFile { path, bytes: one.bytes });
                }
            }
        }
        Ok(kept)
    }

    #[cfg(not(feature = "resolve-queue"))]
    #[expect(clippy::unused_async, reason = "the layer that is there reads blobs")]
    async fn kept_of(&self, _: DecisionId) -> Result<Vec<KeptFile>, RuntimeError> {
        Ok(Vec::new())
    }
}

/// Says to the model what happens to the files.
fn told(comparison: &Comparison) -> String {
    let plain = |path: &str| path.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    let mut named: Vec<String> =
        comparison.files.iter().take(TOLD_FILES).map(|file| plain(&file.path)).collect();
    let more = comparison.files.len().saturating_sub(TOLD_FILES);
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    format!(
        "A person takes back what an earlier run has changed. These files become what they were before it: {}. Read them \
         again before you rely on them.",
        named.join(", ")
    )
}

fn refused(reason: &str) -> RuntimeError {
    RuntimeError::Refused { reason: reason.to_owned() }
}
