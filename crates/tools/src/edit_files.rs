//! `edit_files`: edits of several files, staged as one proposal.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use trunkline_agent_traits::message_tree::ToolSpec;
use trunkline_agent_traits::{Cancel, EffectClass, Effects, ToolOutput};

use crate::payload::MAX_FILES;
use crate::replacement::Replacement;
use crate::root::{Inside, MAX_FILE_BYTES, PathError, Root};
use crate::stage::{Draft, admit_size, stage};
use crate::staging_tool::Editor;
use crate::{call, line_ends, shown};

const NAME: &str = "edit_files";
/// More is not read by whoever approves it.
const MAX_EDITS: usize = 100;
/// So many mistakes are told at once.
const TOLD_MISTAKES: usize = 10;

pub(crate) struct EditFiles;

#[derive(Deserialize)]
struct Arguments {
    edits: Vec<Edit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    path: String,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    replace_all: bool,
    content: Option<String>,
}

/// What an edit does.
enum Act<'e> {
    Replace(Replacement<'e>),
    Write(&'e str),
}

/// A file while edits are made to it.
struct Work {
    inside: Inside,
    /// Device and number, of a file with one name only: two spellings of it are found by that.
    identity: Option<(u64, u64)>,
    old: Option<String>,
    new: Option<String>,
    /// How many of its folders are not there yet.
    folders: usize,
    /// An edit of it was refused, so nothing can be said of those that follow.
    broken: bool,
}

impl Editor for EditFiles {
    fn spec() -> ToolSpec {
        let edit = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "the file, relative to the workspace"},
                "old_text": {"type": "string", "description": "the exact text to replace, without line numbers"},
                "new_text": {"type": "string", "description": "the text to put in its place"},
                "replace_all": {"type": "boolean", "description": "replace every occurrence"},
                "content": {"type": "string", "description": "the whole new file, instead of old_text and new_text"},
            },
            "required": ["path"],
            "additionalProperties": false,
        });
        call::spec(
            NAME,
            "Proposes edits of several text files as one change that is written as a whole or not at all. Each edit \
             either replaces `old_text` by `new_text` as edit_file does, or writes a whole file with `content`. Edits of \
             the same file are made in their order. At most 100 edits of 64 files, and 10 MB. Nothing is written until \
             the proposal is approved.",
            json!({ "edits": {"type": "array", "items": edit, "description": "the edits, in order"} }),
            &["edits"],
        )
    }

    fn effects(arguments: &Map<String, Value>) -> Effects {
        let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten().take(MAX_EDITS);
        let mut seen: Vec<&str> = Vec::new();
        edits.fold(Effects::new(EffectClass::Reversible), |effects, edit| {
            let Some(edit) = edit.as_object() else { return effects };
            match call::text(edit, "path") {
                Some(path) if !seen.contains(&path) => {
                    seen.push(path);
                    let effects = if edit.contains_key("content") { effects } else { effects.reading(path) };
                    effects.writing(path)
                }
                _ => effects,
            }
        })
    }

    fn stage(root: &Root, arguments: Map<String, Value>, _: &Cancel) -> Result<ToolOutput, String> {
        let Arguments { edits } = call::arguments(arguments)?;
        match edits.len() {
            0 => return Err("there are no edits".to_owned()),
            count if count > MAX_EDITS => {
                return Err(format!(
                    "there are {count} edits; the limit is {MAX_EDITS}, so propose them in parts"
                ));
            }
            _ => {}
        }
        let mut works: Vec<Work> = Vec::new();
        let mut mistakes = Vec::new();
        for (number, edit) in (1_usize..).zip(&edits) {
            if let Err(why) = one(root, &mut works, edit) {
                mistakes.push(format!("edit {number} ({}): {why}", shown::line(&edit.path, 200)));
            }
        }
        if mistakes.is_empty() {
            let drafts = works.into_iter().filter_map(Work::draft).collect();
            return stage(NAME, drafts);
        }
        let more = mistakes.len().saturating_sub(TOLD_MISTAKES);
        mistakes.truncate(TOLD_MISTAKES);
        if more > 0 {
            mistakes.push(format!("and {more} more"));
        }
        Err(format!("nothing is staged, because of:\n{}", mistakes.join("\n")))
    }
}

