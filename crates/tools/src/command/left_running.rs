//! What a command leaves running when it ends, from what the system says of it.
//!
//! Its process group is stopped. What has made a group of its own in the same session, as a shell with job control does, is
//! found by a variable that is handed on, and stopped as well. What has a session of its own was meant to go on, such as
//! a daemon that serves other programs too; it goes on, and that is told.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The variable by which processes are known to come from a command.
pub(super) const MARK: &str = "RUN_COMMAND_ID";
/// How many are named.
const NAMED: usize = 5;

/// Returns a value for [`MARK`] that no other command has; it begins with that of a command that runs this process.
pub(super) fn mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
    let own = format!("{}.{}.{since}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    match std::env::var(MARK) {
        Ok(outer) if outer.len() < 1_000 => format!("{outer}/{own}"),
        _ => own,
    }
}

/// A process as it was seen.
struct Seen {
    process: i32,
    name: String,
    group: i32,
    session: i32,
    /// In ticks since the system's start: a number may be given again.
    started: u64,
    is_dead: bool,
}

/// What was left running.
#[derive(Default)]
pub(crate) struct Left {
    stopped: Vec<Seen>,
    own_session: Vec<Seen>,
    /// The output was held open after the command's end, and closed when its group was stopped.
    let_go: bool,
    /// The output is still held open.
    held: bool,
}

impl Left {
    /// Looks for what a command whose process has ended has left, and stops what it has not meant to go on.
    #[cfg(target_os = "linux")]
    pub(super) fn stop(mark: &str, group: rustix::process::Pid) -> Self {
        use rustix::process::Signal;

        let group = group.as_raw_nonzero().get();
        let Some(leader) = read_any(group) else { return Left::default() };
        let mut left = Left::default();
        for seen in all().filter(|seen| seen.process != group && seen.started >= leader.started) {
            if seen.group == group {
                left.stopped.push(seen);
            } else if has_mark(seen.process, mark) {
                if seen.session == leader.session { &mut left.stopped } else { &mut left.own_session }
                    .push(seen);
            }
        }
        // The group itself is stopped by whoever has asked.
        for seen in left.stopped.iter().filter(|seen| seen.group != group) {
            if let Some(process) = rustix::process::Pid::from_raw(seen.process)
                && let Ok(open) = rustix::process::pidfd_open(process, rustix::process::PidfdFlags::empty())
                && seen.is_alive()
            {
                // It fails only if it is gone, or somebody else's.
                let _ = rustix::process::pidfd_send_signal(&open, Signal::KILL);
            }
        }
        left
    }

    /// Only Linux is asked; elsewhere it is known whether the output was held open.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn stop(_mark: &str, _group: rustix::process::Pid) -> Self {
        Left::default()
    }

    /// Waits until what was to be stopped is gone; what does not go, such as another user's, was not stopped. Notes also whether
    /// the output was open when the command had ended, and whether it still is.
    pub(super) fn settled(mut self, at_most: Duration, was_open: bool, is_open: bool) -> Self {
        let pause = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while waited < at_most && self.stopped.iter().any(Seen::is_alive) {
            std::thread::sleep(pause);
            waited += pause;
        }
        let (alive, gone): (Vec<Seen>, Vec<Seen>) = self.stopped.into_iter().partition(Seen::is_alive);
        self.own_session.retain(Seen::is_alive);
        self.own_session.extend(alive);
        Left { stopped: gone, own_session: self.own_session, let_go: was_open && !is_open, held: is_open }
    }

    /// Says it, in lines for the model.
    pub(crate) fn told(&self) -> String {
        let mut told = String::new();
        if !self.stopped.is_empty() || (self.let_go && self.own_session.is_empty()) {
            let names = names(&self.stopped, |seen| seen.name.clone());
            let names = if names.is_empty() { names } else { format!(": {names}") };
            told.push_str(&format!("[what it left running in the background was stopped{names}]\n"));
        }
        if !self.own_session.is_empty() {
            let names = names(&self.own_session, |seen| format!("{} (process {})", seen.name, seen.process));
            told.push_str(&format!("[still running, on its own: {names}; `kill` ends it]\n"));
        } else if self.held {
            told.push_str("[something that it started is still running and holds its output open]\n");
        }
        told
    }
}

fn names(seen: &[Seen], name: impl Fn(&Seen) -> String) -> String {
    let mut names: Vec<String> = seen.iter().take(NAMED).map(name).collect();
    if seen.len() > NAMED {
        names.push(format!("and {} more", seen.len() - NAMED));
    }
    names.join(", ")
}

impl Seen {
    fn is_alive(&self) -> bool {
        read(self.process).is_some_and(|now| now.started == self.started)
    }
}

/// Returns what runs, as far as it may be seen.
#[cfg(target_os = "linux")]
fn all() -> impl Iterator<Item = Seen> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter_map(read)
}

/// Reads how a process stands that is alive.
fn read(process: i32) -> Option<Seen> {
    read_any(process).filter(|seen| !seen.is_dead)
}

/// Reads how a process stands, also one that is dead and only not yet collected by its parent (proc_pid_stat(5)).
fn read_any(process: i32) -> Option<Seen> {
    let line = std::fs::read(format!("/proc/{process}/stat")).ok()?;
    let line = String::from_utf8_lossy(&line);
    // The name stands in brackets and may have any in it.
    let (start, rest) = line.rsplit_once(')')?;
    let name = start.split_once('(')?.1;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let [state, _, group, session, ..] = fields.as_slice() else { return None };
    Some(Seen {
        process,
        name: crate::shown::line(name, 40),
        group: group.parse().ok()?,
        session: session.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
        is_dead: matches!(*state, "Z" | "X"),
    })
}

/// Whether a process was handed the mark.
#[cfg(target_os = "linux")]
fn has_mark(process: i32, mark: &str) -> bool {
    let wanted = format!("{MARK}={mark}");
    let Ok(environment) = std::fs::read(format!("/proc/{process}/environ")) else { return false };
    environment.split(|byte| *byte == 0).any(|variable| {
        variable.strip_prefix(wanted.as_bytes()).is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
    })
}
