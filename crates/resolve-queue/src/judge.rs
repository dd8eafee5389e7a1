//! What the rules say of something that is wanted.
//!
//! The order in which rules were given does not matter, so nobody has to read them in order to know what they do:
//! what forbids wins; what names a path or a command outranks what names a tool, and that outranks what names neither;
//! of equals the stricter one wins. Without a rule, a person decides.

use std::collections::BTreeSet;

use crate::command_pattern::parts;
use crate::path_pattern::fits;
use crate::{Actor, ActorKind, Effect, Rule, RuleId, RuleTarget, RuleVerdict, Rules, Ruling, Scope, Verdict};

/// Something that is wanted, as far as rules go by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted<'a> {
    /// The tool.
    pub tool: &'a str,
    /// What it would take to undo it.
    pub effect: Effect,
    /// What it is done to.
    pub on: On<'a>,
}

/// What something is done to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a rule's target is one of these or none")]
pub enum On<'a> {
    /// Nothing that rules know.
    Other,
    /// Files, all of them: relative to the project's folder, or absolute; links resolved.
    Paths(&'a [&'a str]),
    /// A command, as the shell gets it.
    Command(&'a str),
}

/// Whether something is what a pattern means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "doubt must be treated apart from both answers")]
pub enum Fit {
    /// No.
    No,
    /// Nobody can tell from the text: a question, and nothing that is allowed.
    Perhaps,
    /// It is, or part of it is.
    Yes,
}

/// What the rules say.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Judgement {
    /// Do it, ask, or refuse.
    pub verdict: RuleVerdict,
    /// The rules that say so; none if there is no rule for it.
    pub rules: Vec<RuleId>,
    /// Who may approve: what a proposal's [`deciders`](crate::Proposal::deciders) should be.
    pub deciders: BTreeSet<ActorKind>,
}

impl<'a> Wanted<'a> {
    /// Something that a tool wants to do.
    pub fn new(tool: &'a str, effect: Effect, on: On<'a>) -> Self {
        Wanted { tool, effect, on }
    }
}

impl Judgement {
    /// The decision that was made ahead, if one was: the actor is the policy, by the name of its rules.
    ///
    /// Where it asks there is none, whether somebody is there to be asked or not.
    pub fn ruling(&self) -> Option<Ruling> {
        let names: Vec<String> = self.rules.iter().map(ToString::to_string).collect();
        let names = names.join(", ");
        let (verdict, reason) = match self.verdict {
            RuleVerdict::Allow => (Verdict::Approve, format!("allowed by {names}")),
            RuleVerdict::Deny => (Verdict::Discard, format!("forbidden by {names}")),
            RuleVerdict::Ask => return None,
        };
        Some(Ruling::new(verdict, Actor::new(ActorKind::Policy, names), reason))
    }

    fn asking(rules: Vec<RuleId>, deciders: BTreeSet<ActorKind>) -> Self {
        Judgement { verdict: RuleVerdict::Ask, rules, deciders }
    }

    fn decided(verdict: RuleVerdict, rules: Vec<RuleId>) -> Self {
        Judgement { verdict, rules, deciders: BTreeSet::from([ActorKind::Person, ActorKind::Policy]) }
    }

    /// What counts for both, when two things are done at once, or one thing goes by two names: the stricter of the two.
    #[must_use]
    pub fn and(mut self, other: Judgement) -> Self {
        match self.verdict.cmp(&other.verdict) {
            std::cmp::Ordering::Less => other,
            std::cmp::Ordering::Greater => self,
            std::cmp::Ordering::Equal => {
                self.deciders = common(&self.deciders, &other.deciders);
                let new = other.rules.into_iter().filter(|id| !self.rules.contains(id));
                let new: Vec<RuleId> = new.collect();
                self.rules.extend(new);
                self
            }
        }
    }
}

/// Who may decide where two rules ask: whom both accept. A person is always among them.
fn common(one: &BTreeSet<ActorKind>, other: &BTreeSet<ActorKind>) -> BTreeSet<ActorKind> {
    one.intersection(other).copied().collect()
}

/// How much a rule names; the greatest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Anything,
    Tool,
    Target,
}

/// A rule that speaks, and what it says here.
struct Voice<'a> {
    rank: Rank,
    verdict: RuleVerdict,
    id: RuleId,
    rule: &'a Rule,
}

