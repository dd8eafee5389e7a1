//! A whole file as trees, for programs that go on with a session.
//!
//! A conversation is what its agent would send. The tree is all that was said, each thing once, and how it hangs together: where
//! a person went back, and what a summary stands for.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use trunkline_message_tree::{
    Author, Entry as TreeEntry, HeadMove, Link, Message, MessageTree, MoveKind, NodeId, Role, Timestamp,
    TreeError,
};

use crate::conversation::{Conversation, Kind, Listed};
use crate::growth::{self, Growth};
use crate::log::{Entry, Log, Part};
use crate::source::Source;

/// One session of a file as a tree.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SessionTree {
    /// The session's id, the sub-agent's id, or empty where the format has none.
    pub id: String,
    /// The main one of its file, or a sub-agent's.
    pub kind: Kind,
    /// The title, if one was given.
    pub title: Option<String>,
    /// The folder that the agent worked in.
    pub cwd: Option<String>,
    /// The session that this one was copied from or works for, by its id, where the file tells.
    pub parent: Option<String>,
    /// All that was said. The head is where the session goes on. The root holds the instructions where the format has them in
    /// its list, and is empty elsewhere; several beginnings hang under it. What a compaction stands for is covered.
    pub tree: MessageTree,
    /// What the tree does not say of its nodes, in their order.
    pub marks: Vec<(NodeId, Mark)>,
    /// Where the records of each node stand in the text; none of the root's unless it was read.
    records: Vec<Vec<Range<usize>>>,
}

/// What a node is beside its message.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mark {
    /// The same words as those of a node above, which the agent wrote once more. Counted once, they are counted there.
    Copy {
        /// That node.
        of: NodeId,
    },
    /// A summary in place of what it covers.
    Compaction,
    /// Tells of a branch that was left.
    BranchSummary {
        /// The branch's last node, where the file tells.
        of: Option<NodeId>,
    },
}

impl SessionTree {
    /// Returns what of this session `kept` does not have, in the words of `kept`: nothing that is there is changed or repeated.
    ///
    /// What was read has no rights. Instructions become words of the harness, and the root's are left out; a call at the end that
    /// has no result gets one that says so, so that it is not run here.
    ///
    /// `left_at` is where the last import has left the head. If it still is there and the session ends no earlier, the head
    /// follows the session; where the conversation went on since, what is new becomes a branch, and the head stays. Of two equal nodes behind one, the first
    /// is the first. Costs about one look at each node of both.
    pub fn growth(&self, kept: &MessageTree, left_at: NodeId) -> Growth {
        growth::of(&self.tree, kept, left_at)
    }

    /// Returns where the records of a node stand in the text of its transcript, in the order in which they are read.
    pub(crate) fn places(&self, node: NodeId) -> &[Range<usize>] {
        self.records.get(node.index()).map_or(&[], Vec::as_slice)
    }
}

/// A conversation with the way back to its records.
pub(crate) struct Line {
    pub(crate) conversation: Conversation,
    pub(crate) sources: Vec<Source>,
    /// When each message was written, where that is known.
    pub(crate) times: Vec<Option<Timestamp>>,
}

