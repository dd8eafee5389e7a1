//! The picture of a session: the trunk as a spine, branches that were left beside it, lessons where they stand.
//!
//! A branch is drawn under the node that it was left from, before the trunk goes on: that is the order in which things
//! happened in all but strange cases, and it keeps lanes from crossing.

use std::collections::{BTreeSet, HashMap};

use anstyle::Style;
use trunkline_message_tree::{Link, Message, MessageTree, MoveKind, Node, NodeId, Role};
use trunkline_runtime::revert::{Note, NoteKind};

use crate::reading::marks::Marks;
use crate::reading::session::Reading;
use crate::shown::links::{Links, name_style};
use crate::shown::nodes::span;
use crate::shown::tree_words::{role_style, words};
use crate::shown::verdict::verdict;
use crate::shown::{plan, step_back};
use crate::term::style::{BOLD, DIM, GREEN, MAGENTA, PLAIN, YELLOW, paint};
use crate::term::text::{count, one_line, wrapped};

/// More lanes than this are not drawn; what is nested deeper stands in the last one.
const LANES: usize = 12;
/// A straight stretch longer than this is drawn by its two ends.
const STRAIGHT: usize = 24;
const ENDS: usize = 10;
/// A longer note is cut; `show` has all of it.
const NOTE_CHARS: usize = 500;

/// Draws a session. Lines are at most `width` characters long; `all` draws long straight stretches in full.
pub(crate) fn picture(reading: &Reading, width: usize, all: bool) -> String {
    let drawing = Drawing::of(reading, width);
    let mut picture = drawing.head();
    picture.push_str(&drawing.body(all));
    picture.push_str(&drawing.foot());
    picture
}

/// Returns the nodes of which [`picture`] has the words.
pub(crate) fn drawn_nodes(reading: &Reading, width: usize, all: bool) -> Vec<NodeId> {
    Drawing::of(reading, width).shown(all)
}

struct Drawing<'a> {
    reading: &'a Reading,
    links: Links,
    marks: Marks<'a>,
    children: HashMap<NodeId, Vec<NodeId>>,
    width: usize,
    id_width: usize,
    branches: usize,
    /// Nodes that stand for others.
    covers: usize,
    /// The notes that stand at the end of the branch that they are about.
    placed: BTreeSet<usize>,
    rows: Vec<Row>,
}

/// A row of the picture. What a node says is put into words only where its row is drawn.
struct Row {
    segments: Vec<(Style, String)>,
    /// What it says after that.
    says: Option<Says>,
    /// What stays when the row is cut.
    tail: Vec<(Style, String)>,
    fold: Fold,
}

/// Whose words stand in a row, and how.
#[derive(Copy, Clone)]
enum Says {
    /// A node tells what it is.
    Node(NodeId),
    /// A node that stands for others tells its summary.
    Cover(NodeId),
}

/// A part of the picture.
enum Drawn<'a> {
    Row(&'a Row),
    /// A line in place of rows that are left out.
    Hidden(String),
}

/// Whether a row may be left out, in a stretch of rows that are alike.
#[derive(Clone, PartialEq, Eq)]
enum Fold {
    Never,
    /// A plain node; these are the lanes to the left of it.
    Straight(Lanes),
    /// The model reads that node in place of this one.
    Covered(NodeId),
}

impl Row {
    fn firm(segments: Vec<(Style, String)>) -> Self {
        Row { segments, says: None, tail: Vec::new(), fold: Fold::Never }
    }
}

/// For each lane to the left whether it goes on below.
type Lanes = Vec<bool>;

enum Work {
    Node { id: NodeId, lanes: Lanes, next: Option<NodeId> },
    Branch { id: NodeId, lanes: Lanes },
    Cover { id: NodeId, lanes: Lanes, goes_on: bool },
    Left { branch: NodeId, lanes: Lanes, goes_on: bool },
    Marks { id: NodeId, lanes: Lanes, goes_on: bool },
}

impl<'a> Drawing<'a> {
    fn of(reading: &'a Reading, width: usize) -> Self {
        let mut drawing = Drawing::new(reading, width);
        drawing.draw();
        drawing
    }

    fn new(reading: &'a Reading, width: usize) -> Self {
        let mut children: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for (id, node) in reading.tree().nodes() {
            if let Some(parent) = node.parent() {
                children.entry(parent).or_default().push(id);
            }
        }
        let id_width = reading.tree().newest().to_string().len();
        let (links, marks) = (Links::of(reading), Marks::of(reading));
        let (placed, rows) = (BTreeSet::new(), Vec::new());
        Drawing { reading, links, marks, children, width, id_width, branches: 0, covers: 0, placed, rows }
    }

