//! `trunkline export` and `trunkline import`: sessions as lines of JSON.
//!
//! The bytes go out exactly as the store's format has them; the import of an export is the identity. Only a terminal gets
//! escapes in their place. Each session goes out whole or not at all, but for one alone in a pipe, whose reader sees it
//! end. Neither needs more memory than the largest session.

mod counter;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, IsTerminal, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use trunkline_runtime::{RuntimeError, View, distrust};
use trunkline_session_store::{
    Export, ExportError, Header, Import, ImportError, Kept, Log, Record, Restoring, SessionInfo,
    SessionStore, StoreError, Tally,
};
use uuid::Uuid;

use self::counter::{Counted, Counter};
use crate::args;
use crate::desk::place::Place;
use crate::desk::{clock, store};
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::out::Acts;
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, escaped, one_line};

/// `trunkline export`.
pub(crate) async fn write(args: &args::Export, place: &Place) -> Result<Exit, Fault> {
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

/// `trunkline import`.
pub(crate) async fn read(args: &args::Import, place: &Place) -> Result<Exit, Fault> {
    let (input, length) = open(&args.file)?;
    let mut import = Import::new(BufReader::new(Counted::new(input, Counter::new("read", length))));
    // Before a database is made for it.
    let mut next = import.next_session()?;
    let store = place.open().await?;
    let mut taken = Taken::default();
    while let Some(header) = next {
        let trusting = AtomicBool::new(false);
        let mut rows = Checked::new(&header, import.rows(), &trusting);
        // Neither the previews nor the approvals nor the rules in a file were made here.
        let mut letters = || match trusting.load(Ordering::Relaxed) {
            true => vec![distrust(clock::now())],
            false => Vec::new(),
        };
        let restoring = Restoring::new(header.clone(), &mut rows).with_letters(&mut letters);
        let restored = store.restore(restoring).await;
        match (restored, rows.fault.take()) {
            (Ok(info), _) => {
                taken.is_new(&info, &rows.waiting, &rows.rules);
            }
            // A session that could not be taken up must not get in.
            (Err(_), Some(fault)) => return Err(taken.until(fault.into())),
            (Err(ImportError::Store { source }), None)
                if matches!(*source, StoreError::SessionExists { .. }) =>
            {
                let there = store.info(&header.id).await?;
                taken.was_there(&header, &there);
            }
            (Err(error), None) => return Err(taken.until(error.into())),
        }
        next = import.next_session().map_err(|error| taken.until(error.into()))?;
    }
    taken.tell();
    let exit = if taken.different > 0 { Exit::Failure } else { Exit::Done };
    taken.told.end().map(|()| exit)
}

fn open(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>), Fault> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(std::io::stdin()), None));
    }
    let cannot = |error| Fault::usage(format!("cannot read {}: {error}", path.display()));
    let file = File::open(path).map_err(cannot)?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|about| about.len());
    Ok((Box::new(file), length))
}

/// What an import has done so far.
#[derive(Default)]
struct Taken {
    sessions: usize,
    records: u64,
    bytes: u64,
    title: String,
    same: usize,
    different: usize,
    /// The names of the sessions, for programs.
    told: Acts,
}

impl Taken {
    fn is_new(&mut self, info: &SessionInfo, waiting: &[String], rules: &[String]) {
        self.sessions += 1;
        self.records = self.records.saturating_add(info.records);
        self.bytes = self.bytes.saturating_add(info.bytes);
        self.title = one_line(&info.title, 60);
        self.told.print(&format!("{}\n", info.id));
        if !waiting.is_empty() {
            let waiting = waiting.join(", ");
            tell(&format!(
                "what waited in it is void here, approved or not: {waiting}; it has to be proposed again\n"
            ));
        }
        if !rules.is_empty() {
            let rules = rules.join(", ");
            tell(&format!(
                "the rules in it are void here, because nobody gave them here: {rules}; what is still wanted has to be \
                 given again\n"
            ));
        }
    }

