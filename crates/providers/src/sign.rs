//! Signing: for services that want more than a key in a header.
//!
//! A signature is made of the request as it will be sent, so it comes last, when the address is known and nothing is
//! added any more. The time comes in: signing asks no clock.

use trunkline_message_tree::Timestamp;

use crate::HttpRequest;

/// Signs requests.
pub trait Sign: Send + Sync {
    /// Returns the headers that must be added to `request` when it is sent to `url` at the time `at`.
    ///
    /// The body is read as a whole, piece by piece: what is shared with the request before costs its hash again.
    ///
    /// # Errors
    ///
    /// [`SignError`] if the address, the credentials or a header cannot be signed.
    fn sign(
        &self,
        request: &HttpRequest,
        url: &str,
        at: Timestamp,
    ) -> Result<Vec<(String, String)>, SignError>;
}

/// Why a request could not be signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The address is none.
    #[error(
        "not an address that can be signed for: {url:?}; it must begin with http:// or https:// and name a host"
    )]
    Url {
        /// What was given.
        url: String,
    },
    /// A part of the credentials is missing or cannot stand in a header.
    #[error("the {what} of the credentials is empty or has characters that no header can hold")]
    Credentials {
        /// Which part.
        what: &'static str,
    },
    /// A header has a value that no header can hold.
    #[error("header {name} cannot be signed: its value has control characters")]
    Header {
        /// The name.
        name: String,
    },
    /// The time has no four-digit year.
    #[error("{at} is no time that can be signed")]
    Time {
        /// What was given.
        at: Timestamp,
    },
}
