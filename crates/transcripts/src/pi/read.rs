//! A session file to its entries.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use trunkline_message_tree::{Role, Timestamp};

use super::ancestors::Ancestors;
use super::edits::{self, Edit, source};
use super::message::{self, Said};
use super::{BRANCH, COMPACTION, known};
use crate::fault::{Fault, FaultKind};
use crate::json::{Fields, Value, range_in};
use crate::lines::{self, Line};
use crate::log::{Entry, Log, News, Part};
use crate::time;

/// Reads a session file, or says that there is none of its records in it.
pub(crate) fn read(text: &str, faults: &mut Vec<Fault>) -> Result<Log, String> {
    let mut reader = Reader { text, ..Reader::default() };
    lines::each(text, faults, is_record, |line, faults| reader.take(line, faults));
    reader.finish(faults)
}

/// Tells whether an object is a record of such a file, and not a part of one.
fn is_record(fields: &Fields<'_>) -> bool {
    match fields.text("type").as_deref() {
        Some("session") => fields.text("id").is_some(),
        Some("message") => fields.object("message").is_some(),
        // Its own time is under another name.
        Some("title") => fields.has("updatedAt"),
        Some(kind) => known::entry(kind).is_some() && fields.has("timestamp"),
        None => false,
    }
}

/// The place of a record among the others.
#[derive(Copy, Clone, Debug, Default)]
struct Place {
    /// The record that it continues.
    parent: Option<usize>,
    /// The nearest message: its own last one, or that of the nearest record above that has one.
    anchor: Option<usize>,
    /// Whether the message is its own.
    is_own: bool,
}

/// What was read so far.
#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    log: Log,
    news: News,
    /// The place of each record.
    places: Vec<Place>,
    /// The records by their ids; of several with one id the nearest above.
    seen: HashMap<Cow<'a, str>, usize>,
    ancestors: Ancestors,
    edits: Vec<Edit<'a>>,
    /// The entry that was written last.
    last: Option<usize>,
    /// The last record that gives a name to the session.
    named: Option<usize>,
    /// The title that stands in front of the header.
    slot: Option<String>,
    has_header: bool,
    is_any: bool,
}

impl<'a> Reader<'a> {
    /// Reads one record.
    fn take(&mut self, line: &Line<'_, 'a>, faults: &mut Vec<Fault>) {
        let record = self.log.record(range_in(self.text, line.raw));
        self.places.push(Place::default());
        self.is_any |= is_record(line.fields);
        let kind = line.fields.text("type").unwrap_or_default();
        match known::entry(&kind) {
            Some(fields) => self.news.fields(line.number, &kind, known::others(line.fields.names()), fields),
            None => self.news.record(line.number, &kind),
        }
        match kind.as_ref() {
            "session" => self.header(record, line.fields),
            "title" => {
                self.slot = line.fields.text("title").map(Cow::into_owned);
                self.log.labels.push(record);
            }
            "" if line.fields.text("id").is_none() => {}
            kind => self.entry(record, kind, line, faults),
        }
    }

    /// Reads the header. A further one, as of a file that was put behind another, says nothing.
    fn header(&mut self, record: usize, fields: &Fields<'a>) {
        if std::mem::replace(&mut self.has_header, true) {
            return;
        }
        let owned = |name: &str| fields.text(name).map(Cow::into_owned).filter(|text| !text.is_empty());
        self.log.labels.push(record);
        self.log.id = owned("id").unwrap_or_default();
        self.log.cwd = owned("cwd");
        self.log.title = self.log.title.take().or_else(|| owned("title"));
        self.log.started = fields.text("timestamp").and_then(|text| time::parse(&text));
        let parent = owned("parentSession").or_else(|| owned("branchedFrom"));
        self.log.parent = parent.map(|path| session_of(&path).to_owned());
    }

