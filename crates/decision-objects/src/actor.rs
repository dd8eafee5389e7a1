//! Who did it.
//!
//! All fields are public: what must hold of them is held by their types.

use crate::json::{Fields, Object, ParseError, Raw, read};
use crate::vocabulary::open_vocabulary;
use crate::{Invalid, NonBlank};

open_vocabulary! {
    /// What kind of being acted.
    ActorKind, "human, agent, system, mcp_client or other" {
        /// A person.
        Human = "human",
        /// A model in its loop.
        Agent = "agent",
        /// The program around the model.
        System = "system",
        /// A client that speaks the Model Context Protocol.
        McpClient = "mcp_client",
    }
    /// Something else.
    Other
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
    /// [`Invalid::BlankActor`] if `id` is blank.
    pub fn new(kind: ActorKind, id: impl Into<String>) -> Result<Self, Invalid> {
        let id = NonBlank::new(id).map_err(|_| Invalid::BlankActor)?;
        Ok(Self { kind, id, display_name: None })
    }

    pub(crate) fn print(&self) -> Object {
        let object = self.kind.print(Object::new(), "kind", "label");
        object.text("id", self.id.as_str()).maybe_text("display_name", self.display_name.as_deref())
    }

    pub(crate) fn read(raw: Raw<'_>) -> Result<Self, ParseError> {
        let mut fields = Fields::open(raw)?;
        let kind = ActorKind::required(&mut fields, "kind", "label")?;
        let actor = Self {
            kind,
            id: fields.required("id", read::canonical)?,
            display_name: fields.optional("display_name", read::text)?,
        };
        fields.close()?;
        Ok(actor)
    }
}
