//! `trunkline export --to`: a session as a file of another program.
//!
//! What goes out is what a model would be sent: the trunk, with summaries in place of what they cover. What the format has no place
//! for is named.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::Path;

use trunkline_message_tree::{Message, Role, TrunkItem};
use trunkline_sanitize::{Account, Repair};
use trunkline_session_store::SessionStore;
use trunkline_transcripts::{Format, Heading, Written, export, export_atif, export_markdown, read};
use uuid::Uuid;

use crate::args::foreign::End;
use crate::args::{self, Target};
use crate::desk::place::Place;
use crate::desk::store;
use crate::files::history::{History, facts, own_wire, rules_for_files};
use crate::files::new_file;
use crate::reading::session::Reading;
use crate::term::fault::{Exit, Fault};
use crate::term::out;
use crate::term::style::{YELLOW, paint};
use crate::term::tell::{tell, tell_command};
use crate::term::text::{count, one_line};

/// Writes one session, or one file of another agent, in the form of a target.
pub(super) async fn run(args: &args::Export, target: Target, place: &Place) -> Result<Exit, Fault> {
    let named = match args.sessions.as_slice() {
        [] => None,
        [one] => Some(one.as_str()),
        _ => return Err(Fault::usage("--to writes one session; name one")),
    };
    let path = named.map(Path::new).filter(|path| path.is_file());
    let given = match path {
        Some(path) => of_file(path)?,
        None => {
            let store = place.open_existing().await?;
            of_session(store.as_ref(), named).await?
        }
    };
    let Given { messages, heading } = &given;
    if messages.is_empty() {
        return Err(Fault::new("nothing was said in it, so nothing was written"));
    }
    let (messages, repairs) = legal(target, messages);
    let messages = &messages;
    let written = written(target, messages, heading);
    match &args.output {
        Some(path) => {
            new_file::write(path, &written.bytes)?;
            let shown = one_line(&path.display().to_string(), 300);
            tell(&format!("{} written to {shown}\n", count(messages.len(), "message")));
        }
        None => show(&written.bytes)?,
    }
    tell_losses(&written);
    if !repairs.is_empty() {
        let account = Account::of(&repairs);
        tell(&format!("{} so that it is taken there: {account}\n", paint(YELLOW, "changed")));
    }
    if let (Some(path), Some(resume)) = (&args.output, target.resumes(&heading.id)) {
        let place = target.place(&heading.id).unwrap_or_default();
        tell(&format!(
            "to go on with it there, put {} {place}, and type:\n",
            one_line(&path.display().to_string(), 300)
        ));
        tell_command("  ", &resume);
    }
    Ok(Exit::Done)
}

/// What is written, and what stands above it.
struct Given {
    messages: Vec<Message>,
    heading: Heading,
}

fn of_file(path: &Path) -> Result<Given, Fault> {
    let cannot = |error: String| Fault::new(format!("cannot read {}: {error}", path.display()));
    let bytes = std::fs::read(path).map_err(|error| cannot(error.to_string()))?;
    let transcript = read(&bytes).map_err(|error| cannot(error.to_string()))?;
    let main = transcript.conversation(0).ok_or_else(|| cannot("it holds no conversation".to_owned()))?;
    let heading = Heading {
        id: Uuid::new_v4().to_string(),
        title: main.title.unwrap_or_default(),
        cwd: main.cwd.unwrap_or_default(),
        started: main.started.unwrap_or_default(),
    };
    Ok(Given { messages: main.messages, heading })
}

async fn of_session(store: &dyn SessionStore, named: Option<&str>) -> Result<Given, Fault> {
    let info = store::find(store, named).await?;
    let reading = Reading::load(store, &info).await?;
    let items = reading.tree().trunk().items().map(TrunkItem::message);
    let says = |message: &&Message| message.role != Role::System || !message.text().trim().is_empty();
    let messages = items.filter(says).cloned().collect();
    let heading = Heading {
        id: Uuid::new_v4().to_string(),
        title: info.title.clone(),
        cwd: info.workspace.clone().unwrap_or_default(),
        started: info.created_at,
    };
    Ok(Given { messages, heading })
}

/// Makes messages such as the wire of a target takes, with the next prompt in mind. People and trainers get them as they are.
fn legal(target: Target, messages: &[Message]) -> (Vec<Message>, Vec<Repair>) {
    let format = target.format();
    let rules = format.and_then(|format| rules_for_files(own_wire(format, messages)));
    let (Some(format), Some(rules)) = (format, rules) else { return (messages.to_vec(), Vec::new()) };
    let facts = facts(own_wire(format, messages), &rules);
    let mended = History::new(messages, format, &rules, &facts, End::History).mended_as_sent();
    (mended.messages, mended.repairs)
}

fn written(target: Target, messages: &[Message], heading: &Heading) -> Written {
    match target {
        Target::Atif => export_atif(messages, heading),
        Target::Markdown => export_markdown(messages, heading),
        other => export(messages, other.format().unwrap_or(Format::Anthropic), heading),
    }
}

fn show(bytes: &[u8]) -> Result<(), Fault> {
    if std::io::stdout().is_terminal() {
        return out::print_foreign(bytes);
    }
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(Fault::stdout)
}

/// Names what found no place, each kind once.
fn tell_losses(written: &Written) {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for loss in &written.losses {
        *kinds.entry(loss.what.as_str()).or_default() += 1;
    }
    for (what, times) in kinds {
        let times = if times == 1 { String::new() } else { format!(" ×{times}") };
        tell(&format!("{} {}{times}\n", paint(YELLOW, "has no place there:"), one_line(what, 200)));
    }
}
