//! Answers what acts have to know: asks tools, the folder and the store.

use std::sync::Arc;

use trunkline_resolve_queue::{Fingerprint, ProposalId};
use trunkline_revert::Effects;
use trunkline_session_machine::acts::question::{Answer, Question};
use trunkline_session_machine::acts::roll_back;
use trunkline_session_machine::rules::executors;
use trunkline_session_machine::state::State;
use trunkline_session_machine::words::start::Start;
use trunkline_session_machine::{Base, Kept, OwnChanges, RuntimeError, WorkspaceFault};
use trunkline_session_store::{Digest, SessionId, SessionStore};

use super::settings::{Settings, new_id};
use crate::world::contained;
use trunkline_agent_traits::{Tool, Workspace};

/// Where answers come from.
pub(crate) struct Sources<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) state: &'a State,
    pub(crate) store: &'a dyn SessionStore,
    pub(crate) session: &'a SessionId,
}

/// Returns the tool that applies a proposal.
pub(crate) fn executor_of(settings: &Settings, state: &State, id: ProposalId) -> Option<Arc<dyn Tool>> {
    let proposal = &state.resolve.queue.get(id)?.proposal;
    let name = executors::executor_of(state, &settings.setup.catalogue, proposal)?;
    settings.implementations.get(name).map(|one| one.tool.clone())
}

/// Returns the answer to a question.
pub(crate) async fn answer_to(from: &Sources<'_>, question: &Question) -> Result<Answer, RuntimeError> {
    let queue = &from.state.resolve.queue;
    Ok(match question {
        Question::Keep(id) => match (queue.get(*id), executor(from, *id)) {
            (Some(entry), Some(tool)) => {
                Answer::Kept(contained::keep(tool.as_ref(), entry).await.map(Arc::from))
            }
            _ => Answer::Kept(None),
        },
        Question::Observe(id) => match (queue.get(*id), executor(from, *id)) {
            (Some(entry), Some(tool)) => Answer::Observed(contained::observe(tool.as_ref(), entry).await),
            _ => Answer::Observed(None),
        },
        Question::Preimages(named) => Answer::Kept(preimages(from, named).await?.map(Arc::from)),
        Question::PutBack(id, kept) => {
            if let (Some(entry), Some(tool)) = (queue.get(*id), executor(from, *id)) {
                let _ = contained::put_back(tool.as_ref(), entry, &kept.0).await;
            }
            Answer::PutBack
        }
        Question::Undo(entry, kept) => match executor(from, entry.id) {
            Some(tool) => Answer::Undo(contained::undo(tool.as_ref(), entry, &kept.0).await),
            None => Answer::Undo(None),
        },
        Question::Calls(calls) => {
            let asked = calls.iter().map(|call| match from.settings.implementations.get(&call.tool) {
                Some(one) => {
                    one.schema.check(&call.arguments)?;
                    match call.asks_gate {
                        true => contained::gate(one.tool.as_ref(), &call.arguments),
                        false => Ok(None),
                    }
                }
                None => Ok(None),
            });
            Answer::Calls(asked.collect())
        }
        Question::Effects(calls) => {
            let asked = calls.iter().map(|(tool, arguments)| match implementation(from, tool) {
                Some(tool) => contained::effects(tool, arguments),
                None => Effects::default(),
            });
            Answer::Effects(asked.collect())
        }
        Question::Ids(count) => Answer::Ids((0..*count).map(|_| new_id()).collect()),
        Question::Start => Answer::Start(start(from).await),
        Question::Look => Answer::Look(look(from).await),
        Question::OwnChanges(base, touched, Some(spans)) => {
            Answer::OwnChanges(folder(from)?.own_changes(base, touched, spans).await)
        }
        Question::OwnChanges(base, touched, None) => {
            let changes = folder(from)?.changes(base, touched).await;
            Answer::OwnChanges(changes.map(|changes| OwnChanges { changes, ..OwnChanges::default() }))
        }
        Question::States(base, after, touched, spans, paths) => match folder(from)?.as_restore() {
            Some(restore) => {
                let (after, spans) = (after.as_deref(), spans.as_deref());
                Answer::States(restore.states(base, after, touched, spans, paths).await)
            }
            None => Answer::States(Ok(Vec::new())),
        },
        Question::Compare(left, kept) => match folder(from)?.as_restore() {
            Some(restore) => Answer::Compared(restore.compare(left, &roll_back::files(kept)).await),
            None => Answer::Compared(Err(WorkspaceFault::cannot_restore())),
        },
        Question::KeepFiles(checkpoint) => match folder(from)?.as_checkpoints() {
            Some(checkpoints) => Answer::KeptFiles(checkpoints.keep_files(checkpoint).await),
            None => Answer::KeptFiles(Err(WorkspaceFault::cannot_keep())),
        },
        Question::FindCommit(deciding) => match folder(from)?.as_commits() {
            Some(commits) => Answer::Commit(commits.find_commit(deciding).await),
            None => Answer::Commit(Ok(None)),
        },
        Question::Commit(deciding) => match folder(from)?.as_commits() {
            Some(commits) => Answer::Commit(commits.commit(deciding).await),
            None => Answer::Commit(Err(WorkspaceFault::cannot_commit())),
        },
        Question::WriteCommit(deciding) => match folder(from)?.as_git_binding() {
            Some(git) => Answer::Prepared(git.write_commit(deciding).await),
            None => Answer::Prepared(Err(WorkspaceFault::cannot_bind())),
        },
        Question::Bound(binding) => match folder(from)?.as_git_binding() {
            Some(git) => Answer::Bound(git.bound(binding).await),
            None => Answer::Bound(Err(WorkspaceFault::cannot_bind())),
        },
        Question::Bind(binding) => match folder(from)?.as_git_binding() {
            Some(git) => Answer::Bind(git.bind(binding).await),
            None => Answer::Bind(Err(WorkspaceFault::cannot_bind())),
        },
    })
}

