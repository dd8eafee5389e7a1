//! Every interleaving of two processes that decide and apply, with one that dies anywhere.
//!
//! There are no threads in this crate, so none is needed to explore it: a process is a list of steps, and the search tries
//! every order of them, visiting each state of the world once. The store takes an event only from whoever has seen all
//! that is in it, which is what a fenced log does. That the search finds what it looks for is shown by two worlds in which
//! something is left out: that store, and the rule that only a lease which is over is recovered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use trunkline_resolve_queue::{
    Actor, ActorKind, Answer, Attempt, Effect, Event, Fingerprint, Lease, Observation, Outcome, Proposal,
    ProposalId, Queue, Start, State, Step, Verdict,
};

use Task::{Apply, Approve, Discard, Recover, Tidy};

const FILES: [&str; 2] = ["a", "b"];
const ID: ProposalId = ProposalId(1);
/// How long a lease holds; the clock goes on by one with each look at the log.
const LEASE: u64 = 1_000;

/// What a process does, one after another; each of these can be cut off before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Approve,
    Discard,
    Apply,
    Recover,
    /// Recover, and put back what is half done.
    Tidy,
}

/// Where a process stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum At {
    /// Before its next task.
    Idle,
    /// It has looked at the log and the files, and knows what it wants to say.
    Saying { event: String, seen: usize, then: Then, again: Again },
    /// It writes, file by file, what is left of an attempt.
    Writing { attempt: u32, left: u8 },
    /// It puts back what is not as it was, file by file.
    PuttingBack,
}

/// What a process does once the store has taken its event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Then {
    Next,
    Write { attempt: u32 },
    PutBack,
}

/// What it tries again if others were faster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Again {
    Task(u8),
    Finish { attempt: u32 },
    PutBack,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    tasks: Vec<u8>,
    at: At,
    alive: bool,
    /// How often it was started. Whoever held something before a restart is gone.
    started: u8,
}

/// Everything that there is. Two worlds that are equal have the same future.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct World {
    log: Vec<String>,
    files: BTreeMap<&'static str, String>,
    processes: Vec<Process>,
    /// Whole effects, by attempt.
    done: BTreeMap<u32, u32>,
    crashes: u8,
    outside: u8,
}

/// What may be left out, to see whether the search notices.
#[derive(Debug, Clone, Copy, Default)]
struct Flaws {
    /// The store takes events from whoever has not seen all of it.
    unfenced: bool,
    /// A process recovers what another one is still applying.
    hasty: bool,
}

const TASKS: [Task; 5] = [Approve, Discard, Apply, Recover, Tidy];

fn task(number: u8) -> Task {
    TASKS[usize::from(number)]
}

fn tasks(of: &[Task]) -> Vec<u8> {
    let number = |task: &Task| TASKS.iter().position(|one| one == task).unwrap_or_default() as u8;
    of.iter().map(number).collect()
}

fn read(log: &[String]) -> Queue<String> {
    let events = log.iter().map(|line| serde_json::from_str(line).expect("it was printed"));
    Queue::replay(events.collect::<Vec<Event<String>>>()).expect("only legal events are taken")
}

fn is_legal(log: &[String], event: &str) -> bool {
    let lines = log.iter().map(String::as_str).chain([event]);
    let events = lines.map(|line| serde_json::from_str(line).expect("it was printed"));
    Queue::<String>::replay(events.collect::<Vec<_>>()).is_ok()
}

fn print(event: &Event<String>) -> String {
    serde_json::to_string(event).expect("it prints")
}

impl World {
    fn new(scripts: &[&[Task]], crashes: u8, outside: u8) -> World {
        let mut proposal = Proposal::new("edit a and b", "edit", "new".to_owned());
        proposal.fingerprints = FILES.iter().map(|name| Fingerprint::digest(*name, "old")).collect();
        proposal.after = FILES.iter().map(|name| Fingerprint::digest(*name, "new")).collect();
        proposal.effect = Effect::Reversible;
        let staged = Queue::new().stage(proposal, 0).expect("it makes sense");
        let process =
            |script: &&[Task]| Process { tasks: tasks(script), at: At::Idle, alive: true, started: 1 };
        World {
            log: vec![print(&staged)],
            files: FILES.iter().map(|name| (*name, "old".to_owned())).collect(),
            processes: scripts.iter().map(process).collect(),
            done: BTreeMap::new(),
            crashes,
            outside,
        }
    }

    fn look(&self) -> Vec<Fingerprint> {
        self.files.iter().map(|(name, text)| Fingerprint::digest(*name, text)).collect()
    }

