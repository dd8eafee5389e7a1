//! `trunkline resolve`: what waits for a decision, and the decision.
//!
//! Deciding is done by a drive that has no turns to spend: it carries out what was decided and stops before a model
//! would be asked.

use serde_json::{Value, json};
use trunkline_runtime::letters::Request;
use trunkline_runtime::resolve_queue::{Entry, ProposalId, State, Verdict};
use trunkline_runtime::{Cancel, Said};
use trunkline_session_store::Claim;

use crate::approve::preview;
use crate::args::{Action, Resolve};
use crate::fault::{Exit, Fault};
use crate::interrupt;
use crate::letters::{self, Entrance};
use crate::paint::{self, BOLD, DIM, GREEN, RED, YELLOW, paint, tell};
use crate::place::Place;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::setup::{self, Folder};
use crate::store::{self, ago, now};
use crate::text::one_line;

/// Lists, shows or decides.
pub(crate) async fn run(args: &Resolve, place: &Place) -> Result<Exit, Fault> {
    let store = place.open_existing().await?;
    let info = store::find(store.as_ref(), args.session.as_deref()).await?;
    let reading = Reading::load(store.as_ref(), &info).await?;
    let name = store::short_name(store.as_ref(), &info.id).await;
    let Some(named) = &args.proposal else { return list(args, &reading, &name, place) };
    let entry = find(&reading, named)?;
    let Some(action) = args.action else { return show(args, &reading, entry, &name, place) };

    let resume = place.command(&format!("resume {name}"));
    match entry.state {
        // Only a drive looks at the files.
        State::Stale => {
            return Err(Fault::new(format!(
                "{} came back and has yet to be compared with the files",
                entry.id
            ))
            .hint(format!("that happens when the session goes on: {resume}; then decide")));
        }
        State::Superseded => {
            return Err(Fault::new(format!("{} was put aside and cannot be decided any more", entry.id))
                .hint(format!("the model can propose it again: {resume}")));
        }
        _ => {}
    }
    let (id, was_command) = (entry.id, reading.is_command(entry.id));
    let verdict = match action {
        Action::Apply => Verdict::Approve,
        Action::Discard => Verdict::Discard,
    };
    let request = Request::Verdict {
        proposal: id,
        said: Said::new(verdict, &args.reason),
        seen: Some(entry.put_aside),
    };
    if let Some(holder) = letters::writer(store.as_ref(), &info).await? {
        return letters::leave(store.as_ref(), &info, &holder, &request, args.wait).await;
    }
    let progress = Progress::of_run(false, true);
    let agent = setup::without_model(&Folder::of(&info, None)?)?.on_event(progress.observer()).build()?;
    let mut session = match letters::enter(&agent, &store, &info, Claim::IfFree).await? {
        Entrance::Mine(session) => session,
        // It came in the meantime.
        Entrance::Theirs(holder) => {
            return letters::leave(store.as_ref(), &info, &holder, &request, args.wait).await;
        }
    };
    progress.know(session.tree());
    session.decide(id, verdict, &args.reason).await?;
    let cancel = Cancel::new();
    let watching = interrupt::watch(&cancel);
    let driven = session.resume(&cancel).await;
    watching.abort();
    progress.end_line();
    driven?;

    let Some(entry) = session.proposals().get(id) else { return Err(Fault::new(format!("{id} is gone"))) };
    paint::print(&format!("{id} {}\n", paint(state_style(entry.state), &entry.state.to_string())))?;
    let wanted = match (verdict, was_command) {
        (Verdict::Approve, _) => State::Applied,
        (Verdict::Discard, _) => State::Discarded,
    };
    let waiting = session.proposals().pending().next().map(|entry| entry.id);
    let next = match waiting {
        Some(next) => place.command(&format!("resolve {next} -s {name}")),
        None => place.command(&format!("resume {name}")),
    };
    tell(&paint(DIM, &format!("  go on:  {next}\n")));
    Ok(if entry.state == wanted { Exit::Done } else { Exit::Failure })
}