/// Makes the tree of a session whose entries say how they hang together.
pub(crate) fn of_log(log: &Log) -> SessionTree {
    let mut grown = Growing::new(None, log.started);
    // The node of each entry, and the one that what continues it hangs on.
    let mut nodes: Vec<(NodeId, NodeId)> = Vec::with_capacity(log.entries.len());
    // The entry that the line of each one begins with.
    let mut firsts: Vec<usize> = Vec::with_capacity(log.entries.len());
    let mut marks = Vec::new();
    for (place, entry) in log.entries.iter().enumerate() {
        let above = entry.parent.and_then(|parent| nodes.get(parent)).map_or(NodeId::ROOT, |(_, end)| *end);
        firsts.push(entry.parent.and_then(|parent| firsts.get(parent).copied()).unwrap_or(place));
        if nodes.len() > place {
            continue; // It stands in the summary before it.
        }
        let records = entry.source.records.iter().filter_map(|record| log.records.get(*record).cloned());
        let mut piece = Piece { message: entry.message.clone(), at: entry.at, records: records.collect() };
        let span = match entry.part {
            Part::Compaction { kept } => {
                let to = entry.parent.and_then(|end| last_covered(log, &nodes, end, kept));
                to.and_then(|to| Some((nodes.get(*firsts.get(to)?)?.0, nodes.get(to)?.0)))
            }
            _ => None,
        };
        let node = match span {
            Some((from, to)) => {
                // One node stands for a span, so what goes on with the summary is said by it.
                let after = log.entries.iter().skip(place + 1);
                let more: Vec<&Entry> =
                    after.take_while(|entry| entry.part == Part::MoreOfCompaction).collect();
                for entry in &more {
                    piece.message.content.extend(entry.message.content.iter().cloned());
                    piece
                        .records
                        .extend(entry.source.records.iter().filter_map(|at| log.records.get(*at).cloned()));
                }
                let node = grown.cover(from, to, piece);
                nodes.extend(std::iter::repeat_n((node, above), 1 + more.len()));
                node
            }
            None => {
                let node = grown.append(above, piece);
                nodes.push((node, node));
                node
            }
        };
        let of = |place: usize| nodes.get(place).map(|(node, _)| *node);
        let mark = match entry.part {
            Part::Said | Part::MoreOfCompaction => None,
            Part::Copy { of: place } => of(place).map(|of| Mark::Copy { of }),
            Part::Compaction { .. } => Some(Mark::Compaction),
            Part::BranchSummary { of: place } => Some(Mark::BranchSummary { of: place.and_then(of) }),
        };
        marks.extend(mark.map(|mark| (node, mark)));
    }
    let head = log.head.and_then(|head| nodes.get(head)).map_or(NodeId::ROOT, |(_, end)| *end);
    grown.end_at(head);
    // A summary on another way from the same beginning covers nothing here.
    let line = log.head.map(|head| log.line(head)).unwrap_or_default();
    let own: HashSet<NodeId> = line.iter().filter_map(|at| nodes.get(*at)).map(|(node, _)| *node).collect();
    grown.lift_all_but(&own, head);
    SessionTree {
        id: log.id.clone(),
        kind: Kind::Main,
        title: log.title.clone(),
        cwd: log.cwd.clone(),
        parent: log.parent.clone(),
        tree: grown.tree,
        marks,
        records: grown.records,
    }
}

/// Returns the last entry that a summary behind `end` stands for: what `kept` continues, or else the end. Summaries themselves are
/// nodes beside the line.
fn last_covered(log: &Log, nodes: &[(NodeId, NodeId)], end: usize, kept: Option<usize>) -> Option<usize> {
    let up = |from: usize| {
        std::iter::successors(Some(from), |at| log.entries.get(*at).and_then(|entry| entry.parent))
    };
    let is_on_line = |at: &usize| nodes.get(*at).is_some_and(|(node, end)| node == end);
    let behind = kept.filter(|kept| up(end).any(|at| at == *kept));
    match behind.and_then(|kept| log.entries.get(kept)) {
        Some(kept) => up(kept.parent?).find(is_on_line),
        None => up(end).find(is_on_line),
    }
}

/// Makes trees of conversations that have their beginning in common: the main one and what belongs to it first, and then one
/// for each sub-agent. `read` makes each when its turn comes, since together they can be far larger than the file; `places`
/// tells where records stand.
pub(crate) fn of_lines(
    listed: &[Listed],
    read: impl Fn(usize) -> Option<Line>,
    places: &[Range<usize>],
) -> Vec<SessionTree> {
    let is_side = |place: &usize| matches!(listed[*place].kind, Kind::Sidechain { .. });
    let (sides, own): (Vec<usize>, Vec<usize>) = (0..listed.len()).partition(is_side);
    let (covered, others): (Vec<usize>, Vec<usize>) =
        own.into_iter().partition(|place| listed[*place].kind == Kind::Covered);
    // What was covered came before what covers it.
    let covered: Vec<usize> = covered.into_iter().rev().collect();
    let mut trees: Vec<SessionTree> = of_group(&covered, &others, &read, places).into_iter().collect();
    trees.extend(sides.into_iter().filter_map(|side| of_group(&[], &[side], &read, places)));
    trees
}

