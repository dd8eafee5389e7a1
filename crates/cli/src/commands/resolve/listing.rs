//! What waits for a decision, session by session.

use serde_json::{Value, json};
use trunkline_message_tree::Timestamp;
use trunkline_runtime::resolve_queue::{Entry, State};
use trunkline_session_store::SessionStore;

use crate::args::resolve::Resolve;
use crate::commands::resolve::found::{Group, Groups, groups};
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::shown::proposal::{by_harness, state_style};
use crate::shown::time::{ago, expiry};
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{BOLD, DIM, YELLOW, paint};
use crate::term::tell::tell;
use crate::term::text::one_line;

/// `trunkline resolve` without a proposal.
pub(super) async fn run(args: &Resolve, store: &dyn SessionStore, place: &Place) -> Result<Exit, Fault> {
    let Groups { groups, unread } =
        groups(store, args.session.as_deref(), args.all, args.cwd.as_deref()).await?;
    for fault in &unread {
        tell(&format!("{} {fault}\n", paint(YELLOW, "cannot be read:")));
    }
    let exit = if unread.is_empty() { Exit::Done } else { Exit::Failure };
    if args.json {
        let listed: Vec<Value> = groups
            .iter()
            .flat_map(|group| group.listed(args.all).map(|entry| as_json(group, entry)))
            .collect();
        let mut printed = json!({ "version": 1, "proposals": listed });
        if let (Some(_), [one], Some(fields)) = (&args.session, groups.as_slice(), printed.as_object_mut()) {
            fields.insert("session".to_owned(), json!(one.reading.info.id));
        }
        out::print_json(&printed)?;
        return Ok(exit);
    }
    let list: Vec<String> = groups
        .iter()
        .filter(|group| group.listed(args.all).next().is_some())
        .map(|one| section(one, args.all))
        .collect();
    out::print(&list.join("\n"))?;
    let waiting: Vec<(&Group, &Entry<Value>)> =
        groups.iter().flat_map(|group| group.listed(false).map(move |entry| (group, entry))).collect();
    for group in groups.iter().filter(|group| group.is_void && group.reading.waiting().next().is_some()) {
        let told = format!("{} came with an import: what waited there is void\n", group.name);
        tell(&paint(YELLOW, &told));
    }
    // Somebody is shown what they can decide, if there is such a thing.
    let decidable = |entry: &Entry<Value>| entry.awaits_decision() || entry.state == State::Stale;
    let Some((group, first)) = waiting.iter().find(|(_, entry)| decidable(entry)).or_else(|| waiting.first())
    else {
        let place = match groups.as_slice() {
            [one] if args.session.is_some() => format!(" in session {}", one.name),
            _ => String::new(),
        };
        tell(&format!("nothing waits for a decision{place}\n"));
        return Ok(exit);
    };
    let (id, name) = (first.id, &group.name);
    let mut next = vec![("look:", format!("resolve {id} -s {name}"))];
    match decidable(first) {
        true => next.push(("decide:", format!("resolve {id} apply -s {name}"))),
        false if group.writer.is_some() => {}
        false => next.push(("go on:", format!("resume {name}"))),
    }
    if waiting.iter().filter(|(_, entry)| entry.awaits_decision()).count() > 1 {
        let within = args.session.as_ref().map(|_| format!(" -s {name}")).unwrap_or_default();
        next.push(("all:", format!("resolve all apply{within}")));
    }
    for (what, command) in next {
        tell(&paint(DIM, &format!("  {what:<8} {}\n", place.command(&command))));
    }
    Ok(exit)
}

/// Returns a session and what is listed of it.
fn section(group: &Group, settled: bool) -> String {
    let info = &group.reading.info;
    let mut section = heading(group);
    if info.archived {
        section.push_str(&paint(DIM, "  archived"));
    }
    section.push('\n');
    for entry in group.listed(settled) {
        section.push_str(&line(group, entry, "  "));
    }
    section
}

/// Names a session on one line: its short name, its title, who writes it.
pub(super) fn heading(group: &Group) -> String {
    let title = match group.reading.info.title.as_str() {
        "" => "(no title)".to_owned(),
        title => one_line(title, 80),
    };
    let writer = group.writer.as_ref().map(|writer| paint(DIM, &format!("  written by {writer}")));
    format!("{}  {title}{}", paint(BOLD, &group.name), writer.unwrap_or_default())
}

/// Returns a proposal on one line.
pub(super) fn line(group: &Group, entry: &Entry<Value>, indent: &str) -> String {
    let now = now();
    let mut line = format!(
        "{indent}{}  {}  {}  {}",
        paint(BOLD, &format!("{:<4}", entry.id.to_string())),
        paint(state_style(entry.state), &format!("{:<10}", entry.state.to_string())),
        one_line(&entry.proposal.label, 100),
        paint(DIM, &ago(Timestamp(entry.staged_at), now)),
    );
    if let Some(why) = by_harness(entry) {
        line.push_str(&paint(DIM, &format!("  ({why})")));
    }
    if group.is_void && !entry.state.is_settled() {
        return line + &paint(YELLOW, "  void: it came with an import") + "\n";
    }
    if let Some(mark) = group.drift.mark(entry.id) {
        line.push_str(&paint(YELLOW, &format!("  {mark}")));
    }
    let waits = !entry.state.is_settled() && entry.state != State::Superseded;
    if let Some(end) = entry.proposal.expires_at.filter(|_| waits) {
        line.push_str(&paint(YELLOW, &format!("  {}", expiry(Timestamp(end), now))));
    }
    line + "\n"
}

/// Returns a proposal for programs.
pub(super) fn as_json(group: &Group, entry: &Entry<Value>) -> Value {
    let mut listed = json!(entry);
    if let Some(fields) = listed.as_object_mut() {
        fields.insert("command".to_owned(), json!(group.reading.is_command(entry.id)));
        fields.insert("session".to_owned(), json!(group.reading.info.id));
        fields.insert("title".to_owned(), json!(group.reading.info.title));
        fields.insert("writer".to_owned(), json!(group.writer));
        fields.insert("changed".to_owned(), json!(group.drift.lines(entry.id)));
        if let (Some(end), Some(hook)) = (&entry.end, group.reading.view().staged().hooks.of(entry.id)) {
            let told = json!({ "end": end.to_string(), "cause": end.cause, "begun": hook.begun, "ended": hook.ended });
            fields.insert("hook".to_owned(), told);
        }
        fields.insert("void".to_owned(), json!(group.is_void && !entry.state.is_settled()));
    }
    listed
}
