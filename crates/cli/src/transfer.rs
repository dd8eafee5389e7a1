//! `trunkline export` and `trunkline import`: sessions as lines of JSON.
//!
//! The bytes go out exactly as the store's format has them, also to a terminal's pipe; the import of an export is the
//! identity. Neither needs more memory than the largest session.

use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use trunkline_runtime::letters::{Request, post};
use trunkline_runtime::{RuntimeError, View};
use trunkline_session_store::{
    ExportError, Header, Import, ImportError, Kept, Log, Record, Restoring, SessionInfo, SessionStore,
    StoreError, Tally, export,
};

use crate::args;
use crate::counter::{Counted, Counter};
use crate::fault::{Exit, Fault};
use crate::limits::size;
use crate::paint::{self, YELLOW, paint, tell};
use crate::place::Place;
use crate::store;
use crate::text::{count, one_line};

/// `trunkline export`.
pub(crate) async fn write(args: &args::Export, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let sessions = match args.all {
        // Oldest first, so that the newest is also the newest of a store that takes them in.
        true => store.sessions().await?.into_iter().rev().collect(),
        false if args.sessions.is_empty() => vec![store::find(store.as_ref(), None).await?],
        false => store::find_all(store.as_ref(), &args.sessions).await?,
    };
    let Some(path) = &args.output else {
        let mut out = BufWriter::new(std::io::stdout());
        write_all(store.as_ref(), &sessions, &mut out)
            .await
            .map_err(|error| unwritten(error, Fault::stdout))?;
        return Ok(Exit::Done);
    };
    let cannot = |error: std::io::Error| Fault::new(format!("cannot write {}: {error}", path.display()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    // A conversation may hold secrets: nobody else reads it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Fault::usage(format!("{} exists already", path.display()))
            .hint("name another file, or remove that one first"),
        _ => cannot(error),
    })?;
    let mut out = Counted::new(BufWriter::new(&file), Counter::new("written", None));
    let written = write_all(store.as_ref(), &sessions, &mut out).await;
    let written = written.and_then(|written| file.sync_all().map(|()| written).map_err(ExportError::Io));
    let written = written.map_err(|error| {
        // Ours alone, made a moment ago, and cut off: nobody should take it for a session.
        let _ = std::fs::remove_file(path);
        unwritten(error, cannot)
    })?;
    let records = written.iter().fold(0_u64, |sum, info| sum.saturating_add(info.records));
    let of = match written.as_slice() {
        [one] => format!("session {}", one.id),
        several => count(several.len(), "session"),
    };
    tell(&format!("{records} records of {of} written to {}\n", path.display()));
    Ok(Exit::Done)
}

async fn write_all(
    store: &dyn SessionStore,
    sessions: &[SessionInfo],
    out: &mut (impl Write + Send),
) -> Result<Vec<SessionInfo>, ExportError> {
    let mut written = Vec::new();
    for info in sessions {
        match export(store, &info.id, out).await {
            // Deleted since it was listed; nothing of it is written yet.
            Err(ExportError::Store(StoreError::UnknownSession { .. })) if sessions.len() > 1 => {}
            exported => written.push(exported?),
        }
    }
    out.flush()?;
    Ok(written)
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
        let mut rows = Checked::new(&header, import.rows());
        let restored = store.restore(Restoring::new(header.clone(), &mut rows)).await;
        match (restored, rows.fault.take()) {
            (Ok(info), _) => {
                if !rows.waiting.is_empty() {
                    // Neither the previews nor the approvals in a file were made here.
                    post(store.as_ref(), &info.id, &Request::Distrust, store::now()).await?;
                }
                taken.is_new(&info, &rows.waiting)?;
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
    Ok(if taken.different > 0 { Exit::Failure } else { Exit::Done })
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
}

impl Taken {
    fn is_new(&mut self, info: &SessionInfo, waiting: &[String]) -> Result<(), Fault> {
        self.sessions += 1;
        self.records = self.records.saturating_add(info.records);
        self.bytes = self.bytes.saturating_add(info.bytes);
        self.title = one_line(&info.title, 60);
        paint::print(&format!("{}\n", info.id))?;
        if !waiting.is_empty() {
            let waiting = waiting.join(", ");
            tell(&format!(
                "what waited in it is void here, approved or not: {waiting}; it has to be proposed again\n"
            ));
        }
        Ok(())
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

/// Records on their way into a store, and with the last of them the check that they can be taken up.
struct Checked<I> {
    rows: I,
    header: Header,
    records: Vec<(u64, Record)>,
    waiting: Vec<String>,
    fault: Option<RuntimeError>,
}

impl<I> Checked<I> {
    fn new(header: &Header, rows: I) -> Self {
        Checked { rows, header: header.clone(), records: Vec::new(), waiting: Vec::new(), fault: None }
    }

    fn check(&mut self) -> Result<(), RuntimeError> {
        let info = SessionInfo::new(&self.header, &Tally::new(&self.header.id, self.header.created_at));
        let view = View::of(&Log::new(info, std::mem::take(&mut self.records)))?;
        self.waiting = view.proposals().unsettled().map(|entry| entry.id.to_string()).collect();
        Ok(())
    }
}

impl<I: Iterator<Item = Result<Kept, ImportError>>> Iterator for Checked<I> {
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
