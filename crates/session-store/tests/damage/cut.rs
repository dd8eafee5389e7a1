//! Databases whose files were cut off inside of their tables.

use std::fs;

use trunkline_session_store::doctor::mend;

use super::*;

/// The sessions that can be read in a file that was filled up with zeros, as they are exported.
async fn readable(path: &Path) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    let Ok(store) = SqliteStore::open(path).await else { return found };
    for number in 1..=5 {
        let mut lines = Vec::new();
        if export(&store, &session(number), &mut lines).await.is_ok() {
            found.push((number, String::from_utf8(lines).unwrap()));
        }
    }
    store.close().await;
    found
}

/// Cuts a database behind each of its pages, and inside of some, and returns how many sessions came back in all.
async fn cut_everywhere(whole: &[u8]) -> usize {
    let page = 4096;
    let mut saved = 0;
    for cut in (1..whole.len() / page).map(|pages| pages * page - pages % 2 * 100) {
        let folder = tempfile::tempdir().unwrap();
        let (path, filled) = (folder.path().join("sessions.db"), folder.path().join("filled.db"));
        let mut bytes = whole[..cut].to_vec();
        fs::write(&path, &bytes).unwrap();
        bytes.resize(whole.len(), 0);
        fs::write(&filled, &bytes).unwrap();
        let expected = readable(&filled).await;
        let mended = mend(&path).await.unwrap();
        assert!(mended.after.is_sound() && !mended.is_whole(), "cut to {cut}: {mended}");
        assert_eq!(fs::read(folder.path().join("sessions.db.set-aside-1")).unwrap(), whole[..cut]);
        let after = readable(&path).await;
        for session in &expected {
            assert!(after.contains(session), "cut to {cut}: session {}: {mended}", session.0);
        }
        saved += expected.len();
    }
    saved
}

#[tokio::test]
async fn every_session_before_the_cut_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = closed(folder.path()).await;
    let saved = cut_everywhere(&fs::read(&path).unwrap()).await;
    assert!(saved > 10, "{saved}");
}

/// In a database that was brought up to date a table may begin anywhere: one behind the cut takes no other along.
#[tokio::test]
async fn of_an_older_database_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions.db");
    sql(&path, older::VERSION_1).await;
    SqliteStore::open(&path).await.unwrap().close().await;
    let whole = fs::read(&path).unwrap();
    let saved = cut_everywhere(&whole).await;
    assert!(saved > 2, "{saved}");
}
