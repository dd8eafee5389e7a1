//! What of a session is new since it was taken over, as entries for the tree that it was taken into.
//!
//! Nodes are known by what they say and where they hang, and not by an id of their file: a file that was rewritten, or that another
//! agent has copied, says the same under other ids.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use trunkline_message_tree::{
    Author, Content, Entry, HeadMove, Link, Message, MessageTree, MoveKind, NodeId, Part, Role, Timestamp,
};

/// Said in place of a result that is not in the file: nothing is run again because it was asked for elsewhere.
const NO_RESULT: &str = "No result is known: this session was taken over while the call was open.";

/// What of a session is not in a tree yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Growth {
    /// What is to be recorded, in order; none if the tree has it all.
    pub entries: Vec<Entry>,
    /// How many of them are nodes.
    pub nodes: usize,
    /// Where the head is afterwards.
    pub head: NodeId,
    /// Where the import has left the head, to be given to the next one: `head`, unless the conversation went on by itself.
    pub left_at: NodeId,
    /// The node of the tree for each node of the session, by its number.
    pub places: Vec<NodeId>,
    /// How many messages are instructions in the file and words like others in the tree.
    pub demoted: usize,
    /// The calls that had no result where a line ends, by their ids; each has one now that says so.
    pub closed: Vec<String>,
}

/// Returns what of a session that was read is not in `kept`, as [`SessionTree::growth`] says it.
///
/// [`SessionTree::growth`]: crate::SessionTree::growth
pub(crate) fn of(read: &MessageTree, kept: &MessageTree, left_at: NodeId) -> Growth {
    let mut known = Known::of(kept);
    let mut growing = Growing {
        entries: Vec::new(),
        nodes: 0,
        head: kept.head(),
        next: kept.next_id(),
        above: HashMap::new(),
    };
    let mut places = vec![NodeId::ROOT];
    let (mut demoted, mut closed) = (0, Vec::new());
    let continued: HashSet<NodeId> =
        read.nodes().filter(|(_, node)| !node.is_filed()).filter_map(|(_, node)| node.parent()).collect();
    let end = read.head();
    let rivals = rivals(read);
    for (id, node) in read.nodes().skip(1) {
        let place = |node: NodeId| places.get(node.index()).copied().unwrap_or(NodeId::ROOT);
        let above = node.parent().map_or(NodeId::ROOT, place);
        let link = match node.link() {
            Link::Cover { from } => Link::Cover { from: place(*from) },
            other => other.clone(),
        };
        let message = without_rights(node.message());
        let is_demoted = message.role != node.message().role;
        let rivals =
            node.parent().and_then(|parent| rivals.get(&(parent, node.is_filed(), hash(node.message()))));
        let known = known.take(above, &link, &message, node.at(), rivals.map_or(&[], Vec::as_slice));
        let here = known.or_else(|| growing.add(above, link, &message, node.at()));
        demoted += usize::from(is_demoted && known.is_none());
        // What was left with an open call must not be run by who goes back to it.
        if let (None, Some(mut here)) =
            (known, here.filter(|_| id != end && !node.is_filed() && !continued.contains(&id)))
        {
            for call in open_calls(read, id) {
                let message = Message::tool_result(call.as_str(), NO_RESULT, true);
                here = growing.add(here, Link::Next, &message, node.at()).unwrap_or(here);
                closed.push(call);
            }
        }
        // A tree that is full takes no more: the rest hangs on what is there.
        places.push(here.unwrap_or(above));
    }
    let at = read.node(end).map_or(Timestamp(0), |node| node.at());
    let mut wanted = places.get(end.index()).copied().unwrap_or(NodeId::ROOT);
    // An older copy of the file does not take the head back: it ends earlier, and not behind where the head is.
    let is_newer = kept.node(left_at).is_ok_and(|left| match at.cmp(&left.at()) {
        Ordering::Greater => true,
        Ordering::Equal => !kept.node(wanted).is_ok_and(|_| kept.is_on_trunk(wanted)),
        Ordering::Less => false,
    });
    let is_behind = growing.base_of(wanted) == left_at;
    let follows = kept.head() == left_at && (left_at == NodeId::ROOT || is_newer || is_behind);
    for call in open_calls(read, end) {
        let message = Message::tool_result(call.as_str(), NO_RESULT, true);
        let here = known.take(wanted, &Link::Next, &message, at, &[]);
        let added = || growing.add(wanted, Link::Next, &message, at).inspect(|_| closed.push(call));
        match here.or_else(added) {
            Some(here) => wanted = here,
            None => break,
        }
    }
    if follows {
        growing.go(wanted, MoveKind::Import, at);
        let lifts = lifts(read, kept, &growing.entries, &places, at);
        growing.entries.extend(lifts);
    } else {
        growing.go(kept.head(), MoveKind::Import, at);
        growing.uncover(kept);
    }
    let left_at = if follows { growing.head } else { left_at };
    Growth {
        entries: growing.entries,
        nodes: growing.nodes,
        head: growing.head,
        left_at,
        places,
        demoted,
        closed,
    }
}