    /// Counts a session whose name is taken.
    fn was_there(&mut self, header: &Header, there: &SessionInfo) {
        if header.digest == Some(there.digest) && header.records == there.records {
            self.same += 1;
            return;
        }
        self.different += 1;
        let told = format!("session {} is there already with other records and is not replaced", header.id);
        tell(&format!("{} {told}\n", paint(YELLOW, "left out:")));
    }

    fn tell(&self) {
        let about = match self.sessions {
            0 => String::new(),
            1 => format!("{} records read, {:?}\n", self.records, self.title),
            several => format!(
                "{} with {} records and {} read\n",
                count(several, "session"),
                self.records,
                size(self.bytes)
            ),
        };
        tell(&about);
        if self.same > 0 {
            tell(&format!("{} there already, with the same records\n", count(self.same, "session")));
        }
        if self.different > 0 {
            tell("  another --store can take what was left out\n");
        }
    }

    /// Says of a fault in the middle what came before it.
    fn until(&self, fault: Fault) -> Fault {
        match self.sessions {
            0 => fault,
            some => fault.line(format!(
                "{} before it {} taken in",
                count(some, "session"),
                if some == 1 { "was" } else { "were" }
            )),
        }
    }
}

/// The layers of the notes by which anything is done that somebody was asked about, or need not be asked about: files are
/// written, commits are made, what was begun is brought to its end.
const TRUSTED: [&str; 2] = ["resolve", "decision"];

/// Records on their way into a store, and with the last of them the check that they can be taken up.
struct Checked<'a, I> {
    rows: I,
    header: Header,
    records: Vec<(u64, Record)>,
    waiting: Vec<String>,
    /// The rules that would count if they had been given here.
    rules: Vec<String>,
    /// Whether there is anything that somebody was trusted with: a proposal, also one that is settled and could be taken
    /// back; a rule; what the model was asked to choose; a run, which may be half committed or half rolled back.
    trusting: &'a AtomicBool,
    fault: Option<RuntimeError>,
}

impl<'a, I> Checked<'a, I> {
    fn new(header: &Header, rows: I, trusting: &'a AtomicBool) -> Self {
        Checked {
            rows,
            header: header.clone(),
            records: Vec::new(),
            waiting: Vec::new(),
            rules: Vec::new(),
            trusting,
            fault: None,
        }
    }

    fn check(&mut self) -> Result<(), RuntimeError> {
        let info = SessionInfo::new(&self.header, &Tally::new(&self.header.id, self.header.created_at));
        let of_layer = |(_, record): &(u64, Record)| {
            matches!(record, Record::Note(note) if TRUSTED.contains(&note.layer.as_str())
                // What a service wants, and where one was.
                || (note.layer == "runtime" && ["service", "window", "asked"].contains(&note.kind.as_str())))
        };
        self.trusting.store(self.records.iter().any(of_layer), Ordering::Relaxed);
        let view = View::of(&Log::new(info, std::mem::take(&mut self.records)))?;
        self.waiting = view.proposals().unsettled().map(|entry| entry.id.to_string()).collect();
        let now = clock::now().0;
        let counting = view.rules().iter().filter(|standing| standing.counts(now));
        self.rules = counting.map(|standing| standing.id.to_string()).collect();
        Ok(())
    }
}

impl<I: Iterator<Item = Result<Kept, ImportError>>> Iterator for Checked<'_, I> {
    type Item = Result<Kept, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        let kept = match self.rows.next()? {
            Ok(kept) => kept,
            Err(error) => return Some(Err(error)),
        };
        match kept.record(&self.header.id) {
            Ok(record) => self.records.push((kept.seq, record)),
            Err(error) => return Some(Err(error.into())),
        }
        // In time: a store that is given an error keeps nothing.
        if self.records.len() as u64 == self.header.records
            && let Err(fault) = self.check()
        {
            let (session, reason) = (self.header.id.clone(), fault.to_string());
            self.fault = Some(fault);
            return Some(Err(StoreError::BadRecord { session, seq: kept.seq, reason }.into()));
        }
        Some(Ok(kept))
    }
}
