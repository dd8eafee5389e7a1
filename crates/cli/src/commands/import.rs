//! `trunkline import`: sessions from lines of JSON.
//!
//! Or decision objects, if the first line is one: see `objects`. The import of an export is the identity. No more memory is needed than for the largest session.

mod foreign;
mod objects;
mod whole;

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use trunkline_runtime::{RuntimeError, View, distrust};
use trunkline_session_store::{
    Header, Import, ImportError, Kept, Log, Record, Restoring, SessionInfo, StoreError, Tally,
};

use crate::args;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::term::counter::{Counted, Counter};
use crate::term::fault::{Exit, Fault};
use crate::term::limits::size;
use crate::term::out::Acts;
use crate::term::style::{YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{count, one_line};

/// What one object may have at most.
const LONGEST_OBJECT: u64 = 64 * 1024 * 1024;

/// `trunkline import`.
pub(crate) async fn run(args: &args::Import, place: &Place) -> Result<Exit, Fault> {
    let (foreign, own): (Vec<PathBuf>, Vec<PathBuf>) =
        args.files.iter().cloned().partition(|path| path.as_os_str() != "-" && foreign::is_foreign(path));
    let mut exit = Exit::Done;
    // First those of which one that cannot be read does not stop the rest.
    if own.is_empty() || !foreign.is_empty() {
        exit = foreign::run(&foreign, args, place).await?;
    }
    for file in &own {
        exit = exit.worse(of_export(file, place).await?);
    }
    Ok(exit)
}

/// Reads an export, or decision objects.
async fn of_export(file: &Path, place: &Place) -> Result<Exit, Fault> {
    let (input, length) = open(file)?;
    let mut input = BufReader::new(input);
    let first = first_line(&mut input, file)?;
    if objects::is_object(&first) {
        return objects::take_in(first, input, file, place).await;
    }
    let input = Cursor::new(first).chain(input);
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
            true => vec![distrust(now())],
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

/// Reads what says of which sort the rest is.
fn first_line(input: &mut impl BufRead, file: &Path) -> Result<Vec<u8>, Fault> {
    let mut line = Vec::new();
    // A longer one is no object: a session's first line has some hundred bytes.
    input
        .take(LONGEST_OBJECT)
        .read_until(b'\n', &mut line)
        .map_err(|error| Fault::usage(format!("cannot read {}: {error}", file.display())))?;
    Ok(line)
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
        let now = now().0;
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
