//! Asks a model for something that is no part of the conversation, as a summary.
//!
//! Nothing of it is recorded before it is there, so it is asked again in place: whoever is killed meanwhile begins anew.

use super::spans::Span;
use std::hash::{BuildHasher, Hasher};
use std::time::Duration;

use tokio::time::{Instant, sleep};
use trunkline_message_tree::{Message, StopReason, Usage};
use trunkline_providers::{Fold, Provider, ProviderError, Request};

use trunkline_session_machine::Retries;
use trunkline_session_machine::rules::answers;

/// Asks a model for something beside the conversation, again where that may help, and returns its whole answer with what all
/// attempts have cost. `tell` hears of those that failed.
pub(crate) async fn ask_beside(
    provider: &dyn Provider,
    request: Request,
    retries: Retries,
    tell: impl Fn(u32, &ProviderError, Duration) + Send + Sync,
) -> Result<(Message, Option<Usage>), (ProviderError, Option<Usage>)> {
    // The time begins with the first failure.
    let mut began: Option<Instant> = None;
    let mut paid: Option<Usage> = None;
    let mut failed = 0_u32;
    loop {
        let mut fold = Fold::new(provider.origin().clone());
        let span = Span::request(None, provider.origin());
        let ended = span.around(receive(provider, request.clone(), &mut fold, &mut failed)).await;
        let fault = match ended {
            Ok(()) => {
                let message = fold.finish();
                span.answered(Some(&message), None);
                return Ok((message.clone(), sum(paid, message.usage)));
            }
            Err(fault) => fault,
        };
        span.answered(None, Some(&fault));
        failed = failed.saturating_add(1);
        let said = fold.usage();
        let usage = fold
            .cut(StopReason::Cut)
            .map(|came| answers::completed(said, &request.messages, &came).0)
            .or(said);
        paid = sum(paid, usage);
        let spent = began.get_or_insert_with(Instant::now).elapsed();
        let Some(wait) = retries.wait(failed, &fault, chance(), spent) else {
            return Err((fault, paid));
        };
        tell(failed, &fault, wait);
        sleep(wait).await;
    }
}

async fn receive(
    provider: &dyn Provider,
    request: Request,
    fold: &mut Fold,
    failed: &mut u32,
) -> Result<(), ProviderError> {
    let mut reply = provider.send(request).await?;
    while let Some(event) = reply.next().await? {
        *failed += u32::from(matches!(event, trunkline_providers::Event::Retrying { .. }));
        fold.push(&event);
    }
    Ok(())
}

fn sum(one: Option<Usage>, other: Option<Usage>) -> Option<Usage> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    Some(Usage {
        input_tokens: one.input_tokens.saturating_add(other.input_tokens),
        output_tokens: one.output_tokens.saturating_add(other.output_tokens),
        cache_read_tokens: one.cache_read_tokens.saturating_add(other.cache_read_tokens),
        cache_write_tokens: one.cache_write_tokens.saturating_add(other.cache_write_tokens),
        reasoning_tokens: one.reasoning_tokens.saturating_add(other.reasoning_tokens),
    })
}

/// Between 0 and 1, different each time: the seeds that hash maps are given are random.
pub(crate) fn chance() -> f64 {
    let random = std::hash::RandomState::new().build_hasher().finish();
    (random >> 11) as f64 / (1_u64 << 53) as f64
}
