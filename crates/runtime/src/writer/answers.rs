//! Does acts: asks the world what they have to know, and writes what they plan.

use crate::effects::look::base;
use crate::effects::look::look_at_files;
use crate::world::contained;
use crate::world::tool::Tool;
use crate::world::workspace::Workspace;
use crate::writer::Writer;
use std::sync::Arc;

use trunkline_resolve_queue::Fingerprint;
use trunkline_revert::Effects;
use trunkline_session_store::Digest;

use crate::writer::settings::new_id;
use trunkline_session_machine::acts::{Answer, Question, roll_back};
use trunkline_session_machine::{Kept, OwnChanges, RuntimeError, WorkspaceFault};

pub(crate) async fn answer_to(writer: &Writer, question: &Question) -> Result<Answer, RuntimeError> {
    let queue = &writer.state.resolve.queue;
    Ok(match question {
        Question::Keep(id) => match (queue.get(*id), writer.executor(*id)) {
            (Some(entry), Some(tool)) => {
                Answer::Kept(contained::keep(tool.as_ref(), entry).await.map(Arc::from))
            }
            _ => Answer::Kept(None),
        },
        Question::Observe(id) => match (queue.get(*id), writer.executor(*id)) {
            (Some(entry), Some(tool)) => {
                Answer::Observed(contained::observe(tool.as_ref(), &entry.proposal).await)
            }
            _ => Answer::Observed(None),
        },
        Question::Preimages(named) => Answer::Kept(preimages(writer, named).await?.map(Arc::from)),
        Question::PutBack(id, kept) => {
            if let (Some(entry), Some(tool)) = (queue.get(*id), writer.executor(*id)) {
                let _ = contained::put_back(tool.as_ref(), entry, &kept.0).await;
            }
            Answer::PutBack
        }
        Question::Undo(entry, kept) => match writer.executor(entry.id) {
            Some(tool) => Answer::Undo(contained::undo(tool.as_ref(), entry, &kept.0).await),
            None => Answer::Undo(None),
        },
        Question::Discarded(entries) => {
            let mut words = Vec::new();
            for entry in entries {
                words.push(match writer.executor(entry.id) {
                    Some(tool) => contained::discarded(tool.as_ref(), entry).await,
                    None => None,
                });
            }
            Answer::Words(words)
        }
        Question::Calls(calls) => {
            let asked = calls.iter().map(|call| match writer.settings().implementations.get(&call.tool) {
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
            let asked = calls.iter().map(|(tool, arguments)| match implementation(writer, tool) {
                Some(tool) => contained::effects(tool, arguments),
                None => Effects::default(),
            });
            Answer::Effects(asked.collect())
        }
        Question::Ids(count) => Answer::Ids((0..*count).map(|_| new_id()).collect()),
        Question::Start => Answer::Start(base(writer).await),
        Question::Look => Answer::Look(look_at_files(writer).await),
        Question::OwnChanges(base, touched, Some(spans)) => {
            Answer::OwnChanges(folder(writer)?.own_changes(base, touched, spans).await)
        }
        Question::OwnChanges(base, touched, None) => {
            let changes = folder(writer)?.changes(base, touched).await;
            Answer::OwnChanges(changes.map(|changes| OwnChanges { changes, ..OwnChanges::default() }))
        }
        Question::States(base, after, touched, spans, paths) => {
            let (after, spans) = (after.as_deref(), spans.as_deref());
            Answer::States(folder(writer)?.states(base, after, touched, spans, paths).await)
        }
        Question::Compare(left, kept) => {
            Answer::Compared(folder(writer)?.compare(left, &roll_back::files(kept)).await)
        }
        Question::FindCommit(deciding) => Answer::Commit(folder(writer)?.find_commit(deciding).await),
        Question::Commit(deciding) => Answer::Commit(folder(writer)?.commit(deciding).await),
        Question::WriteCommit(deciding) => Answer::Prepared(folder(writer)?.write_commit(deciding).await),
        Question::Bound(binding) => Answer::Bound(folder(writer)?.bound(binding).await),
        Question::Bind(binding) => Answer::Bind(folder(writer)?.bind(binding).await),
    })
}

/// Returns where the files are; an act asks nothing of them where it is not known.
fn folder(writer: &Writer) -> Result<&dyn Workspace, WorkspaceFault> {
    let message = "this session was opened without its folder".to_owned();
    writer.settings().workspace.as_deref().ok_or(WorkspaceFault { message })
}

fn implementation<'a>(writer: &'a Writer, name: &str) -> Option<&'a dyn Tool> {
    writer.settings().implementations.get(name).map(|one| one.tool.as_ref())
}

/// Reads bytes that the log names; `None` if not all of them can be had.
pub(crate) async fn preimages(
    writer: &Writer,
    named: &[(Fingerprint, Option<Digest>)],
) -> Result<Option<Vec<Kept>>, RuntimeError> {
    let mut kept = Vec::new();
    for (fingerprint, digest) in named {
        let bytes = match digest {
            None => None,
            Some(digest) => match writer.store.blob(writer.lease.session(), digest).await? {
                Some(bytes) => Some(bytes),
                None => return Ok(None),
            },
        };
        kept.push(Kept { fingerprint: fingerprint.clone(), bytes });
    }
    Ok(Some(kept))
}
