//! A session file to its conversations.
//!
//! The one that goes on comes first. What a compaction covered, what a person went back from and what sub-agents said
//! are conversations of their own, so that nothing in the file is out of reach.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use trunkline_message_tree::{Content, ToolCall};

use super::conversation::{Line, line};
use super::links::Links;
use super::record::{Body, Chain, Record, record};
use crate::json::{self, Fields};
use crate::source::Source;
use crate::{Conversation, Fault, FaultKind, Kind};

/// A session file as it was read.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) conversations: Vec<(Conversation, Vec<Source>)>,
    /// Where each record stands.
    pub(crate) records: Vec<Range<usize>>,
    /// Records beside the chain that belong to the session as a whole, such as its title.
    pub(crate) labels: Vec<Range<usize>>,
}

/// Types of records beside the chain (real sessions up to 2.1.207, read 2026-11). Others are reported, as news.
const UNCHAINED: [&str; 16] = [
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "last-prompt",
    "custom-title",
    "ai-title",
    "tag",
    "mode",
    "permission-mode",
    "agent-name",
    "agent-color",
    "agent-setting",
    "pr-link",
    "worktree-state",
    "content-replacement",
    "attribution-snapshot",
];

/// Types in the chain; further ones are passed through and reported.
const CHAINED: [&str; 5] = ["user", "assistant", "system", "attachment", "progress"];

/// Reads a session file, or says that there is none of its records in it.
pub(crate) fn read(text: &str, faults: &mut Vec<Fault>) -> Result<File, String> {
    let Lines { records, labels, about, agents, known } = lines(text, faults);
    if !known {
        return Err("there is no record of a session in it".to_owned());
    }
    let links = Links::of(text, &records, faults);
    let mut reading =
        Reading { links: &links, about: &about, agents, found: Vec::new(), covered: HashSet::new() };
    reading.main();
    reading.sidechains();
    reading.branches(faults);
    Ok(File {
        conversations: reading.found,
        records: records.iter().map(|record| json::range_in(text, record.raw)).collect(),
        labels,
    })
}

#[derive(Debug, Default)]
struct Lines<'a> {
    records: Vec<Record<'a>>,
    labels: Vec<Range<usize>>,
    about: About,
    /// Which call each sub-agent worked for.
    agents: HashMap<String, String>,
    known: bool,
}

/// What the file says about itself.
#[derive(Debug, Default)]
struct About {
    /// Titles, by how much they are worth: a person's own before a model's before a summary.
    titles: [Option<String>; 3],
}

fn lines<'a>(text: &'a str, faults: &mut Vec<Fault>) -> Lines<'a> {
    let mut all = Lines::default();
    let mut uuids: HashSet<Cow<'a, str>> = HashSet::new();
    let mut news: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for (index, raw) in text.split('\n').enumerate() {
        let (line, raw) = (index + 1, raw.trim_matches(['\r', ' ', '\t', '\u{feff}']));
        if raw.is_empty() {
            continue;
        }
        let fields = match Fields::parse(raw) {
            Ok(fields) => fields,
            Err(fault) => {
                faults.push(Fault { line, kind: FaultKind::NotJson { reason: json::reason(&fault) } });
                continue;
            }
        };
        let kind = fields.text("type").unwrap_or_default();
        match record(line, raw, &fields) {
            Err(kind) => faults.push(Fault { line, kind }),
            Ok(Some(record)) => {
                all.known = true;
                if !CHAINED.contains(&kind.as_ref()) {
                    news.entry(kind.into_owned()).or_insert((line, 0)).1 += 1;
                }
                all.agent_of(&record, &fields);
                match &record.uuid {
                    Some(uuid) if !uuids.insert(uuid.clone()) => {
                        faults.push(Fault { line, kind: FaultKind::RepeatedId { id: uuid.to_string() } });
                    }
                    _ => all.records.push(record),
                }
            }
            Ok(None) => {
                if UNCHAINED.contains(&kind.as_ref()) {
                    all.known = true;
                    all.label(text, raw, &kind, &fields);
                } else {
                    news.entry(kind.into_owned()).or_insert((line, 0)).1 += 1;
                }
            }
        }
    }
    let report = |(name, (line, count))| Fault { line, kind: FaultKind::UnknownRecord { name, count } };
    faults.extend(news.into_iter().map(report));
    all
}

