//! The scripted model of the demo.
//!
//! It keeps nothing in memory: where it stands follows from the conversation that it is sent, so a process that was
//! killed and one that took over play the same part. It copes with the truth that a resume tells: a command whose
//! outcome nobody knows is looked at again, an edit that went stale is proposed anew.

use serde_json::json;
use trunkline_message_tree::{Content, Messages, Part, Role};
use trunkline_providers::{Request, Turn};

use crate::desk::playback::project::{SOURCE, TEST};

/// The instructions of a demo's session; a session that has them is a demo.
pub(crate) const INSTRUCTIONS: &str = "\
You play the model in the demo of trunkline. Everything but you is real: the files, the commands, the log.";

/// The task of the demo.
pub(crate) const PROMPT: &str = "sh test.sh fails. Make it pass.";

const FIRST: &str = "  printf '%s' \"$1\" | tr -d '[:punct:]' | tr 'A-Z ' 'a-z-'";
const SECOND: &str = "  printf '%s' \"$1\" | tr 'A-Z' 'a-z' | tr -cs 'a-z0-9' '-' | sed 's/-$//'";
const LESSON: &str = "deleting the punctuation leaves two spaces and so two dashes (rust--c); \
slug.sh still has that edit: turn every run of other characters into one dash instead";

/// A call with its answer.
struct Answered<'a> {
    name: &'a str,
    arguments: &'a str,
    text: String,
    is_error: bool,
}

/// Returns what the model says next.
pub(crate) fn answer(request: &Request) -> Turn {
    let lesson = request
        .messages
        .iter()
        .rposition(|message| message.role == Role::User && message.text().contains("[revert-lesson]"));
    let since = request.messages.range(lesson.unwrap_or(0)..);
    let calls = answered(since.clone());
    // A revert that was refused, because words of a person stand in the way: then the other way is taken from here.
    let refused = calls.iter().rposition(|call| call.name == "revert_to_state" && call.is_error);
    let calls = &calls[refused.map_or(0, |at| at + 1)..];
    // Ids only have to differ within the history that is sent.
    let id = |position: usize| format!("call_{}_{position}", request.messages.len());
    let tried = lesson.is_some() || refused.is_some();

    let read =
        |call: &Answered<'_>| call.name == "read_file" && call.arguments.contains(SOURCE) && !call.is_error;
    let Some(at) = calls.iter().rposition(read) else { return look(tried, id) };
    // Whoever reads the file again begins anew: what came before it no longer fits.
    let (source, done) = (&calls[at].text, &calls[at + 1..]);
    let edited = done.iter().rev().find(|call| call.name == "edit_file");
    match edited {
        None => return edit(source, tried, id(0)),
        // After a person went back, the file may be as it is wanted already: then there is nothing to decide.
        Some(call) if call.text.contains("nothing staged") => {}
        Some(call) if call.is_error => return Turn::say("That edit does not fit the file, so I stop here."),
        Some(call) => {
            let Some(proposal) = staged_as(&call.text) else { return look(true, id) };
            match done.iter().rfind(|call| call.name == "resolve") {
                None => {
                    let reason = if tried {
                        "one dash for every run of other characters"
                    } else {
                        "a slug has no punctuation"
                    };
                    let arguments = json!({ "action": "apply", "id": proposal, "reason": reason });
                    return Turn::new().call(id(0), "resolve", &arguments);
                }
                Some(refused) if refused.is_error => return look(true, id),
                Some(_) => {}
            }
        }
    }
    let run = done.iter().rfind(|call| call.name == "run_command" && call.text.contains("exit code"));
    let broken = done.iter().rfind(|call| call.name == "run_command");
    if broken.is_some_and(|call| call.text.contains("cannot be started")) {
        return Turn::say("The test cannot be started here, so I stop.");
    }
    match run {
        None => {
            Turn::say("Now the test.").call(id(0), "run_command", &json!({ "command": format!("sh {TEST}") }))
        }
        Some(run) if run.text.contains("exit code 0") => Turn::say(
            "All three checks pass. The slug now turns every run of characters that are neither letters nor digits into \
             one dash and drops a dash at the end. My first way, deleting the punctuation, left double dashes; it is on \
             the branch that I left.",
        ),
        Some(_) if !tried => {
            Turn::say("Two dashes in a row: this way does not lead there. I go back and take another.").call(
                id(0),
                "revert_to_state",
                &json!({ "category": "failure", "step": last_mark(since), "summary": LESSON }),
            )
        }
        Some(_) => Turn::say("The test still fails, and I have no further idea."),
    }
}

fn look(tried: bool, id: impl Fn(usize) -> String) -> Turn {
    let source = json!({ "path": SOURCE });
    if tried {
        return Turn::say("From here by the other way. First the file as it is now.").call(
            id(0),
            "read_file",
            &source,
        );
    }
    Turn::say("I see it fail, and look at the project.")
        .call(id(0), "run_command", &json!({ "command": format!("sh {TEST}") }))
        .call(id(1), "list_files", &json!({}))
        .call(id(2), "read_file", &source)
        .call(id(3), "read_file", &json!({ "path": TEST }))
}

/// Proposes to replace the line of the pipeline, whatever it is by now.
fn edit(source: &str, tried: bool, id: String) -> Turn {
    let old = source.lines().find_map(|line| line.find("printf '%s' \"$1\"").map(|at| &line[at..]));
    let Some(old) = old else {
        return Turn::say(format!("{SOURCE} does not look as I know it; I stop here."));
    };
    let new = if tried { SECOND } else { FIRST };
    let words = if tried {
        "Every run of other characters becomes one dash."
    } else {
        "Punctuation does not belong in a slug, so it is deleted."
    };
    let arguments = json!({ "path": SOURCE, "old_text": old, "new_text": new.trim_start() });
    Turn::say(words).call(id, "edit_file", &arguments)
}

/// Pairs calls with their results, in order.
fn answered(messages: Messages<'_>) -> Vec<Answered<'_>> {
    let mut found = Vec::new();
    for (at, message) in messages.clone().enumerate() {
        if message.role != Role::Assistant {
            continue;
        }
        let results = messages.clone().skip(at + 1).take_while(|message| message.role != Role::Assistant);
        let results: Vec<_> = results.flat_map(|message| message.results()).collect();
        for call in message.calls() {
            if let Some(result) = results.iter().find(|result| result.call_id == call.id) {
                found.push(Answered {
                    name: &call.name,
                    arguments: &call.arguments,
                    text: result.text(),
                    is_error: result.is_error,
                });
            }
        }
    }
    found
}

/// Returns the id in `Staged as p3`.
fn staged_as(text: &str) -> Option<String> {
    let (_, after) = text.split_once("Staged as ")?;
    let id: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    Some(id)
}

/// Returns the newest mark that stands before the first proposal: the last node worth keeping.
fn last_mark(messages: Messages<'_>) -> String {
    let edited = messages.clone().position(|message| message.calls().any(|call| call.name == "edit_file"));
    let kept: Vec<_> = messages.take(edited.unwrap_or(usize::MAX)).collect();
    let marks =
        kept.iter().rev().flat_map(|message| message.content.iter()).filter_map(|block| match block {
            Content::ToolResult(result) => match result.content.first() {
                Some(Part::Text { text }) => Some(text.as_str()),
                _ => None,
            },
            Content::Text { text } => Some(text.as_str()),
            _ => None,
        });
    let mut marks = marks.filter(|text| text.starts_with("[n") && text.ends_with(']'));
    marks.next().unwrap_or("n1").to_owned()
}
