//! The laws, over any sequence of commands, outside writes, crashes and redelivered events.
//!
//! The model below has files, executors that write them piece by piece, and a log that survives crashes.
//! Everything ever written to a file is unique, so that a state of the world that has passed never returns by chance.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Attempt, Change, Check, Effect, Entry, Event, Fingerprint, Lease, MOVES,
    Outcome, ProposalId, Queue, QueueError, Ruling, Start, State, Step, Supersession, Verdict,
};

use crate::script::{edit, look_at};

type Files = BTreeMap<String, String>;

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

#[derive(Debug, Clone)]
enum Act {
    Stage {
        writes: Vec<&'static str>,
        reads: Option<&'static str>,
        irreversible: bool,
        expires_in: Option<u64>,
    },
    Decide {
        target: usize,
        approve: bool,
        part: bool,
    },
    Cancel {
        target: usize,
    },
    Expire {
        target: usize,
    },
    Outside {
        file: &'static str,
    },
    Check {
        target: usize,
    },
    Begin {
        target: usize,
        lease: Option<u64>,
    },
    Renew {
        target: usize,
    },
    Write {
        executor: usize,
    },
    Finish {
        executor: usize,
        sure: bool,
    },
    Recover {
        target: usize,
    },
    TakeOver {
        target: usize,
    },
    Supersede {
        target: usize,
    },
    Restore {
        target: usize,
    },
    Redeliver {
        place: prop::sample::Index,
    },
    Crash,
}

fn act() -> impl Strategy<Value = Act> {
    let target = 0..4_usize;
    let file = prop::sample::select(NAMES.as_slice());
    let writes = prop::sample::subsequence(NAMES.as_slice(), 1..=2);
    prop_oneof![
        2 => (writes, prop::option::of(file.clone()), any::<bool>(), prop::option::weighted(0.3, 5..60_u64))
            .prop_map(|(writes, reads, irreversible, expires_in)| {
                Act::Stage { writes, reads, irreversible, expires_in }
            }),
        6 => (target.clone(), prop::bool::weighted(0.9), prop::bool::weighted(0.2))
            .prop_map(|(target, approve, part)| Act::Decide { target, approve, part }),
        1 => target.clone().prop_map(|target| Act::Cancel { target }),
        3 => target.clone().prop_map(|target| Act::Expire { target }),
        1 => file.prop_map(|file| Act::Outside { file }),
        3 => target.clone().prop_map(|target| Act::Check { target }),
        6 => (target.clone(), prop::option::of(1..20_u64))
            .prop_map(|(target, lease)| Act::Begin { target, lease }),
        1 => target.clone().prop_map(|target| Act::Renew { target }),
        6 => target.clone().prop_map(|executor| Act::Write { executor }),
        3 => (target.clone(), prop::bool::weighted(0.7))
            .prop_map(|(executor, sure)| Act::Finish { executor, sure }),
        4 => target.clone().prop_map(|target| Act::Recover { target }),
        1 => target.clone().prop_map(|target| Act::TakeOver { target }),
        1 => target.clone().prop_map(|target| Act::Supersede { target }),
        2 => target.prop_map(|target| Act::Restore { target }),
        1 => any::<prop::sample::Index>().prop_map(|place| Act::Redeliver { place }),
        2 => Just(Act::Crash),
    ]
}

fn acts() -> impl Strategy<Value = Vec<(Act, bool)>> {
    // The flag: the process dies after the event was made and before it was stored.
    prop::collection::vec((act(), prop::bool::weighted(0.06)), 0..150)
}

/// Somebody who is writing a proposal's files, one after another.
struct Executor {
    attempt: Attempt,
    left: Vec<(String, String)>,
}

#[derive(Default)]
struct World {
    clock: u64,
    files: Files,
    queue: Queue<Files>,
    log: Vec<Event<Files>>,
    executors: Vec<Executor>,
    completed: BTreeMap<ProposalId, u32>,
    /// What each proposal saw when it was staged; kept apart from the queue.
    seen: BTreeMap<ProposalId, Vec<Fingerprint>>,
    /// What partial approvals left out; kept apart from the queue.
    left_out: BTreeMap<ProposalId, BTreeSet<String>>,
    /// How often some proposal came to a state.
    reached: BTreeMap<State, u32>,
}

