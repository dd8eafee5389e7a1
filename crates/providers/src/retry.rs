//! When to try again, as arithmetic.
//!
//! The policy sees no clock and no dice: elapsed time and jitter come in, a wait comes out. Before an answer
//! says anything nothing is lost by trying again; after it, everything that was said is said twice, so that needs leave.

use std::time::Duration;

use crate::{ErrorKind, ProviderError};

/// How often and how patiently a request is tried.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// All attempts, the first one included.
    pub max_attempts: u32,
    /// The wait after the first attempt; it doubles after each further one.
    pub base: Duration,
    /// The longest wait of our own.
    pub max: Duration,
    /// The most time that all attempts and waits may take. A service that asks for a longer wait is given up on.
    pub budget: Duration,
    /// Whether an answer that broke off after its first word may be asked for again.
    ///
    /// What came of it is then void, and everybody who shows or stores words as they come must be able to take them
    /// back: see [`Event::Retrying`](crate::Event::Retrying).
    pub restart: bool,
}

impl Default for RetryPolicy {
    /// Four attempts: 0.5 s, doubled up to 8 s, within two minutes; no restarts.
    ///
    /// Base and limit are those of the official Python clients (read 2026-11); they try three times.
    fn default() -> Self {
        RetryPolicy {
            max_attempts: 4,
            base: Duration::from_millis(500),
            max: Duration::from_secs(8),
            budget: Duration::from_secs(120),
            restart: false,
        }
    }
}

impl RetryPolicy {
    /// Returns the policy that never tries again.
    pub fn never() -> Self {
        RetryPolicy { max_attempts: 1, ..RetryPolicy::default() }
    }

    /// Returns how long to wait before the next attempt after one that failed before its answer said anything, or
    /// `None` to give up.
    ///
    /// `attempt` is the one that failed, from 1; `jitter` is between 0 and 1 and shortens our own wait by up to a
    /// quarter; `elapsed` counts from the start of the first attempt. A wait that the service asks for is kept exactly, or
    /// is a reason to give up where it is longer than the budget; [`ProviderError::retry_after`] has it then.
    ///
    /// ```
    /// use std::time::Duration;
    /// use trunkline_providers::{ErrorKind, ProviderError, RetryPolicy};
    ///
    /// let policy = RetryPolicy::default();
    /// let overloaded = ProviderError::api(529, ErrorKind::Overloaded, "Overloaded");
    /// assert_eq!(policy.next(1, &overloaded, 0.0, Duration::ZERO), Some(Duration::from_millis(500)));
    /// // The same body would be refused again.
    /// let refused = ProviderError::api(400, ErrorKind::InvalidRequest, "tool_use ids were found without tool_result");
    /// assert_eq!(policy.next(1, &refused, 0.0, Duration::ZERO), None);
    /// ```
    pub fn next(
        &self,
        attempt: u32,
        error: &ProviderError,
        jitter: f64,
        elapsed: Duration,
    ) -> Option<Duration> {
        // Whatever the headers say: the same body is refused again.
        let hopeless = matches!(error.kind(), Some(ErrorKind::InvalidRequest | ErrorKind::ContextTooLong));
        if attempt >= self.max_attempts || hopeless || !error.is_retryable() {
            return None;
        }
        let doublings = attempt.saturating_sub(1).min(31);
        let wait = match error.retry_after() {
            Some(asked) => asked,
            None => {
                let jitter = if jitter.is_finite() { jitter.clamp(0.0, 1.0) } else { 0.0 };
                let longest = self.base.saturating_mul(1 << doublings).min(self.max);
                let seconds = longest.as_secs_f64() * (1.0 - 0.25 * jitter);
                Duration::try_from_secs_f64(seconds).unwrap_or(longest)
            }
        };
        (elapsed.saturating_add(wait) <= self.budget).then_some(wait)
    }

    /// The same after an attempt of whose answer something was said: `None` unless [`RetryPolicy::restart`] is set.
    pub fn restart(
        &self,
        attempt: u32,
        error: &ProviderError,
        jitter: f64,
        elapsed: Duration,
    ) -> Option<Duration> {
        if self.restart { self.next(attempt, error, jitter, elapsed) } else { None }
    }
}

/// Reads how long a service that refused wants us to wait.
///
/// `retry-after-ms`, then `retry-after` in seconds or as an HTTP date; a date is measured against the response's own
/// `date` header, so that no clock is needed and a wrong one does no harm. Call it for failures only: `retry-after`
/// also comes with status 200 and then means nothing.
pub(crate) fn retry_after(headers: &[(String, String)]) -> Option<Duration> {
    if let Some(millis) = number(header(headers, "retry-after-ms")) {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let value = header(headers, "retry-after");
    if let Some(seconds) = number(value) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let wait = http_date(value?)?.checked_sub(http_date(header(headers, "date")?)?)?;
    u64::try_from(wait).ok().map(Duration::from_secs)
}

/// Returns the first header of this name; names do not care for case.
pub(crate) fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}

fn number(value: Option<&str>) -> Option<f64> {
    value?.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// Writes seconds since 1970 as an HTTP date.
#[cfg(feature = "http")]
pub(crate) fn print_date(seconds: u64) -> String {
    let (days, clock) = (seconds / 86_400, seconds % 86_400);
    // Counting years from March, in eras of 400 years.
    let shifted = days + 719_468;
    let (era, day) = (shifted / 146_097, shifted % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12);
    let year = era * 400 + year + u64::from(month < 2);
    let names = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let weekday = names.get((days % 7) as usize).copied().unwrap_or_default();
    let month = MONTHS.get(month as usize).copied().unwrap_or_default();
    let (hour, minute, second) = (clock / 3600, clock / 60 % 60, clock % 60);
    format!("{weekday}, {day:02} {month} {year} {hour:02}:{minute:02}:{second:02} GMT")
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`, the only form of RFC 9110 that is still sent.
fn http_date(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let day: i64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month_name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == month_name)? as i64 + 1;
    let year: i64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u32>().ok().filter(|part| *part <= 60));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // Days since 1970, counting years from March so that the leap day comes last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719_469;
    Some(((days * 24 + i64::from(hour)) * 60 + i64::from(minute)) * 60 + i64::from(second))
}
