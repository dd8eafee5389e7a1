//! The HTTP provider on every wire, and broken ones.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use trunkline_message_tree::Origin;
use trunkline_providers::conformance::{self, Endpoint, Promise, Report, Samples};
use trunkline_providers::{
    Anthropic, ErrorKind, Event, HttpProvider, Provider, ProviderError, Reply, Request, RetryPolicy, Secret,
    Timeouts, Wire,
};

use super::{block_on, broken, broken_providers, broken_wires, samples, samples_for};
use crate::every_wire::wires;

fn origin() -> Origin {
    Origin::new("test", "m")
}

fn timeouts(endpoint: &Endpoint) -> Timeouts {
    let mut timeouts = Timeouts::default();
    timeouts.response = endpoint.response;
    timeouts.next_bytes = endpoint.next_bytes;
    timeouts
}

fn retry(endpoint: &Endpoint) -> RetryPolicy {
    let mut retry = RetryPolicy::default();
    retry.base = endpoint.pause;
    retry
}

fn provider(endpoint: &Endpoint, wire: Box<dyn Wire>) -> Result<HttpProvider, ProviderError> {
    let provider = HttpProvider::new(wire, endpoint.base.clone(), Some(&endpoint.key), origin())?;
    Ok(provider.with_retry(retry(endpoint)).with_timeouts(timeouts(endpoint)))
}

/// Runs the kit against the HTTP provider on a wire.
fn check<P: Provider>(samples: &Samples, make: impl Fn(&Endpoint) -> Result<P, ProviderError>) -> Report {
    block_on(conformance::over_http(samples, make))
}

#[test]
fn our_own_keeps_its_promises_on_every_wire() {
    // They wait for timeouts most of the time, so they wait together.
    std::thread::scope(|scope| {
        let mut runs = Vec::new();
        for (name, wire) in wires() {
            let samples = samples_for(&*wire);
            // Dialects differ in what they write, not in how they are spoken.
            if name.contains(':') || samples.answers.is_empty() {
                continue;
            }
            let wire = Mutex::new(Some(wire));
            let make = move |at: &Endpoint| {
                provider(at, wire.lock().expect("nobody panics").take().expect("it is asked for once"))
            };
            runs.push((name, scope.spawn(move || check(&samples, make))));
        }
        for (name, run) in runs {
            let report = run.join().expect("the kit does not panic");
            assert!(report.is_ok(), "{name}: {report}");
            assert_eq!(report.unchecked().count(), 0, "{name}: {report}");
        }
    });
}

/// What is wrong with a provider.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    HidesAttempts,
    InsistsOnWhatWasRefused,
    BeginsAgain,
    TellsSilenceAsACut,
    WaitsTooLong,
    KeepsConnections,
    TellsTheKey,
}

/// Each fault with what must be found of it.
const FAULTS: [(Fault, Promise); 7] = [
    (Fault::HidesAttempts, Promise::Attempts),
    (Fault::InsistsOnWhatWasRefused, Promise::Attempts),
    (Fault::BeginsAgain, Promise::NoRepeat),
    (Fault::TellsSilenceAsACut, Promise::Silence),
    (Fault::WaitsTooLong, Promise::Silence),
    (Fault::KeepsConnections, Promise::Closed),
    (Fault::TellsTheKey, Promise::Key),
];

struct Broken {
    fault: Fault,
    inner: Arc<HttpProvider>,
    key: Secret,
}

fn broken_provider(fault: Fault, endpoint: &Endpoint) -> Result<Broken, ProviderError> {
    let mut slow = timeouts(endpoint);
    slow.next_bytes *= 5;
    let inner = provider(endpoint, Box::new(Anthropic::new()))?;
    let inner = if fault == Fault::WaitsTooLong { inner.with_timeouts(slow) } else { inner };
    Ok(Broken { fault, inner: Arc::new(inner), key: endpoint.key.clone() })
}

