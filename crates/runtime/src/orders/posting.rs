//! Leaves orders for the process that writes a session, and hears what became of them.

use trunkline_message_tree::Timestamp;
use trunkline_session_machine::RuntimeError;
use trunkline_session_machine::notes::journal::{self, LetterRefused};
use trunkline_session_machine::notes::record;
use trunkline_session_store::{InboxId, Record, SessionId, SessionStore, consumed};

use super::letter::letter_of;
use super::order::Order;

/// Leaves an order for whoever holds the session, or will. [`settled`] waits for what becomes of it.
///
/// # Errors
///
/// [`RuntimeError::Store`].
pub async fn post(
    store: &dyn SessionStore,
    session: &SessionId,
    order: &Order,
    at: Timestamp,
) -> Result<InboxId, RuntimeError> {
    let (kind, body) = letter_of(order);
    Ok(store.post(session, kind, &body, at).await?)
}

/// What became of a letter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Settled {
    /// It has taken effect.
    Done {
        /// The number of the last record that its effect is in.
        seq: u64,
    },
    /// It could have no effect and was put aside.
    Refused {
        /// Why, as [`Event::LetterRefused`](crate::Event::LetterRefused) told it.
        reason: String,
    },
}

/// Waits until the writer of the session has settled a letter. May be dropped at any time.
///
/// A letter is read between steps, and a prompt after the turn. If nobody writes the session this waits for the next
/// writer: see [`SessionStore::holder`], and open the session instead.
///
/// # Errors
///
/// [`RuntimeError::Store`], also if there is no such letter or the session is deleted meanwhile.
pub async fn settled(
    store: &dyn SessionStore,
    session: &SessionId,
    letter: InboxId,
) -> Result<Settled, RuntimeError> {
    let seq = consumed(store, session, letter).await?;
    // A refusal is a batch of its own, so its note is the last record there was.
    for kept in store.read(session, seq.saturating_sub(1), 1).await? {
        if let Record::Note(note) = kept.record(session)?
            && (note.layer.as_str(), note.kind.as_str()) == (journal::LAYER, journal::LETTER_REFUSED)
        {
            let refused: LetterRefused = record::read(&note)?;
            if refused.letter == letter.0 {
                return Ok(Settled::Refused { reason: refused.reason });
            }
        }
    }
    Ok(Settled::Done { seq })
}