    /// Reads a record that has a place among the others.
    fn entry(&mut self, record: usize, kind: &str, line: &Line<'_, 'a>, faults: &mut Vec<Fault>) {
        let mut fault = |kind| faults.push(Fault { line: line.number, kind });
        let id = line.fields.text("id").filter(|id| !id.is_empty());
        if let Some((id, above)) = id.as_ref().and_then(|id| Some((id.to_string(), *self.seen.get(id)?))) {
            let is_same = self.log.records.get(above).and_then(|range| self.text.get(range.clone()));
            if is_same == Some(line.raw) {
                fault(FaultKind::RepeatedRecord { id });
                // The client goes on from what was written last, also if it stands there again.
                self.last = Some(above);
                return;
            }
            fault(FaultKind::RepeatedId { id });
        }
        let parent = match self.parent(line.fields) {
            Ok(parent) => parent,
            Err(id) => {
                fault(FaultKind::MissingParent { id });
                self.last
            }
        };
        let above = parent.and_then(|parent| self.places.get(parent)).and_then(|place| place.anchor);
        let own = self.message(record, kind, line.fields, above).unwrap_or_else(|reason| {
            fault(FaultKind::NotAMessage { reason });
            None
        });
        if kind == "message" {
            self.see_message(line);
        }
        // What was said before the context was cleared is on no way from here.
        let anchor = if kind == "reset_boundary" { None } else { own.or(above) };
        if let Some(place) = self.places.get_mut(record) {
            *place = Place { parent, anchor, is_own: own.is_some() };
        }
        self.seen.extend(id.map(|id| (id, record)));
        self.last = Some(record);
    }

    /// Returns the record that a record continues, or the id of one that is not above it.
    fn parent(&self, fields: &Fields<'a>) -> Result<Option<usize>, String> {
        // Version 1 has no ids: each entry continues the one above it.
        if !fields.has("parentId") {
            return Ok(self.last);
        }
        let Some(value) = fields.get("parentId") else { return Ok(None) };
        let id = value.text().unwrap_or(Cow::Borrowed(value.get()));
        match self.seen.get(&id) {
            Some(record) => Ok(Some(*record)),
            // OpenClaw has the session itself in place of none.
            None if id.is_empty() || id == self.log.id => Ok(None),
            None => Err(id.chars().take(100).collect()),
        }
    }

    /// Notes what is new in a message.
    fn see_message(&mut self, line: &Line<'_, 'a>) {
        let Some(fields) = line.fields.object("message") else { return };
        let Some(role) = fields.text("role") else { return };
        let kind = format!("message/{role}");
        match known::message(&role) {
            Some(known) => self.news.fields(line.number, &kind, known::others(fields.names()), known),
            None => self.news.record(line.number, &kind),
        }
    }

    /// Reads what a record says, and returns the last entry that it became.
    fn message(
        &mut self,
        record: usize,
        kind: &str,
        fields: &Fields<'a>,
        above: Option<usize>,
    ) -> Result<Option<usize>, String> {
        let at = moment(fields);
        let (said, part) = match kind {
            "message" => (Self::of_message(fields)?, Part::Said),
            "custom_message" => (Some(message::injected(fields)?), Part::Said),
            "compaction" => return self.compaction(record, fields, above, at).map(Some),
            // The client sends nothing for an empty one.
            "branch_summary" if fields.text("summary").is_some_and(|summary| summary.is_empty()) => {
                return Ok(None);
            }
            "branch_summary" => {
                let from = fields.text("fromId").and_then(|id| self.seen.get(&id).copied());
                let of = from.and_then(|record| self.places.get(record)).and_then(|place| place.anchor);
                (Some(message::summed(fields, BRANCH)?), Part::BranchSummary { of })
            }
            "context_edit" => {
                self.edit(record, fields)?;
                return Ok(None);
            }
            "session_info" => {
                self.named = Some(record);
                let name = fields.text("name").map(|name| name.trim().to_owned());
                self.log.title = name.filter(|name| !name.is_empty());
                return Ok(None);
            }
            "title_change" => {
                self.log.title = fields.text("title").map(Cow::into_owned).filter(|title| !title.is_empty());
                return Ok(None);
            }
            _ => return Ok(None),
        };
        Ok(said.map(|said| self.push(record, above, at, said, part)))
    }

