//! Notices that a run goes on without getting anywhere.
//!
//! Repeating is not the sign: whoever polls a build or runs the tests again does that on purpose. The sign is that
//! nothing new comes of it. A turn makes progress if a tool answered what it had not answered to these arguments on
//! this branch, if the files are as they never were on it, or if more tests pass.
//!
//! Other words are not enough where the same was asked before and the files are as they were before: a counter, a random name or the
//! news of a log file would hide a stall for ever. They are enough where they measure something, as `47%` does, and where the call is
//! about another thing: a path, or whatever a tool that only looks is given. Where the state of the files is not known, only counters and random names are seen through.

use std::collections::VecDeque;
use std::fmt;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::NodeId;

use crate::mark::disarm;
use crate::observation::{MAX_NAME_CHARS, MOST_CALLS};
use crate::one_line::one_line;
use crate::refusal::listed;
use crate::{Digest, Observation, Proposal, Seen, StallEvent, Tests};

/// How many outcomes, states of files and lessons are remembered, those that were met last. Whatever repeats only after
/// more than that is taken for new: the price of a watch that does not grow.
const MOST_OUTCOMES: usize = 1_024;
const MOST_STATES: usize = 256;
const MOST_FAILING: usize = 256;
const MOST_LESSONS: usize = 64;
const MOST_ASKED: usize = 512;
const MOST_MOVES: usize = 64;

/// The longest cycle of turns that is named.
const LONGEST_CYCLE: usize = 4;

/// How many tools a reason names.
const MOST_TOOLS: usize = 3;

/// When to speak. Raised to 1 where 0 is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct StallPolicy {
    /// Whether anything is said at all.
    pub enabled: bool,
    /// After how many turns without anything new.
    pub turns: u32,
    /// After how many turns without progress, counting those where new arguments met failures that the tool had given
    /// before, or came back as they were, and those where a call failed again, in whatever words. More than `turns`, because to try a few names is a way to search.
    pub failing_turns: u32,
    /// After how many reverts in a row that taught nothing new; and after how many moves between the same two branches.
    pub repeated_lessons: u32,
}

impl Default for StallPolicy {
    fn default() -> Self {
        StallPolicy { enabled: true, turns: 4, failing_turns: 8, repeated_lessons: 2 }
    }
}

/// Why a run seems to be getting nowhere. Names of tools are one line each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
#[non_exhaustive]
pub enum Why {
    /// The same calls had the same outcomes in turn after turn.
    SameTurn {
        /// How many such turns there were.
        times: u32,
        /// The first of the tools, at most three.
        tools: Vec<String>,
    },
    /// The same few turns came again and again.
    Cycle {
        /// How many turns it takes, 2 to 4.
        period: u32,
        /// How often it was gone through.
        times: u32,
        /// The first of the tools, at most three.
        tools: Vec<String>,
    },
    /// Turn after turn brought only what was known.
    NothingNew {
        /// How many such turns there were.
        turns: u32,
        /// The first of the tools, at most three.
        tools: Vec<String>,
    },
    /// Whatever was tried met failures that were known, or calls failed again that had failed before.
    SameFailures {
        /// How many such turns there were.
        turns: u32,
        /// The first of the tools, at most three.
        tools: Vec<String>,
    },
    /// The same was asked again and again, the files came to no new state, and the answers differed in words that measure nothing.
    AskedAgain {
        /// How many such turns there were.
        turns: u32,
        /// The first of the tools, at most three.
        tools: Vec<String>,
    },
    /// Reverts left a lesson that was there before, or branches that held nothing new.
    SameLessons {
        /// How many such reverts there were in a row.
        reverts: u32,
    },
    /// The model went to and fro between branches that it had left for each other before.
    SameMoves {
        /// How many such moves there were, with the one that they repeat.
        moves: u32,
    },
    /// No stall: the model wants to go back past words of a person.
    Asked {
        /// The messages that would leave.
        prompts: Vec<NodeId>,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::SameTurn { times, tools } => {
                write!(f, "{times} turns in a row did the same with the same outcome{}", named(tools))
            }
            Why::Cycle { period, times, tools } => {
                write!(f, "the same {period} turns came {times} times with the same outcome{}", named(tools))
            }
            Why::NothingNew { turns, tools } => {
                write!(f, "{turns} turns in a row brought only what was known{}", named(tools))
            }
            Why::SameFailures { turns, tools } => {
                write!(f, "{turns} turns in a row met only failures that were known{}", named(tools))
            }
            Why::AskedAgain { turns, tools } => {
                let what = named(tools);
                write!(
                    f,
                    "{turns} turns in a row asked the same again without a new state of the files{what}"
                )
            }
            Why::SameLessons { reverts } => {
                write!(f, "{reverts} steps back in a row taught only what was known")
            }
            Why::SameMoves { moves } => {
                write!(f, "{moves} moves went to and fro between the same branches")
            }
            Why::Asked { prompts } => {
                write!(f, "the model asks to leave words of the user ({})", listed(prompts))
            }
        }
    }
}

