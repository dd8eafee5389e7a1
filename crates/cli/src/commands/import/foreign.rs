//! Sessions of other agents, taken into the store as sessions that go on here.
//!
//! A session is named by its agent and its id there, so that the same one is found again: then only what is new is added. What was
//! read has no rights: no folder, no instructions, no approval and no rule of it counts here.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use trunkline_message_tree::{Author, Message, MessageTree, NodeId, Timestamp};
use trunkline_runtime::decision_objects::Digest;
use trunkline_session_store::{
    Batch, Claim, ImportError, Log, Note, NoteQuery, Record, SessionId, SessionStore, StoreError,
};
use trunkline_transcripts::{Growth, Kind, SessionTree, Transcript, sniff};

use crate::args;
use crate::commands::import::whole::{self, Made};
use crate::desk::clock::now;
use crate::desk::place::{Place, Store};
use crate::desk::setup::INSTRUCTIONS;
use crate::files::overview::written;
use crate::files::search::{self, Candidate, Search, Taken};
use crate::files::{agents, opencode_db};
use crate::term::fault::{Exit, Fault};
use crate::term::out::Acts;
use crate::term::style::{RED, YELLOW, paint};
use crate::term::tell::{tell, tell_command};
use crate::term::text::{count, one_line};

/// The layer of the notes that say where a session came from.
const LAYER: &str = "import";
/// The kind of the note with the file; its key is the session's name there.
const ORIGIN: &str = "origin";
/// How many faults of a file are kept word for word.
const FAULTS: usize = 100;

/// Whether a path is a folder, or a file that holds a session of another agent or a message list.
pub(super) fn is_foreign(path: &Path) -> bool {
    /// As much as tells an export from anything else.
    const BEGINNING: &[u8] = b"{\"trunkline\"";
    // A named pipe could wait for ever, and gives its bytes once; an export may be larger than memory.
    let is_export = || {
        let mut first = [0; BEGINNING.len()];
        File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == *BEGINNING
    };
    path.is_dir()
        || opencode_db::is_named_so(path)
        || (path.is_file() && !is_export() && std::fs::read(path).is_ok_and(|bytes| sniff(&bytes).is_some()))
}

/// Takes in the sessions of the named files and folders, or those of all known agents.
pub(super) async fn run(paths: &[PathBuf], args: &args::Import, place: &Place) -> Result<Exit, Fault> {
    if let Some(unknown) =
        args.agent.iter().find(|name| agents::AGENTS.iter().all(|agent| agent.name != name.as_str()))
    {
        return Err(
            Fault::usage(format!("no agent is called {:?}", one_line(unknown, 60))).hint(agents::names())
        );
    }
    if !args.agent.is_empty() && !args.all {
        return Err(Fault::usage("--agent goes with --all: a path is taken whatever its agent is"));
    }
    let mut found = if args.all { search::of_agents() } else { search::search(paths) };
    narrow(&mut found, args);
    let store = place.open().await?;
    let mut account = Account::default();
    for (path, why) in &found.unreadable {
        account.unreadable(&path.display().to_string(), why);
    }
    for file in &found.files {
        account.files += 1;
        // Before it is read: what is written to it meanwhile is for the next time.
        let state = state_of(file);
        if is_unchanged(&store, file, state.as_deref()).await? {
            continue;
        }
        match file.take() {
            Taken::Foreign(agent) => account.foreign(agent),
            Taken::Unreadable(why) => account.unreadable(&file.path.display().to_string(), &why),
            // In a folder a list may be anything, such as a request that was kept.
            Taken::Read(transcript) if !transcript.format.is_session() && !file.is_named() => {
                account.foreign(None)
            }
            Taken::Read(transcript) => {
                // One session that the store does not take must not stop an archive of all.
                if let Err(fault) = take_in(&store, file, state, &transcript, &mut account).await {
                    account.unreadable(&file.path.display().to_string(), &fault.as_line());
                }
            }
        }
    }
    account.tell(place, args);
    let exit = account.exit();
    account.told.end().map(|()| exit)
}

/// Leaves out what was not asked for.
fn narrow(found: &mut Search, args: &args::Import) {
    let oldest = args.since.and_then(|since| SystemTime::now().checked_sub(Duration::from_millis(since)));
    found.files.retain(|file| {
        let is_named =
            args.agent.is_empty() || args.agent.iter().any(|name| file.agent == Some(name.as_str()));
        let is_new = oldest.is_none_or(|oldest| {
            if let Some(stored) = &file.session {
                return SystemTime::UNIX_EPOCH + Duration::from_millis(stored.updated) >= oldest;
            }
            file.path.metadata().and_then(|about| about.modified()).is_ok_and(|modified| modified >= oldest)
        });
        is_named && is_new
    });
}

