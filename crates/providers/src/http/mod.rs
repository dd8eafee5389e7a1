//! Sends requests over HTTP.
//!
//! Only the module `client` names the HTTP client. What was encoded for earlier requests is kept here, so that a turn
//! costs what was added to the conversation, and is handed to the client without being copied.

mod body;
mod client;
mod memos;
mod reply;
mod tape;
mod timeouts;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use trunkline_message_tree::Origin;

use crate::error::one_line;
use crate::{
    BaseUrl, EncodeError, HttpRequest, Provider, ProviderError, Record, Reply, Request, RetryPolicy, Secret,
    Sign, Wire,
};
use crate::{Feature, Support};
use client::Client;
use memos::Memos;
use reply::HttpReply;

pub use timeouts::Timeouts;

/// A provider at an address. Connections are kept and used again.
///
/// Redirects are not followed: the key would go where nobody meant it to go. Proxies are taken from `HTTPS_PROXY`,
/// `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, certificates from the system and from `SSL_CERT_FILE`, all when the provider
/// is made.
///
/// What was encoded is kept for the four conversations that were used last; see [`Memo`](crate::Memo).
pub struct HttpProvider {
    shared: Arc<Shared>,
    retry: RetryPolicy,
    timeouts: Timeouts,
}

/// What a reply needs of its provider.
#[derive(Clone)]
struct Shared {
    client: Arc<Client>,
    wire: Arc<dyn Wire>,
    base: BaseUrl,
    // Win over those of the wire.
    headers: Vec<(String, String)>,
    signer: Option<Arc<dyn Sign>>,
    record: Option<Arc<dyn Record>>,
    // Kept to take them out of errors that quote them.
    secrets: Vec<Secret>,
    origin: Origin,
    memos: Arc<Memos>,
}

impl HttpProvider {
    /// Returns a provider that speaks `wire` at `base`; local servers need no key.
    ///
    /// `origin` is written on every message: the provider's name, and the model that requests are for by default. It is given
    /// the digest of `base` unless it has an address.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Transport`] if the key cannot stand in a header or TLS cannot be set up.
    pub fn new(
        wire: Box<dyn Wire>,
        base: BaseUrl,
        key: Option<&Secret>,
        origin: Origin,
    ) -> Result<Self, ProviderError> {
        let mut headers = Vec::new();
        if let Some(key) = key {
            let (name, value) = wire.key_header(key);
            if client::check_header(&name, &value).is_err() {
                // The value is not quoted: it is the key.
                return Err(not_sent(&base, "the key has characters that a header cannot have"));
            }
            headers.push((name, value));
        }
        let timeouts = Timeouts::default();
        let client =
            Client::new(timeouts.connect, base.is_secure()).map_err(|reason| not_sent(&base, &reason))?;
        let origin = match origin.address {
            Some(_) => origin,
            None => origin.at(base.digest()),
        };
        let secrets = key.cloned().into_iter().chain(base.password().map(Secret::new)).collect();
        let shared = Shared {
            client: Arc::new(client),
            wire: wire.into(),
            base,
            headers,
            signer: None,
            record: None,
            secrets,
            origin,
            memos: Arc::default(),
        };
        Ok(HttpProvider { shared: Arc::new(shared), retry: RetryPolicy::default(), timeouts })
    }

    /// Tries again as this policy says.
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// Waits as long as this says.
    pub fn with_timeouts(mut self, timeouts: Timeouts) -> Self {
        if timeouts.connect != self.timeouts.connect {
            let client = Client::new(timeouts.connect, self.shared.base.is_secure());
            // It could be set up a moment ago, with the same certificates. If it cannot now, the old one still can.
            if let Ok(client) = client {
                self.shared_mut().client = Arc::new(client);
            }
        }
        self.timeouts = timeouts;
        self
    }

    /// Sends a header with every request; it replaces one of ours with the same name, the key's included.
    ///
    /// Values of headers whose names speak of keys, tokens or cookies are taken out of errors, as the key is.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Transport`] if name or value cannot stand in a header, and for headers that say where the body
    /// ends.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, ProviderError> {
        client::check_header(name, value).map_err(|reason| not_sent(&self.shared.base, &reason))?;
        let shared = self.shared_mut();
        shared.secrets.extend(secrets_in(name, value));
        replace(&mut shared.headers, name, value);
        Ok(self)
    }

    /// Signs each attempt, as services do that want more than a key in a header. Signing reads the whole body.
    pub fn with_signer(mut self, signer: impl Sign + 'static) -> Self {
        self.shared_mut().signer = Some(Arc::new(signer));
        self
    }

    /// Records each attempt, as it came, without keys: one that is refused or cut off, and one that is left in the middle.
    ///
    /// A digest is made of each request, which reads the whole body.
    pub fn with_record(mut self, record: Arc<dyn Record>) -> Self {
        self.shared_mut().record = Some(record);
        self
    }

    fn shared_mut(&mut self) -> &mut Shared {
        Arc::make_mut(&mut self.shared)
    }

    fn encode(&self, request: &Request) -> Result<HttpRequest, EncodeError> {
        let mut memo = self.shared.memos.take(&request.messages);
        let mut encoded = self.shared.wire.encode_next(request, &mut memo)?;
        self.shared.memos.put(memo);
        for (name, value) in &self.shared.headers {
            replace(&mut encoded.headers, name, value);
        }
        Ok(encoded)
    }
}

impl fmt::Debug for HttpProvider {
    /// Shows no values of headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.shared.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("HttpProvider")
            .field("wire", &self.shared.wire.name())
            .field("base", &self.shared.base)
            .field("origin", &self.shared.origin)
            .field("headers", &names)
            .field("signed", &self.shared.signer.is_some())
            .field("recorded", &self.shared.record.is_some())
            .field("retry", &self.retry)
            .field("timeouts", &self.timeouts)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Provider for HttpProvider {
    fn origin(&self) -> &Origin {
        &self.shared.origin
    }

    fn wire(&self) -> &str {
        self.shared.wire.name()
    }

    fn support(&self, feature: Feature) -> Support {
        self.shared.wire.support(feature)
    }

    /// Returns before anything was sent; the first [`Reply::next`] connects.
    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let encoded = self.encode(&request)?;
        let url = client::address(&self.shared.base.join(&encoded.path))
            .map_err(|reason| not_sent(&self.shared.base, &reason))?;
        Ok(Box::new(HttpReply::new(
            Arc::clone(&self.shared),
            request,
            encoded,
            url,
            self.retry,
            self.timeouts,
        )))
    }
}

fn not_sent(base: &BaseUrl, message: &str) -> ProviderError {
    ProviderError::Transport { endpoint: base.to_string(), message: one_line(message, 300) }
}

/// Sets a header, in place of all others of its name.
fn replace(headers: &mut Vec<(String, String)>, name: &str, value: &str) {
    headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
    headers.push((name.to_owned(), value.to_owned()));
}

/// What nobody must see in a header: its value, also without the scheme that stands before it.
fn secrets_in(name: &str, value: &str) -> Vec<Secret> {
    const TELLING: [&str; 6] = ["auth", "key", "token", "secret", "password", "cookie"];
    let name = name.to_ascii_lowercase();
    if !TELLING.iter().any(|word| name.contains(word)) {
        return Vec::new();
    }
    let bare = value.trim().split_once(' ').map(|(_, bare)| bare);
    bare.into_iter().chain([value]).map(Secret::new).collect()
}
