//! The picture of a session: the trunk as a spine, branches that were left beside it, lessons where they stand.
//!
//! A branch is drawn under the node that it was left from, before the trunk goes on: that is the order in which things
//! happened in all but strange cases, and it keeps lanes from crossing.

use std::collections::{BTreeSet, HashMap};

use anstyle::Style;
use serde_json::{Value, json};
use trunkline_message_tree::{Author, Message, MessageTree, MoveKind, Node, NodeId, Role, StopReason};
use trunkline_runtime::revert::{Note, NoteKind};

use crate::args::Tree;
use crate::fault::{Exit, Fault};
use crate::paint::{self, BOLD, CYAN, DIM, GREEN, MAGENTA, PLAIN, RED, YELLOW, paint};
use crate::place::Place;
use crate::progress::{main_argument, span, verdict};
use crate::proposed;
use crate::reading::Reading;
use crate::store;
use crate::text::{count, cut, one_line};

/// More lanes than this are not drawn; what is nested deeper stands in the last one.
const LANES: usize = 12;
/// A straight stretch longer than this is drawn by its two ends.
const STRAIGHT: usize = 24;
const ENDS: usize = 10;
/// A longer note is cut; `show` has all of it.
const NOTE_CHARS: usize = 500;

/// `trunkline tree`.
pub(crate) async fn run(args: &Tree, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    match args.json {
        true => paint::print_json(&as_json(&reading))?,
        false => paint::print(&picture(&reading, paint::width(), args.all))?,
    }
    Ok(Exit::Done)
}

/// Draws a session. Lines are at most `width` characters long; `all` draws long straight stretches in full.
pub(crate) fn picture(reading: &Reading, width: usize, all: bool) -> String {
    let mut drawing = Drawing::new(reading, width);
    drawing.draw();
    let mut picture = drawing.head();
    picture.push_str(&drawing.body(all));
    picture.push_str(&drawing.foot());
    picture
}

struct Drawing<'a> {
    reading: &'a Reading,
    children: HashMap<NodeId, Vec<NodeId>>,
    width: usize,
    id_width: usize,
    branches: usize,
    /// The notes that stand at the end of the branch that they are about.
    placed: BTreeSet<usize>,
    rows: Vec<Row>,
}

struct Row {
    segments: Vec<(Style, String)>,
    /// What stays when the row is cut.
    tail: Option<(Style, &'static str)>,
    /// The lanes to the left of a plain node; `None` for everything that must not be left out.
    straight: Option<Lanes>,
}

/// For each lane to the left whether it goes on below.
type Lanes = Vec<bool>;

enum Work {
    Node { id: NodeId, lanes: Lanes, next: Option<NodeId> },
    Branch { id: NodeId, lanes: Lanes },
    Left { branch: NodeId, lanes: Lanes, goes_on: bool },
    Marks { id: NodeId, lanes: Lanes, goes_on: bool },
}

impl<'a> Drawing<'a> {
    fn new(reading: &'a Reading, width: usize) -> Self {
        let mut children: HashMap<NodeId, Vec<NodeId>> = HashMap::new();
        for (id, node) in reading.tree().nodes() {
            if let Some(parent) = node.parent() {
                children.entry(parent).or_default().push(id);
            }
        }
        let id_width = reading.tree().newest().to_string().len();
        Drawing { reading, children, width, id_width, branches: 0, placed: BTreeSet::new(), rows: Vec::new() }
    }

