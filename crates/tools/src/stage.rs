//! Staging: how the new files of a call become one proposal.

use std::collections::BTreeSet;

use trunkline_agent_traits::resolve_queue::{Effect, Fingerprint};
use trunkline_agent_traits::{Proposal, ToolOutput};

use crate::line_ends::MARK;
use crate::payload::{StagedFile, StagedFiles};
use crate::picture::{Picture, Pictured, picture};
use crate::root::Inside;
use crate::{fingerprint, shown};

/// The model knows what it wanted; it needs enough to see that it got that.
const MODEL_DIFF_BYTES: usize = 4_000;

/// A file as a call would leave it.
pub(crate) struct Draft {
    pub(crate) inside: Inside,
    /// `None` if there is none yet.
    pub(crate) old: Option<String>,
    pub(crate) new: String,
    /// What the label calls it.
    pub(crate) verb: &'static str,
    /// How many of its folders are not there yet.
    pub(crate) folders: usize,
}

/// Stages what the drafts change, as one proposal, and says so.
pub(crate) fn stage(tool: &str, drafts: Vec<Draft>) -> Result<ToolOutput, String> {
    let follows =
        |draft: &Draft| draft.old.as_ref().is_some_and(|old| old.starts_with(MARK) || old.contains("\r\n"));
    let kept = drafts.iter().any(follows);
    let named: BTreeSet<String> = drafts.iter().map(|draft| shown::name(draft.inside.as_str())).collect();
    let changed: Vec<Draft> =
        drafts.into_iter().filter(|draft| draft.old.as_deref() != Some(draft.new.as_str())).collect();
    if changed.is_empty() {
        let named: Vec<String> = named.into_iter().collect();
        let verb = if named.len() == 1 { "already has" } else { "already have" };
        // Somebody may have meant to change just these.
        let kept = if kept { "; line ends and byte-order marks stay as they are" } else { "" };
        let named = named.join(", ");
        return Ok(ToolOutput::text(format!("nothing staged: {named} {verb} this content{kept}")));
    }
    let pictured: Vec<Pictured<'_>> = changed
        .iter()
        .map(|draft| Pictured {
            path: draft.inside.as_str(),
            old: draft.old.as_deref(),
            new: Some(&draft.new),
            verb: draft.verb,
        })
        .collect();
    let picture = picture("edit", &pictured);

    let (mut before, mut after, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for draft in changed {
        let path = draft.inside.as_str();
        let before_digest = draft.old.as_deref().map(|old| fingerprint::digest(old.as_bytes()));
        before.push(match &before_digest {
            Some(digest) => Fingerprint::digest(path, digest),
            None => Fingerprint::absent(path),
        });
        after.push(Fingerprint::digest(path, fingerprint::digest(draft.new.as_bytes())));
        files.push(StagedFile {
            before_digest,
            content: Some(draft.new),
            folders: draft.folders,
            ..StagedFile::at(path.to_owned())
        });
    }
    // Each file was computed from itself alone.
    let divisible = files.len() > 1;
    propose(tool, &picture, (before, after), files, divisible)
}

/// Makes a proposal of files that are staged, and says so. `states` is how they are, and how they will be.
pub(crate) fn propose(
    tool: &str,
    picture: &Picture,
    states: (Vec<Fingerprint>, Vec<Fingerprint>),
    files: Vec<StagedFile>,
    divisible: bool,
) -> Result<ToolOutput, String> {
    let payload = serde_json::to_value(StagedFiles { files }).map_err(|error| error.to_string())?;
    let mut proposal = Proposal::new(&picture.label, tool, payload);
    proposal.preview = picture.preview();
    (proposal.fingerprints, proposal.after) = states;
    proposal.effect = Effect::Reversible;
    proposal.divisible = divisible;

    let told = shown::cut_lines(&picture.diff, MODEL_DIFF_BYTES);
    let label = &picture.label;
    let mut output =
        ToolOutput::text(format!("Staged: {label}. This is a proposal; nothing is written yet.\n{told}"));
    output.proposals = vec![proposal];
    Ok(output)
}

/// Refuses what would be too large to read again.
pub(crate) fn admit_size(bytes: usize) -> Result<(), String> {
    let limit = crate::root::MAX_FILE_BYTES;
    if u64::try_from(bytes).unwrap_or(u64::MAX) > limit {
        return Err(format!("the file would have {bytes} bytes; the limit is {limit}"));
    }
    Ok(())
}