    fn draw(&mut self) {
        let mut stack =
            vec![Work::Node { id: NodeId::ROOT, lanes: Vec::new(), next: self.trunk_after(NodeId::ROOT) }];
        while let Some(work) = stack.pop() {
            match work {
                Work::Node { id, lanes, next } => self.node(id, lanes, next, &mut stack),
                Work::Branch { id, lanes } => self.fork(id, lanes, &mut stack),
                Work::Cover { id, lanes, goes_on } => self.cover(id, &lanes, goes_on),
                Work::Left { branch, lanes, goes_on } => self.left(branch, &lanes, goes_on),
                Work::Marks { id, lanes, goes_on } => self.marks(id, &lanes, goes_on),
            }
        }
    }

    /// Draws a node and puts on the stack what comes below it: branches, marks, and the next node of its lane.
    fn node(&mut self, id: NodeId, lanes: Lanes, next: Option<NodeId>, stack: &mut Vec<Work>) {
        let Ok(node) = self.reading.tree().node(id) else { return };
        let row = self.node_row(id, node, &lanes);
        self.rows.push(row);
        self.long_labels(id, &lanes, next.is_some());
        if let Some(next) = next {
            let after = if lanes.is_empty() { self.trunk_after(next) } else { self.last_child(next) };
            stack.push(Work::Node { id: next, lanes: lanes.clone(), next: after });
        }
        stack.push(Work::Marks { id, lanes: lanes.clone(), goes_on: next.is_some() });
        let beside = self.children.get(&id).into_iter().flatten().filter(|child| Some(**child) != next);
        for child in beside.rev() {
            if self.stands_beside(*child) {
                stack.push(Work::Cover { id: *child, lanes: lanes.clone(), goes_on: next.is_some() });
                continue;
            }
            let mut lanes = lanes.clone();
            if lanes.len() < LANES {
                lanes.push(next.is_some());
            }
            stack.push(Work::Branch { id: *child, lanes });
        }
    }

    fn fork(&mut self, id: NodeId, lanes: Lanes, stack: &mut Vec<Work>) {
        self.branches += 1;
        let (last, left) = lanes.split_last().map_or((false, lanes.as_slice()), |(last, left)| (*last, left));
        let graph = format!("{}{}", gutter(left), if last { "├─╮" } else { "╰─╮" });
        self.rows.push(Row::firm(vec![(DIM, graph)]));
        stack.push(Work::Left { branch: id, lanes: left.to_vec(), goes_on: last });
        stack.push(Work::Node { id, lanes, next: self.last_child(id) });
    }

    /// Returns the row of a node. It is the same whether what the node says was read or not, but for a word in its tail.
    fn node_row(&self, id: NodeId, node: &Node, lanes: &Lanes) -> Row {
        let is_head = id == self.reading.tree().head();
        let labels = self.labels(id);
        let mut tail = Vec::new();
        if *node.link() == Link::Filed {
            // What a model wrote and was only filed was asked for again.
            let is_reply = node.message().role == Role::Assistant;
            tail.push((YELLOW, if is_reply { "  asked again" } else { "  came late" }.to_owned()));
        }
        let is_plain = labels.is_empty() && tail.is_empty();
        if fits_in_row(&labels, self.width) {
            tail.extend(labels);
        }
        if is_head {
            tail.push((GREEN.bold(), "  ← head".to_owned()));
        }
        let fold = match self.links.covered_by(id) {
            Some(by) if is_plain => Fold::Covered(by),
            _ if is_plain && !is_head => Fold::Straight(lanes.clone()),
            _ => Fold::Never,
        };
        Row { segments: vec![(DIM, gutter(lanes))], says: Some(Says::Node(id)), tail, fold }
    }

    /// Returns the sign of a node, its name and what it says.
    fn node_words(&self, id: NodeId, message: &Message) -> Vec<(Style, String)> {
        let on_trunk = self.reading.tree().is_on_trunk(id);
        let is_head = id == self.reading.tree().head();
        let glyph = match (is_head, on_trunk, message.role) {
            (true, ..) => "◉",
            (_, true, Role::Tool) => "│",
            (_, true, _) => "●",
            (_, false, Role::Tool) => "┊",
            (_, false, _) => "○",
        };
        let fade = |style: Style| if on_trunk { style } else { DIM };
        let mut segments = vec![
            (if is_head { GREEN.bold() } else { fade(role_style(message)) }, format!("{glyph} ")),
            (DIM, format!("{:<width$} ", id.to_string(), width = self.id_width)),
        ];
        let standings = self.marks.standings(self.reading, id);
        let words = words(self.reading, id, message, &standings, self.width).into_iter();
        segments.extend(words.map(|(style, words)| (fade(style), words)));
        segments
    }

