//! Taking back what a run has changed: a run of its own, which restores the files and decides about itself.
//!
//! A note says what is about to be restored, in the batch that opens the run and before the first byte is written. Each file
//! is compared with how it was and how it was left, so after a kill the next writer does the rest.

use std::collections::{HashMap, HashSet};

use trunkline_decision_objects::{Decision, DecisionId, LedgerError};
use trunkline_message_tree::{Message, Timestamp};

use crate::acts::asked::Asked;
use crate::acts::changes::{is_committed, left_by};
use crate::acts::plan::Plan;
use crate::acts::question::{Pause, Pieces, Question};
use crate::acts::recover::Before;
use crate::acts::view::View;
use crate::notes::decision::{RestoringLease, restoring};
use crate::notes::record::entries;
use crate::rules::{citing, closing, opening, waiting};
use crate::words::call::Kept;
use crate::words::error::RuntimeError;
use crate::words::files::{Base, Comparison, FileStates, KeptFile, Left, Touched, WorkspaceFault};

/// How many files the model is told of by name.
const TOLD_FILES: usize = 50;

/// What is left to do of an open rollback.
pub enum Rest {
    /// Its files are restored: it gets its verdict.
    Conclude,
    /// These files have to be restored.
    Restore(Left, Vec<Pieces>),
    /// It cannot be done.
    GiveUp(WorkspaceFault),
}

/// What follows from a restore that has failed.
pub enum Failed {
    /// What stands in its way may be gone the next time.
    Later,
    /// Somebody else's bytes stand in its way. What it has restored has to be undone, as these files say.
    Undo(Option<Left>),
}

/// Says what a rollback would do.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn preview(view: &View<'_>, asked: &mut Asked<'_>, of: DecisionId) -> Result<Comparison, Pause> {
    let (left, kept) = rollback_of(view, asked, of)?;
    compare(view, asked, left, kept)
}

/// Opens the run of a rollback, with what it is about to restore, and why where that is said.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn begin(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    of: DecisionId,
    reason: Option<&str>,
) -> Result<Plan, Pause> {
    let reason = match reason.map(closing::clip) {
        Some(reason) if reason.is_empty() => {
            return Err(refused("say why it is taken back, or give no reason").into());
        }
        reason => reason,
    };
    let comparison = preview(view, asked, of)?;
    if !comparison.conflicts.is_empty() {
        let conflicts = comparison.conflicts;
        return Err(RuntimeError::Conflicts { decision: of.to_string(), conflicts }.into());
    }
    if comparison.files.is_empty() {
        return Err(refused("the files are what they were before it; there is nothing to take back").into());
    }
    let (base, [id]) = (asked.start()?, asked.new_ids()?);
    let mut draft = view.state.tree.draft();
    let prompt = draft.append(Message::harness(told(&comparison, reason.as_deref())), view.at)?;
    let mut records = entries(draft);
    // A clock may have gone back; what takes a verdict back is not older than the verdict.
    let decided = view.state.decision.decisions.get(of).map(|of| of.at().milliseconds());
    let decided = decided.and_then(|decided| u64::try_from(decided).ok()).map_or(view.at, Timestamp);
    let goal = format!("roll back {of}");
    records.extend(opening::open(None, id, &goal, prompt, base, view.at.max(decided))?);
    let files = comparison.files.into_iter().map(|file| file.path).collect();
    records.push(restoring(of, Some(view.setup.files.commits), files, reason, view.at));
    Ok(Plan::of(records))
}

/// Checks that nothing has to end before a rollback.
///
/// # Errors
///
/// [`RuntimeError`]: why it cannot be done.
pub fn check_at_rest(view: &View<'_>) -> Result<(), RuntimeError> {
    let waiting = waiting::unsettled(&view.state.resolve);
    if !waiting.is_empty() {
        return Err(RuntimeError::Unsettled { proposals: waiting });
    }
    if view.state.decision.is_open() {
        return Err(refused(
            "a run is open: resume the session so that it ends, or close the run, and then roll back",
        ));
    }
    if view.state.open_turn().is_some() {
        return Err(refused("calls of the model have no results yet: resume the session first"));
    }
    Ok(())
}

