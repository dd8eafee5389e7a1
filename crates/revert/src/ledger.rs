//! What was already done on a branch that is left.
//!
//! Whoever goes back forgets what the user was told and what tools changed, and then does it again or says the opposite.
//! A ledger claims no more than calls and results show: a write that failed is not a write, and a call without a result
//! has an unknown outcome. It has no word on how the work was meant.

mod join;
mod pairs;
mod text;

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Link, Message, MessageTree, NodeId, ToolCall};

use self::pairs::{Asked, Pairs};
pub use self::text::mechanical;
use crate::is_conversation_tool;
use crate::mark::disarm;
use crate::one_line::one_line;

/// The most entries that a list keeps: a ledger is stored with every note, and its text shows fewer.
const MOST_ENTRIES: usize = 32;
/// The most words to the user that are kept.
const MOST_TOLD: usize = 8;
/// The longest quotation of words to the user, and of an error, in characters.
const QUOTED_CHARS: usize = 160;
/// The longest name of a file, command or tool, in characters.
const WHAT_CHARS: usize = 200;
/// What tools are called that the provider runs: their names are not read.
const PROVIDER_TOOL: &str = "a tool of the provider";

/// Whether what a call did can be taken back. A tool says so of itself; nobody checks it.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EffectClass {
    /// It changes nothing.
    Pure,
    /// It changes something that can be put back as it was.
    Reversible,
    /// It cannot be taken back, but another act can make up for it.
    Compensable,
    /// It cannot be taken back.
    Irreversible,
    /// Nobody knows.
    #[default]
    Unknown,
}

/// What a call does if it succeeds, as its tool declares it. The default is nothing declared, class unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Effects {
    /// The files that it reads, as a person would name them.
    pub reads: Vec<String>,
    /// The files that it writes, creates or deletes.
    pub writes: Vec<String>,
    /// The command that it runs.
    pub runs: Option<String>,
    /// Whether it can be taken back.
    pub class: EffectClass,
}

impl Effects {
    /// Returns effects of that class that name no file and no command.
    pub fn new(class: EffectClass) -> Self {
        Effects { class, ..Effects::default() }
    }

    /// Adds a file that is read.
    #[must_use]
    pub fn reading(mut self, file: impl Into<String>) -> Self {
        self.reads.push(file.into());
        self
    }

    /// Adds a file that is written.
    #[must_use]
    pub fn writing(mut self, file: impl Into<String>) -> Self {
        self.writes.push(file.into());
        self
    }

    /// Sets the command that is run.
    #[must_use]
    pub fn running(mut self, command: impl Into<String>) -> Self {
        self.runs = Some(command.into());
        self
    }
}

/// The newest of something, and how many there were before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Listed<T> {
    /// The newest, oldest of them first.
    pub newest: Vec<T>,
    /// How many older ones were left out.
    #[serde(skip_serializing_if = "is_zero")]
    pub earlier: usize,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Listed { newest: Vec::new(), earlier: 0 }
    }
}

impl<T> Listed<T> {
    fn of(mut all: Vec<T>, most: usize) -> Self {
        let earlier = all.len().saturating_sub(most);
        Listed { newest: all.split_off(earlier), earlier }
    }

    /// Returns whether there was none.
    pub fn is_empty(&self) -> bool {
        self.newest.is_empty() && self.earlier == 0
    }

    /// Returns how many there were.
    pub fn total(&self) -> usize {
        self.newest.len().saturating_add(self.earlier)
    }
}

/// Words that the user read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Told {
    /// The message.
    pub node: NodeId,
    /// How its text begins, on one line of at most 160 characters.
    pub text: String,
}

/// Something that calls did, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LedgerEntry {
    /// The file, the command, or the tool; one line of at most 200 characters.
    pub what: String,
    /// The message that holds the last of the calls.
    pub node: NodeId,
    /// What the tool said of the last call.
    pub class: EffectClass,
    /// How many calls there were.
    pub calls: u32,
    /// How many of them have a result that reports a failure.
    #[serde(default)]
    pub failed: u32,
    /// How many of them have no result: nobody knows whether they did it.
    #[serde(default)]
    pub unanswered: u32,
    /// Whether the last one failed.
    #[serde(default)]
    pub last_failed: bool,
}