/// Returns the times of nodes that say the same behind one node, where there are several.
fn rivals(read: &MessageTree) -> HashMap<(NodeId, bool, u64), Vec<Timestamp>> {
    let mut rivals: HashMap<_, Vec<Timestamp>> = HashMap::new();
    for (_, node) in read.nodes() {
        if let Some(parent) = node.parent() {
            rivals.entry((parent, node.is_filed(), hash(node.message()))).or_default().push(node.at());
        }
    }
    rivals.retain(|_, times| times.len() > 1);
    rivals
}

/// Returns moves that lift the summaries that were read and would be shown where the session itself does not show them, as those
/// that a person went round. A summary that was made here is left.
fn lifts(
    read: &MessageTree,
    kept: &MessageTree,
    entries: &[Entry],
    places: &[NodeId],
    at: Timestamp,
) -> Vec<Entry> {
    let place = |node: &NodeId| places.get(node.index()).copied();
    let all: HashSet<NodeId> = read.covering().iter().filter_map(place).collect();
    let own: HashSet<NodeId> = read.trunk().covers().iter().filter_map(|cover| place(&cover.by)).collect();
    let mut moves = Vec::new();
    if all.len() == own.len() {
        return moves;
    }
    let mut tree = kept.clone();
    // What does not fit is not recorded either.
    if !entries.iter().all(|entry| tree.record(entry.clone()).is_ok()) {
        return moves;
    }
    let head = tree.head();
    // Each lifts one more, and seldom is there one.
    for _ in 0..all.len() {
        let shown = tree.trunk().covers();
        let foreign = shown.iter().find(|cover| all.contains(&cover.by) && !own.contains(&cover.by));
        let Some(end) = foreign.and_then(|cover| tree.node(cover.by).ok()?.parent()) else { break };
        let there = HeadMove { from: head, to: end, kind: MoveKind::Fork, at };
        let back = HeadMove { from: end, to: head, kind: MoveKind::Import, at };
        for entry in [Entry::Move(there), Entry::Move(back)] {
            if tree.record(entry.clone()).is_err() {
                return moves;
            }
            moves.push(entry);
        }
    }
    moves
}

/// Returns the calls of an answer that no message behind it answers, up to `end`: the answer stands there, or results of it do.
fn open_calls(read: &MessageTree, end: NodeId) -> Vec<String> {
    let mut answered = Vec::new();
    for (_, node) in read.ancestry(end).into_iter().flatten() {
        let message = node.message();
        if message.role == Role::Assistant {
            let calls = message.calls().map(|call| call.id.as_str());
            return calls.filter(|id| !answered.contains(id)).map(str::to_owned).collect();
        }
        if !message.brings_results() {
            break;
        }
        answered.extend(message.results().map(|result| result.call_id.as_str()));
    }
    Vec::new()
}

/// Returns a message that instructs as one of the harness that does not.
fn without_rights(message: &Message) -> Cow<'_, Message> {
    match message.role {
        Role::System => {
            let demoted = Message { role: Role::User, author: Author::Harness, ..message.clone() };
            Cow::Owned(demoted)
        }
        _ => Cow::Borrowed(message),
    }
}

/// Entries on their way, and where the head will be.
struct Growing {
    entries: Vec<Entry>,
    nodes: usize,
    head: NodeId,
    next: Option<NodeId>,
    /// What each new node continues.
    above: HashMap<NodeId, NodeId>,
}

