//! When a run ends: by its answer, by a person, by a letter. What is recorded of it is planned in [`acts`](trunkline_session_machine::acts::close).

use crate::effects::bind::bind_decided;
use crate::effects::bind::settle_binding;
use crate::effects::bind::tell_staged;
use crate::writer::Writer;
use trunkline_session_machine::Stop;

use trunkline_session_machine::acts::bind::{Settled, not_committed};
use trunkline_session_machine::acts::changes;
use trunkline_session_machine::acts::close::{self, Ended};
use trunkline_session_machine::{Event, Prepared, RuntimeError};

/// How often a commit is prepared anew because somebody has moved the branch meanwhile.
const TRIES: u32 = 5;

/// Gives the open run its verdict: computes what changed, commits it if that is wanted, and records the decision.
pub(crate) async fn conclude(writer: &mut Writer) -> Result<Stop, RuntimeError> {
    if writer.state.decision.run.is_none() {
        return Ok(Stop::Idle);
    }
    let commits = commits(writer);
    // What an earlier process has prepared is what is committed, unless the branch or the files were changed since.
    let again =
        writer.settings().setup.files.binds && commits && writer.find_out(changes::still_stands).await?;
    let mut taken_back = match settle_binding(writer, again).await? {
        Settled::Decided(decision) => return Ok(Stop::Decided(decision)),
        Settled::TakenBack(why) => Some(why),
        Settled::Open(_) => None,
    };
    let mut failed: Option<(Prepared, String)> = None;
    for _ in 0..TRIES {
        let commits = commits && taken_back.is_none();
        let found = writer.perform(|view, asked| close::announce(view, asked, commits)).await?;
        let why = taken_back.as_deref();
        let ended = writer
            .perform(|view, asked| close::conclude(view, asked, &found, (commits, why), failed.as_ref()));
        let (decision, bound) = match ended.await? {
            Ended::Not => return Ok(Stop::Idle),
            Ended::Decided(decision) => (decision, false),
            Ended::ToBind(prepared) => match settle_binding(writer, true).await? {
                Settled::Decided(decision) => (decision, true),
                Settled::TakenBack(why) => {
                    taken_back = Some(why);
                    continue;
                }
                Settled::Open(why) => {
                    failed = Some((prepared, why.unwrap_or_default()));
                    continue;
                }
            },
        };
        tell_others(writer, found.others);
        if !bound {
            tell_staged(writer, &decision).await;
            bind_decided(writer).await?;
        }
        return Ok(Stop::Decided(decision));
    }
    let why = failed.map(|(_, why)| why).unwrap_or_default();
    let why = format!("somebody else keeps moving the branch: {why}");
    Err(not_committed(&writer.view(), &why))
}

/// Returns whether the open run may commit. Of a rollback that was said when it was asked for, and not by who finishes it.
fn commits(writer: &Writer) -> bool {
    let restoring = writer.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref());
    restoring.and_then(|restoring| restoring.commits).unwrap_or(writer.settings().commits)
}

/// Tells which files were left alone because somebody else has changed them.
pub(crate) fn tell_others(writer: &Writer, files: Vec<String>) {
    if !files.is_empty() {
        writer.tell(&Event::LeftAlone { files });
    }
}
