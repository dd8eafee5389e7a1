//! A store on a disk is killed, starved and broken, and so are stores that should not be trusted with it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tempfile::TempDir;
use trunkline_message_tree::{MessageTree, Timestamp};
use trunkline_session_store::kit::{self, Fault, Handle, OldPlace, Options, Place, Promise, Report, Subject};
use trunkline_session_store::{NewSession, SessionId, SessionStore, StoreError, export};

use super::flawed::at_once;
use super::journal::{Flaw, Journal, Journaling};
use super::options;

/// What a writer that is started by the kit reads: the file, the flaw, the seed, and after how many writes it dies.
const JOURNAL: &str = "TRUNKLINE_TEST_JOURNAL";

/// Journals in folders of their own.
struct Journals(Flaw);

impl Journals {
    fn folder(&self) -> Result<Folder, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        Ok(Folder {
            path: folder.path().join("journal"),
            flaw: self.0,
            live: Mutex::default(),
            _folder: folder,
        })
    }
}

impl Subject for Journals {
    fn name(&self) -> String {
        "journal".to_owned()
    }

    fn place(&self) -> Result<Box<dyn Place>, String> {
        Ok(Box::new(self.folder()?))
    }

    fn old_places(&self) -> Result<Vec<OldPlace>, String> {
        let place = self.folder()?;
        let exported = old(&place.path, self.0).map_err(|error| error.to_string())?;
        Ok(vec![OldPlace { version: "journal 1".to_owned(), place: Box::new(place), exported }])
    }
}

/// Writes a session as a past version did, and returns how it is exported.
fn old(path: &Path, flaw: Flaw) -> Result<String, StoreError> {
    let journal = Arc::new(Journal::open(path, Flaw::Nothing, None, None)?);
    let store = Journaling(Arc::clone(&journal));
    let id = SessionId::parse("00000000-0000-7000-8000-000000000001").unwrap();
    let tree = MessageTree::new(trunkline_message_tree::Message::system("be brief"), Timestamp(1));
    let (title, workspace) = ("old".to_owned(), None);
    let new = NewSession { id: id.clone(), title, workspace, at: Timestamp(1), root: tree.root_entry() };
    at_once(store.create(new))?;
    let mut bytes = Vec::new();
    at_once(Box::pin(export(&store, &id, &mut bytes))).unwrap();
    if flaw == Flaw::ReadsOtherTitles {
        at_once(store.amend(&id, trunkline_session_store::Amend::title("new")))?;
    }
    Ok(String::from_utf8(bytes).unwrap())
}

struct Folder {
    path: PathBuf,
    flaw: Flaw,
    live: Mutex<Weak<Journal>>,
    _folder: TempDir,
}

fn handle(journal: Arc<Journal>) -> Handle {
    let store = Journaling(Arc::clone(&journal));
    Handle::new(store).closed_by(async move {
        // What cannot be written now was told to whoever asked for more than a place in line.
        let _ = journal.flush();
    })
}

#[async_trait::async_trait]
impl Place for Folder {
    async fn open(&self) -> Result<Handle, StoreError> {
        let mut live = self.live.lock().unwrap();
        let journal = match live.upgrade() {
            Some(journal) => journal,
            None => Arc::new(Journal::open(&self.path, self.flaw, None, None)?),
        };
        *live = Arc::downgrade(&journal);
        Ok(handle(journal))
    }

    async fn open_failing(&self, fault: Fault) -> Option<Result<Handle, StoreError>> {
        let journal = Journal::open(&self.path, self.flaw, Some(fault), None);
        Some(journal.map(|journal| handle(Arc::new(journal))))
    }

    fn writer(&self, seed: u64, dies_after: Option<u64>) -> Option<Command> {
        let mut command = Command::new(std::env::current_exe().ok()?);
        let flaw = self.flaw as u8;
        let dies_after = dies_after.map_or("never".to_owned(), |writes| writes.to_string());
        command
            .args(["--exact", "kit::killed::a_writer_that_never_stops", "--nocapture", "--test-threads=1"])
            .env(JOURNAL, format!("{flaw} {seed} {dies_after} {}", self.path.display()));
        Some(command)
    }
}

