//! Whether what was read keeps our rules.
//!
//! The judge never stops at the first violation: whoever repairs a record wants to see all of them at once.

use uuid::Uuid;

use super::Violation;
use super::flat::{Flat, Record, Value};
use super::schema::Presence;
use super::time::Time;
use crate::{Actor, ActorKind, Digest, GitOid, Header, Invalid, JsonText, Label, NonBlank, Timestamp};

/// Collects violations while it turns values into ours.
#[derive(Debug, Default)]
pub(super) struct Judge {
    pub(super) violations: Vec<Violation>,
    /// What comes before the names of fields: `steps[2].`.
    within: String,
}

impl Judge {
    pub(super) fn header<Id>(&mut self, flat: &Flat<'_>, id: New<Id>) -> Option<Header<Id>> {
        let header = flat.header();
        let id = header.uuid("object_id").and_then(|uuid| self.field("object_id", id(uuid)));
        match header.get("object_type") {
            Value::Word(found) if *found != flat.kind.as_str() => {
                self.violations.push(Violation::ObjectType { found, kind: flat.kind });
            }
            _ => {}
        }
        match header.unsigned("version") {
            Some(found) if found != 1 => self.violations.push(Violation::Version { found }),
            _ => {}
        }
        let at = self.time(header, "created_at");
        let by = header.record("created_by").and_then(|by| self.actor(by, "created_by"));
        Some(Header { id: id?, at: at?, by: by? })
    }

    /// What breaks our rules wherever it stands.
    pub(super) fn traps(&mut self, record: Record<'_, '_>) {
        for (field, value) in record.entries() {
            let key = field.key;
            match (value, field.presence) {
                (Value::NotANumber, _) => {
                    self.violations.push(Violation::NotANumber { field: String::from(key) });
                }
                (Value::Json(json), Presence::Optional) if json == "null" => {
                    self.violations.push(Violation::NullValue { field: format!("{}{key}", self.within) });
                }
                (Value::OpenRecord(_, more), _) => self.violations.extend(more.iter().map(|(name, _)| {
                    Violation::Unreadable { field: format!("{key}.{}", name.escape_debug()) }
                })),
                (Value::List(_), _) => {
                    let _ = self.each_record(record, key, |judge, item| {
                        judge.traps(item);
                        Some(())
                    });
                }
                _ => {}
            }
        }
    }

    pub(super) fn actor(&mut self, actor: Record<'_, '_>, field: &str) -> Option<Actor> {
        let word = actor.text("kind").unwrap_or_default();
        let kind = match ActorKind::of_word(word) {
            Some(kind) => Some(kind),
            None => self.at(|| format!("{field}.kind"), Label::new(word)).map(ActorKind::Other),
        };
        let id = NonBlank::new(actor.text("id").unwrap_or_default());
        let id = self.at(|| format!("{field}.id"), id);
        Some(Actor { kind: kind?, id: id?, display_name: actor.text("display_name").map(String::from) })
    }

    fn time(&mut self, record: Record<'_, '_>, field: &str) -> Option<Timestamp> {
        let Value::Time(time) = record.get(field) else { return None };
        match time {
            Time::Ours(time) => Some(*time),
            Time::Far(text) => self.field(field, Err(Invalid::TimestampRange { text: text.clone() })),
            Time::Leap(found) => {
                let (field, found) = (String::from(field), found.clone());
                self.violations.push(Violation::LeapSecond { field, found });
                None
            }
        }
    }

    /// A name of a commit, taken for a SHA-1 one if it looks filled up; `None` if it names nothing.
    pub(super) fn commit(&mut self, field: &str, hash: Digest) -> Option<GitOid> {
        let commit = self.filled_up(field, hash);
        self.field(field, commit.checked())
    }

    fn filled_up(&mut self, field: &str, hash: Digest) -> GitOid {
        let (name, padding) = hash.as_bytes().split_at(20);
        if hash.as_bytes().iter().all(|byte| *byte == 0) {
            return GitOid::Sha256(*hash.as_bytes());
        }
        match <[u8; 20]>::try_from(name) {
            Ok(name) if padding.iter().all(|byte| *byte == 0) => {
                let commit = GitOid::Sha1(name);
                self.violations.push(Violation::PaddedSha1 { field: String::from(field), commit });
                commit
            }
            _ => GitOid::Sha256(*hash.as_bytes()),
        }
    }

