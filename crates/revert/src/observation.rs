//! What a watch is told of a turn, in a form that is small enough to be stored with it.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_message_tree::{MediaSource, Message, NodeId, Part, ToolCall, ToolResult};

use crate::gist::Gist;
use crate::mark::disarm;
use crate::one_line::one_line;
use crate::{Digest, is_conversation_tool};

/// How many calls of one turn are told apart; the rest count as one.
pub(crate) const MOST_CALLS: usize = 64;

/// The longest outcome that is looked at for words of its arguments, in bytes.
const MAX_ECHO_BYTES: usize = 4 * 1024;

/// How long the name of a tool may be.
pub(crate) const MAX_NAME_CHARS: usize = 64;

/// One call of a turn and how it ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Seen {
    /// The tool's name, on one line of at most 64 characters.
    pub tool: String,
    /// [`Digest::of_arguments`].
    pub arguments: Digest,
    /// [`Digest::of_outcome`].
    pub outcome: Digest,
    /// Whether the tool reports a failure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub failed: bool,
    /// If lines of the outcome only say a piece of the arguments again, as that of `echo` does: what is left without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residue: Option<Digest>,
    /// What the outcome says but for counters and random names, if it holds any: plain numbers, and words with a digit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gist: Option<Digest>,
    /// The same of the arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_gist: Option<Digest>,
    /// If those words of the arguments name what the call is about, as a path does: the arguments with these words. What asks for
    /// another thing and is answered otherwise is other work, even where only numbers differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<Digest>,
    /// Whether the outcome says how far something is, such as `47%`, `3/40` or `3 of 40`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub measures: bool,
}

impl Seen {
    /// Returns what a watch needs of a call and its result; a call without one has failed.
    pub fn of(call: &ToolCall, result: Option<&ToolResult>) -> Self {
        let parts = result.map_or(&[][..], |result| &result.content);
        let outcome = Digest::of_all(parts.iter().map(|part| match part {
            Part::Text { text } => Digest::of_outcome(text),
            Part::Image(media) | Part::Document(media) => match &media.source {
                MediaSource::Base64(data) | MediaSource::Url(data) => Digest::of(data),
            },
            Part::Opaque { json, .. } => Digest::of_outcome(json),
        }));
        let failed = result.is_none_or(|result| result.is_error);
        let residue = result.filter(|_| !failed).and_then(|result| residue(&call.arguments, result));
        let seen = Seen::new(&call.name, Digest::of_arguments(&call.arguments), outcome, failed);
        let left_out = |gist: &Gist| gist.leaves_out;
        let gist = Gist::of_parts(parts);
        let measures = gist.is_some_and(|gist| gist.measures);
        let gist = gist.filter(left_out).map(|gist| gist.digest);
        let asked_gist = Gist::of(&call.arguments).filter(left_out).map(|gist| gist.digest);
        let about = Gist::with_paths(&call.arguments).map(|gist| gist.digest);
        let about = about.filter(|about| asked_gist.is_some_and(|gist| gist != *about));
        Seen { residue, gist, asked_gist, about, measures, ..seen }
    }

    /// Says that the tool only looks: then all of its arguments name what the call is about.
    #[must_use]
    pub fn only_looks(self) -> Self {
        Seen { about: self.asked_gist.map(|_| self.arguments), ..self }
    }

    /// Returns a call from digests.
    pub fn new(tool: &str, arguments: Digest, outcome: Digest, failed: bool) -> Self {
        let tool = disarm(&one_line(tool, MAX_NAME_CHARS)).into_owned();
        Seen {
            tool,
            arguments,
            outcome,
            failed,
            residue: None,
            gist: None,
            asked_gist: None,
            about: None,
            measures: false,
        }
    }

    /// The call with its outcome; a failure of the same words is another outcome.
    pub(crate) fn whole(&self) -> Digest {
        let failed = Digest(u64::from(self.failed));
        Digest::of_all([Digest::of(&self.tool), self.arguments, self.outcome, failed])
    }

    /// What the outcome says beside its own words, whatever the arguments were.
    pub(crate) fn beside_echo(&self) -> Option<Digest> {
        Some(Digest::of_all([Digest::of(&self.tool), self.residue?, Digest::of("beside an echo")]))
    }

