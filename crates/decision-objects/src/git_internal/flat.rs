//! git-internal's decision, field by field in its order.
//!
//! Holds what that form can hold, our rules or not; only spellings are made even, as its own writer makes them.

use uuid::Uuid;

use crate::invalid::excerpt;
use crate::json::{Fault, Fields, Object, ParseError, Raw, read};
use crate::{Decision, Digest, GitOid, Invalid, NonBlank, Timestamp, Verdict, VerdictKind};

/// What fills a SHA-1 name up to the length of a SHA-256 one.
pub(super) const SHA1_PADDING: &str = "000000000000000000000000";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Flat {
    pub(super) object_id: Uuid,
    pub(super) object_type: String,
    pub(super) version: u8,
    /// Even in spelling if it is a time of ours; as it came if it is out of our range.
    pub(super) created_at: String,
    pub(super) created_by: Creator,
    pub(super) run_id: Uuid,
    pub(super) decision_type: String,
    pub(super) chosen_patchset_id: Option<Uuid>,
    pub(super) result_commit_sha: Option<Digest>,
    pub(super) checkpoint_id: Option<String>,
    pub(super) rationale: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Creator {
    pub(super) kind: String,
    pub(super) id: String,
    pub(super) display_name: Option<String>,
}

impl Flat {
    pub(super) fn print(&self) -> String {
        let created_by = Object::new()
            .text("kind", &self.created_by.kind)
            .text("id", &self.created_by.id)
            .maybe_text("display_name", self.created_by.display_name.as_deref());
        Object::new()
            .show("object_id", &self.object_id)
            .text("object_type", &self.object_type)
            .show_bare("version", self.version)
            .text("created_at", &self.created_at)
            .object("created_by", created_by)
            .show("run_id", &self.run_id)
            .text("decision_type", &self.decision_type)
            .maybe_show("chosen_patchset_id", self.chosen_patchset_id.as_ref())
            .maybe_show("result_commit_sha", self.result_commit_sha.as_ref())
            .maybe_text("checkpoint_id", self.checkpoint_id.as_deref())
            .maybe_text("rationale", self.rationale.as_deref())
            .finish()
    }

    pub(super) fn parse(json: &[u8]) -> Result<Self, ParseError> {
        let mut fields = Fields::open(read::document(json)?)?;
        let flat = Self {
            object_id: fields.required("object_id", uuid)?,
            object_type: fields.required("object_type", read::text)?,
            version: fields.required("version", |raw| read::number(raw, "a whole number from 0 to 255"))?,
            created_at: fields.required("created_at", time)?,
            created_by: fields.required("created_by", creator)?,
            run_id: fields.required("run_id", uuid)?,
            decision_type: fields.required("decision_type", decision_type)?,
            chosen_patchset_id: fields.nullable("chosen_patchset_id", uuid)?,
            result_commit_sha: fields.nullable("result_commit_sha", hash)?,
            checkpoint_id: fields.nullable("checkpoint_id", read::text)?,
            rationale: fields.nullable("rationale", read::text)?,
        };
        fields.close()?;
        Ok(flat)
    }

    pub(super) fn of(decision: &Decision) -> Self {
        let by = decision.decided_by();
        let verdict = decision.verdict();
        let decision_type = match verdict {
            Verdict::Other { label, .. } => label.as_str(),
            named => named.kind().as_str(),
        };
        let why: Vec<&str> =
            verdict.reason().into_iter().chain(decision.rationale()).map(NonBlank::as_str).collect();
        Self {
            object_id: decision.id().uuid(),
            object_type: String::from("decision"),
            version: 1,
            created_at: decision.at().to_string(),
            created_by: Creator {
                kind: String::from(by.kind.as_str()),
                id: by.id.to_string(),
                display_name: by.display_name.clone(),
            },
            run_id: decision.run().uuid(),
            decision_type: String::from(decision_type),
            chosen_patchset_id: verdict.patch_set().map(crate::PatchSetId::uuid),
            result_commit_sha: match verdict {
                Verdict::Commit { commit, .. } => Some(padded(*commit)),
                _ => None,
            },
            checkpoint_id: match verdict {
                Verdict::Checkpoint { checkpoint } => Some(checkpoint.to_string()),
                _ => None,
            },
            rationale: (!why.is_empty()).then(|| why.join("\n\n")),
        }
    }
}

fn padded(commit: GitOid) -> Digest {
    let mut bytes = [0; 32];
    match commit {
        GitOid::Sha1(name) => bytes.iter_mut().zip(name).for_each(|(byte, given)| *byte = given),
        GitOid::Sha256(name) => bytes = name,
    }
    Digest::from_bytes(bytes)
}

fn uuid(raw: Raw<'_>) -> Result<Uuid, ParseError> {
    let text = read::text(raw)?;
    Uuid::parse_str(&text).map_err(|_| Invalid::Uuid { text: excerpt(&text) }.into())
}

fn hash(raw: Raw<'_>) -> Result<Digest, ParseError> {
    Ok(read::text(raw)?.parse()?)
}

fn time(raw: Raw<'_>) -> Result<String, ParseError> {
    let text = read::text(raw)?;
    match text.parse::<Timestamp>() {
        Ok(time) => Ok(time.to_string()),
        Err(Invalid::TimestampRange { .. }) => Ok(text),
        Err(invalid) => Err(invalid.into()),
    }
}

fn creator(raw: Raw<'_>) -> Result<Creator, ParseError> {
    let mut fields = Fields::open(raw)?;
    let creator = Creator {
        kind: fields.required("kind", read::text)?,
        id: fields.required("id", read::text)?,
        display_name: fields.nullable("display_name", read::text)?,
    };
    fields.close()?;
    Ok(creator)
}

/// A word, or (its reader takes that too) an object such as `{"commit":null}`.
fn decision_type(raw: Raw<'_>) -> Result<String, ParseError> {
    if read::expect_type(raw, "an object").is_err() {
        return read::text(raw);
    }
    let mut fields = Fields::open(raw)?;
    let mut meant = None;
    for kind in [
        VerdictKind::Commit,
        VerdictKind::Checkpoint,
        VerdictKind::Abandon,
        VerdictKind::Retry,
        VerdictKind::Rollback,
    ] {
        let null = |raw| read::expect_type(raw, "null");
        if meant.is_none() && fields.optional(kind.as_str(), null)?.is_some() {
            meant = Some(String::from(kind.as_str()));
        }
    }
    fields.close()?;
    meant.ok_or_else(|| Fault::WrongType { expected: "a string", found: "an object" }.into())
}
