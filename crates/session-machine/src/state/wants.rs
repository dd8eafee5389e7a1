//! What services want otherwise than others of their wire, as this session has learned it.
//!
//! A refusal that says what is wanted costs one more request; after that the log knows, so that a resume sends what was
//! taken. It is kept for one provider, address, wire and model. What an import brings along is not believed: whoever made
//! the log may have written anything. The same goes for the address at which a server was asked.

use std::collections::HashMap;
use std::sync::Arc;

use trunkline_message_tree::{Message, NodeId, Timestamp};
use trunkline_providers::{Trait, Traits};
use trunkline_session_store::{Note, Record};

use crate::notes::record;
use crate::notes::service::{self, Said, Service, Window};
use crate::setup::AskedModel;
use crate::words::asked::Asked;
use crate::words::error::RuntimeError;

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
        let Said { service, wants, dropped, until, .. } = record::read(note)?;
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
        let Window { service, tokens } = record::read(note)?;
        self.windows.insert(service, tokens);
        Ok(())
    }

    /// Returns how many tokens the model can read at once: what was named, or what a refusal showed, if that is less.
    pub(crate) fn window(&self, model: &AskedModel, named: Option<u64>) -> Option<u64> {
        let shown = self.windows.get(&model.service()).copied();
        named.into_iter().chain(shown).min()
    }

    pub(crate) fn record_asked(&mut self, note: &Note) -> Result<(), RuntimeError> {
        self.asked = Some(record::read(note)?);
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
        self.known.get(&model.service()).cloned().unwrap_or_default()
    }

    /// Returns the last node whose reasoning the service refused, if it refused any.
    pub(crate) fn refused_until(&self, model: &AskedModel) -> Option<NodeId> {
        if self.refused.is_empty() {
            return None;
        }
        self.refused.get(&model.service())?.iter().max().copied()
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
        news.map(|one| service::shown(model.service(), *one, at)).collect()
    }
}

/// Returns a message as [`Part::disown`] leaves it, where reasoning was refused until that node.
pub(crate) fn disowned(message: &Arc<Message>, until: NodeId) -> Arc<Message> {
    if message.origin.is_none() || message.node.is_none_or(|node| node > until) {
        return Arc::clone(message);
    }
    Arc::new(Message { origin: None, ..Message::clone(message) })
}
