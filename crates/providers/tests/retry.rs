//! The retry policy as a table and as laws.

use std::time::Duration;

use proptest::prelude::*;
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

fn any_policy() -> impl Strategy<Value = RetryPolicy> {
    let millis = |most: u64| (0..=most).prop_map(Duration::from_millis);
    (0..8_u32, millis(5_000), millis(60_000), millis(600_000), any::<bool>()).prop_map(
        |(max_attempts, base, max, budget, restart)| {
            let mut policy = RetryPolicy::default();
            (policy.max_attempts, policy.base, policy.max) = (max_attempts, base, max);
            (policy.budget, policy.restart) = (budget, restart);
            policy
        },
    )
}

/// What a service says when it refuses: any status, any of the headers that speak of trying again.
fn any_refusal() -> impl Strategy<Value = ProviderError> {
    let seconds = prop_oneof!["[0-9]{1,6}", "[0-9]{1,4}\\.[0-9]", "-1", "NaN", "1e300", "soon"];
    let asked = prop::option::of(seconds);
    let should = prop::option::of(prop_oneof![Just("true"), Just("false")]);
    let body =
        prop_oneof![Just("{}"), Just(r#"{"error":{"type":"invalid_request_error","message":"tool_use"}}"#)];
    (400..600_u16, asked.clone(), asked, should, body).prop_map(|(status, seconds, millis, should, body)| {
        let mut headers = Vec::new();
        let mut add = |name: &str, value: Option<String>| {
            headers.extend(value.map(|value| (name.to_owned(), value)));
        };
        add("Retry-After", seconds);
        add("retry-after-ms", millis);
        add("x-should-retry", should.map(str::to_owned));
        trunkline_providers::Anthropic::new().error(status, &headers, body.as_bytes())
    })
}

proptest! {
    #[test]
    fn a_wait_is_within_every_limit(
        policy in any_policy(),
        error in any_refusal(),
        attempt in 0..10_u32,
        jitter in prop_oneof![-1.0..2.0_f64, Just(f64::NAN), Just(f64::INFINITY)],
        elapsed in (0..700_000_u64).prop_map(Duration::from_millis),
    ) {
        let wait = policy.next(attempt, &error, jitter, elapsed);
        let restart = policy.restart(attempt, &error, jitter, elapsed);
        prop_assert_eq!(restart, wait.filter(|_| policy.restart), "the same, with leave");
        if let Some(wait) = wait {
            prop_assert!(attempt < policy.max_attempts && error.is_retryable());
            prop_assert!(elapsed + wait <= policy.budget);
            match error.retry_after() {
                Some(asked) => prop_assert_eq!(wait, asked, "neither sooner nor later than asked"),
                None => prop_assert!(wait <= policy.max),
            }
        }
        if let ProviderError::Api { status: 400, kind: ErrorKind::InvalidRequest, .. } = error {
            prop_assert_eq!(wait, None);
        }
    }

    #[test]
    fn later_attempts_wait_no_less(policy in any_policy(), jitter in 0.0..=1.0_f64) {
        let waits = (1..policy.max_attempts).map(|attempt| policy.next(attempt, &overloaded(), jitter, Duration::ZERO));
        let mut before = Duration::ZERO;
        let mut gave_up = false;
        for wait in waits {
            // The first wait that is too long for the budget ends it: the next would be no shorter.
            prop_assert!(!(gave_up && wait.is_some()));
            gave_up = wait.is_none();
            prop_assert!(wait.is_none_or(|wait| wait >= before));
            before = wait.unwrap_or(before);
        }
    }

    #[test]
    fn more_jitter_never_means_more_patience(policy in any_policy(), attempt in 1..8_u32, less in 0.0..=1.0_f64, more in 0.0..=1.0_f64) {
        let (less, more) = (less.min(more), less.max(more));
        if let Some(long) = policy.next(attempt, &overloaded(), less, Duration::ZERO) {
            let short = policy.next(attempt, &overloaded(), more, Duration::ZERO).expect("shorter fits too");
            prop_assert!(short <= long && long.mul_f64(0.74) <= short);
        }
    }

    #[test]
    fn headers_that_mean_nothing_never_panic(value in ".{0,40}", date in ".{0,40}") {
        let headers = [("retry-after", &value), ("retry-after-ms", &value), ("date", &date)]
            .map(|(name, value)| (name.to_owned(), value.clone()));
        let error = trunkline_providers::Anthropic::new().error(429, &headers, b"{}");
        let _ = RetryPolicy::default().next(1, &error, 0.5, Duration::ZERO);
    }
}

#[test]
fn a_wait_until_a_date_is_measured_against_the_date_of_the_answer() {
    let asks = |after: &str, now: &str| {
        let headers =
            [("retry-after", after), ("date", now)].map(|(name, value)| (name.to_owned(), value.to_owned()));
        trunkline_providers::Anthropic::new().error(503, &headers, b"{}").retry_after()
    };
    let now = "Sun, 28 Feb 2027 23:59:50 GMT";
    assert_eq!(asks("Mon, 01 Mar 2027 00:00:20 GMT", now), Some(Duration::from_secs(30)));
    assert_eq!(
        asks("Tue, 29 Feb 2028 00:00:00 GMT", "Mon, 28 Feb 2028 23:59:59 GMT"),
        Some(Duration::from_secs(1))
    );
    assert_eq!(asks("Sun, 28 Feb 2027 23:59:40 GMT", now), None);
    assert_eq!(asks("tomorrow", now), None);
}

#[test]
fn without_leave_nothing_is_asked_for_again_after_its_first_byte() {
    let mut policy = RetryPolicy::default();
    assert_eq!(policy.restart(1, &ProviderError::Cut, 0.0, Duration::ZERO), None);
    policy.restart = true;
    assert_eq!(policy.restart(1, &ProviderError::Cut, 0.0, Duration::ZERO), Some(Duration::from_millis(500)));
    assert_eq!(policy.restart(4, &ProviderError::Cut, 0.0, Duration::ZERO), None);
}
