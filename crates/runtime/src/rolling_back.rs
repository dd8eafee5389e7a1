//! Taking back what a run has changed: a run of its own, which restores the files and decides about itself.
//!
//! A note says what is about to be restored, in the batch that opens the run and before the first byte is written. Each file
//! is compared with how it was and how it was left, so after a kill the rest is done by whoever comes next.

use std::collections::{HashMap, HashSet};

use trunkline_decision_objects::{Decision, DecisionId, LedgerError};
use trunkline_message_tree::{Message, Timestamp};

use crate::acts::bind::Settled;
use crate::acts::changes;
use crate::agent::new_id;
use crate::journal::entries;
use crate::layers::decision::{self, Restoring};
use crate::layers::resolve;
use crate::{
    Base, Cancel, Comparison, FileStates, KeptFile, Left, RuntimeError, Session, Stop, Touched, Workspace,
    WorkspaceFault, citing,
};

/// How many files the model is told of by name.
const TOLD_FILES: usize = 50;

impl Session {
    /// Says what [`rollback`](Session::rollback) would do to the files, and which of them stand in its way. Changes nothing,
    /// and can also be asked while a run is open or something waits.
    ///
    /// # Errors
    ///
    /// Those of [`rollback`](Session::rollback) that come neither of files that were changed since nor of what has to end first.
    pub async fn preview_rollback(&mut self, of: DecisionId) -> Result<Comparison, RuntimeError> {
        self.catch_up().await?;
        self.load_whole().await?;
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
        self.check_at_rest()?;
        self.load_whole().await?;
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
        // A clock may have gone back; what takes a verdict back is not older than the verdict.
        let decided = self.state.decision.decisions.get(of).map(|of| of.at().milliseconds());
        let decided = decided.and_then(|decided| u64::try_from(decided).ok()).map_or(at, Timestamp);
        records.extend(decision::open(None, new_id(), &goal, prompt, base, at.max(decided))?);
        let files = comparison.files.into_iter().map(|file| file.path).collect();
        let restoring = Restoring { of, commits: Some(self.settings().commits), files, lease: None };
        records.push(decision::restoring(restoring, at));
        self.commit(records, None).await?;
        let ended = self.do_rest_of_rollback().await;
        // Whoever called is told here.
        self.finished = None;
        match ended? {
            Some(decision) => Ok(decision),
            None => Err(refused("the rollback has ended already")),
        }
    }

    /// Brings a rollback that was cut off to its end, and returns how it ended; also, once, of one that ended when the
    /// session was opened. `None` if there is none. Waits for a process that may still be at it, after this one has taken the
    /// session over: at most [`APPLY_LEASE`](crate::APPLY_LEASE).
    ///
    /// It needs no model. It ends as [`Verdict::Rollback`](trunkline_decision_objects::Verdict::Rollback), or as
    /// [`Verdict::Abandon`](trunkline_decision_objects::Verdict::Abandon) if somebody has changed the files meanwhile.
    ///
    /// # Errors
    ///
    /// Those of [`rollback`](Session::rollback) that come of files or of the store; [`RuntimeError::Refused`] if somebody asks
    /// to cancel while this waits.
    pub async fn finish_rollback(&mut self) -> Result<Option<Decision>, RuntimeError> {
        self.catch_up().await?;
        // What ended an earlier drive ends no waiting here.
        self.cancel = Some(Cancel::new());
        let inbox = self.read_inbox().await?;
        self.take_old_cancels(inbox).await?;
        if !self.await_rollback().await? {
            // Whoever asked to cancel meant this waiting, and no drive after it.
            let inbox = self.look_at_inbox().await?;
            self.take_old_cancels(inbox).await?;
            return Err(refused("another process may still be putting files back; try again in a minute"));
        }
        match self.do_rest_of_rollback().await {
            Err(_) if self.finished.is_some() => {}
            Ok(Some(decision)) => return Ok(Some(decision)),
            ended => {
                ended?;
            }
        }
        Ok(self.finished.take().map(|decision| *decision))
    }

