//! A session file to its conversations.
//!
//! The one that goes on comes first. What a compaction covered, what a person went back from and what sub-agents said
//! are conversations of their own, so that nothing in the file is out of reach. Of each only its last record is noted:
//! thousands of them may have their beginning in common.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use trunkline_message_tree::{Author, Content, Message, Role, Timestamp, Usage};

use super::conversation::line;
use super::ends::Ends;
use super::links::{self, Ids};
use super::met::{Places, Said};
use super::record::{Body, Chain, Piece, Record, Repeated, Ties, is_record, record};
use super::tree::{Met, Tree};
use crate::conversation::{Conversation, Kind, LeftOut, Listed};
use crate::fault::{Fault, FaultKind};
use crate::json::{self, Fields};
use crate::lines;
use crate::log::News;
use crate::source::Source;

/// A session file as it was read.
#[derive(Clone, Debug, Default)]
pub(crate) struct File {
    pub(crate) listed: Vec<Listed>,
    /// The last record of each conversation, as many as are listed; none has no end where nothing was said.
    ends: Vec<Option<usize>>,
    tree: Tree,
    title: Option<String>,
    /// Records beside the chain that belong to the session as a whole, such as its title.
    pub(crate) labels: Vec<Range<usize>>,
    /// The sub-agent whose file it is, if no other chain stands in it.
    pub(crate) agent: Option<String>,
    /// How many records there are, of all kinds.
    count: usize,
}

/// Types of records beside the chain (real sessions up to 2.1.332, read 2026-11). Others are reported, as news.
const UNCHAINED: [&str; 17] = [
    "summary",
    "file-history-snapshot",
    "file-history-delta",
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

/// Tells whether an object on a damaged line is a record of its own.
pub(crate) fn is_whole_record(fields: &Fields<'_>) -> bool {
    is_record(fields, &UNCHAINED)
}

/// Reads a session file, or says that there is none of its records in it.
pub(crate) fn read(text: &str, faults: &mut Vec<Fault>) -> Result<File, String> {
    let mut lines = lines(text, faults);
    if !lines.known {
        return Err("there is no record of a session in it".to_owned());
    }
    let tree = links::tree(std::mem::take(&mut lines.records), &lines.ties, &lines.ids, faults);
    let mut reading = Reading {
        met: Met::none_of(&tree),
        ends: Ends::of(&tree),
        tree: &tree,
        ties: &lines.ties,
        agents: lines.agents,
        found: Vec::new(),
    };
    reading.main();
    reading.sidechains();
    reading.branches();
    let agent = reading.agent_of_file();
    let (listed, ends) = reading.found.into_iter().unzip();
    let [by_person, by_model, summary] = lines.titles;
    let title = by_person.or(by_model).or(summary);
    Ok(File { listed, ends, tree, title, labels: lines.labels, agent, count: lines.count })
}

impl File {
    /// Makes the messages of a conversation, and tells where they stand.
    pub(crate) fn conversation(&self, index: usize) -> Option<(Conversation, Vec<Source>)> {
        let (Listed { id, kind }, end) = (self.listed.get(index)?.clone(), self.ends.get(index)?);
        let line = end.map(|end| line(&self.tree, end)).unwrap_or_default();
        let said = || {
            let records = line.sources.iter().flat_map(|source| &source.records);
            records.filter_map(|at| self.tree.records.get(*at))
        };
        let mut by_model = line.messages.iter().rev().filter_map(|message| message.origin.as_ref());
        let conversation = Conversation {
            id,
            title: self.title.clone().filter(|_| kind == Kind::Main),
            kind,
            cwd: said().find_map(|record| record.cwd.as_deref()).map(str::to_owned),
            model: by_model.next().map(|by| by.model.clone()),
            started: said().filter_map(|record| record.at).min(),
            ended: said().filter_map(|record| record.at).max(),
            messages: line.messages,
        };
        Some((conversation, line.sources))
    }

    /// Returns where each record stands.
    pub(crate) fn ranges(&self) -> Vec<Range<usize>> {
        self.tree.records.iter().map(|record| record.range.clone()).collect()
    }

    /// Returns what each answer took: the most that one of its lines says.
    pub(crate) fn usages(&self) -> impl Iterator<Item = Usage> {
        let of_group = |lines: &Vec<usize>| {
            let pieces = lines.iter().filter_map(|at| self.tree.records.get(*at)?.piece()?.usage);
            pieces.max_by_key(|usage| usage.output_tokens)
        };
        self.tree.groups.iter().filter_map(of_group)
    }

    /// Returns when each record was written.
    pub(crate) fn times(&self) -> Vec<Option<Timestamp>> {
        self.tree.records.iter().map(|record| record.at).collect()
    }

    /// Counts what is not in one conversation.
    pub(crate) fn left_out(&self, conversation: usize) -> LeftOut {
        let mut met = Met::none_of(&self.tree);
        let mut left = LeftOut::default();
        let written = self.conversation(conversation).map_or(0, |(_, sources)| {
            let records = sources.iter().flat_map(|source| &source.records);
            records.filter(|at| met.is_new(**at)).count()
        });
        // The written ones must not end the walks that pass them, so those have a list of their own.
        let mut walked = Met::none_of(&self.tree);
        for covered in [true, false] {
            for (listed, end) in self.listed.iter().zip(&self.ends) {
                if (listed.kind == Kind::Covered) != covered {
                    continue;
                }
                let new = end.map(|end| walked.walk(&self.tree, end)).unwrap_or_default();
                let told = new.into_iter().filter(|at| self.tree.is_message(*at) && met.is_new(*at)).count();
                if covered { left.covered += told } else { left.elsewhere += told }
            }
        }
        let told = written + left.covered + left.elsewhere + self.labels.len();
        left.of_other_kinds = self.count.saturating_sub(told);
        left
    }
}

#[derive(Debug, Default)]
struct Lines<'a> {
    records: Vec<Record>,
    ties: Vec<Ties<'a>>,
    labels: Vec<Range<usize>>,
    /// Titles, by how much they are worth: a person's own before a model's before a summary.
    titles: [Option<String>; 3],
    /// Which call each sub-agent worked for.
    agents: HashMap<String, String>,
    ids: Ids<'a>,
    news: News,
    repeated: Repeated,
    count: usize,
    known: bool,
}

