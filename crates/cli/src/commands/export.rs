//! `trunkline export`: sessions as lines of JSON.
//!
//! The bytes go out exactly as the store's format has them, and only a terminal gets escapes in their place. Each session
//! goes out whole or not at all, but for one alone in a pipe, whose reader sees it end. No more memory is needed than for
//! the largest session.

mod to;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, IsTerminal, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use trunkline_session_store::{Export, ExportError, SessionInfo, SessionStore, StoreError};
use uuid::Uuid;

use crate::args;
use crate::desk::place::Place;
use crate::desk::store;
use crate::term::counter::{Counted, Counter};
use crate::term::fault::{Exit, Fault};
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, escaped};

/// `trunkline export`.
pub(crate) async fn run(args: &args::Export, place: &Place) -> Result<Exit, Fault> {
    if let Some(target) = args.to {
        return to::run(args, target, place).await;
    }
    let store = place.open_existing().await?;
    let sessions = match args.all {
        // Oldest first, so that the newest is also the newest of a store that takes them in.
        true => store.sessions().await?.into_iter().rev().collect(),
        false if args.sessions.is_empty() => vec![store::find(store.as_ref(), None).await?],
        false => store::find_all(store.as_ref(), &args.sessions).await?,
    };
    let mut written = Written::new(args, sessions.len());
    let export = Export::new(sessions.len() as u64);
    match &args.output {
        Some(path) => write_file(store.as_ref(), &sessions, path, export, &mut written).await?,
        None => write_stdout(store.as_ref(), &sessions, export, &mut written).await?,
    }
    if written.left_out == 0 {
        return Ok(Exit::Done);
    }
    if written.damaged {
        tell(&format!("  look at it  {}\n", place.command("doctor")));
        return Ok(Exit::Broken);
    }
    Ok(Exit::Failure)
}

async fn write_file(
    store: &dyn SessionStore,
    sessions: &[SessionInfo],
    path: &Path,
    export: Export,
    written: &mut Written,
) -> Result<(), Fault> {
    let cannot = |error: std::io::Error| Fault::new(format!("cannot write {}: {error}", path.display()));
    // A conversation may hold secrets: nobody else reads it.
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let file = file.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Fault::usage(format!("{} exists already", path.display()))
            .hint("name another file, or remove that one first"),
        _ => cannot(error),
    })?;
    let done = append_all(store, sessions, &file, export, written).await;
    let done = done.and_then(|()| file.sync_all().map_err(ExportError::Io));
    if done.is_err() || written.is_nothing() {
        // Ours alone, made a moment ago, and cut off or empty: nobody should take it for a session.
        let _ = std::fs::remove_file(path);
    }
    done.map_err(|error| unwritten(error, cannot))?;
    if !written.is_nothing() {
        tell(&format!("{written} written to {}\n", path.display()));
    }
    Ok(())
}

async fn append_all(
    store: &dyn SessionStore,
    sessions: &[SessionInfo],
    file: &File,
    mut export: Export,
    written: &mut Written,
) -> Result<(), ExportError> {
    let mut out = Counted::new(file, Counter::new("written", None));
    for info in sessions {
        let exported = append(store, info, file, &mut export, &mut out).await;
        written.take(info, exported)?;
    }
    export.finish(&mut out).map_err(ExportError::Io)
}

/// Writes a session at the end of a file. One that cannot be read to its end leaves nothing there.
async fn append(
    store: &dyn SessionStore,
    info: &SessionInfo,
    mut file: &File,
    export: &mut Export,
    out: &mut (impl Write + Send),
) -> Result<SessionInfo, ExportError> {
    let end = file.stream_position()?;
    let mut out = BufWriter::new(out);
    let exported = export.session(store, &info.id, &mut out).await;
    let exported = exported.and_then(|info| out.flush().map(|()| info).map_err(ExportError::Io));
    if exported.is_err() {
        // What is still in the buffer must not be written behind it.
        drop(out.into_parts());
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
    }
    exported
}