#[test]
fn a_writer_that_never_stops() {
    // Only as a process of its own, which the kit starts and kills.
    let Ok(told) = std::env::var(JOURNAL) else { return };
    let [flaw, seed, dies_after, path] = told.splitn(4, ' ').collect::<Vec<_>>()[..] else { return };
    let flaw = Flaw::ALL[flaw.parse::<usize>().unwrap()];
    let journal = Journal::open(Path::new(path), flaw, None, dies_after.parse().ok()).unwrap();
    let store = Journaling(Arc::new(journal));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let error = runtime.block_on(kit::write_for_ever(&store, seed.parse().unwrap())).unwrap_err();
    panic!("{error}");
}

#[test]
fn a_journal_keeps_every_promise() {
    let mut options = options();
    // It reads all that was ever written whenever it is opened, so it is slow.
    (options.cases, options.writes) = (options.cases.min(8), 24);
    let report = kit::run(&Journals(Flaw::Nothing), &options);
    assert!(report.is_ok(), "{report}");
    // It leaves those to the trait.
    let unchecked: Vec<Promise> = report.unchecked().collect();
    assert_eq!(unchecked, [Promise::Snapshots], "{report}");
    let figures = report.figures();
    assert!(figures.cut_points > 40 && figures.lost == 0, "{report}");
    assert!(figures.buffered_lost > 0, "nothing was ever in line when a writer died: {report}");
}

/// How many writers are killed at random.
const KILLS: u32 = 6;

fn few() -> Options {
    let mut options = Options::new(1);
    (options.cases, options.kills, options.writes, options.batches) = (0, KILLS, 20, 5);
    options.patience = Duration::from_secs(20);
    options
}

fn report(flaw: Flaw) -> Report {
    kit::run(&Journals(flaw), &few())
}

macro_rules! mutants {
    ($($name:ident: $flaw:ident breaks $promise:ident)*) => {$(
        #[test]
        fn $name() {
            let report = report(Flaw::$flaw);
            assert!(report.findings().any(|finding| finding.promise == Promise::$promise), "{report}");
        }
    )*};
}

mutants! {
    what_was_said_to_be_kept_and_is_not_is_missed: SaysMoreThanItDoes breaks Killed
    a_batch_that_is_written_in_parts_is_seen: WritesInParts breaks Killed
    letters_that_are_not_written_are_missed: ForgetsLetters breaks Killed
    halves_that_stay_on_a_full_disk_are_seen: LeavesHalves breaks Full
    a_full_disk_that_is_not_told_is_noticed: TellsNothing breaks Full
    a_full_disk_in_other_words_is_noticed: TellsOtherwise breaks Full
    a_failing_disk_that_is_not_told_is_noticed: TellsNothing breaks Broken
    a_past_version_that_is_read_otherwise_is_seen: ReadsOtherTitles breaks Older
    what_goes_only_when_a_later_writer_dies_is_missed: RewritesItself breaks Killed
    a_place_that_no_later_writer_can_open_is_noticed: LocksOutTheNext breaks Killed
}

#[test]
fn a_medium_that_never_fails_has_tried_nothing() {
    let report = report(Flaw::NeverFails);
    let unchecked: Vec<Promise> = report.unchecked().collect();
    let expected = [Promise::Snapshots, Promise::SameAsMemory, Promise::Full, Promise::Broken];
    assert_eq!(unchecked, expected, "{report}");
}

#[test]
fn a_writer_that_does_not_die_where_it_should_is_noticed() {
    let mut options = few();
    (options.kills, options.patience) = (0, Duration::from_secs(3));
    let report = kit::run(&Journals(Flaw::NeverDies), &options);
    let mut killed = report.findings().filter(|finding| finding.promise == Promise::Killed);
    let detail = killed.next().map(|finding| finding.detail.as_str());
    assert_eq!(detail, Some("dead before write 0 (seed 1): the writer still lives after 3s"), "{report}");
}

#[test]
fn a_writer_that_dies_before_it_does_anything_was_not_killed_at_a_write() {
    let report = report(Flaw::DiesAtOnce);
    let killed = KILLS as usize + 1;
    assert_eq!(report.checks(Promise::Killed), killed, "{report}");
}
