//! Finding notes by what they are about.

use trunkline_message_tree::Timestamp;

use crate::{NoteKey, SessionId};

/// Which keys of notes to find. What is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoteQuery {
    /// The session; `None` searches all.
    pub session: Option<SessionId>,
    /// The layer.
    pub layer: Option<String>,
    /// The kind.
    pub kind: Option<String>,
    /// The key.
    pub key: Option<String>,
    /// The state after the newest note of the key.
    pub state: Option<String>,
}

impl NoteQuery {
    /// Returns the query for every key of a layer and kind.
    pub fn of(layer: impl Into<String>, kind: impl Into<String>) -> Self {
        NoteQuery { layer: Some(layer.into()), kind: Some(kind.into()), ..NoteQuery::default() }
    }

    /// Returns it for one session only.
    #[must_use]
    pub fn in_session(mut self, session: SessionId) -> Self {
        self.session = Some(session);
        self
    }

    /// Returns it for one key only.
    #[must_use]
    pub fn about(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Returns it for one state only.
    #[must_use]
    pub fn in_state(mut self, state: impl Into<String>) -> Self {
        self.state = Some(state.into());
        self
    }

    /// Returns whether a note is meant. For those who write a store.
    pub fn fits(&self, found: &FoundNote) -> bool {
        let is = |wanted: &Option<String>, text: &str| wanted.as_deref().is_none_or(|wanted| wanted == text);
        self.session.as_ref().is_none_or(|session| *session == found.session)
            && is(&self.layer, &found.layer)
            && is(&self.kind, &found.kind)
            && is(&self.key, &found.key.key)
            && is(&self.state, &found.key.state)
    }
}

/// The newest note of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "whoever writes a store makes one")]
pub struct FoundNote {
    /// The session that has it.
    pub session: SessionId,
    /// The number of the note.
    pub seq: u64,
    /// Its layer.
    pub layer: String,
    /// Its kind.
    pub kind: String,
    /// When it was made.
    pub at: Timestamp,
    /// Its key and how that stands.
    pub key: NoteKey,
    /// Its body.
    pub body: String,
}