/// Returns the tools in brackets, or nothing. Stored reasons are read back, so the limits are kept here too.
fn named(tools: &[String]) -> String {
    let names =
        tools.iter().take(MOST_TOOLS).map(|name| disarm(&one_line(name, MAX_NAME_CHARS)).into_owned());
    let names: Vec<String> = names.collect();
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// That a run seems to be getting nowhere; [`Stall::propose`] makes a proposal of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stall {
    /// Why it seems so.
    pub because: Why,
    /// The last node before it began.
    pub since: NodeId,
    /// How many turns the watch had seen.
    pub at_turn: u32,
}

/// Watches one session. A fold: the same events in the same order give the same answers, whenever they are given.
///
/// Holds at most some 4,400 digests and three names, and an event costs the same however many there were.
#[derive(Clone, Debug)]
pub struct Watch {
    policy: StallPolicy,
    /// What was met since the last revert or word of a person: leaving a branch is forgetting it.
    branch: Known,
    /// What was met at all, to tell whether a branch that is left held anything new.
    session: Known,
    lessons: Recent,
    /// The last node at which everything was well.
    since: Option<NodeId>,
    turns: u32,
    /// The last turn with progress on its branch, and with anything that no branch had; or the one after the last word of
    /// a person. A revert is neither.
    progressed: u32,
    found: u32,
    /// Turns since the last progress: those without news, and those with known failures to new arguments.
    still: u32,
    failing: u32,
    /// Whether some of those turns only had their own words said again, which is no failure.
    echoed: bool,
    /// Whether in some of them the same was asked again and answered in other words, while the files were as before.
    asked_again: bool,
    /// How the files were after the last turn, if that is known.
    files: Option<Digest>,
    /// How often that was said.
    told: u32,
    /// Reverts in a row that taught nothing, and how often that was said.
    repeated: u32,
    told_repeated: u32,
    /// Between which branches the model has gone since the last word of a person, how often it did so once more, and how often
    /// that was said.
    moves: Recent,
    to_and_fro: u32,
    told_moves: u32,
    /// Whether the branch held anything that no branch had, and whether more tests passed on it than ever.
    branch_news: bool,
    branch_gains: bool,
    /// The last turns, newest first, and for how many turns each has been like the one `index + 1` before.
    recent_turns: VecDeque<Digest>,
    runs: [u32; LONGEST_CYCLE],
    tools: Vec<String>,
}

impl Watch {
    /// Returns a watch that has seen nothing.
    pub fn new(policy: StallPolicy) -> Self {
        Watch {
            policy,
            branch: Known::new(),
            session: Known::new(),
            lessons: Recent::new(MOST_LESSONS),
            since: None,
            turns: 0,
            progressed: 0,
            found: 0,
            still: 0,
            failing: 0,
            echoed: false,
            asked_again: false,
            files: None,
            told: 0,
            repeated: 0,
            told_repeated: 0,
            moves: Recent::new(MOST_MOVES),
            to_and_fro: 0,
            told_moves: 0,
            branch_news: false,
            branch_gains: false,
            recent_turns: VecDeque::with_capacity(LONGEST_CYCLE),
            runs: [0; LONGEST_CYCLE],
            tools: Vec::new(),
        }
    }

