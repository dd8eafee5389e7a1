//! Finds the files that may be sessions or message lists, and reads them.
//!
//! A folder is walked without following links, so a walk ends and stays inside. Only regular files are opened there: a
//! pipe that nobody writes to would wait for ever.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use trunkline_transcripts::{ReadError, Transcript, read};

use crate::files::agents;
use crate::files::opencode_db::{self, Stored};

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
    /// The agent in whose folder it was found, where those were searched.
    pub(crate) agent: Option<&'static str>,
    /// The session in it, if it is a database of several.
    pub(crate) session: Option<Stored>,
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
            Ok(about) if about.is_dir() => walk(path, None, &mut search),
            Ok(_) => search.add(path.clone(), true, None),
            Err(error) => search.unreadable.push((path.clone(), error.to_string())),
        }
    }
    search
}

/// Finds what to read of all agents on this machine.
pub(crate) fn of_agents() -> Search {
    let mut search = Search::default();
    for (agent, places) in agents::found() {
        for place in places {
            if place.is_dir() {
                walk(&place, Some(agent.name), &mut search);
            } else if place.is_file() {
                search.add(place, false, Some(agent.name));
            }
        }
    }
    search
}

impl Search {
    /// Adds a file, or each session in it if it is a database of several.
    fn add(&mut self, path: PathBuf, named: bool, agent: Option<&'static str>) {
        let is_database = opencode_db::is_named_so(&path) && path.is_file();
        let stored = is_database.then(|| opencode_db::list(&path));
        match stored {
            Some(Ok(stored)) => self.files.extend(stored.into_iter().map(|stored| Candidate {
                path: path.clone(),
                named,
                agent,
                session: Some(stored),
            })),
            Some(Err(why)) => self.unreadable.push((path, why)),
            None => self.files.push(Candidate { path, named, agent, session: None }),
        }
    }
}

impl Candidate {
    /// Whether it was named itself, and not come across in a folder.
    pub(crate) const fn is_named(&self) -> bool {
        self.named
    }

    /// Reads the file.
    pub(crate) fn take(&self) -> Taken {
        let bytes = match &self.session {
            Some(stored) => opencode_db::export(&self.path, &stored.id),
            None => bytes_of(&self.path).map_err(|error| error.to_string()),
        };
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(why) => return Taken::Unreadable(why),
        };
        match read(&bytes) {
            Ok(transcript) => Taken::Read(Box::new(transcript)),
            Err(ReadError::Unknown { .. }) if !self.named => Taken::Foreign(None),
            Err(ReadError::OtherAgent { agent }) if !self.named => Taken::Foreign(Some(agent)),
            Err(error) => Taken::Unreadable(error.to_string()),
        }
    }
}

/// Reads a file; of a database of others only as much as tells whose it is.
fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    const SCHEMA: u64 = 256 * 1024;
    let mut file = fs::File::open(path)?;
    let mut bytes = Vec::new();
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut bytes)?;
    match bytes == MAGIC {
        true => file.take(SCHEMA).read_to_end(&mut bytes)?,
        false => file.read_to_end(&mut bytes)?,
    };
    Ok(bytes)
}

fn walk(folder: &Path, agent: Option<&'static str>, search: &mut Search) {
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
                Ok(kind) if kind.is_file() && is_wanted(&path, agent) => {
                    search.add(path, false, agent);
                }
                Ok(_) => search.skipped += 1,
                Err(error) => search.unreadable.push((path, error.to_string())),
            }
        }
        open.extend(folders.into_iter().rev());
    }
}

/// A database is only looked at in the folder of an agent: elsewhere it may be anything, and large.
fn is_wanted(path: &Path, agent: Option<&str>) -> bool {
    agents::may_hold_sessions(path) || (agent.is_some() && agents::may_be_database(path))
}
