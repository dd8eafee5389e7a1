//! The first lines of a session file.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use trunkline_message_tree::Timestamp;

use super::read::KEPT;
use super::words::one_line;
use crate::conversation::Heading;
use crate::json::{Fields, object, quote};
use crate::time;

/// Writes what is said of a session as a whole, from what the old file said of it; `ended` is when the last message was
/// written.
pub(super) fn header(heading: &Heading, labels: &[&str], ended: Option<Timestamp>) -> String {
    let labels: Vec<Fields<'_>> = labels.iter().filter_map(|text| Fields::parse(text).ok()).collect();
    let base = labels.iter().rfind(|fields| fields.has("sessionId") || fields.has("messages"));
    let updated = time::print(ended.unwrap_or(heading.started).max(heading.started));
    let mut edits = vec![
        ("sessionId", Some(quote(&heading.id))),
        ("projectHash", Some(quote(&project(&heading.cwd)))),
        ("startTime", Some(quote(&time::print(heading.started)))),
        ("lastUpdated", Some(quote(&updated))),
        ("kind", Some(quote("main"))),
        ("messages", None),
    ];
    if let Some(base) = base {
        edits.retain(|(name, _)| {
            !matches!(*name, "projectHash" | "startTime")
                || base.text(name).is_none_or(|text| text.is_empty())
        });
    }
    let updates = labels.iter().filter_map(|fields| fields.object("$set"));
    let updates: Vec<Vec<(&str, Option<String>)>> = updates
        .map(|update| {
            let held = |name: &&'static str| update.get(name).map(|value| (*name, Some(one(value.get()))));
            KEPT.iter().filter_map(held).collect()
        })
        .collect();
    let said = labels.iter().rev().find_map(|fields| {
        let update = fields.object("$set");
        update
            .and_then(|update| update.text("summary").map(|text| text.into_owned()))
            .or_else(|| fields.text("summary").map(|text| text.into_owned()))
    });
    if !heading.title.is_empty() && said.as_ref() != Some(&heading.title) {
        edits.push(("summary", Some(quote(&heading.title))));
    }
    let mut out = match base {
        Some(base) => one(&base.rewrite(&edits)),
        None => object(&edits),
    };
    out.push('\n');
    for update in updates.iter().filter(|update| !update.is_empty()) {
        out.push_str(&object(&[("$set", Some(object(update)))]));
        out.push('\n');
    }
    out
}

fn one(json: &str) -> String {
    one_line(json).into_owned()
}

/// Returns what the client calls a folder: the SHA-256 of its path (its source of 2026-08, read 2026-11).
fn project(folder: &str) -> String {
    Sha256::digest(folder.as_bytes()).iter().fold(String::with_capacity(64), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}
