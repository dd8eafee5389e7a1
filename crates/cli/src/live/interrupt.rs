//! Ctrl-C, and its like: the first one ends the turn and keeps what was streamed, the second one ends the program.
//!
//! A terminal that goes away counts as one, and never as the second: closing a window sends its signal more than once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use trunkline_runtime::Cancel;

use crate::term::fault::Exit;
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;

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
    /// Ctrl-\: without us it would end the program at once, and a command that it runs would live on.
    quit: Option<Signal>,
    /// The terminal went away; not listened to where whoever started the program has it ignored, as `nohup` does.
    hangup: Option<Signal>,
}

impl Signals {
    fn listen() -> Option<Self> {
        let interrupt = signal(SignalKind::interrupt()).ok()?;
        let terminate = signal(SignalKind::terminate()).ok()?;
        let heard = |kind: SignalKind| if is_ignored(kind) { None } else { signal(kind).ok() };
        let (quit, hangup) = (heard(SignalKind::quit()), heard(SignalKind::hangup()));
        Some(Signals { interrupt, terminate, quit, hangup })
    }

    async fn first(&mut self) {
        tokio::select! {
            () = next(&mut self.hangup) => {}
            () = next(&mut self.quit) => {}
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    async fn second(&mut self) {
        tokio::select! {
            () = next(&mut self.quit) => {}
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// Waits for a signal; for ever if it is not listened to.
async fn next(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// Whether the program was started with a signal ignored, asked once: from then on it may be listened to. Where the system does
/// not say, it is left as it is.
fn is_ignored(kind: SignalKind) -> bool {
    static IGNORED: std::sync::OnceLock<Option<u64>> = std::sync::OnceLock::new();
    let mask = *IGNORED.get_or_init(|| {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(ignored.trim(), 16).ok()
    });
    // The first signal is the lowest bit.
    mask.is_none_or(|mask| mask >> (kind.as_raw_value() - 1) & 1 == 1)
}
