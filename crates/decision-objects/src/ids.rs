//! Names of the objects of the family.
//!
//! Types around a UUID, so that a run's id cannot be given where a decision's is meant.
//! This crate never makes one up: the caller passes them in, and only the nil UUID is refused.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use crate::Invalid;
use crate::invalid::excerpt;
use crate::json::{Place, Spelled};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            /// Takes a UUID as a name.
            ///
            /// # Errors
            ///
            /// [`Invalid::NilId`] for the nil UUID.
            pub fn new(uuid: Uuid) -> Result<Self, Invalid> {
                if uuid.is_nil() { Err(Invalid::NilId) } else { Ok(Self(uuid)) }
            }

            /// The UUID.
            #[must_use]
            pub const fn uuid(self) -> Uuid {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.as_hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0.as_hyphenated())
            }
        }

        impl Spelled for $name {
            fn spelling<'a>(&'a self, place: &'a mut Place) -> &'a str {
                self.0.as_hyphenated().encode_lower(place)
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let uuid = Uuid::parse_str(text).map_err(|_| Invalid::Uuid { text: excerpt(text) })?;
                Self::new(uuid)
            }
        }
    };
}

id! {
    /// Names a run.
    RunId
}
id! {
    /// Names a patch set.
    PatchSetId
}
id! {
    /// Names a piece of evidence.
    EvidenceId
}
id! {
    /// Names a decision.
    DecisionId
}
id! {
    /// Names an intent.
    IntentId
}
id! {
    /// Names a plan, one revision of it.
    PlanId
}
id! {
    /// Names a step of a plan; it keeps its name from one revision to the next.
    StepId
}
id! {
    /// Names a task.
    TaskId
}
id! {
    /// Names a snapshot of what a model was shown.
    SnapshotId
}
id! {
    /// Names a record of what made a run.
    ProvenanceId
}
id! {
    /// Names a piece of context.
    FrameId
}
id! {
    /// Names an event: something that happened to another object.
    EventId
}
