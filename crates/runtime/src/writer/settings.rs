//! Everything that an agent was built with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use trunkline_message_tree::Timestamp;
use trunkline_providers::Provider;
use trunkline_session_machine::Event;
use trunkline_session_machine::setup::Setup;
use trunkline_session_store::SessionId;
use uuid::Uuid;

use super::events::Readers;
use super::shelf::Shelf;
use crate::world::schema::Schema;
use trunkline_agent_traits::{Compactor, Decider, Standing, Summarizer, Tool, Workspace};

/// A tool, and what its arguments are held to.
pub(crate) struct Implementation {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) schema: Schema,
}

/// Everything an agent was built with.
pub(crate) struct Settings {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) setup: Setup,
    /// The tools of the catalogue, by name.
    pub(crate) implementations: BTreeMap<String, Implementation>,
    pub(crate) system: String,
    pub(crate) url: Option<String>,
    /// What its sessions keep while they are idle.
    pub(crate) shelf: Arc<Shelf>,
    pub(crate) observer: Option<Observer>,
    pub(crate) readers: Readers,
    pub(crate) clock: Clock,
    pub(crate) snapshot_after: u64,
    pub(crate) decider: Option<Arc<dyn Decider>>,
    pub(crate) standing: Option<Arc<dyn Standing>>,
    pub(crate) compactor: Option<Arc<dyn Compactor>>,
    pub(crate) summarizer: Option<Arc<dyn Summarizer>>,
    pub(crate) rules: Option<Vec<trunkline_resolve_queue::Rule>>,
    pub(crate) workspace: Option<Arc<dyn Workspace>>,
}

pub(crate) type Observer = Arc<dyn Fn(&SessionId, &Event) + Send + Sync>;
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

impl Settings {
    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

/// Returns the time of the system.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Returns a fresh id; they sort by time. A clock from before 1970 gives the earliest that there is.
pub(crate) fn new_id() -> Uuid {
    match UNIX_EPOCH.elapsed() {
        Ok(_) => Uuid::now_v7(),
        Err(_) => Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 0, 0)),
    }
}