    /// A required name.
    pub(super) fn id<Id>(&mut self, record: Record<'_, '_>, key: &str, new: New<Id>) -> Option<Id> {
        self.field(key, new(record.uuid(key)?))
    }

    /// A name that may be absent; `None` if it is there and wrong.
    pub(super) fn maybe_id<Id>(
        &mut self,
        record: Record<'_, '_>,
        key: &str,
        new: New<Id>,
    ) -> Option<Option<Id>> {
        match record.uuid(key) {
            Some(uuid) => self.field(key, new(uuid)).map(Some),
            None => Some(None),
        }
    }

    pub(super) fn ids<Id>(&mut self, record: Record<'_, '_>, key: &str, new: New<Id>) -> Option<Vec<Id>> {
        self.each(record.list(key), key, |value| match value {
            Value::Uuid(uuid) => new(*uuid),
            _ => Err(Invalid::NilId),
        })
    }

    /// A text that must say something.
    pub(super) fn words(&mut self, record: Record<'_, '_>, key: &str) -> Option<NonBlank> {
        self.field(key, NonBlank::new(record.text(key).unwrap_or_default()))
    }

    /// One that may be absent; `None` if it is there and blank.
    pub(super) fn maybe_words(&mut self, record: Record<'_, '_>, key: &str) -> Option<Option<NonBlank>> {
        match record.text(key) {
            Some(text) => self.field(key, NonBlank::new(text)).map(Some),
            None => Some(None),
        }
    }

    pub(super) fn list_of_words(&mut self, record: Record<'_, '_>, key: &str) -> Option<Vec<NonBlank>> {
        self.each(record.list(key), key, |value| match value {
            Value::Text(text) => NonBlank::new(text.as_ref()),
            _ => Err(Invalid::Blank),
        })
    }

    /// JSON that may be absent; `None` if it is there and ours cannot hold it.
    pub(super) fn maybe_json(&mut self, record: Record<'_, '_>, key: &str) -> Option<Option<JsonText>> {
        match record.text(key) {
            Some(json) => self.field(key, JsonText::new(json)).map(Some),
            None => Some(None),
        }
    }

    /// All items, if all are good; each that is not is listed.
    pub(super) fn each<T>(
        &mut self,
        items: &[Value<'_>],
        key: &str,
        read: impl Fn(&Value<'_>) -> Result<T, Invalid>,
    ) -> Option<Vec<T>> {
        let read: Vec<Option<T>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.at(|| format!("{key}[{index}]"), read(item)))
            .collect();
        read.into_iter().collect()
    }

    /// The same for records, whose fields are named with the place of their record.
    pub(super) fn each_record<T>(
        &mut self,
        record: Record<'_, '_>,
        key: &str,
        read: impl Fn(&mut Self, Record<'_, '_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let around = self.within.clone();
        let mut all = Vec::new();
        for (index, item) in record.records(key).into_iter().enumerate() {
            self.within = format!("{around}{key}[{index}].");
            all.push(read(self, item));
        }
        self.within = around;
        all.into_iter().collect()
    }

    /// Notes what our form has no place for, if it is there.
    pub(super) fn dropped(&mut self, field: &str, there: bool) {
        if there {
            let field = format!("{}{field}", self.within);
            self.violations.push(Violation::Dropped { field });
        }
    }

    /// Notes what our form cannot say.
    pub(super) fn unfit<T>(&mut self, field: &str, why: &'static str) -> Option<T> {
        let field = format!("{}{field}", self.within);
        self.violations.push(Violation::Unfit { field, why });
        None
    }

    pub(super) fn field<T>(&mut self, field: &str, value: Result<T, Invalid>) -> Option<T> {
        self.at(|| String::from(field), value)
    }

    pub(super) fn at<T>(&mut self, field: impl FnOnce() -> String, value: Result<T, Invalid>) -> Option<T> {
        match value {
            Ok(value) => Some(value),
            Err(why) => {
                let field = format!("{}{}", self.within, field());
                self.violations.push(Violation::Field { field, why });
                None
            }
        }
    }
}

/// How a name is made of a UUID.
type New<Id> = fn(Uuid) -> Result<Id, Invalid>;