impl<'a> Lines<'a> {
    /// Notes which call a sub-agent worked for; its result says so, and what it reported on the way.
    fn agent_of(&mut self, record: &Record<'a>, fields: &Fields<'a>) {
        if let Some(piece) = record.piece()
            && let Some(agent) = &piece.agent
            && let Some(result) = piece.content.iter().find_map(Content::as_result)
        {
            self.agents.insert(agent.to_string(), result.call_id.clone());
        }
        if let Some(call) = fields.text("parentToolUseID")
            && let Some(agent) = fields.object("data").and_then(|data| data.text("agentId"))
        {
            self.agents.entry(agent.into_owned()).or_insert_with(|| call.into_owned());
        }
    }

    fn label(&mut self, text: &str, raw: &str, kind: &str, fields: &Fields<'a>) {
        let (worth, name) = match kind {
            "custom-title" => (0, "customTitle"),
            "ai-title" => (1, "aiTitle"),
            "summary" => (2, "summary"),
            "tag" | "mode" | "permission-mode" | "agent-name" | "agent-color" | "agent-setting" => (3, ""),
            _ => return,
        };
        self.labels.push(json::range_in(text, raw));
        if let Some(slot) = self.about.titles.get_mut(worth)
            && let Some(title) = fields.text(name)
        {
            *slot = Some(title.into_owned());
        }
    }
}

struct Reading<'l, 'r, 'a> {
    links: &'l Links<'r, 'a>,
    about: &'l About,
    agents: HashMap<String, String>,
    found: Vec<(Conversation, Vec<Source>)>,
    /// Records that stand in a conversation that was found.
    covered: HashSet<usize>,
}

impl<'a> Reading<'_, '_, 'a> {
    /// Finds the conversation that goes on, and what its compactions covered, newest first.
    fn main(&mut self) {
        let says = |record: &Record<'_>| !matches!(record.body, Body::Passage);
        let of_main = |record: &Record<'_>| record.chain == Chain::Main && says(record);
        // The file of a sub-agent holds no other chain; there the last that spoke goes on.
        let last = self.last(of_main).or_else(|| self.last(says));
        let Some(leaf) = last else {
            self.add(Line::default(), Kind::Main, String::new());
            return;
        };
        let session = |at: usize| self.links.records.get(at).and_then(|record| record.session.as_deref());
        let id = session(leaf).unwrap_or_default().to_owned();
        let newest = line(self.links, leaf);
        let mut boundary = newest.boundary;
        self.add(newest, Kind::Main, id.clone());
        let mut seen = HashSet::new();
        while let Some(at) = boundary.filter(|at| seen.insert(*at)) {
            let covers = match self.links.records.get(at).map(|record| &record.body) {
                Some(Body::Boundary { covers, .. }) => covers.as_deref(),
                _ => None,
            };
            let named = covers.and_then(|uuid| self.links.by_uuid.get(uuid).copied());
            let above = || self.links.records.get(..at)?.iter().rposition(of_main);
            let Some(leaf) = named.or_else(above) else { break };
            let older = line(self.links, leaf);
            boundary = older.boundary;
            if older.records.iter().any(|record| !self.covered.contains(record)) {
                self.add(older, Kind::Covered, id.clone());
            }
        }
    }

