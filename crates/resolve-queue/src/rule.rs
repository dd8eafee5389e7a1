//! Rules that somebody gave once and that decide again: what may be done unasked, what must be asked, what never.
//!
//! Data like proposals are: each has an id, says who gave it and why, is listed, and can be taken back.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::{Actor, ActorKind, CommandPattern, Effect, ParseIdError, PathPattern};

/// The name of one rule, printed `r3`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u32);

/// A decision that was made ahead.
///
/// A field that is not known is refused on reading: it could have made the rule narrower.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rule {
    /// Which tools, with `*` and `?`; `None` means all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Which classes of effect; none means all.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub effects: BTreeSet<Effect>,
    /// What it is done to; `None` means whatever the tool does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<RuleTarget>,
    /// What is decided.
    pub verdict: RuleVerdict,
    /// Who may decide beside a person, where it asks.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub deciders: BTreeSet<ActorKind>,
    /// For how long.
    pub scope: Scope,
    /// Who gave it.
    pub given_by: Actor,
    /// Why; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// From when on it does not count any more, in milliseconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// What a rule is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleTarget {
    /// Everything that is written is at such a path.
    Path(PathPattern),
    /// The command is such a one.
    Command(CommandPattern),
}

/// What a rule decides, from the mildest to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "whoever enforces rules has to treat each")]
pub enum RuleVerdict {
    /// It may be done unasked.
    Allow,
    /// Somebody decides.
    Ask,
    /// It may not be done.
    Deny,
}

/// How long a rule counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "the caller keeps each of these in another place")]
pub enum Scope {
    /// Until it was used once.
    Once,
    /// As long as the session: its events stay in the session's log.
    Session,
    /// Until it is taken back: the caller keeps it outside of sessions too, and [`Rules::adopt`] brings it into each.
    Always,
}

/// One thing that happened to one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleEvent {
    /// To which rule.
    pub rule: RuleId,
    /// When, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What.
    pub change: RuleChange,
}

/// What happened to a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuleChange {
    /// It was given.
    Added(Box<Rule>),
    /// It was taken back.
    Revoked {
        /// Who took it back.
        by: Actor,
        /// Why; may be empty.
        reason: String,
    },
    /// It decided something. A rule of the scope once counts no more.
    Used {
        /// What it decided, such as the id of a proposal.
        on: String,
    },
}

/// A rule and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RuleEntry {
    /// Its name.
    pub id: RuleId,
    /// When it was given, in milliseconds since the Unix epoch.
    pub added_at: u64,
    /// How often it decided something.
    pub used: u32,
    /// Who took it back and why, if somebody did.
    pub revoked: Option<(Actor, String)>,
    /// What it says.
    pub rule: Rule,
}

/// All rules that were ever given, as the fold of their events.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    // Ids only grow, so the order of keys is the order in which they were given.
    rules: BTreeMap<RuleId, RuleEntry>,
}

/// Why a rule was refused. The rules are as they were.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// There is no such rule.
    #[error("no rule {id}; there is a rule up to {}", newest(*.last))]
    Unknown {
        /// The id that was named.
        id: RuleId,
        /// The newest rule.
        last: Option<RuleId>,
    },
    /// The rule was taken back, or used up.
    #[error("{id} does not count any more")]
    Over {
        /// The rule.
        id: RuleId,
    },
    /// A new rule's id is not greater than the last one's.
    #[error("{id} is not new; there is a rule up to {}", newest(*.last))]
    NotNew {
        /// The id.
        id: RuleId,
        /// The newest rule.
        last: Option<RuleId>,
    },
    /// Rules are given and taken back by persons and by policies that a person chose.
    #[error("{by} may neither give rules nor take them back; a person may")]
    NotPermitted {
        /// Who tried.
        by: Actor,
    },
    /// There is no next number.
    #[error("no number is left for another rule")]
    NumbersExhausted,
}

impl Rule {
    /// A rule for whatever any tool does, for this session; narrow it by its fields.
    pub fn new(verdict: RuleVerdict, given_by: Actor) -> Self {
        Rule {
            tool: None,
            effects: BTreeSet::new(),
            target: None,
            verdict,
            deciders: BTreeSet::new(),
            scope: Scope::Session,
            given_by,
            reason: String::new(),
            expires_at: None,
        }
    }
}

impl RuleEntry {
    /// Whether it still decides.
    pub fn counts(&self, at: u64) -> bool {
        !self.is_over() && self.rule.expires_at.is_none_or(|end| at < end)
    }

    fn is_over(&self) -> bool {
        self.revoked.is_some() || (self.rule.scope == Scope::Once && self.used > 0)
    }
}

impl Rules {
    /// No rules: whatever is asked, a person has to decide.
    pub fn new() -> Self {
        Rules::default()
    }

    /// Folds a whole log.
    ///
    /// # Errors
    ///
    /// [`RuleError`] of the first event that could not have happened.
    pub fn replay(events: impl IntoIterator<Item = RuleEvent>) -> Result<Self, RuleError> {
        let mut rules = Rules::new();
        for event in events {
            rules.record(event)?;
        }
        Ok(rules)
    }

