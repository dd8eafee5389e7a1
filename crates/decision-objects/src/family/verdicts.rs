//! What decisions rest on, one for each run, and what undoes what.

use std::collections::{HashMap, HashSet};

use super::{Family, Rule, Violation};
use crate::{Alternative, Decision, DecisionId, EvidenceId, Object, ObjectName, RunId, Timestamp, Verdict};

impl Family {
    pub(super) fn verdicts(&self, found: &mut Vec<Violation>) {
        let mut by_run: HashMap<RunId, Vec<(Timestamp, DecisionId)>> = HashMap::new();
        let mut by_target: HashMap<DecisionId, Vec<(Timestamp, DecisionId)>> = HashMap::new();
        let mut named: HashSet<(DecisionId, EvidenceId)> = HashSet::new();
        for object in self.iter() {
            let Object::Decision(decision) = object else { continue };
            let this = (decision.at(), decision.id());
            by_run.entry(decision.run()).or_default().push(this);
            if let Verdict::Rollback { of, .. } = *decision.verdict() {
                by_target.entry(of).or_default().push(this);
                self.rollback(decision, of, found);
            }
            named.extend(decision.evidence().iter().map(|&evidence| (decision.id(), evidence)));
            self.grounds(decision, found);
        }
        for object in self.iter() {
            // Evidence that names no decision is older than it, and says nothing against it.
            if let Object::Evidence(evidence) = object
                && let Some(decision) = evidence.decision()
                && self.decision(decision).is_some()
                && !named.contains(&(decision, evidence.id()))
            {
                found.push(Violation { object: object.name(), rule: Rule::UnnamedEvidence { decision } });
            }
        }
        for (run, decisions) in by_run {
            later(decisions, found, |first| Rule::SecondDecision { run, first });
        }
        for (of, rollbacks) in by_target {
            later(rollbacks, found, |first| Rule::UndoneAlready { of, first });
        }
    }

    fn grounds(&self, decision: &Decision, found: &mut Vec<Violation>) {
        let (object, run) = (decision.id().into(), decision.run());
        let rejected = decision.considered().iter().filter_map(|considered| match considered.alternative {
            Alternative::PatchSet(patch_set) => Some(("considered", patch_set)),
            Alternative::Branch(_) | Alternative::Named(_) => None,
        });
        let chosen = decision.verdict().patch_set().map(|patch_set| ("verdict.patch_set", patch_set));
        for (field, patch_set) in chosen.into_iter().chain(rejected) {
            if let Some(known) = self.patch_set(patch_set) {
                found.extend(Violation::unless_of(object, field, patch_set, known.run(), run));
            }
        }
        for &id in decision.evidence() {
            let Some(evidence) = self.evidence(id) else { continue };
            found.extend(Violation::unless_of(object, "evidence", id, evidence.run(), run));
            if let Some(names) = evidence.decision().filter(|names| *names != decision.id()) {
                found.push(Violation { object, rule: Rule::EvidenceOfAnother { evidence: id, names } });
            }
        }
    }

    fn rollback(&self, decision: &Decision, of: DecisionId, found: &mut Vec<Violation>) {
        let Some(target) = self.decision(of) else { return };
        let object = decision.id().into();
        if !target.has_changes() {
            let rule = Rule::NothingToUndo { of, found: target.verdict().kind() };
            found.push(Violation { object, rule });
        }
        if target.run() == decision.run() {
            found.push(Violation { object, rule: Rule::UndoesItsRun { of } });
        }
        if target.at().is_later(decision.at(), Self::SKEW_MILLISECONDS) {
            found.push(Violation { object, rule: Rule::UndoneTooEarly { of, decided: target.at() } });
        }
    }
}

/// Tells of all but the earliest, in whatever order they were added.
pub(super) fn later<Id: Ord + Copy + Into<ObjectName>>(
    mut objects: Vec<(Timestamp, Id)>,
    found: &mut Vec<Violation>,
    rule: impl Fn(Id) -> Rule,
) {
    objects.sort_unstable();
    if let Some((&(_, first), later)) = objects.split_first() {
        found.extend(later.iter().map(|&(_, id)| Violation { object: id.into(), rule: rule(first) }));
    }
}
