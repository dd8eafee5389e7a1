//! Carries what other branches came to into the trunk.
//!
//! Outcomes, never transcripts: the notes of a branch and the last words of its model, each sentence with the nodes that
//! it comes from. What a tool said enters only where the model said it again.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{
    Author, HeadMove, Link, MOST_MERGED, Message, MessageTree, MoveId, MoveKind, NodeId, Role, Timestamp,
};

use crate::carried_words::{harmless, unlabelled};
use crate::merge_refusal::names;
use crate::one_line::one_line;
use crate::own_branches::{MOST_TRIED, off_trunk};
use crate::plan::{next_move, tool_names};
use crate::refusal::LISTED;
use crate::sentences::sentences;
use crate::{CallPlace, MergeReason, MergeRefusal, Note, NoteKind, OwnBranches, Price, Rates, SummaryBy};

/// The most that one branch says, in characters.
const MAX_BRANCH_CHARS: usize = 1_600;

/// The most that all branches say, in characters; each of them has the same share.
const MAX_CHARS: usize = 16_000;

/// How many sentences of the model's last message are taken, the first ones.
const MAX_LAST_WORDS: usize = 4;

/// Something that came of one branch or of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sentence {
    /// One line of at most 500 characters that forges neither marks nor sources.
    pub text: String,
    /// The kind of note that said it; `None` if the model said it last on its branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<NoteKind>,
    /// The nodes that it comes from, oldest first; each is on a branch that is merged.
    pub from: Vec<NodeId>,
}

/// What a merge would do. Nothing has happened yet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Merge {
    /// Where the head was when it was planned; the merging node will continue it.
    pub into: NodeId,
    /// The ends of the branches, in the order in which they were named.
    pub with: Vec<NodeId>,
    /// What came of them, branch by branch.
    pub sentences: Vec<Sentence>,
    /// How many more different sentences there were than there is room for.
    pub left_out: usize,
    /// The names of the tools that were called there, each once, without those that are about the conversation.
    pub tools: Vec<String>,
    /// The name that the head move will have.
    pub move_id: MoveId,
    /// The call that asked; `None` if a person did.
    pub call: Option<CallPlace>,
    /// What it costs; `None` unless somebody reckoned it.
    pub price: Option<Price>,
}

/// What a merge carried where, for a note that keeps the links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MergeRecord {
    /// The node that merges.
    pub node: NodeId,
    /// The head move before it.
    pub move_id: MoveId,
    /// The node that it continues.
    pub into: NodeId,
    /// The ends of the branches.
    pub with: Vec<NodeId>,
    /// What came of them, in the order of the node's text.
    pub sentences: Vec<Sentence>,
    /// How many more sentences there were.
    #[serde(default)]
    pub left_out: usize,
    /// The call that asked; `None` if a person did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CallPlace>,
    /// What it costs in prompt tokens, if a model asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

/// What to write, in one batch, when a merge is carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MergeOutcome {
    /// The move, for [`Draft::move_head`](trunkline_message_tree::Draft::move_head). It ends where it starts: an undo of
    /// it takes the merging node off the trunk.
    pub head_move: HeadMove,
    /// The further parents, for [`Draft::merge`](trunkline_message_tree::Draft::merge).
    pub with: Vec<NodeId>,
    /// The message of the merging node, likewise.
    pub message: Message,
}

