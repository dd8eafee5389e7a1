//! Stands where a model would be in commands that ask none.

use async_trait::async_trait;
use trunkline_message_tree::Origin;
use trunkline_providers::{ErrorKind, Provider, ProviderError, Reply, Request};

/// A provider that is never asked.
pub(crate) struct NoModel {
    origin: Origin,
}

impl NoModel {
    pub(crate) fn new() -> Self {
        NoModel { origin: Origin::new("none", "none") }
    }
}

#[async_trait]
impl Provider for NoModel {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn wire(&self) -> &str {
        "none"
    }

    async fn send(&self, _: Request) -> Result<Box<dyn Reply>, ProviderError> {
        Err(ProviderError::api(0, ErrorKind::Other, "this command asks no model; `trunkline resume` does"))
    }
}
