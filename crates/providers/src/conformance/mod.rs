//! Tells whether a wire or a provider of your own keeps the promises that others rely on.
//!
//! Three levels, each with less to set up than the next: [`wire`] is pure and needs recorded or made-up bodies,
//! [`provider`] asks anything that answers requests, and [`over_http`] runs a server on this machine that answers in
//! pieces, breaks off, refuses and goes silent. Each gives a [`Report`]; nothing here fails a test by itself, panics, or
//! prints.
//!
//! ```
//! use trunkline_message_tree::{Content, Message, StopReason};
//! use trunkline_providers::conformance::{self, Answer, Promise, Samples};
//! use trunkline_providers::{OpenAiChat, Request};
//!
//! let body = concat!(
//!     "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"grüße\"}}]}\n\n",
//!     "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
//!     "data: [DONE]\n\n",
//! );
//! let request = Request::new("m", vec![Message::user("hi")]);
//! let answer = Answer::new("words", request, body).saying([Content::text("grüße")], StopReason::EndTurn);
//!
//! let report = conformance::wire(&OpenAiChat::default(), &Samples::new([answer.clone()]));
//! assert!(report.is_ok(), "{report}");
//!
//! // A sample that does not say what the body says, to see that the kit can find something.
//! let wrong = answer.saying([Content::text("other words")], StopReason::EndTurn);
//! let report = conformance::wire(&OpenAiChat::default(), &Samples::new([wrong]));
//! let broken: Vec<Promise> = report.findings().map(|finding| finding.promise).collect();
//! assert_eq!(broken, [Promise::Fold]);
//! ```
//!
//! The more samples, the more is checked: give a stream and a whole body, words, reasoning and calls, and the refusals
//! of the service. What there was nothing to check with is said in [`Report::unchecked`].

mod asking;
mod chance;
mod loopback;
mod order;
mod over_http;
mod patience;
mod provider;
mod reading;
mod refusing;
mod report;
mod sample;
mod walk;
mod writing;

pub use over_http::{Endpoint, over_http};
pub use provider::provider;
pub use report::{Finding, Promise, Report};
pub use sample::{Answer, Refusal, Samples};

use crate::Wire;

/// Checks a wire against bodies of answers and refusals, without IO.
///
/// Feeds each body whole, byte by byte, in every two pieces, in random pieces, cut short, and damaged; says what was
/// said back to the model; and asks for every feature that there is. A wire that panics is found too, unless panics
/// abort the process.
pub fn wire(subject: &dyn Wire, samples: &Samples) -> Report {
    let mut report = Report::new(subject.name(), &Promise::OF_WIRES);
    for (number, answer) in samples.answers.iter().enumerate() {
        let mut chance = chance::Chance::new(samples.seed, number);
        if let Some(read) = reading::check(subject, answer, &mut chance, &mut report) {
            writing::round_trip(subject, answer, &read, &mut report);
        }
    }
    reading::nothing_is_an_answer(subject, samples, &mut report);
    writing::check(subject, samples, &mut report);
    walk::check(subject, samples, &mut report);
    refusing::check(subject, samples, &mut report);
    report
}
