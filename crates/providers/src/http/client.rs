//! The HTTP client, as much of it as we use. The only file that names it.

use std::error::Error as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

pub(super) use reqwest::Url;

use super::body::Chunks;
use super::trust;
use crate::{HttpRequest, retry};

/// Keeps connections.
pub(super) struct Client {
    inner: reqwest::Client,
    connect: Duration,
}

/// Why there is no answer, or not all of it.
pub(super) enum Lost {
    /// There was no connection within this time.
    Connecting(Duration),
    /// In the client's words.
    Broken(String),
}

/// The head of a response; its body is still to come. Dropping it closes the connection.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    response: reqwest::Response,
}

impl Client {
    /// Sets up TLS, and proxies by the usual variables unless hosts are asked directly.
    pub(super) fn new(connect: Duration, secure: bool, direct: bool) -> Result<Self, String> {
        let certificates = if secure { trust::extra_certificates()? } else { Vec::new() };
        let mut tls = trust::system_and(certificates);
        if tls.is_err() && !secure {
            // A machine without certificates can still talk to a server on it.
            tls = trust::no_server();
        }
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls?)
            .connect_timeout(connect)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("trunkline/", env!("CARGO_PKG_VERSION")));
        let builder = if direct { builder.no_proxy() } else { builder };
        Ok(Client { inner: builder.build().map_err(words)?, connect })
    }

    /// Returns what waits for the head of the answer. Nothing is sent before it is polled.
    pub(super) fn send(
        &self,
        request: &HttpRequest,
        signature: &[(String, String)],
        url: &Url,
    ) -> Result<impl Future<Output = Result<Answer, Lost>> + Send + use<>, String> {
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| format!("{:?} is no method", request.method))?;
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers.iter().chain(signature) {
            let (name, value) = header(name, value)?;
            headers.insert(name, value);
        }
        let body = reqwest::Body::wrap(Chunks::of(&request.body));
        let built =
            self.inner.request(method, url.clone()).headers(headers).body(body).build().map_err(words)?;
        let (sending, connect) = (self.inner.execute(built), self.connect);
        Ok(async move {
            match sending.await {
                Ok(response) => Ok(Answer::of(response)),
                Err(error) if error.is_connect() && error.is_timeout() => Err(Lost::Connecting(connect)),
                Err(error) => Err(Lost::Broken(words(error))),
            }
        })
    }
}

impl Answer {
    fn of(response: reqwest::Response) -> Self {
        let mut headers: Vec<(String, String)> = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        // What a date in `retry-after` is measured against.
        if retry::header(&headers, "date").is_none() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            headers.push(("date".to_owned(), retry::print_date(now.as_secs())));
        }
        Answer { status: response.status().as_u16(), headers, response }
    }

    /// Returns the next piece of the body, or `None` at its end. Cancel safe.
    pub(super) async fn bytes(&mut self) -> Result<Option<Bytes>, Lost> {
        self.response.chunk().await.map_err(|error| Lost::Broken(words(error)))
    }
}

/// Returns the address as it will be asked for: what is signed must be what is sent.
pub(super) fn address(url: &str) -> Result<Url, String> {
    Url::parse(url).map_err(|fault| fault.to_string())
}

/// Says whether this can be sent as a header, without quoting the value: it may be a key.
pub(super) fn check_header(name: &str, value: &str) -> Result<(), String> {
    header(name, value).map(|_| ())
}

fn header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), String> {
    // A length of our own would cut the body, or make the server wait for more.
    let ours = ["content-length", "transfer-encoding", "connection"];
    if ours.iter().any(|header| name.eq_ignore_ascii_case(header)) {
        return Err(format!("{name} is set by the transport"));
    }
    let fault = || format!("{name:?} cannot be sent as a header");
    let key = HeaderName::try_from(name).map_err(|_| fault())?;
    let mut value = HeaderValue::try_from(value).map_err(|_| fault())?;
    // Not printed, and not put into tables of compressed headers.
    value.set_sensitive(true);
    Ok((key, value))
}

/// The last cause says what happened ("connection refused"); the outer ones only that something did.
fn words(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause = error.source();
    let mut last = error.to_string();
    while let Some(inner) = cause {
        last = inner.to_string();
        cause = inner.source();
    }
    last
}
