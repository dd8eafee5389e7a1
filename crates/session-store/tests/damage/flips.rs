//! Bytes that change, files that end too soon, sectors that are gone: nothing panics, nothing wrong is shown as proven,
//! and what was whole is still there after a mending.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use trunkline_session_store::doctor::{examine, mend};
use trunkline_session_store::{SessionId, SessionStore, SqliteStore, StoreError};

use super::*;

/// What came of many damaged databases.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    cases: u64,
    /// Records there were in all of them.
    records: u64,
    /// In sessions that verified without a mending, and after it.
    whole: u64,
    mended: u64,
    /// Databases that were refused as what they seem to be.
    refused: u64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures { cases, records, whole, mended, refused } = self;
        write!(
            f,
            "{cases} damaged databases, {records} records: {whole} in sessions that verified, {mended} after a mending, {refused} refused"
        )
    }
}

/// How many threads of the driver have died.
static DIED: AtomicUsize = AtomicUsize::new(0);

/// Longer than anything that is not waited for in vain, on however busy a machine.
const FOR_EVER: Duration = Duration::from_secs(120);

/// Counts the threads of the driver that die. It makes one for each connection, and names it.
fn count_the_dead() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if std::thread::current().name().is_some_and(|name| name.starts_with("sqlx-sqlite")) {
                DIED.fetch_add(1, Ordering::SeqCst);
            }
            before(panic);
        }));
    });
}

/// Of how many cases one is tried: each is a database that is opened, examined and mended. With `TRUNKLINE_DAMAGE=all` every
/// one is.
fn stride() -> usize {
    if std::env::var("TRUNKLINE_DAMAGE").is_ok_and(|asked| asked == "all") { 1 } else { 2 }
}