impl Growing {
    fn add(&mut self, above: NodeId, link: Link, message: &Message, at: Timestamp) -> Option<NodeId> {
        let id = self.next?;
        if !link.is_filed() {
            // Not as a fork: that would lift the summaries on whose spans it lands.
            self.go(above, MoveKind::Import, at);
            self.head = id;
        }
        self.next = u32::try_from(id.index() + 1).ok().map(NodeId::new);
        self.nodes += 1;
        self.above.insert(id, above);
        let message = Message { node: Some(id), ..message.clone() };
        self.entries.push(Entry::Node { id, parent: Some(above), at, link, message });
        Some(id)
    }

    /// Files new summaries without what they stand for, where that is on the line of a conversation that went on by itself.
    fn uncover(&mut self, kept: &MessageTree) {
        for entry in &mut self.entries {
            if let Entry::Node { parent: Some(parent), link: link @ Link::Cover { .. }, .. } = entry
                && kept.node(*parent).is_ok()
                && kept.is_on_trunk(*parent)
            {
                *link = Link::Filed;
            }
        }
    }

    /// Returns the node that was there before, from which a new one follows.
    fn base_of(&self, mut node: NodeId) -> NodeId {
        while let Some(above) = self.above.get(&node) {
            node = *above;
        }
        node
    }

    fn go(&mut self, to: NodeId, kind: MoveKind, at: Timestamp) {
        if self.head != to {
            self.entries.push(Entry::Move(HeadMove { from: self.head, to, kind, at }));
            self.head = to;
        }
    }
}

/// The nodes of a tree by what is behind what, each given out once.
struct Known<'a> {
    tree: &'a MessageTree,
    behind: HashMap<(NodeId, bool, u64), Vec<NodeId>>,
}

impl<'a> Known<'a> {
    fn of(tree: &'a MessageTree) -> Self {
        let mut behind: HashMap<_, Vec<NodeId>> = HashMap::with_capacity(tree.len());
        // From the end, so that the first is the last of its list.
        for (id, node) in tree.nodes().rev() {
            if let Some(parent) = node.parent() {
                let key = (parent, node.is_filed(), hash(node.message()));
                behind.entry(key).or_default().push(id);
            }
        }
        Known { tree, behind }
    }

    /// Takes the node that says this here. Of several it is the one of the same time; one of another time is left if it is that of a
    /// rival, which says the same at the same place.
    fn take(
        &mut self,
        above: NodeId,
        link: &Link,
        message: &Message,
        at: Timestamp,
        rivals: &[Timestamp],
    ) -> Option<NodeId> {
        let tree = self.tree;
        let waiting = self.behind.get_mut(&(above, link.is_filed(), hash(message)))?;
        let says = |id: &NodeId| {
            tree.node(*id).is_ok_and(|node| {
                let said = node.message();
                (said.role, &said.content) == (message.role, &message.content)
            })
        };
        let time = |id: &NodeId| tree.node(*id).map(|node| node.at()).ok();
        let same = waiting.iter().rposition(|id| time(id) == Some(at) && says(id));
        let free = |id: &NodeId| time(id).is_some_and(|time| !rivals.contains(&time)) && says(id);
        let found = same.or_else(|| waiting.iter().rposition(free))?;
        Some(waiting.remove(found))
    }
}

/// Returns a number that equal messages have in common: role and content count. Who wrote it, its cost and why it ended may come
/// to be known later.
fn hash(message: &Message) -> u64 {
    let mut state = DefaultHasher::new();
    (message.role as u8).hash(&mut state);
    for block in &message.content {
        match block {
            Content::Text { text } => (0_u8, text).hash(&mut state),
            Content::Thinking { text, .. } => (1_u8, text).hash(&mut state),
            Content::RedactedThinking { data } => (2_u8, data).hash(&mut state),
            Content::ToolCall(call) => (3_u8, &call.id, &call.name, &call.arguments).hash(&mut state),
            Content::ToolResult(result) => {
                (4_u8, &result.call_id, result.is_error).hash(&mut state);
                for part in &result.content {
                    if let Part::Text { text } = part {
                        text.hash(&mut state);
                    }
                }
            }
            Content::Image(_) | Content::Document(_) => 5_u8.hash(&mut state),
            Content::ServerCall { json, .. }
            | Content::ServerResult { json, .. }
            | Content::Opaque { json, .. } => {
                (6_u8, json).hash(&mut state);
            }
        }
    }
    state.finish()
}