    /// Reads the message of a record; nothing if it is not sent.
    fn of_message(fields: &Fields<'a>) -> Result<Option<Said<'a>>, String> {
        let raw = fields.get("message").ok_or_else(|| "it has no message".to_owned())?;
        let message = raw.fields().ok_or_else(|| "its message is no object".to_owned())?;
        let role = message.text("role").ok_or_else(|| "it has no role".to_owned())?;
        // Extensions have roles of their own, which are not sent.
        if known::message(&role).is_none() {
            return Ok(None);
        }
        message::said(&role, raw.get(), &message)
    }

    /// Reads the summary of a compaction, and the instructions that its record repeats.
    fn compaction(
        &mut self,
        record: usize,
        fields: &Fields<'a>,
        above: Option<usize>,
        at: Option<Timestamp>,
    ) -> Result<usize, String> {
        let summary = message::summed(fields, COMPACTION)?;
        let instructions = fields
            .get("systemMessage")
            .and_then(|raw| message::said("system", raw.get(), raw.fields()?.as_ref()).unwrap_or_default());
        let Some(above) = above else {
            // It has nothing in place of which it could stand.
            let first = instructions.map(|said| self.push(record, None, at, said, Part::Said));
            let part = if first.is_some() { Part::Said } else { Part::Compaction { kept: None } };
            return Ok(self.push(record, first, at, summary, part));
        };
        let part = Part::Compaction { kept: self.kept(fields, above) };
        let place = self.push(record, Some(above), at, summary, part);
        Ok(instructions.map_or(place, |said| self.push(record, Some(place), at, said, Part::Said)))
    }

    /// Returns the first entry that a compaction keeps; one that keeps nothing names itself.
    fn kept(&self, fields: &Fields<'a>, above: usize) -> Option<usize> {
        let by_id = fields.text("firstKeptEntryId").and_then(|id| self.seen.get(&id).copied());
        // Version 1 counts the entries, the header as one.
        let by_place = || {
            let index = fields.get("firstKeptEntryIndex")?;
            index.get().parse::<usize>().ok().filter(|index| *index < self.places.len())
        };
        let from = by_id.or_else(by_place)?;
        let starts = |at: usize| {
            let entry = self.log.entries.get(at);
            entry.and_then(|entry| entry.source.records.first()).is_some_and(|record| *record >= from)
        };
        let kept = self.ancestors.highest(&self.log, above, starts)?;
        // A record of another branch is none that could be kept.
        let place = self.places.get(from)?;
        let entry = self.log.entries.get(kept)?;
        let is_on_the_way = if place.is_own {
            entry.source.records.first() == Some(&from)
        } else {
            place.anchor == entry.parent
        };
        is_on_the_way.then_some(kept)
    }

    /// Reads an edit of the context.
    fn edit(&mut self, record: usize, fields: &Fields<'a>) -> Result<(), String> {
        let place = fields.text("targetId").and_then(|id| self.places.get(*self.seen.get(&id)?));
        let Some(target) = place.filter(|place| place.is_own).and_then(|place| place.anchor) else {
            return Ok(());
        };
        let is_editable = |entry: &&Entry| entry.part == Part::Said && entry.message.role != Role::System;
        let Some(entry) = self.log.entries.get(target).filter(is_editable) else { return Ok(()) };
        // Without a replacement nothing is sent.
        let said = match fields.get("replacement") {
            None => None,
            Some(with) => {
                let with = with.fields().ok_or_else(|| "its replacement is no object".to_owned())?;
                Some(message::replaced(&entry.message, with.get("content"))?)
            }
        };
        self.edits.push(Edit { record, target, said });
        Ok(())
    }

    /// Adds an entry.
    fn push(
        &mut self,
        record: usize,
        parent: Option<usize>,
        at: Option<Timestamp>,
        said: Said<'a>,
        part: Part,
    ) -> usize {
        let source = source(self.text, record, &said.raws, true);
        self.ancestors.push(parent);
        self.log.push(Entry { parent, at, message: said.message, source, part })
    }

    /// Finds where the session goes on.
    fn finish(mut self, faults: &mut Vec<Fault>) -> Result<Log, String> {
        if !self.is_any {
            return Err("no line is a record of a session of pi".to_owned());
        }
        self.news.report(faults);
        self.log.title = self.slot.filter(|title| !title.is_empty()).or(self.log.title);
        self.log.labels.extend(self.named);
        let places = &self.places;
        self.log.head = self.last.and_then(|last| places.get(last)).and_then(|place| place.anchor);
        if !self.edits.is_empty() {
            let up = std::iter::successors(self.last, |at| places.get(*at).and_then(|place| place.parent));
            let way: HashSet<usize> = up.collect();
            let edits = self.edits.into_iter().filter(|edit| way.contains(&edit.record)).collect();
            edits::apply(&mut self.log, self.text, edits);
        }
        Ok(self.log)
    }
}

/// Returns when a record was written.
fn moment(fields: &Fields<'_>) -> Option<Timestamp> {
    let own = fields.text("timestamp").and_then(|text| time::parse(&text));
    let of_message = || {
        let message = fields.object("message")?;
        message.get("timestamp").map(Value::get).and_then(|number| number.parse().ok()).map(Timestamp)
    };
    own.or_else(of_message)
}

/// Returns the id of a session by the path of its file, which is `TIME_ID.jsonl`; oh-my-pi also has the bare id.
fn session_of(path: &str) -> &str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let Some(name) = name.strip_suffix(".jsonl") else { return path };
    name.split_once('_').map_or(name, |(_, id)| id)
}
