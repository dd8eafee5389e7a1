//! Ctrl-C: the first one ends the turn and keeps what was streamed, the second one ends the program.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use trunkline_runtime::Cancel;

use crate::fault::Exit;
use crate::paint::{YELLOW, paint, tell};

/// Gives the signal at the first interrupt. Abort the task when there is nothing left to cancel.
pub(crate) fn watch(cancel: &Cancel) -> JoinHandle<()> {
    let cancel = cancel.clone();
    tokio::spawn(async move {
        // Without signals the system ends the program at once, which loses nothing either.
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        asked_to_stop(&mut interrupt, &mut terminate).await;
        cancel.cancel();
        tell(&paint(YELLOW, "\nstopping; once more leaves at once\n"));
        asked_to_stop(&mut interrupt, &mut terminate).await;
        // Everything acknowledged is on disk; the lock dies with the process.
        std::process::exit(Exit::Interrupted as i32);
    })
}

async fn asked_to_stop(interrupt: &mut Signal, terminate: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}
