//! The end of a run: what it changed is computed, committed if that is wanted, and decided.
//!
//! A drive ends a run when the model has answered. A person may end it earlier: what was done until then is computed and
//! recorded in the same way, only the verdict is theirs. What was announced and not committed is computed anew: files may
//! have been changed since, or taken back.

use trunkline_decision_objects::{CheckpointState, Decision};
use trunkline_message_tree::{Author, Message, NodeId, StopReason};
use trunkline_session_store::Record;
use uuid::Uuid;

use crate::acts::asked::Asked;
use crate::acts::bind::not_committed;
use crate::acts::changes::{Found, find, find_or_say_why};
use crate::acts::plan::Plan;
use crate::acts::question::{Pause, Question};
use crate::acts::turn::{close_turn, tell_untold};
use crate::acts::view::View;
use crate::notes;
use crate::notes::binding::BindingNote;
use crate::notes::close_request::ApprovedNote;
use crate::notes::record::entries;
use crate::rules::closing::{self, Ending, How, Outcome, Stands, Unseen};
use crate::rules::commit_message::commit_message;
use crate::rules::opening::{self, Purpose};
use crate::rules::{
    branches, checkpoint, citing, close_requests, patch, rejected, spending, waiting, written,
};
use crate::state::decision::OpenRun;
use crate::words::bound::Prepared;
use crate::words::checkpoint::Checkpoint;
use crate::words::close_as::CloseAs;
use crate::words::error::RuntimeError;
use crate::words::files::{Deciding, WorkspaceFault};

/// Checks what can be told without a look at the files. `restores` tells that another process may still be putting files back.
///
/// # Errors
///
/// [`RuntimeError`]: why it cannot be done.
pub fn check(view: &View<'_>, how: &CloseAs, restores: bool) -> Result<(), RuntimeError> {
    match &view.state.decision.run {
        None => return Err(RuntimeError::NoOpenRun),
        Some(_) if restores => {
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
    if let CloseAs::Retry { .. } = how {
        spending::may_try_again(view.state)?;
    }
    let waiting = waiting::unsettled(&view.state.resolve);
    match waiting.is_empty() {
        true => Ok(()),
        false => Err(RuntimeError::Unsettled { proposals: waiting }),
    }
}

/// What came of the end of a run.
pub enum Ended {
    /// It has its verdict.
    Decided(Box<Decision>),
    /// Its end is recorded and has to be bound with this commit first.
    ToBind(Prepared),
    /// No run was open.
    Not,
}

/// What an end has beside what was found.
struct Over<'a> {
    commit: Option<&'a str>,
    /// Which commit of it somebody has taken off the branch.
    taken_back: Option<&'a str>,
    head: NodeId,
    ids: &'a [Uuid],
}

/// Ends the open run as a person. Returns the verdict, and what was found.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn close(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    how: &CloseAs,
) -> Result<Plan<(Decision, Vec<String>)>, Pause> {
    close_for(view, asked, how, None)
}

/// Likewise; `approved` is the request of a model that was approved, if that is why.
pub(crate) fn close_for(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    how: &CloseAs,
    approved: Option<&ApprovedNote>,
) -> Result<Plan<(Decision, Vec<String>)>, Pause> {
    let abandons = matches!(how, CloseAs::Abandon { .. });
    // Else nothing but leaving its prompt could end a run whose trees git has thrown away.
    let mut found = if abandons { find_or_say_why(view, asked)? } else { find(view, asked)? };
    found.unknown = found.unknown.or_else(|| without_folder(found.unseen));
    let Some(run) = &view.state.decision.run else { return Err(RuntimeError::NoOpenRun.into()) };
    // A run that began in a folder is closed there, with what it changed; given up it can be anywhere.
    if let (Some(Unseen::NoWorkspace { .. }), true, false) = (found.unseen, run.base.tree.is_some(), abandons)
        && let Some(fault) = found.unknown
    {
        return Err(RuntimeError::from(fault).into());
    }
    if let Some(commit) = &found.commit {
        return Err(stands_in(commit).into());
    }
    let ids = asked.ids(ids_of(run, &found))?;
    let mut draft = view.state.tree.draft();
    let closed_first = match approved {
        None => "not run: a person closed the run first",
        Some(_) => close_requests::CLOSED_FIRST,
    };
    close_turn(view, &mut draft, closed_first)?;
    // Told behind the verdict it would be words at the head, with which a run goes on that was given up.
    let told = tell_untold(view, &mut draft)?;
    let head = match (how, approved) {
        (CloseAs::Retry { reason }, None) => draft.append(Message::user(reason.as_str()), view.at)?,
        // Words of a model are no words of a person, approved or not.
        (CloseAs::Retry { .. }, Some(approved)) => {
            draft.append(Message::harness(close_requests::tries_again(approved)), view.at)?
        }
        _ => draft.head(),
    };
    let over = Over { commit: None, taken_back: None, head, ids };
    let mut ending = ending(view, run, How::Closed(how), &found, over);
    if let Some(approved) = approved {
        let origin = view.state.tree.node(approved.call.node)?.message().origin.as_ref();
        ending.asked_by = Some(closing::model(origin)?);
        ending.approved_by = written::actor_of(&approved.by);
    }
    ending.state = state(view, asked, run, how, head)?;
    let (records, decision) = closing::close(run, &ending)?;
    let mut batch = entries(draft);
    batch.extend(told);
    batch.extend(records);
    // A run that is tried again begins with what it is told, and where the files are now.
    if let CloseAs::Retry { reason } = how {
        let (start, [id]) = (asked.start()?, asked.new_ids()?);
        let purpose = Purpose::of(run.record.opening());
        // Where a model asked for it, what is wanted is what was wanted before.
        let (goal, prompt) = match approved {
            None => (reason.as_str(), head),
            Some(_) => (run.record.opening().goal.as_str(), citing::prompt(view.state, run)),
        };
        batch.extend(opening::open_for(purpose, Some(&decision), id, goal, prompt, start, view.at)?);
        batch.extend(view.setup.plans.then(|| notes::plan::asked(&id.to_string(), view.at)));
    }
    Ok(Plan::of(batch).then((decision, found.others)))
}

