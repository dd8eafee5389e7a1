//! One proposal, with all that is known of it.

use std::io::IsTerminal;

use serde_json::Value;
use trunkline_message_tree::Timestamp;
use trunkline_runtime::HookEnded;
use trunkline_runtime::resolve_queue::{Entry, State, SubjectState, Supersession, Verdict};

use crate::args::resolve::Resolve;
use crate::commands::resolve::found::Group;
use crate::commands::resolve::listing::as_json;
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::shown::parts::{is_divisible, numbered, parts};
use crate::shown::proposal::{by_harness, extra_line, preview_within, state_style};
use crate::shown::time::{ago, expiry};
use crate::shown::{close_request, plan};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{DIM, RED, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::one_line;

/// How many files are named that are not as they were.
const NAMED: usize = 8;
/// How many lines of a proposal are shown unless all are asked for, and how much of each at a terminal.
const SHOWN_LINES: usize = 40;
const WIDEST: usize = 400;
/// What stands in place of the move that left a branch, where an import dropped what waited.
const IMPORT: &str = "an import";

/// `trunkline resolve p3`.
pub(super) fn run(args: &Resolve, group: &Group, entry: &Entry<Value>, place: &Place) -> Result<Exit, Fault> {
    if args.json {
        out::print_json(&as_json(group, entry))?;
        return Ok(Exit::Done);
    }
    let (limit, width) = match args.full {
        true => (usize::MAX, usize::MAX),
        false => (SHOWN_LINES, if std::io::stdout().is_terminal() { WIDEST } else { usize::MAX }),
    };
    let (mut shown, missing) = preview_within(entry, limit, width);
    if missing > 0 {
        let all = place.command(&format!("resolve {} -s {} --full", entry.id, group.name));
        shown.push_str(&paint(DIM, &format!("    all of it: {all}\n")));
    }
    if is_divisible(entry) && !entry.state.is_settled() {
        shown.push_str(&format!("files:\n{}", numbered(&parts(entry), "  ")));
    }
    if let Some(edited) = group.reading.view().staged().plans.edited(entry.id) {
        shown.push_str("approved with this text:\n");
        shown.push_str(&plan::shown(&edited.text(), "    "));
    }
    if let Some(words) = group.reading.view().staged().close_requests.edited(entry.id) {
        shown.push_str("approved in these words:\n");
        shown.push_str(&close_request::quoted(words, "    "));
    }
    shown.push_str(&standing(group, entry));
    out::print(&shown)?;
    let (id, name) = (entry.id, &group.name);
    let mut next = Vec::new();
    let by_name = close_request::needs_its_name(entry);
    match entry.state {
        State::Applied if by_name => {}
        State::Proposed if by_name && !group.is_void => {
            next.extend(plan::commands(id, name).into_iter().skip(1).map(|(_, command)| command));
        }
        State::Applied => next.push(format!("resolve {id} undo -s {name}")),
        state if state.is_settled() => {}
        _ if group.is_void => {
            tell(&paint(
                YELLOW,
                "it came with an import and is void: it is dropped when the session goes on\n",
            ));
        }
        State::Superseded => {}
        State::Approved | State::Applying | State::Unknown => {
            let what = match entry.state {
                State::Approved => "carried out",
                _ => "looked up",
            };
            match &group.writer {
                Some(writer) => tell(&format!("{what} by {writer}, which writes the session\n")),
                None => {
                    tell(&format!("it is {what} when the session goes on:\n"));
                    next.push(format!("resume {name}"));
                }
            }
        }
        _ => {
            next.push(format!("resolve {id} apply -s {name}"));
            if is_divisible(entry) {
                next.push(format!("resolve {id} apply -s {name} --only FILE"));
            }
            next.push(format!("resolve {id} discard -s {name} --reason \"…\""));
        }
    }
    for command in next {
        tell(&paint(DIM, &format!("  {}\n", place.command(&command))));
    }
    Ok(Exit::Done)
}

/// Says where a proposal stands and what led there, a line each.
fn standing(group: &Group, entry: &Entry<Value>) -> String {
    let now = now();
    let word = match close_request::needs_its_name(entry) {
        true => plan::word(entry.state),
        false => entry.state.to_string(),
    };
    let mut state = paint(state_style(entry.state), &word);
    if let Some(why) = by_harness(entry) {
        state.push_str(&format!(" ({why})"));
    }
    let mut lines = vec![state];
    if let Some(decision) = &entry.decision {
        let word = match decision.verdict {
            Verdict::Approve => "approved",
            Verdict::Discard => "discarded",
        };
        let by = one_line(&decision.by.to_string(), 60);
        let told =
            format!("{word} by the {by} {}{}", ago(Timestamp(decision.at), now), why(&decision.reason));
        lines.push(paint(DIM, &told));
        if let Some(extra) = &decision.extra {
            lines.push(paint(DIM, &format!("handed to the tool: {}", extra_line(extra))));
        }
    }
    if !entry.left_out.is_empty() {
        let named: Vec<String> = entry.left_out.iter().take(NAMED).map(|one| one_line(one, 80)).collect();
        lines.push(paint(DIM, &format!("left out, and so discarded: {}", named.join(", "))));
    }
    if let Some(trouble) = &entry.trouble {
        lines.push(paint(RED, &one_line(trouble, 200)));
    }
    let changed = group.drift.lines(entry.id);
    // What was seen now says more than what was seen then.
    let recorded = if changed.is_empty() { NAMED } else { 0 };
    lines.extend(changed.iter().map(|line| paint(YELLOW, line)));
    for differing in entry.differing.iter().take(recorded) {
        let found = match &differing.found {
            Some(SubjectState::Absent) => "is gone",
            _ => "is not as it was when this was proposed",
        };
        lines.push(paint(YELLOW, &format!("{} {found}", one_line(&differing.subject, 120))));
    }
    match &entry.superseded {
        Some(Supersession::Replaced { by }) => lines.push(paint(DIM, &format!("{by} takes its place"))),
        Some(Supersession::BranchLeft { by }) if by == IMPORT => {
            lines.push(paint(DIM, "it came with an import, and was dropped"));
        }
        Some(Supersession::BranchLeft { .. }) => {
            lines.push(paint(DIM, "its branch was left; undoing that brings it back"));
        }
        _ => {}
    }
    if entry.state == State::Applying {
        lines.push(paint(
            DIM,
            &match &group.writer {
                Some(writer) => format!("being applied by {writer}"),
                // Whoever began it is gone.
                None => "its apply was cut off".to_owned(),
            },
        ));
    }
    lines.extend(hook(group, entry));
    if let Some(asked) = &entry.unanswered {
        let told =
            format!("asked {}, and left for later{}", ago(Timestamp(asked.at), now), why(&asked.reason));
        lines.push(paint(DIM, &told));
    }
    if let Some(of) = entry.proposal.undo_of {
        lines.push(paint(DIM, &format!("takes back what {of} did")));
    }
    if let Some(end) = entry.proposal.expires_at.filter(|_| !entry.state.is_settled()) {
        lines.push(paint(YELLOW, &expiry(Timestamp(end), now)));
    }
    lines.join("\n") + "\n"
}

/// Says whether the tool has cleaned up behind what was not applied.
fn hook(group: &Group, entry: &Entry<Value>) -> Option<String> {
    entry.end.as_ref()?;
    let hook = group.reading.view().staged().hooks.of(entry.id)?;
    Some(match &hook.ended {
        Some(HookEnded { failed: Some(failed), .. }) => {
            paint(RED, &format!("its tool did not clean up: {}", one_line(failed, 200)))
        }
        Some(HookEnded { words, .. }) => {
            let words = words.as_ref().map(|words| format!(": {}", one_line(words, 200)));
            paint(DIM, &format!("its tool has cleaned up{}", words.unwrap_or_default()))
        }
        None if !group.reading.view().staged().hooks.open().any(|open| open == entry.id) => return None,
        None => paint(YELLOW, "its tool has not cleaned up yet: it is told when the session goes on"),
    })
}

fn why(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", one_line(reason, 200)) }
}