/// Decides what a merge of these branches into the trunk would say. The tree stays as it is.
///
/// `tips` are the ends of the branches; [`MessageTree::tip`] finds the end for any node of one. `notes` are all notes of
/// the session in the order in which they were made. Plan it between turns, when the calls of the head are answered.
///
/// A branch reaches from where its line leaves the trunk, or from what an earlier merge on the trunk took of it, to its
/// tip. What a branch has merged itself is not carried on: name that one too. A branch says, in this order:
///
/// - the notes that stand on it or that were made when it was left at its end: outcomes, checkpoints, findings, lessons.
///   Those of one kind stand in the order in which they were made. Notes of moves that were undone say nothing of the
///   branch that is back, and notes without a summary say nothing at all.
/// - the first 4 sentences of the last message in which its model said something.
///
/// Where there is no room for all, the last words come first, and then the newest note of each kind in turn.
///
/// What a pinned note on the trunk says already is not said again. A note that decays is: what a merge carries stays.
/// A branch has at most 1,600 characters and all together 16,000, in equal shares.
///
/// Costs one step per node of the trunk and of the branches, and looks at each note once per branch.
///
/// # Errors
///
/// A [`MergeRefusal`] with its [`MergeReason`] and branches that could be merged.
///
/// ```
/// use trunkline_message_tree::{Timestamp, notation};
/// use trunkline_revert::merge;
///
/// let mut tree = notation::parse_tree(
///     "n0 system: be brief
///      n1 user: which parser?
///      n2 assistant: The hand-written one is fast. It needs 300 lines.
///      n3 < n1 assistant: A generated one is slow.",
/// )?;
/// let branch = "n2".parse()?;
/// let merge = merge(&tree, &[], &[branch])?;
/// assert!(merge.text().contains("\n- It needs 300 lines. (n2)"));
///
/// let outcome = merge.outcome(Timestamp(1));
/// let mut draft = tree.draft();
/// draft.move_head(outcome.head_move)?;
/// let node = draft.merge(outcome.with, outcome.message, Timestamp(1))?;
/// let record = merge.record(node); // a store keeps it in the same batch
/// for entry in draft.into_entries() {
///     tree.record(entry)?;
/// }
/// assert_eq!(record.sentences.len(), 2);
/// assert_eq!(tree.plan_undo(Timestamp(2)).map(|undo| undo.to), Some(merge.into));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge(tree: &MessageTree, notes: &[Note], tips: &[NodeId]) -> Result<Merge, MergeRefusal> {
    merge_ends(tree, notes, tips, Works::Newest)
}

/// Decides what a merge of branches would say that a model has left itself, each named by any node of it. Else as
/// [`merge`].
///
/// # Errors
///
/// A [`MergeRefusal`] with its [`MergeReason`] and branches of the model that could be merged.
pub fn merge_own(
    tree: &MessageTree,
    notes: &[Note],
    own: &OwnBranches<'_>,
    nodes: &[NodeId],
) -> Result<Merge, MergeRefusal> {
    let mut tips: Vec<NodeId> = Vec::with_capacity(nodes.len());
    for node in nodes {
        match own.tip_of(*node) {
            Ok(tip) if tips.contains(&tip) => {}
            Ok(tip) => tips.push(tip),
            Err(why) => {
                let works = View::new(tree, notes).working(own.newest());
                return Err(MergeRefusal { reason: MergeReason::NotOwn { node: *node, why }, works });
            }
        }
    }
    merge_ends(tree, notes, &tips, Works::Of(own))
}

/// Which branches a refusal names.
#[derive(Copy, Clone)]
enum Works<'a> {
    Newest,
    Of(&'a OwnBranches<'a>),
}

fn merge_ends(
    tree: &MessageTree,
    notes: &[Note],
    tips: &[NodeId],
    works: Works<'_>,
) -> Result<Merge, MergeRefusal> {
    let view = View::new(tree, notes);
    let works = || match works {
        Works::Newest => view.newest_working(),
        Works::Of(own) => view.working(own.newest()),
    };
    let refuse = |reason| Err(MergeRefusal { reason, works: works() });
    if tips.is_empty() {
        return refuse(MergeReason::NoBranch);
    }
    if tips.len() > MOST_MERGED {
        return refuse(MergeReason::TooMany { named: tips.len() });
    }
    for tip in tips {
        if tree.node(*tip).is_err() {
            return refuse(MergeReason::NotFound { tip: *tip });
        }
        if tree.is_on_trunk(*tip) {
            return refuse(MergeReason::OnTrunk { tip: *tip });
        }
    }
    if let Some((tip, within)) = named_twice(tree, tips) {
        return refuse(MergeReason::SameBranch { tip, within });
    }

    let share = MAX_BRANCH_CHARS.min(MAX_CHARS / tips.len());
    let (mut kept, mut left, mut spans) = (Vec::new(), Vec::new(), Vec::new());
    for tip in tips {
        let branch = match view.branch(*tip) {
            Ok(branch) => branch,
            Err(reason) => return refuse(reason),
        };
        let (fits, more) = within_share(branch.sentences, share);
        kept.extend(fits);
        left.extend(more);
        spans.extend(branch.span);
    }
    // What one branch has no room for may be said by another one, which is then not its only source.
    let mut sentences = say_once(kept);
    let said = sentences.len();
    sentences = say_once(sentences.into_iter().chain(left).collect());
    let left_out = sentences.split_off(said).len();
    Ok(Merge {
        into: tree.head(),
        with: tips.to_vec(),
        sentences,
        left_out,
        tools: tool_names(tree, &spans),
        move_id: next_move(tree),
        call: None,
        price: None,
    })
}