    /// Returns a watch that has seen these events, as after a restart. What it had to say then was said then.
    ///
    /// With another policy than before it is as if that one had always held.
    pub fn replay<'a>(policy: StallPolicy, events: impl IntoIterator<Item = &'a StallEvent>) -> Self {
        let mut watch = Watch::new(policy);
        for event in events {
            watch.observe(event);
        }
        watch
    }

    /// Returns how many turns it has seen.
    pub fn turns(&self) -> u32 {
        self.turns
    }

    /// Returns whether there was progress or a word of a person since a proposal was made. After reverts that taught
    /// nothing only what no branch had is progress: on the branch that begins then everything else is new once more.
    pub fn outdates(&self, proposal: &Proposal) -> bool {
        let news = match proposal.because {
            Why::SameLessons { .. } | Why::SameMoves { .. } => self.found,
            _ => self.progressed,
        };
        news > proposal.at_turn
    }

    /// Returns for how many turns there was no progress since the last revert or word of a person.
    pub fn turns_without_progress(&self) -> u32 {
        self.still.saturating_add(self.failing)
    }

    /// Takes in an event and returns whether the run seems to be getting nowhere.
    ///
    /// After it said so it is quiet until there is progress, or until as many turns again have passed, then twice as
    /// many, and so on.
    pub fn observe(&mut self, event: &StallEvent) -> Option<Stall> {
        let because = match event {
            StallEvent::Turn(turn) => self.turn(turn),
            StallEvent::Reverted { to, lesson } => self.reverted(*to, *lesson),
            StallEvent::Returned { to, lesson, between } => {
                let same_lesson = self.reverted(*to, *lesson);
                self.returned(*between).or(same_lesson)
            }
            StallEvent::Person { node } => {
                self.start_branch(*node);
                self.progressed = self.turns.saturating_add(1);
                self.found = self.progressed;
                (self.repeated, self.told_repeated) = (0, 0);
                self.moves = Recent::new(MOST_MOVES);
                (self.to_and_fro, self.told_moves) = (0, 0);
                None
            }
        };
        let because = because.filter(|_| self.policy.enabled)?;
        Some(Stall { because, since: self.since?, at_turn: self.turns })
    }

    fn turn(&mut self, turn: &Observation) -> Option<Why> {
        self.turns = self.turns.saturating_add(1);
        self.files = turn.files;
        let ever = self.session.learn(turn);
        self.branch_news |= ever.is_progress();
        self.branch_gains |= ever.tests;
        if ever.is_progress() {
            self.found = self.turns;
        }
        let news = self.branch.learn(turn);
        self.follow_cycles(turn);
        if news.is_progress() {
            self.progressed = self.turns;
            self.progress(turn.node);
            return None;
        }
        self.since.get_or_insert(turn.node);
        for call in turn.calls.iter().take(MOST_CALLS) {
            if self.tools.len() < MOST_TOOLS && !self.tools.contains(&call.tool) {
                self.tools.push(call.tool.clone());
            }
        }
        self.echoed |= turn.calls.iter().any(|call| call.residue.is_some());
        self.asked_again |= news.asked_again;
        if news.arguments {
            self.failing = self.failing.saturating_add(1);
        } else {
            self.still = self.still.saturating_add(1);
        }
        let all = self.turns_without_progress();
        let only_known = self.still >= backed_off(self.policy.turns, self.told);
        if !only_known && all < backed_off(self.policy.failing_turns, self.told) {
            return None;
        }
        self.told = self.told.saturating_add(1);
        let tools = self.tools.clone();
        // Every turn of the stall has to be part of the cycle, or it is not what went on.
        let cycle = (1..).zip(self.runs).find(|(_, run)| *run >= all);
        Some(match cycle {
            Some((1, run)) => Why::SameTurn { times: run.saturating_add(1), tools },
            Some((period, run)) => Why::Cycle { period, times: run / period + 1, tools },
            None if self.asked_again => Why::AskedAgain { turns: all, tools },
            None if only_known || self.echoed => Why::NothingNew { turns: all, tools },
            None => Why::SameFailures { turns: all, tools },
        })
    }

    fn reverted(&mut self, to: NodeId, lesson: Option<Digest>) -> Option<Why> {
        // Files that were changed in a new way do not count here: the model itself says that it learned the same.
        let known = lesson.is_some_and(|lesson| !self.lessons.learn(lesson)) && !self.branch_gains;
        if known || !self.branch_news {
            self.repeated = self.repeated.saturating_add(1);
        } else {
            (self.repeated, self.told_repeated) = (0, 0);
        }
        self.start_branch(to);
        if self.repeated < backed_off(self.policy.repeated_lessons, self.told_repeated) {
            return None;
        }
        self.told_repeated = self.told_repeated.saturating_add(1);
        Some(Why::SameLessons { reverts: self.repeated })
    }

    /// Takes in between which branches the model went. The way back is the same way: whatever was found on either of them, a
    /// model that does not stay is undecided.
    fn returned(&mut self, (one, other): (NodeId, NodeId)) -> Option<Why> {
        let ends = [one.min(other), one.max(other)].map(|node| Digest(node.index() as u64));
        if self.moves.learn(Digest::of_all(ends)) {
            return None;
        }
        self.to_and_fro = self.to_and_fro.saturating_add(1);
        let moves = self.to_and_fro.saturating_add(1);
        if moves < backed_off(self.policy.repeated_lessons, self.told_moves) {
            return None;
        }
        self.told_moves = self.told_moves.saturating_add(1);
        Some(Why::SameMoves { moves })
    }

    fn start_branch(&mut self, node: NodeId) {
        self.branch = Known::new();
        // A branch begins with the files as they are.
        self.branch.files.digests.extend(self.files);
        (self.branch_news, self.branch_gains) = (false, false);
        self.recent_turns.clear();
        self.runs = [0; LONGEST_CYCLE];
        self.progress(node);
    }

    fn progress(&mut self, node: NodeId) {
        self.since = Some(node);
        (self.still, self.failing, self.told) = (0, 0, 0);
        (self.echoed, self.asked_again) = (false, false);
        self.tools.clear();
    }

    fn follow_cycles(&mut self, turn: &Observation) {
        let mut parts: Vec<Digest> = turn.calls.iter().take(MOST_CALLS).map(Seen::whole).collect();
        // Calls run side by side; their order says nothing.
        parts.sort_unstable();
        parts.extend(turn.files);
        parts.extend(turn.tests.map(|tests| Digest(u64::from(tests.passed) << 32 | u64::from(tests.failed))));
        let whole = Digest::of_all(parts);
        for (run, back) in self.runs.iter_mut().zip(0..) {
            let same = self.recent_turns.get(back) == Some(&whole);
            *run = if same { run.saturating_add(1) } else { 0 };
        }
        self.recent_turns.truncate(LONGEST_CYCLE - 1);
        self.recent_turns.push_front(whole);
    }
}