    /// The call, whatever came of it.
    pub(crate) fn asked(&self) -> Digest {
        Digest::of_all([Digest::of(&self.tool), self.arguments])
    }

    /// The failure, whatever the arguments were, and whatever it counts.
    pub(crate) fn failure(&self) -> Digest {
        Digest::of_all([Digest::of(&self.tool), self.gist.unwrap_or(self.outcome)])
    }

    /// The call and its outcome but for counters and random names in the outcome.
    pub(crate) fn answered_alike(&self) -> Digest {
        let gist = self.gist.unwrap_or(self.outcome);
        Digest::of_all([self.asked(), gist, Digest::of("but for counters")])
    }

    /// The call and its outcome but for counters and random names in both. Where the call names what it is about, in one of them at
    /// a time: of another thing that, and of the same answer the name.
    pub(crate) fn alike(&self) -> impl Iterator<Item = Digest> {
        let asked = self.asked_gist.unwrap_or(self.arguments);
        let gist = self.gist.unwrap_or(self.outcome);
        let of = |asked, answered| {
            Digest::of_all([Digest::of(&self.tool), asked, answered, Digest::of("but for all counters")])
        };
        let (one, other) = match self.about {
            Some(about) => (of(about, gist), Some(of(asked, self.outcome))),
            None => (of(asked, gist), None),
        };
        [one].into_iter().chain(other)
    }
}

/// Returns what a result says beside lines that are a piece of one text in the arguments; `None` if it has none of them.
///
/// A result without words has none: a command that says nothing may have done its work. Nor is an echo what says more than
/// was asked, such as a number beside a name.
fn residue(arguments: &str, result: &ToolResult) -> Option<Digest> {
    let [Part::Text { text }] = result.content.as_slice() else { return None };
    // More than this is no echo that anybody would go on asking for.
    if text.len() > MAX_ECHO_BYTES {
        return None;
    }
    let Ok(Value::Object(fields)) = serde_json::from_str(arguments) else { return None };
    let asked: Vec<&str> = fields.values().filter_map(Value::as_str).collect();
    let is_echo = |line: &&str| !line.trim().is_empty() && asked.iter().any(|asked| says(asked, line.trim()));
    let (echoes, rest): (Vec<&str>, Vec<&str>) = text.lines().partition(is_echo);
    (!echoes.is_empty()).then(|| Digest::of_outcome(&rest.join("\n")))
}

/// Returns whether a text holds these words, not glued to others.
fn says(text: &str, words: &str) -> bool {
    let glued = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut places = text.match_indices(words);
    places.any(|(at, _)| {
        !glued(text[..at].chars().next_back()) && !glued(text[at + words.len()..].chars().next())
    })
}

/// How many tests passed and failed when they were last run.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a pair of numbers")]
pub struct Tests {
    /// How many passed.
    pub passed: u32,
    /// How many failed.
    pub failed: u32,
}

impl Tests {
    /// Reads a line such as `12 passed; 3 failed` in which some tool sums up its tests, wherever the numbers stand.
    ///
    /// `1,234` is one number. `None` unless the line says how many passed or failed; a number that is not there is 0.
    pub fn read(line: &str) -> Option<Self> {
        let line = without_separators(line);
        let words: Vec<&str> = line.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let before = |word: &str| {
            let mut pairs = words.windows(2);
            pairs.find(|pair| pair[1] == word).and_then(|pair| pair[0].parse::<u32>().ok())
        };
        let (passed, failed) = (before("passed"), before("failed"));
        (passed.is_some() || failed.is_some())
            .then(|| Tests { passed: passed.unwrap_or(0), failed: failed.unwrap_or(0) })
    }

    /// Returns both together, as of two packages.
    fn and(self, other: Tests) -> Self {
        Tests {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
        }
    }

    /// Returns whether one number is better and the other no worse.
    pub(crate) fn is_better_than(self, best: Tests) -> bool {
        self != best && self.passed >= best.passed && self.failed <= best.failed
    }
}

