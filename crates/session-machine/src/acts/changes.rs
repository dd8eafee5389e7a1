//! What the open run has changed itself, of all that is different in the folder (record 0022).

use std::collections::HashSet;

use trunkline_decision_objects::DecisionId;

use crate::acts::asked::Asked;
use crate::acts::question::{Pause, Question};
use crate::acts::view::View;
use crate::rules::closing::Unseen;
use crate::rules::{calls, written};
use crate::state::State;
use crate::state::decision::OpenRun;
use crate::words::error::RuntimeError;
use crate::words::files::{
    Base, Changes, Deciding, FileStates, Left, OwnChanges, Span, Touched, WorkspaceFault,
};

/// What became of the files until the end of a run.
#[derive(Default)]
pub struct Found {
    pub(crate) deciding: Option<Deciding>,
    pub(crate) commit: Option<String>,
    /// What the run itself has changed; `None` if nothing.
    pub changes: Option<Changes>,
    /// What the changes are counted from, if that is not how the files were when the run began.
    pub(crate) base: Option<Base>,
    /// For which files; `None` if that is not known any more.
    rebased: Option<HashSet<String>>,
    /// Files that somebody else has committed to after the run itself had.
    mixed: HashSet<String>,
    /// Whether the run has changed something, and nothing of it is left.
    pub(crate) gone: bool,
    /// Whether it may have changed files without being seen.
    pub(crate) unseen: Option<Unseen>,
    /// How the changed files were and are.
    pub(crate) left: Option<Left>,
    /// The files that somebody else has changed.
    pub others: Vec<String>,
    /// The commits that the run has made itself; `None` if that is not known.
    pub(crate) made: Option<Vec<String>>,
    /// The commit that has the changes already.
    pub(crate) holder: Option<String>,
    /// Why nothing of this is known.
    pub(crate) unknown: Option<WorkspaceFault>,
}

/// Finds out what the open run has changed: from the files, or where that was committed already, from its announcement.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn find(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Found, Pause> {
    let mut found = Found::default();
    let Some(run) = &view.state.decision.run else { return Ok(found) };
    if !view.setup.files.looks {
        let applied = !touched(view, run).is_empty();
        let unseen = applied || may_have_changed(view, run);
        found.unseen = unseen.then_some(Unseen::NoWorkspace { applied });
        return Ok(found);
    }
    found.deciding = run.deciding(view.state.tree.head()).cloned();
    if let Some(deciding) = &found.deciding {
        // A process that was allowed to commit may have done so before it died.
        found.commit = asked.commit(Question::FindCommit(deciding.clone()))?;
    }
    if found.commit.is_none() {
        let own = own_changes(view, asked, run)??;
        let is_announced = |deciding: &Deciding| !own.changes.files.is_empty() && is_of(own, run, deciding);
        found.deciding = found.deciding.filter(is_announced);
        found.base = own.before.clone().map(|tree| Base { tree: Some(tree), ..run.base.clone() });
        let OwnChanges { changes, rebased, mixed, others, made, holder, .. } = own.clone();
        found.rebased = Some(rebased.into_iter().collect());
        found.mixed = mixed.into_iter().collect();
        (found.others, found.made, found.holder) = (others, made, holder);
        found.gone = changes.files.is_empty() && has_written(view, run);
        let unseen = changes.tree.is_none() && may_have_changed(view, run);
        found.unseen = unseen.then_some(Unseen::NoVersionControl);
        found.changes = (!changes.files.is_empty()).then_some(changes);
    } else if let Some(deciding) = &found.deciding {
        found.base = Some(deciding.base.clone());
    }
    found.left = left(view, asked, run, &found)?;
    Ok(found)
}

/// Likewise; where the files cannot be read, that is what is found.
pub(crate) fn find_or_say_why(view: &View<'_>, asked: &mut Asked<'_>) -> Result<Found, Pause> {
    match find(view, asked) {
        Err(Pause::Refused(RuntimeError::Workspace(fault))) => {
            Ok(Found { unknown: Some(fault), ..Found::default() })
        }
        found => found,
    }
}

/// Returns whether what is about to be bound is what the run has changed. Where that cannot be computed it is not begun.
///
/// # Errors
///
/// [`Pause`]: what it has to know first, or why it cannot be done.
pub fn still_stands(view: &View<'_>, asked: &mut Asked<'_>) -> Result<bool, Pause> {
    let Some(run) = view.state.decision.run.as_ref().filter(|_| view.setup.files.looks) else {
        return Ok(true);
    };
    let head = view.state.tree.head();
    let Some(note) = run.bindings.last().filter(|note| note.head == head) else { return Ok(true) };
    let bound = note.decision().ok().and_then(|decision| decision.verdict().patch_set());
    let is_meant = |deciding: &&Deciding| bound.is_some_and(|set| set.to_string() == deciding.patch_set);
    let Some(deciding) = run.deciding(head).filter(is_meant) else { return Ok(false) };
    Ok(own_changes(view, asked, run)?.is_ok_and(|own| is_of(own, run, deciding)))
}

/// Returns whether what was announced stands in a commit.
pub(crate) fn is_committed(view: &View<'_>, asked: &mut Asked<'_>) -> Result<bool, Pause> {
    let run = view.state.decision.run.as_ref().filter(|_| view.setup.files.looks);
    match run.and_then(|run| run.deciding(view.state.tree.head())) {
        Some(deciding) => Ok(asked.commit(Question::FindCommit(deciding.clone()))?.is_some()),
        None => Ok(false),
    }
}

