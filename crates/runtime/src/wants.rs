//! What services want otherwise than others of their wire, as this session has learned it.
//!
//! A refusal that says what is wanted costs one more request; after that the log knows, so that a resume sends what was
//! taken. It is kept for one provider, address, wire and model. What an import brings along is not believed: whoever made
//! the log may have written anything. The same goes for the address at which a server was asked.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trunkline_message_tree::{Message, NodeId, Timestamp};
use trunkline_providers::{ErrorKind, Provider, Trait, Traits};
use trunkline_session_store::{Note, Record};

use crate::layers::revert;
use crate::{Event, RuntimeError, Session, journal};

pub(crate) const SERVICE: &str = "service";
pub(crate) const ASKED: &str = "asked";
pub(crate) const WINDOW: &str = "window";

/// How often in a row results are cut shorter before a refusal is told.
const MOST_CUTS: u8 = 3;
/// A result of fewer bytes is not what makes a list too long.
const LEAST_RESULT: usize = 4096;

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
pub(crate) struct Part {
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
    pub(crate) fn window(&self, provider: &dyn Provider, named: Option<u64>) -> Option<u64> {
        let shown = self.windows.get(&service(provider)).copied();
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
    pub(crate) fn asked(&self) -> Option<&Asked> {
        self.asked.as_ref().filter(|asked| asked.url.is_some())
    }

    /// Returns what is known of whom a provider asks.
    pub(crate) fn of(&self, provider: &dyn Provider) -> Traits {
        self.known.get(&service(provider)).cloned().unwrap_or_default()
    }

    /// Returns the last node whose reasoning the service refused, if it refused any.
    pub(crate) fn refused_until(&self, provider: &dyn Provider) -> Option<NodeId> {
        if self.refused.is_empty() {
            return None;
        }
        self.refused.get(&service(provider))?.iter().max().copied()
    }

    /// Takes from messages who wrote them, where the service refused their reasoning: `sanitize` then treats it as another
    /// model's, with all that depends on it.
    pub(crate) fn disown(&self, provider: &dyn Provider, messages: &mut [Message]) {
        let Some(until) = self.refused_until(provider) else { return };
        let refused = messages.iter_mut().filter(|message| message.node.is_some_and(|node| node <= until));
        refused.for_each(|message| message.origin = None);
    }

    /// Returns the records of what an answer has shown and nobody knew.
    pub(crate) fn shown(&self, provider: &dyn Provider, wants: &[Trait], at: Timestamp) -> Vec<Record> {
        let mut known = self.of(provider);
        let news = wants.iter().filter(|one| known.insert(**one));
        news.map(|one| record(provider, *one, at, |_| {})).collect()
    }
}

/// Returns a message as [`Part::disown`] leaves it, where reasoning was refused until that node.
pub(crate) fn disowned(message: &Arc<Message>, until: NodeId) -> Arc<Message> {
    if message.origin.is_none() || message.node.is_none_or(|node| node > until) {
        return Arc::clone(message);
    }
    Arc::new(Message { origin: None, ..Message::clone(message) })
}

fn service(provider: &dyn Provider) -> Service {
    let origin = provider.origin().clone();
    Service {
        provider: origin.provider,
        model: origin.model,
        address: origin.address,
        wire: provider.wire().to_owned(),
    }
}

fn record(provider: &dyn Provider, one: Trait, at: Timestamp, more: impl FnOnce(&mut Said)) -> Record {
    let wants = one.name().to_owned();
    let mut said = Said { service: service(provider), wants, refused: false, dropped: false, until: None };
    more(&mut said);
    journal::note(journal::LAYER, SERVICE, at, &said)
}

/// Returns what observers are told of a note.
pub(crate) fn event(note: &Note) -> Option<Event> {
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

impl Session {
    /// Notes whom the next request goes to, where that was named by its address and is news.
    pub(crate) async fn note_asked(&mut self) -> Result<(), RuntimeError> {
        let settings = self.settings();
        let origin = settings.provider.origin().clone();
        let url = settings.url.clone();
        let known = self.state.wants.asked.as_ref();
        let now = Asked { provider: origin.provider, model: origin.model, url };
        let news = match known {
            None => now.url.is_some(),
            Some(known) => *known != now && (known.url.is_some() || now.url.is_some()),
        };
        if news {
            let noted = journal::note(journal::LAYER, ASKED, settings.now(), &now);
            self.commit(vec![noted], None).await?;
        }
        Ok(())
    }

    /// After a list that was too long and cannot be summed up: takes the window for so small that the largest result is cut, and
    /// returns whether that is news.
    pub(crate) async fn shrink(&mut self, fault: &RuntimeError) -> Result<bool, RuntimeError> {
        let RuntimeError::Provider(fault) = fault else { return Ok(false) };
        if fault.kind() != Some(ErrorKind::ContextTooLong) || self.cuts >= MOST_CUTS {
            return Ok(false);
        }
        let rendered = self.rendered();
        let results = rendered.iter().flat_map(Message::results);
        let largest = results.map(|result| result.text().len()).max().unwrap_or_default();
        if largest < LEAST_RESULT {
            return Ok(false);
        }
        let provider = self.settings().provider.clone();
        let known = self.state.wants.window(provider.as_ref(), revert::window(&self.settings().setup));
        // Of what is cut, two bytes stay for each token: a quarter of the largest, and each time a quarter of that.
        let fitting = largest as u64 / 8;
        let tokens = known.map_or(fitting, |known| fitting.min(known / 4));
        if tokens < 256 {
            return Ok(false);
        }
        let window = Window { service: service(provider.as_ref()), tokens };
        let noted = journal::note(journal::LAYER, WINDOW, self.settings().now(), &window);
        self.commit(vec![noted], None).await?;
        self.cuts += 1;
        Ok(true)
    }

    /// After a request that was refused: notes what the service wants otherwise, if it said so, and returns whether it can be
    /// asked again. What was learned in vain is dropped.
    pub(crate) async fn learn(&mut self, fault: &RuntimeError) -> Result<bool, RuntimeError> {
        let RuntimeError::Provider(fault) = fault else { return Ok(false) };
        let provider = self.settings().provider.clone();
        let at = self.settings().now();
        // Of each it is tried once until the service answers, or it could have us ask for ever.
        let wanted = fault.wants().map(|one| match (one, self.settings().bound_reasoning) {
            // That it binds was denied, and what it refused is left out all the same.
            (Trait::BoundReasoning, Some(false)) => Trait::NoEarlierReasoning,
            (one, _) => one,
        });
        let fresh = wanted.filter(|one| !self.on_trial.contains(one));
        if let Some(one) = fresh {
            let until = (one == Trait::NoEarlierReasoning).then(|| self.state.tree.newest());
            let learned =
                record(provider.as_ref(), one, at, |said| (said.refused, said.until) = (true, until));
            let (mut learned, mut on_trial) = (vec![learned], vec![one]);
            if one == Trait::BoundReasoning {
                // Behind what the reasoning so far was written is not known.
                let until = Some(self.state.tree.newest());
                let so_far = Trait::NoEarlierReasoning;
                let lost = |said: &mut Said| (said.refused, said.until) = (true, until);
                learned.push(record(provider.as_ref(), so_far, at, lost));
                on_trial.push(so_far);
            }
            self.commit(learned, None).await?;
            self.on_trial.append(&mut on_trial);
            return Ok(true);
        }
        if fault.wants().is_some() || fault.kind() == Some(ErrorKind::InvalidRequest) {
            let drop = |one| record(provider.as_ref(), one, at, |said| said.dropped = true);
            let dropped = std::mem::take(&mut self.on_trial).into_iter().map(drop).collect();
            self.commit(dropped, None).await?;
        }
        Ok(false)
    }
}
