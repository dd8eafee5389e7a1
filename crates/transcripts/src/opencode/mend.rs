//! What the client wants to find in a file that it imports, where an older one does not have it.
//!
//! It checks every message and every part against a schema and refuses the whole file for one that does not fit.

use trunkline_message_tree::{StopReason, Timestamp, Usage};

use super::fresh::{Made, span};
use super::session::millis;
use super::word::{UNKNOWN, error_stop, is_sent, model, origin, stop, stop_word, tokens, usage};
use crate::conversation::Heading;
use crate::json::{Fields, Value, object, quote};
use crate::time;

/// The version that new files claim: the one whose schema was read.
const VERSION: &str = "1.18.33";

/// Returns what is said of the session, for another id; nothing if it is not said.
pub(super) fn old_session(label: &str, id: &str, end: Option<Timestamp>) -> Option<String> {
    let old = Fields::parse(label).ok()?;
    let time = old.object("time");
    let created = time.as_ref().and_then(|time| millis(time, "created"));
    let updated = time.as_ref().and_then(|time| millis(time, "updated"));
    let (created, updated) = (created.or(end).unwrap_or_default(), updated.max(end).unwrap_or_default());
    let text = |name: &'static str, other: &str| old.text(name).is_none().then(|| (name, Some(quote(other))));
    let mut edits: Made = vec![
        ("id", Some(quote(id))),
        ("time", Some(times(created, updated.max(created)))),
        // It is a session of its own now, of no workspace, and with nothing undone.
        ("parentID", None),
        ("workspaceID", None),
        ("revert", None),
        ("share", None),
    ];
    edits.extend(
        [text("slug", &slug(id)), text("projectID", "global"), text("directory", "")].into_iter().flatten(),
    );
    edits.extend([text("title", &default_title(created)), text("version", VERSION)].into_iter().flatten());
    Some(old.rewrite(&edits))
}

/// Returns what is said of a new session.
pub(super) fn new_session(heading: &Heading, id: &str, end: Option<Timestamp>) -> String {
    let end = end.unwrap_or_default().max(heading.started);
    let default = default_title(heading.started);
    let title = if heading.title.is_empty() { &default } else { &heading.title };
    object(&[
        ("id", Some(quote(id))),
        ("slug", Some(quote(&slug(id)))),
        ("projectID", Some(quote("global"))),
        ("directory", Some(quote(&heading.cwd))),
        ("title", Some(quote(title))),
        ("version", Some(quote(VERSION))),
        ("time", Some(times(heading.started, end))),
    ])
}

fn times(created: Timestamp, updated: Timestamp) -> String {
    object(&[("created", Some(created.0.to_string())), ("updated", Some(updated.0.to_string()))])
}

/// Returns a title that the client replaces after the first prompt.
fn default_title(at: Timestamp) -> String {
    format!("New session - {}", time::print(at))
}

/// Returns the name that the client gives a session for files of its own.
fn slug(id: &str) -> String {
    let signs = id.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    signs.to_lowercase()
}

fn is_number(value: &Value<'_>) -> bool {
    value.get().starts_with(|sign: char| sign.is_ascii_digit() || sign == '-')
}

/// Returns what is missing of what is said of a prompt.
pub(super) fn fit_prompt(info: Option<&Fields<'_>>, agent: &str, provider: &str, name: &str) -> Made {
    let has = |field: &str| info.is_some_and(|info| info.text(field).is_some());
    let asked = info.and_then(|info| info.object("model"));
    let is_asked =
        asked.is_some_and(|asked| asked.text("providerID").is_some() && asked.text("modelID").is_some());
    let summary = info.filter(|info| info.has("summary"));
    let fits =
        summary.is_none_or(|info| info.object("summary").is_some_and(|said| said.items("diffs").is_some()));
    let mut edits = Made::new();
    edits.extend((!has("agent")).then(|| ("agent", Some(quote(agent)))));
    edits.extend((!is_asked).then(|| ("model", Some(model(provider, name)))));
    edits.extend((!fits).then_some(("summary", None)));
    edits
}

/// Returns what is missing of what is said of an answer.
pub(super) fn fit_answer(info: Option<&Fields<'_>>, agent: &str, cwd: &str) -> Made {
    let has = |field: &str| info.is_some_and(|info| info.text(field).is_some());
    let object_in = |field: &str| info.and_then(|info| info.object(field));
    let path =
        object_in("path").is_some_and(|path| path.text("cwd").is_some() && path.text("root").is_some());
    let counted = |tokens: &Fields<'_>, names: &[&str]| {
        names.iter().all(|name| tokens.get(name).is_some_and(is_number))
    };
    let fits = object_in("tokens").is_some_and(|tokens| {
        counted(&tokens, &["input", "output", "reasoning"])
            && tokens.object("cache").is_some_and(|cache| counted(&cache, &["read", "write"]))
    });
    let flag = info.and_then(|info| info.get("summary")).map(Value::get);
    let is_flag = flag.is_none_or(|flag| matches!(flag, "true" | "false"));
    let mut edits = Made::new();
    if info.and_then(origin).is_none() {
        edits.extend([("modelID", Some(quote(UNKNOWN))), ("providerID", Some(quote(UNKNOWN)))]);
    }
    edits.extend((!has("mode")).then(|| ("mode", Some(quote(agent)))));
    edits.extend((!has("agent")).then(|| ("agent", Some(quote(agent)))));
    let here = || object(&[("cwd", Some(quote(cwd))), ("root", Some(quote(cwd)))]);
    edits.extend((!path).then(|| ("path", Some(here()))));
    edits.extend((!is_flag).then_some(("summary", None)));
    let cost = info.and_then(|info| info.get("cost")).is_some_and(is_number);
    edits.extend((!cost).then(|| ("cost", Some("0".to_owned()))));
    edits.extend((!fits).then(|| ("tokens", Some(tokens(known_usage(info))))));
    edits
}

