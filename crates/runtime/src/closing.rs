//! The end of a run: what it changed is computed, committed if that is wanted, and decided.
//!
//! A drive ends a run when the model has answered. A person may end it earlier: what was done until then is computed and
//! recorded in the same way, only the verdict is theirs. What was announced and not committed is computed anew: files may
//! have been changed since, or taken back.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{Decision, RunId, Verdict};
use trunkline_message_tree::{Author, Message, NodeId, StopReason};
use trunkline_session_store::{InboxId, Letter, Record};

use crate::agent::new_id;
use crate::binding::Settled;
use crate::commit_message::commit_message;
use crate::journal::entries;
use crate::layers::decision::{self, Ending, How, OpenRun, Outcome, Stands, Unseen};
use crate::layers::{resolve, revert};
use crate::own_changes::{base_of, is_of};
use crate::{
    Base, Cancel, Changes, Deciding, Event, Left, OwnChanges, Prepared, RuntimeError, Session, Stop,
    Workspace, WorkspaceFault, citing, letters,
};

/// How often a commit is prepared anew because somebody has moved the branch meanwhile.
const TRIES: u32 = 5;

pub(crate) const CLOSE_RUN: &str = "close_run";

/// How a person ends an open run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CloseAs {
    /// It is put down. The next run of the session takes it up from there.
    Checkpoint {
        /// What to go on from.
        words: String,
    },
    /// Its goal is given up. Nothing goes on before somebody says more.
    Abandon {
        /// Why.
        reason: String,
    },
    /// Another run shall try again. It is opened in the same batch, and the reason is its prompt.
    Retry {
        /// What to do otherwise.
        reason: String,
    },
}

impl CloseAs {
    /// Returns what was said with it.
    pub fn words(&self) -> &str {
        match self {
            CloseAs::Checkpoint { words } => words,
            CloseAs::Abandon { reason } | CloseAs::Retry { reason } => reason,
        }
    }
}

/// The body of a letter that asks for it.
#[derive(Serialize, Deserialize)]
pub(crate) struct CloseBody {
    /// The run that its sender saw.
    pub(crate) run: String,
    pub(crate) close: CloseAs,
}

/// What became of the files until the end of a run.
#[derive(Default)]
struct Found {
    deciding: Option<Deciding>,
    commit: Option<String>,
    changes: Option<Changes>,
    /// What the changes are counted from, if that is not how the files were when the run began.
    base: Option<Base>,
    /// For which files; `None` if that is not known any more.
    rebased: Option<HashSet<String>>,
    /// Files that somebody else has committed to after the run itself had.
    mixed: HashSet<String>,
    /// Whether the run has changed something, and nothing of it is left.
    gone: bool,
    /// Whether it may have changed files without anybody seeing it.
    unseen: Option<Unseen>,
    /// How the changed files were and are.
    left: Option<Left>,
    /// The files that somebody else has changed.
    others: Vec<String>,
    /// The commits that the run has made itself; `None` if that is not known.
    made: Option<Vec<String>>,
    /// The commit that has the changes already.
    holder: Option<String>,
    /// Which commit of it somebody has taken off the branch.
    taken_back: Option<String>,
    /// Why nothing of this is known.
    unknown: Option<WorkspaceFault>,
}