    /// Brings a rollback that was cut off to its end, if nobody else may be at it and nothing stands in its way: that is told
    /// to whoever wants to go on.
    pub(crate) async fn try_rest_of_rollback(&mut self) {
        if !self.unsure
            && self.rollback_lease().is_none()
            && let Ok(Some(decision)) = self.do_rest_of_rollback().await
        {
            self.finished = Some(Box::new(decision));
        }
    }

    /// Restores what is not restored yet, and decides. `None` if there is nothing of that kind to do. Nobody else may be at it.
    pub(crate) async fn do_rest_of_rollback(&mut self) -> Result<Option<Decision>, RuntimeError> {
        let Some(run) = &self.state.decision.run else { return Ok(None) };
        let Some(of) = run.restoring.as_ref().map(|restoring| restoring.of) else { return Ok(None) };
        self.load_whole().await?;
        // What an import brought along was asked for elsewhere. Here is nobody who would take that letter in.
        let taken_back = match self.settle_binding(false).await? {
            Settled::Decided(decision) => return Ok(Some(*decision)),
            Settled::TakenBack(why) => Some(why),
            Settled::Open(_) => None,
        };
        if let Some(why) = taken_back {
            // The files are now as whoever took its commit off wanted them.
            if !self.still_restored(of).await? {
                let fault = WorkspaceFault { message: why };
                return Err(self.give_up_and_bind(&fault, Vec::new()).await?.into());
            }
        // What is committed was restored by then. What was only announced somebody may have changed since.
        } else if !self.find_out(changes::is_committed).await? {
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
            if let Err(fault) = self.restore(workspace.as_ref(), &left, &kept).await? {
                // Somebody else's bytes stay, and so does the rest: nobody knows what belongs together any more. What stands
                // in the way otherwise, such as a full disk, may be gone the next time.
                let found = workspace.compare(&left, &kept).await?;
                if found.conflicts.is_empty() && found.files.len() < left.files.len() {
                    return Err(fault.into());
                }
                let remains = self.undo_rollback(workspace.as_ref(), &left).await?;
                return Err(self.give_up_and_bind(&fault, remains).await?.into());
            }
        }
        match self.conclude().await? {
            Stop::Decided(decision) => Ok(Some(*decision)),
            _ => Ok(None),
        }
    }