async fn write_stdout(
    store: &dyn SessionStore,
    sessions: &[SessionInfo],
    mut export: Export,
    written: &mut Written,
) -> Result<(), Fault> {
    if let ([one], false, false) = (sessions, written.can_leave_out, std::io::stdout().is_terminal()) {
        // If it breaks off, so does this, and says so.
        let mut out = BufWriter::new(std::io::stdout());
        let exported = export.session(store, &one.id, &mut out).await;
        let exported = exported.and_then(|info| {
            let closed = export.finish(&mut out).and_then(|()| out.flush());
            closed.map(|()| info).map_err(ExportError::Io)
        });
        return written.take(one, exported).map(drop).map_err(|error| unwritten(error, Fault::stdout));
    }
    let spooled = |error: std::io::Error| {
        let folder = std::env::temp_dir();
        Fault::new(format!("cannot use a temporary file in {}: {error}", folder.display()))
            .hint("TMPDIR names another folder, and --output a file that needs none")
    };
    let spool = spool().map_err(spooled)?;
    for info in sessions {
        let exported = append(store, info, &spool, &mut export, &mut &spool).await;
        if written.take(info, exported).map_err(|error| unwritten(error, spooled))? {
            show(&spool).map_err(Fault::stdout)?;
            spool.set_len(0).and_then(|()| (&spool).rewind()).map_err(spooled)?;
        }
    }
    match written.is_nothing() {
        true => Ok(()),
        false => export.finish(&mut std::io::stdout().lock()).map_err(Fault::stdout),
    }
}

/// Makes a file that has no name, so that it goes with this process, however that ends.
fn spool() -> std::io::Result<File> {
    let path = std::env::temp_dir().join(format!(".trunkline-{}.tmp", Uuid::new_v4()));
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Writes a file to stdout from its beginning.
fn show(mut file: &File) -> std::io::Result<()> {
    file.rewind()?;
    let mut out = std::io::stdout().lock();
    if out.is_terminal() {
        let (mut file, mut line) = (BufReader::new(file), Vec::new());
        while file.read_until(b'\n', &mut line)? > 0 {
            out.write_all(escaped(&String::from_utf8_lossy(&line)).as_bytes())?;
            line.clear();
        }
    } else {
        std::io::copy(&mut file, &mut out)?;
    }
    out.flush()
}

/// What an export has done so far.
struct Written {
    /// Whether there are others that can do without one that cannot be read.
    can_leave_out: bool,
    /// Whether somebody asked for each of them.
    named: bool,
    sessions: usize,
    records: u64,
    id: String,
    left_out: usize,
    damaged: bool,
}

impl Written {
    fn new(args: &args::Export, sessions: usize) -> Self {
        Written {
            can_leave_out: args.all || sessions > 1,
            named: !args.all,
            sessions: 0,
            records: 0,
            id: String::new(),
            left_out: 0,
            damaged: false,
        }
    }

    /// Counts a session, and returns whether it was written; what nobody can do without is an error.
    fn take(
        &mut self,
        info: &SessionInfo,
        exported: Result<SessionInfo, ExportError>,
    ) -> Result<bool, ExportError> {
        let error = match exported {
            Ok(info) => {
                self.sessions += 1;
                self.records = self.records.saturating_add(info.records);
                self.id = info.id.to_string();
                return Ok(true);
            }
            Err(error) if !self.can_leave_out => return Err(error),
            Err(error) => error,
        };
        match &error {
            // Deleted since it was listed: then it is none of all.
            ExportError::Store(StoreError::UnknownSession { .. }) if !self.named => return Ok(false),
            ExportError::Store(StoreError::UnknownSession { .. }) => {}
            error if is_damage(error) => self.damaged = true,
            _ => return Err(error),
        }
        self.left_out += 1;
        let why = match &error {
            ExportError::Store(StoreError::UnknownSession { .. }) => "it was deleted meanwhile".to_owned(),
            _ => unwritten(error, |error| Fault::new(error.to_string())).as_line(),
        };
        tell(&format!("{} session {}: {why}\n", paint(YELLOW, "left out:"), info.id));
        Ok(false)
    }

    /// Whether there is less than was asked for, and that is nothing.
    fn is_nothing(&self) -> bool {
        self.sessions == 0 && self.left_out > 0
    }
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sessions {
            1 => write!(f, "{} records of session {}", self.records, self.id),
            several => write!(f, "{} records of {}", self.records, count(several, "session")),
        }
    }
}

/// Whether one session cannot be read, and others may be.
fn is_damage(error: &ExportError) -> bool {
    match error {
        ExportError::Store(error) => matches!(
            error,
            StoreError::BadRecord { .. }
                | StoreError::BrokenChain { .. }
                | StoreError::Misfit { .. }
                | StoreError::Corrupt { .. }
        ),
        _ => false,
    }
}

fn unwritten(error: ExportError, cannot: impl FnOnce(std::io::Error) -> Fault) -> Fault {
    match error {
        ExportError::Io(error) => cannot(error),
        ExportError::Store(error) => error.into(),
        other => Fault::new(other.to_string()),
    }
}