/// Returns the lease of another writer that may still put files back here.
pub fn lease_of_another(view: &View<'_>, before: Before) -> Option<RestoringLease> {
    let lease = view.state.decision.run.as_ref()?.restoring.as_ref()?.lease?;
    // Between that writer and this one was nobody who could have taken the session from it while it lives.
    let gone = before.gone && lease.writer.checked_add(1) == Some(view.token);
    let over = view.at.0 >= lease.until || before.lapsed;
    (lease.writer != view.token && !gone && !over).then_some(lease)
}

/// Returns what is left to do of an open rollback, once git has answered for it. `taken_back` is which commit of it somebody has
/// taken off the branch.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn rest(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    of: DecisionId,
    taken_back: Option<&str>,
) -> Result<Rest, Pause> {
    if let Some(why) = taken_back {
        let restored = match left_by(view.state, of).filter(|_| view.setup.files.looks) {
            Some(left) => !restored(asked, &written(view, left))?.is_empty(),
            None => false,
        };
        // The files are now as they were wanted when its commit was taken off.
        return Ok(match restored {
            true => Rest::Conclude,
            false => Rest::GiveUp(WorkspaceFault { message: why.to_owned() }),
        });
    }
    // What is committed was restored by then. What was only announced somebody may have changed since.
    if is_committed(view, asked)? {
        return Ok(Rest::Conclude);
    }
    let left = left_by(view.state, of).cloned();
    let left = left.ok_or_else(|| refused("it is not recorded any more how the run left the files"))?;
    let kept = kept_of(view, asked, of)?;
    if !view.setup.files.looks {
        let message = "a rollback was cut off; open the session with its folder to bring it to its end";
        return Err(WorkspaceFault { message: message.to_owned() }.into());
    }
    Ok(Rest::Restore(left, kept))
}

/// Returns what follows from a restore that has failed.
///
/// Somebody else's bytes stay, and so does the rest: it is not known what belongs together any more. What stands in the way
/// otherwise, such as a full disk, may be gone the next time.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn failed(view: &View<'_>, asked: &mut Asked<'_>, left: &Left, kept: &[Pieces]) -> Result<Failed, Pause> {
    let found = asked.comparison(left.clone(), kept.to_vec())?;
    if found.conflicts.is_empty() && found.files.len() < left.files.len() {
        return Ok(Failed::Later);
    }
    let restored = restored(asked, &written(view, left))?;
    Ok(Failed::Undo((!restored.is_empty()).then(|| the_other_way(left, &restored))))
}

/// Returns what remains restored of what could not be undone.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn remains(view: &View<'_>, asked: &mut Asked<'_>, left: &Left) -> Result<Vec<FileStates>, Pause> {
    let mut remains = restored(asked, &written(view, left))?;
    // Of what differs in its mode only it cannot be told.
    remains.retain(|file| file.before != file.after);
    Ok(remains)
}

/// Ends a rollback that cannot be done, and returns why. `remains` are the files that it has restored all the same.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn give_up(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    fault: &WorkspaceFault,
    remains: &[FileStates],
) -> Result<Plan<(Option<Decision>, WorkspaceFault)>, Pause> {
    let Some(run) = &view.state.decision.run else {
        return Ok(Plan::nothing().then((None, fault.clone())));
    };
    let of = run.restoring.as_ref().map(|restoring| restoring.of);
    let (why, text) = match remains {
        [] => (fault.message.clone(), "The files were not taken back"),
        remains => (half_done(&fault.message, remains), "Not all of the files were taken back"),
    };
    let left = of.and_then(|of| left_by(view.state, of)).filter(|_| !remains.is_empty());
    let left = left.map(|left| Left { run: run.record.id().to_string(), ..the_other_way(left, remains) });
    let [id] = asked.new_ids()?;
    let mut draft = view.state.tree.draft();
    // Only a log that was written elsewhere has open calls in a rollback; nothing may stand before their results.
    let head = match view.state.open_turn() {
        Some(_) => draft.head(),
        None => {
            let told = Message::harness(format!("{text}: {why}"));
            draft.append(told, view.at)?
        }
    };
    let mut records = entries(draft);
    let cites = citing::citations(view.state, run, remains);
    let (decided, decision) = closing::give_up(run, &why, left.as_ref(), cites, head, id, view.at)?;
    records.extend(decided);
    Ok(Plan::of(records).then((Some(decision), WorkspaceFault { message: why })))
}