fn known_usage(info: Option<&Fields<'_>>) -> Usage {
    info.and_then(|info| info.object("tokens")).map(|tokens| usage(&tokens)).unwrap_or_default()
}

/// Returns what is missing of a part.
pub(super) fn fit_part(kind: &str, part: &Fields<'_>, at: Timestamp) -> Made {
    let time = part.object("time");
    let starts = |time: &Fields<'_>| time.get("start").is_some_and(is_number);
    match kind {
        "reasoning" if !time.as_deref().is_some_and(starts) => vec![("time", Some(span(at)))],
        // A text need not have one.
        "text" if part.has("time") && !time.as_deref().is_some_and(starts) => vec![("time", None)],
        "step-finish" => {
            let fits = part.object("tokens").is_some_and(|tokens| tokens.object("cache").is_some());
            let cost = part.get("cost").is_some_and(is_number);
            let count = part.object("tokens").map(|tokens| usage(&tokens)).unwrap_or_default();
            let mut edits = Made::new();
            edits.extend((!fits).then(|| ("tokens", Some(tokens(count)))));
            edits.extend((!cost).then(|| ("cost", Some("0".to_owned()))));
            edits
        }
        "tool" => part.object("state").and_then(|state| fit_state(&state, at)).into_iter().collect(),
        _ => Made::new(),
    }
}

/// Returns what became of a call with what is missing of it.
fn fit_state(state: &Fields<'_>, at: Timestamp) -> Option<(&'static str, Option<String>)> {
    let status = state.text("status")?;
    let mut edits = Made::new();
    let time = state.object("time");
    let number = |name: &str| time.as_ref().and_then(|time| Some(millis(time, name)?.0));
    let start = number("start").unwrap_or(at.0);
    let end = number("end").unwrap_or(start);
    let is_timed = number("start").is_some() && number("end").is_some();
    let spanned = object(&[("start", Some(start.to_string())), ("end", Some(end.to_string()))]);
    match status.as_ref() {
        "pending" => edits.extend(state.text("raw").is_none().then(|| ("raw", Some(quote(""))))),
        "running" => edits.extend(number("start").is_none().then_some(("time", Some(spanned)))),
        "error" => edits.extend((!is_timed).then_some(("time", Some(spanned)))),
        other => {
            edits.extend((other != "completed").then(|| ("status", Some(quote("completed")))));
            let output = state.get("output").map_or("", Value::get);
            edits.extend(state.text("output").is_none().then(|| ("output", Some(quote(output)))));
            edits.extend(state.text("title").is_none().then(|| ("title", Some(quote("")))));
            edits.extend(state.object("metadata").is_none().then(|| ("metadata", Some("{}".to_owned()))));
            edits.extend((!is_timed).then_some(("time", Some(spanned))));
        }
    }
    edits.extend(state.object("input").is_none().then(|| ("input", Some("{}".to_owned()))));
    (!edits.is_empty()).then(|| ("state", Some(state.rewrite(&edits))))
}

/// Returns what is to be said differently of an answer that was copied, so that it ends as its last request did:
/// others of its requests may have been left out, and one that ended in an error goes on now.
pub(super) fn settle<'k>(
    info: &Fields<'_>,
    kinds: impl Iterator<Item = &'k str>,
    end: (Option<StopReason>, Option<Usage>),
    says_end: bool,
) -> Made {
    let (reason, cost) = end;
    let mut edits = Made::new();
    let kinds: Vec<&str> = kinds.collect();
    let error = error_stop(info);
    let is_kept = error.is_none() || is_sent(info, kinds.iter().copied()) && (says_end || error == reason);
    edits.extend((!is_kept).then_some(("error", None)));
    let said = error.filter(|_| is_kept).or_else(|| info.text("finish").and_then(|word| stop(&word)));
    if !says_end && said != reason {
        edits.push(("finish", reason.as_ref().map(|reason| quote(stop_word(reason)))));
    }
    let is_counted = kinds.contains(&"step-finish");
    if !is_counted && cost.is_none() && known_usage(Some(info)) != Usage::default() {
        edits.push(("tokens", Some(tokens(Usage::default()))));
    }
    edits
}