impl World {
    fn run(acts: &[(Act, bool)]) -> World {
        let mut world = World::default();
        for (act, dies) in acts {
            world.clock += 1;
            if let Some(event) = world.event_of(act) {
                if *dies {
                    world.crash();
                } else {
                    world.keep(event);
                }
            }
        }
        world
    }

    /// Does what needs no event at once; what needs one is returned.
    fn event_of(&mut self, act: &Act) -> Option<Event<Files>> {
        let at = self.clock;
        let person = Actor::new(ActorKind::Person, "anna");
        match act.clone() {
            // Few proposals with long lives tell more than many that wait.
            Act::Stage { .. } if self.queue.iter().count() >= 4 => None,
            Act::Stage { writes, reads, irreversible, expires_in } => {
                let writes: Files =
                    writes.iter().map(|name| ((*name).to_owned(), format!("written {at}"))).collect();
                let reads: Vec<&str> = reads.into_iter().collect();
                let mut proposal = edit(&self.files, writes, &reads);
                if irreversible {
                    proposal.effect = Effect::Irreversible;
                }
                proposal.expires_at = expires_in.map(|ticks| at + ticks);
                proposal.divisible = true;
                self.queue.stage(proposal, at).ok()
            }
            Act::Decide { target, approve, part } => {
                let id = self.id(target)?;
                let verdict = if approve { Verdict::Approve } else { Verdict::Discard };
                let mut ruling = Ruling::new(verdict, person, "");
                if part && approve {
                    ruling.only = self.queue.get(id)?.part().take(1).map(String::from).collect();
                }
                match self.queue.decide_with(id, ruling, at).ok()? {
                    Answer::New(event) => Some(event),
                    Answer::Already(_) => None,
                }
            }
            Act::Cancel { target } => self.queue.cancel(self.id(target)?, person, "", at).ok(),
            Act::Expire { target } => {
                let id = self.id(target)?;
                let due = self.queue.due(at).any(|entry| entry.id == id);
                let event = self.queue.expire(id, at).ok();
                assert_eq!(
                    due,
                    event.is_some(),
                    "{id} is listed as due and cannot expire, or the other way round"
                );
                event
            }
            Act::Outside { file } => {
                self.files.insert(file.to_owned(), format!("outside {at}"));
                None
            }
            Act::Check { target } => match self.queue.check(self.id(target)?, &self.look(), at).ok()? {
                Check::Returns(event) | Check::Stale { event, .. } => Some(event),
                Check::Holds | Check::StillStale { .. } => None,
            },
            Act::Begin { target, lease } => {
                let id = self.id(target)?;
                let start = lease.map_or_else(Start::default, |ticks| Start::leased("one", at + ticks));
                match self.queue.begin_with(id, &self.look(), start, at).ok()? {
                    Step::Apply { event, .. } => {
                        assert!(self.is_as_seen(id), "{id} begins in another world");
                        let end = self.queue.get(id).and_then(|entry| entry.proposal.expires_at);
                        assert!(end.is_none_or(|end| at < end), "{id} begins after its time");
                        assert!(
                            self.executors.iter().all(|one| one.attempt.proposal != id),
                            "{id} begins twice"
                        );
                        let state = self.queue.get(id).map(|entry| entry.state);
                        assert_eq!(state, Some(State::Approved), "{id} begins");
                        Some(event)
                    }
                    Step::Stale { event, .. } => {
                        assert!(!self.is_as_seen(id), "{id} is called stale for nothing");
                        Some(event)
                    }
                }
            }
            Act::Renew { target } => {
                let attempt = self.queue.get(self.id(target)?)?.attempt();
                self.queue.renew(attempt, at + 20, at).ok()
            }
            Act::Write { executor } => {
                let count = self.executors.len();
                let executor = self.executors.get_mut(executor.checked_rem(count)?)?;
                let (name, text) = executor.left.pop()?;
                let left_out = self.left_out.get(&executor.attempt.proposal);
                assert!(!left_out.is_some_and(|names| names.contains(&name)), "{name} was not approved");
                self.files.insert(name, text);
                if executor.left.is_empty() {
                    *self.completed.entry(executor.attempt.proposal).or_default() += 1;
                }
                None
            }
            Act::Finish { executor, sure } => {
                let count = self.executors.len();
                let executor = self.executors.get(executor.checked_rem(count)?)?;
                let reason = String::new();
                let outcome = match (sure, executor.left.is_empty()) {
                    (false, _) => Outcome::Unknown { reason },
                    (true, true) => Outcome::Applied,
                    (true, false) => Outcome::Failed { reason },
                };
                self.queue.finish(executor.attempt, outcome, at).ok()
            }
            Act::Recover { target } => {
                let id = self.id(target)?;
                if self.executors.iter().any(|executor| executor.attempt.proposal == id) {
                    return None;
                }
                let found = self.queue.get(id)?.observe(&self.look());
                let held = self.queue.get(id)?.lease.as_ref().is_some_and(|lease| lease.stands(at));
                let event = self.queue.recover(id, found, person, at).ok();
                assert!(!held || event.is_none(), "{id} is recovered from somebody who holds it");
                event
            }
            Act::TakeOver { target } => {
                let id = self.id(target)?;
                if self.executors.iter().any(|executor| executor.attempt.proposal == id) {
                    return None;
                }
                let old = self.queue.get(id)?.attempt();
                let event =
                    self.queue.take_over(id, Lease { holder: "two".to_owned(), until: at + 3 }, at).ok()?;
                let mut next = self.queue.clone();
                next.record(event.clone()).expect("a command's event is legal");
                assert!(
                    next.finish(old, Outcome::Applied, at).is_err(),
                    "{old} is reported after it was taken over"
                );
                Some(event)
            }
            Act::Supersede { target } => {
                let cause = Supersession::BranchLeft { by: "m1".to_owned() };
                self.queue.supersede(self.id(target)?, cause, at).ok()
            }
            Act::Restore { target } => self.queue.restore(self.id(target)?, at).ok(),
            Act::Redeliver { place } => self.redeliver(place),
            Act::Crash => {
                self.crash();
                None
            }
        }
    }

