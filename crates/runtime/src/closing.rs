//! The end of a run: what it changed is computed, committed if that is wanted, and decided.
//!
//! A drive ends a run when the model has answered. A person may end it earlier: what was done until then is computed and
//! recorded in the same way, only the verdict is theirs.

use serde::{Deserialize, Serialize};
use trunkline_decision_objects::{Decision, RunId};
use trunkline_message_tree::{Message, NodeId, StopReason};
use trunkline_session_store::{InboxId, Letter};

use crate::agent::new_id;
use crate::layers::decision::{self, Ending, How, OpenRun, Outcome};
use crate::layers::{resolve, revert};
use crate::session::entries;
use crate::{
    Cancel, Changes, Deciding, FileStates, Left, Prepared, RuntimeError, Session, Stop, Touched, Workspace,
    WorkspaceFault, citing, letters,
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
    /// How the changed files were and are.
    left: Option<Left>,
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
    /// [`RuntimeError::Workspace`] if it cannot be computed what it changed; [`RuntimeError::AlreadyDecided`];
    /// [`RuntimeError::Store`]; [`RuntimeError::TakenOver`]. Then nothing has changed.
    pub async fn close_run(&mut self, how: CloseAs) -> Result<Decision, RuntimeError> {
        self.catch_up().await?;
        self.close_for(&how, None).await
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
            RuntimeError::Workspace(_) | RuntimeError::Verdict { .. } => {
                RuntimeError::Refused { reason: fault.to_string() }
            }
            fault => fault,
        });
        let decision = closed?;
        self.closed = Some(Box::new(decision));
        Ok(())
    }

    /// Takes in what asks to close the run, where nothing else is taken in any more.
    pub(crate) async fn take_close_letters(&mut self) -> Result<(), RuntimeError> {
        for letter in self.store.inbox(self.lease.session()).await? {
            if letter.kind == CLOSE_RUN {
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
        match &self.state.decision.run {
            None => return Err(RuntimeError::NoOpenRun),
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
        if !waiting.is_empty() {
            return Err(RuntimeError::Unsettled { proposals: waiting });
        }
        let found = self.find_changes().await?;
        if let Some(commit) = &found.commit {
            let reason = format!(
                "its changes stand in the commit {commit} already; resume the session to record that"
            );
            return Err(RuntimeError::Refused { reason });
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
        self.bind_decided().await?;
        Ok(decision)
    }

    /// Gives the open run its verdict: computes what changed, commits it if that is wanted, and records the decision.
    pub(crate) async fn conclude(&mut self) -> Result<Stop, RuntimeError> {
        if self.state.decision.run.is_none() {
            return Ok(Stop::Idle);
        }
        let commits = self.commits();
        let binds = self.settings().binds && commits;
        // What an earlier process has prepared is what is committed, unless the branch was moved since.
        if let Some(decision) = self.settle_binding(binds).await? {
            return Ok(Stop::Decided(Box::new(decision)));
        }
        for _ in 0..TRIES {
            let mut found = self.find_changes().await?;
            let prepared = match commits {
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
            let ending = self.ending(run, how, &found, self.state.tree.head());
            let (records, decision) = decision::close(run, &ending)?;
            if let Some(prepared) = prepared {
                match self.bind_closing(prepared, records).await? {
                    Some(decision) => return Ok(Stop::Decided(Box::new(decision))),
                    None => continue,
                }
            }
            self.commit(records, None).await?;
            self.bind_decided().await?;
            return Ok(Stop::Decided(Box::new(decision)));
        }
        let message = "somebody else keeps moving the branch; resume the session when they are done";
        Err(WorkspaceFault { message: message.to_owned() }.into())
    }

    /// Returns whether the open run may commit. Of a rollback that was said when it was asked for, and not by who finishes it.
    fn commits(&self) -> bool {
        let restoring = self.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
        restoring.and_then(|restoring| restoring.commits).unwrap_or(self.settings().commits)
    }

    /// Commits what was found, as it was announced. A commit that is to be bound is only prepared.
    async fn commit_changes(&mut self, found: &mut Found) -> Result<Option<Prepared>, RuntimeError> {
        if let (None, Some(changes)) = (&found.deciding, &found.changes) {
            found.deciding = self.announce(changes).await?;
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

    /// Finds out what the open run has changed: from the files, or where that was announced already, from what came of it.
    async fn find_changes(&self) -> Result<Found, RuntimeError> {
        let mut found = Found::default();
        let (Some(run), Some(workspace)) = (&self.state.decision.run, &self.settings().workspace) else {
            return Ok(found);
        };
        found.deciding = run.deciding(self.state.tree.head()).cloned();
        match &found.deciding {
            // A process that was allowed to commit may have done so before it died.
            Some(deciding) => found.commit = workspace.find_commit(deciding).await?,
            None => {
                let touched = self.touched(run);
                let changes = workspace.changes(&run.base, &touched).await?;
                found.changes = (!changes.files.is_empty()).then_some(changes);
            }
        }
        found.left = self.left(run, workspace.as_ref(), &found).await;
        Ok(found)
    }

    /// Returns the files that a run has certainly written, each as it was before.
    fn touched(&self, run: &OpenRun) -> Vec<Touched> {
        let undone = run.restoring.as_ref().and_then(|restoring| self.left_by(restoring.of));
        match undone {
            // What is taken back was written by no proposal.
            Some(left) => {
                let was = |file: &FileStates| Touched { path: file.path.clone(), before: file.after.clone() };
                left.files.iter().map(was).collect()
            }
            None => resolve::touched(&self.state.resolve, run.opened),
        }
    }

    /// Finds out how the changed files were and are. What cannot be told is no reason to leave a run without its verdict.
    async fn left(&self, run: &OpenRun, workspace: &dyn Workspace, found: &Found) -> Option<Left> {
        let (paths, tree): (Vec<String>, _) = match (&found.changes, &found.deciding) {
            (Some(changes), _) => {
                (changes.files.iter().map(|file| file.path.clone()).collect(), changes.tree.clone())
            }
            (None, Some(deciding)) => (run.paths_of(&deciding.patch_set), Some(deciding.tree.clone())),
            (None, None) => return None,
        };
        let touched = self.touched(run);
        let files = workspace.states(&run.base, tree.as_deref(), &touched, &paths).await.unwrap_or_default();
        let unknown = paths.into_iter().filter(|path| files.iter().all(|file| file.path != *path)).collect();
        Some(Left { run: run.record.id().to_string(), base: run.base.clone(), tree, files, unknown })
    }

    fn ending<'a>(&self, run: &OpenRun, how: How<'a>, found: &'a Found, head: NodeId) -> Ending<'a> {
        let prompts: Vec<NodeId> = run.prompts().collect();
        let files = found.left.as_ref().map(|left| left.files.as_slice()).unwrap_or_default();
        Ending {
            outcome: found.outcome(),
            left: found.left.as_ref(),
            cites: citing::citations(&self.state, run, files),
            approved_by: resolve::approver(&self.state.resolve, run.opened),
            answer: self.state.head_message().text(),
            how,
            head,
            considered: revert::lessons(&self.state.revert, &self.state.tree, &prompts),
            at: self.settings().now(),
            new_id,
        }
    }

    /// Records what is about to be committed; `None` where there is nothing to commit to.
    async fn announce(&mut self, changes: &Changes) -> Result<Option<Deciding>, RuntimeError> {
        let (Some(run), Some(tree)) = (&self.state.decision.run, &changes.tree) else { return Ok(None) };
        let named = self.settings().names_decisions.then(|| new_id().to_string());
        let at = self.settings().now();
        let deciding = Deciding {
            run: run.record.id().to_string(),
            patch_set: new_id().to_string(),
            base: run.base.clone(),
            tree: tree.clone(),
            message: match &run.restoring {
                Some(restoring) => commit_message(&format!("Roll back {}", restoring.of), ""),
                None => commit_message(&run.record.opening().goal, &self.answer()),
            },
            at: at.0,
            decision: named,
        };
        let records = decision::deciding(run, &deciding, changes, self.state.tree.head(), at)?;
        self.commit(records, None).await?;
        Ok(Some(deciding))
    }
}

/// Writes a commit message: the prompt's first line as the subject, the model's last words as the body.
fn commit_message(goal: &str, answer: &str) -> String {
    let (goal, answer) = (printable(goal), printable(answer));
    let subject: String = goal.lines().next().unwrap_or("").trim().chars().take(72).collect();
    let subject = if subject.is_empty() { "Changes of an agent's run".to_owned() } else { subject };
    let body: String = answer.trim().chars().take(4000).collect();
    // A line of the model's must not be taken for a trailer, which names decisions and people. Git reads none that is indented.
    let body: Vec<String> = body
        .lines()
        .map(|line| if is_trailer(line) { format!(" {line}") } else { line.to_owned() })
        .collect();
    if body.is_empty() { subject } else { format!("{subject}\n\n{}", body.join("\n")) }
}

/// Leaves out what a terminal obeys, and what turns the direction of writing.
fn printable(text: &str) -> String {
    let turns = |c| matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control() && !turns(*c)).collect()
}

/// Returns whether git could read a line as `Key: value`.
fn is_trailer(line: &str) -> bool {
    let key = line.split_once(':').map_or("", |(key, _)| key.trim_end());
    !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Returns what a letter says, fit for one line.
fn one_line(text: &str) -> String {
    text.chars().take(60).map(|c| if c.is_control() { ' ' } else { c }).collect()
}
