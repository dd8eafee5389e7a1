//! Decision objects of another system: a session of their own that holds each in the bytes in which it came.
//!
//! They are taken in all or none, since a part of them would tell another story. The session is named by what is in it, so
//! the same file is not taken in twice.

use std::io::{Cursor, Read};
use std::path::Path;

use serde_json::{Map, Value};
use trunkline_message_tree::{Message, MessageTree};
use trunkline_runtime::decision_objects::ObjectKind;
use trunkline_runtime::taken_in;

use crate::commands::decisions::objects::{is_git_internal, read};
use crate::commands::import::whole::{self, Made};
use crate::desk::clock::now;
use crate::desk::place::Place;
use crate::term::fault::{Exit, Fault};
use crate::term::out::Acts;
use crate::term::tell::{tell, tell_command};
use crate::term::text::{count, one_line};

/// What a file of objects may have at most: all of it is held, to be taken in at once.
const MOST: u64 = 256 * 1024 * 1024;

/// Whether a line is an object of the decision family, in our form or in git-internal's, and no line of an exported session.
pub(super) fn is_object(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let line = line.trim_start_matches('\u{feff}');
    let fields: Map<String, Value> = serde_json::from_str(line).unwrap_or_default();
    let is_kind = |word: &Value| word.as_str().is_some_and(|word| word.parse::<ObjectKind>().is_ok());
    is_git_internal(line) || fields.get("type").is_some_and(is_kind)
}

/// Takes in what begins with this line.
pub(super) async fn take_in(
    first: Vec<u8>,
    rest: impl Read,
    file: &Path,
    place: &Place,
) -> Result<Exit, Fault> {
    let text = whole(Cursor::new(first).chain(rest))?;
    let lines = checked(&text)?;
    let (id, at) = (whole::named_by(lines.join("\n").as_bytes()), now());
    let title = match file.file_name().filter(|_| file.as_os_str() != "-") {
        Some(file) => format!("decision objects from {}", one_line(&file.to_string_lossy(), 80)),
        None => "decision objects".to_owned(),
    };
    let root = MessageTree::new(Message::system(""), at);
    let records = lines.iter().map(|line| taken_in(*line, at));
    let store = place.open().await?;
    let mut told = Acts::default();
    match whole::make(store.as_ref(), &id, title, at, &root, records).await? {
        Made::New => {
            tell(&format!("{} taken in, as a session of their own\n", count(lines.len(), "object")));
            told.print(&format!("{id}\n"));
        }
        Made::There => tell("the same objects are there already\n"),
    }
    tell_command("how they stand  ", &place.command(&format!("decisions --status -s {id}")));
    tell_command("what is wrong   ", &place.command(&format!("decisions --check -s {id}")));
    told.end().map(|()| Exit::Done)
}

fn whole(source: impl Read) -> Result<String, Fault> {
    let mut bytes = Vec::new();
    source
        .take(MOST + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Fault::new(format!("cannot read the objects: {error}")))?;
    if bytes.len() as u64 > MOST {
        let most = MOST / 1024 / 1024;
        return Err(Fault::usage(format!("there are more than {most} MiB of objects"))
            .hint("take them in by parts, each a family of its own"));
    }
    String::from_utf8(bytes).map_err(|error| Fault::new(format!("the objects are not UTF-8: {error}")))
}

/// Returns the lines that are not empty, if each can be read as an object.
fn checked(text: &str) -> Result<Vec<&str>, Fault> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        read(line).map_err(|error| {
            Fault::new(format!("line {number} is no decision object: {}", one_line(&error.to_string(), 200)))
                .line("nothing was taken in")
                .hint("`trunkline decisions --check FILE` names everything that is wrong")
        })?;
        lines.push(line);
    }
    Ok(lines)
}