    fn draw(&mut self) {
        let mut stack =
            vec![Work::Node { id: NodeId::ROOT, lanes: Vec::new(), next: self.trunk_after(NodeId::ROOT) }];
        while let Some(work) = stack.pop() {
            match work {
                Work::Node { id, lanes, next } => self.node(id, lanes, next, &mut stack),
                Work::Branch { id, lanes } => self.fork(id, lanes, &mut stack),
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
        if let Some(next) = next {
            let after = if lanes.is_empty() { self.trunk_after(next) } else { self.last_child(next) };
            stack.push(Work::Node { id: next, lanes: lanes.clone(), next: after });
        }
        stack.push(Work::Marks { id, lanes: lanes.clone(), goes_on: next.is_some() });
        let beside = self.children.get(&id).into_iter().flatten().filter(|child| Some(**child) != next);
        for child in beside.rev() {
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
        self.rows.push(Row { segments: vec![(DIM, graph)], tail: None, straight: None });
        stack.push(Work::Left { branch: id, lanes: left.to_vec(), goes_on: last });
        stack.push(Work::Node { id, lanes, next: self.last_child(id) });
    }

    fn node_row(&self, id: NodeId, node: &Node, lanes: &Lanes) -> Row {
        let on_trunk = self.reading.tree().is_on_trunk(id);
        let is_head = id == self.reading.tree().head();
        let message = node.message();
        let glyph = match (is_head, on_trunk, message.role) {
            (true, ..) => "◉",
            (_, true, Role::Tool) => "│",
            (_, true, _) => "●",
            (_, false, Role::Tool) => "┊",
            (_, false, _) => "○",
        };
        let fade = |style: Style| if on_trunk { style } else { DIM };
        let mut segments = vec![
            (DIM, gutter(lanes)),
            (if is_head { GREEN.bold() } else { fade(role_style(message)) }, format!("{glyph} ")),
            (DIM, format!("{:<width$} ", id.to_string(), width = self.id_width)),
        ];
        segments.extend(self.words(id, message).into_iter().map(|(style, words)| (fade(style), words)));
        let tail = match (is_head, node.is_filed()) {
            (true, _) => Some((GREEN.bold(), "  ← head")),
            (_, true) => Some((YELLOW, "  came late")),
            _ => None,
        };
        Row { segments, tail, straight: (!is_head).then(|| lanes.clone()) }
    }

    /// Tells in a few words what a node is.
    fn words(&self, id: NodeId, message: &Message) -> Vec<(Style, String)> {
        let limit = self.width;
        if let Some(result) = message.results().next() {
            let call = self.reading.call_of(id, &result.call_id);
            let name = call.map_or("a result", |call| call.name.as_str());
            let about = call.map(|call| main_argument(&call.arguments, 40)).unwrap_or_default();
            let mark = if result.is_error { (RED, "✗ ") } else { (GREEN, "✓ ") };
            let text = result.text();
            let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
            let about = if about.is_empty() { about } else { format!(" {about}") };
            return vec![
                (mark.0, format!("  {}", mark.1)),
                (PLAIN, one_line(name, 40)),
                (DIM, about),
                (DIM, format!("  {}", one_line(first, limit))),
            ];
        }
        let mut words = vec![(role_style(message), format!("{:<8}", speaker(message)))];
        let text = one_line(&message.text(), limit);
        let calls: Vec<String> = message
            .calls()
            .map(|call| {
                format!("{} {}", one_line(&call.name, 40), main_argument(&call.arguments, 40))
                    .trim_end()
                    .to_owned()
            })
            .collect();
        // With calls the words are only the way to them.
        let text = if calls.is_empty() { text } else { one_line(&text, 40) };
        if !text.is_empty() {
            let style =
                if message.role == Role::System || message.author == Author::Harness { DIM } else { PLAIN };
            words.push((style, text));
        }
        if !calls.is_empty() {
            words.push((CYAN, format!("{}→ {}", if words.len() > 1 { " " } else { "" }, calls.join(", "))));
        }
        if words.len() == 1 {
            words.push((DIM, "(no words)".to_owned()));
        }
        if matches!(message.stop, Some(StopReason::Cancelled | StopReason::Cut)) {
            words.push((YELLOW, "  cut off".to_owned()));
        }
        words
    }

    /// Draws the notes that the moves away from a branch have left, at its end.
    fn left(&mut self, branch: NodeId, lanes: &Lanes, goes_on: bool) {
        let notes = self.reading.notes().iter().enumerate();
        for (index, note) in notes.filter(|(_, note)| note.abandoned.first() == Some(&branch)) {
            self.placed.insert(index);
            self.note(note, lanes, goes_on);
        }
    }

    /// Draws what else stands after a node: notes without a branch here, and verdicts.
    fn marks(&mut self, id: NodeId, lanes: &Lanes, goes_on: bool) {
        let notes = self.reading.notes().iter().enumerate();
        for (index, note) in notes.filter(|(_, note)| note.anchor == id) {
            if self.placed.insert(index) {
                self.note(note, lanes, goes_on);
            }
        }
        for (_, decision) in self.reading.verdicts().iter().filter(|(after, _)| *after == id) {
            let segments = vec![(DIM, gutter(lanes)), (PLAIN, verdict(decision))];
            self.rows.push(Row { segments, tail: None, straight: None });
        }
    }

    /// Draws a note on one line, or under its heading if it is long: it is what was worth keeping of the branch.
    fn note(&mut self, note: &Note, lanes: &Lanes, goes_on: bool) {
        if redone(note, self.reading.tree()) {
            let segments = vec![(DIM, gutter(lanes)), (DIM, format!("⤺ {REDONE}"))];
            self.rows.push(Row { segments, tail: None, straight: None });
            return;
        }
        let in_force = note.is_in_force(self.reading.tree());
        let style = if in_force { MAGENTA } else { DIM };
        let void = if in_force { "" } else { ", taken back" };
        let left = match note.abandoned.as_slice() {
            [] => void.to_owned(),
            abandoned => format!("  left {}{void}", span(abandoned)),
        };
        let text = format!("“{}”", one_line(&note.text(), NOTE_CHARS));
        let kind = note_word(note.kind);
        let gutter = gutter(lanes);
        let taken = gutter.chars().count() + kind.chars().count() + left.chars().count() + 3;
        let fits = taken + text.chars().count() <= self.width;
        let mut segments =
            vec![(DIM, gutter.clone()), (style, "⤺ ".to_owned()), (style.bold(), format!("{kind} "))];
        segments.extend(fits.then(|| (style, text.clone())));
        segments.push((DIM, if fits { left } else { left.trim_start().to_owned() }));
        self.rows.push(Row { segments, tail: None, straight: None });
        if fits {
            return;
        }
        let gutter = format!("{gutter}{}", if goes_on { "│   " } else { "    " });
        for line in wrapped(&text, self.width.saturating_sub(gutter.chars().count()).max(20)) {
            let segments = vec![(DIM, gutter.clone()), (style, line)];
            self.rows.push(Row { segments, tail: None, straight: None });
        }
    }

    fn head(&self) -> String {
        let info = &self.reading.info;
        let title =
            if info.title.is_empty() { "(no title)".to_owned() } else { one_line(&info.title, self.width) };
        format!("{}\n{}\n\n", paint(BOLD, &title), paint(DIM, info.id.as_str()))
    }

    fn body(&self, all: bool) -> String {
        let mut body = String::new();
        let mut rows = self.rows.as_slice();
        while let Some(first) = rows.first() {
            let straight = rows
                .iter()
                .take_while(|row| row.straight.is_some() && row.straight == first.straight)
                .count();
            let (stretch, rest) = rows.split_at(straight.max(1));
            if all || stretch.len() <= STRAIGHT {
                stretch.iter().for_each(|row| body.push_str(&self.line(row)));
            } else {
                let hidden = stretch.len() - 2 * ENDS;
                let (start, end) = (stretch.iter().take(ENDS), stretch.iter().skip(ENDS + hidden));
                start.for_each(|row| body.push_str(&self.line(row)));
                let gutter = gutter(first.straight.as_deref().unwrap_or_default());
                body.push_str(&paint(
                    DIM,
                    &format!("{gutter}┊ … {} more; --all draws them", count(hidden, "node")),
                ));
                body.push('\n');
                end.for_each(|row| body.push_str(&self.line(row)));
            }
            rows = rest;
        }
        body
    }

    fn foot(&self) -> String {
        let reading = self.reading;
        let mut foot = String::new();
        for entry in reading.waiting() {
            let label = one_line(&entry.proposal.label, self.width.saturating_sub(30).max(40));
            foot.push_str(&format!(
                "{} {} {label} {}\n",
                paint(YELLOW, "±"),
                entry.id,
                paint(DIM, &format!("({})", entry.state))
            ));
        }
        for open in reading.proposed_reverts() {
            foot.push_str(&format!("{}\n", paint(YELLOW, &proposed::shown(open))));
        }
        if reading.has_open_run() {
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
                reading.tree().len() - trunk,
                if branches == 1 { "1 branch".to_owned() } else { format!("{branches} branches") }
            ),
        };
        foot.push_str(&paint(DIM, &format!("\n{} on the trunk{beside}\n", count(trunk, "node"))));
        foot
    }

    /// Cuts a row to the width, then paints it. A verdict is painted already and short.
    fn line(&self, row: &Row) -> String {
        let mut line = String::new();
        let mut room = self.width - row.tail.map_or(0, |(_, words)| words.chars().count());
        for (style, words) in &row.segments {
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
        if let Some((style, words)) = row.tail {
            line.push_str(&paint(style, words));
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

/// Breaks one line at its spaces into lines of at most `limit` characters.
fn wrapped(text: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let word = cut(word, limit);
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= limit => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word.into_owned()),
        }
    }
    lines
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
pub(crate) fn note_word(kind: NoteKind) -> String {
    if kind == NoteKind::Undone { "undo".to_owned() } else { kind.to_string() }
}

/// Names who wrote a message, for people.
pub(crate) fn speaker(message: &Message) -> &'static str {
    match (message.role, message.author) {
        (Role::System, _) => "system",
        (Role::User, Author::Person) => "you",
        (Role::User, _) => "harness",
        (Role::Assistant, _) => "model",
        (Role::Tool, _) => "tool",
    }
}

pub(crate) fn role_style(message: &Message) -> Style {
    match (message.role, message.author) {
        (Role::User, Author::Person) => CYAN.bold(),
        (Role::Assistant, _) => BOLD,
        _ => DIM,
    }
}

fn as_json(reading: &Reading) -> Value {
    let nodes: Vec<Value> = reading
        .tree()
        .nodes()
        .map(|(id, node)| {
            let message = node.message();
            json!({
                "id": id,
                "parent": node.parent(),
                "at": node.at(),
                "on_trunk": reading.tree().is_on_trunk(id),
                "role": message.role,
                "author": message.author,
                "text": one_line(&message.text(), 200),
                "calls": message.calls().map(|call| call.name.as_str()).collect::<Vec<_>>(),
                "error": message.results().any(|result| result.is_error),
            })
        })
        .collect();
    json!({
        "version": 1,
        "session": store::as_json(&reading.info),
        "head": reading.tree().head(),
        "nodes": nodes,
        "moves": reading.tree().moves(),
        "notes": reading.notes(),
        "verdicts": verdicts_json(reading),
        "open_run": reading.has_open_run(),
    })
}

/// Returns the verdicts in their own canonical form.
pub(crate) fn verdicts_json(reading: &Reading) -> Vec<Value> {
    let printed = reading.verdicts().iter().map(|(_, decision)| decision.print());
    printed.map(|text| serde_json::from_str(&text).unwrap_or(Value::String(text))).collect()
}
