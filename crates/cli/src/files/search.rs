//! Finds the files that may be sessions or message lists, and reads them.
//!
//! A folder is walked without following links, so a walk ends and stays inside. Only regular files are opened there: a
//! pipe that nobody writes to would wait for ever.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use trunkline_transcripts::{ReadError, Transcript, read};

/// What the walk of the named paths found.
#[derive(Default)]
pub(crate) struct Search {
    /// Files to read, in the order of the paths and then of names.
    pub(crate) files: Vec<Candidate>,
    /// What could not be looked at, and why.
    pub(crate) unreadable: Vec<(PathBuf, String)>,
    /// How many entries are of no interest.
    pub(crate) skipped: usize,
}

/// A file that may be a session.
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    /// Whether it was named itself: then it has to be readable.
    named: bool,
}

/// What became of a file.
pub(crate) enum Taken {
    Read(Box<Transcript>),
    /// It was come across, and is of no format that is known; of which agent, where that can be told.
    Foreign(Option<&'static str>),
    Unreadable(String),
}

/// Finds what to read under the paths.
pub(crate) fn search(paths: &[PathBuf]) -> Search {
    let mut search = Search::default();
    for path in paths {
        match path.metadata() {
            Ok(about) if about.is_dir() => walk(path, &mut search),
            Ok(_) => search.files.push(Candidate { path: path.clone(), named: true }),
            Err(error) => search.unreadable.push((path.clone(), error.to_string())),
        }
    }
    search
}

impl Candidate {
    /// Reads the file.
    pub(crate) fn take(&self) -> Taken {
        let bytes = match fs::read(&self.path) {
            Ok(bytes) => bytes,
            Err(error) => return Taken::Unreadable(error.to_string()),
        };
        match read(&bytes) {
            Ok(transcript) => Taken::Read(Box::new(transcript)),
            Err(ReadError::Unknown { .. }) if !self.named => Taken::Foreign(None),
            Err(ReadError::OtherAgent { agent }) if !self.named => Taken::Foreign(Some(agent)),
            Err(error) => Taken::Unreadable(error.to_string()),
        }
    }
}

fn walk(folder: &Path, search: &mut Search) {
    // Not by recursion: folders can be nested deeper than a stack.
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let entries = fs::read_dir(&folder).and_then(|entries| entries.collect::<io::Result<Vec<_>>>());
        let mut entries = match entries {
            Ok(entries) => entries,
            Err(error) => {
                search.unreadable.push((folder, error.to_string()));
                continue;
            }
        };
        entries.sort_by_key(fs::DirEntry::file_name);
        let mut folders = Vec::new();
        for entry in entries {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && has_known_ending(&path) => {
                    search.files.push(Candidate { path, named: false });
                }
                Ok(_) => search.skipped += 1,
                Err(error) => search.unreadable.push((path, error.to_string())),
            }
        }
        open.extend(folders.into_iter().rev());
    }
}

fn has_known_ending(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "jsonl" || ending == "json")
}
