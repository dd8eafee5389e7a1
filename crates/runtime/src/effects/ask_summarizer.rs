//! Asks a summarizer what a branch came to.

use std::sync::Arc;
use std::time::Duration;

use trunkline_agent_traits::{LeftBranch, Meter, Summarizer, SummaryError};
use trunkline_session_machine::acts::summaries::Unsaid;

/// How long a summary may take, whatever the summarizer itself says.
pub(crate) const LIMIT: Duration = Duration::from_secs(300);

/// Returns what a branch came to, in words. What that costs is counted in the meter, however it ends.
pub(crate) async fn ask_summarizer(
    summarizer: Arc<dyn Summarizer>,
    unsaid: Unsaid,
    meter: Meter,
) -> Result<String, SummaryError> {
    let mut branch = LeftBranch::new(unsaid.kind, unsaid.messages, unsaid.ledger);
    branch.meter = meter;
    let asked = async { summarizer.summarize(branch).await };
    match tokio::time::timeout(LIMIT, asked).await {
        Ok(Ok(text)) if text.trim().is_empty() => Err(SummaryError::Empty),
        Ok(answer) => answer,
        Err(_) => Err(SummaryError::TimedOut { limit: LIMIT }),
    }
}