impl LedgerEntry {
    fn new(what: String, Done { node, class, .. }: Done) -> Self {
        LedgerEntry { what, node, class, calls: 0, failed: 0, unanswered: 0, last_failed: false }
    }

    fn count(&mut self, done: Done) {
        self.node = done.node;
        self.class = done.class;
        self.calls = self.calls.saturating_add(1);
        self.failed = self.failed.saturating_add(u32::from(done.failed == Some(true)));
        self.unanswered = self.unanswered.saturating_add(u32::from(done.failed.is_none()));
        self.last_failed = done.failed == Some(true);
    }
}

/// The last failure of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LastError {
    /// The message that holds the call.
    pub node: NodeId,
    /// The tool.
    pub tool: String,
    /// The first line of what it said, at most 160 characters; may be empty.
    pub line: String,
}

/// What was done on a branch. Calls of `revert_to_state` and `list_revert_targets` do not count.
///
/// Bounded, to be stored with a note: every text is one line, and every list but `told` keeps at most its newest 32
/// entries. What a store gives back is bounded and made harmless again when it is printed.
///
/// ```
/// use trunkline_message_tree::{ToolCall, notation};
/// use trunkline_revert::{EffectClass, Effects, Ledger, mechanical};
///
/// let tree = notation::parse_tree(
///     r#"
///     n0 user: make the test pass
///     n1 assistant: I add a lock.
///        + call c1 write_file {"path":"a.rs"}
///        + call c2 write_file {"path":"b.rs"}
///     n2 result c1: written
///     n3 result c2!: disk full
///     "#,
/// )?;
/// let effects = |call: &ToolCall| {
///     let arguments = call.parse_arguments().unwrap_or_default();
///     let path = arguments.get("path").and_then(|path| path.as_str()).unwrap_or_default();
///     Effects::new(EffectClass::Reversible).writing(path)
/// };
/// let ledger = Ledger::of(&tree, &tree.trunk().ids()[1..], effects);
/// assert_eq!(ledger.text(600), "Told the user: “I add a lock.”\nWrites: a.rs; b.rs (failed)");
/// assert!(mechanical(&ledger, 200).ends_with("last error, of write_file: “disk full”"));
/// # Ok::<(), notation::NotationError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Ledger {
    /// What the user was told, at most the newest eight.
    #[serde(skip_serializing_if = "Listed::is_empty")]
    pub told: Listed<Told>,
    /// What irreversible and compensable calls did: their commands, which `ran` does not repeat, or the tools with the
    /// files that they wrote, which `written` does not repeat.
    #[serde(skip_serializing_if = "Listed::is_empty")]
    pub lasting: Listed<LedgerEntry>,
    /// The files that calls wrote, or tried to.
    #[serde(skip_serializing_if = "Listed::is_empty")]
    pub written: Listed<LedgerEntry>,
    /// The commands that ran.
    #[serde(skip_serializing_if = "Listed::is_empty")]
    pub ran: Listed<LedgerEntry>,
    /// The files that calls read, or tried to.
    #[serde(skip_serializing_if = "Listed::is_empty")]
    pub read: Listed<LedgerEntry>,
    /// Tools of which no other list says enough: they named no file and no command, or have an unknown effect and only
    /// read.
    #[serde(skip_serializing_if = "Listed::is_empty")]
    pub others: Listed<LedgerEntry>,
    /// Every tool that was called.
    #[serde(skip_serializing_if = "Listed::is_empty")]
    pub tools: Listed<LedgerEntry>,
    /// The last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<LastError>,
}

