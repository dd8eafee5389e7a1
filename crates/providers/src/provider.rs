//! The async face of a provider: send a request, take events out.
//!
//! No runtime is named here. Who drops a reply drops its connection, which is how a turn is cancelled.

use std::sync::Arc;

use async_trait::async_trait;
use trunkline_message_tree::Origin;

use crate::{ErrorKind, Event, Feature, ProviderError, Request, Support, Traits, Wire, retry};

/// Something that answers requests: a service, a local server, a script.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Returns the provider's name and the model that it is set up for; written on every message it gives.
    fn origin(&self) -> &Origin;

    /// Returns the name of its wire, `anthropic` or `openai-chat`; rules for legal histories go by it.
    fn wire(&self) -> &str;

    /// Returns what it makes of a feature; what [`Wire::support`] says, unless it knows better of the service behind it.
    /// Nothing is taken for granted unless told: [`Support::None`].
    fn support(&self, feature: Feature) -> Support {
        let _ = feature;
        Support::None
    }

    /// Begins to send a request.
    ///
    /// May return before anything was sent; faults of the connection and refusals of the service then come from
    /// [`Reply::next`], after events that tell of attempts.
    ///
    /// # Errors
    ///
    /// [`ProviderError::Encode`] if the request is not legal on the wire; any other kind if it could not be sent.
    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError>;

    /// Returns whether the service makes the answer to this request in the background, so that it can be [fetched](Provider::fetch).
    fn answers_in_background(&self, request: &Request) -> bool {
        let _ = request;
        false
    }

    /// Begins to fetch the answer of that id, which the service was making to `request` in the background when its connection
    /// broke; see [`Fold::id`](crate::Fold::id). `None` if no answer is kept there: the request has to be sent.
    ///
    /// # Errors
    ///
    /// As [`send`](Provider::send).
    async fn fetch(&self, request: &Request, id: &str) -> Result<Option<Box<dyn Reply>>, ProviderError> {
        let _ = (request, id);
        Ok(None)
    }
}

/// An answer on its way. Dropping it drops the connection at once.
#[async_trait]
pub trait Reply: Send {
    /// Returns the next event, or `None` when the message is complete.
    ///
    /// Cancel safe: a future that is dropped loses no event. Who reads until `None` lets the connection be used again.
    ///
    /// # Errors
    ///
    /// [`ProviderError`], after which the reply is over. What came before it can be kept with
    /// [`Fold::cut`](crate::Fold::cut).
    async fn next(&mut self) -> Result<Option<Event>, ProviderError>;
}

/// Lets a pointer to a provider be one.
macro_rules! provider_behind {
    ($pointer:ident) => {
        /// Does what the provider behind it does.
        #[async_trait]
        impl<T: Provider + ?Sized> Provider for $pointer<T> {
            fn origin(&self) -> &Origin {
                (**self).origin()
            }

            fn wire(&self) -> &str {
                (**self).wire()
            }

            fn support(&self, feature: Feature) -> Support {
                (**self).support(feature)
            }

            async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
                (**self).send(request).await
            }

            fn answers_in_background(&self, request: &Request) -> bool {
                (**self).answers_in_background(request)
            }

            async fn fetch(
                &self,
                request: &Request,
                id: &str,
            ) -> Result<Option<Box<dyn Reply>>, ProviderError> {
                (**self).fetch(request, id).await
            }
        }
    };
}

provider_behind!(Box);
provider_behind!(Arc);

/// Returns whether a response of this status has an answer in it.
pub(crate) fn is_answer(status: u16) -> bool {
    // No Content and Reset Content have no body.
    (200..300).contains(&status) && !matches!(status, 204 | 205)
}

/// Reads a response that has no answer in it.
pub(crate) fn refusal(
    wire: &dyn Wire,
    sent: &Traits,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> ProviderError {
    match status {
        200..=299 => ProviderError::api(status, ErrorKind::Other, "the service answered without an answer"),
        300..=399 => {
            let to = retry::header(headers, "location").unwrap_or("nowhere");
            let message = format!("it redirects to {to}: is that the right base URL?");
            ProviderError::api(status, ErrorKind::NotFound, &message)
        }
        _ => wire.error(status, headers, body).wanting(wire.learn(sent, status, body)),
    }
}
