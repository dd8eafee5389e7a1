//! `trunkline show`: the conversation as it was said.

use std::collections::BTreeMap;

use anstyle::Style;
use serde_json::{Value, json};
use trunkline_message_tree::{Content, Media, MediaSource, Node, NodeId, Part, ToolResult};
use trunkline_runtime::revert;
use trunkline_runtime::session_machine::reading::unanswered::Standing;

use crate::args::Show;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::desk::store;
use crate::reading::marks::Marks;
use crate::reading::names::target;
use crate::reading::purpose::Purpose;
use crate::reading::session::Reading;
use crate::shown::call::{main_argument, named};
use crate::shown::links::Links;
use crate::shown::moves::declined;
use crate::shown::nodes::span;
use crate::shown::plan;
use crate::shown::time::ago;
use crate::shown::tree::{REDONE, note_word, redone};
use crate::shown::tree_json::{add_link, add_pruned, add_standings, verdicts_json};
use crate::shown::tree_words::{label_in, role_style, speaker};
use crate::shown::verdict::verdict;
use crate::shown::{purpose, session, standing};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{self, BOLD, CYAN, DIM, GREEN, MAGENTA, RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::{first_lines, one_line, safe};

/// How much of a result or of the instructions is shown unasked.
const RESULT_LINES: usize = 12;

/// Prints a session, or one node of it.
pub(crate) async fn run(args: &Show, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let mut reading = Reading::outline(store.as_ref(), &info).await?;
    let one = match &args.node {
        Some(named) => Some(node_named(&reading, named)?),
        None => None,
    };
    let ids: Vec<NodeId> = match one {
        Some(id) => vec![id],
        None if args.all => reading.tree().nodes().map(|(id, _)| id).collect(),
        None => reading.tree().trunk().ids().to_vec(),
    };
    let purpose = match one {
        Some(_) => None,
        None => Purpose::of(store.as_ref(), &reading).await?,
    };
    if args.json {
        reading.fill(store.as_ref(), &ids).await?;
        let mut shown = as_json(&reading, &ids);
        if let Some(purpose) = &purpose {
            purpose::add(&mut shown, purpose);
        }
        out::print_json(&shown)?;
        return Ok(Exit::Done);
    }
    reading.fill_with_calls(store.as_ref(), &ids).await?;
    let limit = if args.full || one.is_some() { usize::MAX } else { RESULT_LINES };
    let (links, marks) = (Links::of(&reading), Marks::of(&reading));
    let mut declined = declined(&reading);
    let mut shown = purpose.as_ref().map(purpose::head).unwrap_or_default();
    for id in ids {
        if let Ok(node) = reading.tree().node(id) {
            shown.push_str(&shown_node((&reading, &links, &marks), id, node, limit));
        }
        for line in declined.remove(&id).into_iter().flat_map(BTreeMap::into_values) {
            shown.push_str(&format!("{line}\n\n"));
        }
        if one.is_some() {
            continue;
        }
        for (_, note) in marks.notes(id) {
            let style = if note.is_in_force(reading.tree()) { MAGENTA } else { DIM };
            let told = match redone(note, reading.tree()) {
                true => format!("⤺ {REDONE}"),
                false => format!(
                    "⤺ {} “{}”  left {}",
                    note_word(note, reading.tree()),
                    one_line(&note.text(), 400),
                    span(&note.abandoned)
                ),
            };
            shown.push_str(&format!("{}\n\n", paint(style, &told)));
        }
        for decision in marks.verdicts(id) {
            shown.push_str(&format!("{}\n\n", verdict(decision)));
        }
    }
    if one.is_none() {
        shown.push_str(&plan::standing(&reading).unwrap_or_default());
    }
    out::print(&shown)?;
    if let Some(entry) = plan::waiting(reading.proposals()).filter(|_| one.is_none()) {
        let name = store::short_name(store.as_ref(), &info.id).await;
        let commands = plan::commands(entry.id, &name).map(|(what, command)| (what, place.command(&command)));
        tell(&plan::next(commands));
    }
    Ok(Exit::Done)
}

fn node_named(reading: &Reading, named: &str) -> Result<NodeId, Fault> {
    let id = target(named, reading)?;
    reading.tree().node(id).map_err(|error| Fault::usage(error.to_string()))?;
    Ok(id)
}

fn shown_node(
    (reading, links, marks): (&Reading, &Links, &Marks<'_>),
    id: NodeId,
    node: &Node,
    limit: usize,
) -> String {
    let message = node.message();
    let mut standings = marks.standings(reading, id).into_iter();
    let beside = if reading.tree().is_on_trunk(id) { "" } else { " · not on the trunk" };
    let origin = message
        .origin
        .as_ref()
        .map(|origin| format!(" · {}", one_line(&origin.model, 60)))
        .unwrap_or_default();
    let head = if id == reading.tree().head() { paint(GREEN.bold(), " ← head") } else { String::new() };
    let mut shown = format!(
        "{} {}{}{head}\n",
        paint(BOLD, &id.to_string()),
        paint(role_style(message), speaker(message)),
        paint(DIM, &format!("{origin} · {}{beside}", ago(node.at(), now()))),
    );
    for (style, line) in links.lines(id, node, reading) {
        shown.push_str(&format!("  {}\n", paint(style, &format!("↳ {line}"))));
    }
    if message.content.is_empty() {
        shown.push_str(&paint(DIM, "  (empty)\n"));
    }
    for block in &message.content {
        shown.push_str(&shown_block(reading, id, block, limit));
        if let Content::ToolCall(_) = block
            && let Some(standing) = standings.next()
        {
            shown.push_str(&shown_standing(&standing, limit));
        }
    }
    if let Some(stop) = &message.stop {
        let word = serde_json::to_value(stop).ok().and_then(|word| word.as_str().map(str::to_owned));
        if !matches!(word.as_deref(), Some("end_turn" | "tool_use")) {
            let word = word.unwrap_or_else(|| format!("{stop:?}"));
            shown.push_str(&paint(YELLOW, &format!("  (stopped: {})\n", one_line(&word, 60))));
        }
    }
    shown.push('\n');
    shown
}

fn shown_block(reading: &Reading, id: NodeId, block: &Content, limit: usize) -> String {
    match block {
        Content::Text { text } if id == NodeId::ROOT => indented(text, DIM, limit),
        Content::Text { text } => indented(text, style::PLAIN, usize::MAX),
        Content::Thinking { text, .. } => indented(text, DIM, limit),
        Content::RedactedThinking { .. } => paint(DIM, "  (encrypted reasoning)\n"),
        Content::Image(media) => paint(DIM, &format!("  ({})\n", shown_media("image", media))),
        Content::Document(media) => paint(DIM, &format!("  ({})\n", shown_media("document", media))),
        Content::ToolCall(call) => {
            let arguments = if limit == usize::MAX {
                one_line(&call.arguments, usize::MAX)
            } else {
                main_argument(&call.arguments, 120)
            };
            let arguments = if arguments.is_empty() { arguments } else { format!(" {arguments}") };
            let tool = named(&call.name, &label_in(reading, &call.name));
            format!("  {} {tool}{arguments}\n", paint(CYAN, "→"))
        }
        Content::ToolResult(result) => {
            let call = reading.call_of(id, &result.call_id);
            let tool = call.map(|call| named(&call.name, &label_in(reading, &call.name)));
            let mark = if result.is_error { paint(RED, "✗") } else { paint(GREEN, "✓") };
            format!("  {mark} {}\n{}", tool.as_deref().unwrap_or("a result"), shown_result(result, limit))
        }
        Content::ServerCall { .. } => paint(DIM, "  (a tool that the provider runs was asked for)\n"),
        Content::ServerResult { .. } => paint(DIM, "  (the answer of a tool that the provider runs)\n"),
        // What the service said beside the words or the call before it: it says nothing by itself.
        Content::Opaque { json, .. } if json.starts_with("{\"beside") => String::new(),
        Content::Opaque { wire, .. } => {
            paint(DIM, &format!("  (a block of the {} wire)\n", one_line(wire, 40)))
        }
    }
}

/// Tells how far a call has come that no result follows, with its result if it has ended.
fn shown_standing(standing: &Standing<'_>, limit: usize) -> String {
    let (style, told) = standing::told(standing);
    let told = format!("    {}\n", paint(style, told));
    match standing {
        Standing::Ended { result, .. } => told + &shown_result(result, limit),
        _ => told,
    }
}

fn shown_result(result: &ToolResult, limit: usize) -> String {
    let mut shown = String::new();
    for part in &result.content {
        shown.push_str(&match part {
            Part::Text { text } => indented(text, DIM, limit),
            Part::Image(media) => paint(DIM, &format!("  ({})\n", shown_media("image", media))),
            Part::Document(media) => paint(DIM, &format!("  ({})\n", shown_media("document", media))),
            Part::Opaque { wire, .. } => {
                paint(DIM, &format!("  (a part of the {} wire)\n", one_line(wire, 40)))
            }
        });
    }
    shown
}

fn indented(text: &str, style: Style, limit: usize) -> String {
    let (lines, more) = first_lines(text, limit);
    let mut shown = String::new();
    for line in lines {
        shown.push_str(&format!("  {}\n", paint(style, &safe(line))));
    }
    if more > 0 {
        shown.push_str(&paint(DIM, &format!("  … {more} more lines; --full shows them\n")));
    }
    shown
}

fn shown_media(word: &str, media: &Media) -> String {
    let from = match &media.source {
        MediaSource::Base64(data) => format!("{} bytes", data.len() / 4 * 3),
        MediaSource::Url(url) => one_line(url, 100),
    };
    format!("{word}, {}, {from}", one_line(&media.media_type, 40))
}

/// The requests to revert that were read and refused.
fn refused_json(reading: &Reading) -> Vec<&revert::Record> {
    reading.reverts().iter().filter(|record| !record.applied).collect()
}

fn as_json(reading: &Reading, ids: &[NodeId]) -> Value {
    let marks = Marks::of(reading);
    let nodes = ids.iter().filter_map(|id| {
        let node = reading.tree().node(*id).ok()?;
        let mut shown = json!({
            "id": id,
            "parent": node.parent(),
            "at": node.at(),
            "on_trunk": reading.tree().is_on_trunk(*id),
            "message": node.message(),
        });
        add_link(&mut shown, node.link());
        add_standings(&mut shown, reading, &marks, *id);
        add_pruned(&mut shown, reading, *id);
        Some(shown)
    });
    json!({
        "version": 1,
        "session": session::as_json(&reading.info),
        "head": reading.tree().head(),
        "nodes": nodes.collect::<Vec<_>>(),
        "notes": reading.notes(),
        "refused_reverts": refused_json(reading),
        "unread_reverts": reading.view().going_back().unread,
        "verdicts": verdicts_json(reading),
    })
}