impl Ledger {
    /// Returns what was done in these nodes of a tree, given oldest first.
    ///
    /// `effects` is asked once for every call that may have run, in order; the arguments need not be readable. A call and
    /// its result belong together by place: results answer the turn before them, up to where a model speaks again or the
    /// span leaves out a node. A result that was filed under its call counts if its node is in the span. Unknown nodes are
    /// passed over.
    pub fn of(tree: &MessageTree, span: &[NodeId], mut effects: impl FnMut(&ToolCall) -> Effects) -> Ledger {
        let mut pairs = Pairs::default();
        let mut late: Vec<(NodeId, &Message)> = Vec::new();
        let mut before = None;
        for id in span {
            let Ok(node) = tree.node(*id) else { continue };
            let message = node.message();
            match (node.link(), node.parent()) {
                // It says over again what other nodes did.
                (Link::Cover { .. }, _) => {}
                (_, parent) if parent == before => pairs.take(*id, message),
                (Link::Filed, Some(parent)) if message.results().next().is_some() => {
                    late.push((parent, message));
                    continue;
                }
                _ => {
                    pairs.end_turn();
                    pairs.take(*id, message);
                }
            }
            before = Some(*id);
        }
        pairs.end_turn();
        pairs.take_late(&late);
        counted(pairs, |_, call| Some(effects(call)))
    }

    /// Returns what was done in messages that follow each other, with the names that they have or will have.
    ///
    /// For a batch that is not in the tree yet: the results of the turn that asks to go back leave with its calls.
    /// `effects` gets the message of a call too, because ids of calls repeat, and returns `None` for a call that never
    /// ran: then there is no word of it.
    pub fn of_messages<'a>(
        messages: impl IntoIterator<Item = (NodeId, &'a Message)>,
        effects: impl FnMut(NodeId, &ToolCall) -> Option<Effects>,
    ) -> Ledger {
        let mut pairs = Pairs::default();
        messages.into_iter().for_each(|(node, message)| pairs.take(node, message));
        pairs.end_turn();
        counted(pairs, effects)
    }

    /// Adds a file that was written there although no call of these messages wrote it, as when a person approves later what
    /// an earlier call proposed. `node` is the message to look at.
    #[must_use]
    pub fn wrote(self, file: &str, node: NodeId, class: EffectClass) -> Ledger {
        self.with_write(file, Done { node, class, failed: Some(false) })
    }

    /// Like [`wrote`](Self::wrote), where nobody knows whether it was written.
    #[must_use]
    pub fn perhaps_wrote(self, file: &str, node: NodeId, class: EffectClass) -> Ledger {
        self.with_write(file, Done { node, class, failed: None })
    }

    fn with_write(mut self, file: &str, done: Done) -> Ledger {
        let what = harmless(file, WHAT_CHARS);
        if what.is_empty() {
            return self;
        }
        let written = &mut self.written;
        let known = written.newest.iter().position(|entry| entry.what == what);
        let mut entry = match known {
            Some(known) => written.newest.remove(known),
            None => LedgerEntry::new(what, done),
        };
        entry.count(done);
        written.newest.push(entry);
        if written.newest.len() > MOST_ENTRIES {
            written.newest.remove(0);
            written.earlier += 1;
        }
        self
    }

    /// Returns whether something was done that may still stand: more than reading and talking.
    pub(crate) fn may_last(&self) -> bool {
        let others = self.others.earlier > 0
            || self.others.newest.iter().any(|entry| entry.class != EffectClass::Pure);
        others || !self.lasting.is_empty() || !self.written.is_empty() || !self.ran.is_empty()
    }

    /// Returns it without what its own lines say, for a summary that stands right above them.
    pub(crate) fn without_lines(&self) -> Ledger {
        Ledger { tools: self.tools.clone(), last_error: self.last_error.clone(), ..Ledger::default() }
    }

    /// Returns whether nothing happened that a model could repeat or contradict.
    pub fn is_empty(&self) -> bool {
        self.told.is_empty() && self.tools.is_empty()
    }
}

