//! A proposal: something to be done, written down as data before it is done.
//!
//! It carries everything that an apply needs, so that the approved bytes are applied and nothing is computed again.
//! Its id and its state are not in it: those belong to its place in the queue.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Fingerprint, ProposalId};

/// Who a staged action of a custom tool comes from, if the tool does not say.
pub const CUSTOM_TOOL: &str = "custom_tool";

/// Something that a tool wants done, and what it was computed from.
///
/// Made by [`Proposal::new`], which takes what every proposal has and sets the rest to what is safe;
/// then the caller fills in the public fields. Everything but the payload is opaque text to the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Proposal<P> {
    /// One line for people: what would be done.
    pub label: String,
    /// The tool that computed it; its executor is found by this name again after a restart.
    pub source_tool: String,
    /// The tool whose call staged it, if that is another one. Rules for either hold, and it applies what nobody else does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staged_by: Option<String>,
    /// The effect as data. The queue never looks inside.
    pub payload: P,
    /// What the decider is shown.
    #[serde(default)]
    pub preview: Preview,
    /// How everything it was computed from looked. Compared before an apply may begin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fingerprints: Vec<Fingerprint>,
    /// How everything it writes will look afterwards. Lets recovery tell whether an apply took place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Fingerprint>,
    /// The call it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallRef>,
    /// What it would take to undo it.
    pub effect: Effect,
    /// Who wants it done.
    pub proposed_by: Actor,
    /// Who may approve it. The proposer and the harness may discard it in any case.
    pub deciders: BTreeSet<ActorKind>,
    /// The older proposals that it takes the place of.
    ///
    /// A statement, not an act: the caller records a [`Change::Superseded`](crate::Change::Superseded) for each of them as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supersedes: Vec<ProposalId>,
    /// From when on it may no longer be decided or begun, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// Whether its executor can write some of what it writes and leave the rest.
    ///
    /// It says more than that: each subject was computed from itself and from what is only read, never from another
    /// subject that is written. So a part is not stale because of what was left out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub divisible: bool,
    /// The applied proposal whose effect it takes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_of: Option<ProposalId>,
    /// Whatever its tool wants to find again beside the resolution, in [`ResolutionDetails`](crate::ResolutionDetails).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// Whether its tool wants to be told when it [ends](crate::Entry::end) without having been applied. The caller tells it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hears_end: bool,
}

/// What a decider is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Preview {
    /// For reading.
    pub text: String,
    /// A unified diff, if the effect is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

/// The call that staged a proposal, as text that means something to the caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRef {
    /// The node that holds the call.
    pub node: String,
    /// The call inside it.
    pub call_id: String,
}

/// What it would take to undo an effect.
///
/// After a crash only a pure or reversible effect may be begun again without a new decision:
/// fingerprints say nothing of what left the house.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "whoever undoes or repeats must treat every class")]
pub enum Effect {
    /// Nothing changes.
    Pure,
    /// Putting the old bytes back undoes it, and fingerprints tell whether it happened.
    Reversible,
    /// Another action can make up for it.
    Compensable,
    /// Nothing can.
    Irreversible,
}

/// Who does something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// What sort of actor.
    pub kind: ActorKind,
    /// Which one; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// The sorts of actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ActorKind {
    /// The model.
    Model,
    /// A person.
    Person,
    /// A rule that a person gave before.
    Policy,
    /// The program itself. May clean up, never approves: that nobody is there to ask is not consent.
    Harness,
}

impl<P> Proposal<P> {
    /// Makes a proposal with the cautious defaults: the model proposes, only a person may approve, irreversible, no fingerprints.
    pub fn new(label: impl Into<String>, source_tool: impl Into<String>, payload: P) -> Self {
        Proposal {
            label: label.into(),
            source_tool: source_tool.into(),
            staged_by: None,
            payload,
            preview: Preview::default(),
            fingerprints: Vec::new(),
            after: Vec::new(),
            call: None,
            effect: Effect::Irreversible,
            proposed_by: Actor::new(ActorKind::Model, ""),
            deciders: BTreeSet::from([ActorKind::Person]),
            supersedes: Vec::new(),
            expires_at: None,
            divisible: false,
            undo_of: None,
            details: None,
            hears_end: false,
        }
    }

    /// Whether applying it would leave everything as it is: all that it writes has that content already.
    ///
    /// Only an effect that shows in fingerprints can be said to change nothing.
    pub fn changes_nothing(&self) -> bool {
        self.effect.shows_in_fingerprints()
            && !self.after.is_empty()
            && self.after.iter().all(|after| self.fingerprints.contains(after))
    }

    /// What it writes: the subjects of `after`, or of `fingerprints` if it does not say what comes after.
    pub fn written(&self) -> impl Iterator<Item = &str> {
        let named = if self.after.is_empty() { &self.fingerprints } else { &self.after };
        named.iter().map(|fingerprint| fingerprint.subject.as_str())
    }
}

impl Effect {
    /// Whether fingerprints show all of the effect, so that its absence can be seen.
    pub fn shows_in_fingerprints(self) -> bool {
        matches!(self, Effect::Pure | Effect::Reversible)
    }
}

impl Actor {
    /// Names an actor; the name may be empty.
    pub fn new(kind: ActorKind, name: impl Into<String>) -> Self {
        Actor { kind, name: name.into() }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Effect::Pure => "pure",
            Effect::Reversible => "reversible",
            Effect::Compensable => "compensable",
            Effect::Irreversible => "irreversible",
        })
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "" => write!(f, "{}", self.kind),
            name => write!(f, "{} {name}", self.kind),
        }
    }
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ActorKind::Model => "model",
            ActorKind::Person => "person",
            ActorKind::Policy => "policy",
            ActorKind::Harness => "harness",
        })
    }
}
