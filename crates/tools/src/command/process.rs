//! One command from start to end, on a thread of its own.
//!
//! The thread limits itself before it starts the command, so the command inherits the limits without any code running
//! between fork and exec. It has a session of its own, so that it has no terminal: neither can it type for the person who
//! sits there, nor does the system hang up on what is stopped in it when it ends. The dead command stays unreaped until its whole group was
//! killed: that keeps the group's number from being given to somebody else.

use std::ffi::OsString;
use std::io::{self, PipeReader, Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use process_wrap::std::{CommandWrap, CommandWrapper, ProcessSession};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};
use tokio::sync::oneshot;

use super::left_running::{self, Left};
use super::output::Captured;
use super::sandbox::Sandbox;
use super::{length, surroundings};

/// Between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// How long children that were left behind may keep the output open.
const LEFT_OPEN: Duration = Duration::from_millis(500);
/// How long is waited for the rest of the output once everything was killed.
const LAST_WORDS: Duration = Duration::from_millis(200);
/// After SIGKILL: a process that waits for a dead disk does not even end then.
const STUCK: Duration = Duration::from_secs(5);
/// How often is looked whether something happened.
const TICK: Duration = Duration::from_millis(20);

/// What is to be run.
pub(crate) struct Order {
    pub(crate) what: What,
    pub(crate) folder: PathBuf,
    pub(crate) timeout: Duration,
    pub(crate) output_limit: usize,
    pub(crate) sandbox: Sandbox,
}

/// A command.
pub(crate) enum What {
    /// A line for the shell.
    Line {
        /// The line.
        command: String,
        /// How long one may be here.
        room: usize,
    },
    /// A program and its words, without a shell.
    Words(Box<Words>),
}

/// A program and its words.
pub(crate) struct Words {
    /// Absolute.
    pub(crate) program: PathBuf,
    pub(crate) words: Vec<OsString>,
    /// What it reads; nothing if there is none.
    pub(crate) input: Option<Vec<u8>>,
    /// Variables of this process that go along beside those that every program needs.
    pub(crate) variables: Vec<String>,
    /// Where it may lay temporary files, if not where all do.
    pub(crate) temporary: Option<PathBuf>,
    /// How many characters of what it writes to stderr are kept apart; `None` if both outputs come as one.
    pub(crate) apart: Option<usize>,
    /// Asked right before it is started; an `Err` keeps it from that.
    pub(crate) still: Box<dyn Fn() -> Result<(), String> + Send>,
}

/// How it went.
pub(crate) struct Ended {
    pub(crate) how: How,
    pub(crate) elapsed: Duration,
    pub(crate) output: Captured,
    /// What it wrote to stderr, where that is kept apart.
    pub(crate) errors: Option<Captured>,
    /// What it has left running.
    pub(crate) left: Left,
}

/// What ended it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Exited(i32),
    Signalled(i32),
    TimedOut,
    Cancelled,
    Stuck,
}

/// A command that runs. Dropping it stops the command.
pub(crate) struct Running {
    stop: mpsc::Sender<()>,
    ended: oneshot::Receiver<Result<Ended, String>>,
}

impl Running {
    /// Asks the command to end; [`Running::ended`] says when it has.
    pub(crate) fn stop(&self) {
        // If nobody listens any more it has ended.
        let _ = self.stop.send(());
    }

    /// Waits for the end. Cancel safe.
    pub(crate) async fn ended(&mut self) -> Result<Ended, String> {
        (&mut self.ended).await.unwrap_or_else(|_| Err("the thread that ran the command broke".to_owned()))
    }
}

/// Starts a command.
pub(crate) fn start(order: Order) -> Result<Running, String> {
    let (stop, stopped) = mpsc::channel();
    let (tell, ended) = oneshot::channel();
    let work = move || drop(tell.send(supervise(&order, &stopped)));
    thread::Builder::new()
        .name("command".to_owned())
        .spawn(work)
        .map_err(|error| format!("no thread can be started for the command: {error}"))?;
    Ok(Running { stop, ended })
}

