//! What a run follows, when it began, and what it used.

use std::collections::HashMap;

use super::verdicts::later;
use super::{Family, Rule, Violation};
use crate::{
    Choice, Cost, Decision, Object, ObjectName, Predecessor, ProvenanceId, RunId, RunRecord, Timestamp,
    UsageContent, VerdictKind,
};

impl Family {
    /// How much older than its run something may be: clocks of two machines differ, and are set.
    pub const SKEW_MILLISECONDS: i64 = 5 * 60 * 1000;

    pub(super) fn runs(&self, found: &mut Vec<Violation>) {
        let decisions = self.first_decisions();
        let mut used: HashMap<RunId, Sums> = HashMap::new();
        let mut provenances: HashMap<RunId, Vec<(Timestamp, ProvenanceId)>> = HashMap::new();
        for object in self.iter() {
            let name = object.name();
            match object {
                Object::Provenance(provenance) => {
                    let this = (provenance.header().at, provenance.id());
                    provenances.entry(provenance.content().run).or_default().push(this);
                }
                Object::Run(run) => self.follows(run, &decisions, found),
                Object::Usage(usage) => used.entry(usage.content().run).or_default().add(usage.content()),
                Object::ToolInvocation(call) => {
                    let content = call.content();
                    if let (Some(started), Some(ended)) = (content.started, content.ended)
                        && ended < started
                    {
                        found.push(Violation {
                            object: name,
                            rule: Rule::EndedBeforeStart { started, ended },
                        });
                    }
                }
                _ => {}
            }
            self.is_not_before_its_run(object, name, found);
        }
        for (run, provenances) in provenances {
            later(provenances, found, |first| Rule::SecondProvenance { run, first });
        }
        for object in self.iter() {
            if let Object::Decision(decision) = object
                && let Some(cost) = &decision.cites().cost
                && let Some(sums) = used.get(&decision.run())
            {
                sums.compare(cost, object.name(), found);
            }
        }
    }

    /// The earliest decision of each run.
    pub(crate) fn first_decisions(&self) -> HashMap<RunId, &Decision> {
        let mut first: HashMap<RunId, &Decision> = HashMap::new();
        for object in self.iter() {
            if let Object::Decision(decision) = object {
                let known = first.entry(decision.run()).or_insert(decision);
                if (decision.at(), decision.id()) < (known.at(), known.id()) {
                    *known = decision;
                }
            }
        }
        first
    }

    fn is_not_before_its_run(&self, object: &Object, name: ObjectName, found: &mut Vec<Violation>) {
        let Some((run, at)) = run_and_time(object) else { return };
        let Some(opened) = self.run(run).map(|run| run.opening().at) else { return };
        // Who decides has the record of the run at hand, and can give the decision a time after it.
        let skew = if matches!(object, Object::Decision(_)) { 0 } else { Self::SKEW_MILLISECONDS };
        if opened.is_later(at, skew) {
            found.push(Violation { object: name, rule: Rule::BeforeItsRun { run, opened } });
        }
    }

    fn follows(&self, run: &RunRecord, decisions: &HashMap<RunId, &Decision>, found: &mut Vec<Violation>) {
        let opening = run.opening();
        let (before, needed) = match opening.predecessor {
            Some(Predecessor::RetryOf(before)) => (before, VerdictKind::Retry),
            Some(Predecessor::Continues(before)) => (before, VerdictKind::Checkpoint),
            None => return,
        };
        let rule = match decisions.get(&before) {
            // A run that is not here dangles, and that has been told.
            None => self.run(before).map(|_| Rule::PredecessorUndecided { run: before }),
            Some(decision) if decision.verdict().kind() != needed => {
                let found = decision.verdict().kind();
                Some(Rule::PredecessorVerdict { run: before, found, needed })
            }
            Some(decision) => {
                let early = decision.at().is_later(opening.at, Self::SKEW_MILLISECONDS);
                early.then(|| Rule::OpenedTooEarly { run: before, decided: decision.at() })
            }
        };
        found.extend(rule.map(|rule| Violation { object: run.id().into(), rule }));
    }
}

/// The run that an object is of, and when the object came to be.
fn run_and_time(object: &Object) -> Option<(RunId, Timestamp)> {
    Some(match object {
        Object::Decision(decision) => (decision.run(), decision.at()),
        Object::Provenance(provenance) => (provenance.content().run, provenance.header().at),
        Object::Evidence(evidence) => (evidence.run(), evidence.at()),
        Object::TaskEvent(event) => (event.content().run?, event.header().at),
        Object::RunEvent(event) => (event.content().run, event.header().at),
        Object::StepEvent(event) => (event.content().run, event.header().at),
        Object::Usage(usage) => (usage.content().run, usage.header().at),
        Object::ToolInvocation(call) => (
            call.content().run,
            call.content().started.map_or(call.header().at, |started| started.min(call.header().at)),
        ),
        Object::Selection(selection) => match selection.content().choice {
            Choice::PatchSet { run, .. } => (run, selection.header().at),
            Choice::Plan { .. } => return None,
        },
        Object::ContextFrame(frame) => (frame.content().run?, frame.header().at),
        _ => return None,
    })
}

/// What the usages of one run add up to; 128 bits hold more of them than memory does.
#[derive(Default)]
struct Sums {
    input: u128,
    output: u128,
    cache_read: u128,
    cache_write: u128,
    microdollars: u128,
    /// Whether a usage did not say what it cost; then the sum says nothing.
    unpriced: bool,
}

impl Sums {
    fn add(&mut self, usage: &UsageContent) {
        self.input += u128::from(usage.input_tokens);
        self.output += u128::from(usage.output_tokens);
        self.cache_read += u128::from(usage.cache_read_tokens);
        self.cache_write += u128::from(usage.cache_write_tokens);
        match usage.microdollars {
            Some(microdollars) => self.microdollars += u128::from(microdollars),
            None => self.unpriced = true,
        }
    }

    fn compare(&self, cost: &Cost, object: ObjectName, found: &mut Vec<Violation>) {
        let priced = cost.microdollars.filter(|_| !self.unpriced);
        let counts = [
            ("input_tokens", self.input, Some(cost.input_tokens)),
            ("output_tokens", self.output, Some(cost.output_tokens)),
            ("cache_read_tokens", self.cache_read, Some(cost.cache_read_tokens)),
            ("cache_write_tokens", self.cache_write, Some(cost.cache_write_tokens)),
            ("microdollars", self.microdollars, priced),
        ];
        for (count, summed, decided) in counts {
            if let Some(decided) = decided.filter(|decided| u128::from(*decided) != summed) {
                found.push(Violation { object, rule: Rule::UsageSum { count, summed, decided } });
            }
        }
    }
}