/// Which rules are asked.
type Asked = fn(&Rule, &Wanted<'_>) -> bool;

impl Rules {
    /// Says what may be done with something that is wanted.
    ///
    /// Of several paths each is judged, and the strictest answer counts for all; so it is with a line of commands that are
    /// plain words each, such as `cargo fmt && cargo test`. Costs a step per rule and path, or command.
    pub fn judge(&self, wanted: &Wanted<'_>, at: u64) -> Judgement {
        self.judge_by(|_, _| true, wanted, at)
    }

    /// Like [`judge`](Rules::judge), by the rules alone that name the tool itself, letter for letter: neither one for all tools
    /// nor one with `*` or `?` says anything. For what a rule decides only if its giver has thought of it.
    pub fn judge_by_name(&self, wanted: &Wanted<'_>, at: u64) -> Judgement {
        self.judge_by(|rule, wanted| rule.tool.as_deref() == Some(wanted.tool), wanted, at)
    }

    fn judge_by(&self, asked: Asked, wanted: &Wanted<'_>, at: u64) -> Judgement {
        match wanted.on {
            On::Paths([first, rest @ ..]) => {
                let one = |path: &str| self.judge_one(asked, wanted, (Some(path), None), at);
                rest.iter().fold(one(first), |all, path| all.and(one(path)))
            }
            On::Command(command) => {
                let one = |command: &str| self.judge_one(asked, wanted, (None, Some(command)), at);
                match parts(command).as_deref() {
                    Some([first, rest @ ..]) => rest.iter().fold(one(first), |all, part| all.and(one(part))),
                    _ => one(command),
                }
            }
            On::Other | On::Paths([]) => self.judge_one(asked, wanted, (None, None), at),
        }
    }

    fn judge_one(
        &self,
        asked: Asked,
        wanted: &Wanted<'_>,
        (path, command): (Option<&str>, Option<&str>),
        at: u64,
    ) -> Judgement {
        let counting = self.iter().filter(|standing| standing.counts(at) && asked(&standing.rule, wanted));
        let voices: Vec<Voice<'_>> = counting
            .filter_map(|standing| {
                let rule = &standing.rule;
                let verdict = says(rule, wanted, path, command)?;
                let rank = match (&rule.target, &rule.tool) {
                    (Some(_), _) => Rank::Target,
                    (None, Some(_)) => Rank::Tool,
                    (None, None) => Rank::Anything,
                };
                Some(Voice { rank, verdict, id: standing.id, rule })
            })
            .collect();
        let forbidding: Vec<RuleId> =
            voices.iter().filter(|voice| voice.verdict == RuleVerdict::Deny).map(|voice| voice.id).collect();
        if !forbidding.is_empty() {
            return Judgement::decided(RuleVerdict::Deny, forbidding);
        }
        let Some(top) = voices.iter().map(|voice| (voice.rank, voice.verdict)).max() else {
            return Judgement::asking(Vec::new(), BTreeSet::from([ActorKind::Person]));
        };
        let loudest: Vec<&Voice<'_>> =
            voices.iter().filter(|voice| (voice.rank, voice.verdict) == top).collect();
        let rules: Vec<RuleId> = loudest.iter().map(|voice| voice.id).collect();
        if top.1 == RuleVerdict::Allow {
            // What counts once is kept for when nothing else allows it.
            let lasting = loudest.iter().filter(|voice| voice.rule.scope != Scope::Once);
            let lasting: Vec<RuleId> = lasting.map(|voice| voice.id).collect();
            return Judgement::decided(RuleVerdict::Allow, if lasting.is_empty() { rules } else { lasting });
        }
        let asked = loudest.iter().map(|voice| asks(voice.rule)).reduce(|all, one| common(&all, &one));
        Judgement::asking(rules, asked.unwrap_or_default())
    }
}

/// Whom a rule asks: whom it names, and a person in any case. One that forbids what may be hidden in a command asks a
/// person alone.
fn asks(rule: &Rule) -> BTreeSet<ActorKind> {
    let named = rule
        .deciders
        .iter()
        .copied()
        .filter(|kind| rule.verdict == RuleVerdict::Ask && *kind != ActorKind::Harness);
    named.chain([ActorKind::Person]).collect()
}

/// What a rule says of something, if it is about it at all.
fn says(rule: &Rule, wanted: &Wanted<'_>, path: Option<&str>, command: Option<&str>) -> Option<RuleVerdict> {
    let of_tool = rule.tool.as_ref().is_none_or(|pattern| fits(pattern, wanted.tool, true));
    if !of_tool || !(rule.effects.is_empty() || rule.effects.contains(&wanted.effect)) {
        return None;
    }
    let allows = rule.verdict == RuleVerdict::Allow;
    let fit = match (&rule.target, path, command) {
        (None, _, _) => Fit::Yes,
        (Some(RuleTarget::Path(pattern)), Some(path), _) if allows => certain(pattern.allows(path)),
        (Some(RuleTarget::Path(pattern)), Some(path), _) => pattern.catches(path),
        (Some(RuleTarget::Command(pattern)), _, Some(command)) if allows => certain(pattern.allows(command)),
        (Some(RuleTarget::Command(pattern)), _, Some(command)) => pattern.catches(command),
        (Some(_), _, _) => Fit::No,
    };
    match fit {
        Fit::No => None,
        Fit::Yes => Some(rule.verdict),
        // A question, not a refusal: the words may be in a text that is only printed.
        Fit::Perhaps => Some(RuleVerdict::Ask),
    }
}

fn certain(fits: bool) -> Fit {
    if fits { Fit::Yes } else { Fit::No }
}