fn supervise(order: &Order, stopped: &mpsc::Receiver<()>) -> Result<Ended, String> {
    let started = Instant::now();
    order.sandbox.enter()?;
    let mark = left_running::mark();
    if let What::Words(words) = &order.what {
        // As late as it can be: what was digested is what is started.
        (words.still)()?;
    }
    let (mut streams, mut child) =
        spawn(order, &mark).map_err(|error| match (error.kind(), &order.what) {
            // The environment has grown since it was asked, or the system takes less than it says.
            (io::ErrorKind::ArgumentListTooLong, What::Line { command, room }) => {
                length::too_long(command.len(), *room)
            }
            _ => format!("the command cannot be started: {error}"),
        })?;
    let group = Pid::from_child(&child);

    let mut open = true;
    let mut cause = None;
    let mut asked_to_end: Option<Instant> = None;
    let mut exited: Option<Instant> = None;
    let mut killed: Option<Instant> = None;
    let mut left = None;
    let mut was_open = false;
    let mut wait = Duration::from_millis(1);
    loop {
        // Short at first: most commands are quick.
        wait = (wait * 2).min(TICK);
        if open {
            read_some(&mut streams, wait);
            open = streams.iter().any(|stream| stream.open);
        } else {
            thread::sleep(wait);
        }
        let now = Instant::now();
        let since = |moment: Option<Instant>| moment.map(|moment| now.duration_since(moment));
        if exited.is_none() && has_exited(group) {
            exited = Some(now);
        }
        // The sender is gone when the call was dropped, which means the same as a message.
        let told_to_stop = !matches!(stopped.try_recv(), Err(mpsc::TryRecvError::Empty));
        if exited.is_none()
            && cause.is_none()
            && (told_to_stop || now.duration_since(started) >= order.timeout)
        {
            cause = Some(if told_to_stop { How::Cancelled } else { How::TimedOut });
            signal(group, Signal::TERM);
            asked_to_end = Some(now);
        }
        match (since(exited), since(killed)) {
            (None, None) if since(asked_to_end).is_some_and(|waited| waited >= GRACE) => {
                signal(group, Signal::KILL);
                killed = Some(now);
            }
            (Some(waited), None) if !open || waited >= LEFT_OPEN => {
                was_open = open;
                left = Some(Left::stop(&mark, group));
                signal(group, Signal::KILL);
                killed = Some(now);
            }
            (Some(_), Some(waited)) if !open || waited >= LAST_WORDS => break,
            (None, Some(waited)) if waited >= STUCK => break,
            _ => {}
        }
    }
    let left = match exited {
        None => Left::default(),
        Some(_) => {
            // The dead command is not collected yet, so its number still is its own.
            let left = left.unwrap_or_else(|| Left::stop(&mark, group));
            left.settled(LAST_WORDS, was_open, open)
        }
    };
    let elapsed = exited.unwrap_or_else(Instant::now).duration_since(started);
    let how = match (exited, cause) {
        (None, _) => How::Stuck,
        (Some(_), Some(cause)) => cause,
        (Some(_), None) => {
            of_status(child.wait().map_err(|error| format!("the command cannot be waited for: {error}"))?)
        }
    };
    if cause.is_some() && exited.is_some() {
        // Only reaps; what it would say is no news.
        let _ = child.wait();
    }
    let mut kept = streams.into_iter().map(|stream| stream.kept);
    let output = kept.next().unwrap_or_else(|| Captured::new(order.output_limit));
    Ok(Ended { how, elapsed, output, errors: kept.next(), left })
}

/// What comes out of a command.
struct Stream {
    pipe: PipeReader,
    kept: Captured,
    open: bool,
}