fn find<'a>(reading: &'a Reading, named: &str) -> Result<&'a Entry<Value>, Fault> {
    let entry = named.parse::<ProposalId>().ok().and_then(|id| reading.proposals().get(id));
    entry.ok_or_else(|| {
        let known: Vec<String> = reading
            .proposals()
            .iter()
            .map(|entry| format!("{} ({}, {})", entry.id, one_line(&entry.proposal.label, 40), entry.state))
            .collect();
        let newest = known.iter().rev().take(8).rev().cloned().collect::<Vec<_>>().join(", ");
        let shown = one_line(named, 40);
        Fault::usage(match known.is_empty() {
            true => format!("there is no proposal {shown:?}: nothing was proposed in this session"),
            false => format!("there is no proposal {shown:?}; there are {newest}"),
        })
    })
}

fn list(args: &Resolve, reading: &Reading, name: &str, place: &Place) -> Result<Exit, Fault> {
    let entries: Vec<&Entry<Value>> =
        reading.proposals().iter().filter(|entry| args.all || !entry.state.is_settled()).collect();
    if args.json {
        let listed: Vec<Value> = entries.iter().map(|entry| as_json(reading, entry)).collect();
        paint::print_json(&json!({ "version": 1, "session": reading.info.id, "proposals": listed }))?;
        return Ok(Exit::Done);
    }
    let now = now();
    let mut list = String::new();
    for entry in &entries {
        list.push_str(&format!(
            "{}  {}  {}  {}\n",
            paint(BOLD, &format!("{:<4}", entry.id.to_string())),
            paint(state_style(entry.state), &format!("{:<10}", entry.state.to_string())),
            one_line(&entry.proposal.label, 100),
            paint(DIM, &ago(trunkline_message_tree::Timestamp(entry.staged_at), now)),
        ));
    }
    paint::print(&list)?;
    match entries.iter().find(|entry| !entry.state.is_settled()) {
        None => tell(&format!("nothing waits for a decision in session {name}\n")),
        Some(first) => {
            let id = first.id;
            tell(&paint(DIM, &format!("  look:    {}\n", place.command(&format!("resolve {id} -s {name}")))));
            tell(&paint(
                DIM,
                &format!("  decide:  {}\n", place.command(&format!("resolve {id} apply -s {name}"))),
            ));
        }
    }
    Ok(Exit::Done)
}

fn show(
    args: &Resolve,
    reading: &Reading,
    entry: &Entry<Value>,
    name: &str,
    place: &Place,
) -> Result<Exit, Fault> {
    if args.json {
        paint::print_json(&as_json(reading, entry))?;
        return Ok(Exit::Done);
    }
    let (mut shown, _) = preview(entry, usize::MAX);
    shown.push_str(&format!("{}\n", paint(state_style(entry.state), &entry.state.to_string())));
    if let Some(decision) = &entry.decision {
        let reason = if decision.reason.is_empty() {
            String::new()
        } else {
            format!(": {}", one_line(&decision.reason, 200))
        };
        shown.push_str(&paint(DIM, &format!("decided by the {}{reason}\n", decision.by)));
    }
    if let Some(trouble) = &entry.trouble {
        shown.push_str(&paint(RED, &format!("{}\n", one_line(trouble, 200))));
    }
    paint::print(&shown)?;
    if !entry.state.is_settled() {
        let id = entry.id;
        tell(&paint(DIM, &format!("  {}\n", place.command(&format!("resolve {id} apply -s {name}")))));
        tell(&paint(
            DIM,
            &format!("  {}\n", place.command(&format!("resolve {id} discard -s {name} --reason \"…\""))),
        ));
    }
    Ok(Exit::Done)
}

fn as_json(reading: &Reading, entry: &Entry<Value>) -> Value {
    let mut listed = json!(entry);
    if let Some(fields) = listed.as_object_mut() {
        fields.insert("command".to_owned(), json!(reading.is_command(entry.id)));
    }
    listed
}

fn state_style(state: State) -> anstyle::Style {
    match state {
        State::Applied => GREEN,
        State::Failed | State::Unknown => RED,
        State::Discarded | State::Superseded => DIM,
        _ => YELLOW,
    }
}
