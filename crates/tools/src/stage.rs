//! Staged writes: what `edit_file` and `write_file` propose, and how it is applied.
//!
//! The payload holds the whole new file. What was approved is therefore what is written; nothing is computed again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trunkline_runtime::resolve_queue::{Effect, Fingerprint, Outcome, Preview};
use trunkline_runtime::{Proposal, ToolContext, ToolOutput};

use crate::diff::diff;
use crate::root::{Inside, Root};
use crate::{call, fingerprint, replace, shown};

/// The model knows what it wanted; it needs enough to see that it got that.
const MODEL_DIFF_BYTES: usize = 4_000;
/// A person must be able to see all of it; above this nobody reads it line by line.
const PREVIEW_DIFF_BYTES: usize = 200_000;

/// What a proposal of these tools carries.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StagedWrite {
    path: String,
    /// `None` if there was no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before_digest: Option<String>,
    /// The whole new file.
    content: String,
}

/// Stages a write and says so; `verb` is what the label begins with.
pub(crate) fn stage(
    tool: &str,
    verb: &str,
    inside: &Inside,
    old: Option<&str>,
    new: String,
) -> Result<ToolOutput, String> {
    let path = inside.as_str();
    if old == Some(new.as_str()) {
        return Ok(ToolOutput::text(format!(
            "nothing staged: {} already has this content",
            shown::name(path)
        )));
    }
    let diff = diff(path, old, &new);
    let label = format!("{verb} {} ({})", shown::name(path), diff.size());
    let before_digest = old.map(|old| fingerprint::digest(old.as_bytes()));
    let before = match &before_digest {
        Some(digest) => Fingerprint::digest(path, digest),
        None => Fingerprint::absent(path),
    };
    let after = Fingerprint::digest(path, fingerprint::digest(new.as_bytes()));
    let write = StagedWrite { path: path.to_owned(), before_digest, content: new };
    let payload = serde_json::to_value(write).map_err(|error| error.to_string())?;

    let mut proposal = Proposal::new(&label, tool, payload);
    proposal.preview = Preview {
        text: label.clone(),
        diff: Some(shown::cut_lines(&shown::safe(&diff.text), PREVIEW_DIFF_BYTES)),
    };
    proposal.fingerprints = vec![before];
    proposal.after = vec![after];
    proposal.effect = Effect::Reversible;

    let told = shown::cut_lines(&diff.text, MODEL_DIFF_BYTES);
    let mut output =
        ToolOutput::text(format!("Staged: {label}. This is a proposal; nothing is written yet.\n{told}"));
    output.proposals = vec![proposal];
    Ok(output)
}

/// Looks at the files that proposals name.
pub(crate) async fn observe(root: &Arc<Root>, subjects: &[String]) -> Vec<Fingerprint> {
    let (root, subjects) = (Arc::clone(root), subjects.to_vec());
    let look = move || subjects.iter().map(|subject| fingerprint::observe(&root, subject)).collect();
    // An empty answer counts as "nobody looked", which is stale: the safe side.
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

/// Writes what a proposal holds.
pub(crate) async fn apply(
    root: &Arc<Root>,
    proposal: &Proposal,
    context: &ToolContext,
) -> (Outcome, ToolOutput) {
    let (root, payload, cancel) = (Arc::clone(root), proposal.payload.clone(), context.cancel.clone());
    let written = tokio::task::spawn_blocking(move || {
        if cancel.is_cancelled() {
            return Outcome::Failed { reason: "cancelled before anything was written".to_owned() };
        }
        write(&root, payload)
    });
    let outcome =
        written.await.unwrap_or_else(|error| Outcome::Unknown { reason: format!("the tool broke: {error}") });
    let output = match &outcome {
        Outcome::Applied => ToolOutput::text(format!("Done: {}.", proposal.label)),
        Outcome::Failed { reason } => ToolOutput::error(format!("Not applied: {}: {reason}", proposal.label)),
        Outcome::Unknown { reason } => {
            ToolOutput::error(format!("Perhaps applied: {}: {reason}", proposal.label))
        }
    };
    (outcome, output)
}

fn write(root: &Root, payload: Value) -> Outcome {
    let failed = |reason: String| Outcome::Failed { reason };
    let staged: StagedWrite = match serde_json::from_value(payload) {
        Ok(staged) => staged,
        Err(error) => return failed(format!("the payload is not one of this tool: {error}")),
    };
    let inside = match root.place(&staged.path) {
        Ok(inside) if inside.as_str() == staged.path => inside,
        Ok(inside) => return failed(format!("{} leads to {} now", staged.path, inside.as_str())),
        Err(error) => return failed(error.to_string()),
    };
    replace::replace(root, &inside, staged.before_digest.as_deref(), staged.content.as_bytes())
}

/// Refuses what would be too large to read again.
pub(crate) fn admit_size(bytes: usize) -> Result<(), String> {
    let limit = crate::root::MAX_FILE_BYTES;
    if u64::try_from(bytes).unwrap_or(u64::MAX) > limit {
        return Err(format!("the file would have {bytes} bytes; the limit is {limit}"));
    }
    Ok(())
}

/// Runs the part of a staging tool that reads.
pub(crate) async fn staging(
    root: &Arc<Root>,
    work: impl FnOnce(&Root) -> Result<ToolOutput, String> + Send + 'static,
) -> ToolOutput {
    let root = Arc::clone(root);
    call::blocking(move || work(&root)).await
}
