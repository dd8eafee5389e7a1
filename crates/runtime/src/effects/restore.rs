//! Putting files back under a lease: who takes the session over meanwhile does nothing about it before that is over.
//!
//! Without it two processes restore the same files, one finds them changed by the other and puts back what it has done, and
//! the other has recorded them as restored.

use crate::writer::Writer;
use crate::writer::waiting::taken_over;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use trunkline_agent_traits::{Permit, Restore};

use trunkline_message_tree::Timestamp;

use crate::writer::renewal::{RENEWAL_TIME, TICK};
use trunkline_session_machine::notes::decision::{self, RestoringLease};
use trunkline_session_machine::{APPLY_LEASE, KeptFile, LEASE_MS, Left, RuntimeError, WorkspaceFault};

/// How often restoring is begun anew because its time was over before anybody took the session over, as after the process
/// was stopped for a while.
const TRIES: usize = 3;

/// Makes files what they were, as the one who may. Stops if the session is taken over, or this process cannot say in time
/// that it goes on; then nothing more is written here, also by threads that still run.
pub(crate) async fn restore(
    writer: &mut Writer,
    files: &dyn Restore,
    left: &Left,
    kept: &[KeptFile],
) -> Result<Result<(), WorkspaceFault>, RuntimeError> {
    let mut tries = 1;
    loop {
        let term = Term(Arc::new(Mutex::new(lease_rollback(writer).await?)));
        let (asked, clock) = (term.clone(), writer.settings().clock.clone());
        let permit = Permit::new(move || asked.lasts(clock()));
        let (restored, stood) = restore_while(writer, files, left, kept, &permit, &term).await?;
        if restored.is_ok() || stood || tries == TRIES {
            return Ok(restored);
        }
        tries += 1;
    }
}

/// Restores as long as the permit stands, and renews it. Returns also whether it stood until the end.
async fn restore_while(
    writer: &mut Writer,
    files: &dyn Restore,
    left: &Left,
    kept: &[KeptFile],
    permit: &Permit,
    term: &Term,
) -> Result<(Result<(), WorkspaceFault>, bool), RuntimeError> {
    // Whoever waits here may be dropped; the threads of the files are not.
    let _forsaken = Forsaken(permit);
    let mut taken_over = pin!(taken_over(writer));
    let mut restored = pin!(files.restore(left, kept, permit));
    let (mut behind, mut lost) = (false, None);
    let restored = loop {
        tokio::select! {
            biased;
            by = &mut taken_over, if lost.is_none() => lost = Some(writer.lost(by)),
            restored = &mut restored => break restored,
            () = tokio::time::sleep(TICK), if lost.is_none() => {
                let renewed = tokio::time::timeout(RENEWAL_TIME, renew_rollback(writer, term)).await;
                behind |= !matches!(renewed, Ok(Ok(())));
                if let Ok(Err(fault @ RuntimeError::TakenOver { .. })) = renewed {
                    lost = Some(fault);
                }
            }
        }
        if lost.is_some() {
            permit.revoke();
        }
    };
    // Whoever has the session now does the rest.
    lost.map_or(Ok(()), Err)?;
    let stood = permit.stands();
    if behind || restored.is_err() {
        writer.follow().await?;
    }
    Ok((restored, stood))
}

/// Gives a rollback more time, once a third of what it had is over.
async fn renew_rollback(writer: &mut Writer, term: &Term) -> Result<(), RuntimeError> {
    let lease = writer.state.decision.run.as_ref().and_then(|run| run.restoring.as_ref()?.lease);
    let left = lease.map_or(0, |lease| lease.until.saturating_sub(writer.settings().now().0));
    if left > LEASE_MS / 3 * 2 {
        return Ok(());
    }
    // After a write that failed nobody knows what was kept, and the next one has to know.
    writer.follow().await?;
    let renewed = lease_rollback(writer).await?;
    *term.0.lock().unwrap_or_else(PoisonError::into_inner) = renewed;
    Ok(())
}

/// Records that this one puts files back from now on. Returns until when, and from when that counts.
async fn lease_rollback(writer: &mut Writer) -> Result<(Timestamp, Instant), RuntimeError> {
    // Before it is recorded: nobody waits longer than from then on.
    let (from, at) = (Instant::now(), writer.settings().now());
    let lease = RestoringLease { writer: writer.lease.token(), until: at.0.saturating_add(LEASE_MS) };
    writer.commit(vec![decision::leased(lease, at)], None).await?;
    Ok((Timestamp(lease.until), from))
}

/// Until when, and from when on for the time of a lease, files may be written. Both clocks have to say so: one stands still
/// while the machine sleeps, and the other can be set.
#[derive(Clone)]
struct Term(Arc<Mutex<(Timestamp, Instant)>>);

impl Term {
    fn lasts(&self, now: Timestamp) -> bool {
        let (until, from) = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        now < until && from.elapsed() < APPLY_LEASE
    }
}

/// Takes a permit back when it is dropped.
struct Forsaken<'p>(&'p Permit);

impl Drop for Forsaken<'_> {
    fn drop(&mut self) {
        self.0.revoke();
    }
}
