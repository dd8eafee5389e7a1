//! A provider that several own, or whose kind is known only when the program runs.

use std::sync::Arc;

use async_trait::async_trait;
use trunkline_message_tree::{Message, Origin};
use trunkline_providers::{Feature, Provider, ProviderError, Reply, Request, Scripted, Support, Turn};

/// Answers each question otherwise than a provider that says nothing of it.
struct Own(Scripted);

#[async_trait]
impl Provider for Own {
    fn origin(&self) -> &Origin {
        self.0.origin()
    }

    fn wire(&self) -> &str {
        "own"
    }

    fn support(&self, _: Feature) -> Support {
        Support::Native
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        self.0.send(request).await
    }

    fn answers_in_background(&self, _: &Request) -> bool {
        true
    }

    async fn fetch(&self, request: &Request, _: &str) -> Result<Option<Box<dyn Reply>>, ProviderError> {
        self.0.send(request.clone()).await.map(Some)
    }
}

async fn check(provider: impl Provider) {
    let request = Request::new("m", vec![Message::user("hello")]);
    assert_eq!((provider.origin().model.as_str(), provider.wire()), ("m", "own"));
    assert_eq!(provider.support(Feature::CacheKey), Support::Native);
    assert!(provider.answers_in_background(&request));
    assert!(provider.fetch(&request, "1").await.is_ok_and(|reply| reply.is_some()));
    assert!(provider.send(request).await.is_ok());
}

#[tokio::test]
async fn a_pointer_to_a_provider_is_that_provider() {
    let own = || Own(Scripted::new("test", "m", |_| Turn::say("hello")));
    check(Arc::new(own())).await;
    check(Box::new(own())).await;
    check(Arc::new(own()) as Arc<dyn Provider>).await;
    check(Box::new(own()) as Box<dyn Provider>).await;
}
