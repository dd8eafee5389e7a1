//! Hands refusals to a wire: those of its service, and what any gateway in front of it may say.

use std::time::Duration;

use super::reading::guard;
use super::{Promise, Refusal, Report, Samples};
use crate::{ErrorKind, ProviderError, Wire};

// The longest that a person should have to read.
const WORDS: usize = 2000;

/// Checks what becomes of refusals.
pub(super) fn check(wire: &dyn Wire, samples: &Samples, report: &mut Report) {
    for refusal in samples.refusals.iter().chain(&statuses()) {
        let at = format!(
            "status {} with {}",
            refusal.status,
            super::order::show(&String::from_utf8_lossy(&refusal.body))
        );
        let Some(error) = told(wire, refusal.status, &refusal.headers, &refusal.body, &at, report) else {
            continue;
        };
        report.check(Promise::Refusals, fault(refusal, &error).map(|fault| format!("{at}: {fault}")));
        for place in 0..refusal.body.len().min(1000) {
            let (head, _) = refusal.body.split_at(place);
            told(wire, refusal.status, &refusal.headers, head, &at, report);
        }
    }
    let page = b"<!DOCTYPE html>\n<html><body>502 Bad Gateway</body></html>";
    if let Some(error) = told(wire, 502, &[], page, "an HTML page with status 502", report) {
        let fits = matches!(error, ProviderError::Html { status: 502, .. }) && error.is_retryable();
        report.check(
            Promise::Refusals,
            (!fits).then(|| format!("an HTML page with status 502: told as {error}")),
        );
    }
    let long = "what went wrong is\na long story; ".repeat(4000);
    told(wire, 500, &[], long.as_bytes(), "a refusal of 140 kB", report);
    told(wire, 500, &[], b"{\"error\":{\"message\":\"\xff\xfe\x00\"}}", "a refusal that is no text", report);
}

/// Tells how an error misses what a refusal means.
pub(super) fn fault(refusal: &Refusal, error: &ProviderError) -> Option<String> {
    if error.kind() != Some(refusal.kind) {
        return Some(format!("told as {error:?} and not as {:?}", refusal.kind));
    }
    if error.is_retryable() != refusal.retryable {
        return Some(format!("retryable: {}", error.is_retryable()));
    }
    (error.retry_after() != refusal.retry_after)
        .then(|| format!("asks for {:?} instead of {:?}", error.retry_after(), refusal.retry_after))
}

/// What statuses mean when nothing is said beside them.
fn statuses() -> Vec<Refusal> {
    let bare = |status, kind, retryable| Refusal::new(status, "", kind, retryable);
    vec![
        bare(400, ErrorKind::InvalidRequest, false),
        bare(401, ErrorKind::Auth, false),
        bare(403, ErrorKind::Auth, false),
        bare(404, ErrorKind::NotFound, false),
        bare(500, ErrorKind::Server, true),
        bare(503, ErrorKind::Overloaded, true),
        bare(429, ErrorKind::RateLimited, true),
        bare(429, ErrorKind::RateLimited, true)
            .with_header("Retry-After", "7")
            .asking_for(Duration::from_secs(7)),
    ]
}

fn told(
    wire: &dyn Wire,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
    at: &str,
    report: &mut Report,
) -> Option<ProviderError> {
    let error = match guard(|| wire.error(status, headers, body)) {
        Ok(error) => error,
        Err(panic) => {
            report.check(Promise::Hostile, Some(format!("{at}: {panic}")));
            return None;
        }
    };
    let words = error.to_string();
    let readable = words.len() <= WORDS && !words.contains(|c: char| c.is_control()) && !words.is_empty();
    report.check(
        Promise::Refusals,
        (!readable).then(|| format!("{at}: its {} bytes are not one short line", words.len())),
    );
    Some(error)
}
