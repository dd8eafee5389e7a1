//! The retry policy as a table.

use std::time::Duration;

use trunkline_providers::{ErrorKind, ProviderError, RetryPolicy, Wire};

fn overloaded() -> ProviderError {
    ProviderError::api(529, ErrorKind::Overloaded, "Overloaded")
}

fn asks_for(seconds: &str) -> ProviderError {
    let headers = [("retry-after".to_owned(), seconds.to_owned())];
    trunkline_providers::Anthropic::new().error(429, &headers, b"{}")
}

#[test]
fn waits_double_up_to_the_limit() {
    let mut policy = RetryPolicy::default();
    policy.max_attempts = 100;
    let waits: Vec<u128> = (1..8)
        .filter_map(|attempt| policy.next(attempt, &overloaded(), 0.0, Duration::ZERO))
        .map(|wait| wait.as_millis())
        .collect();
    assert_eq!(waits, [500, 1000, 2000, 4000, 8000, 8000, 8000]);
    assert!(policy.next(99, &overloaded(), 0.0, Duration::ZERO).is_some());
}

#[test]
fn jitter_shortens_by_up_to_a_quarter() {
    let policy = RetryPolicy::default();
    let wait = |jitter| policy.next(1, &overloaded(), jitter, Duration::ZERO);
    assert_eq!(wait(1.0), Some(Duration::from_millis(375)));
    assert_eq!(wait(f64::NAN), Some(Duration::from_millis(500)));
    assert_eq!(wait(-3.0), Some(Duration::from_millis(500)));
}

#[test]
fn attempts_and_budget_end() {
    let policy = RetryPolicy::default();
    assert_eq!(policy.next(4, &overloaded(), 0.0, Duration::ZERO), None);
    assert_eq!(policy.next(1, &overloaded(), 0.0, Duration::from_secs(120)), None);
    assert_eq!(RetryPolicy::never().next(1, &overloaded(), 0.0, Duration::ZERO), None);
}

#[test]
fn the_wait_that_a_service_asks_for_is_kept_or_the_request_is_given_up() {
    let policy = RetryPolicy::default();
    assert_eq!(policy.next(1, &asks_for("30"), 1.0, Duration::ZERO), Some(Duration::from_secs(30)));
    assert_eq!(policy.next(1, &asks_for("3600"), 1.0, Duration::ZERO), None);
    assert_eq!(asks_for("3600").to_string(), "rate limit (status 429): {} (it asks to wait 3600 s)");
}

#[test]
fn what_is_wrong_with_the_request_stays_wrong() {
    let policy = RetryPolicy::default();
    for kind in [
        ErrorKind::InvalidRequest,
        ErrorKind::ContextTooLong,
        ErrorKind::Auth,
        ErrorKind::Quota,
        ErrorKind::NotFound,
    ] {
        let error = ProviderError::api(400, kind, "no");
        assert_eq!(policy.next(1, &error, 0.0, Duration::ZERO), None, "{kind}");
    }
    assert!(policy.next(1, &ProviderError::Cut, 0.0, Duration::ZERO).is_some());
}
