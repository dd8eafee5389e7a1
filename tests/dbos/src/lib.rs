//! A session under DBOS, an engine for durable execution, on the PostgreSQL that keeps the session.
//!
//! Both keep a log. DBOS knows a step by its place in a function that is run again from its beginning, a session knows it by its
//! node; so what the function does must not depend on what the session has done meanwhile. The parts meet in three places:
//!
//! - [`turn`] is a turn as a function that is suspended at a proposal (`recv`) and goes on with its verdict (`send`). Its steps are
//!   drives: from the prompt, or a verdict, to where nothing goes on by itself. A drive that was cut off is done again by another
//!   process, which takes the session over and lets it go on from its log.
//! - [`deliver`](delivery) is what an approved call does to the world: a workflow of its own, whose id is the
//!   [key of the step](StepKey), so that it is begun once, however often a drive is done again.
//! - Nothing is held while a person thinks: the lease is given back, and all processes may end.

pub mod delivery;
pub mod letters;
pub mod turn;

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trunkline_runtime::Agent;
use trunkline_runtime::session_store::{PostgresOptions, PostgresStore};

use delivery::SendLetter;
use letters::Letters;
use turn::Desk;

/// The name of this application in DBOS.
pub const APP: &str = "trunkline-dbos";

/// Which code runs a workflow: DBOS gives it to no other.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The schema of the sessions.
pub const SCHEMA: &str = "trunkline_under_dbos";

/// What went wrong, as DBOS keeps it.
#[derive(Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

impl Failed {
    fn because(error: impl fmt::Display) -> Self {
        Failed(error.to_string())
    }
}

/// Names one step of a session for ever: the session, the node and the call in it that asks for the step, and which attempt at it
/// this is. Printed, it is the id of the DBOS workflow that does it, and the key that the outside service gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepKey {
    /// `SESSION/n2.0`.
    pub step: String,
    /// Counted from 1. Another attempt begins only when it is known that those before it have done nothing and never will.
    pub attempt: u32,
}

impl fmt::Display for StepKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.step, self.attempt)
    }
}

/// Returns how DBOS is reached.
pub fn config(url: &str) -> dbos::Config {
    dbos::Config { app_version: Some(VERSION.to_owned()), ..dbos::Config::new(APP, url) }
}

/// Returns how DBOS is reached by those who run no workflows.
///
/// # Errors
///
/// [`dbos::Error`] if the database cannot be reached, or no worker has prepared it yet.
pub async fn client(url: &str) -> dbos::Result<dbos::Client> {
    let config = dbos::ClientConfig { app_name: Some(APP.to_owned()), ..dbos::ClientConfig::new(url) };
    dbos::Client::connect(config).await
}

/// Runs workflows until it is shut down.
///
/// # Errors
///
/// [`Failed`] if the database cannot be reached.
pub async fn worker(url: &str) -> Result<dbos::DBOS, Failed> {
    let letters = Letters::open(url).await?;
    let dbos = dbos::DBOS::new(config(url));
    let post = letters.clone();
    dbos.register_workflow(delivery::WORKFLOW, move |order| delivery::deliver(post.clone(), order))
        .map_err(Failed::because)?;
    // Known only once DBOS runs, and needed by the workflows before that: what a drive has begun goes on at once.
    let (desk, desks) = tokio::sync::watch::channel(None::<Arc<Desk>>);
    dbos.register_workflow(turn::WORKFLOW, move |turn| {
        let mut desks = desks.clone();
        async move {
            let desk = desks.wait_for(Option::is_some).await.map_err(Failed::because)?.clone();
            let desk = desk.ok_or_else(|| Failed("the worker has ended".to_owned()))?;
            turn::turn(&desk, turn).await
        }
    })
    .map_err(Failed::because)?;
    dbos.launch().await.map_err(Failed::because)?;
    for queue in [turn::QUEUE, delivery::QUEUE] {
        let options = dbos::QueueOptions {
            polling_interval: std::time::Duration::from_millis(200),
            ..dbos::QueueOptions::default()
        };
        let known = dbos.register_queue(queue, options, dbos::QueueConflict::NeverUpdate).await;
        known.map_err(Failed::because)?;
    }
    let store = open(url).await?;
    let deliveries = client(url).await.map_err(Failed::because)?;
    let agent = Agent::builder(turn::model())
        .system("You answer letters. A person reads each before it goes.")
        .tool(SendLetter { deliveries })
        .build()
        .map_err(Failed::because)?;
    desk.send_replace(Some(Arc::new(Desk { agent, store: Arc::new(store) })));
    Ok(dbos)
}

/// Opens the store of the sessions.
///
/// # Errors
///
/// [`Failed`] if the database cannot be reached.
pub async fn open(url: &str) -> Result<PostgresStore, Failed> {
    PostgresStore::open(PostgresOptions::new(url).schema(SCHEMA)).await.map_err(Failed::because)
}
