//! A provider that takes its time, so that a person can watch.

use std::time::Duration;

use async_trait::async_trait;
use trunkline_message_tree::Origin;
use trunkline_providers::{Event, Feature, Provider, ProviderError, Reply, Request, Scripted, Support};

/// A scripted model that pauses before each piece.
pub(crate) struct Paced {
    pub(crate) script: Scripted,
    pub(crate) pause: Duration,
}

struct PacedReply {
    reply: Box<dyn Reply>,
    pause: Duration,
}

#[async_trait]
impl Provider for Paced {
    fn origin(&self) -> &Origin {
        self.script.origin()
    }

    fn wire(&self) -> &str {
        self.script.wire()
    }

    fn support(&self, feature: Feature) -> Support {
        self.script.support(feature)
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let reply = self.script.send(request).await?;
        Ok(Box::new(PacedReply { reply, pause: self.pause }))
    }
}

#[async_trait]
impl Reply for PacedReply {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        tokio::time::sleep(self.pause).await;
        self.reply.next().await
    }
}