/// Returns what is needed to take a decision back.
fn rollback_of(view: &View<'_>, asked: &mut Asked<'_>, of: DecisionId) -> Result<(Left, Vec<Pieces>), Pause> {
    let decisions = &view.state.decision.decisions;
    if decisions.get(of).is_none() {
        return Err(refused(&format!("there is no decision {of} in this session")).into());
    }
    decisions.check_rollback(of).map_err(|fault| match fault {
        LedgerError::NothingToUndo { .. } if has_applied(view, of) => refused(
            "no change of its run is recorded, although edits were applied in it: what stands of them is taken back one \
             by one",
        ),
        fault => refused(&fault.to_string()),
    })?;
    let left = left_by(view.state, of).cloned().ok_or_else(|| {
        refused(
            "it is not recorded here how its run left the files: it was decided by an earlier version, or the session \
             was brought here from elsewhere",
        )
    })?;
    Ok((left, kept_of(view, asked, of)?))
}

fn has_applied(view: &View<'_>, of: DecisionId) -> bool {
    let decision = view.state.decision.decisions.get(of);
    let is_edit = |id: &str| view.state.resolve.is_edit(id);
    decision.is_some_and(|decision| decision.cites().proposals.iter().any(|id| is_edit(id.as_str())))
}

/// Returns what the session has kept of files from before the run that a decision ended, each file once.
fn kept_of(view: &View<'_>, asked: &mut Asked<'_>, of: DecisionId) -> Result<Vec<Pieces>, Pause> {
    let Some(decision) = view.state.decision.decisions.get(of) else { return Ok(Vec::new()) };
    let (mut kept, mut known) = (Vec::new(), HashSet::new());
    for name in &decision.cites().proposals {
        let Ok(id) = name.as_str().parse() else { continue };
        let Some(entry) = view.state.resolve.queue.get(id) else { continue };
        // What was before the run is what its first write has found.
        let Some(mut named) = view.state.resolve.preimages.of(entry) else { continue };
        named.retain(|(fingerprint, _)| !known.contains(&fingerprint.subject));
        if named.is_empty() {
            continue;
        }
        if let Some(pieces) = asked.preimages(named)? {
            known.extend(pieces.iter().map(|piece| piece.fingerprint.subject.clone()));
            kept.push(Pieces(pieces));
        }
    }
    Ok(kept)
}

/// Returns what is kept, as a workspace is told it.
pub fn files(kept: &[Pieces]) -> Vec<KeptFile> {
    let pieces = kept.iter().flat_map(|pieces| pieces.0.iter());
    let file =
        |piece: &Kept| KeptFile { path: piece.fingerprint.subject.clone(), bytes: piece.bytes.clone() };
    pieces.map(file).collect()
}

fn compare(
    view: &View<'_>,
    asked: &mut Asked<'_>,
    left: Left,
    kept: Vec<Pieces>,
) -> Result<Comparison, Pause> {
    match view.setup.files.looks {
        true => asked.comparison(left, kept),
        false => Err(refused("this session has no folder whose files could be restored").into()),
    }
}

/// Returns what the open rollback was to write of the files that a run has left so, as it makes them.
fn written(view: &View<'_>, left: &Left) -> Vec<FileStates> {
    let restoring = view.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
    let written: HashSet<&str> =
        restoring.iter().flat_map(|restoring| &restoring.files).map(String::as_str).collect();
    left.files.iter().filter(|file| written.contains(file.path.as_str())).map(reversed).collect()
}

/// Returns the files that are now as a rollback has made them. Asked of files as it found them, and makes them.
fn restored(asked: &mut Asked<'_>, files: &[FileStates]) -> Result<Vec<FileStates>, Pause> {
    let paths: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    let before = |file: &FileStates| Touched { path: file.path.clone(), before: file.before.clone() };
    let touched: Vec<Touched> = files.iter().map(before).collect();
    let now = asked.states(Question::States(Base::default(), None, touched, None, paths))??;
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
fn told(comparison: &Comparison, reason: Option<&str>) -> String {
    let mut told = format!(
        "A person takes back what an earlier run has changed. These files become what they were before it: {}. Read them \
         again before you rely on them.",
        named(comparison.files.iter().map(|file| file.path.as_str()))
    );
    if let Some(reason) = reason {
        told.push_str(&format!(" They say why: {reason}"));
    }
    told
}

/// Returns the error of a rollback that is not done.
pub fn refused(reason: &str) -> RuntimeError {
    RuntimeError::Refused { reason: reason.to_owned() }
}