/// What was done, for the end.
#[derive(Default)]
struct Account {
    files: usize,
    new: usize,
    grown: usize,
    messages: usize,
    held: Vec<String>,
    /// Sessions of agents that are known by name and not read.
    others: BTreeSet<&'static str>,
    unreadable: usize,
    damaged: usize,
    closed: usize,
    demoted: usize,
    last: Option<String>,
    /// The names of the sessions that are new or have grown, for programs.
    told: Acts,
}

impl Account {
    fn foreign(&mut self, agent: Option<&'static str>) {
        self.others.extend(agent);
    }

    fn unreadable(&mut self, path: &str, why: &str) {
        self.unreadable += 1;
        tell(&format!(
            "{} {}: {}\n",
            paint(RED.bold(), "cannot read"),
            one_line(path, 300),
            one_line(why, 300)
        ));
    }

    fn tell(&self, place: &Place, args: &args::Import) {
        let mut told = match (self.new, self.grown) {
            (0, 0) => format!("nothing new in {}", count(self.files, "file")),
            (new, 0) => format!("{} new, with {}", count(new, "session"), count(self.messages, "message")),
            (0, grown) => {
                format!("{} grown, by {}", count(grown, "session"), count(self.messages, "message"))
            }
            (new, grown) => {
                format!(
                    "{} new and {grown} grown, with {} in all",
                    count(new, "session"),
                    count(self.messages, "new message")
                )
            }
        };
        if self.damaged > 0 {
            told.push_str(&format!("; {}", count(self.damaged, "damaged line")));
        }
        if !self.held.is_empty() {
            told.push_str(&format!(
                "; left alone, since another process writes them: {}",
                self.held.join(", ")
            ));
        }
        if !self.others.is_empty() {
            let others: Vec<&str> = self.others.iter().copied().collect();
            told.push_str(&format!("; not read: sessions of {}", others.join(", ")));
        }
        tell(&format!("{told}\n"));
        if args.all {
            // From a scheduler one line is all that is wanted.
            return;
        }
        if self.closed > 0 {
            let what = "without result at the end: they are closed here, and nothing of them is run";
            tell(&format!("{} {} {what}\n", paint(YELLOW, "note:"), count(self.closed, "call")));
        }
        if self.demoted > 0 {
            let what = "of instructions are words like others here";
            tell(&format!("{} {} {what}\n", paint(YELLOW, "note:"), count(self.demoted, "message")));
        }
        if let Some(last) = &self.last {
            tell_command("look at it  ", &place.command(&format!("tree {last}")));
            tell_command("go on       ", &place.command(&format!("resume {last} -C DIR -p \"…\"")));
        }
    }

    fn exit(&self) -> Exit {
        if self.unreadable > 0 || !self.held.is_empty() { Exit::Failure } else { Exit::Done }
    }
}

/// Where a session lay when it was taken in.
struct Origin<'a> {
    /// The name that it is known by: its agent, and its id there.
    key: String,
    tree: &'a SessionTree,
    /// The body of the note, but for where the head is.
    about: Value,
    /// How its file was, if this is the last that is taken of it.
    state: Option<String>,
}

/// Whether the file was taken in as it is now, by its length and time.
async fn is_unchanged(store: &Store, file: &Candidate, state: Option<&str>) -> Result<bool, Fault> {
    let Some(state) = state else { return Ok(false) };
    let found = store.notes(&NoteQuery::of(LAYER, "file").about(path_key(file))).await?;
    Ok(found.iter().any(|note| note.key.state == state))
}

/// A path may be longer than a key.
fn path_key(file: &Candidate) -> String {
    let session = file.session.as_ref().map(|stored| stored.id.as_bytes()).unwrap_or_default();
    Digest::of(&[file.path.as_os_str().as_encoded_bytes(), b"\0", session].concat()).to_string()
}

/// Returns what changes when a file does, or a session in it.
fn state_of(file: &Candidate) -> Option<String> {
    if let Some(stored) = &file.session {
        return Some(format!("updated {}", stored.updated));
    }
    let about = file.path.metadata().ok()?;
    Some(format!("{} {}", about.len(), written(&about).map_or(0, |at| at.0)))
}