/// A folder in memory where the system has one. What is tried here is what files say, not that they are synced.
fn new_folder() -> tempfile::TempDir {
    tempfile::TempDir::new_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// SplitMix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}

/// A database before it is damaged.
pub(crate) struct Whole {
    files: Vec<(&'static str, Vec<u8>)>,
    locks: tempfile::TempDir,
    sessions: BTreeMap<SessionId, String>,
    snapshots: BTreeMap<SessionId, Snapshot>,
}

impl Whole {
    pub(crate) async fn closed() -> Self {
        let folder = new_folder();
        let path = closed(folder.path()).await;
        Self::of(folder, &path).await
    }

    pub(crate) async fn killed() -> Self {
        let folder = new_folder();
        let path = killed(folder.path()).await;
        Self::of(folder, &path).await
    }

    async fn of(folder: tempfile::TempDir, path: &Path) -> Self {
        let locks = new_folder();
        copy(path, &locks.path().join("sessions.db"));
        let mut files = vec![("", fs::read(path).unwrap())];
        if let Ok(log) = fs::read(log_of(path)) {
            files.push(("-wal", log));
        }
        let store = SqliteStore::open(path).await.unwrap();
        let sessions = sessions(&store).await.unwrap();
        let mut snapshots = BTreeMap::new();
        for id in sessions.keys() {
            snapshots.insert(id.clone(), store.snapshot(id).await.unwrap().unwrap());
        }
        store.close().await;
        drop(folder);
        Whole { files, locks, sessions, snapshots }
    }

    pub(crate) fn length(&self, file: usize) -> usize {
        self.files[file].1.len()
    }

    /// Damages one of its files and sees what becomes of it.
    pub(crate) async fn check(
        &self,
        file: usize,
        damage: impl Fn(&mut Vec<u8>),
        what: &str,
        figures: &mut Figures,
    ) {
        count_the_dead();
        let checked = tokio::time::timeout(FOR_EVER, self.check_all(file, damage, what, figures)).await;
        checked.unwrap_or_else(|_| panic!("{what}: it is waited for for ever"));
        assert_eq!(DIED.load(Ordering::SeqCst), 0, "{what}: a thread of the driver has died");
    }

    async fn check_all(&self, file: usize, damage: impl Fn(&mut Vec<u8>), what: &str, figures: &mut Figures) {
        let folder = new_folder();
        let path = folder.path().join("sessions.db");
        copy(&self.locks.path().join("sessions.db"), &path);
        let name = format!("sessions.db{}", self.files[file].0);
        let mut bytes = self.files[file].1.clone();
        damage(&mut bytes);
        fs::write(folder.path().join(name), &bytes).unwrap();
        let path = path.canonicalize().unwrap();
        figures.cases += 1;
        figures.records +=
            self.sessions.values().map(|lines| records(lines).lines().count() as u64).sum::<u64>();

        let examined = examine(&path).await;
        let (verified, told) = self.open(&path, what, true).await;
        for lines in verified.values() {
            figures.whole += records(lines).lines().count() as u64;
        }
        let examined = match examined {
            Ok(examined) => examined,
            // The bytes that say which version and whose database it is can only be believed.
            Err(StoreError::Newer { .. } | StoreError::NotAStore { .. }) => {
                figures.refused += 1;
                return;
            }
            Err(error) => panic!("{what}: it cannot be examined: {error}"),
        };
        let all = verified.len() == self.sessions.len()
            && self
                .sessions
                .iter()
                .all(|(id, lines)| verified.get(id).is_some_and(|found| records(found) == records(lines)));
        assert!(all || told || !examined.is_sound(), "{what}: a loss is not told: {examined}");

        let mended = mend(&path).await.unwrap_or_else(|error| panic!("{what}: it cannot be mended: {error}"));
        assert!(mended.after.is_sound(), "{what}: {mended}");
        let (after, _) = self.open(&path, what, false).await;
        for (id, lines) in &verified {
            let found = after.get(id).unwrap_or_else(|| panic!("{what}: {id} is gone: {mended}"));
            assert!(records(found).starts_with(records(lines)), "{what}: {id} was whole: {mended}");
        }
        for lines in after.values() {
            figures.mended += records(lines).lines().count() as u64;
        }
    }

    /// Opens a damaged database and returns the sessions that verify, and whether anything was told.
    async fn open(&self, path: &Path, what: &str, is_first: bool) -> (BTreeMap<SessionId, String>, bool) {
        let mut verified = BTreeMap::new();
        let Ok(store) = SqliteStore::open(path).await else { return (verified, true) };
        let mut told = !store.opened().findings.is_empty();
        match store.sessions().await {
            Ok(list) => {
                let short = self.sessions.keys().any(|id| !list.iter().any(|info| info.id == *id));
                assert!(told || !short || !is_first, "{what}: the list is short, and that is no error");
                for info in list {
                    // What is given back is what was kept.
                    match store.snapshot(&info.id).await {
                        Ok(Some(found)) => assert_eq!(Some(&found), self.snapshots.get(&info.id), "{what}"),
                        Ok(None) => {}
                        Err(_) => told = true,
                    }
                    let Some(lines) = lines(&store, &info.id).await else {
                        // It may be read, but not proven.
                        let _ = store.load(&info.id).await;
                        let _ = store.outline(&info.id).await;
                        told = true;
                        continue;
                    };
                    if info.id == session(6) {
                        // It was deleted later than what is left of the log.
                        continue;
                    }
                    let whole = self
                        .sessions
                        .get(&info.id)
                        .unwrap_or_else(|| panic!("{what}: {} came from nowhere", info.id));
                    assert!(
                        records(whole).starts_with(records(&lines)),
                        "{what}: {} is not what was written",
                        info.id
                    );
                    let loaded = store.load(&info.id).await.unwrap();
                    assert_eq!(loaded.records.len(), records(&lines).lines().count(), "{what}");
                    verified.insert(info.id, lines);
                }
            }
            Err(_) => told = true,
        }
        // Writing may fail as well, and does not panic.
        let _ = store.post(&session(1), "prompt", "null", Timestamp(1)).await;
        let _ = store.notes(&Default::default()).await;
        let _ = store.collect(true).await;
        store.close().await;
        (verified, told)
    }
}

#[tokio::test]
async fn no_flipped_byte_of_a_database_goes_unnoticed() {
    let whole = Whole::closed().await;
    let (mut figures, mut random) = (Figures::default(), Random(1));
    for _ in (0..100).step_by(stride()) {
        let (place, flip) = (random.below(whole.length(0)), 1 + random.below(255) as u8);
        whole.check(0, |bytes| bytes[place] ^= flip, &format!("byte {place} ^ {flip}"), &mut figures).await;
    }
    println!("{figures}");
}

#[tokio::test]
async fn no_flipped_byte_of_a_header_goes_unnoticed() {
    let whole = Whole::closed().await;
    let mut figures = Figures::default();
    for place in (0..100).step_by(stride()) {
        whole
            .check(0, |bytes| bytes[place] ^= 0x41, &format!("byte {place} of the header"), &mut figures)
            .await;
    }
    println!("{figures}");
}

#[tokio::test]
async fn no_flipped_byte_of_a_schema_goes_unnoticed() {
    let whole = Whole::closed().await;
    let (mut figures, mut random) = (Figures::default(), Random(4));
    let schema = &whole.files[0].1[..4096];
    // Letters of names and statements, which become others or no text; then what SQLite says around them.
    let text: Vec<usize> = (100..4096).filter(|place| schema[*place].is_ascii_lowercase()).collect();
    let rest: Vec<usize> =
        (100..4096).filter(|place| schema[*place] != 0 && !schema[*place].is_ascii_lowercase()).collect();
    for (places, flips, cases) in [(&text, [0x01, 0xa1], 45), (&rest, [0x04, 0x81], 30)] {
        // Both flips, whatever the stride.
        for case in 0..cases / stride() {
            let (place, flip) = (places[random.below(places.len())], flips[case % 2]);
            let what = format!("byte {place} ^ {flip} of the schema");
            whole.check(0, |bytes| bytes[place] ^= flip, &what, &mut figures).await;
        }
    }
    println!("{figures}");
}

/// A letter in the name of a table, and a byte in the name of a column that is no text: told by everybody, and mended.
#[tokio::test]
async fn a_damaged_schema_is_told_by_name_and_made_anew() {
    let whole = Whole::closed().await;
    for (name, byte, told) in [
        ("sqlite_sequence", b'y', "table sqlite_sequence is missing"),
        ("workspace", 0xda, "what it says of \"sessions\" is no text"),
        ("workspace", b'x', "table sessions is not as it was made"),
        ("branches", b'x', "index branches is missing"),
        ("letters", 0xff, "what it says of \"let\u{fffd}ers\" is no text"),
    ] {
        let folder = new_folder();
        let path = folder.path().join("sessions.db");
        let mut bytes = whole.files[0].1.clone();
        let place = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
        bytes[place + 3] = byte;
        fs::write(&path, &bytes).unwrap();
        let path = path.canonicalize().unwrap();
        let error = SqliteStore::open(&path).await.unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { .. }), "{name}: {error}");
        let examined = examine(&path).await.unwrap();
        assert!(!examined.is_sound(), "{name}: {examined}");
        assert!(examined.to_string().contains(told), "{name}: {examined}");
        let mended = mend(&path).await.unwrap();
        assert!(mended.is_whole(), "{name}: {mended}");
        let store = SqliteStore::open(&path).await.unwrap();
        assert_eq!(sessions(&store).await.unwrap(), whole.sessions, "{name}");
        store.close().await;
    }
}