    /// Tries an old event again. A refusal must leave no trace.
    fn redeliver(&self, place: prop::sample::Index) -> Option<Event<Files>> {
        if self.log.is_empty() {
            return None;
        }
        let event = place.get(&self.log).clone();
        let mut queue = self.queue.clone();
        let refused = queue.record(event.clone()).is_err();
        if refused {
            assert_eq!(queue, self.queue);
        }
        let once = matches!(event.change, Change::Staged(_) | Change::Began { .. } | Change::Finished { .. });
        assert!(refused || !once, "an event that happens once happened twice");
        (!refused).then_some(event)
    }

    fn keep(&mut self, event: Event<Files>) {
        let id = event.proposal;
        let from = self.queue.get(id).map(|entry| entry.state);
        self.log.push(event.clone());
        let to = self.queue.record(event.clone()).expect("a command's event is legal");
        let listed = MOVES.iter().any(|legal| Some(legal.from) == from && legal.to == to);
        assert!(listed || (from.is_none() && to == State::Proposed), "{from:?} to {to}");
        *self.reached.entry(to).or_default() += 1;
        match &event.change {
            Change::Staged(proposal) => {
                self.seen.insert(id, proposal.fingerprints.clone());
            }
            Change::Decided { only, .. } if !only.is_empty() => {
                let payload = self.queue.get(id).map(|entry| entry.proposal.payload.clone());
                let left =
                    payload.into_iter().flatten().map(|(name, _)| name).filter(|name| !only.contains(name));
                self.left_out.entry(id).or_default().extend(left);
            }
            Change::Began { .. } => self.executors.push(Executor {
                attempt: event.attempt().expect("a begin has an attempt"),
                left: self.queue.get(id).map(part_of).unwrap_or_default(),
            }),
            Change::Finished { .. } => {
                let ended = event.attempt();
                self.executors.retain(|executor| Some(executor.attempt) != ended);
            }
            _ => {}
        }
    }

    /// Executors die with the process; what is in the log stays.
    fn crash(&mut self) {
        self.executors.clear();
        self.queue = Queue::replay(self.log.clone()).expect("the log can be replayed");
    }

    fn id(&self, target: usize) -> Option<ProposalId> {
        let count = self.queue.iter().count();
        self.queue.iter().nth(target.checked_rem(count)?).map(|entry| entry.id)
    }

    fn look(&self) -> Vec<Fingerprint> {
        NAMES.iter().map(|name| look_at(&self.files, name)).collect()
    }

