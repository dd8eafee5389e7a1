//! What is left of sessions after a cut, against what was written and promised.

use std::collections::{BTreeMap, BTreeSet};

use tempfile::TempDir;
use trunkline_session_store::{
    Batch, Claim, Digest, InboxId, LetterState, Note, NoteQuery, Position, Record, SessionId, SessionInfo,
    SessionStore, Spine, SqliteStore, StoreError,
};

use super::{AT, History, Lived, NAME, Told, options, words};
use crate::disk::{Files, folder, write_files};
use crate::power::Found;
use crate::recorder::{Event, Recorder};

impl Lived {
    /// Opens what is left, tells what is wrong with it, and what opening it did.
    pub(super) async fn look(
        &self,
        recorder: &Recorder,
        files: &Files,
        expected: &BTreeSet<u64>,
    ) -> Result<(Found, Vec<Event>), String> {
        let folder = folder().map_err(words)?;
        write_files(folder.path(), files).map_err(words)?;
        recorder.watch(folder.path(), files).map_err(words)?;
        let mut found = Found::default();
        let recovered = match self.hold(recorder, &folder, expected, &mut found).await {
            Ok(recovered) => recovered,
            Err(error) => {
                found.broken.get_or_insert(error);
                0
            }
        };
        // Without what was written afterwards: a second cut is one while it recovers.
        let mut events = recorder.events()?;
        events.truncate(recovered);
        Ok((found, events))
    }

    /// Returns how many events there were when it had been read.
    async fn hold(
        &self,
        recorder: &Recorder,
        folder: &TempDir,
        expected: &BTreeSet<u64>,
        found: &mut Found,
    ) -> Result<usize, String> {
        let mut told: BTreeMap<&SessionId, Vec<(u64, &Told)>> = BTreeMap::new();
        for place in expected {
            let one = usize::try_from(*place).ok().and_then(|place| self.told.get(place));
            let one = one.ok_or_else(|| format!("nothing was told at {place}"))?;
            told.entry(one.session()).or_default().push((*place, one));
        }
        let all_lost = |found: &mut Found| {
            for (place, told) in told.values().flatten() {
                found.lost.insert(*place, told.to_string());
            }
        };
        let opened = SqliteStore::open_with(folder.path().join(NAME), options(recorder)).await;
        let store = opened.map_err(words).inspect_err(|_| all_lost(found))?;
        let list = store.sessions().await.map_err(words).inspect_err(|_| all_lost(found))?;
        for (session, told) in &told {
            let info = list.iter().find(|info| info.id == **session);
            for (place, told) in told {
                if !is_kept(&store, info, told, &self.histories).await? {
                    found.lost.insert(*place, told.to_string());
                }
            }
        }
        for info in &list {
            let history = self.histories.get(&info.id);
            let history = history.ok_or_else(|| format!("session {} was never made", info.id))?;
            check(&store, info, history).await?;
        }
        let recovered = recorder.position();
        for info in list.iter().take(2) {
            goes_on(&store, info).await.map_err(|error| format!("session {}: {}", info.id, words(error)))?;
        }
        store.close().await;
        Ok(recovered)
    }
}

/// Whether what was told of a session holds.
async fn is_kept(
    store: &SqliteStore,
    info: Option<&SessionInfo>,
    told: &Told,
    histories: &BTreeMap<SessionId, History>,
) -> Result<bool, String> {
    Ok(match (told, info) {
        (Told::Gone { .. }, info) => info.is_none(),
        (_, None) => false,
        (Told::Log { seq, .. }, Some(info)) => info.records >= *seq,
        (Told::Letter { session, letter }, _) => match store.letter(session, *letter).await {
            Ok(_) => true,
            Err(StoreError::NoSuchLetter { .. }) => false,
            Err(error) => return Err(words(error)),
        },
        (Told::Title { session, version }, Some(info)) => {
            let titles = histories.get(session).map(|history| history.titles.as_slice()).unwrap_or_default();
            titles.iter().rposition(|title| *title == info.title).is_some_and(|found| found >= *version)
        }
    })
}