async fn take_in(
    store: &Store,
    file: &Candidate,
    state: Option<String>,
    transcript: &Transcript,
    account: &mut Account,
) -> Result<(), Fault> {
    let damage = transcript.faults.iter().filter(|fault| fault.kind.is_damage()).count();
    account.damaged += damage;
    let trees = transcript.trees();
    let main = trees.first().map(|tree| key_of(transcript, tree, None)).unwrap_or_default();
    let said: Vec<(usize, &SessionTree)> =
        trees.iter().enumerate().filter(|(_, tree)| tree.tree.len() > 1).collect();
    let held = account.held.len();
    for (number, (place, tree)) in said.iter().enumerate() {
        let parent = (*place > 0).then_some(main.as_str());
        let key = if *place == 0 { main.clone() } else { key_of(transcript, tree, parent) };
        let about = about(file, transcript, tree, parent);
        // The file is as it was taken in once all of it was.
        let is_last = number + 1 == said.len() && account.held.len() == held;
        let origin = Origin { key, tree, about, state: state.clone().filter(|_| is_last) };
        take_in_one(store, file, &origin, account).await?;
    }
    Ok(())
}

/// Returns the name that a session is known by. One without an id is known by how it begins, and a long or odd id by its digest.
fn key_of(transcript: &Transcript, tree: &SessionTree, parent: Option<&str>) -> String {
    /// Far more than any agent's id has.
    const LONGEST: usize = 200;
    let id = match tree.id.as_str() {
        "" => {
            let first =
                tree.tree.nodes().skip(1).take(2).map(|(_, node)| json!(node.message().content).to_string());
            Digest::of(first.collect::<String>().as_bytes()).to_string()
        }
        id if id.len() > LONGEST || id.contains(char::is_control) => Digest::of(id.as_bytes()).to_string(),
        id => id.to_owned(),
    };
    // The file of a sub-agent alone is the same session as what its parent's file has of it.
    let of_side = tree.parent.as_deref().filter(|_| matches!(tree.kind, Kind::Sidechain { .. }));
    match (parent, of_side) {
        (Some(parent), _) => format!("{parent}/{id}"),
        (None, Some(parent)) => format!("{}:{parent}/{id}", transcript.format),
        (None, None) => format!("{}:{id}", transcript.format),
    }
}

fn about(file: &Candidate, transcript: &Transcript, tree: &SessionTree, parent: Option<&str>) -> Value {
    let faults = transcript.faults.iter().take(FAULTS);
    let faults: Vec<Value> = faults
        .map(|fault| json!({ "line": fault.line, "kind": fault.kind.row(), "what": fault.kind.to_string() }))
        .collect();
    let call = match &tree.kind {
        Kind::Sidechain { call_id } => call_id.clone(),
        _ => None,
    };
    json!({
        "version": 1,
        "agent": file.agent.unwrap_or_else(|| transcript.format.name()),
        "format": transcript.format.name(),
        "session": tree.id,
        "file": file.path.to_string_lossy(),
        "folder": tree.cwd,
        "parent": parent.map(str::to_owned).or_else(|| tree.parent.clone()),
        "call": call,
        "faults": faults,
        "faults_in_all": transcript.faults.len(),
        "imported_at": now().0,
    })
}