    /// Returns what a node is bound to beside its parent, and what it is called.
    fn labels(&self, id: NodeId) -> Vec<(Style, String)> {
        let merges = self.links.merges(id).map(|merges| (MAGENTA, format!("  {merges}")));
        let merged = self.links.merged_by(id).map(|merged| (MAGENTA, format!("  {merged}")));
        let names = self.links.names(id).into_iter().map(|name| (name_style(), format!("  {name}")));
        let pruned = self.links.pruned(id).map(|pruned| (DIM, format!("  {pruned}")));
        merges.into_iter().chain(merged).chain(names).chain(pruned).collect()
    }

    /// Draws the labels of a node below it that would take the place of what it says.
    fn long_labels(&mut self, id: NodeId, lanes: &Lanes, goes_on: bool) {
        let labels = self.labels(id);
        if fits_in_row(&labels, self.width) {
            return;
        }
        let gutter = format!("{}{}", gutter(lanes), if goes_on { "│   " } else { "    " });
        let room = self.width.saturating_sub(gutter.chars().count()).max(20);
        for (style, label) in labels {
            for line in wrapped(label.trim_start(), room) {
                self.rows.push(Row::firm(vec![(DIM, gutter.clone()), (style, line)]));
            }
        }
    }

    /// Returns whether a node stands beside its parent and not after it: a summary of what it covers.
    fn stands_beside(&self, id: NodeId) -> bool {
        let is_cover = |node: &Node| matches!(node.link(), Link::Cover { .. });
        !self.children.contains_key(&id) && self.reading.tree().node(id).is_ok_and(is_cover)
    }

    /// Draws a node that stands for others, after the last of them.
    fn cover(&mut self, id: NodeId, lanes: &Lanes, goes_on: bool) {
        let Ok(node) = self.reading.tree().node(id) else { return };
        let Link::Cover { from } = node.link() else { return };
        self.covers += 1;
        let end = node.parent().unwrap_or(NodeId::ROOT);
        let in_use = self.links.is_in_use(id, node.parent());
        let style = if in_use { MAGENTA } else { DIM };
        let span = if *from == end { end.to_string() } else { format!("{from}–{end}") };
        let what = if in_use { format!("stands for {span}") } else { format!("stood for {span}, not now") };
        let lane = if goes_on { "├ " } else { "╰ " };
        let segments = vec![
            (DIM, format!("{}{lane}", gutter(lanes))),
            (style, format!("{:<width$} {what}", id.to_string(), width = self.id_width)),
        ];
        let tail = if fits_in_row(&self.labels(id), self.width) { self.labels(id) } else { Vec::new() };
        self.rows.push(Row { segments, says: Some(Says::Cover(id)), tail, fold: Fold::Never });
        self.long_labels(id, lanes, goes_on);
    }

    /// Draws the notes that the moves away from a branch have left, at its end.
    fn left(&mut self, branch: NodeId, lanes: &Lanes, goes_on: bool) {
        for (index, note) in self.marks.notes_of(branch) {
            self.placed.insert(index);
            self.note(note, lanes, goes_on);
        }
    }

    /// Draws what else stands after a node: notes without a branch here, and verdicts.
    fn marks(&mut self, id: NodeId, lanes: &Lanes, goes_on: bool) {
        for (index, note) in self.marks.notes(id) {
            if self.placed.insert(index) {
                self.note(note, lanes, goes_on);
            }
        }
        // A revert is drawn by its note.
        let gone = self.marks.gone(id).filter(|_| !self.reading.tree().is_on_trunk(id));
        if let Some(gone) = gone {
            let void = if gone.in_force { "" } else { ", taken back" };
            let told = format!("⤺ a person went to {}{void}", gone.head_move.to);
            let style = if gone.in_force { MAGENTA } else { DIM };
            self.rows.push(Row::firm(vec![(DIM, gutter(lanes)), (style, told)]));
        }
        for decision in self.marks.verdicts(id) {
            let segments = vec![(DIM, gutter(lanes)), (PLAIN, verdict(decision))];
            self.rows.push(Row::firm(segments));
        }
    }

