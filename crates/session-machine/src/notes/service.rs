//! What a service wants otherwise than others of its wire, and who was asked last.

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{NodeId, Origin, Timestamp};
use trunkline_providers::Trait;
use trunkline_session_store::{Note, Record};

use crate::notes::journal::LAYER;
use crate::notes::record::{note, read};
use crate::words::asked::Asked;
use crate::words::event::Event;

pub(crate) const SERVICE: &str = "service";
/// The kind of a note of [`Asked`].
pub const ASKED: &str = "asked";
pub(crate) const WINDOW: &str = "window";

/// Whom something is known of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Service {
    provider: String,
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    wire: String,
}

impl Service {
    /// Returns the service that is asked for a model on a wire.
    pub(crate) fn of(origin: &Origin, wire: &str) -> Self {
        let Origin { provider, model, address, .. } = origin.clone();
        Service { provider, model, address, wire: wire.to_owned() }
    }
}

/// A service wants this, or does not after all.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Said {
    #[serde(flatten)]
    pub(crate) service: Service,
    /// The name of the trait; one that this version does not know is passed over.
    pub(crate) wants: String,
    /// Whether a refusal said so, and not an answer that showed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refused: bool,
    /// Whether it did not help: it is not believed any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dropped: bool,
    /// The newest message at the time, where it is about what was sent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until: Option<NodeId>,
}

/// A service found a list too long that could not be summed up: so many tokens are taken for its window, and what alone does
/// not fit is cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Window {
    #[serde(flatten)]
    pub(crate) service: Service,
    pub(crate) tokens: u64,
}

fn said(service: Service, one: Trait) -> Said {
    Said { service, wants: one.name().to_owned(), refused: false, dropped: false, until: None }
}

/// Returns the record of what an answer has shown.
pub(crate) fn shown(service: Service, one: Trait, at: Timestamp) -> Record {
    note(LAYER, SERVICE, at, &said(service, one))
}

/// Returns the record of what a refusal said; `until` is the newest message then, where it is about what was sent until then.
pub(crate) fn refused(service: Service, one: Trait, until: Option<NodeId>, at: Timestamp) -> Record {
    note(LAYER, SERVICE, at, &Said { refused: true, until, ..said(service, one) })
}

/// Returns the record that what was believed did not help.
pub(crate) fn dropped(service: Service, one: Trait, at: Timestamp) -> Record {
    note(LAYER, SERVICE, at, &Said { dropped: true, ..said(service, one) })
}

/// Returns the record of the window that a service is taken to have.
pub(crate) fn window(service: Service, tokens: u64, at: Timestamp) -> Record {
    note(LAYER, WINDOW, at, &Window { service, tokens })
}

/// Returns the record of who is asked.
pub(crate) fn asked(asked: &Asked, at: Timestamp) -> Record {
    note(LAYER, ASKED, at, asked)
}

/// Returns what observers are told of a note.
pub fn event(note: &Note) -> Option<Event> {
    if (note.layer.as_str(), note.kind.as_str()) != (LAYER, SERVICE) {
        return None;
    }
    let Said { wants, refused, dropped, .. } = read(note).ok()?;
    let wants = Trait::named(&wants)?;
    Some(match dropped {
        true => Event::Unlearned { wants },
        false => Event::Learned { wants, refused },
    })
}