async fn take_in_one(
    store: &Store,
    file: &Candidate,
    origin: &Origin<'_>,
    account: &mut Account,
) -> Result<(), Fault> {
    let id = whole::named_by(origin.key.as_bytes());
    match store.load(&id).await {
        Ok(log) => return grow(store, file, origin, log, account).await,
        Err(StoreError::UnknownSession { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    match make(store, file, origin, &id, account).await? {
        Made::New => Ok(()),
        // Two imports at once: the other one was first.
        Made::There => {
            let log = store.load(&id).await?;
            grow(store, file, origin, log, account).await
        }
    }
}

/// Makes a session, all of it at once.
async fn make(
    store: &Store,
    file: &Candidate,
    origin: &Origin<'_>,
    id: &SessionId,
    account: &mut Account,
) -> Result<Made, ImportError> {
    let read = &origin.tree.tree;
    let began = read.node(NodeId::ROOT).map_or(Timestamp(0), |root| root.at());
    // Lists know no times; their file does.
    let of_file = || file.path.metadata().ok().and_then(|about| written(&about));
    let began = if began.0 == 0 { of_file().unwrap_or(began) } else { began };
    // As of a session that begins here: those in a file instruct no model of ours.
    let kept = MessageTree::new(Message::system(INSTRUCTIONS), began);
    let growth = origin.tree.growth(&kept, NodeId::ROOT);
    account.closed += growth.closed.len();
    account.demoted += growth.demoted;
    let notes = notes(file, origin, &growth);
    let nodes = growth.nodes;
    let records = growth.entries.into_iter().map(Record::Entry).chain(notes);
    if let Made::There = whole::make(store.as_ref(), id, title_of(origin.tree), began, &kept, records).await?
    {
        return Ok(Made::There);
    }
    account.new += 1;
    account.messages += nodes;
    account.last = Some(id.to_string());
    account.told.print(&format!("{id}\n"));
    Ok(Made::New)
}

/// Adds what is new to a session that is there.
async fn grow(
    store: &Store,
    file: &Candidate,
    origin: &Origin<'_>,
    log: Log,
    account: &mut Account,
) -> Result<(), Fault> {
    let id = log.info.id.clone();
    let at = log.position();
    let left_at = left_at(&log, &origin.key);
    let kept = MessageTree::replay(log.entries().cloned()).map_err(|error| {
        Fault::new(format!("session {id} cannot be read: {error}")).hint("`trunkline doctor` looks at it")
    })?;
    // Without a note of ours nothing tells where it was left: then its head stays.
    let elsewhere = NodeId::new(u32::MAX);
    let growth = origin.tree.growth(&kept, left_at.unwrap_or(elsewhere));
    let is_new = growth.nodes > 0 || left_at.is_none();
    let notes = notes(file, origin, &growth);
    if !is_new && growth.entries.is_empty() && origin.state.is_none() {
        return Ok(());
    }
    let lease = match store.claim(&id, Claim::IfFree).await {
        Ok(lease) => lease,
        Err(StoreError::Locked { .. }) => {
            account.held.push(one_line(&id.to_string(), 40));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    };
    let (nodes, closed, demoted) = (growth.nodes, growth.closed.len(), growth.demoted);
    let records = growth.entries.into_iter().map(Record::Entry).chain(notes).collect();
    match store.append(&lease, Batch::new(at, records)).await {
        Ok(_) => {}
        // It was written between our look and our lease: the next import sees it.
        Err(StoreError::Conflict { .. }) => {
            account.held.push(one_line(&id.to_string(), 40));
            return Ok(());
        }
        Err(error) => return Err(error.into()),
    }
    drop(lease);
    if nodes == 0 {
        return Ok(());
    }
    account.grown += 1;
    account.messages += nodes;
    account.closed += closed;
    account.demoted += demoted;
    account.last = Some(id.to_string());
    account.told.print(&format!("{id}\n"));
    Ok(())
}

/// Returns the notes about an import: where it came from, and how its file was.
fn notes(file: &Candidate, origin: &Origin<'_>, growth: &Growth) -> Vec<Record> {
    let read = &origin.tree.tree;
    // The time of the session and not of the import: lists sort by it.
    let at = read.nodes().map(|(_, node)| node.at()).max().unwrap_or_default();
    let mut body = origin.about.clone();
    body["head"] = json!(growth.head.to_string());
    body["closed"] = json!(growth.closed);
    body["demoted"] = json!(growth.demoted);
    let note = |kind: &str, body: &Value| Note::new(LAYER, kind, at, body.to_string());
    let mut notes = vec![note(ORIGIN, &body).about(origin.key.clone(), growth.left_at.to_string())];
    if let Some(state) = &origin.state {
        notes.push(note("file", &json!({})).about(path_key(file), state.clone()));
    }
    notes.into_iter().map(Record::Note).collect()
}

/// Returns where the last import under this name has left the head; none if there was none.
fn left_at(log: &Log, key: &str) -> Option<NodeId> {
    let notes = log.records.iter().rev().filter_map(|(_, record)| match record {
        Record::Note(note) if note.layer == LAYER && note.kind == ORIGIN => note.key.as_ref(),
        _ => None,
    });
    let mut of_key = notes.filter(|found| found.key == key);
    let head = of_key.next()?.state.strip_prefix('n')?.parse().ok()?;
    Some(NodeId::new(head))
}

/// Returns the title that it had, or how the first prompt of a person begins.
fn title_of(tree: &SessionTree) -> String {
    let prompt = || {
        let messages = tree.tree.nodes().map(|(_, node)| node.message());
        let of_people = messages.filter(|message| message.author == Author::Person);
        of_people.map(Message::text).find(|text| !text.trim().is_empty())
    };
    let title = tree.title.clone().filter(|title| !title.trim().is_empty()).or_else(prompt);
    one_line(&title.unwrap_or_default(), 100)
}