fn spawn(order: &Order, mark: &str) -> io::Result<(Vec<Stream>, Child)> {
    let stream = |pipe, limit| Stream { pipe, kept: Captured::new(limit), open: true };
    let (reader, writer) = io::pipe()?;
    let mut streams = vec![stream(reader, order.output_limit)];
    let mut command = match &order.what {
        What::Line { command, .. } => {
            let mut shell = Command::new("sh");
            shell.args(length::words(command)).stdin(Stdio::null());
            surroundings::lay(&mut shell, &order.folder);
            // One pipe for both, so that lines stand in the order in which they were written.
            shell.stderr(writer.try_clone()?);
            shell
        }
        What::Words(words) => {
            let mut program = Command::new(&words.program);
            program.args(&words.words).stdin(match &words.input {
                None => Stdio::null(),
                Some(input) => given(input, words.temporary.as_deref())?,
            });
            surroundings::lay_bare(&mut program, &order.folder, &words.variables);
            if let Some(temporary) = &words.temporary {
                program.env("TMPDIR", temporary);
            }
            match words.apart {
                Some(limit) => {
                    let (reader, writer) = io::pipe()?;
                    streams.push(stream(reader, limit));
                    program.stderr(writer);
                }
                None => {
                    program.stderr(writer.try_clone()?);
                }
            }
            program
        }
    };
    command.stdout(writer).current_dir(&order.folder).env(left_running::MARK, mark);
    // Of the wrapper only what it does between fork and exec is wanted: a session is a group too, and its number the command's.
    ProcessSession.pre_spawn(&mut command, &CommandWrap::from(Command::new("")))?;
    // `command` holds the writing ends; they must be gone before the end of the output can be seen.
    let child = command.spawn()?;
    drop(command);
    Ok((streams, child))
}

/// Lays what a program is to read into a file without a name: a pipe would need somebody who writes while it runs.
fn given(input: &[u8], folder: Option<&Path>) -> io::Result<Stdio> {
    // By now this thread may write there alone.
    let mut file = folder.map_or_else(tempfile::tempfile, tempfile::tempfile_in)?;
    file.write_all(input)?;
    file.rewind()?;
    Ok(file.into())
}

/// Reads what is there, waiting at most `wait` for it.
fn read_some(streams: &mut [Stream], wait: Duration) {
    let timeout = Timespec { tv_sec: 0, tv_nsec: wait.subsec_nanos().into() };
    let mut open: Vec<&mut Stream> = streams.iter_mut().filter(|stream| stream.open).collect();
    let mut waited: Vec<PollFd<'_>> =
        open.iter().map(|stream| PollFd::new(&stream.pipe, PollFlags::IN)).collect();
    let ready: Vec<bool> = match rustix::event::poll(&mut waited, Some(&timeout)) {
        Ok(0) | Err(Errno::INTR) => return,
        Ok(_) => waited.iter().map(|one| !one.revents().is_empty()).collect(),
        Err(_) => {
            open.iter_mut().for_each(|stream| stream.open = false);
            return;
        }
    };
    for (stream, _) in open.into_iter().zip(ready).filter(|(_, ready)| *ready) {
        let mut buffer = [0_u8; 1 << 16];
        match stream.pipe.read(&mut buffer) {
            Ok(0) => stream.open = false,
            Ok(length) => stream.kept.push(buffer.get(..length).unwrap_or_default()),
            Err(error) => stream.open = error.kind() == io::ErrorKind::Interrupted,
        }
    }
}

fn has_exited(child: Pid) -> bool {
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    match rustix::process::waitid(WaitId::Pid(child), look) {
        Ok(found) => found.is_some(),
        Err(errno) => errno == Errno::CHILD,
    }
}

fn signal(group: Pid, signal: Signal) {
    // It fails only if nobody is left.
    let _ = rustix::process::kill_process_group(group, signal);
}

fn of_status(status: ExitStatus) -> How {
    match (status.code(), status.signal()) {
        (Some(code), _) => How::Exited(code),
        (None, signal) => How::Signalled(signal.unwrap_or(0)),
    }
}