    /// Draws a note on one line, or under its heading if it is long: it is what was worth keeping of the branch.
    fn note(&mut self, note: &Note, lanes: &Lanes, goes_on: bool) {
        if redone(note, self.reading.tree()) {
            let segments = vec![(DIM, gutter(lanes)), (DIM, format!("⤺ {REDONE}"))];
            self.rows.push(Row::firm(segments));
            return;
        }
        // Where a person went is told where they left.
        if went(note, self.reading.tree()) {
            return;
        }
        let in_force = note.is_in_force(self.reading.tree());
        let style = if in_force { MAGENTA } else { DIM };
        let tree = self.reading.tree();
        let is_undo = note.kind == NoteKind::Undone;
        let void = match in_force {
            false if !is_undo && !tree.is_in_force(note.made_by) => ", taken back",
            false if note.abandoned.iter().any(|left| tree.is_on_trunk(*left)) => ", which is back",
            _ => "",
        };
        let left = match note.abandoned.as_slice() {
            [] => void.to_owned(),
            abandoned => format!("  left {}{void}", span(abandoned)),
        };
        let text = format!("“{}”", one_line(&note.text(), NOTE_CHARS));
        let kind = note_word(note, tree);
        let gutter = gutter(lanes);
        let taken = gutter.chars().count() + kind.chars().count() + left.chars().count() + 3;
        let fits = taken + text.chars().count() <= self.width;
        let mut segments = vec![(DIM, gutter.clone()), (style, "⤺ ".to_owned()), (style.bold(), kind)];
        segments.extend(fits.then(|| (style, format!(" {text}"))));
        let left = if fits || left.is_empty() { left } else { format!(" {}", left.trim_start()) };
        segments.push((DIM, left));
        self.rows.push(Row::firm(segments));
        if fits {
            return;
        }
        let gutter = format!("{gutter}{}", if goes_on { "│   " } else { "    " });
        for line in wrapped(&text, self.width.saturating_sub(gutter.chars().count()).max(20)) {
            let segments = vec![(DIM, gutter.clone()), (style, line)];
            self.rows.push(Row::firm(segments));
        }
    }

