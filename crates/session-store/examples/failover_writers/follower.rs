//! A follower: keeps the digests of a log that it reads as it grows.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use trunkline_session_store::{Activity, Digest, PostgresStore, SessionId, SessionStore, StoreError};

use super::{Signal, patiently};

/// What a follower has seen.
pub(crate) struct Followed {
    pub(crate) session: SessionId,
    /// The digest of each record, the first one first.
    pub(crate) digests: Vec<Digest>,
    /// How often the log was not the one that was followed.
    pub(crate) replaced: u32,
    pub(crate) odd: Vec<String>,
}

/// Follows a session until all writers have ended, and a last time after that.
pub(crate) async fn follow(
    store: PostgresStore,
    session: SessionId,
    signal: watch::Receiver<Signal>,
) -> Followed {
    /// A log that cannot be read for so long after the end never will be.
    const LAST: Duration = Duration::from_secs(60);
    let mut followed = Followed { session, digests: Vec::new(), replaced: 0, odd: Vec::new() };
    let mut seen = Activity::default();
    let mut ended: Option<Instant> = None;
    loop {
        let over = signal.borrow().over;
        if over && ended.get_or_insert_with(Instant::now).elapsed() > LAST {
            followed.odd.push("the log could not be read long after the end".to_owned());
            break;
        }
        let wait = store.changed(&followed.session, seen);
        match tokio::time::timeout(Duration::from_secs(1), wait).await {
            Ok(Ok(now)) => seen = now,
            Ok(Err(error)) => followed.note(error).await,
            Err(_) => {}
        }
        match catch_up(&store, &mut followed).await {
            Ok(()) if over => break,
            Ok(()) => {}
            Err(error) if over => {
                let again = followed.session.clone();
                // The cluster is whole by now.
                if let Err(error) = patiently(|| async { store.info(&again).await.map(drop) }).await {
                    followed.note(error).await;
                    break;
                }
                followed.note(error).await;
            }
            Err(error) => followed.note(error).await,
        }
    }
    followed
}

/// Reads what came since, and the last record that was seen once more, so that another log is noticed.
async fn catch_up(store: &PostgresStore, followed: &mut Followed) -> Result<(), StoreError> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(60) {
        let known = followed.digests.len() as u64;
        let page = store.read(&followed.session, known.saturating_sub(1), 500).await?;
        let last = followed.digests.last();
        let mut new = page.into_iter();
        if let Some(last) = last
            && new.next().is_none_or(|first| first.digest != *last)
        {
            // What was seen last is gone; so may be what was seen before it.
            followed.replaced += 1;
            followed.digests.clear();
            continue;
        }
        let before = followed.digests.len();
        followed.digests.extend(new.map(|kept| kept.digest));
        if followed.digests.len() == before {
            break;
        }
    }
    Ok(())
}

impl Followed {
    async fn note(&mut self, error: StoreError) {
        if !matches!(error, StoreError::Busy { .. } | StoreError::Io { .. }) {
            self.odd.push(error.to_string());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