/// Makes one tree: of what was covered, oldest first, and then of the others, of which the first goes on.
fn of_group(
    covered: &[usize],
    others: &[usize],
    read: &impl Fn(usize) -> Option<Line>,
    places: &[Range<usize>],
) -> Option<SessionTree> {
    let (first, rest) = others.split_first()?;
    let mut main = Some(read(*first)?);
    let about =
        main.as_ref().map(|line| Conversation { messages: Vec::new(), ..line.conversation.clone() })?;
    let root = main.as_ref().and_then(|line| line.conversation.messages.first());
    let root = root.filter(|message| message.role == Role::System);
    let mut grown = Growing::new(root.cloned(), about.started);
    let mut marks = Vec::new();
    let mut joined = Joined::default();
    for place in covered {
        let Some(line) = read(*place) else { continue };
        let covers = std::mem::take(&mut joined.covered);
        let end = joined.walk(&mut grown, &line, covers, places, &mut marks);
        joined.covered = grown.line(end);
    }
    let covers = std::mem::take(&mut joined.covered);
    let head = main.take().map(|line| joined.walk(&mut grown, &line, covers, places, &mut marks));
    for place in rest {
        if let Some(line) = read(*place) {
            joined.walk(&mut grown, &line, Vec::new(), places, &mut marks);
        }
    }
    grown.end_at(head.unwrap_or(NodeId::ROOT));
    Some(SessionTree {
        id: about.id,
        kind: about.kind,
        title: about.title,
        cwd: about.cwd,
        parent: None,
        tree: grown.tree,
        marks,
        records: grown.records,
    })
}

/// What of several lines stands in the tree already.
#[derive(Default)]
struct Joined {
    /// The node of the records behind a node.
    next: HashMap<(NodeId, Vec<usize>), NodeId>,
    /// Where a line goes on whose summary is known by its records.
    summaries: HashMap<Vec<usize>, NodeId>,
    /// The nodes of the line that the next one covers.
    covered: Vec<NodeId>,
}

impl Joined {
    /// Adds what of a line is not there, and returns its last node.
    fn walk(
        &mut self,
        grown: &mut Growing,
        line: &Line,
        covers: Vec<NodeId>,
        places: &[Range<usize>],
        marks: &mut Vec<(NodeId, Mark)>,
    ) -> NodeId {
        let mut at = NodeId::ROOT;
        let messages = line.conversation.messages.iter().zip(&line.sources).enumerate();
        for (index, (message, source)) in messages {
            if index == 0 && message.role == Role::System && grown.has_root {
                continue;
            }
            let time = line.times.get(index).copied().flatten();
            let records = source.records.iter().filter_map(|record| places.get(*record).cloned());
            let piece = Piece { message: message.clone(), at: time, records: records.collect() };
            if index == 0 {
                if let Some(known) =
                    self.summaries.get(&source.records).filter(|_| !source.records.is_empty())
                {
                    at = *known;
                    continue;
                }
                if let Some((from, to)) = self.span(grown, line, &covers) {
                    let node = grown.cover(from, to, piece);
                    marks.push((node, Mark::Compaction));
                    self.summaries.insert(source.records.clone(), to);
                    at = to;
                    continue;
                }
            }
            let key = (at, source.records.clone());
            at = match self.next.get(&key).filter(|_| !source.records.is_empty()) {
                Some(known) => *known,
                None => {
                    let node = grown.append(at, piece);
                    self.next.insert(key, node);
                    node
                }
            };
        }
        at
    }