    fn last(&self, is: impl Fn(&Record<'_>) -> bool) -> Option<usize> {
        self.links.records.iter().rposition(is)
    }

    /// Finds what sub-agents said, in the order in which they began.
    fn sidechains(&mut self) {
        let mut roots: Vec<Option<usize>> = Vec::with_capacity(self.links.records.len());
        let mut ends: BTreeMap<usize, usize> = BTreeMap::new();
        let mut main: HashSet<usize> = HashSet::new();
        let mut first_of: HashMap<&Chain<'a>, usize> = HashMap::new();
        for (index, record) in self.links.records.iter().enumerate() {
            let parent = self.links.parent.get(index).copied().flatten();
            let above = parent.and_then(|parent| roots.get(parent).copied().flatten());
            let root = match &record.chain {
                Chain::Main => None,
                // Without an id of the agent, what hangs together is one.
                Chain::Side(None) => Some(above.unwrap_or(index)),
                chain @ Chain::Side(Some(_)) => Some(*first_of.entry(chain).or_insert(index)),
            };
            roots.push(root);
            if let Some(root) = root.filter(|_| record.piece().is_some()) {
                ends.insert(root, index);
                if self.covered.contains(&index) {
                    main.insert(root);
                }
            }
        }
        for leaf in ends.into_iter().filter(|(root, _)| !main.contains(root)).map(|(_, leaf)| leaf) {
            let agent = match self.links.records.get(leaf).map(|record| &record.chain) {
                Some(Chain::Side(Some(agent))) => agent.to_string(),
                _ => String::new(),
            };
            let line = line(self.links, leaf);
            let call_id = self.agents.get(&agent).cloned().or_else(|| self.call_that_says(&line));
            self.add(line, Kind::Sidechain { call_id }, agent);
        }
    }

    /// Finds the call whose prompt is what a sub-agent was told; older files say nothing else about it.
    fn call_that_says(&self, line: &Line) -> Option<String> {
        let told = line.messages.first()?.text();
        let (main, _) = self.found.first()?;
        let mut calls = main.messages.iter().flat_map(|message| message.calls());
        let says = |call: &&ToolCall| {
            Fields::parse(&call.arguments)
                .ok()
                .and_then(|input| input.text("prompt"))
                .is_some_and(|prompt| prompt == told)
        };
        calls.find(says).map(|call| call.id.clone())
    }

    /// Finds what a person went back from: words typed that no conversation holds yet. Forks of other origin, such as
    /// calls side by side, hooks, replays and resuming, hold no such words.
    fn branches(&mut self, faults: &mut Vec<Fault>) {
        // Every branch repeats what it has in common with others; a file made to harm could make that very much.
        const MOST: usize = 256;
        const MOST_RECORDS: usize = 1_000_000;
        let records = self.links.records;
        let typed = |record: &Record<'_>| {
            record.chain == Chain::Main && record.piece().is_some_and(|piece| piece.is_typed())
        };
        let prompts: Vec<usize> =
            (0..records.len()).filter(|at| records.get(*at).is_some_and(typed)).collect();
        // What was replayed has the time and the words of what it replays.
        let key = |at: usize| {
            let record = records.get(at)?;
            Some((record.at, record.piece()?.raws.as_slice()))
        };
        let mut seen: HashSet<_> =
            prompts.iter().filter(|at| self.covered.contains(at)).map(|at| key(*at)).collect();
        let (mut found, mut repeated, mut left_out) = (0, 0, 0);
        for at in prompts.into_iter().rev() {
            if self.covered.contains(&at) || !seen.insert(key(at)) {
                continue;
            }
            if found == MOST || repeated > MOST_RECORDS {
                left_out += 1;
                continue;
            }
            let line = line(self.links, self.last_under(at));
            seen.extend(line.records.iter().map(|at| key(*at)));
            found += 1;
            repeated += line.records.len();
            let id =
                records.get(at).and_then(|record| record.session.as_deref()).unwrap_or_default().to_owned();
            self.add(line, Kind::Branch, id);
        }
        if left_out > 0 {
            faults.push(Fault { line: 0, kind: FaultKind::BranchesLeftOut { count: left_out } });
        }
    }

    /// Returns the last record that says something and goes on from this one.
    fn last_under(&self, top: usize) -> usize {
        let mut under: HashSet<usize> = HashSet::from([top]);
        let mut last = top;
        for at in top + 1..self.links.records.len() {
            let parent = self.links.parent.get(at).copied().flatten();
            if parent.is_some_and(|parent| under.contains(&parent)) {
                under.insert(at);
                if self.links.records.get(at).is_some_and(|record| record.piece().is_some()) {
                    last = at;
                }
            }
        }
        last
    }

    fn add(&mut self, line: Line, kind: Kind, id: String) {
        let said = || {
            let records = line.sources.iter().flat_map(|source| &source.records);
            records.filter_map(|at| self.links.records.get(*at))
        };
        let [by_person, by_model, summary] = &self.about.titles;
        let title = by_person.as_ref().or(by_model.as_ref()).or(summary.as_ref());
        let conversation = Conversation {
            id,
            title: title.filter(|_| kind == Kind::Main).cloned(),
            kind,
            cwd: said().find_map(|record| record.cwd.as_deref()).map(str::to_owned),
            model: line
                .messages
                .iter()
                .rev()
                .find_map(|message| message.origin.as_ref())
                .map(|by| by.model.clone()),
            started: said().filter_map(|record| record.at).min(),
            ended: said().filter_map(|record| record.at).max(),
            messages: line.messages,
        };
        self.covered.extend(line.records);
        self.found.push((conversation, line.sources));
    }
}