    /// Every world that can follow.
    fn next(&self, flaws: Flaws) -> Vec<World> {
        let mut worlds = Vec::new();
        for who in 0..self.processes.len() {
            if !self.processes[who].alive {
                continue;
            }
            worlds.extend(self.step(who, flaws));
            if self.crashes > 0 {
                let mut world = self.clone();
                world.crashes -= 1;
                world.processes[who].alive = false;
                worlds.push(world.clone());
                // Or it is started again, and knows no more than what is in the log.
                let started = world.processes[who].started + 1;
                let tasks = tasks(&[Tidy, Approve, Apply]);
                world.processes[who] = Process { tasks, at: At::Idle, alive: true, started };
                worlds.push(world);
            }
        }
        if self.outside > 0 {
            let mut world = self.clone();
            world.outside -= 1;
            world.files.insert("a", "other".to_owned());
            worlds.push(world);
        }
        worlds
    }

    fn step(&self, who: usize, flaws: Flaws) -> Option<World> {
        let mut world = self.clone();
        match self.processes[who].at.clone() {
            At::Idle => {
                let number = *self.processes[who].tasks.first()?;
                world.processes[who].tasks.remove(0);
                if let Some((event, then)) = self.wanted(who, task(number), flaws) {
                    let (event, seen, again) = (print(&event), self.log.len(), Again::Task(number));
                    world.processes[who].at = At::Saying { event, seen, then, again };
                }
            }
            At::Saying { event, seen, then, again } => {
                let fits = seen == self.log.len() || flaws.unfenced;
                // A store that does not look takes what cannot be replayed; here it is at least not believed.
                if fits && is_legal(&self.log, &event) {
                    world.log.push(event);
                }
                world.processes[who].at = match (fits, then, again) {
                    (true, Then::Next, _) => At::Idle,
                    (true, Then::PutBack, _) => At::PuttingBack,
                    (true, Then::Write { attempt }, _) => At::Writing { attempt, left: FILES.len() as u8 },
                    // Who has not seen all of it is told so, looks again, and wants what it then wants.
                    (false, _, Again::Finish { attempt }) => At::Writing { attempt, left: 0 },
                    (false, _, Again::PutBack) => At::PuttingBack,
                    (false, _, Again::Task(number)) => {
                        world.processes[who].tasks.insert(0, number);
                        At::Idle
                    }
                };
            }
            At::Writing { attempt, left: 0 } => {
                world.processes[who].at = At::Idle;
                let queue = read(&self.log);
                let whole = Attempt { proposal: ID, number: attempt };
                if let Ok(event) = queue.finish(whole, Outcome::Applied, self.clock()) {
                    let (event, seen, again) = (print(&event), self.log.len(), Again::Finish { attempt });
                    world.processes[who].at = At::Saying { event, seen, then: Then::Next, again };
                }
            }
            At::PuttingBack => match self.files.iter().find(|(_, text)| *text == "new") {
                Some((name, _)) => {
                    world.files.insert(name, "old".to_owned());
                }
                None => {
                    world.processes[who].at = At::Idle;
                    let queue = read(&self.log);
                    let found = queue.get(ID)?.observe(&self.look());
                    let by = Actor::new(ActorKind::Harness, "");
                    if let Ok(event) = queue.recover_fenced(ID, found, by, self.clock()) {
                        let (event, seen, again) = (print(&event), self.log.len(), Again::PutBack);
                        world.processes[who].at = At::Saying { event, seen, then: Then::Next, again };
                    }
                }
            },
            At::Writing { attempt, left } => {
                let name = FILES[usize::from(left) - 1];
                world.files.insert(name, "new".to_owned());
                world.processes[who].at = At::Writing { attempt, left: left - 1 };
                if left == 1 {
                    *world.done.entry(attempt).or_default() += 1;
                }
            }
        }
        Some(world)
    }

    /// By what name a process holds a lease.
    fn name(&self, who: usize) -> String {
        format!("{who}.{}", self.processes[who].started)
    }

    fn clock(&self) -> u64 {
        self.log.len() as u64
    }

    /// What a process wants to say, from what it sees.
    fn wanted(&self, who: usize, task: Task, flaws: Flaws) -> Option<(Event<String>, Then)> {
        let queue = read(&self.log);
        let at = self.clock();
        let by = Actor::new(ActorKind::Person, who.to_string());
        let decided = |verdict| match queue.decide(ID, verdict, by.clone(), "", at).ok()? {
            Answer::New(event) => Some((event, Then::Next)),
            Answer::Already(_) => None,
        };
        match task {
            Approve => decided(Verdict::Approve),
            Discard => decided(Verdict::Discard),
            Apply => {
                let start = Start::leased(self.name(who), at + LEASE);
                match queue.begin_with(ID, &self.look(), start, at).ok()? {
                    Step::Apply { attempt, event } => Some((event, Then::Write { attempt: attempt.number })),
                    Step::Stale { event, .. } => Some((event, Then::Next)),
                }
            }
            Recover | Tidy => {
                let entry = queue.get(ID)?;
                let found = entry.observe(&self.look());
                let names: Vec<String> = (0..self.processes.len()).map(|who| self.name(who)).collect();
                let lives = |holder: &String| {
                    names.iter().zip(&self.processes).any(|(name, process)| name == holder && process.alive)
                };
                let is_gone = entry.lease.as_ref().is_some_and(|lease| !lives(&lease.holder));
                let half = entry.state == State::Applying && found == Observation::Unclear;
                if task == Tidy && is_gone && half {
                    let lease = Lease { holder: self.name(who), until: at + LEASE };
                    return Some((queue.take_over_fenced(ID, lease, at).ok()?, Then::PutBack));
                }
                match is_gone || flaws.hasty {
                    true => queue.recover_fenced(ID, found, by, at).ok(),
                    false => queue.recover(ID, found, by, at).ok(),
                }
                .map(|event| (event, Then::Next))
            }
        }
    }

