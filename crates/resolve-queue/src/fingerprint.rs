//! What the world looked like, and whether it still does.
//!
//! The queue never looks for itself. The caller reads the files and hands over fingerprints; this module only compares them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Proposal;

/// The state of one subject at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    /// What was looked at, such as a path. Compared as text, so the caller always spells it the same way.
    pub subject: String,
    /// What was found.
    pub state: SubjectState,
}

/// What was found at a subject.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a third way to be would change what staleness means to every caller"
)]
pub enum SubjectState {
    /// Nothing is there.
    Absent,
    /// Something is there, with this digest. Any text; compared byte for byte.
    Digest(String),
}

/// One subject that is not as a proposal needs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// What was looked at.
    pub subject: String,
    /// How it was when the proposal was computed.
    pub expected: SubjectState,
    /// How it is; `None` if nobody looked, which counts as different.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<SubjectState>,
}

/// What was found after an apply that never reported its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "recovery must treat every finding, or it guesses")]
pub enum Observation {
    /// Everything that would have been written is as it was before.
    Before,
    /// Everything is as it should be afterwards.
    After,
    /// Some of both, neither, or nothing that could tell.
    Unclear,
}

impl Fingerprint {
    /// A subject with something there.
    pub fn digest(subject: impl Into<String>, digest: impl Into<String>) -> Self {
        Fingerprint { subject: subject.into(), state: SubjectState::Digest(digest.into()) }
    }

    /// A subject with nothing there.
    pub fn absent(subject: impl Into<String>) -> Self {
        Fingerprint { subject: subject.into(), state: SubjectState::Absent }
    }
}

impl fmt::Display for SubjectState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SubjectState::Absent => f.write_str("absent"),
            SubjectState::Digest(digest) => f.write_str(digest),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: expected {}, ", self.subject, self.expected)?;
        match &self.found {
            Some(found) => write!(f, "found {found}"),
            None => f.write_str("not looked at"),
        }
    }
}

/// Compares what was expected with what was observed, in the order of `expected`.
///
/// A subject that was not observed differs; one that was observed but not expected is ignored.
/// If a subject was observed twice, both observations must agree with what was expected.
pub fn differences(expected: &[Fingerprint], observed: &[Fingerprint]) -> Vec<Difference> {
    expected
        .iter()
        .filter_map(|wanted| {
            let mut seen = observed.iter().filter(|found| found.subject == wanted.subject).peekable();
            let looked_at = seen.peek().is_some();
            let other = seen.find(|found| found.state != wanted.state);
            (other.is_some() || !looked_at).then(|| Difference {
                subject: wanted.subject.clone(),
                expected: wanted.state.clone(),
                found: other.map(|found| found.state.clone()),
            })
        })
        .collect()
}

/// Tells from fingerprints whether a proposal's effect took place.
///
/// Only subjects that the effect changes can tell: those in `after` whose state in `fingerprints` is another one.
/// A proposal that names no such subject is always [`Observation::Unclear`].
/// Subjects that were only read may have changed meanwhile; that is for the check at the next begin.
pub fn observe<P>(proposal: &Proposal<P>, observed: &[Fingerprint]) -> Observation {
    told(&proposal.fingerprints, &proposal.after, observed)
}

/// Tells whether what should lead from `before` to `after` took place.
pub(crate) fn told(before: &[Fingerprint], after: &[Fingerprint], observed: &[Fingerprint]) -> Observation {
    let telling: Vec<&Fingerprint> = after.iter().filter(|after| !before.contains(after)).collect();
    let earlier: Vec<Fingerprint> = before
        .iter()
        .filter(|before| telling.iter().any(|after| after.subject == before.subject))
        .cloned()
        .collect();
    let all_known_before =
        telling.iter().all(|after| earlier.iter().any(|before| before.subject == after.subject));

    if telling.is_empty() {
        Observation::Unclear
    } else if differences(after, observed).is_empty() {
        Observation::After
    } else if all_known_before && differences(&earlier, observed).is_empty() {
        Observation::Before
    } else {
        Observation::Unclear
    }
}

/// Finds a subject for which the list gives two different states.
pub(crate) fn contradiction(fingerprints: &[Fingerprint]) -> Option<&str> {
    fingerprints.iter().enumerate().find_map(|(place, one)| {
        fingerprints
            .iter()
            .skip(place + 1)
            .any(|other| other.subject == one.subject && other.state != one.state)
            .then_some(one.subject.as_str())
    })
}
