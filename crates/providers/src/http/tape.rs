//! What is recorded of one attempt.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::Shared;
use super::client::{Answer, Lost};
use crate::{Ending, HttpRequest, Recording};

/// The recording of one attempt, if there is one; shared by the future that opens the answer and the reply that reads it.
///
/// It is handed in when it is closed or nobody has it any more. An attempt whose end nobody told was cancelled.
#[derive(Clone, Default)]
pub(super) struct Tape(Option<Arc<Mutex<Option<Running>>>>);

struct Running {
    // `None` once it was handed in.
    recording: Option<Recording>,
    began: Instant,
    ended: Option<(Duration, Ending)>,
}

impl Tape {
    pub(super) fn begin(shared: &Shared, request: &HttpRequest) -> Self {
        let running = shared.record.clone().map(|to| Running {
            recording: Some(
                Recording::begin(to, shared.wire.name(), request, &shared.secrets).of(&shared.origin),
            ),
            began: Instant::now(),
            ended: None,
        });
        Tape(running.map(|running| Arc::new(Mutex::new(Some(running)))))
    }

    pub(super) fn answered(&self, answer: &Answer) {
        self.with(|running| {
            let headers = answer.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            if let Some(recording) = &mut running.recording {
                recording.answered(answer.status, headers);
            }
        });
    }

    /// Takes in what came of the body, or how it ended.
    pub(super) fn received(&self, bytes: &Result<Option<Bytes>, Lost>) {
        self.with(|running| {
            let at = running.began.elapsed();
            match (bytes, &mut running.recording) {
                (Ok(Some(bytes)), Some(recording)) => recording.received(at, bytes.clone()),
                (Ok(None), _) => running.end(Ending::Complete),
                (Err(_), _) => running.end(Ending::Cut),
                (_, None) => {}
            }
        });
    }

    /// Says how the attempt ended, unless it was said already.
    pub(super) fn end(&self, ending: Ending) {
        self.with(|running| running.end(ending));
    }

    /// Hands it in; `retried` says after what wait the next attempt came.
    pub(super) fn close(&mut self, retried: Option<Duration>) {
        let running = self.running().and_then(|mut running| running.take());
        if let Some(mut running) = running {
            running.hand_in(retried);
        }
        self.0 = None;
    }

    fn with(&self, change: impl FnOnce(&mut Running)) {
        if let Some(mut running) = self.running()
            && let Some(running) = running.as_mut()
        {
            change(running);
        }
    }

    fn running(&self) -> Option<MutexGuard<'_, Option<Running>>> {
        // What was recorded before a panic is as good as ever.
        self.0.as_ref().map(|running| running.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Running {
    fn end(&mut self, ending: Ending) {
        let at = self.began.elapsed();
        self.ended.get_or_insert((at, ending));
    }

    fn hand_in(&mut self, retried: Option<Duration>) {
        let Some(recording) = self.recording.take() else { return };
        let (at, ending) = self.ended.take().unwrap_or_else(|| (self.began.elapsed(), Ending::Cancelled));
        recording.end(at, ending, retried);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.hand_in(None);
    }
}
