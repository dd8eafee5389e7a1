//! Where a provider is.
//!
//! People paste base URLs with and without `/v1`, with and without a slash at the end, and sometimes the whole address
//! of an endpoint. All of them mean the same place.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest as _, Sha256};

/// What people paste behind the base of the wires whose endpoints have one address each.
const ENDPOINTS: [&str; 4] = ["/chat/completions", "/responses", "/messages", "/api/chat"];

/// The address that a wire's paths are joined to.
///
/// ```
/// use trunkline_providers::BaseUrl;
///
/// let path = "/v1/chat/completions";
/// for base in ["http://localhost:8080", "http://localhost:8080/v1/", "http://localhost:8080/v1/chat/completions"] {
///     let base: BaseUrl = base.parse()?;
///     assert_eq!(base.join(path), "http://localhost:8080/v1/chat/completions");
/// }
/// // A version of the base's own is kept.
/// let base: BaseUrl = "https://example.com/api/paas/v4".parse()?;
/// assert_eq!(base.join(path), "https://example.com/api/paas/v4/chat/completions");
/// # Ok::<(), trunkline_providers::BaseUrlError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl {
    // Invariant: starts with `http://` or `https://`, has a host, no white space, no query, no slash at the end.
    text: String,
}

/// The text is not a base URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a base URL: {text:?}; write it like http://localhost:8080/v1")]
pub struct BaseUrlError {
    /// What was given.
    pub text: String,
}

impl BaseUrl {
    /// Returns the address of a wire's path.
    pub fn join(&self, path: &str) -> String {
        let versioned = self.path().split('/').any(is_version);
        let version = path.split('/').nth(1).filter(|segment| is_version(segment));
        let short = path.get(version.map_or(0, |version| version.len() + 1)..).unwrap_or(path);
        let base =
            self.text.strip_suffix(path).or_else(|| self.text.strip_suffix(short)).unwrap_or(&self.text);
        format!("{base}{}", if versioned && base.len() > self.origin_len() { short } else { path })
    }

    /// Returns the host, without port and user.
    pub fn host(&self) -> &str {
        let authority = self.text.get(self.scheme_len()..self.origin_len()).unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or(authority);
        match host.find(']') {
            Some(end) => host.get(..=end).unwrap_or(host),
            None => host.split(':').next().unwrap_or(host),
        }
    }

    /// Returns the address without user and password, as it can be kept and named again.
    pub fn without_user(&self) -> String {
        let (scheme, rest) = self.text.split_at(self.scheme_len());
        let authority = rest.find('/').unwrap_or(rest.len());
        let host = rest.get(..authority).and_then(|authority| authority.rfind('@')).map_or(0, |at| at + 1);
        format!("{scheme}{}", rest.get(host..).unwrap_or_default())
    }

    /// Returns a digest of the place, for [`Origin::address`](trunkline_message_tree::Origin::address).
    ///
    /// All that mean the same place have the same one. User and password are not in it.
    ///
    /// ```
    /// use trunkline_providers::BaseUrl;
    ///
    /// let digest = |text: &str| text.parse().map(|base: BaseUrl| base.digest());
    /// assert_eq!(digest("HTTPS://me:key@Example.com:443/v1/")?, digest("https://example.com")?);
    /// assert_ne!(digest("https://example.com/team")?, digest("https://example.com")?);
    /// # Ok::<(), trunkline_providers::BaseUrlError>(())
    /// ```
    pub fn digest(&self) -> String {
        let digest = Sha256::digest(self.normal().as_bytes());
        digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// The place in the form that its digest is made of.
    fn normal(&self) -> String {
        let scheme = self.text.get(..self.scheme_len()).unwrap_or_default().to_ascii_lowercase();
        let authority = self.text.get(self.scheme_len()..self.origin_len()).unwrap_or_default();
        let authority = authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
        let implied = if scheme == "https://" { ":443" } else { ":80" };
        let authority = authority.strip_suffix(implied).unwrap_or(&authority);
        let mut path = self.path().trim_end_matches('/');
        for endpoint in ENDPOINTS {
            path = path.strip_suffix(endpoint).unwrap_or(path);
        }
        if let Some((before, last)) = path.rsplit_once('/')
            && is_version(last)
        {
            path = before;
        }
        format!("{scheme}{authority}{}", path.trim_end_matches('/'))
    }

    fn path(&self) -> &str {
        self.text.get(self.origin_len()..).unwrap_or_default()
    }

    /// Returns the address of a wire's path for people: without user and password.
    #[cfg(feature = "http")]
    pub(crate) fn shown(&self, path: &str) -> String {
        BaseUrl { text: self.join(path) }.to_string()
    }

    /// Returns whether TLS is spoken there.
    #[cfg(feature = "http")]
    pub(crate) fn is_secure(&self) -> bool {
        self.text.starts_with("https://")
    }

    /// Returns the password in the address, if there is one.
    #[cfg(feature = "http")]
    pub(crate) fn password(&self) -> Option<&str> {
        let authority = self.text.get(self.scheme_len()..self.origin_len())?;
        let (user, _) = authority.rsplit_once('@')?;
        user.split_once(':').map(|(_, password)| password).filter(|password| !password.is_empty())
    }

    fn scheme_len(&self) -> usize {
        self.text.find("://").map_or(0, |at| at + "://".len())
    }

    fn origin_len(&self) -> usize {
        let start = self.scheme_len();
        let rest = self.text.get(start..).unwrap_or_default();
        start + rest.find('/').unwrap_or(rest.len())
    }
}

impl FromStr for BaseUrl {
    type Err = BaseUrlError;

    /// Reads `http://` and `https://` addresses; white space around and slashes at the end are taken off.
    ///
    /// # Errors
    ///
    /// [`BaseUrlError`] for other schemes, without a host, and with a query or a fragment.
    fn from_str(text: &str) -> Result<Self, BaseUrlError> {
        let bare = text.trim().trim_end_matches('/');
        // Schemes are read in any case, and kept in small letters.
        let scheme = bare.get(..bare.find("://").map_or(0, |at| at + 3)).unwrap_or_default();
        let lower =
            format!("{}{}", scheme.to_ascii_lowercase(), bare.get(scheme.len()..).unwrap_or_default());
        let bare = lower.as_str();
        let host = bare.strip_prefix("http://").or_else(|| bare.strip_prefix("https://"));
        let clean =
            !bare.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '?' | '#' | '\\'));
        match host {
            Some(host) if clean && !host.is_empty() && !host.starts_with(['/', ':']) => {
                Ok(BaseUrl { text: bare.to_owned() })
            }
            _ => Err(BaseUrlError { text: text.chars().take(100).collect() }),
        }
    }
}

impl fmt::Display for BaseUrl {
    /// Prints the address without user and password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.text.split_at(self.scheme_len());
        let authority = rest.find('/').unwrap_or(rest.len());
        let host = rest.get(..authority).and_then(|authority| authority.rfind('@')).map_or(0, |at| at + 1);
        write!(f, "{scheme}{}{}", if host > 0 { "***@" } else { "" }, rest.get(host..).unwrap_or_default())
    }
}

impl fmt::Debug for BaseUrl {
    /// As [`Display`](fmt::Display): a password is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string())
    }
}

/// `v1`, `v4`, `v1beta`.
fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