/// Returns the records that end the open run because its prompt is left. What cannot be computed keeps no one from leaving it.
pub(crate) fn leave(view: &View<'_>, asked: &mut Asked<'_>, by: Author) -> Result<Vec<Record>, Pause> {
    let Some(run) = &view.state.decision.run else { return Ok(Vec::new()) };
    let mut found = find_or_say_why(view, asked)?;
    // A kill came between the commit and its record. Only a person can be here then, and the record comes first.
    if let (Some(commit), Author::Person) = (&found.commit, by) {
        return Err(stands_in(commit).into());
    }
    found.unknown = found.unknown.or_else(|| without_folder(found.unseen));
    let ids = asked.ids(ids_of(run, &found))?;
    let over = Over { commit: found.commit.as_deref(), taken_back: None, head: view.state.tree.head(), ids };
    Ok(closing::close(run, &ending(view, run, How::Left(by), &found, over))?.0)
}

/// Finds out what the run has changed, and records what is about to be committed of it. With `commits` it is.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn announce(view: &View<'_>, asked: &mut Asked<'_>, commits: bool) -> Result<Plan<Found>, Pause> {
    let mut found = find(view, asked)?;
    let run = view.state.decision.run.as_ref().filter(|_| commits && found.deciding.is_none());
    let changed = found.changes.as_ref().and_then(|changes| Some((changes, changes.tree.as_ref()?)));
    let (Some(run), Some((changes, tree))) = (run, changed) else {
        return Ok(Plan::nothing().then(found));
    };
    let [patch_set, decision] = asked.new_ids()?;
    let moved = written::moved(&view.state.resolve, run.opened);
    let deciding = Deciding {
        run: run.record.id().to_string(),
        patch_set: patch_set.to_string(),
        base: found.base.clone().unwrap_or_else(|| run.base.clone()),
        tree: tree.clone(),
        message: match &run.restoring {
            Some(restoring) => {
                let subject = format!("Roll back {}", restoring.of);
                commit_message(&subject, restoring.reason.as_deref().unwrap_or_default())
            }
            None => commit_message(&run.record.opening().goal, &view.state.answer()),
        },
        at: view.at.0,
        decision: view.setup.files.names_decisions.then(|| decision.to_string()),
        made: found.made.clone(),
    };
    let records = patch::announce(
        run,
        &deciding,
        changes,
        (&moved, found.left.as_ref()),
        view.state.tree.head(),
        view.at,
    )?;
    found.deciding = Some(deciding);
    Ok(Plan::of(records).then(found))
}