    fn head(&self) -> String {
        let info = &self.reading.info;
        let title =
            if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, self.width) };
        format!("{}\n{}\n\n", paint(BOLD, &title), paint(DIM, info.id.as_str()))
    }

    fn body(&self, all: bool) -> String {
        let drawn = self.drawn(all).into_iter();
        let lines = drawn.map(|part| match part {
            Drawn::Row(row) => self.line(row),
            Drawn::Hidden(told) => paint(DIM, &told),
        });
        lines.collect()
    }

    /// Returns the nodes of which the picture has the words.
    fn shown(&self, all: bool) -> Vec<NodeId> {
        let says = self.drawn(all).into_iter().filter_map(|part| match part {
            Drawn::Row(row) => row.says,
            Drawn::Hidden(_) => None,
        });
        says.map(|(Says::Node(id) | Says::Cover(id))| id).collect()
    }

    /// Returns what is drawn; of long straight stretches only the ends, and nothing of what is covered, unless it is all.
    fn drawn(&self, all: bool) -> Vec<Drawn<'_>> {
        let mut drawn = Vec::new();
        let mut rows = self.rows.as_slice();
        while let Some(first) = rows.first() {
            let alike =
                rows.iter().take_while(|row| row.fold != Fold::Never && row.fold == first.fold).count();
            let (stretch, rest) = rows.split_at(alike.max(1));
            rows = rest;
            match &first.fold {
                Fold::Covered(by) if !all => {
                    let hidden = format!("┊ … {} covered by {by}\n", count(stretch.len(), "message"));
                    drawn.push(Drawn::Hidden(hidden));
                }
                Fold::Straight(lanes) if !all && stretch.len() > STRAIGHT => {
                    let hidden = stretch.len() - 2 * ENDS;
                    drawn.extend(stretch.iter().take(ENDS).map(Drawn::Row));
                    let told =
                        format!("{}┊ … {} more; --all draws them\n", gutter(lanes), count(hidden, "node"));
                    drawn.push(Drawn::Hidden(told));
                    drawn.extend(stretch.iter().skip(ENDS + hidden).map(Drawn::Row));
                }
                _ => drawn.extend(stretch.iter().map(Drawn::Row)),
            }
        }
        drawn
    }

    /// Returns the words of a node as they stand in its row.
    fn said(&self, says: Says) -> Vec<(Style, String)> {
        let (Says::Node(id) | Says::Cover(id)) = says;
        let Ok(node) = self.reading.tree().node(id) else { return Vec::new() };
        match says {
            Says::Node(_) => self.node_words(id, node.message()),
            Says::Cover(_) => vec![(DIM, format!("  {}", one_line(&node.message().text(), self.width)))],
        }
    }

    fn foot(&self) -> String {
        let reading = self.reading;
        let mut foot = String::new();
        foot.push_str(&plan::standing(reading).unwrap_or_default());
        for entry in reading.waiting().filter(|entry| !plan::is_plan(entry)) {
            let label = one_line(&entry.proposal.label, self.width.saturating_sub(30).max(40));
            foot.push_str(&format!(
                "{} {} {label} {}\n",
                paint(YELLOW, "±"),
                entry.id,
                paint(DIM, &format!("({})", entry.state))
            ));
        }
        for open in reading.proposed_reverts() {
            foot.push_str(&format!("{}\n", paint(YELLOW, &step_back::shown(open))));
        }
        if reading.open_run().is_some() {
            foot.push_str(&format!(
                "{} {}\n",
                paint(YELLOW, "◇"),
                paint(YELLOW, "the run is open: it has no verdict yet")
            ));
        }
        let trunk = reading.tree().trunk().ids().len();
        let beside = match self.branches {
            0 => String::new(),
            branches => format!(
                ", {} beside it on {}",
                reading.tree().len() - trunk - self.covers,
                if branches == 1 { "1 branch".to_owned() } else { format!("{branches} branches") }
            ),
        };
        let covers = match self.covers {
            0 => String::new(),
            1 => ", 1 that stands for others".to_owned(),
            covers => format!(", {covers} that stand for others"),
        };
        foot.push_str(&paint(DIM, &format!("\n{} on the trunk{beside}{covers}\n", count(trunk, "node"))));
        foot
    }

    /// Cuts a row to the width, then paints it. A verdict is painted already and short.
    fn line(&self, row: &Row) -> String {
        let mut line = String::new();
        let tail = row.tail.iter().map(|(_, words)| words.chars().count()).sum();
        let mut room = self.width.saturating_sub(tail);
        let said = row.says.map(|says| self.said(says)).unwrap_or_default();
        for (style, words) in row.segments.iter().chain(&said) {
            if words.contains('\u{1b}') {
                line.push_str(words);
                continue;
            }
            let length = words.chars().count();
            if length <= room {
                line.push_str(&paint(*style, words));
                room -= length;
                continue;
            }
            let kept: String = words.chars().take(room.saturating_sub(1)).collect();
            line.push_str(&paint(*style, &format!("{kept}…")));
            break;
        }
        for (style, words) in &row.tail {
            line.push_str(&paint(*style, words));
        }
        line.push('\n');
        line
    }

    fn trunk_after(&self, id: NodeId) -> Option<NodeId> {
        let depth = self.reading.tree().node(id).ok()?.depth();
        self.reading.tree().trunk().ids().get(depth + 1).copied()
    }

    fn last_child(&self, id: NodeId) -> Option<NodeId> {
        self.children.get(&id)?.last().copied()
    }
}

/// Returns whether names leave most of a row to what the node says.
fn fits_in_row(names: &[(Style, String)], width: usize) -> bool {
    names.iter().map(|(_, name)| name.chars().count()).sum::<usize>() <= width / 3
}

fn gutter(lanes: &[bool]) -> String {
    lanes.iter().map(|goes_on| if *goes_on { "│ " } else { "  " }).collect()
}

/// What is left of an undo that was taken back: nothing that it said holds any more.
pub(crate) const REDONE: &str = "undo, taken back by redo";

/// Returns whether a note stands for an undo that a redo has taken back.
pub(crate) fn redone(note: &Note, tree: &MessageTree) -> bool {
    let redo = MoveKind::Redo { of: note.made_by };
    note.kind == NoteKind::Undone && tree.moves().iter().any(|made| made.kind == redo)
}

/// Names what a note is, for people: an undo by the command that makes one.
pub(crate) fn note_word(note: &Note, tree: &MessageTree) -> String {
    match note.kind {
        NoteKind::Undone if went(note, tree) => "go".to_owned(),
        NoteKind::Undone => "undo".to_owned(),
        kind => kind.to_string(),
    }
}

/// Returns whether a note stands where a person went back to.
fn went(note: &Note, tree: &MessageTree) -> bool {
    tree.moves().get(note.made_by.index()).is_some_and(|made| made.kind == MoveKind::Fork)
}