/// Sorts calls into the lists of a ledger.
fn counted(pairs: Pairs<'_>, mut effects: impl FnMut(NodeId, &ToolCall) -> Option<Effects>) -> Ledger {
    let [mut lasting, mut written, mut ran, mut read, mut others, mut tools] =
        std::array::from_fn(|_| Tally::default());
    let mut last_error = None;
    for Asked { node, call, is_whole, answer } in pairs.asked {
        let failed = answer.map(|result| result.is_error);
        // A call that is not whole must never run. If it has a result that reports no failure, it did all the same.
        let has_run = is_whole || failed == Some(false);
        if is_conversation_tool(&call.name) || (!has_run && failed.is_none()) {
            continue;
        }
        let declared = if has_run { effects(node, call) } else { Some(Effects::new(EffectClass::Pure)) };
        let Some(Effects { reads, writes, runs, class }) = declared else { continue };
        let tool = tool_name(call);
        if let Some(result) = answer.filter(|result| result.is_error) {
            let text = result.text();
            let mut said = text.lines().map(|line| harmless(line, QUOTED_CHARS));
            let line = said.find(|line| !line.is_empty()).unwrap_or_default();
            last_error = Some(LastError { node, tool: tool.clone(), line });
        }
        let done = Done { node, class, failed };
        tools.add(&tool, done);
        let (reads, writes) = (files(reads), files(writes));
        let command = runs.map(|command| harmless(&command, usize::MAX)).filter(|line| !line.is_empty());
        let is_lasting = matches!(class, EffectClass::Irreversible | EffectClass::Compensable);
        match &command {
            Some(command) if is_lasting => lasting.add_of_class(command, done),
            Some(command) => ran.add(command, done),
            None if is_lasting => {
                lasting.add_of_class(format!("{tool} {}", writes.join(", ")).trim_end(), done);
            }
            None if !writes.is_empty() || (class == EffectClass::Pure && !reads.is_empty()) => {}
            None if has_run => others.add_of_class(&tool, done),
            None => {}
        }
        if command.is_some() || !is_lasting {
            writes.iter().for_each(|file| written.add(file, done));
        }
        reads.iter().for_each(|file| read.add(file, done));
    }
    for (node, failed) in pairs.served {
        let done = Done { node, class: EffectClass::Unknown, failed };
        tools.add(PROVIDER_TOOL, done);
        others.add_of_class(PROVIDER_TOOL, done);
    }
    Ledger {
        told: Listed::of(pairs.told, MOST_TOLD),
        lasting: lasting.listed(),
        written: written.listed(),
        ran: ran.listed(),
        read: read.listed(),
        others: others.listed(),
        tools: tools.listed(),
        last_error,
    }
}

/// One call that did something; `failed` is `None` if there is no result.
#[derive(Copy, Clone)]
struct Done {
    node: NodeId,
    class: EffectClass,
    failed: Option<bool>,
}

/// Counts calls by what they did.
#[derive(Default)]
struct Tally {
    entries: HashMap<(String, Option<EffectClass>), (usize, LedgerEntry)>,
    added: usize,
}

impl Tally {
    fn add(&mut self, what: &str, done: Done) {
        self.count(what, None, done);
    }

    /// Keeps calls of different classes apart.
    fn add_of_class(&mut self, what: &str, done: Done) {
        self.count(what, Some(done.class), done);
    }

    fn count(&mut self, what: &str, class: Option<EffectClass>, done: Done) {
        let (last, entry) = self.entries.entry((what.to_owned(), class)).or_insert_with(|| {
            // Told apart by the whole text, and shortened only here.
            (0, LedgerEntry::new(one_line(what, WHAT_CHARS), done))
        });
        self.added += 1;
        *last = self.added;
        entry.count(done);
    }

    /// Returns the entries whose last calls are the newest.
    fn listed(self) -> Listed<LedgerEntry> {
        let mut entries: Vec<(usize, LedgerEntry)> = self.entries.into_values().collect();
        entries.sort_by_key(|(last, _)| *last);
        Listed::of(entries.into_iter().map(|(_, entry)| entry).collect(), MOST_ENTRIES)
    }
}

/// Returns the name of a tool as it is shown.
fn tool_name(call: &ToolCall) -> String {
    let name = harmless(&call.name, 64);
    if name.is_empty() { "a tool without a name".to_owned() } else { name }
}

/// Returns each file once, on one line; two mentions in one call are one call.
fn files(named: Vec<String>) -> Vec<String> {
    let mut seen = HashSet::new();
    let lines = named.iter().map(|file| harmless(file, usize::MAX));
    lines.filter(|line| !line.is_empty() && seen.insert(line.clone())).collect()
}

/// Folds text to one bounded line that holds neither mark nor note.
fn harmless(text: &str, max_chars: usize) -> String {
    disarm(&one_line(text, max_chars)).into_owned()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks this way")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}
