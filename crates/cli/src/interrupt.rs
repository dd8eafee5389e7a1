//! Ctrl-C: the first one ends the turn and keeps what was streamed, the second one ends the program.

use tokio::task::JoinHandle;
use trunkline_runtime::Cancel;

use crate::fault::Exit;
use crate::paint::{YELLOW, paint, tell};

/// Gives the signal at the first interrupt. Abort the task when there is nothing left to cancel.
pub(crate) fn watch(cancel: &Cancel) -> JoinHandle<()> {
    let cancel = cancel.clone();
    tokio::spawn(async move {
        if !asked_to_stop().await {
            return;
        }
        cancel.cancel();
        tell(&paint(YELLOW, "\nstopping; once more leaves at once\n"));
        if asked_to_stop().await {
            // Everything acknowledged is on disk; the lock dies with the process.
            std::process::exit(Exit::Interrupted as i32);
        }
    })
}

/// Waits for an interrupt; `false` if this system cannot tell of one.
async fn asked_to_stop() -> bool {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return tokio::signal::ctrl_c().await.is_ok() };
        tokio::select! {
            given = tokio::signal::ctrl_c() => given.is_ok(),
            given = terminate.recv() => given.is_some(),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await.is_ok()
}