impl Merge {
    /// Names the call that asked, and says what the merge costs: what it adds has to be read, and nothing before it anew.
    #[must_use]
    pub fn asked_by(self, call: CallPlace, tree: &MessageTree, rates: &Rates) -> Self {
        let price = Price::at(tree, self.into, (&self.text(), std::iter::empty()), [], rates);
        Merge { call: Some(call), price: Some(price), ..self }
    }

    /// Returns what the call's own result says; `priced` tells whether it states the price.
    pub fn result_text(&self, priced: bool) -> String {
        let price = self.price.as_ref().filter(|_| priced);
        let price = price.map(|price| format!("; {}", price.text())).unwrap_or_default();
        let lines = self.sentences.len();
        let lines = if lines == 1 { "1 line".to_owned() } else { format!("{lines} lines") };
        format!("merge applied: what came of {} follows, {lines}{price}", names(&self.with))
    }

    /// Returns what the model reads, one sentence a line. The same merge always gives the same text.
    ///
    /// A line ends in the nodes that it comes from, such as `(n12, n15)`; nothing else in it looks like that.
    pub fn text(&self) -> String {
        let branches = if self.with.len() == 1 { "a branch" } else { "branches" };
        let mut text = format!(
            "Merged from {branches} of this conversation: {}. Each line ends in the nodes that it comes from.",
            names(&self.with)
        );
        for Sentence { text: sentence, kind, from } in &self.sentences {
            let label = kind.map(|kind| format!("{kind}: ")).unwrap_or_default();
            text.push_str(&format!("\n- {label}{sentence} ({})", names(from)));
        }
        match self.left_out {
            0 => {}
            1 => text.push_str("\nOne more sentence was left out."),
            more => text.push_str(&format!("\n{more} more sentences were left out.")),
        }
        if !self.tools.is_empty() {
            text.push_str("\nWhat tools changed there, files included, was neither undone nor done again.");
        }
        text
    }

    /// Returns what to write when the merge is carried out.
    ///
    /// For a head that has moved since, the draft refuses the move, because it starts elsewhere.
    pub fn outcome(&self, at: Timestamp) -> MergeOutcome {
        let head_move = HeadMove { from: self.into, to: self.into, kind: MoveKind::Merge, at };
        MergeOutcome { head_move, with: self.with.clone(), message: Message::harness(self.text()) }
    }

    /// Returns what to keep beside the node that merges, under the name that the draft gave it.
    pub fn record(&self, node: NodeId) -> MergeRecord {
        MergeRecord {
            node,
            move_id: self.move_id,
            into: self.into,
            with: self.with.clone(),
            sentences: self.sentences.clone(),
            left_out: self.left_out,
            call: self.call.clone(),
            price: self.price.clone(),
        }
    }
}

/// A branch with everything that came of it, what there must be room for first.
struct Branch {
    // Oldest first, never empty; depths follow each other.
    span: Vec<NodeId>,
    sentences: Vec<Sentence>,
}

/// What all branches are measured against.
struct View<'a> {
    tree: &'a MessageTree,
    notes: &'a [Note],
    // What pinned notes on the trunk say, and where.
    said: HashMap<String, NodeId>,
    // Nodes off the trunk that a node of the trunk merged, and which one.
    merged: HashMap<NodeId, NodeId>,
}

impl<'a> View<'a> {
    fn new(tree: &'a MessageTree, notes: &'a [Note]) -> Self {
        let pinned = notes
            .iter()
            .filter(|note| note.kind.is_pinned() && note.by == SummaryBy::Mover && note.is_in_force(tree));
        let said =
            pinned.filter_map(|note| Some((harmless(note.summary.as_deref()?), note.anchor))).collect();
        let mut merged = HashMap::new();
        for (by, node) in tree.trunk().nodes() {
            let Link::Merge { with } = node.link() else { continue };
            for tip in with {
                // What is there already was taken by an older merge, or by a branch that shares its beginning.
                let _taken = off_trunk(tree, *tip).find(|id| *merged.entry(*id).or_insert(by) != by);
            }
        }
        View { tree, notes, said, merged }
    }

