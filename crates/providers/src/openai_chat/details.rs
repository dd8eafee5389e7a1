//! Details of reasoning, as routers pass them on: words, signatures and encrypted reasoning in a list of objects.
//!
//! They come in pieces, and must go back as one list whose pieces are joined (OpenRouter's documents, read 2026-11). The
//! fields of a piece are carried without being understood, but for those that are joined.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use trunkline_message_tree::Content;

use super::NAME;
use crate::DecodeError;
use crate::sse::EVENT_LIMIT;

type Detail = Map<String, Value>;

/// What came so far.
pub(super) struct Details {
    // The most bytes of JSON that it all may be.
    limit: usize,
    pieces: Vec<Detail>,
    // How many bytes of JSON that was.
    held: usize,
}

impl Default for Details {
    fn default() -> Self {
        Details { limit: EVENT_LIMIT, pieces: Vec::new(), held: 0 }
    }
}

impl Details {
    pub(super) fn set_limit(&mut self, limit: usize) {
        self.limit = limit;
    }

    /// Takes in a list of pieces and returns the words in them. What is no such list is left alone.
    ///
    /// # Errors
    ///
    /// [`DecodeError::TooLarge`] if it all together is larger than the one event that would have to bring it back.
    pub(super) fn push(&mut self, pieces: &RawValue) -> Result<String, DecodeError> {
        self.held = self.held.saturating_add(pieces.get().len());
        if self.held > self.limit {
            return Err(DecodeError::TooLarge { limit: self.limit });
        }
        let pieces: Vec<Detail> = serde_json::from_str(pieces.get()).unwrap_or_default();
        let mut words = String::new();
        for piece in pieces {
            words.extend(["text", "summary"].iter().filter_map(|field| piece.get(*field)?.as_str()));
            match self.pieces.last_mut().filter(|last| continues(last, &piece)) {
                Some(last) => join(last, piece),
                None => self.pieces.push(piece),
            }
        }
        Ok(words)
    }

    /// Returns the block that must go back, if anything in it is signed or encrypted.
    pub(super) fn carried(&self) -> Option<Content> {
        let opaque = |detail: &Detail| {
            ["signature", "data"].iter().any(|field| detail.get(*field).is_some_and(Value::is_string))
        };
        let details = self.pieces.iter().any(opaque).then_some(&self.pieces)?;
        let json = json!({ "type": "reasoning", "reasoning_details": details }).to_string();
        Some(Content::Opaque { wire: NAME.to_owned(), json })
    }
}

/// Whether a piece is more of the same; encrypted reasoning always comes whole.
fn continues(last: &Detail, piece: &Detail) -> bool {
    let same = |field: &str| last.get(field) == piece.get(field);
    let in_words =
        matches!(piece.get("type").and_then(Value::as_str), Some("reasoning.text" | "reasoning.summary"));
    in_words && same("type") && same("index")
}

fn join(last: &mut Detail, piece: Detail) {
    for (field, value) in piece {
        match (last.get_mut(&field), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if field == "text" || field == "summary" => {
                text.push_str(&more);
            }
            (_, value) => drop(last.insert(field, value)),
        }
    }
}
