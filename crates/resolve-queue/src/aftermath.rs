//! What an attempt has left behind of which nobody knows how it ended, and whether that can be put back.
//!
//! Whatever is as after while it should not stay is put back from the pre-images; what somebody else has written since is not
//! the queue's to touch, and then the proposal can never be there as a whole.

use crate::{Entry, Fingerprint, Observation};

/// What the last attempt at a proposal has left of what it writes, as [`Entry::aftermath`] finds it.
///
/// Each subject that can tell is in exactly one of the four lists, which are in the order of the proposal's `after`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aftermath {
    /// How the whole of it was found: what [`Entry::observe`] says, and [`Queue::recover`](crate::Queue::recover) takes.
    ///
    /// It also goes by subjects that the proposal was to leave as they were. So it can be unclear although all that can tell is
    /// as after: then somebody else has written to one of those.
    pub observation: Observation,
    /// The subjects that are as they were before.
    pub before: Vec<String>,
    /// The subjects that are as they should be afterwards.
    pub after: Vec<String>,
    /// The subjects that are neither. Whoever wrote them, it was not this attempt.
    pub foreign: Vec<String>,
    /// The subjects at which nobody looked. They may be anybody's.
    pub unseen: Vec<String>,
    /// Whether the pre-images that were kept take back what it wrote: everything was looked at, the whole effect shows in
    /// fingerprints, and there is a pre-image of each subject that is as after.
    ///
    /// Where somebody else has written one pre-image is enough: what lies ready beside subjects that were not reached can go all
    /// the same, and what has no pre-image stays.
    pub restorable: bool,
}

impl Aftermath {
    /// Whether nothing of it is there any more: everything was looked at, and nothing is as after.
    pub fn is_gone(&self) -> bool {
        self.unseen.is_empty() && self.after.is_empty()
    }

    /// Whether everything is as before, as far as it can tell. Of what cannot tell at all it is not said.
    pub fn is_as_before(&self) -> bool {
        self.is_gone() && self.foreign.is_empty() && !self.before.is_empty()
    }

    /// Whether everything was looked at and somebody else has written to some of it since.
    pub fn is_disturbed(&self) -> bool {
        self.unseen.is_empty() && !self.foreign.is_empty()
    }

    /// Whether it has to be put back, of an attempt that did not say how it ended: it was cut off between two subjects, or
    /// somebody else has written to one since, so that all of it can never be there.
    ///
    /// Of one that said that it failed, whatever is as [`after`](Aftermath::after) has to go: what is said to have failed is not done, even if all of it was written.
    ///
    /// Put back what is [`restorable`](Aftermath::restorable), after a [`Queue::take_over`](crate::Queue::take_over).
    pub fn is_half_done(&self) -> bool {
        self.is_disturbed() || (!self.after.is_empty() && self.observation != Observation::After)
    }
}

impl<P> Entry<P> {
    /// Tells from fingerprints what the last attempt has left behind, as far as the part that was approved goes.
    ///
    /// A subject that is not among the observed ones counts as not looked at. One that is observed twice must be the same both
    /// times, or it is nobody's.
    pub fn aftermath(&self, observed: &[Fingerprint]) -> Aftermath {
        let mut found = Aftermath {
            observation: self.observe(observed),
            before: Vec::new(),
            after: Vec::new(),
            foreign: Vec::new(),
            unseen: Vec::new(),
            restorable: false,
        };
        for trace in self.traces(observed) {
            let seen = observed.iter().any(|one| one.subject == trace.subject);
            let list = match trace.found {
                _ if !seen => &mut found.unseen,
                Observation::Before => &mut found.before,
                Observation::After => &mut found.after,
                Observation::Unclear => &mut found.foreign,
            };
            list.push(trace.subject);
        }
        let kept = |subject: &String| self.preimages.iter().any(|kept| kept.subject == *subject);
        found.restorable = found.unseen.is_empty()
            && self.proposal.effect.shows_in_fingerprints()
            && !self.preimages.is_empty()
            && (found.is_disturbed() || found.after.iter().all(kept));
        found
    }
}