    fn branch(&self, tip: NodeId) -> Result<Branch, MergeReason> {
        if let Some(by) = self.merged.get(&tip) {
            return Err(MergeReason::AlreadyMerged { tip, by: *by });
        }
        let new = off_trunk(self.tree, tip).take_while(|id| !self.merged.contains_key(id));
        let mut span: Vec<NodeId> = new.collect();
        span.reverse();
        let mut sentences = self.last_words(&span);
        sentences.extend(in_turn(self.notes_of(&span, tip)));
        let stands_at = sentences.iter().find_map(|sentence| self.said.get(&sentence.text).copied());
        sentences.retain(|sentence| !self.said.contains_key(&sentence.text));
        if sentences.is_empty() {
            return Err(MergeReason::NothingToSay { tip, stands_at });
        }
        Ok(Branch { span, sentences: say_once(sentences) })
    }

    /// Returns what the notes of a branch say, the newest first.
    fn notes_of(&self, span: &[NodeId], tip: NodeId) -> Vec<Sentence> {
        self.notes
            .iter()
            .rev()
            // What was made of calls and results quotes tools: nobody came to it.
            .filter(|note| note.kind != NoteKind::Undone && note.by == SummaryBy::Mover)
            .filter_map(|note| {
                let summary = note.summary.as_deref()?;
                let from = if self.is_within(span, note.anchor)
                    && !note.abandoned.iter().any(|left| self.is_within(span, *left))
                {
                    // It stands on the branch, and may tell of another one that is not merged.
                    note.anchor
                } else if self.tree.is_in_force(note.made_by) && self.is_end(&note.abandoned, tip) {
                    // The last message of a model is the one that asked to go, whatever results came after it.
                    let left: Vec<NodeId> =
                        note.abandoned.iter().copied().filter(|left| self.is_within(span, *left)).collect();
                    let wrote = left.iter().rev().find(|left| self.role(**left) == Some(Role::Assistant));
                    *wrote.or(left.last())?
                } else {
                    return None;
                };
                // Only now: most notes are of other branches.
                let text = harmless(summary);
                (!text.is_empty()).then(|| Sentence { text, kind: Some(note.kind), from: vec![from] })
            })
            .collect()
    }

    /// Returns whether a node is where the model of a branch that was left had its last word.
    fn is_end(&self, left: &[NodeId], tip: NodeId) -> bool {
        let place = left.iter().position(|node| *node == tip);
        place.is_some_and(|place| {
            left[place + 1..].iter().all(|later| self.role(*later) != Some(Role::Assistant))
        })
    }

    /// Returns the first sentences of the last message in which the model of a branch said something.
    fn last_words(&self, span: &[NodeId]) -> Vec<Sentence> {
        let said = span.iter().rev().find_map(|id| {
            let message = self.tree.node(*id).ok()?.message();
            if message.role != Role::Assistant || message.author != Author::Model {
                return None;
            }
            let found = sentences(&message.text());
            (!found.is_empty()).then_some((*id, found))
        });
        let Some((node, found)) = said else { return Vec::new() };
        let words = found.iter().take(MAX_LAST_WORDS).map(|text| unlabelled(harmless(text)));
        words
            .filter(|text| !text.is_empty())
            .map(|text| Sentence { text, kind: None, from: vec![node] })
            .collect()
    }

    /// Returns the ends of the newest branches that could be merged, oldest first. Looks at the newest 64 branches.
    fn newest_working(&self) -> Vec<NodeId> {
        // A line leaves the trunk only by a move, so its end was once the head.
        let mut left: Vec<NodeId> = self.tree.moves().iter().map(|head_move| head_move.from).collect();
        left.sort_unstable_by(|a, b| b.cmp(a));
        let mut seen = HashSet::new();
        let ends = left.into_iter().filter(|tip| {
            // Younger ends came first, so what they have passed is no end.
            let is_end = !seen.contains(tip) && !self.tree.is_on_trunk(*tip);
            let _seen_before = off_trunk(self.tree, *tip).find(|id| !seen.insert(*id));
            is_end
        });
        self.working(ends)
    }

