//! Sessions that a call begins: a tool asks another agent, and both logs stay apart.
//!
//! The child's own log names the call that began it. So a child is found by its parent without a field that every store would have
//! to have, and goes with an export.

use serde::{Deserialize, Serialize};
use trunkline_session_machine::{CallPlace, RuntimeError};
use trunkline_session_store::{FoundNote, Note, NoteKey, NoteQuery, SessionId, SessionStore};

/// The layer and the kind of the note that names a parent. Its key is the parent's id.
const LAYER: &str = "runtime";
const PARENT: &str = "parent";

/// The call that began a session, as the log of that session says; one that was imported may name any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Parent {
    /// The session that the call belongs to.
    pub session: SessionId,
    /// The call.
    pub call: CallPlace,
}

impl Parent {
    /// Returns the call that began a session; `None` if no call did.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::Store`]; [`RuntimeError::BadNote`].
    pub async fn of(store: &dyn SessionStore, child: &SessionId) -> Result<Option<Self>, RuntimeError> {
        let query = NoteQuery::of(LAYER, PARENT).in_session(child.clone());
        store.notes(&query).await?.first().map(Parent::read).transpose()
    }

    /// Reads what [`children_of`] has found.
    ///
    /// # Errors
    ///
    /// [`RuntimeError::BadNote`].
    pub fn read(found: &FoundNote) -> Result<Self, RuntimeError> {
        serde_json::from_str(&found.body).map_err(|fault| RuntimeError::BadNote {
            layer: found.layer.clone(),
            kind: found.kind.clone(),
            fault: fault.to_string(),
        })
    }

    pub(crate) fn note(&self, at: trunkline_message_tree::Timestamp) -> Result<Note, RuntimeError> {
        let body = serde_json::to_string(self).map_err(|fault| RuntimeError::BadNote {
            layer: LAYER.to_owned(),
            kind: PARENT.to_owned(),
            fault: fault.to_string(),
        })?;
        let mut note = Note::new(LAYER, PARENT, at, body);
        note.key = Some(NoteKey { key: self.session.to_string(), state: String::new(), once: true });
        Ok(note)
    }
}

/// Returns the query for the sessions that calls of a session began, in the order of their ids: each note that
/// [`SessionStore::notes`] finds is of a child, and [`Parent::read`] tells the call.
pub fn children_of(session: &SessionId) -> NoteQuery {
    NoteQuery::of(LAYER, PARENT).about(session.to_string())
}
