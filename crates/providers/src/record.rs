//! Where exchanges are recorded to, and the recording of one.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use trunkline_message_tree::Origin;

use crate::{Ending, Exchange, HttpRequest, Secret};

// Bounds memory and disk against a hostile endpoint.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// Something that is told of each exchange when it has ended.
///
/// What it is given holds neither keys nor cookies. It is called while an answer is read or dropped: it must not block
/// for long and cannot fail.
pub trait Record: Send + Sync {
    /// Takes in one exchange.
    fn exchange(&self, exchange: &Exchange);
}

impl<F: Fn(&Exchange) + Send + Sync> Record for F {
    fn exchange(&self, exchange: &Exchange) {
        self(exchange);
    }
}

/// One exchange that is under way, for whoever sends requests.
///
/// It is recorded when it ends, and when it is dropped before that: then it was cancelled.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use std::time::Duration;
/// use trunkline_message_tree::Message;
/// use trunkline_providers::{Anthropic, Ending, Exchange, Recording, Request, Wire};
///
/// let tape = Arc::new(Mutex::new(Vec::new()));
/// let record = { let tape = Arc::clone(&tape); move |exchange: &Exchange| tape.lock().unwrap().push(exchange.clone()) };
/// let request = Anthropic::new().encode(&Request::new("m", [Message::user("hi")]))?;
///
/// let mut recording = Recording::begin(Arc::new(record), "anthropic", &request, None);
/// recording.answered(200, [("content-type", "text/event-stream"), ("set-cookie", "s=1")]);
/// recording.received(Duration::from_millis(7), "data: ");
/// drop(recording);
/// assert_eq!(tape.lock().unwrap()[0].ending, Ending::Cancelled);
/// assert_eq!(tape.lock().unwrap()[0].headers.len(), 1);
/// # Ok::<(), trunkline_providers::EncodeError>(())
/// ```
pub struct Recording {
    to: Arc<dyn Record>,
    keys: Vec<Secret>,
    // `None` once it was recorded.
    exchange: Option<Exchange>,
    // The time of the newest thing that happened.
    now: Duration,
    size: usize,
}

impl Recording {
    /// Begins to record an exchange. Keys are taken out of all that is kept; all times count from here.
    pub fn begin<'a>(
        to: Arc<dyn Record>,
        wire: &str,
        request: &HttpRequest,
        keys: impl IntoIterator<Item = &'a Secret>,
    ) -> Self {
        let exchange = Some(Exchange::new(wire, request));
        Recording { to, keys: keys.into_iter().cloned().collect(), exchange, now: Duration::ZERO, size: 0 }
    }

    /// Says who is asked, so that a cassette can be played by somebody who was not told.
    pub fn of(mut self, origin: &Origin) -> Self {
        if let Some(exchange) = &mut self.exchange {
            exchange.origin = Some(origin.clone());
        }
        self
    }

    /// Takes in the head of the response.
    pub fn answered<'a>(&mut self, status: u16, headers: impl IntoIterator<Item = (&'a str, &'a str)>) {
        if let Some(exchange) = &mut self.exchange {
            exchange.answered(status, headers);
        }
    }

    /// Takes in the next piece of the body. What goes beyond 64 MiB is left out, and the answer counts as cut.
    pub fn received(&mut self, at: Duration, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.now = at;
        self.size = self.size.saturating_add(bytes.len());
        if let Some(exchange) = self.exchange.as_mut().filter(|_| self.size <= BODY_LIMIT) {
            exchange.received(at, bytes);
        }
    }

    /// Says how it ended, and after what wait the same request is sent again, if it is.
    pub fn end(mut self, at: Duration, ending: Ending, retried: Option<Duration>) {
        self.now = at;
        self.record(ending, retried);
    }

    fn record(&mut self, ending: Ending, retried: Option<Duration>) {
        let Some(mut exchange) = self.exchange.take() else { return };
        let ending = if self.size > BODY_LIMIT { Ending::Cut } else { ending };
        exchange.end(self.now, ending, retried);
        let exchange = self.keys.iter().fold(exchange, Exchange::without);
        self.to.exchange(&exchange);
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.record(Ending::Cancelled, None);
    }
}