/// Returns what a run has changed, without what somebody else has. Of a run of which it is not known when it could write,
/// everything counts that is different.
fn own_changes<'a>(
    view: &View<'_>,
    asked: &mut Asked<'a>,
    run: &OpenRun,
) -> Result<Result<&'a OwnChanges, WorkspaceFault>, Pause> {
    let spans = known_spans(view, run).map(<[Span]>::to_vec);
    asked.own_changes(Question::OwnChanges(run.base.clone(), touched(view, run), spans))
}

/// Finds out how the changed files were and are. What cannot be told is no reason to leave a run without its verdict.
fn left(view: &View<'_>, asked: &mut Asked<'_>, run: &OpenRun, found: &Found) -> Result<Option<Left>, Pause> {
    let (paths, tree): (Vec<String>, _) = match (&found.changes, &found.deciding) {
        (Some(changes), _) => {
            (changes.files.iter().map(|file| file.path.clone()).collect(), changes.tree.clone())
        }
        (None, Some(deciding)) => (run.announced_paths(deciding), Some(deciding.tree.clone())),
        (None, None) => return Ok(None),
    };
    let base = found.base.clone().unwrap_or_else(|| run.base.clone());
    let moved = base.tree != run.base.tree;
    let is_theirs = |path: &str| moved && found.rebased.as_ref().is_none_or(|rebased| rebased.contains(path));
    let (theirs, paths): (Vec<String>, Vec<String>) = paths.into_iter().partition(|path| is_theirs(path));
    let mut touched = touched(view, run);
    touched.retain(|touch| !is_theirs(&touch.path));
    let spans = known_spans(view, run).map(<[Span]>::to_vec);
    let mut states = |touched, spans, paths: &Vec<String>| {
        asked.states(Question::States(base.clone(), tree.clone(), touched, spans, paths.clone()))
    };
    let mut files = states(touched, spans, &paths)?.unwrap_or_default();
    if !theirs.is_empty() {
        // What the run found of these does not matter any more.
        files.extend(states(Vec::new(), None, &theirs)?.unwrap_or_default());
    }
    let dropped = written::dropped(&view.state.resolve, run.opened);
    files.retain(|file| !found.mixed.contains(&file.path) && !dropped.contains(&file.path));
    let known: HashSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let unknown = paths.into_iter().chain(theirs).filter(|path| !known.contains(path.as_str())).collect();
    Ok(Some(Left { run: run.record.id().to_string(), base, tree, files, unknown }))
}

/// Returns whether a run has certainly changed files, whatever became of them.
fn has_written(view: &View<'_>, run: &OpenRun) -> bool {
    let spans = run.looks.spans().unwrap_or_default();
    let changed = |span: &Span| span.to.as_ref().is_some_and(|to| to.tree != span.from.tree);
    run.restoring.is_none() && (!touched(view, run).is_empty() || spans.iter().any(changed))
}

/// Returns whether a run may have changed files that no proposal names.
fn may_have_changed(view: &View<'_>, run: &OpenRun) -> bool {
    run.restoring.is_none()
        && (run.started.iter().any(|tool| calls::may_change(view.setup, tool))
            || !written::names_what_it_wrote(&view.state.resolve, run.opened))
}

/// Returns when a run could change files that no proposal names; `None` if that is not known.
fn known_spans<'a>(view: &View<'_>, run: &'a OpenRun) -> Option<&'a [Span]> {
    let spans = match run.restoring {
        // It writes what it takes back, and nothing else.
        Some(_) => Some([].as_slice()),
        None => run.looks.spans(),
    };
    spans.filter(|_| written::names_what_it_wrote(&view.state.resolve, run.opened))
}

/// Returns the files that a run has written by itself, or perhaps has, each as it was before.
fn touched(view: &View<'_>, run: &OpenRun) -> Vec<Touched> {
    let restoring = run.restoring.as_ref();
    let undone = restoring.and_then(|restoring| Some((restoring, left_by(view.state, restoring.of)?)));
    match undone {
        // What is taken back was written by no proposal.
        Some((restoring, left)) => {
            let written: HashSet<&str> = restoring.files.iter().map(String::as_str).collect();
            // What was as before already is not taken back. Older notes do not say what was.
            let writes = |file: &&FileStates| written.is_empty() || written.contains(file.path.as_str());
            let was = |file: &FileStates| Touched { path: file.path.clone(), before: file.after.clone() };
            left.files.iter().filter(writes).map(was).collect()
        }
        None => written::touched(&view.state.resolve, run.opened),
    }
}

/// Returns how the run that a decision ended has left its files.
pub(crate) fn left_by(state: &State, of: DecisionId) -> Option<&Left> {
    let run = state.decision.decisions.get(of)?.run();
    state.decision.left.get(&run.to_string())
}

/// Returns whether what was announced is what the run has changed.
fn is_of(own: &OwnChanges, run: &OpenRun, deciding: &Deciding) -> bool {
    let before = own.before.as_ref().or(run.base.tree.as_ref());
    own.changes.tree.as_ref() == Some(&deciding.tree) && deciding.base.tree.as_ref() == before
}