    /// What must be so in every world.
    fn broken(&self) -> Option<String> {
        let queue = read(&self.log);
        let entry = queue.get(ID)?;
        let writing: Vec<u32> = self
            .processes
            .iter()
            .filter(|one| one.alive)
            .filter_map(|one| match one.at {
                At::Writing { attempt, .. } => Some(attempt),
                At::PuttingBack => Some(0),
                _ => None,
            })
            .collect();
        let done: u32 = self.done.values().sum();
        if done > 1 {
            return Some(format!("done {done} times"));
        }
        if writing.len() > 1 {
            return Some("two write at once".to_owned());
        }
        if !writing.is_empty() && entry.state != State::Applying {
            return Some(format!("somebody writes while it is {}", entry.state));
        }
        if entry.state == State::Applied && done == 0 {
            return Some("applied, and nothing was done".to_owned());
        }
        if matches!(entry.state, State::Discarded | State::Proposed) && done > 0 {
            return Some(format!("done, and it is {}", entry.state));
        }
        None
    }
}

/// Tries everything. Returns how many worlds there are, the states in which it can end, and the first that is broken.
fn explore(first: World, flaws: Flaws) -> (usize, BTreeSet<State>, Option<String>) {
    let mut seen = BTreeSet::from([first.clone()]);
    let mut open = VecDeque::from([first]);
    let mut ends = BTreeSet::new();
    let mut broken = None;
    while let Some(world) = open.pop_front() {
        broken = broken.or_else(|| world.broken());
        let next = world.next(flaws);
        if next.is_empty() {
            ends.extend(read(&world.log).get(ID).map(|entry| entry.state));
        }
        for world in next {
            if seen.insert(world.clone()) {
                open.push_back(world);
            }
        }
    }
    (seen.len(), ends, broken)
}

#[test]
fn two_who_approve_and_apply_and_one_crash() {
    let script: &[Task] = &[Approve, Apply, Recover, Apply];
    let (worlds, ends, broken) = explore(World::new(&[script, script], 1, 0), Flaws::default());
    assert_eq!(broken, None);
    assert!(worlds > 2_000, "{worlds} worlds");
    // Cut off in the middle of two files, it is unknown, and nobody does it again.
    assert!(ends.contains(&State::Applied) && ends.contains(&State::Unknown), "{ends:?}");
}

#[test]
fn what_is_half_done_is_put_back_by_one_alone_though_that_one_dies_too() {
    let script: &[Task] = &[Approve, Apply, Tidy, Tidy, Apply];
    let (worlds, ends, broken) = explore(World::new(&[script, script], 2, 0), Flaws::default());
    assert_eq!(broken, None);
    assert!(worlds > 10_000, "{worlds} worlds");
    assert!(ends.contains(&State::Applied) && !ends.contains(&State::Unknown), "{ends:?}");
}

#[test]
fn one_who_approves_and_one_who_discards_and_one_crash() {
    let scripts: [&[Task]; 2] = [&[Approve, Apply, Recover], &[Discard, Recover, Apply]];
    let (worlds, ends, broken) = explore(World::new(&scripts, 1, 0), Flaws::default());
    assert_eq!(broken, None);
    assert!(worlds > 900, "{worlds} worlds");
    assert!(ends.contains(&State::Applied) && ends.contains(&State::Discarded), "{ends:?}");
}

#[test]
fn files_that_change_under_them_are_noticed() {
    let script: &[Task] = &[Approve, Apply, Recover];
    let (worlds, ends, broken) = explore(World::new(&[script, script], 1, 1), Flaws::default());
    assert_eq!(broken, None);
    assert!(worlds > 4_000, "{worlds} worlds");
    assert!(ends.contains(&State::Stale) && ends.contains(&State::Applied), "{ends:?}");
}

#[test]
fn without_a_fenced_log_the_search_finds_what_goes_wrong() {
    let script: &[Task] = &[Approve, Apply];
    let flaws = Flaws { unfenced: true, ..Flaws::default() };
    let (_, _, broken) = explore(World::new(&[script, script], 0, 0), flaws);
    assert!(broken.is_some());
}

#[test]
fn without_waiting_for_the_lease_the_search_finds_what_goes_wrong() {
    let script: &[Task] = &[Approve, Apply, Recover, Apply];
    let flaws = Flaws { hasty: true, ..Flaws::default() };
    let (_, _, broken) = explore(World::new(&[script, script], 0, 0), flaws);
    assert!(broken.is_some());
}