/// Returns the limit, doubled for each time that something was said.
fn backed_off(limit: u32, told: u32) -> u32 {
    limit.max(1).saturating_mul(1 << told.min(31))
}

/// What a turn brought that was not known.
#[derive(Copy, Clone, Debug, Default)]
struct News {
    /// An outcome, of these arguments and, if it is a failure, of this tool.
    outcome: bool,
    /// Arguments, to which a tool gave a failure that it had given before; or a call that failed again in other words.
    arguments: bool,
    /// A state of the files.
    files: bool,
    /// Better tests.
    tests: bool,
    /// Other words to what was asked before, that measure nothing, while the files were as before.
    asked_again: bool,
}

impl News {
    fn is_progress(self) -> bool {
        self.outcome || self.files || self.tests
    }
}

/// What was met, so far as it is remembered.
#[derive(Clone, Debug)]
struct Known {
    /// Calls with their outcomes, and failures without the arguments.
    outcomes: Recent,
    /// Calls that failed when they were made last, whatever they said, since anything but a failure was new.
    failing: Recent,
    files: Recent,
    /// What was asked, and what was answered but for counters and random names.
    asked: Recent,
    best: Option<Tests>,
}

impl Known {
    fn new() -> Self {
        Known {
            outcomes: Recent::new(MOST_OUTCOMES),
            failing: Recent::new(MOST_FAILING),
            files: Recent::new(MOST_STATES),
            asked: Recent::new(MOST_ASKED),
            best: None,
        }
    }

