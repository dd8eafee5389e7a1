//! Who did it.
//!
//! All fields are public: what must hold of them is held by their types.

use crate::json::{Fields, Object, ParseError, Raw, read};
use crate::{Invalid, Label, NonBlank};

/// What kind of being acted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "`Other` takes what comes later; a reader shows each kind in its own way"
)]
pub enum ActorKind {
    /// A person.
    Human,
    /// A model in its loop.
    Agent,
    /// The program around the model.
    System,
    /// A client that speaks the Model Context Protocol.
    McpClient,
    /// Something else.
    Other(Label),
}

impl ActorKind {
    /// The word for it, as it is written in JSON; for [`ActorKind::Other`] the label.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::System => "system",
            Self::McpClient => "mcp_client",
            Self::Other(label) => label.as_str(),
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Some(match word {
            "human" => Self::Human,
            "agent" => Self::Agent,
            "system" => Self::System,
            "mcp_client" => Self::McpClient,
            _ => return None,
        })
    }
}

/// Who opened, decided or approved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Actor {
    /// What kind of being.
    pub kind: ActorKind,
    /// Its name among those of its kind, for machines.
    pub id: NonBlank,
    /// Its name for people.
    pub display_name: Option<String>,
}

impl Actor {
    /// Names an actor, without a name for people.
    ///
    /// # Errors
    ///
    /// [`Invalid::Blank`] if `id` is blank.
    pub fn new(kind: ActorKind, id: impl Into<String>) -> Result<Self, Invalid> {
        Ok(Self { kind, id: NonBlank::new(id)?, display_name: None })
    }

    pub(crate) fn print(&self) -> Object {
        let object = Object::new();
        let object = match &self.kind {
            ActorKind::Other(label) => object.text("kind", "other").text("label", label.as_str()),
            kind => object.text("kind", kind.as_str()),
        };
        object.text("id", self.id.as_str()).maybe_text("display_name", self.display_name.as_deref())
    }

    pub(crate) fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let kind = match fields.required("kind", |raw| {
            read::word(raw, "human, agent, system, mcp_client or other", |word| match word {
                "other" => Some(None),
                word => ActorKind::of_word(word).map(Some),
            })
        })? {
            Some(kind) => kind,
            None => ActorKind::Other(fields.required("label", read::canonical)?),
        };
        let actor = Self {
            kind,
            id: fields.required("id", read::canonical)?,
            display_name: fields.optional("display_name", read::text)?,
        };
        fields.close()?;
        Ok(actor)
    }
}
