//! Whether what was read keeps our rules.
//!
//! The judge never stops at the first violation: whoever repairs a record wants to see all of them at once.

use uuid::Uuid;

use super::Violation;
use super::flat::{Flat, Record, Value};
use super::time::Time;
use crate::{Actor, ActorKind, Digest, GitOid, Header, Invalid, Label, NonBlank, Timestamp};

/// Collects violations while it turns values into ours.
#[derive(Debug, Default)]
pub(super) struct Judge {
    pub(super) violations: Vec<Violation>,
}

impl Judge {
    pub(super) fn header<Id>(
        &mut self,
        flat: &Flat<'_>,
        id: impl FnOnce(Uuid) -> Result<Id, Invalid>,
    ) -> Option<Header<Id>> {
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
        for (key, value) in record.entries() {
            match value {
                Value::NotANumber => self.violations.push(Violation::NotANumber { field: String::from(key) }),
                Value::OpenRecord(_, more) => self.violations.extend(more.iter().map(|(name, _)| {
                    Violation::Unreadable { field: format!("{key}.{}", name.escape_debug()) }
                })),
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

    /// A name of a commit, taken for a SHA-1 one if it looks filled up.
    pub(super) fn commit(&mut self, field: &str, hash: Digest) -> GitOid {
        let (name, padding) = hash.as_bytes().split_at(20);
        match <[u8; 20]>::try_from(name) {
            Ok(name) if padding.iter().all(|byte| *byte == 0) => {
                let commit = GitOid::Sha1(name);
                self.violations.push(Violation::PaddedSha1 { field: String::from(field), commit });
                commit
            }
            _ => GitOid::Sha256(*hash.as_bytes()),
        }
    }

    pub(super) fn field<T>(&mut self, field: &str, value: Result<T, Invalid>) -> Option<T> {
        self.at(|| String::from(field), value)
    }

    pub(super) fn at<T>(&mut self, field: impl FnOnce() -> String, value: Result<T, Invalid>) -> Option<T> {
        value.map_err(|why| self.violations.push(Violation::Field { field: field(), why })).ok()
    }
}