    /// Returns those of these ends, newest first, that could be merged, oldest first.
    fn working(&self, ends: impl IntoIterator<Item = NodeId>) -> Vec<NodeId> {
        let tried = ends.into_iter().take(MOST_TRIED).filter(|tip| self.branch(*tip).is_ok());
        let mut works: Vec<NodeId> = tried.take(LISTED).collect();
        works.reverse();
        works
    }

    fn is_within(&self, span: &[NodeId], node: NodeId) -> bool {
        let depth_of = |id: NodeId| self.tree.node(id).ok().map(|node| node.depth());
        let first = span.first().and_then(|first| depth_of(*first));
        let place = first.and_then(|first| depth_of(node)?.checked_sub(first));
        place.is_some_and(|place| span.get(place) == Some(&node))
    }

    fn role(&self, node: NodeId) -> Option<Role> {
        self.tree.node(node).ok().map(|node| node.message().role)
    }
}

/// Returns the first tip that lies on the line to another one, and that one.
fn named_twice(tree: &MessageTree, tips: &[NodeId]) -> Option<(NodeId, NodeId)> {
    for (place, within) in tips.iter().enumerate() {
        if tips[..place].contains(within) {
            return Some((*within, *within));
        }
        if let Some(tip) = off_trunk(tree, *within).skip(1).find(|id| tips.contains(id)) {
            return Some((tip, *within));
        }
    }
    None
}

/// Puts notes that stand newest first so that each kind has its turn.
fn in_turn(notes: Vec<Sentence>) -> Vec<Sentence> {
    let mut turns: HashMap<u8, usize> = HashMap::new();
    let mut placed: Vec<((usize, u8), Sentence)> = Vec::with_capacity(notes.len());
    for note in notes {
        let kind = rank(note.kind);
        let turn = turns.entry(kind).or_default();
        placed.push(((*turn, kind), note));
        *turn += 1;
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, note)| note).collect()
}

/// Returns the place of a kind among what a branch says.
fn rank(kind: Option<NoteKind>) -> u8 {
    match kind {
        Some(NoteKind::Outcome) => 0,
        Some(NoteKind::Checkpoint) => 1,
        Some(NoteKind::Finding) => 2,
        Some(NoteKind::Lesson | NoteKind::Undone) => 3,
        None => 4,
    }
}

/// Takes sentences while there is room, and puts notes of one kind in the order in which they were made. Also returns
/// those that there was no room for.
fn within_share(mut sentences: Vec<Sentence>, share: usize) -> (Vec<Sentence>, Vec<Sentence>) {
    let (mut room, mut fitting) = (share, 0);
    for sentence in &mut sentences {
        // The first always fits, if need be cut.
        if fitting == 0 {
            sentence.text = one_line(&sentence.text, share);
        }
        match room.checked_sub(sentence.text.chars().count()) {
            Some(rest) => room = rest,
            None => break,
        }
        fitting += 1;
    }
    let left = sentences.split_off(fitting);
    let (mut said, words): (Vec<Sentence>, Vec<Sentence>) =
        sentences.into_iter().partition(|sentence| sentence.kind.is_some());
    said.reverse();
    said.sort_by_key(|sentence| rank(sentence.kind));
    said.extend(words);
    (said, left)
}

/// Says equal sentences once, where the first of them stands, with the sources of all.
fn say_once(sentences: Vec<Sentence>) -> Vec<Sentence> {
    let mut said: Vec<Sentence> = Vec::with_capacity(sentences.len());
    let mut places: HashMap<String, usize> = HashMap::new();
    for sentence in sentences {
        match places.entry(sentence.text.clone()) {
            Entry::Vacant(place) => {
                place.insert(said.len());
                said.push(sentence);
            }
            Entry::Occupied(place) => {
                let first = &mut said[*place.get()];
                first.kind = if rank(sentence.kind) < rank(first.kind) { sentence.kind } else { first.kind };
                first.from.extend(sentence.from);
                first.from.sort_unstable();
                first.from.dedup();
            }
        }
    }
    said
}