/// Whether all that is left of a session is what was written to it, up to the end of a batch.
async fn check(store: &SqliteStore, info: &SessionInfo, history: &History) -> Result<(), String> {
    let session = &info.id;
    let wrong = |what: String| format!("session {session}: {what}");
    if !history.ends.contains(&info.records) {
        return Err(wrong(format!("{} records are a part of a batch", info.records)));
    }
    // What has the same digest has the same bytes; some are compared all the same.
    let written = history.records.iter().map(|kept| kept.digest);
    let verified = store.verify(session).await.map_err(words)?;
    let same = verified.digests.iter().copied().zip(written).take_while(|(found, written)| found == written);
    let same = same.count() as u64;
    if same != info.records || verified.records != info.records || verified.digest != info.digest {
        return Err(wrong(format!("record {} of {} is not as it was written", same + 1, info.records)));
    }
    let page = store.read(session, info.records / 2, 2).await.map_err(words)?;
    if !page.iter().all(|kept| history.records.contains(kept)) {
        return Err(wrong("records are read that were not written".to_owned()));
    }
    let outline = store.outline(session).await.map_err(words)?;
    if outline.nodes() as u64 != info.nodes || outline.head() != info.head {
        return Err(wrong(format!("the outline has {} nodes and head {}", outline.nodes(), outline.head())));
    }
    check_keys_and_blobs(store, session, history, info.records).await.map_err(wrong)?;
    let inbox = store.inbox(session).await.map_err(words)?;
    for letter in &inbox {
        match history.letters.get(&letter.id) {
            Some(post) if post.body == letter.body => {}
            _ => return Err(wrong(format!("letter {} is not as it was posted", letter.id))),
        }
    }
    for (letter, post) in &history.letters {
        check_letter(store, session, info.records, *letter, post.consumed).await.map_err(wrong)?;
    }
    Ok(())
}

/// Whether keys and blobs are found as the log has them.
async fn check_keys_and_blobs(
    store: &SqliteStore,
    session: &SessionId,
    history: &History,
    records: u64,
) -> Result<(), String> {
    let mut written = BTreeMap::new();
    for kept in history.records.iter().take_while(|kept| kept.seq <= records) {
        match &kept.spine {
            Spine::Note { key: Some(key), .. } => drop(written.insert(&key.key, (kept.seq, &key.state))),
            Spine::Blob { content, .. } => {
                let blob = store.blob(session, content).await.map_err(words)?;
                if blob.is_none_or(|bytes| Digest::of(&bytes) != *content) {
                    return Err(format!("the blob of record {} is not found", kept.seq));
                }
            }
            _ => {}
        }
    }
    let query = NoteQuery::default().in_session(session.clone());
    let found = store.notes(&query).await.map_err(words)?;
    let found: BTreeMap<_, _> =
        found.iter().map(|note| (&note.key.key, (note.seq, &note.key.state))).collect();
    if found == written { Ok(()) } else { Err(format!("its keys are {found:?} and not {written:?}")) }
}

/// Whether a letter is consumed exactly if the batch is there that consumed it.
async fn check_letter(
    store: &SqliteStore,
    session: &SessionId,
    records: u64,
    letter: InboxId,
    consumed: Option<u64>,
) -> Result<(), String> {
    let by = consumed.filter(|seq| *seq <= records);
    match (store.letter(session, letter).await, by) {
        (Ok(LetterState::Consumed { seq }), Some(by)) if seq == by => Ok(()),
        (Ok(LetterState::Waiting), None) => Ok(()),
        // It may be lost if nobody was promised it; whether somebody was is asked elsewhere.
        (Err(StoreError::NoSuchLetter { .. }), None) => Ok(()),
        (Err(error), _) => Err(words(error)),
        (Ok(state), by) => Err(format!("letter {letter} is {state:?}, its batch ended at {by:?}")),
    }
}

/// Writes on, as if nothing had happened.
async fn goes_on(store: &SqliteStore, info: &SessionInfo) -> Result<(), StoreError> {
    let lease = store.claim(&info.id, Claim::IfFree).await?;
    let at = Position { seq: info.records, head: info.head };
    let note = Record::Note(Note::new("disk", "after", AT, "\"the cut\""));
    store.append(&lease, Batch::new(at, vec![note])).await?;
    store.post(&info.id, "after", "\"the cut\"", AT).await.map(drop)
}