fn lines<'a>(text: &'a str, faults: &mut Vec<Fault>) -> Lines<'a> {
    let mut all = Lines::default();
    lines::each(text, faults, is_whole_record, |line, faults| {
        all.add(text, line.number, line.raw, line.fields, faults);
    });
    std::mem::take(&mut all.news).report(faults);
    all
}

impl<'a> Lines<'a> {
    fn add(
        &mut self,
        text: &'a str,
        line: usize,
        raw: &'a str,
        fields: &Fields<'a>,
        faults: &mut Vec<Fault>,
    ) {
        self.count += 1;
        let kind = fields.text("type").unwrap_or_default();
        match record(text, line, raw, fields, &mut self.repeated) {
            Err(kind) => faults.push(Fault { line, kind }),
            Ok(Some(linked)) => {
                self.known = true;
                if !CHAINED.contains(&kind.as_ref()) {
                    self.news.record(line, &kind);
                }
                self.agent_of(&linked, fields);
                self.chain(linked, faults);
            }
            Ok(None) if UNCHAINED.contains(&kind.as_ref()) => {
                self.known = true;
                self.label(text, raw, &kind, fields);
            }
            Ok(None) => self.news.record(line, &kind),
        }
    }

    /// Takes a record, unless it stands above with the same words.
    fn chain(&mut self, linked: (Ties<'a>, Record), faults: &mut Vec<Fault>) {
        let (ties, record) = linked;
        let place = self.records.len();
        match ties.uuid.as_ref().map(|uuid| self.ids.entry(uuid.clone())) {
            None => {}
            Some(Entry::Vacant(slot)) => {
                slot.insert(Places::One(place));
            }
            Some(Entry::Occupied(mut places)) => {
                let id = places.key().to_string();
                let earlier = places.get().as_slice().last().copied();
                let above = earlier.and_then(|at| self.ties.get(at).zip(self.records.get(at)));
                let says = |(above, held): (&Ties<'_>, &Record)| {
                    above.parent == ties.parent
                        && above.raws == ties.raws
                        && std::mem::discriminant(&held.body) == std::mem::discriminant(&record.body)
                };
                if above.is_some_and(says) {
                    faults.push(Fault { line: ties.line, kind: FaultKind::RepeatedRecord { id } });
                    return;
                }
                faults.push(Fault { line: ties.line, kind: FaultKind::RepeatedId { id } });
                places.get_mut().push(place);
            }
        }
        self.records.push(record);
        self.ties.push(ties);
    }

    /// Notes which call a sub-agent worked for; its result says so, and what it reported on the way.
    fn agent_of(&mut self, (ties, record): &(Ties<'a>, Record), fields: &Fields<'a>) {
        if let Some(piece) = record.piece()
            && let Some(agent) = &ties.agent
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
        if let Some(slot) = self.titles.get_mut(worth)
            && let Some(title) = fields.text(name)
        {
            *slot = Some(title.into_owned());
        }
    }
}

struct Reading<'t, 'a> {
    tree: &'t Tree,
    ties: &'t [Ties<'a>],
    ends: Ends,
    agents: HashMap<String, String>,
    found: Vec<(Listed, Option<usize>)>,
    /// Records that stand in a conversation that was found.
    met: Met,
}

impl<'a> Reading<'_, 'a> {
    fn chain(&self, at: usize) -> Option<&Chain<'a>> {
        self.ties.get(at).map(|tie| &tie.chain)
    }

    fn is_main(&self, at: usize) -> bool {
        self.chain(at) == Some(&Chain::Main)
    }

    fn session(&self, at: usize) -> String {
        self.ties.get(at).and_then(|tie| tie.session.as_deref()).unwrap_or_default().to_owned()
    }

    fn piece_of(&self, at: usize) -> Option<&Piece> {
        self.tree.records.get(at).and_then(Record::piece)
    }

    /// Finds the conversation that goes on, and what its compactions covered, newest first.
    fn main(&mut self) {
        let all = 0..self.tree.records.len();
        // The file of a sub-agent holds no other chain; there the last that spoke goes on.
        let end = self.ends.last(all.clone().filter(|at| self.is_main(*at))).or_else(|| self.ends.last(all));
        let Some(end) = end else {
            self.found.push((Listed { id: String::new(), kind: Kind::Main }, None));
            return;
        };
        let id = self.session(end);
        self.add(end, Kind::Main, id.clone());
        let mut boundary = self.ends.top(end);
        let mut seen = HashSet::new();
        while let Some(at) = boundary.filter(|at| self.tree.is_boundary(*at) && seen.insert(*at)) {
            let named = match self.tree.records.get(at).map(|record| &record.body) {
                Some(Body::Boundary { covers, .. }) => *covers,
                _ => None,
            };
            let above = || (0..at).rev().find(|at| self.is_main(*at) && self.piece_of(*at).is_some());
            let Some(end) = named.or_else(above) else { break };
            boundary = self.ends.top(end);
            self.add(end, Kind::Covered, id.clone());
        }
    }

    /// Returns the sub-agent that the main conversation is of, if it is of one.
    fn agent_of_file(&self) -> Option<String> {
        let end = self.found.first().and_then(|(_, end)| *end)?;
        match self.chain(end) {
            Some(Chain::Side(Some(agent))) => Some(agent.to_string()),
            _ => None,
        }
    }

    /// Finds what sub-agents said, in the order in which they began.
    fn sidechains(&mut self) {
        let order = self.tree.in_order();
        let mut roots: Vec<Option<usize>> = vec![None; order.len()];
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut first_of: HashMap<&Chain<'_>, usize> = HashMap::new();
        let mut main: HashSet<usize> = HashSet::new();
        for index in order {
            let parent = self.tree.parent.get(index).copied().flatten();
            let above = parent.and_then(|parent| roots.get(parent).copied().flatten());
            let root = match self.ties.get(index).map(|tie| &tie.chain) {
                None | Some(Chain::Main) => None,
                // Without an id of the agent, what hangs together is one.
                Some(Chain::Side(None)) => Some(above.unwrap_or(index)),
                Some(chain @ Chain::Side(Some(_))) => Some(*first_of.entry(chain).or_insert(index)),
            };
            if let Some(slot) = roots.get_mut(index) {
                *slot = root;
            }
            if let Some(root) = root.filter(|_| self.piece_of(index).is_some()) {
                members.entry(root).or_default().push(index);
                if self.met.has(index) {
                    main.insert(root);
                }
            }
        }
        let mut prompts = None;
        for (root, members) in members {
            let Some(end) = self.ends.last(members.into_iter()).filter(|_| !main.contains(&root)) else {
                continue;
            };
            let agent = match self.chain(end) {
                Some(Chain::Side(Some(agent))) => agent.to_string(),
                _ => String::new(),
            };
            let call_id = self.agents.get(&agent).cloned().or_else(|| {
                let prompts = prompts.get_or_insert_with(|| self.prompts());
                prompts.get(self.said_first(end)?.as_str()).cloned()
            });
            self.add(end, Kind::Sidechain { call_id }, agent);
        }
    }

    /// Returns the calls of the main conversation by the prompt that each hands on, the first of each; older files say
    /// nothing else about whom a sub-agent worked for.
    fn prompts(&self) -> HashMap<String, String> {
        let mut prompts = HashMap::new();
        let main = self.found.first().and_then(|(_, end)| *end);
        for message in main.map(|end| line(self.tree, end).messages).unwrap_or_default() {
            for call in message.calls() {
                let input = Fields::parse(&call.arguments).ok();
                if let Some(prompt) = input.as_ref().and_then(|input| input.text("prompt")) {
                    prompts.entry(prompt.into_owned()).or_insert_with(|| call.id.clone());
                }
            }
        }
        prompts
    }

    /// Returns the words that a conversation begins with.
    fn said_first(&self, end: usize) -> Option<String> {
        let piece = self.piece_of(self.ends.first_said(end)?)?;
        Some(Message::new(Role::User, Author::Harness, piece.content.clone()).text())
    }

    /// Finds what a person went back from: words typed that no conversation holds yet. Forks of other origin, such as
    /// calls side by side, hooks, replays and resuming, hold no such words. After them comes what is left of a model's
    /// words and of results, such as an answer that was asked for again.
    fn branches(&mut self) {
        let tree = self.tree;
        let typed = |at: usize| self.is_main(at) && self.piece_of(at).is_some_and(|piece| piece.is_typed());
        let left = |at: usize| self.is_main(at) && !typed(at) && tree.is_message(at) && self.is_by_model(at);
        let all = 0..tree.records.len();
        let (prompts, others): (Vec<usize>, Vec<usize>) =
            all.filter(|at| typed(*at) || left(*at)).partition(|at| typed(*at));
        if prompts.iter().chain(&others).all(|at| self.met.has(*at)) {
            return;
        }
        let under = self.ends.under(tree, |at| self.is_main(at));
        // What was replayed has the time and the words of what it replays; the words of a model are not said twice.
        let ties = self.ties;
        let key = |at: usize| {
            let raws = ties.get(at)?.raws.as_slice();
            let at = tree.records.get(at)?;
            let typed = at.piece().is_some_and(|piece| piece.is_typed());
            Some((at.at.filter(|_| typed), raws))
        };
        let mut said = Said::nothing();
        let mut is_new = |at: usize| key(at).is_some_and(|(time, raws)| said.is_new(time, raws));
        for at in prompts.iter().chain(&others).copied().filter(|at| self.met.has(*at)) {
            is_new(at);
        }
        for at in prompts.into_iter().rev().chain(others.into_iter().rev()) {
            if self.met.has(at) || !is_new(at) {
                continue;
            }
            let end = under.get(at).copied().flatten().unwrap_or(at);
            let new = self.add(end, Kind::Branch, self.session(at));
            for at in new {
                is_new(at);
            }
        }
    }

    /// Tells whether a record holds what a model wrote or a tool returned.
    fn is_by_model(&self, at: usize) -> bool {
        let piece = self.piece_of(at).filter(|piece| !piece.unsent);
        piece.is_some_and(|piece| piece.model.is_some() || piece.author == Author::Tool)
    }

    /// Notes a conversation, and returns the records that are in no earlier one. A covered one without such is none.
    fn add(&mut self, end: usize, kind: Kind, id: String) -> Vec<usize> {
        let new = self.met.walk(self.tree, end);
        if !new.is_empty() || kind != Kind::Covered {
            self.found.push((Listed { id, kind }, Some(end)));
        }
        new
    }
}
