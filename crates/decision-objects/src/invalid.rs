//! Why a value is refused, wherever it came from.
//!
//! Constructors and the strict parser share these reasons, so that what cannot be built cannot be read either.

use crate::{Digest, EvidenceId, PatchSetId, RelativePath, RunId};

/// Why a value was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The nil UUID names nothing.
    #[error("the id is nil (all zeros)")]
    NilId,
    /// The text is no UUID.
    #[error("{text:?} is not a UUID")]
    Uuid {
        /// The beginning of the text.
        text: String,
    },
    /// A text that must say something is empty or white space only.
    #[error("the text is blank")]
    Blank,
    /// An actor was to be made with an id that is empty or white space only.
    #[error("the id of the actor is blank")]
    BlankActor,
    /// The text is not in lower snake case, or is longer than 64 characters.
    #[error("{text:?} is not a label: write lower snake case of at most 64 characters, such as `answered`")]
    Label {
        /// The beginning of the text.
        text: String,
    },
    /// The label could be taken for a word that has a meaning of its own.
    #[error("{text:?} is not a label: it reads like the reserved word `{word}`")]
    ReservedLabel {
        /// The beginning of the refused text.
        text: String,
        /// The word it reads like.
        word: &'static str,
    },
    /// The path does not stay inside the workspace, or names no file.
    #[error("{text:?} is not a path inside the workspace: {why}")]
    Path {
        /// The beginning of the path.
        text: String,
        /// The rule that it breaks.
        why: &'static str,
    },
    /// The text is not the name of a git object.
    #[error("{text:?} is not a git object id: expected 40 or 64 hexadecimal digits")]
    GitOid {
        /// The beginning of the text.
        text: String,
    },
    /// The name of a git object is all zeros, by which git says that there is none.
    #[error("the name of the git object is all zeros, which is git's word for none")]
    NilGitOid,
    /// The text is not a SHA-256.
    #[error("{text:?} is not a sha-256: expected 64 hexadecimal digits")]
    Digest {
        /// The beginning of the text.
        text: String,
    },
    /// The text is not an RFC 3339 time.
    #[error("{text:?} is not an RFC 3339 time such as 2026-11-21T20:49:30.166608121Z")]
    Timestamp {
        /// The beginning of the text.
        text: String,
    },
    /// The time is well written, and before 1970 or after 9999-12-30T22:00:00.999999999Z.
    #[error("{text:?} is outside the times from 1970 to 9999-12-30T22:00:00Z")]
    TimestampRange {
        /// The beginning of the text, or milliseconds since 1970.
        text: String,
    },
    /// The second of a time is 60, and no time here has one: the second before it is another instant.
    #[error("{text:?} is a leap second, which no time here is")]
    LeapSecond {
        /// The beginning of the text.
        text: String,
    },
    /// A run names itself as the run that it retries or continues.
    #[error("run {run} cannot retry or continue itself")]
    FollowsItself {
        /// The run.
        run: RunId,
    },
    /// A decision names itself as the decision that it rolls back.
    #[error("a decision cannot roll back itself")]
    UndoesItself,
    /// One patch set touches a path twice.
    #[error("the path {path} is touched twice")]
    TouchedTwice {
        /// The path.
        path: RelativePath,
    },
    /// A file is renamed to the path that it already has.
    #[error("the path {path} is renamed to itself")]
    RenamedToItself {
        /// The path.
        path: RelativePath,
    },
    /// The diff is not the text that its digest was made of.
    #[error("the diff has the digest {found}, the record says {expected}")]
    DiffDigest {
        /// What the record says.
        expected: Digest,
        /// What the text gives.
        found: Digest,
    },
    /// A decision lists the same evidence twice.
    #[error("evidence {evidence} is listed twice")]
    EvidenceTwice {
        /// The evidence.
        evidence: EvidenceId,
    },
    /// The text is none of a few words.
    #[error("{text:?} is not a word that can stand here; expected {expected}")]
    Word {
        /// The beginning of the text.
        text: String,
        /// The words.
        expected: &'static str,
    },
    /// A text that must be JSON is not.
    #[error("the text is not one JSON value: {message}")]
    Json {
        /// What the JSON parser says.
        message: String,
    },
    /// A text is JSON, with more than 100 brackets inside each other.
    #[error("the JSON is nested too deeply: at most 100 brackets may be open")]
    JsonDepth,
    /// An object names something twice where once is enough.
    #[error("{what} {name} is listed twice")]
    Twice {
        /// What it is: `parent`, `step`, …
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// An object names itself where only another one can stand.
    #[error("{name} cannot be its own {what}")]
    OfItself {
        /// What it would be of itself: `parent`, `dependency`, …
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A preview is longer than 500 characters.
    #[error("a preview of {characters} characters is too long: at most 500")]
    PreviewLength {
        /// How long it is.
        characters: usize,
    },
    /// A decision cites a node, a proposal or a file twice.
    #[error("{text:?} is cited twice")]
    CitedTwice {
        /// The beginning of the name or the path.
        text: String,
    },
    /// A decision says of what it cites that it is nothing; then `cites` is left out.
    #[error("nothing is cited: leave `cites` out")]
    CitesNothing,
    /// A file is cited that was there neither before nor after.
    #[error("the file {path} is cited, and was there neither before nor after")]
    NeverAFile {
        /// The path.
        path: RelativePath,
    },
    /// A decision chooses a patch set and lists it among the rejected ones.
    #[error("patch set {patch_set} is both chosen and rejected")]
    ChosenAndRejected {
        /// The patch set.
        patch_set: PatchSetId,
    },
    /// An event into this state must say why.
    #[error("an event into the state `{state}` needs a reason")]
    ReasonMissing {
        /// The state.
        state: &'static str,
    },
    /// An event carries what belongs to another state only.
    #[error("`{field}` stands with the state `{only}` only, not with `{state}`")]
    OnlyWith {
        /// What is carried.
        field: &'static str,
        /// The state that it belongs to.
        only: &'static str,
        /// The state that the event is about.
        state: &'static str,
    },
    /// The tokens together are more than can be counted.
    #[error("the sum of the tokens is more than 18446744073709551615")]
    TokenSum,
    /// A piece of context that belongs to nothing.
    #[error("a context frame must name an intent, a run, a plan or a step")]
    OrphanFrame,
}

/// Cuts a hostile text to what fits into one line of an error.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 80;
    text.chars().take(CHARACTERS).collect()
}
