//! Finding sessions by what was said in them, by their titles and by their tags.
//!
//! There is no index: a log is read page by page and left at once where nothing more can be learned from it. So it works
//! the same on every store, and costs nothing while nobody searches.

use std::collections::BTreeSet;

use serde_json::Value;
use trunkline_message_tree::{Content, Entry, Message, NodeId, Part};

use crate::reading::Pages;
use crate::{Record, SessionInfo, SessionStore, Spine, StoreError};

/// How much of a text is shown before what was found in it, and after, in characters.
const BEFORE: usize = 40;
const AFTER: usize = 80;

/// Which sessions to find. A session is found if all of it is so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Find {
    /// Each of these occurs somewhere in the session: in its title, in one of its tags, or in what was said. Upper and
    /// lower case are the same, and so are both forms of the small sigma. A word may have spaces in it.
    pub words: Vec<String>,
    /// It has all of these tags, exactly as they are written.
    pub tags: BTreeSet<String>,
    /// Whether only titles and tags are searched for the words, which needs no log to be read.
    pub titles: bool,
    /// Whether it is archived; `None` means that this does not matter.
    pub archived: Option<bool>,
}

/// A session that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// The session.
    pub info: SessionInfo,
    /// The first place where one of those words was said that neither its title nor its tags have; nothing if these have
    /// them all.
    pub hit: Option<Hit>,
}

/// A place where a word was said.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hit {
    /// The record's number.
    pub seq: u64,
    /// The node.
    pub node: NodeId,
    /// The end of what stands before it, on one line; begins with `…` if there is more.
    pub before: String,
    /// The word as it stands there.
    pub found: String,
    /// The beginning of what stands after it, on one line; ends with `…` if there is more.
    pub after: String,
}

/// Returns the sessions that are meant, in the order of [`SessionStore::sessions`].
///
/// What was said are texts, thinking, the arguments of calls and the texts of results, on whatever branch; not the
/// instructions. Arguments are searched as the model wrote them, and the texts in them also as they are meant, with a
/// line end for `\n` and a quote for `\"`. One session that cannot be read ends it: whoever wants to go on without it asks for each with
/// [`Find::look_into`].
///
/// # Errors
///
/// What the store says of the logs that have to be read.
pub async fn find<S: SessionStore + ?Sized>(store: &S, find: &Find) -> Result<Vec<Found>, StoreError> {
    let mut found = Vec::new();
    for info in store.sessions().await? {
        match find.look_into(store, info).await {
            // Deleted meanwhile.
            Err(StoreError::UnknownSession { .. }) => {}
            looked => found.extend(looked?),
        }
    }
    Ok(found)
}

impl Find {
    /// Returns the search for sessions in which all of these words occur.
    pub fn words<W: Into<String>>(words: impl IntoIterator<Item = W>) -> Self {
        Find { words: words.into_iter().map(Into::into).collect(), ..Find::default() }
    }

    /// Returns the session if it is meant.
    ///
    /// # Errors
    ///
    /// What the store says of its log, if that has to be read.
    pub async fn look_into<S: SessionStore + ?Sized>(
        &self,
        store: &S,
        info: SessionInfo,
    ) -> Result<Option<Found>, StoreError> {
        if !self.tags.is_subset(&info.tags) || self.archived.is_some_and(|archived| archived != info.archived)
        {
            return Ok(None);
        }
        let mut left: Vec<String> = self.words.iter().map(|word| folded(word)).collect();
        for title in info.tags.iter().chain([&info.title]) {
            let title = folded(title);
            left.retain(|word| !title.contains(word));
        }
        let mut hit = None;
        if !left.is_empty() && !self.titles {
            let mut pages = Pages::new(0, info.records);
            while let Some(kept) = pages.next(store, &info.id).await? {
                // The instructions are much the same in all sessions.
                let Spine::Node { id, parent: Some(_), .. } = kept.spine else { continue };
                let Record::Entry(Entry::Node { message, .. }) = kept.record(&info.id)? else { continue };
                each_text(&message, |text| {
                    let lower = folded(text);
                    let mut first: Option<(usize, usize)> = None;
                    left.retain(|word| {
                        let Some(at) = lower.find(word.as_str()) else { return true };
                        first = Some(first.map_or((at, word.len()), |first| first.min((at, word.len()))));
                        false
                    });
                    if let (Some((at, length)), None) = (first, &hit) {
                        hit = Some(Hit::at(text, at, length, kept.seq, id));
                    }
                });
                if left.is_empty() {
                    break;
                }
            }
        }
        Ok(left.is_empty().then_some(Found { info, hit }))
    }
}

impl Hit {
    /// Returns the hit at a place of the folded text.
    fn at(text: &str, at: usize, length: usize, seq: u64, node: NodeId) -> Self {
        // Folding can change how long a character is, so the place is counted off.
        let (mut folded, mut start, mut end) = (0, text.len(), text.len());
        for (place, character) in text.char_indices() {
            if folded <= at {
                start = place;
            }
            if folded >= at + length {
                end = place;
                break;
            }
            folded += folded_one(character).map(char::len_utf8).sum::<usize>();
        }
        let (before, rest) = text.split_at(start);
        let (found, after) = rest.split_at(end.saturating_sub(start));
        let before_all: Vec<char> = before.chars().rev().take(BEFORE + 1).collect();
        let after_all: Vec<char> = after.chars().take(AFTER + 1).collect();
        let mut before: String = before_all.iter().take(BEFORE).rev().collect();
        let mut after: String = after_all.iter().take(AFTER).collect();
        if before_all.len() > BEFORE {
            before.insert(0, '…');
        }
        if after_all.len() > AFTER {
            after.push('…');
        }
        Hit { seq, node, before: one_line(&before), found: one_line(found), after: one_line(&after) }
    }
}

/// Gives every text of a message that people would search.
fn each_text(message: &Message, mut look: impl FnMut(&str)) {
    for block in &message.content {
        match block {
            Content::Text { text } | Content::Thinking { text, .. } => look(text),
            Content::ToolCall(call) => {
                look(&call.arguments);
                // Without an escape it says nothing else. What is no JSON was never meant to be read as such.
                if call.arguments.contains('\\')
                    && let Ok(arguments) = serde_json::from_str(&call.arguments)
                {
                    each_string(&arguments, &mut look);
                }
            }
            Content::ToolResult(result) => {
                for part in &result.content {
                    if let Part::Text { text } = part {
                        look(text);
                    }
                }
            }
            // Bytes, and what only a provider can read.
            Content::RedactedThinking { .. }
            | Content::Image(_)
            | Content::Document(_)
            | Content::ServerCall { .. }
            | Content::ServerResult { .. }
            | Content::Opaque { .. } => {}
        }
    }
}

/// Gives every string of some JSON, names of fields included.
fn each_string(json: &Value, look: &mut impl FnMut(&str)) {
    match json {
        Value::String(text) => look(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, look)),
        Value::Object(fields) => {
            for (name, value) in fields {
                look(name);
                each_string(value, look);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Makes upper and lower case the same, character by character.
fn folded(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        false => text.chars().flat_map(folded_one).collect(),
    }
}

fn folded_one(character: char) -> impl Iterator<Item = char> {
    // The one letter whose small form depends on where it stands in a word.
    character.to_lowercase().map(|small| if small == 'ς' { 'σ' } else { small })
}

/// Turns line ends into spaces.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r', '\t'], " ")
}