#[tokio::test]
async fn no_flipped_byte_of_a_write_ahead_log_goes_unnoticed() {
    let whole = Whole::killed().await;
    let (mut figures, mut random) = (Figures::default(), Random(2));
    for _ in (0..60).step_by(stride()) {
        let (place, flip) = (random.below(whole.length(1)), 1 + random.below(255) as u8);
        whole
            .check(
                1,
                |bytes| bytes[place] ^= flip,
                &format!("byte {place} ^ {flip} of the log"),
                &mut figures,
            )
            .await;
    }
    for place in (0..56).step_by(stride()) {
        whole.check(1, |bytes| bytes[place] ^= 0x41, &format!("byte {place} of the log"), &mut figures).await;
    }
    println!("{figures}");
}

#[tokio::test]
async fn no_lost_sector_or_page_goes_unnoticed() {
    let whole = Whole::closed().await;
    let mut figures = Figures::default();
    for page in 0..whole.length(0) / 4096 {
        // In turn, and both where all is asked for.
        if page % stride() == 0 {
            let gone = |bytes: &mut Vec<u8>| bytes[page * 4096..][..4096].fill(0);
            whole.check(0, gone, &format!("page {page} is gone"), &mut figures).await;
        }
        if (page + 1) % stride() == 0 {
            let sector = page * 4096 + page % 8 * 512;
            let gone = |bytes: &mut Vec<u8>| bytes[sector..][..512].fill(0xff);
            whole.check(0, gone, &format!("sector {sector} is gone"), &mut figures).await;
        }
    }
    println!("{figures}");
}

#[tokio::test]
async fn no_file_that_ends_too_soon_goes_unnoticed() {
    let (closed, killed) = (Whole::closed().await, Whole::killed().await);
    let (mut figures, mut random) = (Figures::default(), Random(3));
    for page in 0..closed.length(0) / 4096 {
        // In turn, and both where all is asked for.
        for length in [page * 4096, page * 4096 + random.below(4096)]
            .into_iter()
            .skip(page % stride())
            .step_by(stride())
        {
            closed.check(0, |bytes| bytes.truncate(length), &format!("cut to {length}"), &mut figures).await;
        }
    }
    for _ in (0..30).step_by(stride()) {
        let length = random.below(killed.length(1));
        killed.check(1, |bytes| bytes.truncate(length), &format!("log cut to {length}"), &mut figures).await;
        let length = length / 4120 * 4120 + 32;
        killed.check(1, |bytes| bytes.truncate(length), &format!("log cut to {length}"), &mut figures).await;
    }
    println!("{figures}");
}