/// Gives the open run its verdict, and commits before that what was announced. Where that is to be bound, its end is recorded
/// and waits; `failed` is the commit that could not be bound just now, and why.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn conclude(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    found: &Found,
    (commits, taken_back): (bool, Option<&str>),
    failed: Option<&(Prepared, String)>,
) -> Result<Plan<Ended>, Pause> {
    let nothing = |then| Ok(Plan::nothing().then(then));
    let Some(run) = &view.state.decision.run else { return nothing(Ended::Not) };
    let (mut commit, mut prepared) = (found.commit.clone(), None);
    if let Some(deciding) = found.deciding.as_ref().filter(|_| commits && view.setup.files.looks) {
        if view.setup.files.binds && commit.is_none() {
            prepared = asked.prepared(deciding)?;
            commit = prepared.as_ref().map(|prepared| prepared.commit.clone());
        } else {
            // After a kill this looks for what the note names before it makes anything.
            commit = asked.commit(Question::Commit(deciding.clone()))?;
        }
    }
    let message = view.state.head_message();
    let how = match &run.restoring {
        Some(restoring) => How::RolledBack(restoring.of),
        None => {
            How::Ended { origin: message.origin.as_ref(), refused: message.stop == Some(StopReason::Refusal) }
        }
    };
    let head = view.state.tree.head();
    let ids = asked.ids(ids_of(run, found))?;
    let taken_back = taken_back.filter(|_| commit.is_none());
    let over = Over { commit: commit.as_deref(), taken_back, head, ids };
    let (records, decision) = closing::close(run, &ending(view, run, how, found, over))?;
    let Some(prepared) = prepared else {
        return Ok(Plan::of(records).then(Ended::Decided(Box::new(decision))));
    };
    // Where somebody else has committed, something else is prepared. What is the same fails in the same way.
    if let Some((_, why)) = failed.filter(|(last, _)| *last == prepared) {
        return Err(not_committed(view, why).into());
    }
    // What is the same but for its ids and its time is recorded already. Else each try would leave a note.
    let newest = run.bindings.last();
    let records = match newest.is_none_or(|note| !note.is_of(head, &prepared, &decision)) {
        true => vec![BindingNote::new(head, prepared.clone(), records)?.record(view.at)],
        false => Vec::new(),
    };
    Ok(Plan::of(records).then(Ended::ToBind(prepared)))
}

/// How many names the end of a run needs: of its decision, of each piece of evidence, and of its patch set if it has one that was
/// not announced.
fn ids_of(run: &OpenRun, found: &Found) -> usize {
    1 + run.proofs().count() + usize::from(found.deciding.is_none() && found.changes.is_some())
}

fn ending<'a>(view: &View<'_>, run: &OpenRun, how: How<'a>, found: &'a Found, over: Over<'a>) -> Ending<'a> {
    let prompts: Vec<NodeId> = run.prompts().collect();
    let files = found.left.as_ref().map(|left| left.files.as_slice()).unwrap_or_default();
    let Over { commit, taken_back, head, ids } = over;
    Ending {
        outcome: match (&found.deciding, commit, &found.changes) {
            (Some(deciding), Some(commit), _) => Outcome::Committed(deciding, commit),
            (Some(deciding), None, _) => Outcome::Announced(deciding),
            (None, _, Some(changes)) => Outcome::Changed(changes),
            _ => Outcome::Unchanged,
        },
        // Where the changes stand committed although that was not done for the run.
        stands: found.holder.as_deref().map(|commit| Stands {
            commit,
            by_the_run: found.made.iter().flatten().any(|made| made == commit),
        }),
        gone: found.gone,
        unseen: found.unseen,
        unknown: found.unknown.as_ref(),
        left: found.left.as_ref(),
        moved: written::moved(&view.state.resolve, run.opened),
        cites: citing::citations(view.state, run, files),
        approved_by: written::approver(&view.state.resolve, run.opened),
        taken_back,
        answer: view.state.head_message().text(),
        how,
        asked_by: None,
        head,
        considered: branches::lessons(&view.state.revert, &view.state.tree, &prompts),
        rejected: rejected::rejected(&view.state.resolve, run.opened),
        at: view.at,
        ids,
        state: None,
    }
}

/// Keeps the files of a checkpoint, last of all that is asked, and returns the state that it names. The ref comes before the
/// record, so that no record names what is not there; who is cut off in between writes the same ref again.
fn state(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    run: &OpenRun,
    how: &CloseAs,
    head: NodeId,
) -> Result<Option<CheckpointState>, Pause> {
    let CloseAs::Checkpoint { words } = how else { return Ok(None) };
    let kept = match view.setup.files.looks {
        true => {
            // Not the time of this call: a question that changed with each would be asked for ever.
            let (run, node) = (run.record.id().to_string(), head.to_string());
            let asked = asked.kept_files(Checkpoint { run, node, words: words.clone(), at: view.began.0 })?;
            asked.map_err(|fault| fault.message)
        }
        false => Err("the session was opened without its folder".to_owned()),
    };
    Ok(checkpoint::state(head, kept))
}

/// Returns that the files could not be looked at, if a run may have changed some.
fn without_folder(unseen: Option<Unseen>) -> Option<WorkspaceFault> {
    let message = "the session was opened without its folder".to_owned();
    matches!(unseen, Some(Unseen::NoWorkspace { .. })).then_some(WorkspaceFault { message })
}

fn stands_in(commit: &str) -> RuntimeError {
    let reason =
        format!("the run's changes stand in the commit {commit} already; resume the session to record that");
    RuntimeError::Refused { reason }
}