/// Returns where the files are; an act asks nothing of them where it is not known.
fn folder<'a>(from: &Sources<'a>) -> Result<&'a dyn Workspace, WorkspaceFault> {
    let message = "this session was opened without its folder".to_owned();
    from.settings.workspace.as_deref().ok_or(WorkspaceFault { message })
}

fn implementation<'a>(from: &Sources<'a>, name: &str) -> Option<&'a dyn Tool> {
    from.settings.implementations.get(name).map(|one| one.tool.as_ref())
}

/// Reads bytes that the log names; `None` if not all of them can be had.
async fn preimages(
    from: &Sources<'_>,
    named: &[(Fingerprint, Option<Digest>)],
) -> Result<Option<Vec<Kept>>, RuntimeError> {
    let mut kept = Vec::new();
    for (fingerprint, digest) in named {
        let bytes = match digest {
            None => None,
            Some(digest) => match from.store.blob(from.session, digest).await? {
                Some(bytes) => Some(bytes),
                None => return Ok(None),
            },
        };
        kept.push(Kept { fingerprint: fingerprint.clone(), bytes });
    }
    Ok(Some(kept))
}

fn executor(from: &Sources<'_>, id: ProposalId) -> Option<Arc<dyn Tool>> {
    executor_of(from.settings, from.state, id)
}

/// Returns how the files are now, for a run that begins.
async fn start(from: &Sources<'_>) -> Result<Start, WorkspaceFault> {
    let Some(workspace) = &from.settings.workspace else { return Ok(Start::default()) };
    Ok(match workspace.look().await? {
        Some(base) => Start { base, looks: true },
        None => Start { base: workspace.base().await?, looks: false },
    })
}

/// Returns how the files are now, or why that cannot be told.
async fn look(from: &Sources<'_>) -> Result<Base, String> {
    let Some(workspace) = &from.settings.workspace else {
        return Err("this session was opened without its folder".to_owned());
    };
    match workspace.look().await {
        Ok(Some(files)) => Ok(files),
        Ok(None) => Err("what changes between two looks cannot be told here any more".to_owned()),
        Err(fault) => Err(fault.message),
    }
}