#[async_trait]
impl Provider for Broken {
    fn origin(&self) -> &Origin {
        self.inner.origin()
    }

    fn wire(&self) -> &str {
        self.inner.wire()
    }

    async fn send(&self, request: Request) -> Result<Box<dyn Reply>, ProviderError> {
        let reply = Some(self.inner.send(request.clone()).await?);
        Ok(Box::new(BrokenReply {
            fault: self.fault,
            inner: Arc::clone(&self.inner),
            request,
            reply,
            again: 1,
            key: self.key.clone(),
        }))
    }
}

struct BrokenReply {
    fault: Fault,
    inner: Arc<HttpProvider>,
    request: Request,
    reply: Option<Box<dyn Reply>>,
    again: usize,
    key: Secret,
}

#[async_trait]
impl Reply for BrokenReply {
    async fn next(&mut self) -> Result<Option<Event>, ProviderError> {
        loop {
            let next = self.reply.as_mut().expect("it is there until the drop").next().await;
            let repeats = match &next {
                Ok(Some(Event::Retrying { .. })) if self.fault == Fault::HidesAttempts => continue,
                Err(ProviderError::Timeout { .. }) if self.fault == Fault::TellsSilenceAsACut => {
                    return Err(ProviderError::Cut);
                }
                Err(error) if self.fault == Fault::TellsTheKey => {
                    let kind = error.kind().unwrap_or(ErrorKind::Other);
                    return Err(ProviderError::api(500, kind, &format!("not with {}", self.key.expose())));
                }
                Err(ProviderError::Cut) => self.fault == Fault::BeginsAgain,
                Err(error) => self.fault == Fault::InsistsOnWhatWasRefused && !error.is_retryable(),
                _ => false,
            };
            if !repeats || self.again == 0 {
                return next;
            }
            self.again -= 1;
            self.reply = Some(self.inner.send(self.request.clone()).await?);
        }
    }
}

impl Drop for BrokenReply {
    fn drop(&mut self) {
        if self.fault == Fault::KeepsConnections {
            std::mem::forget(self.reply.take());
        }
    }
}

/// One stream is enough to find a fault with.
fn one_stream() -> Samples {
    let mut samples = samples::anthropic();
    samples.answers.truncate(1);
    samples
}

#[test]
fn each_fault_of_a_provider_over_http_is_found() {
    std::thread::scope(|scope| {
        let mut runs = Vec::new();
        for (fault, promise) in FAULTS {
            runs.push((promise, scope.spawn(move || check(&one_stream(), |at| broken_provider(fault, at)))));
        }
        // A wire's fault shows over HTTP too, for those who have a provider and no wire.
        for (promise, wire) in WIRES {
            runs.push((
                promise,
                scope.spawn(move || check(&one_stream(), |at| provider(at, Box::new(wire())))),
            ));
        }
        for (promise, run) in runs {
            let report = run.join().expect("the kit does not panic");
            assert!(broken(&report).contains(&promise), "{promise}: {report}");
            assert!(broken(&report).len() <= 6, "{promise}: {report}");
        }
    });
}

const WIRES: [(Promise, fn() -> broken_wires::Twisted); 4] = [
    (Promise::Pieces, broken_wires::reads_each_piece_as_text),
    (Promise::Cut, broken_wires::takes_any_end_for_a_good_one),
    (Promise::Refusals, broken_wires::knows_no_kinds),
    (Promise::Key, broken_wires::puts_the_key_into_the_path),
];

#[test]
fn every_promise_has_a_fault_that_breaks_it() {
    let mut covered: BTreeSet<Promise> = FAULTS.iter().map(|(_, promise)| *promise).collect();
    covered.extend(broken_wires::all().iter().map(|(_, promise, _)| *promise));
    covered.extend(broken_providers::ALL.iter().map(|(_, promise)| *promise));
    let missing: Vec<Promise> =
        Promise::ALL.into_iter().filter(|promise| !covered.contains(promise)).collect();
    assert_eq!(missing, []);
}