    /// Whether everything that counts is as it was when the proposal was staged.
    fn is_as_seen(&self, id: ProposalId) -> bool {
        let left_out = self.left_out.get(&id).cloned().unwrap_or_default();
        let seen = self.seen.get(&id).expect("it was staged");
        seen.iter()
            .filter(|then| !left_out.contains(&then.subject))
            .all(|then| look_at(&self.files, &then.subject) == *then)
    }

    fn count(&self, id: ProposalId, wanted: impl Fn(&Change<Files>) -> bool) -> usize {
        self.log.iter().filter(|event| event.proposal == id && wanted(&event.change)).count()
    }
}

/// What an executor writes.
fn part_of(entry: &Entry<Files>) -> Vec<(String, String)> {
    let payload = &entry.proposal.payload;
    let named = |subject: &str| Some((subject.to_owned(), payload.get(subject)?.clone()));
    entry.part().filter_map(named).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_applied_twice(acts in acts()) {
        let world = World::run(&acts);
        for (id, times) in &world.completed {
            prop_assert!(*times <= 1, "{} was written {} times", id, times);
        }
        for entry in world.queue.iter() {
            let applied = world.count(entry.id, |change| {
                matches!(change, Change::Finished { outcome: Outcome::Applied, .. })
            });
            prop_assert!(applied <= 1);
            if entry.state == State::Applied {
                prop_assert_eq!(world.completed.get(&entry.id), Some(&1));
            }
        }
    }

    #[test]
    fn the_queue_knows_what_partial_approvals_left_out(acts in acts()) {
        let world = World::run(&acts);
        for entry in world.queue.iter() {
            let left_out = world.left_out.get(&entry.id).cloned().unwrap_or_default();
            prop_assert_eq!(&entry.left_out, &left_out);
        }
    }

    #[test]
    fn what_expired_is_never_begun_again(acts in acts()) {
        let world = World::run(&acts);
        for entry in world.queue.iter().filter(|entry| entry.state == State::Expired) {
            let after = world.log.iter().filter(|event| event.proposal == entry.id);
            let after: Vec<_> =
                after.skip_while(|event| event.change != Change::Expired).skip(1).collect();
            prop_assert!(after.is_empty(), "{:?}", after);
            prop_assert!(entry.is_past(entry.changed_at));
        }
    }

    #[test]
    fn an_effect_that_files_do_not_show_begins_once_per_approval(acts in acts()) {
        let world = World::run(&acts);
        for entry in world.queue.iter() {
            let approvals = world.count(entry.id, |change| {
                matches!(change, Change::Decided { verdict: Verdict::Approve, .. })
            });
            let begins = world.count(entry.id, |change| matches!(change, Change::Began { .. }));
            prop_assert!(begins == 0 || approvals > 0);
            if entry.proposal.effect == Effect::Irreversible {
                prop_assert!(begins <= approvals, "{} begins, {} approvals", begins, approvals);
            }
        }
    }

    #[test]
    fn a_replayed_log_is_the_live_queue(acts in acts()) {
        let world = World::run(&acts);
        let lines: Vec<String> = world
            .log
            .iter()
            .map(|event| serde_json::to_string(event).expect("an event prints"))
            .collect();
        let read: Vec<Event<Files>> = lines
            .iter()
            .map(|line| serde_json::from_str(line).expect("an event reads"))
            .collect();
        prop_assert_eq!(&read, &world.log);
        prop_assert_eq!(Queue::replay(read).ok(), Some(world.queue));
    }

    #[test]
    fn a_log_with_a_hole_is_refused_or_still_obeys_the_table(acts in acts(), hole: prop::sample::Index) {
        let mut log = World::run(&acts).log;
        prop_assume!(!log.is_empty());
        let hole = hole.index(log.len());
        log.remove(hole);
        if let Err(error) = Queue::replay(log) {
            prop_assert!(error.index >= hole);
            prop_assert_ne!(error.source, QueueError::NothingPending);
        }
    }
}

#[test]
fn the_model_reaches_every_state() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let mut reached: BTreeMap<State, u32> = BTreeMap::new();
    for _ in 0..256 {
        let acts = acts().new_tree(&mut runner).expect("acts can be made");
        for (state, times) in World::run(&acts.current()).reached {
            *reached.entry(state).or_default() += times;
        }
    }
    for state in State::ALL {
        assert!(reached.get(state).is_some_and(|times| *times >= 20), "{state}: {reached:?}");
    }
}
