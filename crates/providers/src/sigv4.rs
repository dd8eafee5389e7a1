//! AWS Signature Version 4, for Bedrock and what else AWS serves.
//!
//! Of our own: the SDK's crate for it brings 69 crates where this brings one. A path is encoded twice in what is
//! signed, once for the address and once more for the signature; a model's id with `:` in it shows that. Read in AWS's
//! documents and checked against its test suite and its Python client, 2026-11.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};
use trunkline_message_tree::Timestamp;

use crate::percent::encode_into;
use crate::{HttpRequest, Secret, Sign, SignError};

// Headers that a proxy or a client may change on the way (botocore 1.44.5), and those that signing itself makes.
const UNSIGNED: [&str; 8] = [
    "authorization",
    "connection",
    "expect",
    "host",
    "transfer-encoding",
    "user-agent",
    "x-amz-date",
    "x-amzn-trace-id",
];

/// Signs with AWS Signature Version 4.
///
/// ```
/// use trunkline_message_tree::{Message, Timestamp};
/// use trunkline_providers::{Bedrock, Request, Secret, Sign, SigV4, Wire};
///
/// let model = "anthropic.claude-haiku-4-5-20251001-v1:0";
/// let request = Bedrock::new().encode(&Request::new(model, vec![Message::user("hi")]))?;
/// let signer = SigV4::new("eu-central-1", "AKIDEXAMPLE", Secret::new("not a real one"));
/// let url = format!("https://bedrock-runtime.eu-central-1.amazonaws.com{}", request.path);
/// let headers = signer.sign(&request, &url, Timestamp(1_792_000_000_000))?;
/// assert_eq!(headers[0], ("x-amz-date".to_owned(), "20261014T174640Z".to_owned()));
/// assert!(headers[1].1.starts_with("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261014/eu-central-1/bedrock/aws4_request"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SigV4 {
    /// The region that the address lies in, such as `us-east-1`.
    pub region: String,
    /// The service as signatures name it; `bedrock` unless said otherwise.
    pub service: String,
    /// The public half of the key.
    pub access_key_id: String,
    /// The secret half of the key.
    pub secret_access_key: Secret,
    /// What temporary credentials carry besides.
    pub session_token: Option<Secret>,
}

impl SigV4 {
    /// Returns a signer for Bedrock.
    pub fn new(
        region: impl Into<String>,
        access_key_id: impl Into<String>,
        secret_access_key: Secret,
    ) -> Self {
        SigV4 {
            region: region.into(),
            service: "bedrock".to_owned(),
            access_key_id: access_key_id.into(),
            secret_access_key,
            session_token: None,
        }
    }

    /// Adds the token of temporary credentials.
    pub fn with_session_token(mut self, token: Secret) -> Self {
        self.session_token = Some(token);
        self
    }

    /// Signs for another service of AWS.
    pub fn for_service(mut self, service: impl Into<String>) -> Self {
        self.service = service.into();
        self
    }

    fn check(&self) -> Result<(), SignError> {
        let token = self.session_token.as_ref().map_or("-", Secret::expose);
        let parts = [
            ("region", self.region.as_str()),
            ("service", &self.service),
            ("access key id", &self.access_key_id),
            ("secret access key", self.secret_access_key.expose()),
            ("session token", token),
        ];
        let fits = |text: &str| !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        match parts.into_iter().find(|(_, text)| !fits(text)) {
            Some((what, _)) => Err(SignError::Credentials { what }),
            None => Ok(()),
        }
    }
}