/// Takes the commas out of numbers such as `1,234`, where three digits follow each.
fn without_separators(line: &str) -> String {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let is_separator = |(at, _): &(usize, &str)| {
        let before = &line[..*at];
        let first = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',');
        let number = &before[first.len()..];
        let lead = digits(number);
        let grouped = number[lead..].split(',').skip(1).all(|group| group.len() == 3);
        (1..=3).contains(&lead) && grouped && digits(&line[at + 1..]) == 3
    };
    let separators: Vec<usize> = line.match_indices(',').filter(is_separator).map(|(at, _)| at).collect();
    line.char_indices().filter(|(at, _)| separators.binary_search(at).is_err()).map(|(_, c)| c).collect()
}

/// One turn: a model's message and what its tools answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Observation {
    /// The head after the results of the turn.
    pub node: NodeId,
    /// The calls, at most 64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Seen>,
    /// The state of the workspace, as far as the runtime knows it. Leave out what changes by itself, such as logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Digest>,
    /// The tests, if they ran in this turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<Tests>,
}

impl Observation {
    /// Returns a turn of these calls. Those that are about the conversation itself are left out
    /// ([`is_conversation_tool`]): what they answer grows with it, or says once more what was known, and says nothing of the
    /// work. From the 64th on all count as one.
    pub fn new(node: NodeId, calls: impl IntoIterator<Item = Seen>) -> Self {
        let work = |call: &Seen| !is_conversation_tool(&call.tool);
        let mut calls: Vec<Seen> = calls.into_iter().filter(work).collect();
        if calls.len() > MOST_CALLS {
            let rest = calls.split_off(MOST_CALLS - 1);
            let all = |part: fn(&Seen) -> Digest| Digest::of_all(rest.iter().map(part));
            let failed = rest.iter().all(|call| call.failed);
            let arguments = Digest::of_all([all(|call| Digest::of(&call.tool)), all(|call| call.arguments)]);
            calls.push(Seen::new("…", arguments, all(|call| call.outcome), failed));
        }
        Observation { node, calls, files: None, tests: None }
    }

    /// Returns the turn of a model's message and what its calls were answered, in their order; `node` is the head after the
    /// results. A call for which there is no result has failed. `tests` are the lines in which tools sum up the tests that ran
    /// in it, as [`Tests::read`] reads them, added up; other lines count nothing.
    pub fn of_turn<'a>(
        node: NodeId,
        message: &Message,
        results: &[&ToolResult],
        tests: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let calls = message.calls().enumerate();
        let turn = Observation::new(node, calls.map(|(at, call)| Seen::of(call, results.get(at).copied())));
        let tests = tests.into_iter().filter_map(Tests::read).reduce(Tests::and);
        Observation { tests, ..turn }
    }

    /// Says which tools only look, by their names.
    #[must_use]
    pub fn with_lookers(mut self, only_looks: impl Fn(&str) -> bool) -> Self {
        let calls = self.calls.into_iter();
        self.calls =
            calls.map(|call| if only_looks(&call.tool) { call.only_looks() } else { call }).collect();
        self
    }

    /// Adds the state of the files.
    #[must_use]
    pub fn with_files(self, files: Digest) -> Self {
        Observation { files: Some(files), ..self }
    }

    /// Adds what the tests gave.
    #[must_use]
    pub fn with_tests(self, tests: Tests) -> Self {
        Observation { tests: Some(tests), ..self }
    }
}

/// Something that a watch must know, in the order in which it happened. What to store, to fold it again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StallEvent {
    /// A turn ended.
    Turn(Observation),
    /// A model's revert, or one that it was proposed, was carried out.
    Reverted {
        /// The head from then on.
        to: NodeId,
        /// [`Digest::of_lesson`] of its summary, for failures and tangents. What is done may be said in the same words
        /// each time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lesson: Option<Digest>,
    },
    /// A model went back to a branch that it had left.
    Returned {
        /// The head from then on.
        to: NodeId,
        /// [`Digest::of_lesson`] of its summary, as of a revert.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lesson: Option<Digest>,
        /// The first nodes of the branch that was left and of the one that came back.
        between: (NodeId, NodeId),
    },
    /// A person wrote, or moved the head: they know of something that the watch does not, so it starts over.
    Person {
        /// The head from then on.
        node: NodeId,
    },
}