    /// Folds one event that the caller's log has accepted.
    ///
    /// # Errors
    ///
    /// Any [`RuleError`], if the event could not have happened here; then nothing has changed.
    pub fn record(&mut self, event: RuleEvent) -> Result<(), RuleError> {
        self.admit(&event)?;
        let RuleEvent { rule: id, at, change } = event;
        match (change, self.rules.get_mut(&id)) {
            (RuleChange::Added(rule), _) => {
                let standing = RuleEntry { id, added_at: at, used: 0, revoked: None, rule: *rule };
                self.rules.insert(id, standing);
            }
            (RuleChange::Revoked { by, reason }, Some(standing)) => standing.revoked = Some((by, reason)),
            (RuleChange::Used { .. }, Some(standing)) => standing.used = standing.used.saturating_add(1),
            (_, None) => {}
        }
        Ok(())
    }

    /// Looks a rule up.
    pub fn get(&self, id: RuleId) -> Option<&RuleEntry> {
        self.rules.get(&id)
    }

    /// All rules, oldest first, also those that do not count any more.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &RuleEntry> {
        self.rules.values()
    }

    /// Gives a rule.
    ///
    /// # Errors
    ///
    /// [`RuleError::NotPermitted`], [`RuleError::NumbersExhausted`].
    pub fn add(&self, rule: Rule, at: u64) -> Result<RuleEvent, RuleError> {
        let last = self.last().map_or(0, |RuleId(last)| last);
        let id = last.checked_add(1).map(RuleId).ok_or(RuleError::NumbersExhausted)?;
        self.admitted(RuleEvent { rule: id, at, change: RuleChange::Added(Box::new(rule)) })
    }

    /// Takes a rule back.
    ///
    /// # Errors
    ///
    /// [`RuleError::Unknown`], [`RuleError::Over`], [`RuleError::NotPermitted`].
    pub fn revoke(
        &self,
        id: RuleId,
        by: Actor,
        reason: impl Into<String>,
        at: u64,
    ) -> Result<RuleEvent, RuleError> {
        self.admitted(RuleEvent { rule: id, at, change: RuleChange::Revoked { by, reason: reason.into() } })
    }

    /// Notes that a rule decided something; store it in one batch with the decision.
    ///
    /// # Errors
    ///
    /// [`RuleError::Unknown`], [`RuleError::Over`].
    pub fn used(&self, id: RuleId, on: impl Into<String>, at: u64) -> Result<RuleEvent, RuleError> {
        self.admitted(RuleEvent { rule: id, at, change: RuleChange::Used { on: on.into() } })
    }

    /// Returns what makes the rules of the scope always the same as those that are kept outside.
    ///
    /// What was taken back there is taken back here, and what is new there is given here. Record them in this order.
    ///
    /// # Errors
    ///
    /// As [`add`](Rules::add) and [`revoke`](Rules::revoke).
    pub fn adopt(&self, kept: &[Rule], by: &Actor, at: u64) -> Result<Vec<RuleEvent>, RuleError> {
        let mut next = self.clone();
        let mut events = Vec::new();
        let mut keep = |next: &mut Rules, event: RuleEvent| {
            events.push(event.clone());
            next.record(event)
        };
        let here = |standing: &&RuleEntry| standing.rule.scope == Scope::Always && !standing.is_over();
        for standing in self.iter().filter(here).filter(|standing| !kept.contains(&standing.rule)) {
            let event = next.revoke(standing.id, by.clone(), "no longer kept", at)?;
            keep(&mut next, event)?;
        }
        for rule in kept.iter().filter(|rule| rule.scope == Scope::Always) {
            if !next.iter().filter(here).any(|standing| standing.rule == *rule) {
                let event = next.add(rule.clone(), at)?;
                keep(&mut next, event)?;
            }
        }
        Ok(events)
    }

    fn admitted(&self, event: RuleEvent) -> Result<RuleEvent, RuleError> {
        self.admit(&event).map(|()| event)
    }

    /// The one judge, for commands and replay alike.
    fn admit(&self, event: &RuleEvent) -> Result<(), RuleError> {
        let (id, last) = (event.rule, self.last());
        match (&event.change, self.rules.get(&id)) {
            (RuleChange::Added(_), _) if last.is_some_and(|last| last >= id) => {
                Err(RuleError::NotNew { id, last })
            }
            (RuleChange::Added(rule), _) => may_rule(&rule.given_by),
            (_, None) => Err(RuleError::Unknown { id, last }),
            (_, Some(standing)) if standing.is_over() => Err(RuleError::Over { id }),
            (RuleChange::Revoked { by, .. }, _) => may_rule(by),
            (RuleChange::Used { .. }, _) => Ok(()),
        }
    }

    fn last(&self) -> Option<RuleId> {
        self.rules.last_key_value().map(|(id, _)| *id)
    }
}

/// A model that could give rules could allow itself everything.
fn may_rule(by: &Actor) -> Result<(), RuleError> {
    match by.kind {
        ActorKind::Person | ActorKind::Policy => Ok(()),
        ActorKind::Model | ActorKind::Harness => Err(RuleError::NotPermitted { by: by.clone() }),
    }
}

fn newest(last: Option<RuleId>) -> String {
    last.map_or_else(|| "none".to_owned(), |last| last.to_string())
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

impl FromStr for RuleId {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let digits = trimmed.strip_prefix(['r', 'R']).unwrap_or(trimmed);
        let number = digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten();
        let unread = || ParseIdError { found: text.to_owned(), expected: "a rule's id such as r3" };
        number.map(RuleId).ok_or_else(unread)
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let read = text.parse::<RuleId>().ok().filter(|id| id.to_string() == text);
        read.ok_or_else(|| {
            de::Error::invalid_value(de::Unexpected::Str(&text), &"a rule's id such as \"r3\"")
        })
    }
}