/// Makes one edit.
fn one(root: &Root, works: &mut Vec<Work>, edit: &Edit) -> Result<(), String> {
    let inside = root.place(&edit.path)?;
    let at = match works.iter().position(|work| work.inside == inside) {
        Some(at) => at,
        None => {
            let work = open(root, works, inside)?;
            works.push(work);
            works.len() - 1
        }
    };
    let others: usize =
        works.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, work)| work.size()).sum();
    let Some(work) = works.get_mut(at) else { return Ok(()) };
    if work.broken {
        return Err("not tried, because an edit of the same file before it was refused".to_owned());
    }
    let made = edit.act().and_then(|act| work.make(&act, &edit.path, others));
    work.broken = made.is_err();
    made
}

/// Reads a file that no edit has named so far.
fn open(root: &Root, works: &[Work], inside: Inside) -> Result<Work, String> {
    let path = inside.as_str();
    if works.len() == MAX_FILES {
        return Err(format!("it is one file too many; the limit is {MAX_FILES}"));
    }
    let below = |one: &str, other: &str| one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'));
    let in_the_way = |work: &&Work| below(work.inside.as_str(), path) || below(path, work.inside.as_str());
    if let Some(work) = works.iter().find(in_the_way) {
        let other = shown::name(work.inside.as_str());
        return Err(format!("it and {other} cannot both be files: one would be the folder of the other"));
    }
    let identity = root.identity(&inside);
    if let Some(same) = works.iter().find(|work| identity.is_some() && work.identity == identity) {
        let other = shown::name(same.inside.as_str());
        return Err(format!("it is the same file as {other} under another name; use that one"));
    }
    let old = root.read_text(&inside)?;
    let kept: usize = works.iter().filter_map(|work| work.old.as_ref()).map(String::len).sum();
    admit_all(kept.saturating_add(old.as_ref().map_or(0, String::len)), "have")?;
    let folders = root.missing_folders(&inside);
    Ok(Work { inside, folders, identity, new: old.clone(), old, broken: false })
}

/// Refuses what would be too much for one proposal: its old files are kept for an undo, the new ones are in it.
pub(crate) fn admit_all(bytes: usize, verb: &str) -> Result<(), String> {
    if u64::try_from(bytes).unwrap_or(u64::MAX) > MAX_FILE_BYTES {
        return Err(format!(
            "with it, the files {verb} {bytes} bytes together; the limit is {MAX_FILE_BYTES}, so propose them in parts"
        ));
    }
    Ok(())
}

impl Edit {
    fn act(&self) -> Result<Act<'_>, String> {
        match (&self.old_text, &self.new_text, &self.content) {
            (Some(old_text), Some(_), None) if old_text.is_empty() => {
                Err("old_text is empty; give content to write a whole file".to_owned())
            }
            (Some(old_text), Some(new_text), None) => {
                Ok(Act::Replace(Replacement { old_text, new_text, replace_all: self.replace_all }))
            }
            (None, None, Some(content)) => Ok(Act::Write(content)),
            (_, _, Some(_)) => Err("give either content, or old_text and new_text, not both".to_owned()),
            (_, _, None) => Err("give old_text and new_text, or content".to_owned()),
        }
    }
}

impl Work {
    fn size(&self) -> usize {
        self.new.as_ref().map_or(0, String::len)
    }

    fn make(&mut self, act: &Act<'_>, path: &str, others: usize) -> Result<(), String> {
        let new = match act {
            Act::Write(content) => {
                admit_size(content.len())?;
                line_ends::following(self.old.as_deref(), content)
            }
            Act::Replace(replacement) => {
                let missing = || PathError::Missing { path: path.to_owned() };
                let text = self.new.as_ref().ok_or_else(missing)?;
                replacement.apply(text, &shown::name(self.inside.as_str()))?
            }
        };
        admit_all(others.saturating_add(new.len()), "would have")?;
        self.new = Some(new);
        Ok(())
    }

    fn draft(self) -> Option<Draft> {
        let verb = if self.old.is_some() { "edit" } else { "create" };
        Some(Draft { inside: self.inside, old: self.old, new: self.new?, verb, folders: self.folders })
    }
}