impl Sign for SigV4 {
    fn sign(
        &self,
        request: &HttpRequest,
        url: &str,
        at: Timestamp,
    ) -> Result<Vec<(String, String)>, SignError> {
        self.check()?;
        let address = Address::of(url).ok_or_else(|| SignError::Url { url: url.to_owned() })?;
        let (date, time) = date_and_time(at).ok_or(SignError::Time { at })?;

        let mut headers = vec![("host".to_owned(), address.host), ("x-amz-date".to_owned(), time.clone())];
        let token = self.session_token.as_ref().map(Secret::expose);
        headers.extend(token.map(|token| ("x-amz-security-token".to_owned(), token.to_owned())));
        for (name, value) in &request.headers {
            let name = name.to_ascii_lowercase();
            let ours = name == "x-amz-security-token" && token.is_some();
            if ours || UNSIGNED.contains(&name.as_str()) {
                continue;
            }
            if value.bytes().any(|byte| byte.is_ascii_control() && byte != b'\t') {
                return Err(SignError::Header { name });
            }
            let value =
                value.split([' ', '\t']).filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
            // Values of one name are joined in the order in which they are sent.
            match headers.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => {
                    values.push(',');
                    values.push_str(&value);
                }
                None => headers.push((name, value)),
            }
        }
        headers.sort();
        let signed: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
        let signed = signed.join(";");

        let mut canonical = format!("{}\n{}\n{}\n", request.method, address.path, address.query);
        for (name, value) in &headers {
            let _ = writeln!(canonical, "{name}:{value}");
        }
        let _ = write!(canonical, "\n{signed}\n{}", body_hash(request));

        let scope = format!("{date}/{}/{}/aws4_request", self.region, self.service);
        let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(&canonical)));
        let secret = format!("AWS4{}", self.secret_access_key.expose());
        let mut key = secret.into_bytes();
        for step in [date.as_str(), &self.region, &self.service, "aws4_request"] {
            key = mac(&key, step);
        }
        let signature = hex(&mac(&key, &to_sign));
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={signed}, Signature={signature}",
            self.access_key_id
        );

        let mut added = vec![("x-amz-date".to_owned(), time), ("authorization".to_owned(), authorization)];
        added.extend(token.map(|token| ("x-amz-security-token".to_owned(), token.to_owned())));
        Ok(added)
    }
}

fn body_hash(request: &HttpRequest) -> String {
    let mut hash = Sha256::new();
    request.body.chunks().iter().for_each(|chunk| hash.update(chunk));
    hex(&hash.finalize())
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// An address, as signatures see it.
struct Address {
    host: String,
    path: String,
    query: String,
}

impl Address {
    fn of(url: &str) -> Option<Self> {
        let (scheme, rest) = url.split_once("://")?;
        let usual_port = match scheme.to_ascii_lowercase().as_str() {
            "https" => ":443",
            "http" => ":80",
            _ => return None,
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, target) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
        let host = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
        let host = host.strip_suffix(usual_port).unwrap_or(&host);
        if host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Some(Address { host: host.to_owned(), path: canonical_path(path), query: canonical_query(query) })
    }
}

/// Takes the dots and empty steps out of a path and encodes it once more.
fn canonical_path(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => {
                steps.pop();
            }
            step => steps.push(step),
        }
    }
    let mut canonical = String::from("/");
    for (index, step) in steps.iter().enumerate() {
        if index > 0 {
            canonical.push('/');
        }
        encode_into(step.as_bytes(), &mut canonical);
    }
    let ends_open = path.ends_with('/') || path.ends_with("/.") || path.ends_with("/..");
    if ends_open && canonical.len() > 1 {
        canonical.push('/');
    }
    canonical
}

fn canonical_query(query: &str) -> String {
    let once = |text: &str| {
        let mut encoded = String::new();
        encode_into(&decoded(text), &mut encoded);
        encoded
    };
    let mut pairs: Vec<(String, String)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (once(name), once(value)))
        .collect();
    pairs.sort();
    let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = (*first == b'%').then(|| tail.get(..2).and_then(|digits| str::from_utf8(digits).ok()));
        match digits.flatten().and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

/// Returns `20261014` and `20261014T174640Z`, in universal time; nothing for years of five digits.
fn date_and_time(at: Timestamp) -> Option<(String, String)> {
    let seconds = at.0 / 1000;
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years of 400 have one length; counted from a March, a leap day ends its year.
    let days = i64::try_from(days).ok()?.checked_add(719_468)?;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let year = year + era * 400 + i64::from(month >= 10);
    let month = if month < 10 { month + 3 } else { month - 9 };
    if year > 9999 {
        return None;
    }
    let date = format!("{year:04}{month:02}{day:02}");
    let time = format!("{date}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60);
    Some((date, time))
}