impl Found {
    fn outcome(&self) -> Outcome<'_> {
        match (&self.deciding, &self.commit, &self.changes) {
            (Some(deciding), Some(commit), _) => Outcome::Committed(deciding, commit),
            (Some(deciding), None, _) => Outcome::Announced(deciding),
            (None, _, Some(changes)) => Outcome::Changed(changes),
            _ => Outcome::Unchanged,
        }
    }

    /// Returns where the changes stand committed although nobody has committed them for the run.
    fn stands(&self) -> Option<Stands<'_>> {
        let commit = self.holder.as_deref()?;
        let made = self.made.iter().flatten().any(|made| made == commit);
        Some(Stands { commit, by_the_run: made })
    }
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
        self.check_closing(&how)?;
        self.look_late().await?;
        self.close_for(&how, None).await
    }

    /// Returns which files the open run has changed until now, by path; empty if that is nothing, or no run is open.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Workspace`] if that cannot be computed.
    pub async fn changed_files(&self) -> Result<Vec<String>, RuntimeError> {
        let changes = self.find_changes().await?.changes;
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

    /// Checks what can be told without a look at the files.
    fn check_closing(&self, how: &CloseAs) -> Result<(), RuntimeError> {
        match &self.state.decision.run {
            None => return Err(RuntimeError::NoOpenRun),
            Some(_) if self.rollback_lease().is_some() => {
                let reason = "another process may still be putting files back; try again in a minute";
                return Err(RuntimeError::Refused { reason: reason.to_owned() });
            }
            // What stands in its way may never go away.
            Some(run) if run.restoring.is_some() && !matches!(how, CloseAs::Abandon { .. }) => {
                let reason = "a rollback was cut off; resume the session with its folder to bring it to its end, or \
                              abandon it";
                return Err(RuntimeError::Refused { reason: reason.to_owned() });
            }
            Some(_) => {}
        }
        if how.words().trim().is_empty() {
            let wanted = match how {
                CloseAs::Checkpoint { .. } => "what to go on from",
                CloseAs::Abandon { .. } => "why it is given up",
                CloseAs::Retry { .. } => "what to do otherwise",
            };
            return Err(RuntimeError::Refused { reason: format!("say {wanted}") });
        }
        let waiting = resolve::unsettled(&self.state.resolve);
        match waiting.is_empty() {
            true => Ok(()),
            false => Err(RuntimeError::Unsettled { proposals: waiting }),
        }
    }

    async fn close_for(&mut self, how: &CloseAs, letter: Option<InboxId>) -> Result<Decision, RuntimeError> {
        self.check_closing(how)?;
        let mut found = match (self.find_changes().await, how) {
            // Else nothing but leaving its prompt could end a run whose trees git has thrown away.
            (Err(RuntimeError::Workspace(fault)), CloseAs::Abandon { .. }) => {
                Found { unknown: Some(fault), ..Found::default() }
            }
            (found, _) => found?,
        };
        found.unknown = found.unknown.or_else(|| without_folder(found.unseen));
        // A run that began in a folder is closed there, with what it changed; given up it can be anywhere.
        let began = self.state.decision.run.as_ref().is_some_and(|run| run.base.tree.is_some());
        if let (Some(Unseen::NoWorkspace { .. }), true) = (found.unseen, began)
            && !matches!(how, CloseAs::Abandon { .. })
            && let Some(fault) = found.unknown
        {
            return Err(fault.into());
        }
        if let Some(commit) = &found.commit {
            return Err(stands_in(commit));
        }
        let at = self.settings().now();
        let mut draft = self.state.tree.draft();
        self.close_turn(&mut draft, "not run: a person closed the run first", at)?;
        let Some(run) = &self.state.decision.run else { return Err(RuntimeError::NoOpenRun) };
        let head = match how {
            CloseAs::Retry { reason } => draft.append(Message::user(reason.as_str()), at)?,
            _ => draft.head(),
        };
        let ending = self.ending(run, How::Closed(how), &found, head);
        let (mut records, decision) = decision::close(run, &ending)?;
        if let CloseAs::Retry { reason } = how {
            let base = self.base().await?;
            let opened = decision::open(Some(&decision), new_id(), reason, head, base, at)?;
            records.extend(opened);
        }
        let mut batch = entries(draft);
        batch.extend(records);
        self.commit(batch, letter).await?;
        self.tell_others(&found);
        self.bind_decided().await?;
        Ok(decision)
    }

    /// Returns the records that end the open run because its prompt is left. What cannot be computed does not keep anybody
    /// from leaving it.
    pub(crate) async fn leave_run(&self, by: Author) -> Result<Vec<Record>, RuntimeError> {
        let Some(run) = &self.state.decision.run else { return Ok(Vec::new()) };
        let mut found = match self.find_changes().await {
            Err(RuntimeError::Workspace(fault)) => Found { unknown: Some(fault), ..Found::default() },
            found => found?,
        };
        // A kill came between the commit and its record. Only a person can be here then, and the record comes first.
        if let (Some(commit), Author::Person) = (&found.commit, by) {
            return Err(stands_in(commit));
        }
        found.unknown = found.unknown.or_else(|| without_folder(found.unseen));
        let ending = self.ending(run, How::Left(by), &found, self.state.tree.head());
        Ok(decision::close(run, &ending)?.0)
    }

    /// Gives the open run its verdict: computes what changed, commits it if that is wanted, and records the decision.
    pub(crate) async fn conclude(&mut self) -> Result<Stop, RuntimeError> {
        if self.state.decision.run.is_none() {
            return Ok(Stop::Idle);
        }
        let commits = self.commits();
        let binds = self.settings().binds && commits;
        // What an earlier process has prepared is what is committed, unless the branch or the files were changed since.
        let again = binds && self.still_stands().await;
        let mut taken_back = match self.settle_binding(again).await? {
            Settled::Decided(decision) => return Ok(Stop::Decided(decision)),
            Settled::TakenBack(why) => Some(why),
            Settled::Open(_) => None,
        };
        let mut failed: Option<(Prepared, String)> = None;
        for _ in 0..TRIES {
            let mut found = self.find_changes().await?;
            let prepared = match commits && taken_back.is_none() {
                true => self.commit_changes(&mut found).await?,
                false => None,
            };
            let head = self.state.head_message();
            let Some(run) = &self.state.decision.run else { return Ok(Stop::Idle) };
            let how = match &run.restoring {
                Some(restoring) => How::RolledBack(restoring.of),
                None => How::Ended {
                    origin: head.origin.as_ref(),
                    refused: head.stop == Some(StopReason::Refusal),
                },
            };
            found.taken_back = taken_back.clone().filter(|_| found.commit.is_none());
            let ending = self.ending(run, how, &found, self.state.tree.head());
            let (records, decision) = decision::close(run, &ending)?;
            if let Some(prepared) = prepared {
                // Where somebody else has committed, something else is prepared. What is the same fails in the same way.
                if let Some((_, why)) = failed.as_ref().filter(|(last, _)| *last == prepared) {
                    return Err(self.not_committed(why));
                }
                match self.bind_closing(prepared.clone(), &decision, records).await? {
                    Settled::Decided(decision) => {
                        self.tell_others(&found);
                        return Ok(Stop::Decided(decision));
                    }
                    Settled::TakenBack(why) => taken_back = Some(why),
                    Settled::Open(why) => failed = Some((prepared, why.unwrap_or_default())),
                }
                continue;
            }
            self.commit(records, None).await?;
            self.tell_others(&found);
            self.tell_staged(&decision).await;
            self.bind_decided().await?;
            return Ok(Stop::Decided(Box::new(decision)));
        }
        let why = failed.map(|(_, why)| why).unwrap_or_default();
        Err(self.not_committed(&format!("somebody else keeps moving the branch: {why}")))
    }

    /// Returns whether the open run may commit. Of a rollback that was said when it was asked for, and not by who finishes it.
    fn commits(&self) -> bool {
        let restoring = self.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
        restoring.and_then(|restoring| restoring.commits).unwrap_or(self.settings().commits)
    }

    /// Commits what was found, as it was announced. A commit that is to be bound is only prepared.
    async fn commit_changes(&mut self, found: &mut Found) -> Result<Option<Prepared>, RuntimeError> {
        if let (None, Some(changes)) = (&found.deciding, &found.changes) {
            found.deciding = self.announce(changes, found.base.clone(), found.made.clone()).await?;
        }
        let (Some(workspace), Some(deciding)) = (&self.settings().workspace, &found.deciding) else {
            return Ok(None);
        };
        if self.settings().binds && found.commit.is_none() {
            let prepared = workspace.write_commit(deciding).await?;
            found.commit = prepared.as_ref().map(|prepared| prepared.commit.clone());
            return Ok(prepared);
        }
        // After a kill this looks for what the note names before it makes anything.
        found.commit = workspace.commit(deciding).await?;
        Ok(None)
    }

    /// Finds out what the open run has changed: from the files, or where that was committed already, from its announcement.
    async fn find_changes(&self) -> Result<Found, RuntimeError> {
        let mut found = Found::default();
        let Some(run) = &self.state.decision.run else { return Ok(found) };
        let Some(workspace) = &self.settings().workspace else {
            let applied = !self.touched(run).is_empty();
            let unseen = applied || self.may_have_changed(run);
            found.unseen = unseen.then_some(Unseen::NoWorkspace { applied });
            return Ok(found);
        };
        found.deciding = run.deciding(self.state.tree.head()).cloned();
        if let Some(deciding) = &found.deciding {
            // A process that was allowed to commit may have done so before it died.
            found.commit = workspace.find_commit(deciding).await?;
        }
        if found.commit.is_none() {
            let own = self.own_changes(run, workspace.as_ref()).await?;
            let is_announced =
                |deciding: &Deciding| !own.changes.files.is_empty() && is_of(&own, run, deciding);
            found.deciding = found.deciding.filter(is_announced);
            found.base = base_of(&own, run);
            let OwnChanges { changes, rebased, mixed, others, made, holder, .. } = own;
            found.rebased = Some(rebased.into_iter().collect());
            found.mixed = mixed.into_iter().collect();
            (found.others, found.made, found.holder) = (others, made, holder);
            found.gone = changes.files.is_empty() && self.has_written(run);
            let unseen = changes.tree.is_none() && self.may_have_changed(run);
            found.unseen = unseen.then_some(Unseen::NoVersionControl);
            found.changes = (!changes.files.is_empty()).then_some(changes);
        } else if let Some(deciding) = &found.deciding {
            found.base = Some(deciding.base.clone());
        }
        found.left = self.left(run, workspace.as_ref(), &found).await;
        Ok(found)
    }

    /// Returns whether what is about to be bound is what the run has changed. Where that cannot be computed it is not begun.
    async fn still_stands(&self) -> bool {
        let (Some(run), Some(workspace)) = (&self.state.decision.run, &self.settings().workspace) else {
            return true;
        };
        let head = self.state.tree.head();
        let Some(note) = run.bindings.last().filter(|note| note.head == head) else { return true };
        let bound = note.decision().ok().and_then(|decision| decision.verdict().patch_set());
        let is_meant = |deciding: &&Deciding| bound.is_some_and(|set| set.to_string() == deciding.patch_set);
        let Some(deciding) = run.deciding(head).filter(is_meant) else { return false };
        let own = self.own_changes(run, workspace.as_ref()).await;
        own.is_ok_and(|own| is_of(&own, run, deciding))
    }

    /// Returns whether what was announced stands in a commit.
    pub(crate) async fn is_committed(&self) -> Result<bool, RuntimeError> {
        let run = self.state.decision.run.as_ref();
        let announced = run.and_then(|run| run.deciding(self.state.tree.head()));
        let (Some(deciding), Some(workspace)) = (announced, &self.settings().workspace) else {
            return Ok(false);
        };
        Ok(workspace.find_commit(deciding).await?.is_some())
    }

    /// Tells which files were left alone because somebody else has changed them.
    fn tell_others(&self, found: &Found) {
        if !found.others.is_empty() {
            self.tell(&Event::LeftAlone { files: found.others.clone() });
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

    /// Finds out how the changed files were and are. What cannot be told is no reason to leave a run without its verdict.
    async fn left(&self, run: &OpenRun, workspace: &dyn Workspace, found: &Found) -> Option<Left> {
        let (paths, tree): (Vec<String>, _) = match (&found.changes, &found.deciding) {
            (Some(changes), _) => {
                (changes.files.iter().map(|file| file.path.clone()).collect(), changes.tree.clone())
            }
            (None, Some(deciding)) => (run.announced_paths(deciding), Some(deciding.tree.clone())),
            (None, None) => return None,
        };
        let base = found.base.clone().unwrap_or_else(|| run.base.clone());
        let moved = base.tree != run.base.tree;
        let is_theirs =
            |path: &str| moved && found.rebased.as_ref().is_none_or(|rebased| rebased.contains(path));
        let (theirs, paths): (Vec<String>, Vec<String>) = paths.into_iter().partition(|path| is_theirs(path));
        let mut touched = self.touched(run);
        touched.retain(|touch| !is_theirs(&touch.path));
        let (tree_now, spans) = (tree.as_deref(), self.known_spans(run));
        let states = workspace.states(&base, tree_now, &touched, spans, &paths).await;
        let mut files = states.unwrap_or_default();
        if !theirs.is_empty() {
            // What the run found of these does not matter any more.
            files.extend(workspace.states(&base, tree_now, &[], None, &theirs).await.unwrap_or_default());
        }
        files.retain(|file| !found.mixed.contains(&file.path));
        let known: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let unknown = paths.into_iter().chain(theirs).filter(|path| !known.contains(path.as_str())).collect();
        Some(Left { run: run.record.id().to_string(), base, tree, files, unknown })
    }

    fn ending<'a>(&self, run: &OpenRun, how: How<'a>, found: &'a Found, head: NodeId) -> Ending<'a> {
        let prompts: Vec<NodeId> = run.prompts().collect();
        let files = found.left.as_ref().map(|left| left.files.as_slice()).unwrap_or_default();
        Ending {
            outcome: found.outcome(),
            stands: found.stands(),
            gone: found.gone,
            unseen: found.unseen,
            unknown: found.unknown.as_ref(),
            left: found.left.as_ref(),
            cites: citing::citations(&self.state, run, files),
            approved_by: resolve::approver(&self.state.resolve, run.opened),
            taken_back: found.taken_back.as_deref(),
            answer: self.state.head_message().text(),
            how,
            head,
            considered: revert::lessons(&self.state.revert, &self.state.tree, &prompts),
            rejected: resolve::rejected(&self.state.resolve, run.opened),
            at: self.settings().now(),
            new_id,
        }
    }

    /// Records what is about to be committed; `None` where there is nothing to commit to.
    async fn announce(
        &mut self,
        changes: &Changes,
        base: Option<Base>,
        made: Option<Vec<String>>,
    ) -> Result<Option<Deciding>, RuntimeError> {
        let (Some(run), Some(tree)) = (&self.state.decision.run, &changes.tree) else { return Ok(None) };
        let named = self.settings().names_decisions.then(|| new_id().to_string());
        let at = self.settings().now();
        let deciding = Deciding {
            run: run.record.id().to_string(),
            patch_set: new_id().to_string(),
            base: base.unwrap_or_else(|| run.base.clone()),
            tree: tree.clone(),
            message: match &run.restoring {
                Some(restoring) => commit_message(&format!("Roll back {}", restoring.of), ""),
                None => commit_message(&run.record.opening().goal, &self.answer()),
            },
            at: at.0,
            decision: named,
            made,
        };
        let records = decision::deciding(run, &deciding, changes, self.state.tree.head(), at)?;
        self.commit(records, None).await?;
        Ok(Some(deciding))
    }
}

/// Returns what a letter says, fit for one line.
fn one_line(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Returns that nobody could look at the files, if a run may have changed some.
fn without_folder(unseen: Option<Unseen>) -> Option<WorkspaceFault> {
    let message = "the session was opened without its folder".to_owned();
    matches!(unseen, Some(Unseen::NoWorkspace { .. })).then_some(WorkspaceFault { message })
}

fn stands_in(commit: &str) -> RuntimeError {
    let reason =
        format!("the run's changes stand in the commit {commit} already; resume the session to record that");
    RuntimeError::Refused { reason }
}
