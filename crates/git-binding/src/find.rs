//! The decisions behind a commit, also after it was rewritten.

use std::collections::BTreeMap;
use std::fmt;

use trunkline_decision_objects::{DecisionId, GitOid, RunId};

use crate::commit::{DECISION_TRAILER, RUN_TRAILER};
use crate::error::excerpt;
use crate::{BindError, BoundDecision, Repository};

/// By what a decision was found; what is surer comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum By {
    /// The decision names this commit.
    Commit,
    /// The message has the trailer `Trunkline-Decision: <id>` or `Trunkline-Run: <id>`. A message is a claim: anybody can
    /// write it.
    Trailer,
    /// The commit makes the change that was decided, perhaps elsewhere: after a rebase or a cherry-pick.
    PatchId,
    /// The commit has the files that were decided: after an amend of the message, or a squash that ends there.
    Tree,
    /// The message names the commit, the decision or the run in passing, as `git merge --squash` writes it. A claim, too.
    /// What the message of `git revert` says that it takes back is not meant.
    Mention,
}

/// In a few words, to follow "found by".
impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commit => "its id",
            Self::Trailer => "the trailer in its message",
            Self::PatchId => "the change that it makes",
            Self::Tree => "its files",
            Self::Mention => "its message, which names it in passing",
        })
    }
}

/// A decision that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Its run.
    pub run: RunId,
    /// The decision.
    pub decision: DecisionId,
    /// By what; the surest there is.
    pub by: By,
}

/// A commit, and what the trailers of its message name: claims, since anybody can write one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NamedCommit {
    /// The commit.
    pub commit: GitOid,
    /// What stands after `Trunkline-Decision:` and `Trunkline-Run:`, as it is written.
    pub trailers: Vec<String>,
}

impl Repository {
    /// Returns which commit somebody means, and what it says of itself, whether or not anything is bound.
    ///
    /// # Errors
    ///
    /// [`BindError::NoSuchRevision`], [`BindError::Git`].
    pub fn named_commit(&self, revision: &str) -> Result<NamedCommit, BindError> {
        let message = self.commit_of(revision)?;
        let trailers = message.names.iter().filter(|(id, by)| **by == By::Trailer && !id.is_empty());
        Ok(NamedCommit { commit: message.oid, trailers: trailers.map(|(id, _)| id.clone()).collect() })
    }

    /// Finds the decisions behind a commit, the surest first, each once.
    ///
    /// `revision` is anything that git takes for a commit. All decisions of the repository are looked through. Starts at
    /// most eight processes. A squash of several commits is found by the trailers or the ids in its message, and its last
    /// one by its files if nothing else changed; a squash whose message says nothing and that was moved elsewhere, and a
    /// change that was edited while it was rebased, are not found.
    ///
    /// # Errors
    ///
    /// [`BindError::NoSuchRevision`], [`BindError::Git`].
    pub fn find(&self, revision: &str) -> Result<Vec<Found>, BindError> {
        let commit = self.commit_of(revision)?;
        let decisions = self.all()?.decisions;
        if decisions.is_empty() {
            return Ok(Vec::new());
        }
        let patch = self.patch(commit.oid)?;
        let mut found: Vec<Found> = decisions
            .iter()
            .filter_map(|bound| {
                let link = &bound.link;
                let by = if link.commit == Some(commit.oid) {
                    By::Commit
                } else if commit.named(bound) == Some(By::Trailer) {
                    By::Trailer
                } else if link.patch_id.is_some() && link.patch_id == patch.patch_id {
                    By::PatchId
                } else if link.tree == Some(patch.tree) {
                    By::Tree
                } else {
                    commit.named(bound)?
                };
                Some(Found { run: bound.decision.run(), decision: bound.decision.id(), by })
            })
            .collect();
        found.sort_by_key(|found| found.by);
        Ok(found)
    }

    fn commit_of(&self, revision: &str) -> Result<Message, BindError> {
        let none = || BindError::NoSuchRevision { revision: excerpt(revision.as_bytes()) };
        if revision.is_empty() || revision.contains(['\n', '\0']) {
            return Err(none());
        }
        let named = self.known(&[revision.to_owned()])?.pop().flatten().ok_or_else(none)?;
        let known = match named.kind.as_str() {
            "commit" => named,
            // A tag. Put to the name itself, the question would become part of a `:/text`.
            _ => self.known(&[format!("{}^{{commit}}", named.oid)])?.pop().flatten().ok_or_else(none)?,
        };
        let object = self.contents(&[known.oid.to_string()])?.pop().flatten().ok_or_else(none)?;
        Ok(Message::read(object.oid, &object.content))
    }
}

/// What a commit's message names.
struct Message {
    oid: GitOid,
    /// Ids of decisions, runs and commits, as they are written.
    names: BTreeMap<String, By>,
}

impl Message {
    fn read(oid: GitOid, commit: &[u8]) -> Self {
        let text = String::from_utf8_lossy(commit);
        let message = text.split_once("\n\n").map_or("", |(_, message)| message);
        let mut names = BTreeMap::new();
        for line in message.lines() {
            let trailers = [DECISION_TRAILER, RUN_TRAILER];
            let trailer = trailers.iter().find_map(|name| line.strip_prefix(name)?.strip_prefix(':'));
            match trailer {
                Some(id) => {
                    names.insert(id.trim().to_owned(), By::Trailer);
                }
                // A commit that takes another back does the opposite of what was decided there.
                None if takes_back(line.trim_start()) => {}
                // Ids have 36, 40 or 64 characters; what is shorter could be anything.
                None => {
                    for word in line.split(|sign: char| !sign.is_ascii_alphanumeric() && sign != '-') {
                        if word.len() >= 36 {
                            names.entry(word.to_owned()).or_insert(By::Mention);
                        }
                    }
                }
            }
        }
        Self { oid, names }
    }

    fn named(&self, bound: &BoundDecision) -> Option<By> {
        let ids = [bound.decision.id().to_string(), bound.decision.run().to_string()];
        let commit = bound.link.commit.and_then(|commit| self.names.get(&commit.to_string()));
        let own = ids.iter().filter_map(|id| self.names.get(id));
        own.copied().chain(commit.map(|_| By::Mention)).min()
    }
}

/// Whether a line is one in which `git revert` names a commit; of a merge it names two, in two lines.
fn takes_back(line: &str) -> bool {
    line.starts_with("This reverts commit ") || line.starts_with("changes made to ")
}
