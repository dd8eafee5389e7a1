//! How often and how patiently the model is asked again, as arithmetic.
//!
//! The policy sees no clock and no dice: what was spent and the jitter come in, a wait comes out. What does not pass by
//! itself is never tried again, whatever the policy says.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use trunkline_providers::{DecodeError, ProviderError, Waiting};

/// How often an address is tried that has never answered in a session: it is wrong more often than away.
const UNKNOWN_TIMES: u32 = 3;
/// Waits after a connection that broke: the first, and the longest.
const BROKEN: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(8));
/// Waits for a service that has too much to do. With the times and the jitter of the default they last longer than a minute,
/// the span that limits of requests are counted over.
const BUSY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(20));
/// What is added at most to a wait that the service asked for, so that not everybody comes back at once.
const BEHIND: Duration = Duration::from_secs(1);

/// How often and how patiently the model is asked again where that may help: the connection broke, an answer was cut,
/// stalled or garbled, the service has too much to do.
///
/// It is one budget for all attempts of one request, before and after its first word and across processes. When the
/// conversation has gone on, by an answer, a result or words of a person, it begins anew.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retries {
    /// How often a request is sent again. 8 unless told, which with the waits between them outlasts a minute of overload.
    pub times: u32,
    /// The most time that waits and further attempts of a request take together, from its first failure on. 10 minutes unless
    /// told. A service that asks for a longer wait is not waited for.
    pub time: Duration,
    /// Whether anything is waited for. It is, unless told: a recording that is played answers at once.
    pub waits: bool,
}

impl Default for Retries {
    fn default() -> Self {
        Retries { times: 8, time: Duration::from_secs(600), waits: true }
    }
}

/// Why an attempt to ask the model came to nothing.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Cause {
    /// There was no connection.
    Unreached,
    /// The connection broke, or the answer was cut, stalled or garbled.
    Broken,
    /// The service has too much to do, limits how often it is asked, or failed.
    Busy,
    /// The service makes the answer in the background and is not done.
    Unfinished,
    /// The answer came to its end and had no words and no call in it.
    Nothing,
    /// Something that does not pass by itself.
    Refused,
}

impl Cause {
    /// Returns of which kind a fault is.
    pub fn of(fault: &ProviderError) -> Self {
        match fault {
            ProviderError::Api { retryable: true, .. } => Cause::Busy,
            // A gateway's own page in front of a service that is down.
            ProviderError::Html { status, .. } if *status >= 500 => Cause::Busy,
            ProviderError::Transport { message, .. } if is_settled(message) => Cause::Refused,
            ProviderError::Transport { .. } | ProviderError::Timeout { what: Waiting::Connection, .. } => {
                Cause::Unreached
            }
            ProviderError::Proxy { message, .. } if fault.is_retryable() && !is_settled(message) => {
                Cause::Unreached
            }
            // For the whole answer there is no other attempt.
            ProviderError::Timeout { what: Waiting::WholeAnswer, .. } => Cause::Refused,
            ProviderError::Decode(DecodeError::Unfinished { .. }) => Cause::Unfinished,
            ProviderError::Cut
            | ProviderError::Timeout { .. }
            | ProviderError::Decode(
                DecodeError::Cut
                | DecodeError::Malformed { .. }
                | DecodeError::UnreadCall { .. }
                | DecodeError::Doubtful { .. }
                | DecodeError::NotUtf8,
            ) => Cause::Broken,
            _ => Cause::Refused,
        }
    }
}

/// Whether a connection could not be made for a reason that stays: a certificate that is not trusted, or what could not be
/// sent at all. In the words of our own transport.
fn is_settled(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["certificate", "corrupt message", "handshake", "header", "no method"]
        .iter()
        .any(|word| message.contains(word))
}

impl Retries {
    /// Returns the policy that never asks again.
    pub fn none() -> Self {
        Retries { times: 0, ..Retries::default() }
    }

    /// The same, for an address that has never answered.
    pub fn of_unknown(self) -> Self {
        Retries { times: self.times.min(UNKNOWN_TIMES), ..self }
    }

    /// The same, for an answer that is fetched by its id: it may take its time, however often it is looked for.
    pub fn of_fetching(self) -> Self {
        // Without waits it would be looked for without end.
        let times = if self.times == 0 || !self.waits { self.times } else { u32::MAX };
        Retries { times, ..self }
    }

    /// Returns how long to wait before the request is sent again, or `None` to give it up.
    ///
    /// `failed` counts the attempts that came to nothing, this one included; `jitter` is between 0 and 1 and shortens our own
    /// waits by up to a quarter; `spent` is the time since the first of them failed. Nobody comes back before
    /// the time that a service asked for.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trunkline_session_machine::Retries;
    /// use trunkline_providers::{ErrorKind, ProviderError};
    ///
    /// let retries = Retries::default();
    /// assert_eq!(retries.wait(1, &ProviderError::Cut, 0.0, Duration::ZERO), Some(Duration::from_millis(500)));
    /// let wrong_key = ProviderError::api(401, ErrorKind::Auth, "invalid x-api-key");
    /// assert_eq!(retries.wait(1, &wrong_key, 0.0, Duration::ZERO), None);
    /// ```
    pub fn wait(&self, failed: u32, fault: &ProviderError, jitter: f64, spent: Duration) -> Option<Duration> {
        let (first, longest) = match Cause::of(fault) {
            Cause::Unreached | Cause::Broken => BROKEN,
            Cause::Busy | Cause::Unfinished => BUSY,
            Cause::Nothing | Cause::Refused => return None,
        };
        if failed > self.times {
            return None;
        }
        if !self.waits {
            return Some(Duration::ZERO);
        }
        let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
        let doublings = failed.saturating_sub(1).min(16);
        let own = first.saturating_mul(1 << doublings).min(longest).mul_f64(1.0 - 0.25 * jitter);
        let wait = match fault.retry_after() {
            Some(asked) => asked.max(own).saturating_add((asked / 20).min(BEHIND).mul_f64(jitter)),
            None => own,
        };
        (spent.saturating_add(wait) <= self.time).then_some(wait)
    }
}
