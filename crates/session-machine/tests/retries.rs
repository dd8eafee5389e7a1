//! How often and how patiently the model is asked again: tables of the policy, without a clock.

use std::time::Duration;

use expect_test::expect;
use trunkline_providers::{DecodeError, ErrorKind, ProviderError, Waiting};
use trunkline_session_machine::{Cause, Retries};

fn asks_to_wait(status: u16, seconds: u64) -> ProviderError {
    let headers = [("retry-after".to_owned(), seconds.to_string())];
    ProviderError::of_response(status, &headers, br#"{"error":{"message":"slow down"}}"#)
}

fn transport(message: &str) -> ProviderError {
    ProviderError::Transport { endpoint: "http://localhost:1".to_owned(), message: message.to_owned() }
}

fn garbled() -> ProviderError {
    let (reason, excerpt) = ("expected value".to_owned(), "{\"choi".to_owned());
    ProviderError::Decode(DecodeError::Malformed { reason, excerpt })
}

/// An answer that contradicts itself.
fn doubtful() -> ProviderError {
    let (reason, excerpt) = ("the call has two names".to_owned(), "{\"name\":\"rm\"}".to_owned());
    ProviderError::Decode(DecodeError::Doubtful { reason, excerpt })
}

fn unfinished() -> ProviderError {
    ProviderError::Decode(DecodeError::Unfinished { id: "resp_A".to_owned() })
}

fn stalled(what: Waiting) -> ProviderError {
    ProviderError::Timeout { what, after: Duration::from_secs(120) }
}

/// Prints the waits until the policy gives up, in milliseconds.
fn waits(retries: Retries, fault: &ProviderError, jitter: f64) -> (Vec<u128>, Duration) {
    let mut spent = Duration::ZERO;
    let mut waits = Vec::new();
    for failed in 1.. {
        let Some(wait) = retries.wait(failed, fault, jitter, spent) else { break };
        spent += wait;
        waits.push(wait.as_millis());
    }
    (waits, spent)
}

#[test]
fn waits_grow_and_are_longer_for_a_busy_service_than_for_a_connection() {
    let table: String = [
        ("cut", ProviderError::Cut),
        ("overloaded", ProviderError::api(529, ErrorKind::Overloaded, "Overloaded")),
        ("rate limit", ProviderError::api(429, ErrorKind::RateLimited, "slow down")),
        ("asks for 30 s", asks_to_wait(429, 30)),
        ("asks for 0 s", asks_to_wait(503, 0)),
        ("asks for 4 minutes", asks_to_wait(429, 240)),
        ("asks for an hour", asks_to_wait(429, 3600)),
    ]
    .iter()
    .map(|(name, fault)| {
        let (waits, spent) = waits(Retries::default(), fault, 0.0);
        format!("{name}: {waits:?}, {} s\n", spent.as_secs_f32())
    })
    .collect();
    expect![[r#"
        cut: [500, 1000, 2000, 4000, 8000, 8000, 8000, 8000], 39.5 s
        overloaded: [1000, 2000, 4000, 8000, 16000, 20000, 20000, 20000], 91 s
        rate limit: [1000, 2000, 4000, 8000, 16000, 20000, 20000, 20000], 91 s
        asks for 30 s: [30000, 30000, 30000, 30000, 30000, 30000, 30000, 30000], 240 s
        asks for 0 s: [1000, 2000, 4000, 8000, 16000, 20000, 20000, 20000], 91 s
        asks for 4 minutes: [240000, 240000], 480 s
        asks for an hour: [], 0 s
    "#]]
    .assert_eq(&table);
}

#[test]
fn a_minute_of_overload_is_outlasted_whatever_the_dice_say() {
    let busy = ProviderError::api(503, ErrorKind::Overloaded, "");
    for jitter in [0.0, 0.3, 1.0, 7.0, f64::NAN, f64::NEG_INFINITY] {
        let (_, spent) = waits(Retries::default(), &busy, jitter);
        assert!(spent > Duration::from_secs(60) && spent < Duration::from_secs(100), "{jitter}: {spent:?}");
    }
}

#[test]
fn nobody_comes_back_before_the_time_that_a_service_asked_for() {
    for seconds in [1, 7, 30, 300] {
        for (failed, jitter) in [(1, 0.0), (1, 1.0), (6, 0.5)] {
            let wait =
                Retries::default().wait(failed, &asks_to_wait(429, seconds), jitter, Duration::ZERO).unwrap();
            assert!(wait >= Duration::from_secs(seconds), "{seconds} {wait:?}");
        }
    }
}

#[test]
fn what_does_not_pass_by_itself_is_never_tried_again() {
    let lasting = [
        ProviderError::api(401, ErrorKind::Auth, "invalid x-api-key"),
        ProviderError::api(403, ErrorKind::Auth, "not allowed"),
        ProviderError::api(400, ErrorKind::InvalidRequest, "no"),
        ProviderError::api(400, ErrorKind::ContextTooLong, "prompt is too long"),
        ProviderError::api(404, ErrorKind::NotFound, "no such model"),
        // A quota of the account, under the status of a rate limit and with a time to wait.
        ProviderError::of_response(
            429,
            &[("retry-after".to_owned(), "1".to_owned())],
            br#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota"}}"#,
        ),
        ProviderError::Html { endpoint: "http://localhost".to_owned(), status: 200 },
        ProviderError::Decode(DecodeError::TooLarge { limit: 1 }),
        stalled(Waiting::WholeAnswer),
        transport("invalid peer certificate: UnknownIssuer"),
        transport("received corrupt message of type InvalidContentType"),
        transport("the key has characters that a header cannot have"),
        ProviderError::NotRecorded { request: 1, why: "none".to_owned() },
    ];
    for fault in lasting {
        assert_eq!(Cause::of(&fault), Cause::Refused, "{fault}");
        assert_eq!(Retries::default().wait(1, &fault, 0.0, Duration::ZERO), None, "{fault}");
    }
}

#[test]
fn what_may_pass_has_its_cause() {
    for (fault, cause) in [
        (ProviderError::Cut, Cause::Broken),
        (garbled(), Cause::Broken),
        (doubtful(), Cause::Broken),
        (unfinished(), Cause::Unfinished),
        (ProviderError::Decode(DecodeError::NotUtf8), Cause::Broken),
        (stalled(Waiting::NextBytes), Cause::Broken),
        (stalled(Waiting::Response), Cause::Broken),
        (stalled(Waiting::Connection), Cause::Unreached),
        (transport("Connection refused (os error 111)"), Cause::Unreached),
        (transport("dns error: failed to lookup address information"), Cause::Unreached),
        (ProviderError::api(200, ErrorKind::Overloaded, "Overloaded"), Cause::Busy),
        (ProviderError::api(200, ErrorKind::Server, "upstream"), Cause::Busy),
        (ProviderError::Html { endpoint: "http://localhost".to_owned(), status: 502 }, Cause::Busy),
    ] {
        assert_eq!(Cause::of(&fault), cause, "{fault}");
        assert!(Retries::default().wait(1, &fault, 0.0, Duration::ZERO).is_some(), "{fault}");
    }
}

#[test]
fn tries_and_time_are_both_bounds_and_both_can_be_set() {
    let busy = ProviderError::api(503, ErrorKind::Overloaded, "");
    let mut short = Retries::default();
    short.time = Duration::from_secs(10);
    assert_eq!(waits(short, &busy, 0.0).0, [1000, 2000, 4000]);
    short.times = 2;
    assert_eq!(waits(short, &busy, 0.0).0, [1000, 2000]);
    assert!(waits(Retries::none(), &busy, 0.0).0.is_empty());
    let mut endless = Retries::default();
    (endless.times, endless.time) = (u32::MAX, Duration::MAX);
    assert_eq!(endless.wait(u32::MAX, &busy, 0.0, Duration::ZERO), Some(Duration::from_secs(20)));
    let mut played = Retries::default();
    played.waits = false;
    assert_eq!(waits(played, &asks_to_wait(429, 30), 0.0).0, [0; 8]);
}
