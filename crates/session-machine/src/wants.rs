//! What services want otherwise than others of their wire, as this session has learned it.
//!
//! A refusal that says what is wanted costs one more request; after that the log knows, so that a resume sends what was
//! taken. It is kept for one provider, address, wire and model. What an import brings along is not believed: whoever made
//! the log may have written anything. The same goes for the address at which a server was asked.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Message, NodeId, Timestamp};
use trunkline_providers::{Trait, Traits};
use trunkline_session_store::{Note, Record};

use crate::setup::AskedModel;
use crate::{Event, RuntimeError, journal};

pub(crate) const SERVICE: &str = "service";
/// The kind of a note of [`Asked`].
pub const ASKED: &str = "asked";
pub(crate) const WINDOW: &str = "window";

/// Who was asked last, where that is a server that was named by its address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Asked {
    /// The provider, as it stands in [`Origin`](trunkline_message_tree::Origin).
    pub provider: String,
    /// The model.
    pub model: String,
    /// The address, without user and password. `None` once somebody was asked who needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Whom something is known of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct Service {
    provider: String,
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    wire: String,
}

/// A service wants this, or does not after all.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Said {
    #[serde(flatten)]
    service: Service,
    /// The name of the trait; one that this version does not know is passed over.
    wants: String,
    /// Whether a refusal said so, and not an answer that showed it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    refused: bool,
    /// Whether it did not help: it is not believed any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    dropped: bool,
    /// The newest message at the time, where it is about what was sent until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<NodeId>,
}

/// A service found a list too long that could not be summed up: so many tokens are taken for its window, and what alone does
/// not fit is cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Window {
    #[serde(flatten)]
    service: Service,
    tokens: u64,
}

/// What is known of all services, folded from the log.
#[derive(Clone, Debug, Default)]
pub struct Part {
    known: HashMap<Service, Traits>,
    windows: HashMap<Service, u64>,
    /// Up to which messages the service refused reasoning, the latest last.
    refused: HashMap<Service, Vec<NodeId>>,
    asked: Option<Asked>,
}

impl Part {
    pub(crate) fn record(&mut self, note: &Note) -> Result<(), RuntimeError> {
        let Said { service, wants, dropped, until, .. } = journal::read(note)?;
        let wanted = Trait::named(&wants);
        if wanted == Some(Trait::NoEarlierReasoning) {
            // It is about messages and not about the service, and may be so again later.
            let refused = self.refused.entry(service).or_default();
            match until.filter(|_| !dropped) {
                Some(until) => refused.push(until),
                // That it did not help says nothing of the one before.
                None => drop(refused.pop()),
            }
        } else if let Some(one) = wanted {
            let traits = self.known.entry(service).or_default();
            match dropped {
                true => traits.remove(one),
                false => drop(traits.insert(one)),
            }
        }
        Ok(())
    }

    pub(crate) fn record_window(&mut self, note: &Note) -> Result<(), RuntimeError> {
        let Window { service, tokens } = journal::read(note)?;
        self.windows.insert(service, tokens);
        Ok(())
    }

    /// Returns how many tokens the model can read at once: what was named, or what a refusal showed, if that is less.
    pub(crate) fn window(&self, model: &AskedModel, named: Option<u64>) -> Option<u64> {
        let shown = self.windows.get(&service(model)).copied();
        named.into_iter().chain(shown).min()
    }

    pub(crate) fn record_asked(&mut self, note: &Note) -> Result<(), RuntimeError> {
        self.asked = Some(journal::read(note)?);
        Ok(())
    }

    /// Forgets what came with an import.
    pub(crate) fn distrust(&mut self) {
        self.known.clear();
        self.windows.clear();
        self.refused.clear();
        self.asked = None;
    }

    /// Returns who was asked last, if that is a server that was named by its address.
    pub fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref().filter(|asked| asked.url.is_some())
    }

    /// Returns who was asked last, also where that needs no address.
    pub(crate) fn last_asked(&self) -> Option<&Asked> {
        self.asked.as_ref()
    }

    /// Returns what is known of whom is asked.
    pub fn of(&self, model: &AskedModel) -> Traits {
        self.known.get(&service(model)).cloned().unwrap_or_default()
    }

    /// Returns the last node whose reasoning the service refused, if it refused any.
    pub(crate) fn refused_until(&self, model: &AskedModel) -> Option<NodeId> {
        if self.refused.is_empty() {
            return None;
        }
        self.refused.get(&service(model))?.iter().max().copied()
    }

    /// Takes from messages who wrote them, where the service refused their reasoning: `sanitize` then treats it as another
    /// model's, with all that depends on it.
    pub(crate) fn disown(&self, model: &AskedModel, messages: &mut [Message]) {
        let Some(until) = self.refused_until(model) else { return };
        let refused = messages.iter_mut().filter(|message| message.node.is_some_and(|node| node <= until));
        refused.for_each(|message| message.origin = None);
    }

    /// Returns the records of what an answer has shown and nobody knew.
    pub(crate) fn shown(&self, model: &AskedModel, wants: &[Trait], at: Timestamp) -> Vec<Record> {
        let mut known = self.of(model);
        let news = wants.iter().filter(|one| known.insert(**one));
        news.map(|one| record(model, *one, at, |_| {})).collect()
    }
}

/// Returns a message as [`Part::disown`] leaves it, where reasoning was refused until that node.
pub(crate) fn disowned(message: &Arc<Message>, until: NodeId) -> Arc<Message> {
    if message.origin.is_none() || message.node.is_none_or(|node| node > until) {
        return Arc::clone(message);
    }
    Arc::new(Message { origin: None, ..Message::clone(message) })
}

fn service(model: &AskedModel) -> Service {
    let origin = model.origin.clone();
    Service {
        provider: origin.provider,
        model: origin.model,
        address: origin.address,
        wire: model.wire.clone(),
    }
}

fn record(model: &AskedModel, one: Trait, at: Timestamp, more: impl FnOnce(&mut Said)) -> Record {
    let wants = one.name().to_owned();
    let mut said = Said { service: service(model), wants, refused: false, dropped: false, until: None };
    more(&mut said);
    journal::note(journal::LAYER, SERVICE, at, &said)
}

/// Returns the record of what a refusal said; `until` is the newest message then, where it is about what was sent until then.
pub(crate) fn refused_note(model: &AskedModel, one: Trait, until: Option<NodeId>, at: Timestamp) -> Record {
    record(model, one, at, |said| (said.refused, said.until) = (true, until))
}

/// Returns the record that what was believed did not help.
pub(crate) fn dropped_note(model: &AskedModel, one: Trait, at: Timestamp) -> Record {
    record(model, one, at, |said| said.dropped = true)
}

/// Returns the record of the window that a service is taken to have.
pub(crate) fn window_note(model: &AskedModel, tokens: u64, at: Timestamp) -> Record {
    journal::note(journal::LAYER, WINDOW, at, &Window { service: service(model), tokens })
}

/// Returns the record of who is asked.
pub(crate) fn asked_note(asked: &Asked, at: Timestamp) -> Record {
    journal::note(journal::LAYER, ASKED, at, asked)
}

/// Returns what observers are told of a note.
pub fn event(note: &Note) -> Option<Event> {
    if (note.layer.as_str(), note.kind.as_str()) != (journal::LAYER, SERVICE) {
        return None;
    }
    let Said { wants, refused, dropped, .. } = journal::read(note).ok()?;
    let wants = Trait::named(&wants)?;
    Some(match dropped {
        true => Event::Unlearned { wants },
        false => Event::Learned { wants, refused },
    })
}