    /// Gives up a rollback that was begun elsewhere: whoever asked for it meant other files.
    pub(crate) async fn distrust_rollback(&mut self) -> Result<(), RuntimeError> {
        if self.state.decision.run.as_ref().is_none_or(|run| run.restoring.is_none()) {
            return Ok(());
        }
        let message = "this session was brought here from elsewhere, and so was the wish to take them back";
        match self.give_up_rollback(&WorkspaceFault { message: message.to_owned() }, Vec::new()).await {
            // A run that cannot be decided goes on as any other.
            Ok(_) | Err(RuntimeError::Verdict { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Returns whether anything that the open rollback was to write is now as it makes it.
    async fn still_restored(&self, of: DecisionId) -> Result<bool, RuntimeError> {
        match (&self.settings().workspace, self.left_by(of)) {
            (Some(workspace), Some(left)) => {
                let restored = restored(workspace.as_ref(), &self.written(left)).await?;
                Ok(!restored.is_empty())
            }
            _ => Ok(false),
        }
    }

    /// Returns what the open rollback was to write of the files that a run has left so, as it makes them.
    fn written(&self, left: &Left) -> Vec<FileStates> {
        let restoring = self.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
        let written: HashSet<&str> =
            restoring.iter().flat_map(|restoring| &restoring.files).map(String::as_str).collect();
        left.files.iter().filter(|file| written.contains(file.path.as_str())).map(reversed).collect()
    }

    /// Makes what a rollback has restored again what it was before that, as far as the bytes are known. Returns what
    /// remains restored.
    async fn undo_rollback(
        &mut self,
        workspace: &dyn Workspace,
        left: &Left,
    ) -> Result<Vec<FileStates>, RuntimeError> {
        let files = self.written(left);
        let restored = restored(workspace, &files).await?;
        if restored.is_empty() {
            return Ok(restored);
        }
        let back = the_other_way(left, &restored);
        // Where not all of them can be written, none are, and that is what is told.
        if self.restore(workspace, &back, &[]).await?.is_ok() {
            return Ok(Vec::new());
        }
        let mut remains = self::restored(workspace, &files).await?;
        // Of what differs in its mode only nobody can tell.
        remains.retain(|file| file.before != file.after);
        Ok(remains)
    }

    /// Ends a rollback that cannot be done, binds what was decided, and returns why.
    async fn give_up_and_bind(
        &mut self,
        fault: &WorkspaceFault,
        remains: Vec<FileStates>,
    ) -> Result<WorkspaceFault, RuntimeError> {
        let why = self.give_up_rollback(fault, remains).await?;
        // It is recorded, and bound later if not now: what stood in the way of the files is what has to be told.
        self.bind_decided().await.ok();
        Ok(why)
    }

    /// Ends a rollback that cannot be done, and returns why. `remains` are the files that it has restored all the same.
    async fn give_up_rollback(
        &mut self,
        fault: &WorkspaceFault,
        remains: Vec<FileStates>,
    ) -> Result<WorkspaceFault, RuntimeError> {
        let Some(run) = &self.state.decision.run else { return Ok(fault.clone()) };
        let of = run.restoring.as_ref().map(|restoring| restoring.of);
        let why = match remains.as_slice() {
            [] => fault.message.clone(),
            remains => half_done(&fault.message, remains),
        };
        let left = of.and_then(|of| self.left_by(of)).filter(|_| !remains.is_empty());
        let left =
            left.map(|left| Left { run: run.record.id().to_string(), ..the_other_way(left, &remains) });
        let at = self.settings().now();
        let mut draft = self.state.tree.draft();
        let text = match remains.as_slice() {
            [] => format!("The files were not taken back: {why}"),
            _ => format!("Not all of the files were taken back: {why}"),
        };
        // Only a log that nobody here has written has open calls in a rollback; nothing may stand before their results.
        let head = match self.state.open_turn() {
            Some(_) => draft.head(),
            None => draft.append(Message::harness(text), at)?,
        };
        let mut records = entries(draft);
        let cites = citing::citations(&self.state, run, &remains);
        let (decided, decision) = decision::give_up(run, &why, left.as_ref(), cites, head, new_id(), at)?;
        records.extend(decided);
        self.commit(records, None).await?;
        self.finished = Some(Box::new(decision));
        Ok(WorkspaceFault { message: why })
    }

    async fn compare(&self, left: &Left, kept: &[KeptFile]) -> Result<Comparison, RuntimeError> {
        match &self.settings().workspace {
            Some(workspace) => Ok(workspace.compare(left, kept).await?),
            None => Err(refused("this session has no folder whose files could be restored")),
        }
    }

    /// Checks that nothing has to end first.
    fn check_at_rest(&self) -> Result<(), RuntimeError> {
        let waiting = resolve::unsettled(&self.state.resolve);
        if !waiting.is_empty() {
            return Err(RuntimeError::Unsettled { proposals: waiting });
        }
        if self.state.decision.is_open() {
            return Err(refused(
                "a run is open: resume the session so that it ends, or close the run, and then roll back",
            ));
        }
        if self.state.open_turn().is_some() {
            return Err(refused("calls of the model have no results yet: resume the session first"));
        }
        Ok(())
    }

    /// Returns what is needed to take a decision back.
    async fn rollback_of(&self, of: DecisionId) -> Result<(Left, Vec<KeptFile>), RuntimeError> {
        let decisions = &self.state.decision.decisions;
        if decisions.get(of).is_none() {
            return Err(refused(&format!("there is no decision {of} in this session")));
        }
        decisions.check_rollback(of).map_err(|fault| match fault {
            LedgerError::NothingToUndo { .. } if self.has_applied(of) => refused(
                "no change of its run is recorded, although edits were applied in it: what stands of them is taken back one \
                 by one",
            ),
            fault => refused(&fault.to_string()),
        })?;
        let left = self.left_by(of).cloned().ok_or_else(|| {
            refused(
                "it is not recorded here how its run left the files: it was decided by an earlier version, or the session \
                 was brought here from elsewhere",
            )
        })?;
        Ok((left, self.kept_of(of).await?))
    }

    fn has_applied(&self, of: DecisionId) -> bool {
        let decision = self.state.decision.decisions.get(of);
        let is_edit = |id: &str| self.state.resolve.is_edit(id);
        decision.is_some_and(|decision| decision.cites().proposals.iter().any(|id| is_edit(id.as_str())))
    }

    fn left_by(&self, of: DecisionId) -> Option<&Left> {
        changes::left_by(&self.state, of)
    }

    /// Reads what the session has kept of files from before the run that a decision ended.
    async fn kept_of(&self, of: DecisionId) -> Result<Vec<KeptFile>, RuntimeError> {
        let Some(decision) = self.state.decision.decisions.get(of) else { return Ok(Vec::new()) };
        let mut kept: Vec<KeptFile> = Vec::new();
        for name in &decision.cites().proposals {
            let Ok(id) = name.as_str().parse() else { continue };
            let Some(entry) = self.state.resolve.queue.get(id) else { continue };
            // What was before the run is what its first write has found.
            let Some(named) = self.state.resolve.preimages.of(entry) else { continue };
            for one in self.preimages(&named).await?.unwrap_or_default() {
                let path = one.fingerprint.subject;
                if kept.iter().all(|known| known.path != path) {
                    kept.push(KeptFile { path, bytes: one.bytes });
                }
            }
        }
        Ok(kept)
    }
}

/// Returns the files that are now as a rollback has made them. Asked of files as it found them, and makes them.
async fn restored(
    workspace: &dyn Workspace,
    files: &[FileStates],
) -> Result<Vec<FileStates>, WorkspaceFault> {
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let before = |file: &FileStates| Touched { path: file.path.clone(), before: file.before.clone() };
    let touched: Vec<Touched> = files.iter().map(before).collect();
    let now = workspace.states(&Base::default(), None, &touched, None, &paths).await?;
    let now: HashMap<&str, &Option<String>> =
        now.iter().map(|file| (file.path.as_str(), &file.after)).collect();
    let is_so = |file: &&FileStates| now.get(file.path.as_str()).is_some_and(|now| **now == file.after);
    Ok(files.iter().filter(is_so).cloned().collect())
}

/// Returns how a file was and is, seen from a rollback of what changed it.
fn reversed(file: &FileStates) -> FileStates {
    FileStates {
        path: file.path.clone(),
        before: file.after.clone(),
        after: file.before.clone(),
        before_executable: file.after_executable,
        after_executable: file.before_executable,
    }
}

/// Returns what a rollback did to some of the files that a run has left so.
fn the_other_way(left: &Left, files: &[FileStates]) -> Left {
    Left {
        run: left.run.clone(),
        base: Base { commit: None, tree: left.tree.clone() },
        tree: left.base.tree.clone(),
        files: files.to_vec(),
        unknown: Vec::new(),
    }
}

/// Says what a rollback has done that could not be done to its end.
fn half_done(fault: &str, remains: &[FileStates]) -> String {
    let named = named(remains.iter().map(|file| file.path.as_str()));
    // Workspaces say that of what they were asked last; the files of before are told of here.
    let fault = fault.strip_prefix("nothing was put back: ").unwrap_or(fault);
    let (files, them) = match remains.len() {
        1 => ("1 file".to_owned(), "it"),
        many => (format!("{many} files"), "them"),
    };
    format!(
        "{fault}; {files} had been put back before, and nobody has kept what was there to undo {them}: {named}"
    )
}

/// Returns some of the names of files, in one line.
fn named<'a>(paths: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = paths.len().saturating_sub(TOLD_FILES);
    let plain = |path: &str| path.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    let mut named: Vec<String> = paths.take(TOLD_FILES).map(plain).collect();
    if more > 0 {
        named.push(format!("and {more} more"));
    }
    named.join(", ")
}

/// Says to the model what happens to the files.
fn told(comparison: &Comparison) -> String {
    format!(
        "A person takes back what an earlier run has changed. These files become what they were before it: {}. Read them \
         again before you rely on them.",
        named(comparison.files.iter().map(|file| file.path.as_str()))
    )
}

fn refused(reason: &str) -> RuntimeError {
    RuntimeError::Refused { reason: reason.to_owned() }
}