    /// Returns the first and the last node that a line's summary stands for: up to what follows it word for word.
    fn span(&self, grown: &Growing, line: &Line, covers: &[NodeId]) -> Option<(NodeId, NodeId)> {
        let (first, last) = (*covers.first()?, *covers.last()?);
        let Some(kept) = line.sources.get(1).filter(|source| !source.records.is_empty()) else {
            return Some((first, last));
        };
        let before_kept = covers.iter().find(|node| self.next.contains_key(&(**node, kept.records.clone())));
        let is_above = |node: &&NodeId| grown.tree.node(**node).is_ok();
        Some((first, before_kept.filter(is_above).copied().unwrap_or(last)))
    }
}

/// A message on its way into a tree.
struct Piece {
    message: Message,
    at: Option<Timestamp>,
    records: Vec<Range<usize>>,
}

/// A tree on its way.
struct Growing {
    tree: MessageTree,
    records: Vec<Vec<Range<usize>>>,
    /// Whether its root was read.
    has_root: bool,
    /// The time of what came last; what has none of its own is given it.
    at: Timestamp,
}

impl Growing {
    fn new(root: Option<Message>, started: Option<Timestamp>) -> Self {
        let at = started.unwrap_or_default();
        let has_root = root.is_some();
        let root = root.unwrap_or_else(|| Message::new(Role::System, Author::Harness, Vec::new()));
        Growing { tree: MessageTree::new(root, at), records: vec![Vec::new()], has_root, at }
    }

    /// Adds a message behind a node; the head goes there first. A tree that is full stays as it is.
    fn append(&mut self, above: NodeId, piece: Piece) -> NodeId {
        // Not as a fork: that would lift the summaries on whose spans it lands.
        self.go(above, MoveKind::Import);
        self.add(self.tree.head(), Link::Next, piece)
    }

    /// Files a summary for the nodes of a line.
    fn cover(&mut self, from: NodeId, to: NodeId, piece: Piece) -> NodeId {
        self.add(to, Link::Cover { from }, piece)
    }

    fn add(&mut self, parent: NodeId, link: Link, piece: Piece) -> NodeId {
        let Piece { message, at, records } = piece;
        self.at = at.unwrap_or(self.at);
        let added = self.tree.next_id().ok_or(TreeError::Full).and_then(|id| {
            let entry = TreeEntry::Node { id, parent: Some(parent), at: self.at, link, message };
            self.tree.record(entry).map(|()| id)
        });
        match added {
            Ok(id) => {
                self.records.push(records);
                id
            }
            // Full, or no span: what continues it hangs on what is there.
            Err(_) => parent,
        }
    }

    /// Moves the head, unless it is there.
    fn go(&mut self, to: NodeId, kind: MoveKind) {
        let from = self.tree.head();
        if from != to {
            let moved = HeadMove { from, to, kind, at: self.at };
            // Every node that is named here is in the tree.
            let _is_there = self.tree.record(TreeEntry::Move(moved));
        }
    }

    /// Puts the head where the session goes on.
    fn end_at(&mut self, head: NodeId) {
        self.go(head, MoveKind::Import);
    }

    /// Lifts the summaries that are shown on the trunk and are none of these.
    fn lift_all_but(&mut self, own: &HashSet<NodeId>, head: NodeId) {
        // One that is lifted may have hidden another.
        for _ in 0..self.tree.covering().len() {
            let shown = self.tree.trunk().covers();
            let foreign = shown.iter().find(|cover| !own.contains(&cover.by));
            let end = foreign.and_then(|cover| self.tree.node(cover.by).ok()?.parent());
            let Some(end) = end else { break };
            self.go(end, MoveKind::Fork);
            self.end_at(head);
        }
    }

    /// Returns the nodes from the first below the root to one.
    fn line(&self, end: NodeId) -> Vec<NodeId> {
        let up = self.tree.ancestry(end).into_iter().flatten().map(|(id, _)| id);
        let mut line: Vec<NodeId> = up.filter(|id| *id != NodeId::ROOT).collect();
        line.reverse();
        line
    }
}
