//! Sends requests over HTTP.
//!
//! Only the module `client` names the HTTP client. What was encoded for earlier requests is kept here, so that a turn
//! costs what was added to the conversation, and is handed to the client without being copied.

mod body;
mod client;
mod proxy;
mod reply;
mod tape;
mod timeouts;
mod trust;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use trunkline_message_tree::Origin;

use crate::error::one_line;
use crate::memos::Memos;
use crate::{
    BaseUrl, Bounds, Decode, EncodeError, HttpRequest, Provider, ProviderError, Record, Reply, Request,
    RetryPolicy, Secret, Sign, Wire,
};
use crate::{Feature, Support};
use client::{Client, Url};
use proxy::Proxy;
use reply::HttpReply;

pub use timeouts::Timeouts;

/// A provider at an address. Connections are kept and used again.
///
/// Redirects are not followed: the key would go where nobody meant it to go. Proxies are taken from `HTTPS_PROXY`,
/// `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY`, certificates from the system and from `SSL_CERT_FILE`, all when the provider
/// is made. Servers on this machine (`localhost`, 127.0.0.0/8, `::1`) are asked directly whatever the variables say.
///
/// Of one answer no more is taken than [`Bounds`] say.
///
/// What was encoded is kept for the four conversations that were used last, and for up to 64 as long as that is no more than
/// 32 MiB together; see [`Memo`](crate::Memo).
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
    // Who stands between.
    proxy: Option<Proxy>,
    // Win over those of the wire.
    headers: Vec<(String, String)>,
    signer: Option<Arc<dyn Sign>>,
    record: Option<Arc<dyn Record>>,
    // Kept to take them out of errors that quote them.
    secrets: Vec<Secret>,
    origin: Origin,
    memos: Arc<Memos>,
    bounds: Bounds,
}

impl Shared {
    /// Puts the headers that go with every request.
    fn put_headers(&self, encoded: &mut HttpRequest) {
        for (name, value) in &self.headers {
            replace(&mut encoded.headers, name, value);
        }
    }

    /// Returns what fetches an answer that the service makes in the background.
    fn fetching(&self, request: &Request, id: &str) -> Option<HttpRequest> {
        let mut encoded = self.wire.fetch(request, id)?;
        self.put_headers(&mut encoded);
        Some(encoded)
    }

    fn address(&self, encoded: &HttpRequest) -> Result<Url, ProviderError> {
        client::address(&self.base.join(&encoded.path)).map_err(|reason| not_sent(&self.base, &reason))
    }

    /// Says that a connection could not be made, or broke before the answer.
    fn unreached(&self, reason: &str) -> ProviderError {
        match &self.proxy {
            Some(proxy) => self.proxy_failed(proxy, None, reason),
            None => not_sent(&self.base, reason),
        }
    }

    fn proxy_failed(&self, proxy: &Proxy, status: Option<u16>, reason: &str) -> ProviderError {
        ProviderError::Proxy {
            endpoint: self.base.to_string(),
            proxy: proxy.name.clone(),
            status,
            message: one_line(reason, 300),
        }
    }

    /// Takes a page that a proxy made for one of the proxy.
    fn behind_proxy(&self, error: ProviderError, status: u16) -> ProviderError {
        let page = matches!(error, ProviderError::Html { .. });
        match self.proxy.as_ref().filter(|proxy| proxy.reads && (page || status == 407)) {
            Some(proxy) => {
                let said = match error {
                    ProviderError::Api { message, .. } => message,
                    _ => "a web page".to_owned(),
                };
                let reason = format!("it, or what is behind it, answers with status {status}: {said}");
                self.proxy_failed(proxy, Some(status), &reason)
            }
            None => error,
        }
    }

    fn decoder(&self, request: &Request) -> Box<dyn Decode> {
        self.bounds.around(self.wire.decoder(request))
    }
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
        let client = connect(timeouts.connect, &base).map_err(|reason| not_sent(&base, &reason))?;
        let proxy = Proxy::of(base.is_secure(), base.host(), |name| std::env::var(name).ok());
        let origin = match origin.address {
            Some(_) => origin,
            None => origin.at(base.digest()),
        };
        let secrets = key.cloned().into_iter().chain(base.password().map(Secret::new)).collect();
        let shared = Shared {
            client: Arc::new(client),
            wire: wire.into(),
            base,
            proxy,
            headers,
            signer: None,
            record: None,
            secrets,
            origin,
            memos: Arc::default(),
            bounds: Bounds::default(),
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
            let client = connect(timeouts.connect, &self.shared.base);
            // It could be set up a moment ago, with the same certificates. If it cannot now, the old one still can.
            if let Ok(client) = client {
                self.shared_mut().client = Arc::new(client);
            }
        }
        self.timeouts = timeouts;
        self
    }

    /// Takes so much of one answer and no more. At a bound the connection is closed.
    pub fn with_bounds(mut self, bounds: Bounds) -> Self {
        self.shared_mut().bounds = bounds;
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
        self.shared.put_headers(&mut encoded);
        Ok(encoded)
    }

    fn reply(
        &self,
        request: Request,
        encoded: HttpRequest,
        fetches: bool,
    ) -> Result<HttpReply, ProviderError> {
        let url = self.shared.address(&encoded)?;
        let shared = Arc::clone(&self.shared);
        Ok(HttpReply::new(shared, request, (encoded, url), fetches, self.retry, self.timeouts))
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
            .field("bounds", &self.shared.bounds)
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
        Ok(Box::new(self.reply(request, encoded, false)?))
    }

    fn answers_in_background(&self, request: &Request) -> bool {
        self.shared.wire.fetch(request, "id").is_some()
    }

    async fn fetch(&self, request: &Request, id: &str) -> Result<Option<Box<dyn Reply>>, ProviderError> {
        let Some(encoded) = self.shared.fetching(request, id) else { return Ok(None) };
        Ok(Some(Box::new(self.reply(request.clone(), encoded, true)?)))
    }
}

fn connect(patience: Duration, base: &BaseUrl) -> Result<Client, String> {
    Client::new(patience, base.is_secure(), proxy::is_this_machine(base.host()))
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
