//! Rollbacks: when one begins, and who brings it to its end. What is recorded of it is planned in
//! [`acts`](trunkline_session_machine::acts::roll_back).

use trunkline_decision_objects::{Decision, DecisionId};

use crate::{Cancel, Session, Stop, Workspace};
use trunkline_session_machine::acts::Pieces;
use trunkline_session_machine::acts::bind::Settled;
use trunkline_session_machine::acts::roll_back::{self, Failed, Rest, refused};
use trunkline_session_machine::{Comparison, FileStates, Left, RuntimeError, WorkspaceFault};

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
        self.find_out(|view, asked| roll_back::preview(view, asked, of)).await
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
        roll_back::check_at_rest(&self.view())?;
        self.load_whole().await?;
        let commits = self.settings().commits;
        self.perform(|view, asked| roll_back::begin(view, asked, of, commits)).await?;
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
        let restoring = self.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
        let Some(of) = restoring.map(|restoring| restoring.of) else { return Ok(None) };
        self.load_whole().await?;
        // What an import brought along was asked for elsewhere. Here is nobody who would take that letter in.
        let taken_back = match self.settle_binding(false).await? {
            Settled::Decided(decision) => return Ok(Some(*decision)),
            Settled::TakenBack(why) => Some(why),
            Settled::Open(_) => None,
        };
        let rest = self.find_out(|view, asked| roll_back::rest(view, asked, of, taken_back.as_deref()));
        let fault = match (rest.await?, self.settings().workspace.clone()) {
            (Rest::Restore(left, kept), Some(workspace)) => {
                self.restore_or_undo(workspace.as_ref(), &left, &kept).await?
            }
            (Rest::GiveUp(fault), _) => Some((fault, Vec::new())),
            _ => None,
        };
        if let Some((fault, remains)) = fault {
            let why = self.give_up_rollback(&fault, &remains).await?;
            // It is recorded, and bound later if not now: what stood in the way of the files is what has to be told.
            self.bind_decided().await.ok();
            return Err(why.into());
        }
        match self.conclude().await? {
            Stop::Decided(decision) => Ok(Some(*decision)),
            _ => Ok(None),
        }
    }

    /// Restores files, and makes them what they were before that if somebody else's bytes stand in the way. Returns those then,
    /// with what remains restored.
    async fn restore_or_undo(
        &mut self,
        workspace: &dyn Workspace,
        left: &Left,
        kept: &[Pieces],
    ) -> Result<Option<(WorkspaceFault, Vec<FileStates>)>, RuntimeError> {
        let restored = self.restore(workspace, left, &roll_back::files(kept)).await?;
        let Err(fault) = restored else { return Ok(None) };
        let back = match self.find_out(|view, asked| roll_back::failed(view, asked, left, kept)).await? {
            Failed::Later => return Err(fault.into()),
            Failed::Undo(back) => back,
        };
        let remains = match back {
            None => Vec::new(),
            // Where not all of them can be written, none are, and that is what is told.
            Some(back) if self.restore(workspace, &back, &[]).await?.is_ok() => Vec::new(),
            Some(_) => self.find_out(|view, asked| roll_back::remains(view, asked, left)).await?,
        };
        Ok(Some((fault, remains)))
    }

    /// Gives up a rollback that was begun elsewhere: whoever asked for it meant other files.
    pub(crate) async fn distrust_rollback(&mut self) -> Result<(), RuntimeError> {
        if self.state.decision.run.as_ref().is_none_or(|run| run.restoring.is_none()) {
            return Ok(());
        }
        let message = "this session was brought here from elsewhere, and so was the wish to take them back";
        match self.give_up_rollback(&WorkspaceFault { message: message.to_owned() }, &[]).await {
            // A run that cannot be decided goes on as any other.
            Ok(_) | Err(RuntimeError::Verdict { .. }) => Ok(()),
            Err(fault) => Err(fault),
        }
    }

    /// Ends a rollback that cannot be done, and returns why. `remains` are the files that it has restored all the same.
    async fn give_up_rollback(
        &mut self,
        fault: &WorkspaceFault,
        remains: &[FileStates],
    ) -> Result<WorkspaceFault, RuntimeError> {
        let given_up = self.perform(|view, asked| roll_back::give_up(view, asked, fault, remains));
        let (decision, why) = given_up.await?;
        if let Some(decision) = decision {
            self.finished = Some(Box::new(decision));
        }
        Ok(why)
    }
}