    fn learn(&mut self, turn: &Observation) -> News {
        let files = turn.files.is_some_and(|files| self.files.learn(files));
        let mut news = News { files, ..News::default() };
        let mut found_any = false;
        for call in turn.calls.iter().take(MOST_CALLS) {
            let other_words = call.failed && self.outcomes.learn(call.failure());
            // Words that differ each time may hold no more than the number of the request.
            let fails_again = if call.failed {
                !self.failing.learn(call.asked())
            } else {
                self.failing.forget(call.asked());
                false
            };
            let new_failure = other_words && !fails_again;
            let new_call = self.outcomes.learn(call.whole());
            // An echo is in words of the model's own: it counts as what was tried and not as what was found.
            let found = call.beside_echo().is_none_or(|beside| self.outcomes.learn(beside));
            let again = if call.failed { Again::No } else { self.again(call, turn.files) };
            let again = if call.measures { Again::No } else { again };
            let new_find = new_call && !call.failed && found && again == Again::No;
            news.asked_again |= new_call && again != Again::No;
            found_any |= new_find;
            news.outcome |= new_failure || new_find;
            news.arguments |= new_call && again != Again::Known;
        }
        if let Some(tests) = turn.tests
            && self.best.is_none_or(|best| tests.is_better_than(best))
        {
            self.best = Some(tests);
            news.tests = true;
        }
        if found_any || news.files || news.tests {
            // What is tried again after that may fail for another reason.
            self.failing = Recent::new(MOST_FAILING);
            for call in turn.calls.iter().take(MOST_CALLS).filter(|call| call.failed) {
                self.failing.learn(call.asked());
            }
        }
        news
    }
}

/// Whether a call asks the same again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Again {
    No,
    /// And is answered in other words.
    OtherWords,
    /// And is answered the same, but for counters and random names.
    Known,
}

impl Known {
    /// Remembers what was asked and answered, and returns whether it is the same again.
    fn again(&mut self, call: &Seen, files: Option<Digest>) -> Again {
        let asked = !self.asked.learn(call.asked());
        let answered_alike = !self.asked.learn(call.answered_alike());
        let alike = call.alike().filter(|alike| !self.asked.learn(*alike)).count() > 0;
        // Where the files are as they never were, that is progress whatever was asked.
        match files {
            Some(_) if answered_alike => Again::Known,
            Some(_) if asked || alike => Again::OtherWords,
            None if answered_alike => Again::OtherWords,
            _ => Again::No,
        }
    }
}

/// The digests that were met last, oldest first.
#[derive(Clone, Debug)]
struct Recent {
    digests: VecDeque<Digest>,
    most: usize,
}

impl Recent {
    fn new(most: usize) -> Self {
        Recent { digests: VecDeque::new(), most }
    }

    /// Forgets a digest.
    fn forget(&mut self, digest: Digest) {
        self.digests.retain(|known| *known != digest);
    }

    /// Remembers a digest and returns whether it is new. What is met again is remembered longer.
    fn learn(&mut self, digest: Digest) -> bool {
        let place = self.digests.iter().rposition(|known| *known == digest);
        match place {
            Some(place) => {
                self.digests.remove(place);
            }
            None if self.digests.len() == self.most => {
                self.digests.pop_front();
            }
            None => {}
        }
        self.digests.push_back(digest);
        place.is_none()
    }
}
