//! Ctrl-C, and its like: the first one ends the turn and keeps what was streamed, the second one ends the program.
//!
//! A terminal that goes away counts as one, and never as the second: closing a window sends its signal more than once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use trunkline_runtime::Cancel;

use crate::fault::Exit;
use crate::paint::{YELLOW, paint, tell};

/// Gives the signal at the first interrupt. Abort the task when there is nothing left to cancel.
pub(crate) fn watch(cancel: &Cancel) -> JoinHandle<()> {
    let cancel = cancel.clone();
    // Listened to before anything is begun, not when the task is first run.
    let signals = Signals::listen();
    tokio::spawn(async move {
        // Without signals the system ends the program at once, which loses nothing either.
        let Some(mut signals) = signals else { return };
        signals.first().await;
        cancel.cancel();
        tell(&paint(YELLOW, "\nstopping; once more leaves at once\n"));
        signals.second().await;
        // Everything acknowledged is on disk; the lock dies with the process.
        std::process::exit(Exit::Interrupted as i32);
    })
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
    /// The terminal went away; not listened to where whoever started the program has it ignored, as `nohup` does.
    hangup: Option<Signal>,
}

impl Signals {
    fn listen() -> Option<Self> {
        let interrupt = signal(SignalKind::interrupt()).ok()?;
        let terminate = signal(SignalKind::terminate()).ok()?;
        let hangup = if ignores_hangup() { None } else { signal(SignalKind::hangup()).ok() };
        Some(Signals { interrupt, terminate, hangup })
    }

    async fn first(&mut self) {
        match &mut self.hangup {
            Some(hangup) => tokio::select! {
                _ = hangup.recv() => {}
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            },
            None => self.second().await,
        }
    }

    async fn second(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Whether the program was started with SIGHUP ignored, asked once: from then on it may be listened to. Where the system does
/// not say, it is left as it is.
fn ignores_hangup() -> bool {
    static IGNORED: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *IGNORED.get_or_init(|| {
        let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return true };
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        // SIGHUP is the first signal.
        mask.is_none_or(|mask| mask & 1 == 1)
    })
}
